; test lift g200 8
(lg $c0) vote all $c1
quadop f32 add subr sub mov2 $r1 l2 $r2 $r3
mov $r3 $clock
exit nop

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
; block1 at 0x0 insts 1:
;              v9: mask = slot.get s8  ; c0.z
;              v10: mask = inot v9
;              slot.set s32, v10  ; t1.mask
;              jump block3
;
; block2 at 0x20 insts 1:
;              fault illegal
;
; block3 pc 0x0:
;              v11: mask = slot.get s32  ; t1.mask
;              v12: mask = vote_all v11
;              slot.set s33, v12  ; t2.mask
;              jump block4
;
; block4 pc 0x0 insts 1:
;              v13: mask = slot.get s33  ; t2.mask
;              v14: ui1 = const 0x0
;              v15: mask = inot v13
;              v16: mask = splat v14
;              v17: mask = splat v14
;     @0x8     v18: i32 = slot.get s2  ; r2
;              slot.set s12, v15  ; c1.z
;              slot.set s13, v13  ; c1.s
;              slot.set s14, v16  ; c1.c
;              slot.set s15, v17  ; c1.o
;              jump block5
;
; block5 pc 0x8:
;              v19: i32 = slot.get s2  ; r2
;              v20: i32 = quad_lane v19, 0x2
;              slot.set s34, v20  ; t3.i32
;              jump block6
;
; block6 pc 0x8 insts 1:
;              v21: i32 = slot.get s34  ; t3.i32
;              v22: f32 = bitcast v21
;              v23: i32 = slot.get s3  ; r3
;              v24: f32 = bitcast v23
;              v25: i32 = slot.get s35  ; laneid
;              v26: ui32 = const 0x3
;              v27: i32 = iand v25, v26
;              v28: f32 = fneg v22
;              v29: f32 = fneg v24
;              v30: uf32 = const 0x0  ; 0.0
;              v31: ui32 = const 0x0
;              v32: mask = icmp eq v27, v31
;              v33: ui32 = const 0x1
;              v34: mask = icmp eq v27, v33
;              v35: f32 = select v34, v28, v22
;              v36: ui32 = const 0x2
;              v37: mask = icmp eq v27, v36
;              v38: f32 = select v37, v29, v24
;              v39: ui32 = const 0x3
;              v40: mask = icmp eq v27, v39
;              v41: f32 = select v40, v30, v35
;              v42: f32 = fadd.ftz v41, v38
;              v43: f32 = fcanon v42, 0x7fffffff
;              v44: i32 = bitcast v43
;     @0x10    slot.set s1, v44  ; r1
;              jump block7
;
; block7 pc 0x10:
;              v45: i32 = clock
;              slot.set s34, v45  ; t3.i32
;              jump block8
;
; block8 pc 0x10 insts 1:
;              v46: i32 = slot.get s34  ; t3.i32
;     @0x18    slot.set s3, v46  ; r3
;              leave.exit -> block2
; }
