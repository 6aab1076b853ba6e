; test lift gfx900 8
v_pk_add_f16 v1, v2, v3 op_sel:[1,0]
v_pk_mul_lo_u16 v4, v1, v2
s_endpgm

; expect:
; block1 at 0x0 insts 3:
;              v9: i32 = slot.get s111  ; v2
;              v10: ui32 = const 0x10
;              v11: i32 = ushr v9, v10
;              v12: i32 = slot.get s112  ; v3
;              v13: ui32 = const 0xffff
;              v14: i32 = iand v12, v13
;              v15: f32 = f16_to_f32 v11
;              v16: f32 = f16_to_f32 v14
;              v17: f32 = fadd.ftz v15, v16
;              v18: i32 = f32_to_f16 v17
;              v19: ui32 = const 0xffff
;              v20: i32 = iand v18, v19
;              v21: ui32 = const 0x7fff
;              v22: i32 = iand v20, v21
;              v23: ui32 = const 0x7c00
;              v24: mask = icmp ugt v22, v23
;              v25: ui32 = const 0x7e00
;              v26: i32 = select v24, v25, v20
;              v27: ui32 = const 0xffff
;              v28: i32 = iand v26, v27
;              v29: ui32 = const 0x10
;              v30: i32 = ushr v9, v29
;              v31: ui32 = const 0x10
;              v32: i32 = ushr v12, v31
;              v33: f32 = f16_to_f32 v30
;              v34: f32 = f16_to_f32 v32
;              v35: f32 = fadd.ftz v33, v34
;              v36: i32 = f32_to_f16 v35
;              v37: ui32 = const 0xffff
;              v38: i32 = iand v36, v37
;              v39: ui32 = const 0x7fff
;              v40: i32 = iand v38, v39
;              v41: ui32 = const 0x7c00
;              v42: mask = icmp ugt v40, v41
;              v43: ui32 = const 0x7e00
;              v44: i32 = select v42, v43, v38
;              v45: ui32 = const 0xffff
;              v46: i32 = iand v44, v45
;              v47: ui32 = const 0x10
;              v48: i32 = ishl v46, v47
;              v49: i32 = ior v28, v48
;              v50: mask = slot.get s118  ; exec
;              v51: i32 = slot.get s110  ; v1
;              v52: i32 = select v50, v49, v51
;     @0x8     v53: ui32 = const 0xffff
;              v54: i32 = iand v52, v53
;              v55: ui32 = const 0xffff
;              v56: i32 = iand v9, v55
;              v57: i32 = imul v54, v56
;              v58: ui32 = const 0xffff
;              v59: i32 = iand v57, v58
;              v60: ui32 = const 0x10
;              v61: i32 = ushr v52, v60
;              v62: ui32 = const 0x10
;              v63: i32 = ushr v9, v62
;              v64: i32 = imul v61, v63
;              v65: ui32 = const 0xffff
;              v66: i32 = iand v64, v65
;              v67: ui32 = const 0x10
;              v68: i32 = ishl v66, v67
;              v69: i32 = ior v59, v68
;              v70: i32 = slot.get s113  ; v4
;              v71: i32 = select v50, v69, v70
;     @0x10    slot.set s110, v52  ; v1
;              slot.set s113, v71  ; v4
;              jump block2
;
; block2 pc 0x10:
;              v72: mask = slot.get s118  ; exec
;              v73: ui64 = ballot v72
;              slot.set s121, v73  ; t16.ui64
;              jump block3
;
; block3 pc 0x10:
;              v74: ui64 = slot.get s121  ; t16.ui64
;              v75: ui32 = trunc v74
;              v76: ui64 = const 0x20
;              v77: ui64 = ushr v74, v76
;              v78: ui32 = trunc v77
;              slot.set s106, v75  ; exec_lo
;              slot.set s107, v78  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x10:
;              fault illegal
