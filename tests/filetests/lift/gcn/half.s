; test lift gfx900 8
v_add_f16 v1, v2, v3
v_fma_f16 v4, v1, v2, v3
s_endpgm

; expect:
; block1 at 0x0 insts 3:
;              v9: i32 = slot.get s111  ; v2
;              v10: ui32 = const 0xffff
;              v11: i32 = iand v9, v10
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
;              v29: mask = slot.get s118  ; exec
;              v30: i32 = slot.get s110  ; v1
;              v31: i32 = select v29, v28, v30
;     @0x4     v32: ui32 = const 0xffff
;              v33: i32 = iand v31, v32
;              v34: ui32 = const 0xffff
;              v35: i32 = iand v9, v34
;              v36: ui32 = const 0xffff
;              v37: i32 = iand v12, v36
;              v38: f32 = f16_to_f32 v33
;              v39: f32 = f16_to_f32 v35
;              v40: f32 = f16_to_f32 v37
;              v41: f32 = fmul.ftz v38, v39
;              v42: f32 = fadd.ftz v41, v40
;              v43: f32 = fsub.ftz v42, v41
;              v44: f32 = fsub.ftz v42, v43
;              v45: f32 = fsub.ftz v41, v44
;              v46: f32 = fsub.ftz v40, v43
;              v47: f32 = fadd.ftz v45, v46
;              v48: uf32 = const 0x0  ; 0.0
;              v49: mask = fcmp.ftz one v47, v48
;              v50: i32 = bitcast v42
;              v51: i32 = bitcast v47
;              v52: i32 = ixor v50, v51
;              v53: ui32 = const 0x1f
;              v54: i32 = sshr v52, v53
;              v55: i32 = iadd v50, v54
;              v56: ui32 = const 0x1
;              v57: i32 = ior v55, v56
;              v58: i32 = select v49, v57, v50
;              v59: f32 = bitcast v58
;              v60: i32 = f32_to_f16 v59
;              v61: ui32 = const 0xffff
;              v62: i32 = iand v60, v61
;              v63: ui32 = const 0x7fff
;              v64: i32 = iand v62, v63
;              v65: ui32 = const 0x7c00
;              v66: mask = icmp ugt v64, v65
;              v67: ui32 = const 0x7e00
;              v68: i32 = select v66, v67, v62
;              v69: ui32 = const 0xffff
;              v70: i32 = iand v68, v69
;              v71: i32 = slot.get s113  ; v4
;              v72: ui32 = const 0xffff0000
;              v73: i32 = iand v71, v72
;              v74: ui32 = const 0xffff
;              v75: i32 = iand v70, v74
;              v76: i32 = ior v73, v75
;              v77: i32 = select v29, v76, v71
;     @0xc     slot.set s110, v31  ; v1
;              slot.set s113, v77  ; v4
;              jump block2
;
; block2 pc 0xc:
;              v78: mask = slot.get s118  ; exec
;              v79: ui64 = ballot v78
;              slot.set s121, v79  ; t16.ui64
;              jump block3
;
; block3 pc 0xc:
;              v80: ui64 = slot.get s121  ; t16.ui64
;              v81: ui32 = trunc v80
;              v82: ui64 = const 0x20
;              v83: ui64 = ushr v80, v82
;              v84: ui32 = trunc v83
;              slot.set s106, v81  ; exec_lo
;              slot.set s107, v84  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0xc:
;              fault illegal
