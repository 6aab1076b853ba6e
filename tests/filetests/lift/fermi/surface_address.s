; test lift gk104 16
sched 0x28 0x28 0x28 0x28 0x28 0x28 0x28
suclamp 2d s32 pl r4 $p0 $r0 $r1 $r2 0x0
subfm 2d $p1 $r3 $r4 $r5 $r6
exit

; expect:
; block1 at 0x0 insts 3:
;     @0x8     v0: i32 = slot.get s1  ; r1
;              v1: i32 = slot.get s2  ; r2
;              v2: ui32 = const 0x0
;              v3: i32 = iadd v0, v2
;              v4: ui32 = const 0x3fffff
;              v5: i32 = iand v1, v4
;              v6: ui32 = const 0x0
;              v7: mask = icmp ugt v3, v5
;              v8: i32 = smax v3, v6
;              v9: i32 = smin v8, v5
;     @0x10    v10: i32 = slot.get s4  ; r4
;              v11: i32 = slot.get s5  ; r5
;              v12: i32 = slot.get s6  ; r6
;              v13: i32 = ior v10, v11
;              v14: ui32 = const 0x0
;              v15: mask = icmp slt v13, v14
;              v16: ui32 = const 0x10
;              v17: i32 = ushr v10, v16
;              v18: ui32 = const 0xff
;              v19: i32 = iand v17, v18
;              v20: ui32 = const 0x18
;              v21: i32 = ushr v10, v20
;              v22: ui32 = const 0xf
;              v23: i32 = iand v21, v22
;              v24: ui32 = const 0x6
;              v25: i32 = isub v24, v23
;              v26: i32 = ishl v19, v25
;              v27: ui32 = const 0x10
;              v28: i32 = ushr v11, v27
;              v29: ui32 = const 0xff
;              v30: i32 = iand v28, v29
;              v31: ui32 = const 0x1c
;              v32: i32 = ushr v11, v31
;              v33: ui32 = const 0x7
;              v34: i32 = iand v32, v33
;              v35: ui32 = const 0x6
;              v36: i32 = ishl v30, v35
;              v37: i32 = ior v26, v36
;              v38: ui32 = const 0x18
;              v39: i32 = ishl v34, v38
;              v40: i32 = ior v37, v39
;     @0x18    slot.set s0, v9  ; r0
;              slot.set s3, v40  ; r3
;              slot.set s16, v7  ; p0
;              slot.set s17, v15  ; p1
;              leave.exit -> block2
;
; block2 at 0x1c insts 1:
;              fault illegal
