; Memory all over the 48-bit, sign-extended address space.
; s[0:1]: scale; s[4:7]: resource of `b`; s[8:9]: start of `a`; s[10:11]: counter; v0: lane
    s_load_dword s12, s[0:1], 0x0
    s_buffer_load_dword s13, s[4:7], 0x4
    v_lshlrev_b32_e32 v1, 2, v0
    v_mov_b32_e32 v3, s9
    v_add_co_u32_e32 v2, vcc, s8, v1
    v_addc_co_u32_e32 v3, vcc, 0, v3, vcc
    global_load_dword v4, v[2:3], off
    buffer_load_dword v5, v1, s[4:7], 0 offen
    s_waitcnt vmcnt(0) lgkmcnt(0)
    v_mul_lo_u32 v4, v4, s12
    v_add_u32_e32 v4, v4, v5
    v_add_u32_e32 v4, s13, v4
    global_store_dword v[2:3], v4, off
    v_mov_b32_e32 v6, s10
    v_mov_b32_e32 v7, s11
    v_mov_b32_e32 v8, 3
    global_atomic_add v[6:7], v8, off
    buffer_atomic_sub v0, v1, s[4:7], 0 offen
    s_endpgm
