; test region g80 8
; Halves of a register taken apart and put together.
ld b32 $r1 g14[$r0]
mov b16 $r2l $r1h
mov b16 $r2h $r1l
mov b16 $r3l $r2h
mov b16 $r3h $r2l
st b32 g14[$r0] $r3
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
;     @0x18    store.u32 global14[v10], v11 align 4
;     @0x20    return 0 exited v0
; }
