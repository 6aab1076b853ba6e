; test lift gf100 16
fma rn f64 $r0d neg $r2d $r4d $r6d
add rz f64 $r0d $r2d abs $r4d
set $p0 $p1 lt f64 $r2d $r4d and $p2
exit

; expect:
; block1 at 0x0 insts 4:
;              v0: i32 = slot.get s2  ; r2
;              v1: i32 = slot.get s3  ; r3
;              v2: i64 = zext v0
;              v3: i64 = zext v1
;              v4: ui64 = const 0x20
;              v5: i64 = ishl v3, v4
;              v6: i64 = ior v5, v2
;              v7: f64 = bitcast v6
;              v8: f64 = fneg v7
;              v9: i32 = slot.get s4  ; r4
;              v10: i32 = slot.get s5  ; r5
;              v11: i64 = zext v9
;              v12: i64 = zext v10
;              v13: ui64 = const 0x20
;              v14: i64 = ishl v12, v13
;              v15: i64 = ior v14, v11
;              v16: f64 = bitcast v15
;              v17: i32 = slot.get s6  ; r6
;              v18: i32 = slot.get s7  ; r7
;              v19: i64 = zext v17
;              v20: i64 = zext v18
;              v21: ui64 = const 0x20
;              v22: i64 = ishl v20, v21
;              v23: i64 = ior v22, v19
;              v24: f64 = bitcast v23
;              v25: f64 = fma v8, v16, v24
;              v26: f64 = fcanon v25, 0xfff8000000000000
;              v27: i64 = bitcast v26
;              v28: i32 = trunc v27
;              v29: ui64 = const 0x20
;              v30: i64 = ushr v27, v29
;              v31: i32 = trunc v30
;     @0x8     v32: i64 = zext v0
;              v33: i64 = zext v1
;              v34: ui64 = const 0x20
;              v35: i64 = ishl v33, v34
;              v36: i64 = ior v35, v32
;              v37: f64 = bitcast v36
;              v38: i64 = zext v9
;              v39: i64 = zext v10
;              v40: ui64 = const 0x20
;              v41: i64 = ishl v39, v40
;              v42: i64 = ior v41, v38
;              v43: f64 = bitcast v42
;              v44: f64 = fabs v43
;              v45: ui32 = const 0x3
;              v46: f64 = call.pure @fermi.dadd(v45, v37, v44)
;              v47: i64 = bitcast v46
;              v48: i32 = trunc v47
;              v49: ui64 = const 0x20
;              v50: i64 = ushr v47, v49
;              v51: i32 = trunc v50
;     @0x10    v52: i64 = zext v0
;              v53: i64 = zext v1
;              v54: ui64 = const 0x20
;              v55: i64 = ishl v53, v54
;              v56: i64 = ior v55, v52
;              v57: f64 = bitcast v56
;              v58: i64 = zext v9
;              v59: i64 = zext v10
;              v60: ui64 = const 0x20
;              v61: i64 = ishl v59, v60
;              v62: i64 = ior v61, v58
;              v63: f64 = bitcast v62
;              v64: mask = fcmp lt v57, v63
;              v65: mask = slot.get s18  ; p2
;              v66: mask = iand v64, v65
;              v67: mask = inot v64
;              v68: mask = iand v67, v65
;     @0x18    slot.set s0, v48  ; r0
;              slot.set s1, v51  ; r1
;              slot.set s16, v66  ; p0
;              slot.set s17, v68  ; p1
;              leave.exit -> block2
;
; block2 at 0x1c insts 1:
;              fault illegal
