; test lift gf100 16
mov b32 $r1 $tidx
mov $r2 $flags mask 0x7
set $p0 $p1 $p2 or not $p3 and $p4
selp b32 $r3 $r4 $r5 $p0
exit

; expect:
; block1 at 0x0 insts 5:
;              v0: i32 = slot.get s27  ; tid.x
;     @0x8     v1: ui32 = const 0x0
;              v2: mask = slot.get s16  ; p0
;              v3: ui32 = const 0x1
;              v4: ui32 = const 0x0
;              v5: i32 = select v2, v3, v4
;              v6: i32 = ior v1, v5
;              v7: mask = slot.get s17  ; p1
;              v8: ui32 = const 0x2
;              v9: ui32 = const 0x0
;              v10: i32 = select v7, v8, v9
;              v11: i32 = ior v6, v10
;              v12: mask = slot.get s18  ; p2
;              v13: ui32 = const 0x4
;              v14: ui32 = const 0x0
;              v15: i32 = select v12, v13, v14
;              v16: i32 = ior v11, v15
;              v17: mask = slot.get s19  ; p3
;              v18: ui32 = const 0x8
;              v19: ui32 = const 0x0
;              v20: i32 = select v17, v18, v19
;              v21: i32 = ior v16, v20
;              v22: mask = slot.get s20  ; p4
;              v23: ui32 = const 0x10
;              v24: ui32 = const 0x0
;              v25: i32 = select v22, v23, v24
;              v26: i32 = ior v21, v25
;              v27: mask = slot.get s21  ; p5
;              v28: ui32 = const 0x20
;              v29: ui32 = const 0x0
;              v30: i32 = select v27, v28, v29
;              v31: i32 = ior v26, v30
;              v32: mask = slot.get s22  ; p6
;              v33: ui32 = const 0x40
;              v34: ui32 = const 0x0
;              v35: i32 = select v32, v33, v34
;              v36: i32 = ior v31, v35
;              v37: mask = slot.get s23  ; c.z
;              v38: ui32 = const 0x1000
;              v39: ui32 = const 0x0
;              v40: i32 = select v37, v38, v39
;              v41: i32 = ior v36, v40
;              v42: mask = slot.get s24  ; c.s
;              v43: ui32 = const 0x2000
;              v44: ui32 = const 0x0
;              v45: i32 = select v42, v43, v44
;              v46: i32 = ior v41, v45
;              v47: mask = slot.get s25  ; c.c
;              v48: ui32 = const 0x4000
;              v49: ui32 = const 0x0
;              v50: i32 = select v47, v48, v49
;              v51: i32 = ior v46, v50
;              v52: mask = slot.get s26  ; c.o
;              v53: ui32 = const 0x8000
;              v54: ui32 = const 0x0
;              v55: i32 = select v52, v53, v54
;              v56: i32 = ior v51, v55
;              v57: ui32 = const 0x7
;              v58: i32 = iand v56, v57
;     @0x10    v59: mask = inot v17
;              v60: mask = ior v12, v59
;              v61: mask = iand v60, v22
;              v62: mask = inot v60
;              v63: mask = iand v62, v22
;     @0x18    v64: i32 = slot.get s4  ; r4
;              v65: i32 = slot.get s5  ; r5
;              v66: i32 = select v61, v64, v65
;     @0x20    slot.set s1, v0  ; r1
;              slot.set s2, v58  ; r2
;              slot.set s3, v66  ; r3
;              slot.set s16, v61  ; p0
;              slot.set s17, v63  ; p1
;              leave.exit -> block2
;
; block2 at 0x24 insts 1:
;              fault illegal
