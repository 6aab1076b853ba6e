; test region g80 8
; Special functions are arithmetic and look-ups, not calls.
ld b32 $r1 g14[$r0]
rcp f32 $r1 $r1
st b32 g14[$r0] $r1
exit nop

; expect:
; function @"kernel@0x0" mask lanes 32 {
;
; block0 pc 0x0:
;              v0: mask = active
;              v2: i32 = slot.get s29  ; tid.x
;              v3: i32 = slot.get s30  ; tid.y
;              v4: i32 = slot.get s31  ; tid.z
;              v5: ui32 = const 0x10
;              v6: i32 = ishl v3, v5
;              v7: ui32 = const 0x1a
;              v8: i32 = ishl v4, v7
;              v9: i32 = ior v6, v8
;              v10: i32 = ior v2, v9
;              v11: i32 = load.u32 global14[v10] align 4
;     @0x8     v18: i32 = ushr v11, v5
;              v19: ui32 = const 0xffff
;              v20: i32 = iand v11, v19
;              v21: ui32 = const 0x1
;              v23: i32 = lookup @tesla.rcp.slopes(v18)
;              v24: i32 = lookup @tesla.rcp.values(v18)
;              v26: i32 = ushr v23, v5
;              v28: i32 = iand v23, v19
;              v65: ui32 = const 0x2
;              v66: i32 = ushr v20, v21
;              v67: ui32 = const 0x7f
;              v68: i32 = iand v66, v67
;              v69: ui32 = const 0x204081
;              v70: i32 = imul v68, v69
;              v71: ui32 = const 0xf1f3f7f
;              v72: i32 = iand v70, v71
;              v73: ui32 = const 0x4
;              v74: i32 = ushr v72, v73
;              v75: ui32 = const 0x10307
;              v76: i32 = iand v74, v75
;              v107: ui32 = const 0x9
;              v78: i32 = ushr v20, v107
;              v79: ui32 = const 0x8040201
;              v80: i32 = imul v78, v79
;              v81: ui32 = const 0x6
;              v82: i32 = ushr v80, v81
;              v83: ui32 = const 0x1010101
;              v84: i32 = iand v82, v83
;              v86: i32 = imul v84, v67
;              v87: i32 = iand v72, v86
;              v89: i32 = ushr v80, v65
;              v90: ui32 = const 0x10101
;              v91: i32 = iand v89, v90
;              v92: ui32 = const 0x7
;              v93: i32 = imul v91, v92
;              v94: i32 = iand v76, v93
;              v95: i32 = iadd v87, v94
;              v97: i32 = imul v95, v83
;              v98: ui32 = const 0x18
;              v99: i32 = ushr v97, v98
;              v108: ui32 = const 0x8
;              v101: i32 = ushr v20, v108
;              v102: i32 = imul v101, v101
;              v104: i32 = ushr v102, v21
;              v105: i32 = iadd v104, v99
;              v30: i32 = imul v28, v105
;              v31: i32 = imul v26, v20
;              v32: ui32 = const 0xffffc7e7
;              v33: i32 = iadd v30, v32
;              v34: i32 = isub v33, v31
;              v35: ui32 = const 0xd
;              v36: i32 = ushr v34, v35
;              v37: i32 = iadd v24, v36
;              v39: i32 = ushr v37, v65
;              v40: ui32 = const 0x7f800000
;              v41: i32 = iand v11, v40
;              v42: ui32 = const 0x7e000000
;              v43: i32 = iadd v39, v42
;              v44: i32 = isub v43, v41
;              v45: ui32 = const 0x800000
;              v46: mask = icmp slt v44, v45
;              v47: ui32 = const 0x0
;              v48: i32 = select v46, v47, v44
;              v49: ui32 = const 0x7fffffff
;              v50: i32 = iand v11, v49
;              v52: mask = icmp slt v50, v45
;              v54: i32 = select v52, v40, v48
;              v55: ui32 = const 0x80000000
;              v56: i32 = iand v11, v55
;              v57: i32 = ior v54, v56
;              v59: mask = icmp sgt v50, v40
;              v61: i32 = select v59, v49, v57
;              v62: f32 = bitcast v61
;              v14: f32 = fcanon v62, 0x7fffffff
;              v15: i32 = bitcast v14
;     @0x10    store.u32 global14[v10], v15 align 4
;     @0x18    return 0 exited v0
; }
