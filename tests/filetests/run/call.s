; test run g80 8 r1
; A function that some lanes leave early.
mov b32 $r1 $r0
call #double
call #double
exit nop
double:
mov b32 $r3 0x8
set $c0 $r7 g u32 $r1 $r3
(lg $c0) ret
shl b32 $r1 $r1 0x1
ret

; expect:
; r1     00000000 00000004 00000008 0000000c 00000010 0000000a 0000000c 0000000e
