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
; block1 at 0x0 insts 1:
;              push.join block5 -> block2
;
; block2 at 0x8 insts 1:
;              v9: mask = slot.get s8  ; c0.z
;              v10: mask = slot.get s9  ; c0.s
;              v11: mask = slot.get s10  ; c0.c
;              v12: mask = slot.get s11  ; c0.o
;              v13: mask = inot v9
;              branch v13, block4, block3
;
; block3 at 0x10 insts 2:
;              v14: ui32 = const 0x1
;              v15: i32 = splat v14
;     @0x18    slot.set s1, v15  ; r1
;              jump block5
;
; block4 at 0x20 insts 1:
;              v16: ui32 = const 0x2
;              v17: i32 = splat v16
;              slot.set s1, v17  ; r1
;              jump block5
;
; block5 at 0x28 insts 1:
;              join -> block6
;
; block6 at 0x30 insts 1:
;              push.break block10 -> block7
;
; block7 at 0x38 insts 1:
;              v18: mask = slot.get s8  ; c0.z
;              v19: mask = slot.get s9  ; c0.s
;              v20: mask = slot.get s10  ; c0.c
;              v21: mask = slot.get s11  ; c0.o
;              v22: mask = inot v19
;              v23: mask = iand v18, v22
;              leave.break if v23 -> block8
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
