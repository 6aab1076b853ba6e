; test lift gf100 16
fma ftz sat rn f32 $r0 neg $r1 $r2 $r3
mul fmz rn f32 $r4 $r5 $r6
min ftz f32 $r7 $r8 abs $r9
rcp f32 $r1 $r2
exit

; expect:
; block1 at 0x0 insts 5:
;              v0: i32 = slot.get s1  ; r1
;              v1: f32 = bitcast v0
;              v2: f32 = fneg v1
;              v3: i32 = slot.get s2  ; r2
;              v4: f32 = bitcast v3
;              v5: i32 = slot.get s3  ; r3
;              v6: f32 = bitcast v5
;              v7: f32 = fma.ftz v2, v4, v6
;              v8: f32 = fcanon v7, 0x7fffffff
;              v9: uf32 = const 0x0  ; 0.0
;              v10: uf32 = const 0x3f800000  ; 1.0
;              v11: f32 = fmax v8, v9
;              v12: f32 = fmin v11, v10
;              v13: i32 = bitcast v12
;     @0x8     v14: i32 = slot.get s5  ; r5
;              v15: f32 = bitcast v14
;              v16: i32 = slot.get s6  ; r6
;              v17: f32 = bitcast v16
;              v18: f32 = fmul.ftz v15, v17
;              v19: f32 = fcanon v18, 0x7fffffff
;              v20: uf32 = const 0x0  ; 0.0
;              v21: mask = fcmp.ftz eq v15, v20
;              v22: mask = fcmp.ftz eq v17, v20
;              v23: mask = ior v21, v22
;              v24: uf32 = const 0x0  ; 0.0
;              v25: f32 = select v23, v24, v19
;              v26: i32 = bitcast v25
;     @0x10    v27: i32 = slot.get s8  ; r8
;              v28: f32 = bitcast v27
;              v29: f32 = fflush v28
;              v30: i32 = slot.get s9  ; r9
;              v31: f32 = bitcast v30
;              v32: f32 = fabs v31
;              v33: f32 = fflush v32
;              v34: f32 = fmin v29, v33
;              v35: f32 = fcanon v34, 0x7fffffff
;              v36: i32 = bitcast v35
;     @0x18    v37: f32 = bitcast v3
;              v38: uf32 = const 0x3f800000  ; 1.0
;              v39: f32 = fdiv.ftz v38, v37
;              v40: f32 = fcanon v39, 0x7fffffff
;              v41: i32 = bitcast v40
;     @0x1c    slot.set s0, v13  ; r0
;              slot.set s1, v41  ; r1
;              slot.set s4, v26  ; r4
;              slot.set s7, v36  ; r7
;              leave.exit -> block2
;
; block2 at 0x20 insts 1:
;              fault illegal
