; test lift g80 4
add b32 $r1 $r2 $r124
mov b32 $r5 $r1
exit nop

; expect:
; block1 at 0x0 insts 3:
;              v9: i32 = slot.get s2  ; r2
;              v10: ui32 = const 0x0
;              v11: i32 = iadd v9, v10
;     @0x10    slot.set s1, v11  ; r1
;              leave.exit -> block2
;
; block2 at 0x18 insts 1:
;              fault illegal
