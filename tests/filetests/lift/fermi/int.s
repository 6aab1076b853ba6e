; test lift gf100 16
add b32 $r0 $c $r1 $r2
sub b32 $r3 $r4 $r5 $c
add $r6 (mul high s32 $r1 s32 $r2) $r3
exit

; expect:
; block1 at 0x0 insts 4:
;              v0: i32 = slot.get s1  ; r1
;              v1: i32 = slot.get s2  ; r2
;              v2: i32 = iadd v0, v1
;              v3: mask = icmp ult v2, v0
;              v4: i32 = ixor v0, v2
;              v5: i32 = ixor v1, v2
;              v6: i32 = iand v4, v5
;              v7: ui32 = const 0x0
;              v8: mask = icmp slt v6, v7
;              v9: ui32 = const 0x0
;              v10: mask = icmp eq v2, v9
;              v11: ui32 = const 0x0
;              v12: mask = icmp slt v2, v11
;     @0x8     v13: i32 = slot.get s4  ; r4
;              v14: i32 = slot.get s5  ; r5
;              v15: i32 = inot v14
;              v16: ui32 = const 0x1
;              v17: ui32 = const 0x0
;              v18: i32 = select v3, v16, v17
;              v19: i32 = iadd v13, v15
;              v20: mask = icmp ult v19, v13
;              v21: i32 = iadd v19, v18
;              v22: mask = icmp ult v21, v19
;              v23: mask = ior v20, v22
;              v24: i32 = ixor v13, v21
;              v25: i32 = ixor v15, v21
;              v26: i32 = iand v24, v25
;              v27: ui32 = const 0x0
;              v28: mask = icmp slt v26, v27
;     @0x10    v29: i32 = smulhi v0, v1
;              v30: i32 = iadd v29, v21
;     @0x18    slot.set s0, v2  ; r0
;              slot.set s3, v21  ; r3
;              slot.set s6, v30  ; r6
;              slot.set s23, v10  ; c.z
;              slot.set s24, v12  ; c.s
;              slot.set s25, v3  ; c.c
;              slot.set s26, v8  ; c.o
;              leave.exit -> block2
;
; block2 at 0x1c insts 1:
;              fault illegal
