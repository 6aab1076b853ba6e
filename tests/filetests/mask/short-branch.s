; test mask g80 8
; A branch round one instruction is no branch: all lanes do it, and a mask selects whose result counts.
mov b32 $r1 0x1
and b32 $c0 $r1 $r0 $r1
joinat #join
(e $c0) bra #join
add b32 $r2 $r0 0x64
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
;              v3: i32 = slot.get s29  ; tid.x
;              v4: i32 = slot.get s30  ; tid.y
;              v5: i32 = slot.get s31  ; tid.z
;              v6: ui32 = const 0x10
;              v7: i32 = ishl v4, v6
;              v8: ui32 = const 0x1a
;              v9: i32 = ishl v5, v8
;              v10: i32 = ior v7, v9
;              v11: i32 = ior v3, v10
;     @0x8     v12: ui32 = const 0x1
;              v13: i32 = iand v3, v12
;              v14: ui32 = const 0x0
;              v15: mask = icmp eq v13, v14
;     @0x18    v16: mask = iand v0, v15
;              v17: mask = inot v15
;              v18: mask = iand v0, v17
;     @0x20    v19: ui32 = const 0x64
;              v20: i32 = iadd v11, v19
;              v21: i32 = select v18, v20, v2
;              v22: mask = ior v16, v18
;     @0x30    v23: ui32 = const 0x2
;              v24: i32 = ishl v11, v23
;     @0x38    store.u32 global14[v24], v21 align 4
;     @0x40    return 0 exited v0
; }
