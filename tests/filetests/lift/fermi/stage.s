; test lift gf100 16 fragment in=0x7c:1:plane in=0x80:1:plane out=r0:1
interp pass f32 $r1 a[0x7c] 0x0 0x0
rcp f32 $r1 $r1
interp mul f32 $r0 a[0x80] $r1 0x0
pixinfo $r2 $p0 covmask pix[0x0]
exit

; expect:
; block1 at 0x0 insts 5:
;              v4: ui32 = const 0x0
;              v5: i32 = load.u32 local[v4 + 0x10] align 4 far
;              v6: f32 = bitcast v5
;              v7: ui32 = const 0x0
;              v8: i32 = load.u32 local[v7 + 0x8] align 4 far
;              v9: f32 = bitcast v8
;              v10: ui32 = const 0x0
;              v11: i32 = load.u32 local[v10 + 0xc] align 4 far
;              v12: f32 = bitcast v11
;              v13: i32 = load.u32 local[v4 + 0x14] align 4 far
;              v14: f32 = bitcast v13
;              v15: f32 = fma.ftz v14, v9, v6
;              v16: i32 = load.u32 local[v4 + 0x18] align 4 far
;              v17: f32 = bitcast v16
;              v18: f32 = fma.ftz v17, v12, v15
;              v19: f32 = fcanon v18, 0x7fffffff
;              v20: i32 = bitcast v19
;     @0x8     v21: f32 = bitcast v20
;              v22: uf32 = const 0x3f800000  ; 1.0
;              v23: f32 = fdiv.ftz v22, v21
;              v24: f32 = fcanon v23, 0x7fffffff
;              v25: i32 = bitcast v24
;     @0x10    v26: ui32 = const 0x0
;              v27: i32 = load.u32 local[v26 + 0x1c] align 4 far
;              v28: f32 = bitcast v27
;              v29: ui32 = const 0x0
;              v30: i32 = load.u32 local[v29 + 0x8] align 4 far
;              v31: f32 = bitcast v30
;              v32: ui32 = const 0x0
;              v33: i32 = load.u32 local[v32 + 0xc] align 4 far
;              v34: f32 = bitcast v33
;              v35: i32 = load.u32 local[v26 + 0x20] align 4 far
;              v36: f32 = bitcast v35
;              v37: f32 = fma.ftz v36, v31, v28
;              v38: i32 = load.u32 local[v26 + 0x24] align 4 far
;              v39: f32 = bitcast v38
;              v40: f32 = fma.ftz v39, v34, v37
;              v41: f32 = fcanon v40, 0x7fffffff
;              v42: f32 = bitcast v25
;              v43: f32 = fmul.ftz v41, v42
;              v44: f32 = fcanon v43, 0x7fffffff
;              v45: i32 = bitcast v44
;     @0x18    v46: ui32 = const 0x0
;              v47: i32 = load.u32 local[v46 + 0x4] align 4 far
;              v48: ui32 = const 0x0
;              v49: mask = icmp ne v47, v48
;              v50: ui32 = const 0x1
;              v51: ui32 = const 0x0
;              v52: i32 = select v49, v50, v51
;     @0x20    v53: ui32 = const 0x0
;              store.u32 local[v53 + 0x28], v45 align 4 far
;              slot.set s0, v45  ; r0
;              slot.set s1, v25  ; r1
;              slot.set s2, v52  ; r2
;              slot.set s16, v49  ; p0
;              leave.exit -> block2
;
; block2 at 0x24 insts 1:
;              fault illegal
