; test entry g80 8
; Where the thread is in its block, packed as the hardware has it in $r0.
exit nop

; expect:
; function @kernel spmd lanes 32 {
;
; block0 pc 0x0:
;              v0: i32 = slot.get s29  ; tid.x
;              v1: i32 = slot.get s30  ; tid.y
;              v2: i32 = slot.get s31  ; tid.z
;              v3: ui32 = const 0x10
;              v4: i32 = ishl v1, v3
;              v5: ui32 = const 0x1a
;              v6: i32 = ishl v2, v5
;              v7: i32 = ior v4, v6
;              v8: i32 = ior v0, v7
;              slot.set s0, v8  ; r0
;              jump block1
