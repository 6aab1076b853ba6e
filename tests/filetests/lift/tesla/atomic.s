; test lift g200 16
(lg $c0) cas b32 $r4 g14[$r1] $r2 $r3
red add u64 g2[$r1] $r4d
exit nop

; expect:
; block1 at 0x0 insts 1:
;              v9: mask = slot.get s16  ; c0.z
;              v10: mask = slot.get s17  ; c0.s
;              v11: mask = slot.get s18  ; c0.c
;              v12: mask = slot.get s19  ; c0.o
;              v13: mask = inot v9
;              v14: i32 = slot.get s1  ; r1
;              v15: i32 = slot.get s2  ; r2
;              v16: i32 = slot.get s3  ; r3
;              slot.set s41, v13  ; #t0.mask
;              jump block3
;
; block2 at 0x18 insts 1:
;              fault illegal
;
; block3 pc 0x0:
;              v17: mask = slot.get s41  ; #t0.mask
;              v18: i32 = slot.get s1  ; r1
;              v19: i32 = slot.get s2  ; r2
;              v20: i32 = slot.get s3  ; r3
;              v21: i32 = atomic.u32 cas global14[v18], v19, v20 align 4 if v17
;              slot.set s40, v21  ; #t3.i32
;              jump block4
;
; block4 pc 0x0 insts 1:
;              v22: mask = slot.get s41  ; #t0.mask
;              v23: i32 = slot.get s40  ; #t3.i32
;              v24: i32 = slot.get s4  ; r4
;              v25: i32 = select v22, v23, v24
;     @0x8     v26: i32 = slot.get s1  ; r1
;              v27: i32 = slot.get s5  ; r5
;              v28: i64 = zext v25
;              v29: i64 = zext v27
;              v30: ui64 = const 0x20
;              v31: i64 = ishl v29, v30
;              v32: i64 = ior v31, v28
;              slot.set s4, v25  ; r4
;              slot.set s42, v32  ; #t1.i64
;              jump block5
;
; block5 pc 0x8:
;              v33: i32 = slot.get s1  ; r1
;              v34: i64 = slot.get s42  ; #t1.i64
;              v35: i64 = atomic.u64 add global2[v33], v34 align 8
;              jump block6
;
; block6 pc 0x8 insts 1:
;     @0x10    leave.exit -> block2
