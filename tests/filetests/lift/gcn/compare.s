; test lift gfx900 8
v_cmp_lt_f32 vcc, v1, v2
v_cndmask_b32 v3, v1, v2, vcc
v_cmp_class_f32 s[2:3], v1, v2
s_endpgm

; expect:
; block1 at 0x0 insts 4:
;              v9: i32 = slot.get s110  ; v1
;              v10: f32 = bitcast v9
;              v11: i32 = slot.get s111  ; v2
;              v12: f32 = bitcast v11
;              v13: mask = fcmp.ftz lt v10, v12
;              v14: mask = slot.get s118  ; exec
;              v15: mask = iand v14, v13
;     @0x4     v16: i32 = select v15, v11, v9
;              v17: i32 = slot.get s112  ; v3
;              v18: i32 = select v14, v16, v17
;     @0x8     v19: f32 = bitcast v9
;              v20: i32 = bitcast v19
;              v21: ui32 = const 0x80000000
;              v22: i32 = iand v20, v21
;              v23: ui32 = const 0x7fffffff
;              v24: i32 = iand v20, v23
;              v25: ui32 = const 0x0
;              v26: mask = icmp ne v22, v25
;              v27: ui32 = const 0x7f800000
;              v28: mask = icmp ugt v24, v27
;              v29: ui32 = const 0x0
;              v30: ui32 = const 0x1
;              v31: ui32 = const 0x800000
;              v32: mask = icmp uge v24, v30
;              v33: ui32 = const 0x1
;              v34: i32 = select v32, v33, v29
;              v35: mask = icmp uge v24, v31
;              v36: ui32 = const 0x2
;              v37: i32 = select v35, v36, v34
;              v38: mask = icmp uge v24, v27
;              v39: ui32 = const 0x3
;              v40: i32 = select v38, v39, v37
;              v41: ui32 = const 0x5
;              v42: ui32 = const 0x6
;              v43: i32 = isub v41, v40
;              v44: i32 = iadd v42, v40
;              v45: i32 = select v26, v43, v44
;              v46: ui32 = const 0x400000
;              v47: i32 = iand v20, v46
;              v48: mask = icmp ne v47, v25
;              v49: ui32 = const 0x1
;              v50: ui32 = const 0x0
;              v51: i32 = select v48, v49, v50
;              v52: i32 = select v28, v51, v45
;              v53: i32 = ushr v11, v52
;              v54: ui32 = const 0x1
;              v55: i32 = iand v53, v54
;              v56: ui32 = const 0x0
;              v57: mask = icmp ne v55, v56
;              v58: mask = iand v14, v57
;     @0x10    slot.set s112, v18  ; v3
;              slot.set s121, v15  ; vcc.m
;              slot.set s122, v58  ; s2.m
;              jump block2
;
; block2 pc 0x10:
;              v59: mask = slot.get s122  ; s2.m
;              v60: ui64 = ballot v59
;              slot.set s123, v60  ; t16.ui64
;              jump block3
;
; block3 pc 0x10:
;              v61: ui64 = slot.get s123  ; t16.ui64
;              v62: ui32 = trunc v61
;              v63: ui64 = const 0x20
;              v64: ui64 = ushr v61, v63
;              v65: ui32 = trunc v64
;              v66: mask = slot.get s121  ; vcc.m
;              slot.set s2, v62  ; s2
;              slot.set s3, v65  ; s3
;              jump block4
;
; block4 pc 0x10:
;              v67: mask = slot.get s121  ; vcc.m
;              v68: ui64 = ballot v67
;              slot.set s123, v68  ; t16.ui64
;              jump block5
;
; block5 pc 0x10:
;              v69: ui64 = slot.get s123  ; t16.ui64
;              v70: ui32 = trunc v69
;              v71: ui64 = const 0x20
;              v72: ui64 = ushr v69, v71
;              v73: ui32 = trunc v72
;              v74: mask = slot.get s118  ; exec
;              slot.set s104, v70  ; vcc_lo
;              slot.set s105, v73  ; vcc_hi
;              jump block6
;
; block6 pc 0x10:
;              v75: mask = slot.get s118  ; exec
;              v76: ui64 = ballot v75
;              slot.set s123, v76  ; t16.ui64
;              jump block7
;
; block7 pc 0x10:
;              v77: ui64 = slot.get s123  ; t16.ui64
;              v78: ui32 = trunc v77
;              v79: ui64 = const 0x20
;              v80: ui64 = ushr v77, v79
;              v81: ui32 = trunc v80
;              slot.set s106, v78  ; exec_lo
;              slot.set s107, v81  ; exec_hi
;              leave.exit -> block8
;
; block8 pc 0x10:
;              fault illegal
