; test lift g80 8
joinat #join
(lg $c0) bra #side
mov b32 $r1 0x1
bra #join
side:
mov b32 $r1 0x2
join:
join nop
breakaddr #out
(e $c0) break
(never) bra #side
call #sub
out:
exit nop
sub:
ret

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
;
; block1 at 0x0 insts 1:
;              push.join block5 -> block2
;
; block2 at 0x8 insts 1:
;              v9: mask = slot.get s8  ; c0.z
;              v10: mask = inot v9
;              branch v10, block4, block3
;
; block3 at 0x10 insts 2:
;              v11: ui32 = const 0x1
;              v12: i32 = splat v11
;     @0x18    slot.set s1, v12  ; r1
;              jump block5
;
; block4 at 0x20 insts 1:
;              v13: ui32 = const 0x2
;              v14: i32 = splat v13
;              slot.set s1, v14  ; r1
;              jump block5
;
; block5 at 0x28 insts 1:
;              join -> block6
;
; block6 at 0x30 insts 1:
;              push.break block10 -> block7
;
; block7 at 0x38 insts 1:
;              v15: mask = slot.get s9  ; c0.s
;              v16: mask = slot.get s8  ; c0.z
;              v17: mask = inot v15
;              v18: mask = iand v16, v17
;              leave.break if v18 -> block8
;
; block8 at 0x40 insts 1:
;              jump block9
;
; block9 at 0x48 insts 1:
;              call block11 -> block10
;
; block10 at 0x50 insts 1:
;              leave.exit -> block11
;
; block11 at 0x58 insts 1:
;              leave.return -> block12
;
; block12 at 0x60 insts 1:
;              fault illegal
; }
