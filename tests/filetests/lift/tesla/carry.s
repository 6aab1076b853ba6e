; test lift g80 8
add b32 $c1 $r1 $r2 $r3
addc b32 $c2 $r1 $r2 $r3 $c1
subr b32 sat $r1 $r2 $r3
exit nop

; expect:
; block1 at 0x0 insts 4:
;              v9: i32 = slot.get s2  ; r2
;              v10: i32 = slot.get s3  ; r3
;              v11: i32 = iadd v9, v10
;              v12: i32 = ixor v9, v11
;              v13: i32 = ixor v10, v11
;              v14: i32 = iand v12, v13
;              v15: ui32 = const 0x0
;              v16: mask = icmp slt v14, v15
;              v17: mask = icmp ult v11, v9
;              v18: ui32 = const 0x0
;              v19: mask = icmp eq v11, v18
;              v20: ui32 = const 0x0
;              v21: mask = icmp slt v11, v20
;     @0x8     v22: ui32 = const 0x1
;              v23: ui32 = const 0x0
;              v24: i32 = select v17, v22, v23
;              v25: i32 = iadd v9, v10
;              v26: i32 = iadd v25, v24
;              v27: i32 = ixor v9, v26
;              v28: i32 = ixor v10, v26
;              v29: i32 = iand v27, v28
;              v30: ui32 = const 0x0
;              v31: mask = icmp slt v29, v30
;              v32: mask = icmp ult v25, v9
;              v33: mask = icmp ult v26, v25
;              v34: mask = ior v32, v33
;              v35: ui32 = const 0x0
;              v36: mask = icmp eq v26, v35
;              v37: ui32 = const 0x0
;              v38: mask = icmp slt v26, v37
;     @0x10    v39: i32 = isub v10, v9
;              v40: i32 = ixor v10, v39
;              v41: i32 = ixor v10, v9
;              v42: i32 = iand v40, v41
;              v43: ui32 = const 0x0
;              v44: mask = icmp slt v42, v43
;              v45: ui32 = const 0x1f
;              v46: i32 = sshr v10, v45
;              v47: ui32 = const 0x7fffffff
;              v48: i32 = ixor v46, v47
;              v49: i32 = select v44, v48, v39
;     @0x18    slot.set s1, v49  ; r1
;              slot.set s12, v19  ; c1.z
;              slot.set s13, v21  ; c1.s
;              slot.set s14, v17  ; c1.c
;              slot.set s15, v16  ; c1.o
;              slot.set s16, v36  ; c2.z
;              slot.set s17, v38  ; c2.s
;              slot.set s18, v34  ; c2.c
;              slot.set s19, v31  ; c2.o
;              leave.exit -> block2
;
; block2 at 0x20 insts 1:
;              fault illegal
