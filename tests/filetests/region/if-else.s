; test region g80 8
; Both sides of a branch and their join; a lane's mask selects what it keeps.
joinat #join
mov b32 $r1 0x1
and b32 $c0 $r1 $r0 $r1
(lg $c0) bra #odd
shl b32 $r2 $r0 0x1
bra #join
odd:
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
;     @0x10    v11: ui32 = const 0x1
;              v12: i32 = iand v2, v11
;     @0x18    v13: ui32 = const 0x0
;              v14: mask = icmp ne v12, v13
;              v15: mask = iand v0, v14
;     @0x20    v19: i32 = ishl v10, v11
;     @0x30    v20: ui32 = const 0x64
;              v21: i32 = iadd v10, v20
;              v22: i32 = select v15, v21, v19
;     @0x40    v24: ui32 = const 0x2
;              v25: i32 = ishl v10, v24
;     @0x48    store.u32 global14[v25], v22 align 4
;     @0x50    return 0 exited v0
; }
