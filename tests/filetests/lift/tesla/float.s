; test lift g200 8
add sat f32 $r1 neg $r2 $r3
add f32 $r5 $r6 $r7
add rz f32 $r1 $r2 $r3
add f32 $r1 neg (mul $r2 $r3) neg $r4
max f32 $r1 $r2 $r3
exit nop

; expect:
; block1 at 0x0 insts 6:
;              v9: i32 = slot.get s2  ; r2
;              v10: f32 = bitcast v9
;              v11: f32 = fneg v10
;              v12: i32 = slot.get s3  ; r3
;              v13: f32 = bitcast v12
;              v14: f32 = fadd.ftz v11, v13
;              v15: f32 = fcanon v14, 0x7fffffff
;              v16: i32 = bitcast v15
;              v17: ui32 = const 0x0
;              v18: ui32 = const 0x3f800000
;              v19: ui32 = const 0x7f800000
;              v20: i32 = smax v16, v17
;              v21: mask = icmp sgt v20, v19
;              v22: i32 = smin v20, v18
;              v23: i32 = select v21, v20, v22
;              v24: f32 = bitcast v23
;              v25: i32 = bitcast v24
;     @0x4     v26: i32 = slot.get s6  ; r6
;              v27: f32 = bitcast v26
;              v28: i32 = slot.get s7  ; r7
;              v29: f32 = bitcast v28
;              v30: f32 = fadd.ftz v27, v29
;              v31: f32 = fcanon v30, 0x7fffffff
;              v32: i32 = bitcast v31
;     @0x8     v33: f32 = bitcast v9
;              v34: f32 = bitcast v12
;              v35: ui32 = const 0x3
;              v36: f32 = call.pure @tesla.fadd(v35, v33, v34)
;              v37: i32 = bitcast v36
;     @0x10    v38: f32 = bitcast v9
;              v39: f32 = bitcast v12
;              v40: i32 = slot.get s4  ; r4
;              v41: f32 = bitcast v40
;              v42: f32 = fneg v41
;              v43: f32 = fneg v38
;              v44: f32 = fmad_trunc.ftz v43, v39, v42
;              v45: f32 = fcanon v44, 0x7fffffff
;              v46: i32 = bitcast v45
;     @0x18    v47: f32 = bitcast v9
;              v48: f32 = fflush v47
;              v49: f32 = bitcast v12
;              v50: f32 = fflush v49
;              v51: f32 = fmax v48, v50
;              v52: f32 = fcanon v51, 0x7fffffff
;              v53: i32 = bitcast v52
;     @0x20    slot.set s1, v53  ; r1
;              slot.set s5, v32  ; r5
;              leave.exit -> block2
;
; block2 at 0x28 insts 1:
;              fault illegal
