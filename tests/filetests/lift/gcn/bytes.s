; test lift gfx900 8
v_perm_b32 v1, v2, v3, v4
v_sad_u8 v5, v2, v3, v4
s_endpgm

; expect:
; block1 at 0x0 insts 3:
;              v9: i32 = slot.get s111  ; v2
;              v10: i32 = slot.get s112  ; v3
;              v11: i32 = slot.get s113  ; v4
;              v12: i32 = call.pure @gcn.perm.b32(v9, v10, v11)
;              v13: mask = slot.get s118  ; exec
;              v14: i32 = slot.get s110  ; v1
;              v15: i32 = select v13, v12, v14
;     @0x8     v16: ui32 = const 0xff
;              v17: i32 = iand v9, v16
;              v18: ui32 = const 0xff
;              v19: i32 = iand v10, v18
;              v20: i32 = umin v17, v19
;              v21: i32 = umax v17, v19
;              v22: i32 = isub v21, v20
;              v23: ui32 = const 0x8
;              v24: i32 = ushr v9, v23
;              v25: ui32 = const 0xff
;              v26: i32 = iand v24, v25
;              v27: ui32 = const 0x8
;              v28: i32 = ushr v10, v27
;              v29: ui32 = const 0xff
;              v30: i32 = iand v28, v29
;              v31: i32 = umin v26, v30
;              v32: i32 = umax v26, v30
;              v33: i32 = isub v32, v31
;              v34: i32 = iadd v22, v33
;              v35: ui32 = const 0x10
;              v36: i32 = ushr v9, v35
;              v37: ui32 = const 0xff
;              v38: i32 = iand v36, v37
;              v39: ui32 = const 0x10
;              v40: i32 = ushr v10, v39
;              v41: ui32 = const 0xff
;              v42: i32 = iand v40, v41
;              v43: i32 = umin v38, v42
;              v44: i32 = umax v38, v42
;              v45: i32 = isub v44, v43
;              v46: i32 = iadd v34, v45
;              v47: ui32 = const 0x18
;              v48: i32 = ushr v9, v47
;              v49: ui32 = const 0xff
;              v50: i32 = iand v48, v49
;              v51: ui32 = const 0x18
;              v52: i32 = ushr v10, v51
;              v53: ui32 = const 0xff
;              v54: i32 = iand v52, v53
;              v55: i32 = umin v50, v54
;              v56: i32 = umax v50, v54
;              v57: i32 = isub v56, v55
;              v58: i32 = iadd v46, v57
;              v59: i32 = iadd v58, v11
;              v60: i32 = slot.get s114  ; v5
;              v61: i32 = select v13, v59, v60
;     @0x10    slot.set s110, v15  ; v1
;              slot.set s114, v61  ; v5
;              jump block2
;
; block2 pc 0x10:
;              v62: mask = slot.get s118  ; exec
;              v63: ui64 = ballot v62
;              slot.set s121, v63  ; t16.ui64
;              jump block3
;
; block3 pc 0x10:
;              v64: ui64 = slot.get s121  ; t16.ui64
;              v65: ui32 = trunc v64
;              v66: ui64 = const 0x20
;              v67: ui64 = ushr v64, v66
;              v68: ui32 = trunc v67
;              slot.set s106, v65  ; exec_lo
;              slot.set s107, v68  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x10:
;              fault illegal
