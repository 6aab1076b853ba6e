; test lift gfx900 8
tbuffer_load_format_xy v[2:3], v1, s[4:7], dfmt:5, nfmt:0, 0 idxen
s_endpgm

; expect:
; block1 at 0x0 insts 2:
;              v9: ui32 = slot.get s4  ; s4
;              v10: ui32 = slot.get s5  ; s5
;              v11: ui32 = slot.get s6  ; s6
;              v12: ui32 = slot.get s7  ; s7
;              v13: ui32 = const 0x0
;              v14: ui32 = const 0x10
;              v15: ui32 = ishl v10, v14
;              v16: ui32 = const 0x10
;              v17: ui32 = sshr v15, v16
;              v18: ui64 = zext v9
;              v19: ui64 = zext v17
;              v20: ui64 = const 0x20
;              v21: ui64 = ishl v19, v20
;              v22: ui64 = ior v21, v18
;              v23: i32 = slot.get s110  ; v1
;              v24: ui32 = const 0x0
;              v25: ui32 = const 0x0
;              v26: i32 = slot.get s121  ; laneid
;              v27: ui32 = const 0x800000
;              v28: ui32 = iand v12, v27
;              v29: ui32 = const 0x0
;              v30: ui1 = icmp ne v28, v29
;              v31: i32 = select v30, v26, v24
;              v32: i32 = iadd v23, v31
;              v33: ui32 = const 0x10
;              v34: ui32 = ushr v10, v33
;              v35: ui32 = const 0x3fff
;              v36: ui32 = iand v34, v35
;              v37: ui32 = const 0xf
;              v38: ui32 = ushr v12, v37
;              v39: ui32 = const 0xf
;              v40: ui32 = iand v38, v39
;              v41: ui32 = const 0xe
;              v42: ui32 = ishl v40, v41
;              v43: ui32 = const 0x800000
;              v44: ui32 = iand v12, v43
;              v45: ui32 = const 0x0
;              v46: ui1 = icmp ne v44, v45
;              v47: ui32 = select v46, v42, v24
;              v48: ui32 = ior v36, v47
;              v49: ui32 = const 0x0
;              v50: ui1 = icmp ne v48, v49
;              v51: ui32 = const 0x80000000
;              v52: ui32 = iand v10, v51
;              v53: ui32 = const 0x0
;              v54: ui1 = icmp ne v52, v53
;              v55: ui32 = const 0x0
;              v56: ui32 = const 0x1
;              v57: ui32 = iadd v56, v56
;              v58: ui32 = const 0x15
;              v59: ui32 = ushr v12, v58
;              v60: ui32 = const 0x3
;              v61: ui32 = iand v59, v60
;              v62: ui32 = const 0x3
;              v63: ui32 = iadd v61, v62
;              v64: ui32 = ishl v56, v63
;              v65: ui32 = isub v64, v56
;              v66: ui32 = select v54, v65, v55
;              v67: ui32 = ishl v56, v57
;              v68: ui32 = isub v67, v56
;              v69: ui32 = select v54, v68, v55
;              v70: ui32 = select v54, v63, v55
;              v71: ui32 = const 0x4
;              v72: ui32 = const 0x0
;              v73: ui32 = const 0x1
;              v74: ui32 = const 0x0
;              v75: ui32 = iadd v71, v74
;              v76: ui1 = icmp uge v11, v75
;              v77: ui32 = isub v11, v75
;              v78: ui32 = iadd v77, v73
;              v79: ui32 = select v76, v78, v72
;              v80: ui32 = select v50, v11, v79
;              v81: i32 = select v50, v32, v25
;              v82: mask = icmp ult v81, v80
;              v83: ui32 = const 0x0
;              v84: ui32 = inot v69
;              v85: ui32 = iand v25, v84
;              v86: ui32 = ishl v85, v70
;              v87: ui32 = iand v25, v69
;              v88: ui32 = iadd v86, v87
;              v89: i32 = ushr v32, v70
;              v90: i32 = imul v89, v48
;              v91: i32 = ishl v90, v70
;              v92: i32 = iand v32, v66
;              v93: i32 = ishl v92, v57
;              v94: i32 = iadd v91, v93
;              v95: i32 = iadd v88, v94
;              v96: i64 = zext v95
;              v97: i64 = iadd v22, v96
;              v98: mask = slot.get s118  ; exec
;              v99: mask = iand v98, v82
;              v100: i32 = load.u32 global0[v97] align 1 if v99
;              v101: ui32 = const 0x0
;              v102: i32 = select v82, v100, v101
;              v103: ui32 = const 0xffff
;              v104: i32 = iand v102, v103
;              v105: f32 = fcvt_from_uint v104
;              v106: uf32 = const 0x477fff00  ; 65535.0
;              v107: f32 = fdiv v105, v106
;              v108: i32 = bitcast v107
;              v109: ui32 = const 0x10
;              v110: i32 = ushr v102, v109
;              v111: ui32 = const 0xffff
;              v112: i32 = iand v110, v111
;              v113: f32 = fcvt_from_uint v112
;              v114: uf32 = const 0x477fff00  ; 65535.0
;              v115: f32 = fdiv v113, v114
;              v116: i32 = bitcast v115
;              v117: i32 = slot.get s111  ; v2
;              v118: i32 = select v98, v108, v117
;              v119: i32 = slot.get s112  ; v3
;              v120: i32 = select v98, v116, v119
;     @0x8     slot.set s111, v118  ; v2
;              slot.set s112, v120  ; v3
;              jump block2
;
; block2 pc 0x8:
;              v121: mask = slot.get s118  ; exec
;              v122: ui64 = ballot v121
;              slot.set s122, v122  ; t16.ui64
;              jump block3
;
; block3 pc 0x8:
;              v123: ui64 = slot.get s122  ; t16.ui64
;              v124: ui32 = trunc v123
;              v125: ui64 = const 0x20
;              v126: ui64 = ushr v123, v125
;              v127: ui32 = trunc v126
;              slot.set s106, v124  ; exec_lo
;              slot.set s107, v127  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x8:
;              fault illegal
