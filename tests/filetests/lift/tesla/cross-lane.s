; test lift g200 8
(lg $c0) vote all $c1
quadop f32 add subr sub mov2 $r1 l2 $r2 $r3
mov $r3 $clock
exit nop

; expect:
; block1 at 0x0 insts 1:
;              v9: mask = slot.get s8  ; c0.z
;              v10: mask = slot.get s9  ; c0.s
;              v11: mask = slot.get s10  ; c0.c
;              v12: mask = slot.get s11  ; c0.o
;              v13: mask = inot v9
;              slot.set s32, v13  ; #t1.mask
;              jump block3
;
; block2 at 0x20 insts 1:
;              fault illegal
;
; block3 pc 0x0:
;              v14: mask = slot.get s32  ; #t1.mask
;              v15: mask = vote_all v14
;              slot.set s33, v15  ; #t2.mask
;              jump block4
;
; block4 pc 0x0 insts 1:
;              v16: mask = slot.get s33  ; #t2.mask
;              v17: ui1 = const 0x0
;              v18: mask = inot v16
;              v19: mask = splat v17
;              v20: mask = splat v17
;     @0x8     slot.set s12, v18  ; c1.z
;              slot.set s13, v16  ; c1.s
;              slot.set s14, v19  ; c1.c
;              slot.set s15, v20  ; c1.o
;              jump block5
;
; block5 pc 0x8:
;              v21: i32 = slot.get s2  ; r2
;              v22: i32 = quad_lane v21, 0x2
;              slot.set s34, v22  ; #t3.i32
;              jump block6
;
; block6 pc 0x8 insts 1:
;              v23: i32 = slot.get s34  ; #t3.i32
;              v24: f32 = bitcast v23
;              v25: i32 = slot.get s3  ; r3
;              v26: f32 = bitcast v25
;              v27: i32 = slot.get s35  ; laneid
;              v28: ui32 = const 0x3
;              v29: i32 = iand v27, v28
;              v30: f32 = fneg v24
;              v31: f32 = fneg v26
;              v32: uf32 = const 0x0  ; 0.0
;              v33: ui32 = const 0x0
;              v34: mask = icmp eq v29, v33
;              v35: ui32 = const 0x1
;              v36: mask = icmp eq v29, v35
;              v37: f32 = select v36, v30, v24
;              v38: ui32 = const 0x2
;              v39: mask = icmp eq v29, v38
;              v40: f32 = select v39, v31, v26
;              v41: ui32 = const 0x3
;              v42: mask = icmp eq v29, v41
;              v43: f32 = select v42, v32, v37
;              v44: f32 = fadd.ftz v43, v40
;              v45: f32 = fcanon v44, 0x7fffffff
;              v46: i32 = bitcast v45
;     @0x10    slot.set s1, v46  ; r1
;              jump block7
;
; block7 pc 0x10:
;              v47: i32 = clock
;              slot.set s34, v47  ; #t3.i32
;              jump block8
;
; block8 pc 0x10 insts 1:
;              v48: i32 = slot.get s34  ; #t3.i32
;     @0x18    slot.set s3, v48  ; r3
;              leave.exit -> block2
