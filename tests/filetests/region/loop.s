; test region g80 8
; A loop with a float recurrence and an exit test: no canonical NaN inside, the counter shared by all lanes.
cvt rn f32 $r1 u32 $r0
mov b32 $r2 0x0
mov b32 $r3 0x1
mov b32 $r4 0x10
breakaddr #done
loop:
mul f32 $r1 $r1 $r1
mul f32 $r6 $r1 $r1
set $c0 $r7 g f32 $r1 $r4
(lg $c0) break
add b32 $r2 $r2 $r3
set $c0 $r7 l u32 $r2 $r4
(lg $c0) bra #loop
done:
shl b32 $r5 $r0 0x2
st b32 g14[$r5] $r2
exit nop

; expect:
; function @"kernel@0x0" mask lanes 32 {
;
; block0 pc 0x0:
;              v41: ui32 = const 0x0
;              v1: ui1 = const 0x0
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
;              v11: f32 = fcvt_from_uint v10
;              v12: i32 = bitcast v11
;     @0x38    v23: uf32 = const 0x10  ; 2.2e-44
;     @0x40    v30: ui32 = const 0x1
;     @0x20    jump block1(v0, v12, v41, v41, v1, v41)
;
; block1(v14: mask, v15: i32, v16: ui32, v17: i32, v28: mask, v32: i32) pc 0x28:
;     @0x20    v18: i32 = select v14, v16, v17
;     @0x28    v19: f32 = bitcast v15
;              v20: f32 = fmul.ftz v19, v19
;              v22: i32 = bitcast v20
;     @0x38    v24: mask = fcmp.ftz gt v20, v23
;              v25: mask = iand v14, v24
;              v26: mask = inot v24
;              v27: mask = iand v14, v26
;              v29: mask = ior v28, v25
;     @0x40    v31: ui32 = iadd v16, v30
;              v33: i32 = select v27, v31, v32
;     @0x50    v35: ui1 = icmp ult v31, v5
;              br_if v35, block7, block8
;
; block2(v55: mask) pc 0x28:
;     @0x50    br_any v55, block3, block4(v1)
;
; block3 pc 0x58:
;              v43: ui32 = const 0x2
;              v44: i32 = ishl v10, v43
;     @0x60    store.u32 global14[v44], v33 align 4 if v55
;     @0x68    jump block4(v55)
;
; block4(v52: mask) pc 0x58:
;     @0x68    br_any v29, block5, block6(v52)
;
; block5 pc 0x58:
;              v49: ui32 = const 0x2
;              v50: i32 = ishl v10, v49
;     @0x60    store.u32 global14[v50], v18 align 4 if v29
;     @0x68    v53: mask = ior v52, v29
;              jump block6(v53)
;
; block6(v54: mask) pc 0x58:
;     @0x68    return 0 exited v54
;
; block7 pc 0x50:
;              br_any v27, block1(v27, v22, v31, v18, v29, v33), block2(v1)
;
; block8 pc 0x50:
;              jump block2(v27)
; }
