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
;     @0x8     v17: i32 = ushr v11, v5
;              v18: ui32 = const 0xffff
;              v19: i32 = iand v11, v18
;              v20: ui32 = const 0x1
;              v22: i32 = lookup @tesla.rcp.slopes(v17)
;              v23: i32 = lookup @tesla.rcp.values(v17)
;              v25: i32 = ushr v22, v5
;              v27: i32 = iand v22, v18
;              v28: ui32 = const 0x2
;              v29: i32 = ushr v19, v20
;              v30: ui32 = const 0x7f
;              v31: i32 = iand v29, v30
;              v32: ui32 = const 0x204081
;              v33: i32 = imul v31, v32
;              v34: ui32 = const 0xf1f3f7f
;              v35: i32 = iand v33, v34
;              v36: ui32 = const 0x4
;              v37: i32 = ushr v35, v36
;              v38: ui32 = const 0x10307
;              v39: i32 = iand v37, v38
;              v103: ui32 = const 0x9
;              v41: i32 = ushr v19, v103
;              v42: ui32 = const 0x8040201
;              v43: i32 = imul v41, v42
;              v44: ui32 = const 0x6
;              v45: i32 = ushr v43, v44
;              v46: ui32 = const 0x1010101
;              v47: i32 = iand v45, v46
;              v49: i32 = imul v47, v30
;              v50: i32 = iand v35, v49
;              v52: i32 = ushr v43, v28
;              v53: ui32 = const 0x10101
;              v54: i32 = iand v52, v53
;              v55: ui32 = const 0x7
;              v56: i32 = imul v54, v55
;              v57: i32 = iand v39, v56
;              v58: i32 = iadd v50, v57
;              v60: i32 = imul v58, v46
;              v61: ui32 = const 0x18
;              v62: i32 = ushr v60, v61
;              v104: ui32 = const 0x8
;              v64: i32 = ushr v19, v104
;              v65: i32 = imul v64, v64
;              v67: i32 = ushr v65, v20
;              v68: i32 = iadd v67, v62
;              v69: i32 = imul v27, v68
;              v70: i32 = imul v25, v19
;              v71: ui32 = const 0xffffc7e7
;              v72: i32 = iadd v69, v71
;              v73: i32 = isub v72, v70
;              v74: ui32 = const 0xd
;              v75: i32 = ushr v73, v74
;              v76: i32 = iadd v23, v75
;              v78: i32 = ushr v76, v28
;              v79: ui32 = const 0x7f800000
;              v80: i32 = iand v11, v79
;              v81: ui32 = const 0x7e000000
;              v82: i32 = iadd v78, v81
;              v83: i32 = isub v82, v80
;              v84: ui32 = const 0x800000
;              v85: mask = icmp slt v83, v84
;              v86: ui32 = const 0x0
;              v87: i32 = select v85, v86, v83
;              v88: ui32 = const 0x7fffffff
;              v89: i32 = iand v11, v88
;              v91: mask = icmp slt v89, v84
;              v93: i32 = select v91, v79, v87
;              v94: ui32 = const 0x80000000
;              v95: i32 = iand v11, v94
;              v96: i32 = ior v93, v95
;              v98: mask = icmp sgt v89, v79
;              v100: i32 = select v98, v88, v96
;     @0x10    store.u32 global14[v10], v100 align 4
;     @0x0     return 0 exited v0
; }
