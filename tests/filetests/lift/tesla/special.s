; test lift g200 8
mov $r1 $c2
mov $c1 $r1
shl $a1 $r2 0x2
add $a2 $a1 0x10
mov $r3 $a2
mov $r4 $physid
exit nop

; expect:
; block1 at 0x0 insts 7:
;              v9: ui32 = const 0x0
;              v10: mask = slot.get s16  ; c2.z
;              v11: ui32 = const 0x1
;              v12: ui32 = const 0x0
;              v13: i32 = select v10, v11, v12
;              v14: i32 = ior v9, v13
;              v15: mask = slot.get s17  ; c2.s
;              v16: ui32 = const 0x2
;              v17: ui32 = const 0x0
;              v18: i32 = select v15, v16, v17
;              v19: i32 = ior v14, v18
;              v20: mask = slot.get s18  ; c2.c
;              v21: ui32 = const 0x4
;              v22: ui32 = const 0x0
;              v23: i32 = select v20, v21, v22
;              v24: i32 = ior v19, v23
;              v25: mask = slot.get s19  ; c2.o
;              v26: ui32 = const 0x8
;              v27: ui32 = const 0x0
;              v28: i32 = select v25, v26, v27
;              v29: i32 = ior v24, v28
;     @0x8     v30: ui32 = const 0x1
;              v31: i32 = iand v29, v30
;              v32: ui32 = const 0x0
;              v33: mask = icmp ne v31, v32
;              v34: ui32 = const 0x2
;              v35: i32 = iand v29, v34
;              v36: ui32 = const 0x0
;              v37: mask = icmp ne v35, v36
;              v38: ui32 = const 0x4
;              v39: i32 = iand v29, v38
;              v40: ui32 = const 0x0
;              v41: mask = icmp ne v39, v40
;              v42: ui32 = const 0x8
;              v43: i32 = iand v29, v42
;              v44: ui32 = const 0x0
;              v45: mask = icmp ne v43, v44
;     @0x10    v46: i32 = slot.get s2  ; r2
;              v47: ui32 = const 0x2
;              v48: i32 = ishl v46, v47
;              v49: ui32 = const 0xffff
;              v50: i32 = iand v48, v49
;     @0x18    v51: ui32 = const 0x10
;              v52: i32 = iadd v50, v51
;              v53: ui32 = const 0xffff
;              v54: i32 = iand v52, v53
;     @0x28    v55: i32 = slot.get s32  ; laneid
;              v56: i32 = slot.get s33  ; warpid
;              v57: ui32 = const 0x8
;              v58: i32 = ishl v56, v57
;              v59: i32 = ior v55, v58
;     @0x30    slot.set s1, v29  ; r1
;              slot.set s3, v54  ; r3
;              slot.set s4, v59  ; r4
;              slot.set s12, v33  ; c1.z
;              slot.set s13, v37  ; c1.s
;              slot.set s14, v41  ; c1.c
;              slot.set s15, v45  ; c1.o
;              slot.set s24, v50  ; a1
;              slot.set s25, v54  ; a2
;              leave.exit -> block2
;
; block2 at 0x38 insts 1:
;              fault illegal
