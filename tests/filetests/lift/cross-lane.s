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
;     @0x8     slot.set s12, v15  ; c1.z
;              slot.set s13, v13  ; c1.s
;              slot.set s14, v16  ; c1.c
;              slot.set s15, v17  ; c1.o
;              jump block5
;
; block5 pc 0x8:
;              v18: i32 = slot.get s2  ; r2
;              v19: i32 = quad_lane v18, 0x2
;              slot.set s34, v19  ; t3.i32
;              jump block6
;
; block6 pc 0x8 insts 1:
;              v20: i32 = slot.get s34  ; t3.i32
;              v21: f32 = bitcast v20
;              v22: i32 = slot.get s3  ; r3
;              v23: f32 = bitcast v22
;              v24: i32 = slot.get s35  ; laneid
;              v25: ui32 = const 0x3
;              v26: i32 = iand v24, v25
;              v27: f32 = fneg v21
;              v28: f32 = fneg v23
;              v29: uf32 = const 0x0  ; 0.0
;              v30: ui32 = const 0x0
;              v31: mask = icmp eq v26, v30
;              v32: ui32 = const 0x1
;              v33: mask = icmp eq v26, v32
;              v34: f32 = select v33, v27, v21
;              v35: ui32 = const 0x2
;              v36: mask = icmp eq v26, v35
;              v37: f32 = select v36, v28, v23
;              v38: ui32 = const 0x3
;              v39: mask = icmp eq v26, v38
;              v40: f32 = select v39, v29, v34
;              v41: f32 = fadd.ftz v40, v37
;              v42: f32 = fcanon v41, 0x7fffffff
;              v43: i32 = bitcast v42
;     @0x10    slot.set s1, v43  ; r1
;              jump block7
;
; block7 pc 0x10:
;              v44: i32 = clock
;              slot.set s34, v44  ; t3.i32
;              jump block8
;
; block8 pc 0x10 insts 1:
;              v45: i32 = slot.get s34  ; t3.i32
;     @0x18    slot.set s3, v45  ; r3
;              leave.exit -> block2
; }
