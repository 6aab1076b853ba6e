; test lift gf100 16
ext rev u32 $r7 $r1 $r2
ins b32 $r0 $r1 $r2 $r3
bfind shiftamt s32 $r4 $r0
popc $r5 $r1 not $r2
prmt b32 $r6 $r1 0x5410 $r2
exit

; expect:
; block1 at 0x0 insts 6:
;              v0: i32 = slot.get s1  ; r1
;              v1: i32 = bitrev v0
;              v2: i32 = slot.get s2  ; r2
;              v3: ui32 = const 0xff
;              v4: i32 = iand v2, v3
;              v5: ui32 = const 0x8
;              v6: i32 = ushr v2, v5
;              v7: ui32 = const 0xff
;              v8: i32 = iand v6, v7
;              v9: ui32 = const 0x0
;              v10: ui32 = const 0x20
;              v11: ui32 = const 0x1f
;              v12: i32 = ushr v1, v4
;              v13: mask = icmp ult v4, v10
;              v14: i32 = select v13, v12, v9
;              v15: ui32 = const 0x1
;              v16: ui32 = const 0xffffffff
;              v17: ui32 = const 0x20
;              v18: i32 = ishl v15, v8
;              v19: i32 = isub v18, v15
;              v20: mask = icmp ult v8, v17
;              v21: i32 = select v20, v19, v16
;              v22: i32 = iand v14, v21
;     @0x8     v23: i32 = slot.get s3  ; r3
;              v24: ui32 = const 0xff
;              v25: i32 = iand v2, v24
;              v26: ui32 = const 0x8
;              v27: i32 = ushr v2, v26
;              v28: ui32 = const 0xff
;              v29: i32 = iand v27, v28
;              v30: ui32 = const 0x0
;              v31: ui32 = const 0x20
;              v32: ui32 = const 0x1
;              v33: ui32 = const 0xffffffff
;              v34: ui32 = const 0x20
;              v35: i32 = ishl v32, v29
;              v36: i32 = isub v35, v32
;              v37: mask = icmp ult v29, v34
;              v38: i32 = select v37, v36, v33
;              v39: i32 = ishl v38, v25
;              v40: mask = icmp ult v25, v31
;              v41: i32 = select v40, v39, v30
;              v42: i32 = ishl v0, v25
;              v43: i32 = iand v42, v41
;              v44: i32 = inot v41
;              v45: i32 = iand v23, v44
;              v46: i32 = ior v45, v43
;     @0x10    v47: ui32 = const 0x1f
;              v48: i32 = sshr v46, v47
;              v49: i32 = ixor v46, v48
;              v50: i32 = clz v49
;              v51: ui32 = const 0x20
;              v52: ui32 = const 0xffffffff
;              v53: mask = icmp eq v50, v51
;              v54: i32 = select v53, v52, v50
;     @0x18    v55: i32 = inot v2
;              v56: i32 = iand v0, v55
;              v57: i32 = popcnt v56
;     @0x20    v58: ui32 = const 0xff
;              v59: i32 = iand v0, v58
;              v60: ui32 = const 0xff00
;              v61: i32 = iand v0, v60
;              v62: i32 = ior v59, v61
;              v63: ui32 = const 0xff
;              v64: i32 = iand v2, v63
;              v65: ui32 = const 0x10
;              v66: i32 = ishl v64, v65
;              v67: i32 = ior v62, v66
;              v68: ui32 = const 0xff00
;              v69: i32 = iand v2, v68
;              v70: ui32 = const 0x10
;              v71: i32 = ishl v69, v70
;              v72: i32 = ior v67, v71
;     @0x28    slot.set s0, v46  ; r0
;              slot.set s4, v54  ; r4
;              slot.set s5, v57  ; r5
;              slot.set s6, v72  ; r6
;              slot.set s7, v22  ; r7
;              leave.exit -> block2
;
; block2 at 0x2c insts 1:
;              fault illegal
