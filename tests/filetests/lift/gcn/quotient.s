; test lift gfx900 8
v_div_scale_f32 v3, s[4:5], v1, v1, v0
v_div_scale_f32 v4, vcc, v0, v1, v0
v_rcp_f32 v5, v3
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3
v_fma_f32 v6, -v3, v5, 1.0
v_fma_f32 v5, v6, v5, v5
v_mul_f32 v6, v4, v5
v_fma_f32 v7, -v3, v6, v4
v_fma_f32 v6, v7, v5, v6
v_fma_f32 v3, -v3, v6, v4
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
v_div_fmas_f32 v3, v3, v5, v6
v_div_fixup_f32 v0, v3, v1, v0
s_endpgm

; expect:
; block1 at 0x0 insts 14:
;              v9: i32 = slot.get s110  ; v1
;              v10: f32 = bitcast v9
;              v11: f32 = bitcast v9
;              v12: i32 = slot.get s109  ; v0
;              v13: f32 = bitcast v12
;              v14: f32 = fflush v10
;              v15: f32 = fflush v11
;              v16: f32 = fflush v13
;              v17: f32 = call.pure @gcn.div_scale.f32(v14, v15, v16)
;              v18: mask = call.pure @gcn.div_flag.f32(v15, v16)
;              v19: f32 = fcanon v17, 0x7fc00000
;              v20: i32 = bitcast v19
;              v21: mask = slot.get s118  ; exec
;              v22: i32 = slot.get s112  ; v3
;              v23: i32 = select v21, v20, v22
;              v24: mask = iand v21, v18
;     @0x8     v25: f32 = bitcast v12
;              v26: f32 = bitcast v9
;              v27: f32 = bitcast v12
;              v28: f32 = fflush v25
;              v29: f32 = fflush v26
;              v30: f32 = fflush v27
;              v31: f32 = call.pure @gcn.div_scale.f32(v28, v29, v30)
;              v32: mask = call.pure @gcn.div_flag.f32(v29, v30)
;              v33: f32 = fcanon v31, 0x7fc00000
;              v34: i32 = bitcast v33
;              v35: i32 = slot.get s113  ; v4
;              v36: i32 = select v21, v34, v35
;              v37: mask = iand v21, v32
;     @0x10    v38: f32 = bitcast v23
;              v39: uf32 = const 0x3f800000  ; 1.0
;              v40: f32 = fdiv.ftz v39, v38
;              v41: f32 = fcanon v40, 0x7fc00000
;              v42: i32 = bitcast v41
;              v43: i32 = slot.get s114  ; v5
;              v44: i32 = select v21, v42, v43
;     @0x14    v45: ui32 = const 0x3
;              v46: ui32 = const 0x4
;              v47: ui32 = ishl v45, v46
;              v48: ui32 = const 0x30
;              v49: ui32 = iand v47, v48
;              v50: ui32 = slot.get s117  ; mode
;              v51: ui32 = const 0xffffffcf
;              v52: ui32 = iand v50, v51
;              v53: ui32 = ior v52, v49
;     @0x1c    v54: f32 = bitcast v23
;              v55: f32 = fneg v54
;              v56: f32 = bitcast v44
;              v57: ui32 = const 0x3f800000
;              v58: uf32 = bitcast v57
;              v59: f32 = fma v55, v56, v58
;              v60: f32 = fcanon v59, 0x7fc00000
;              v61: i32 = bitcast v60
;              v62: i32 = slot.get s115  ; v6
;              v63: i32 = select v21, v61, v62
;     @0x24    v64: f32 = bitcast v63
;              v65: f32 = bitcast v44
;              v66: f32 = bitcast v44
;              v67: f32 = fma v64, v65, v66
;              v68: f32 = fcanon v67, 0x7fc00000
;              v69: i32 = bitcast v68
;              v70: i32 = select v21, v69, v44
;     @0x2c    v71: f32 = bitcast v36
;              v72: f32 = bitcast v70
;              v73: f32 = fmul v71, v72
;              v74: f32 = fcanon v73, 0x7fc00000
;              v75: i32 = bitcast v74
;              v76: i32 = select v21, v75, v63
;     @0x30    v77: f32 = bitcast v23
;              v78: f32 = fneg v77
;              v79: f32 = bitcast v76
;              v80: f32 = bitcast v36
;              v81: f32 = fma v78, v79, v80
;              v82: f32 = fcanon v81, 0x7fc00000
;              v83: i32 = bitcast v82
;              v84: i32 = slot.get s116  ; v7
;              v85: i32 = select v21, v83, v84
;     @0x38    v86: f32 = bitcast v85
;              v87: f32 = bitcast v70
;              v88: f32 = bitcast v76
;              v89: f32 = fma v86, v87, v88
;              v90: f32 = fcanon v89, 0x7fc00000
;              v91: i32 = bitcast v90
;              v92: i32 = select v21, v91, v76
;     @0x40    v93: f32 = bitcast v23
;              v94: f32 = fneg v93
;              v95: f32 = bitcast v92
;              v96: f32 = bitcast v36
;              v97: f32 = fma v94, v95, v96
;              v98: f32 = fcanon v97, 0x7fc00000
;              v99: i32 = bitcast v98
;              v100: i32 = select v21, v99, v23
;     @0x48    v101: ui32 = const 0x0
;              v102: ui32 = const 0x4
;              v103: ui32 = ishl v101, v102
;              v104: ui32 = const 0x30
;              v105: ui32 = iand v103, v104
;              v106: ui32 = const 0xffffffcf
;              v107: ui32 = iand v53, v106
;              v108: ui32 = ior v107, v105
;     @0x50    v109: f32 = bitcast v100
;              v110: f32 = bitcast v70
;              v111: f32 = bitcast v92
;              v112: f32 = fma.ftz v109, v110, v111
;              v113: uf32 = const 0x5f800000  ; 1.8446744e19
;              v114: uf32 = const 0x1f800000  ; 5.421011e-20
;              v115: uf32 = const 0x40000000  ; 2.0
;              v116: f32 = fabs v111
;              v117: mask = fcmp.ftz ge v116, v115
;              v118: f32 = select v117, v113, v114
;              v119: uf32 = const 0x3f800000  ; 1.0
;              v120: f32 = select v37, v118, v119
;              v121: f32 = fmul.ftz v112, v120
;              v122: f32 = fcanon v121, 0x7fc00000
;              v123: i32 = bitcast v122
;              v124: i32 = select v21, v123, v100
;     @0x58    v125: f32 = bitcast v124
;              v126: f32 = bitcast v9
;              v127: f32 = bitcast v12
;              v128: f32 = fdiv.ftz v127, v126
;              v129: f32 = fcanon v128, 0x7fc00000
;              v130: i32 = bitcast v129
;              v131: i32 = select v21, v130, v12
;     @0x60    slot.set s109, v131  ; v0
;              slot.set s112, v124  ; v3
;              slot.set s113, v36  ; v4
;              slot.set s114, v70  ; v5
;              slot.set s115, v92  ; v6
;              slot.set s116, v85  ; v7
;              slot.set s117, v108  ; mode
;              slot.set s121, v24  ; s4.m
;              slot.set s122, v37  ; vcc.m
;              jump block2
;
; block2 pc 0x60:
;              v132: mask = slot.get s121  ; s4.m
;              v133: ui64 = ballot v132
;              slot.set s123, v133  ; t16.ui64
;              jump block3
;
; block3 pc 0x60:
;              v134: ui64 = slot.get s123  ; t16.ui64
;              v135: ui32 = trunc v134
;              v136: ui64 = const 0x20
;              v137: ui64 = ushr v134, v136
;              v138: ui32 = trunc v137
;              v139: mask = slot.get s122  ; vcc.m
;              slot.set s4, v135  ; s4
;              slot.set s5, v138  ; s5
;              jump block4
;
; block4 pc 0x60:
;              v140: mask = slot.get s122  ; vcc.m
;              v141: ui64 = ballot v140
;              slot.set s123, v141  ; t16.ui64
;              jump block5
;
; block5 pc 0x60:
;              v142: ui64 = slot.get s123  ; t16.ui64
;              v143: ui32 = trunc v142
;              v144: ui64 = const 0x20
;              v145: ui64 = ushr v142, v144
;              v146: ui32 = trunc v145
;              v147: mask = slot.get s118  ; exec
;              slot.set s104, v143  ; vcc_lo
;              slot.set s105, v146  ; vcc_hi
;              jump block6
;
; block6 pc 0x60:
;              v148: mask = slot.get s118  ; exec
;              v149: ui64 = ballot v148
;              slot.set s123, v149  ; t16.ui64
;              jump block7
;
; block7 pc 0x60:
;              v150: ui64 = slot.get s123  ; t16.ui64
;              v151: ui32 = trunc v150
;              v152: ui64 = const 0x20
;              v153: ui64 = ushr v150, v152
;              v154: ui32 = trunc v153
;              slot.set s106, v151  ; exec_lo
;              slot.set s107, v154  ; exec_hi
;              leave.exit -> block8
;
; block8 pc 0x60:
;              fault illegal
