; test lift gfx900 8
buffer_load_dword v2, v1, s[4:7], s8 offen offset:16
s_endpgm

; expect:
; block1 at 0x0 insts 2:
;              v9: ui32 = slot.get s4  ; s4
;              v10: ui32 = slot.get s5  ; s5
;              v11: ui32 = slot.get s6  ; s6
;              v12: ui32 = slot.get s7  ; s7
;              v13: ui32 = slot.get s8  ; s8
;              v14: ui32 = const 0x10
;              v15: ui32 = ishl v10, v14
;              v16: ui32 = const 0x10
;              v17: ui32 = sshr v15, v16
;              v18: ui64 = zext v9
;              v19: ui64 = zext v17
;              v20: ui64 = const 0x20
;              v21: ui64 = ishl v19, v20
;              v22: ui64 = ior v21, v18
;              v23: ui64 = zext v13
;              v24: ui64 = iadd v22, v23
;              v25: i32 = slot.get s110  ; v1
;              v26: ui32 = const 0x0
;              v27: ui32 = const 0x10
;              v28: i32 = iadd v25, v27
;              v29: i32 = slot.get s121  ; laneid
;              v30: ui32 = const 0x800000
;              v31: ui32 = iand v12, v30
;              v32: ui32 = const 0x0
;              v33: ui1 = icmp ne v31, v32
;              v34: i32 = select v33, v29, v26
;              v35: ui32 = const 0x10
;              v36: ui32 = ushr v10, v35
;              v37: ui32 = const 0x3fff
;              v38: ui32 = iand v36, v37
;              v39: ui32 = const 0xf
;              v40: ui32 = ushr v12, v39
;              v41: ui32 = const 0xf
;              v42: ui32 = iand v40, v41
;              v43: ui32 = const 0xe
;              v44: ui32 = ishl v42, v43
;              v45: ui32 = const 0x800000
;              v46: ui32 = iand v12, v45
;              v47: ui32 = const 0x0
;              v48: ui1 = icmp ne v46, v47
;              v49: ui32 = select v48, v44, v26
;              v50: ui32 = ior v38, v49
;              v51: ui32 = const 0x0
;              v52: ui1 = icmp ugt v11, v13
;              v53: ui32 = isub v11, v13
;              v54: ui32 = select v52, v53, v51
;              v55: ui1 = icmp ne v50, v51
;              v56: ui32 = const 0x800000
;              v57: ui32 = iand v12, v56
;              v58: ui32 = const 0x0
;              v59: ui1 = icmp ne v57, v58
;              v60: ui1 = iand v55, v59
;              v61: ui32 = const 0x878000
;              v62: ui32 = iand v12, v61
;              v63: ui32 = const 0x0
;              v64: ui1 = icmp ne v62, v63
;              v65: ui32 = const 0x80000000
;              v66: ui32 = iand v10, v65
;              v67: ui32 = const 0x0
;              v68: ui1 = icmp ne v66, v67
;              v69: ui32 = const 0x0
;              v70: ui32 = const 0x1
;              v71: ui32 = iadd v70, v70
;              v72: ui32 = const 0x15
;              v73: ui32 = ushr v12, v72
;              v74: ui32 = const 0x3
;              v75: ui32 = iand v73, v74
;              v76: ui32 = const 0x3
;              v77: ui32 = iadd v75, v76
;              v78: ui32 = ishl v70, v77
;              v79: ui32 = isub v78, v70
;              v80: ui32 = select v68, v79, v69
;              v81: ui32 = ishl v70, v71
;              v82: ui32 = isub v81, v70
;              v83: ui32 = select v68, v82, v69
;              v84: ui32 = select v68, v77, v69
;              v85: ui32 = const 0x4
;              v86: ui32 = const 0x0
;              v87: ui32 = const 0x1
;              v88: ui32 = const 0x0
;              v89: ui32 = iadd v85, v88
;              v90: ui1 = icmp uge v54, v89
;              v91: ui32 = isub v54, v89
;              v92: ui32 = iadd v91, v87
;              v93: ui32 = select v90, v92, v86
;              v94: ui32 = select v60, v11, v93
;              v95: i32 = select v60, v34, v28
;              v96: ui32 = select v64, v94, v86
;              v97: mask = icmp ult v95, v96
;              v98: ui32 = inot v83
;              v99: i32 = iand v28, v98
;              v100: i32 = ishl v99, v84
;              v101: i32 = iand v28, v83
;              v102: i32 = iadd v100, v101
;              v103: i32 = ushr v34, v84
;              v104: i32 = imul v103, v50
;              v105: i32 = ishl v104, v84
;              v106: i32 = iand v34, v80
;              v107: i32 = ishl v106, v71
;              v108: i32 = iadd v105, v107
;              v109: i32 = iadd v102, v108
;              v110: i64 = zext v109
;              v111: i64 = iadd v24, v110
;              v112: mask = slot.get s118  ; exec
;              v113: mask = iand v112, v97
;              v114: i32 = load.u32 global0[v111] align 1 if v113
;              v115: ui32 = const 0x0
;              v116: i32 = select v97, v114, v115
;              v117: i32 = slot.get s111  ; v2
;              v118: i32 = select v112, v116, v117
;     @0x8     slot.set s111, v118  ; v2
;              jump block2
;
; block2 pc 0x8:
;              v119: mask = slot.get s118  ; exec
;              v120: ui64 = ballot v119
;              slot.set s122, v120  ; t16.ui64
;              jump block3
;
; block3 pc 0x8:
;              v121: ui64 = slot.get s122  ; t16.ui64
;              v122: ui32 = trunc v121
;              v123: ui64 = const 0x20
;              v124: ui64 = ushr v121, v123
;              v125: ui32 = trunc v124
;              slot.set s106, v122  ; exec_lo
;              slot.set s107, v125  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x8:
;              fault illegal
