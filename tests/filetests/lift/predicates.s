; test lift g200 8
(l $c0) mov b32 $r1 $r2
(geu $c1) mov b32 $r1 $r2
(na $c2) mov b16 $r1h $r2l
exit (never) nop

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
; block1 at 0x0 insts 4:
;              v9: mask = slot.get s9  ; c0.s
;              v10: mask = slot.get s8  ; c0.z
;              v11: mask = slot.get s11  ; c0.o
;              v12: mask = inot v10
;              v13: mask = iand v9, v12
;              v14: mask = ixor v13, v11
;              v15: i32 = slot.get s2  ; r2
;              v16: i32 = slot.get s1  ; r1
;              v17: i32 = select v14, v15, v16
;     @0x8     v18: mask = slot.get s13  ; c1.s
;              v19: mask = slot.get s12  ; c1.z
;              v20: mask = slot.get s15  ; c1.o
;              v21: mask = inot v18
;              v22: mask = ior v21, v19
;              v23: mask = ixor v22, v20
;              v24: i32 = select v23, v15, v17
;     @0x10    v25: mask = slot.get s16  ; c2.z
;              v26: mask = slot.get s18  ; c2.c
;              v27: mask = inot v25
;              v28: mask = iand v27, v26
;              v29: mask = inot v28
;              v30: ui32 = const 0xffff
;              v31: i32 = iand v15, v30
;              v32: ui32 = const 0xffff
;              v33: i32 = iand v31, v32
;              v34: ui32 = const 0xffff
;              v35: i32 = iand v24, v34
;              v36: ui32 = const 0x10
;              v37: i32 = ishl v33, v36
;              v38: i32 = ior v35, v37
;              v39: i32 = select v29, v38, v24
;     @0x18    slot.set s1, v39  ; r1
;              leave.exit -> block2
;
; block2 at 0x20 insts 1:
;              fault illegal
; }
