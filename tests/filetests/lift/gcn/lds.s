; test lift gfx900 8
ds_read2_b32 v[2:3], v1 offset1:4
ds_write_b8 v1, v2 offset:3
s_endpgm

; expect:
; block1 at 0x0 insts 3:
;              v9: i32 = slot.get s110  ; v1
;              v10: mask = slot.get s118  ; exec
;              v11: i32 = load.u32 shared[v9] align 1 far
;              v12: i32 = load.u32 shared[v9 + 0x10] align 1 far
;              v13: i32 = slot.get s111  ; v2
;              v14: i32 = select v10, v11, v13
;              v15: i32 = slot.get s112  ; v3
;              v16: i32 = select v10, v12, v15
;     @0x8     store.u8 shared[v9 + 0x3], v14 align 1 far if v10
;     @0x10    slot.set s111, v14  ; v2
;              slot.set s112, v16  ; v3
;              jump block2
;
; block2 pc 0x10:
;              v17: mask = slot.get s118  ; exec
;              v18: ui64 = ballot v17
;              slot.set s121, v18  ; t16.ui64
;              jump block3
;
; block3 pc 0x10:
;              v19: ui64 = slot.get s121  ; t16.ui64
;              v20: ui32 = trunc v19
;              v21: ui64 = const 0x20
;              v22: ui64 = ushr v19, v21
;              v23: ui32 = trunc v22
;              slot.set s106, v20  ; exec_lo
;              slot.set s107, v23  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x10:
;              fault illegal
