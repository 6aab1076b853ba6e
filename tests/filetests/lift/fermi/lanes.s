; test lift gk104 16
sched 0x28 0x28 0x28 0x28 0x28 0x28 0x28
vote any $r1 $p1 $p0
shfl bfly $p2 $r2 $r3 0x1 0x1f
exit

; expect:
; block1 at 0x0 insts 1:
;     @0x8     v0: mask = slot.get s16  ; p0
;              v1: mask = inot v0
;              slot.set s27, v1  ; #t2.mask
;              jump block3
;
; block2 at 0x1c insts 1:
;              fault illegal
;
; block3 pc 0x8:
;              v2: mask = slot.get s16  ; p0
;              v3: mask = slot.get s27  ; #t2.mask
;              v4: ui64 = ballot v2
;              v5: i64 = splat v4
;              v6: mask = vote_any v2
;              slot.set s28, v5  ; #t3.i64
;              slot.set s29, v6  ; #t3.mask
;              jump block4
;
; block4 pc 0x8 insts 1:
;              v7: i64 = slot.get s28  ; #t3.i64
;              v8: i32 = trunc v7
;              v9: mask = slot.get s29  ; #t3.mask
;     @0x10    v10: ui32 = const 0x1
;              v11: ui32 = const 0x1f
;              v12: ui32 = const 0x1f
;              v13: ui32 = iand v10, v12
;              v14: ui32 = const 0x1f
;              v15: ui32 = iand v11, v14
;              v16: ui32 = const 0x8
;              v17: ui32 = ushr v11, v16
;              v18: ui32 = const 0x1f
;              v19: ui32 = iand v17, v18
;              v20: i32 = slot.get s31  ; laneid
;              v21: i32 = iand v20, v19
;              v22: ui32 = inot v19
;              v23: ui32 = iand v15, v22
;              v24: i32 = ior v21, v23
;              v25: i32 = ixor v20, v13
;              v26: mask = icmp sle v25, v24
;              v27: i32 = select v26, v25, v20
;              slot.set s1, v8  ; r1
;              slot.set s17, v9  ; p1
;              slot.set s27, v26  ; #t2.mask
;              slot.set s32, v27  ; #t1.i32
;              jump block5
;
; block5 pc 0x10:
;              v28: i32 = slot.get s3  ; r3
;              v29: i32 = slot.get s32  ; #t1.i32
;              v30: i32 = shuffle v28, v29
;              slot.set s33, v30  ; #t3.i32
;              jump block6
;
; block6 pc 0x10 insts 1:
;              v31: i32 = slot.get s33  ; #t3.i32
;              v32: mask = slot.get s27  ; #t2.mask
;     @0x18    slot.set s2, v31  ; r2
;              slot.set s18, v32  ; p2
;              leave.exit -> block2
