; test lift gfx900 8
scratch_load_dword v2, v3, off
s_endpgm

; expect:
; block1 at 0x0 insts 1:
;              v9: i32 = slot.get s112  ; v3
;              v10: ui32 = slot.get s121  ; flat_scratch_lo
;              v11: ui32 = slot.get s122  ; flat_scratch_hi
;              v12: ui64 = zext v10
;              v13: ui64 = zext v11
;              v14: ui64 = const 0x20
;              v15: ui64 = ishl v13, v14
;              v16: ui64 = ior v15, v12
;              v17: ui32 = const 0x3
;              v18: i32 = iand v9, v17
;              v19: ui32 = const 0x0
;              v20: mask = icmp ugt v18, v19
;              v21: mask = slot.get s118  ; exec
;              v22: mask = iand v21, v20
;              slot.set s123, v22  ; t0.mask
;              jump block2
;
; block2 pc 0x0:
;              v23: mask = slot.get s123  ; t0.mask
;              v24: ui1 = vote_any v23
;              slot.set s124, v24  ; t16.ui1
;              jump block3
;
; block3 pc 0x0:
;              v25: ui1 = slot.get s124  ; t16.ui1
;              branch v25, block4, block5
;
; block4 pc 0x0:
;              v26: i32 = slot.get s112  ; v3
;              v27: ui32 = slot.get s121  ; flat_scratch_lo
;              v28: ui32 = slot.get s122  ; flat_scratch_hi
;              v29: ui64 = zext v27
;              v30: ui64 = zext v28
;              v31: ui64 = const 0x20
;              v32: ui64 = ishl v30, v31
;              v33: ui64 = ior v32, v29
;              v34: ui32 = const 0x3
;              v35: i32 = iadd v26, v34
;              v36: ui32 = const 0xfffffffc
;              v37: i32 = iand v35, v36
;              v38: i64 = zext v37
;              v39: ui64 = const 0x6
;              v40: i64 = ishl v38, v39
;              v41: i64 = iadd v33, v40
;              v42: i32 = slot.get s125  ; laneid
;              v43: ui32 = const 0x2
;              v44: i32 = ishl v42, v43
;              v45: ui32 = const 0x3
;              v46: i32 = iand v35, v45
;              v47: i32 = ior v44, v46
;              v48: i64 = zext v47
;              v49: i64 = iadd v41, v48
;              v50: mask = slot.get s118  ; exec
;              v51: i32 = load.u8 global0[v49] align 1 if v50
;              v52: ui32 = const 0x8
;              v53: i32 = ishl v51, v52
;              v54: ui32 = const 0x2
;              v55: i32 = iadd v26, v54
;              v56: ui32 = const 0xfffffffc
;              v57: i32 = iand v55, v56
;              v58: i64 = zext v57
;              v59: ui64 = const 0x6
;              v60: i64 = ishl v58, v59
;              v61: i64 = iadd v33, v60
;              v62: ui32 = const 0x2
;              v63: i32 = ishl v42, v62
;              v64: ui32 = const 0x3
;              v65: i32 = iand v55, v64
;              v66: i32 = ior v63, v65
;              v67: i64 = zext v66
;              v68: i64 = iadd v61, v67
;              v69: i32 = load.u8 global0[v68] align 1 if v50
;              v70: i32 = ior v53, v69
;              v71: ui32 = const 0x8
;              v72: i32 = ishl v70, v71
;              v73: ui32 = const 0x1
;              v74: i32 = iadd v26, v73
;              v75: ui32 = const 0xfffffffc
;              v76: i32 = iand v74, v75
;              v77: i64 = zext v76
;              v78: ui64 = const 0x6
;              v79: i64 = ishl v77, v78
;              v80: i64 = iadd v33, v79
;              v81: ui32 = const 0x2
;              v82: i32 = ishl v42, v81
;              v83: ui32 = const 0x3
;              v84: i32 = iand v74, v83
;              v85: i32 = ior v82, v84
;              v86: i64 = zext v85
;              v87: i64 = iadd v80, v86
;              v88: i32 = load.u8 global0[v87] align 1 if v50
;              v89: i32 = ior v72, v88
;              v90: ui32 = const 0x8
;              v91: i32 = ishl v89, v90
;              v92: ui32 = const 0xfffffffc
;              v93: i32 = iand v26, v92
;              v94: i64 = zext v93
;              v95: ui64 = const 0x6
;              v96: i64 = ishl v94, v95
;              v97: i64 = iadd v33, v96
;              v98: ui32 = const 0x2
;              v99: i32 = ishl v42, v98
;              v100: ui32 = const 0x3
;              v101: i32 = iand v26, v100
;              v102: i32 = ior v99, v101
;              v103: i64 = zext v102
;              v104: i64 = iadd v97, v103
;              v105: i32 = load.u8 global0[v104] align 1 if v50
;              v106: i32 = ior v91, v105
;              v107: i32 = slot.get s111  ; v2
;              v108: i32 = select v50, v106, v107
;              slot.set s111, v108  ; v2
;              jump block6
;
; block5 pc 0x0:
;              v109: i32 = slot.get s112  ; v3
;              v110: ui32 = slot.get s121  ; flat_scratch_lo
;              v111: ui32 = slot.get s122  ; flat_scratch_hi
;              v112: ui64 = zext v110
;              v113: ui64 = zext v111
;              v114: ui64 = const 0x20
;              v115: ui64 = ishl v113, v114
;              v116: ui64 = ior v115, v112
;              v117: ui32 = const 0xfffffffc
;              v118: i32 = iand v109, v117
;              v119: i64 = zext v118
;              v120: ui64 = const 0x6
;              v121: i64 = ishl v119, v120
;              v122: i64 = iadd v116, v121
;              v123: i32 = slot.get s125  ; laneid
;              v124: ui32 = const 0x2
;              v125: i32 = ishl v123, v124
;              v126: ui32 = const 0x3
;              v127: i32 = iand v109, v126
;              v128: i32 = ior v125, v127
;              v129: i64 = zext v128
;              v130: i64 = iadd v122, v129
;              v131: mask = slot.get s118  ; exec
;              v132: i32 = load.u32 global0[v130] align 1 if v131
;              v133: i32 = slot.get s111  ; v2
;              v134: i32 = select v131, v132, v133
;              slot.set s111, v134  ; v2
;              jump block6
;
; block6 pc 0x0 insts 1:
;     @0x8     v135: mask = slot.get s118  ; exec
;              jump block7
;
; block7 pc 0x8:
;              v136: mask = slot.get s118  ; exec
;              v137: ui64 = ballot v136
;              slot.set s126, v137  ; t16.ui64
;              jump block8
;
; block8 pc 0x8:
;              v138: ui64 = slot.get s126  ; t16.ui64
;              v139: ui32 = trunc v138
;              v140: ui64 = const 0x20
;              v141: ui64 = ushr v138, v140
;              v142: ui32 = trunc v141
;              slot.set s106, v139  ; exec_lo
;              slot.set s107, v142  ; exec_hi
;              leave.exit -> block9
;
; block9 pc 0x8:
;              fault illegal
