; test mask g80 8
; Each side writes $r2 to $r4, but behind the branch only $r2 is read: one value is blended, and the registers at the end are not.
mov b32 $r1 0x1
and b32 $c0 $r1 $r0 $r1
joinat #join
(e $c0) bra #even
add b32 $r3 $r0 0x64
shl b32 $r4 $r3 0x1
add b32 $r2 $r3 $r4
bra #join
even:
add b32 $r4 $r0 0x65
shl b32 $r3 $r4 0x2
xor b32 $r2 $r3 $r4
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
;              v2: i32 = slot.get s29  ; tid.x
;              v3: i32 = slot.get s30  ; tid.y
;              v4: i32 = slot.get s31  ; tid.z
;              v5: ui32 = const 0x10
;              v6: i32 = ishl v3, v5
;              v7: ui32 = const 0x1a
;              v8: i32 = ishl v4, v7
;              v9: i32 = ior v6, v8
;              v10: i32 = ior v2, v9
;     @0x8     v11: ui32 = const 0x1
;              v12: i32 = iand v2, v11
;              v13: ui32 = const 0x0
;              v14: mask = icmp eq v12, v13
;     @0x18    v15: mask = iand v0, v14
;              v16: mask = inot v14
;              v17: mask = iand v0, v16
;     @0x20    v18: ui32 = const 0x64
;              v19: i32 = iadd v10, v18
;     @0x28    v20: ui32 = const 0x1
;              v21: i32 = ishl v19, v20
;     @0x30    v22: i32 = iadd v19, v21
;     @0x40    v23: ui32 = const 0x65
;              v24: i32 = iadd v10, v23
;     @0x48    v25: ui32 = const 0x2
;              v26: i32 = ishl v24, v25
;     @0x50    v27: i32 = ixor v26, v24
;              v28: i32 = select v15, v27, v22
;              v29: mask = ior v17, v15
;     @0x60    v30: ui32 = const 0x2
;              v31: i32 = ishl v10, v30
;     @0x68    store.u32 global14[v31], v28 align 4
;     @0x70    return 0 exited v0
; }
