; test lift gfx900 8
flat_load_dword v1, v[2:3]
global_store_dwordx2 v[2:3], v[4:5], off offset:8
s_endpgm

; expect:
; block1 at 0x0 insts 3:
;              v9: i32 = slot.get s111  ; v2
;              v10: i32 = slot.get s112  ; v3
;              v11: i64 = zext v9
;              v12: i64 = zext v10
;              v13: ui64 = const 0x20
;              v14: i64 = ishl v12, v13
;              v15: i64 = ior v14, v11
;              v16: ui64 = const 0x0
;              v17: i64 = iadd v15, v16
;              v18: i32 = trunc v17
;              v19: ui64 = const 0x20
;              v20: i64 = ushr v17, v19
;              v21: i32 = trunc v20
;              v22: ui32 = const 0x10000
;              v23: mask = icmp eq v21, v22
;              v24: ui32 = const 0x20000
;              v25: mask = icmp eq v21, v24
;              v26: ui32 = slot.get s121  ; flat_scratch_lo
;              v27: ui32 = slot.get s122  ; flat_scratch_hi
;              v28: ui64 = zext v26
;              v29: ui64 = zext v27
;              v30: ui64 = const 0x20
;              v31: ui64 = ishl v29, v30
;              v32: ui64 = ior v31, v28
;              v33: ui64 = const 0x0
;              v34: i64 = iadd v17, v33
;              v35: ui32 = const 0xfffffffc
;              v36: i32 = iand v18, v35
;              v37: i64 = zext v36
;              v38: ui64 = const 0x6
;              v39: i64 = ishl v37, v38
;              v40: i64 = iadd v32, v39
;              v41: i32 = slot.get s123  ; laneid
;              v42: ui32 = const 0x2
;              v43: i32 = ishl v41, v42
;              v44: ui32 = const 0x3
;              v45: i32 = iand v18, v44
;              v46: i32 = ior v43, v45
;              v47: i64 = zext v46
;              v48: i64 = iadd v40, v47
;              v49: i64 = select v25, v48, v34
;              v50: mask = inot v23
;              v51: mask = slot.get s118  ; exec
;              v52: mask = iand v51, v50
;              v53: i32 = load.u32 global0[v49] align 1 if v52
;              v54: i32 = load.u32 shared[v18] align 1 far
;              v55: i32 = select v50, v53, v54
;              v56: i32 = slot.get s110  ; v1
;              v57: i32 = select v51, v55, v56
;     @0x8     v58: i64 = zext v9
;              v59: i64 = zext v10
;              v60: ui64 = const 0x20
;              v61: i64 = ishl v59, v60
;              v62: i64 = ior v61, v58
;              v63: i32 = slot.get s113  ; v4
;              v64: i32 = slot.get s114  ; v5
;              v65: i64 = zext v63
;              v66: i64 = zext v64
;              v67: ui64 = const 0x20
;              v68: i64 = ishl v66, v67
;              v69: i64 = ior v68, v65
;              store.u64 global0[v62 + 0x8], v69 align 1 if v51
;     @0x10    slot.set s110, v57  ; v1
;              jump block2
;
; block2 pc 0x10:
;              v70: mask = slot.get s118  ; exec
;              v71: ui64 = ballot v70
;              slot.set s124, v71  ; t16.ui64
;              jump block3
;
; block3 pc 0x10:
;              v72: ui64 = slot.get s124  ; t16.ui64
;              v73: ui32 = trunc v72
;              v74: ui64 = const 0x20
;              v75: ui64 = ushr v72, v74
;              v76: ui32 = trunc v75
;              slot.set s106, v73  ; exec_lo
;              slot.set s107, v76  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x10:
;              fault illegal
