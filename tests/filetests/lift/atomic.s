; test lift g200 16
(lg $c0) cas b32 $r4 g14[$r1] $r2 $r3
red add u64 g2[$r1] $r4d
exit nop

; expect:
; function @kernel spmd lanes 32 {
;
; block0 pc 0x0:
;              v0: i32 = slot.get s37  ; tid.x
;              v1: i32 = slot.get s38  ; tid.y
;              v2: i32 = slot.get s39  ; tid.z
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
;              v9: mask = slot.get s16  ; c0.z
;              v10: mask = inot v9
;              v11: i32 = slot.get s1  ; r1
;              v12: i32 = slot.get s2  ; r2
;              v13: i32 = slot.get s3  ; r3
;              slot.set s41, v10  ; t0.mask
;              jump block3
;
; block2 at 0x18 insts 1:
;              fault illegal
;
; block3 pc 0x0:
;              v14: mask = slot.get s41  ; t0.mask
;              v15: i32 = slot.get s1  ; r1
;              v16: i32 = slot.get s2  ; r2
;              v17: i32 = slot.get s3  ; r3
;              v18: i32 = atomic.u32 cas global14[v15], v16, v17 align 4 if v14
;              slot.set s40, v18  ; t3.i32
;              jump block4
;
; block4 pc 0x0 insts 1:
;              v19: mask = slot.get s41  ; t0.mask
;              v20: i32 = slot.get s40  ; t3.i32
;              v21: i32 = slot.get s4  ; r4
;              v22: i32 = select v19, v20, v21
;     @0x8     v23: i32 = slot.get s1  ; r1
;              v24: i32 = slot.get s5  ; r5
;              v25: i64 = zext v22
;              v26: i64 = zext v24
;              v27: ui64 = const 0x20
;              v28: i64 = ishl v26, v27
;              v29: i64 = ior v28, v25
;              slot.set s4, v22  ; r4
;              slot.set s42, v29  ; t1.i64
;              jump block5
;
; block5 pc 0x8:
;              v30: i32 = slot.get s1  ; r1
;              v31: i64 = slot.get s42  ; t1.i64
;              v32: i64 = atomic.u64 add global2[v30], v31 align 8
;              slot.set s43, v32  ; t3.i64
;              jump block6
;
; block6 pc 0x8 insts 1:
;     @0x10    leave.exit -> block2
; }
