; test run g80 32 r1 r2 r3
; Arithmetic that makes NaN and infinity gives the guest's bits.
cvt rn f32 $r1 u32 $r0
mov b32 $r4 0x7f800000
mul f32 $r2 $r1 $r4
add f32 $r3 $r2 neg $r4
exit nop

; expect:
; r1     00000000 3f800000 40000000 40400000 40800000 40a00000 40c00000 40e00000
;        41000000 41100000 41200000 41300000 41400000 41500000 41600000 41700000
;        41800000 41880000 41900000 41980000 41a00000 41a80000 41b00000 41b80000
;        41c00000 41c80000 41d00000 41d80000 41e00000 41e80000 41f00000 41f80000
; r2     7fffffff 7f800000 7f800000 7f800000 7f800000 7f800000 7f800000 7f800000
;        7f800000 7f800000 7f800000 7f800000 7f800000 7f800000 7f800000 7f800000
;        7f800000 7f800000 7f800000 7f800000 7f800000 7f800000 7f800000 7f800000
;        7f800000 7f800000 7f800000 7f800000 7f800000 7f800000 7f800000 7f800000
; r3     7fffffff 7fffffff 7fffffff 7fffffff 7fffffff 7fffffff 7fffffff 7fffffff
;        7fffffff 7fffffff 7fffffff 7fffffff 7fffffff 7fffffff 7fffffff 7fffffff
;        7fffffff 7fffffff 7fffffff 7fffffff 7fffffff 7fffffff 7fffffff 7fffffff
;        7fffffff 7fffffff 7fffffff 7fffffff 7fffffff 7fffffff 7fffffff 7fffffff
