; test lift g200 8
(l $c0) mov b32 $r1 $r2
(geu $c1) mov b32 $r1 $r2
(na $c2) mov b16 $r1h $r2l
exit (never) nop

; expect:
; block1 at 0x0 insts 4:
;              v9: mask = slot.get s8  ; c0.z
;              v10: mask = slot.get s9  ; c0.s
;              v11: mask = slot.get s10  ; c0.c
;              v12: mask = slot.get s11  ; c0.o
;              v13: mask = inot v9
;              v14: mask = iand v10, v13
;              v15: mask = ixor v14, v12
;              v16: i32 = slot.get s2  ; r2
;              v17: i32 = slot.get s1  ; r1
;              v18: i32 = select v15, v16, v17
;     @0x8     v19: mask = slot.get s12  ; c1.z
;              v20: mask = slot.get s13  ; c1.s
;              v21: mask = slot.get s14  ; c1.c
;              v22: mask = slot.get s15  ; c1.o
;              v23: mask = inot v20
;              v24: mask = ior v23, v19
;              v25: mask = ixor v24, v22
;              v26: i32 = select v25, v16, v18
;     @0x10    v27: mask = slot.get s16  ; c2.z
;              v28: mask = slot.get s17  ; c2.s
;              v29: mask = slot.get s18  ; c2.c
;              v30: mask = slot.get s19  ; c2.o
;              v31: mask = inot v27
;              v32: mask = iand v31, v29
;              v33: mask = inot v32
;              v34: ui32 = const 0xffff
;              v35: i32 = iand v16, v34
;              v36: ui32 = const 0xffff
;              v37: i32 = iand v35, v36
;              v38: ui32 = const 0xffff
;              v39: i32 = iand v26, v38
;              v40: ui32 = const 0x10
;              v41: i32 = ishl v37, v40
;              v42: i32 = ior v39, v41
;              v43: i32 = select v33, v42, v26
;     @0x18    slot.set s1, v43  ; r1
;              leave.exit -> block2
;
; block2 at 0x20 insts 1:
;              fault illegal
