; test lift g80 8
add b16 sat $c0 $r1h $r2l $r3h
mul $r4 s16 $r1l u16 $r2h
shr s16 $r5l $r4h 0x3
exit nop

; expect:
; block1 at 0x0 insts 4:
;              v9: i32 = slot.get s2  ; r2
;              v10: ui32 = const 0xffff
;              v11: i32 = iand v9, v10
;              v12: i32 = slot.get s3  ; r3
;              v13: ui32 = const 0x10
;              v14: i32 = ushr v12, v13
;              v15: ui32 = const 0xffff
;              v16: i32 = iadd v11, v14
;              v17: i32 = iand v16, v15
;              v18: i32 = ixor v11, v17
;              v19: i32 = ixor v14, v17
;              v20: i32 = iand v18, v19
;              v21: ui32 = const 0x0
;              v22: ui32 = const 0x8000
;              v23: i32 = iand v20, v22
;              v24: mask = icmp ne v23, v21
;              v25: ui32 = const 0xf
;              v26: i32 = ushr v11, v25
;              v27: ui32 = const 0x7fff
;              v28: i32 = iadd v27, v26
;              v29: i32 = select v24, v28, v17
;              v30: ui32 = const 0x10000
;              v31: i32 = iand v16, v30
;              v32: ui32 = const 0x0
;              v33: mask = icmp ne v31, v32
;              v34: ui32 = const 0xffff
;              v35: i32 = iand v29, v34
;              v36: i32 = slot.get s1  ; r1
;              v37: ui32 = const 0xffff
;              v38: i32 = iand v36, v37
;              v39: ui32 = const 0x10
;              v40: i32 = ishl v35, v39
;              v41: i32 = ior v38, v40
;              v42: ui32 = const 0x0
;              v43: mask = icmp eq v29, v42
;              v44: ui32 = const 0x0
;              v45: ui32 = const 0x8000
;              v46: i32 = iand v29, v45
;              v47: mask = icmp ne v46, v44
;     @0x8     v48: ui32 = const 0xffff
;              v49: i32 = iand v41, v48
;              v50: ui32 = const 0x10
;              v51: i32 = ishl v49, v50
;              v52: i32 = sshr v51, v50
;              v53: ui32 = const 0x10
;              v54: i32 = ushr v9, v53
;              v55: i32 = imul v52, v54
;     @0x10    v56: ui32 = const 0x10
;              v57: i32 = ushr v55, v56
;              v58: ui32 = const 0x10
;              v59: i32 = ishl v57, v58
;              v60: i32 = sshr v59, v58
;              v61: ui32 = const 0x3
;              v62: ui32 = const 0xffff
;              v63: ui32 = iand v61, v62
;              v64: ui32 = const 0x0
;              v65: ui32 = const 0x1f
;              v66: i32 = sshr v60, v63
;              v67: ui32 = const 0xffff
;              v68: i32 = iand v66, v67
;              v69: ui32 = const 0xffff
;              v70: i32 = iand v68, v69
;              v71: i32 = slot.get s5  ; r5
;              v72: ui32 = const 0xffff0000
;              v73: i32 = iand v71, v72
;              v74: i32 = ior v73, v70
;     @0x18    slot.set s1, v41  ; r1
;              slot.set s4, v55  ; r4
;              slot.set s5, v74  ; r5
;              slot.set s8, v43  ; c0.z
;              slot.set s9, v47  ; c0.s
;              slot.set s10, v33  ; c0.c
;              slot.set s11, v24  ; c0.o
;              leave.exit -> block2
;
; block2 at 0x20 insts 1:
;              fault illegal
