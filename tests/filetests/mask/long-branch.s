; test mask g80 8
; A branch round many instructions is taken where no lane of the chunk wants them.
mov b32 $r1 0x1
and b32 $c0 $r1 $r0 $r1
joinat #join
(e $c0) bra #join
mul rn f32 $r2 $r2 $r3
add rn f32 $r2 $r2 $r3
mul rn f32 $r2 $r2 $r3
add rn f32 $r2 $r2 $r4
mul rn f32 $r2 $r2 $r3
add rn f32 $r2 $r2 $r3
mul rn f32 $r2 $r2 $r3
add rn f32 $r2 $r2 $r4
mul rn f32 $r2 $r2 $r3
add rn f32 $r2 $r2 $r3
mul rn f32 $r2 $r2 $r3
add rn f32 $r2 $r2 $r4
mul rn f32 $r2 $r2 $r3
add rn f32 $r2 $r2 $r3
mul rn f32 $r2 $r2 $r3
add rn f32 $r2 $r2 $r4
mul rn f32 $r2 $r2 $r3
add rn f32 $r2 $r2 $r3
mul rn f32 $r2 $r2 $r3
add rn f32 $r2 $r2 $r4
mul rn f32 $r2 $r2 $r3
add rn f32 $r2 $r2 $r3
mul rn f32 $r2 $r2 $r3
add rn f32 $r2 $r2 $r4
mul rn f32 $r2 $r2 $r3
add rn f32 $r2 $r2 $r3
mul rn f32 $r2 $r2 $r3
add rn f32 $r2 $r2 $r4
join:
join nop
shl b32 $r5 $r0 0x2
st b32 g14[$r5] $r2
exit nop

; expect:
; function @"kernel@0x0" mask lanes 32 {
;
; block0 pc 0x0:
;              v1: ui1 = const 0x0
;              v0: mask = active
;              v2: i32 = slot.get s2  ; r2
;              v3: i32 = slot.get s3  ; r3
;              v4: i32 = slot.get s4  ; r4
;              v5: i32 = slot.get s29  ; tid.x
;              v6: i32 = slot.get s30  ; tid.y
;              v7: i32 = slot.get s31  ; tid.z
;              v8: ui32 = const 0x10
;              v9: i32 = ishl v6, v8
;              v10: ui32 = const 0x1a
;              v11: i32 = ishl v7, v10
;              v12: i32 = ior v9, v11
;              v13: i32 = ior v5, v12
;     @0x8     v14: ui32 = const 0x1
;              v15: i32 = iand v5, v14
;              v16: ui32 = const 0x0
;              v17: mask = icmp eq v15, v16
;     @0x18    v18: mask = iand v0, v17
;              v19: mask = inot v17
;              v20: mask = iand v0, v19
;              br_any v20, block1, block2(v2)
;
; block1 pc 0x20:
;              v21: f32 = bitcast v2
;              v22: f32 = bitcast v3
;              v23: f32 = fmul.ftz v21, v22
;              v24: f32 = fcanon v23, 0x7fffffff
;     @0x28    v25: f32 = fadd.ftz v24, v22
;              v26: f32 = fcanon v25, 0x7fffffff
;     @0x30    v27: f32 = fmul.ftz v26, v22
;              v28: f32 = fcanon v27, 0x7fffffff
;     @0x38    v29: f32 = bitcast v4
;              v30: f32 = fadd.ftz v28, v29
;              v31: f32 = fcanon v30, 0x7fffffff
;     @0x40    v32: f32 = fmul.ftz v31, v22
;              v33: f32 = fcanon v32, 0x7fffffff
;     @0x48    v34: f32 = fadd.ftz v33, v22
;              v35: f32 = fcanon v34, 0x7fffffff
;     @0x50    v36: f32 = fmul.ftz v35, v22
;              v37: f32 = fcanon v36, 0x7fffffff
;     @0x58    v38: f32 = fadd.ftz v37, v29
;              v39: f32 = fcanon v38, 0x7fffffff
;     @0x60    v40: f32 = fmul.ftz v39, v22
;              v41: f32 = fcanon v40, 0x7fffffff
;     @0x68    v42: f32 = fadd.ftz v41, v22
;              v43: f32 = fcanon v42, 0x7fffffff
;     @0x70    v44: f32 = fmul.ftz v43, v22
;              v45: f32 = fcanon v44, 0x7fffffff
;     @0x78    v46: f32 = fadd.ftz v45, v29
;              v47: f32 = fcanon v46, 0x7fffffff
;     @0x80    v48: f32 = fmul.ftz v47, v22
;              v49: f32 = fcanon v48, 0x7fffffff
;     @0x88    v50: f32 = fadd.ftz v49, v22
;              v51: f32 = fcanon v50, 0x7fffffff
;     @0x90    v52: f32 = fmul.ftz v51, v22
;              v53: f32 = fcanon v52, 0x7fffffff
;     @0x98    v54: f32 = fadd.ftz v53, v29
;              v55: f32 = fcanon v54, 0x7fffffff
;     @0xa0    v56: f32 = fmul.ftz v55, v22
;              v57: f32 = fcanon v56, 0x7fffffff
;     @0xa8    v58: f32 = fadd.ftz v57, v22
;              v59: f32 = fcanon v58, 0x7fffffff
;     @0xb0    v60: f32 = fmul.ftz v59, v22
;              v61: f32 = fcanon v60, 0x7fffffff
;     @0xb8    v62: f32 = fadd.ftz v61, v29
;              v63: f32 = fcanon v62, 0x7fffffff
;     @0xc0    v64: f32 = fmul.ftz v63, v22
;              v65: f32 = fcanon v64, 0x7fffffff
;     @0xc8    v66: f32 = fadd.ftz v65, v22
;              v67: f32 = fcanon v66, 0x7fffffff
;     @0xd0    v68: f32 = fmul.ftz v67, v22
;              v69: f32 = fcanon v68, 0x7fffffff
;     @0xd8    v70: f32 = fadd.ftz v69, v29
;              v71: f32 = fcanon v70, 0x7fffffff
;     @0xe0    v72: f32 = fmul.ftz v71, v22
;              v73: f32 = fcanon v72, 0x7fffffff
;     @0xe8    v74: f32 = fadd.ftz v73, v22
;              v75: f32 = fcanon v74, 0x7fffffff
;     @0xf0    v76: f32 = fmul.ftz v75, v22
;              v77: f32 = fcanon v76, 0x7fffffff
;     @0xf8    v78: f32 = fadd.ftz v77, v29
;              v79: f32 = fcanon v78, 0x7fffffff
;              v80: i32 = bitcast v79
;              v81: i32 = select v20, v80, v2
;              v82: mask = ior v18, v20
;              jump block2(v81)
;
; block2(v84: i32) pc 0x20:
;     @0xf8    br_any v0, block3, block4(v1)
;
; block3 pc 0x100:
;     @0x108   v86: ui32 = const 0x2
;              v87: i32 = ishl v13, v86
;     @0x110   store.u32 global14[v87], v84 align 4 if v0
;     @0x118   v89: mask = ior v1, v0
;              jump block4(v89)
;
; block4(v90: mask) pc 0x100:
;     @0x118   return 0 exited v90
; }
