; test lift g80 4
add b32 $r1 $r2 $r124
mov b32 $r5 $r1
exit nop

; expect:
; function @kernel spmd lanes 32 {
;
; block0 pc 0x0:
;              v0: i32 = slot.get s25  ; tid.x
;              v1: i32 = slot.get s26  ; tid.y
;              v2: i32 = slot.get s27  ; tid.z
;              v3: ui32 = const 0x10
;              v4: i32 = ishl v1, v3
;              v5: ui32 = const 0x1a
;              v6: i32 = ishl v2, v5
;              v7: i32 = ior v4, v6
;              v8: i32 = ior v0, v7
;              slot.set s0, v8  ; r0
;              jump block1
;
; block1 at 0x0 insts 3:
;              v9: i32 = slot.get s2  ; r2
;              v10: ui32 = const 0x0
;              v11: i32 = iadd v9, v10
;     @0x10    slot.set s1, v11  ; r1
;              leave.exit -> block2
;
; block2 at 0x18 insts 1:
;              fault illegal
; }
