; test lift gfx900 8
v_sub_u16 v1, v2, v3
v_min_i16 v4, v1, v2
v_mad_u16 v5, v1, v2, v3 clamp
s_endpgm

; expect:
; block1 at 0x0 insts 4:
;              v9: i32 = slot.get s111  ; v2
;              v10: ui32 = const 0xffff
;              v11: i32 = iand v9, v10
;              v12: i32 = slot.get s112  ; v3
;              v13: ui32 = const 0xffff
;              v14: i32 = iand v12, v13
;              v15: i32 = isub v11, v14
;              v16: ui32 = const 0xffff
;              v17: i32 = iand v15, v16
;              v18: mask = slot.get s118  ; exec
;              v19: i32 = slot.get s110  ; v1
;              v20: i32 = select v18, v17, v19
;     @0x4     v21: ui32 = const 0xffff
;              v22: i32 = iand v20, v21
;              v23: ui32 = const 0x10
;              v24: i32 = ishl v22, v23
;              v25: ui32 = const 0x10
;              v26: i32 = sshr v24, v25
;              v27: ui32 = const 0xffff
;              v28: i32 = iand v9, v27
;              v29: ui32 = const 0x10
;              v30: i32 = ishl v28, v29
;              v31: ui32 = const 0x10
;              v32: i32 = sshr v30, v31
;              v33: i32 = smin v26, v32
;              v34: ui32 = const 0xffff
;              v35: i32 = iand v33, v34
;              v36: i32 = slot.get s113  ; v4
;              v37: i32 = select v18, v35, v36
;     @0x8     v38: ui32 = const 0xffff
;              v39: i32 = iand v20, v38
;              v40: ui32 = const 0xffff
;              v41: i32 = iand v9, v40
;              v42: ui32 = const 0xffff
;              v43: i32 = iand v12, v42
;              v44: i32 = imul v39, v41
;              v45: i32 = iadd v44, v43
;              v46: ui32 = const 0xffff
;              v47: i32 = umin v45, v46
;              v48: ui32 = const 0xffff
;              v49: i32 = iand v47, v48
;              v50: i32 = slot.get s114  ; v5
;              v51: ui32 = const 0xffff0000
;              v52: i32 = iand v50, v51
;              v53: ui32 = const 0xffff
;              v54: i32 = iand v49, v53
;              v55: i32 = ior v52, v54
;              v56: i32 = select v18, v55, v50
;     @0x10    slot.set s110, v20  ; v1
;              slot.set s113, v37  ; v4
;              slot.set s114, v56  ; v5
;              jump block2
;
; block2 pc 0x10:
;              v57: mask = slot.get s118  ; exec
;              v58: ui64 = ballot v57
;              slot.set s121, v58  ; t16.ui64
;              jump block3
;
; block3 pc 0x10:
;              v59: ui64 = slot.get s121  ; t16.ui64
;              v60: ui32 = trunc v59
;              v61: ui64 = const 0x20
;              v62: ui64 = ushr v59, v61
;              v63: ui32 = trunc v62
;              slot.set s106, v60  ; exec_lo
;              slot.set s107, v63  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x10:
;              fault illegal
