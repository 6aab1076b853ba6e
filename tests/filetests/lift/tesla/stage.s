; test lift g200 8 fragment in=0x0:1:plane in=0x4:1:plane out=r0:2
interp $r1 v[0x0]
rcp f32 $r1 $r1
interp $r0 v[0x4] $r1
(l $c0) discard
exit nop

; expect:
; block1 at 0x0 insts 5:
;              v7: ui32 = const 0x0
;              v8: i32 = load.u32 local[v7 + 0x14] align 4 far
;              v9: f32 = bitcast v8
;              v10: ui32 = const 0x0
;              v11: i32 = load.u32 local[v10 + 0x8] align 4 far
;              v12: f32 = bitcast v11
;              v13: ui32 = const 0x0
;              v14: i32 = load.u32 local[v13 + 0xc] align 4 far
;              v15: f32 = bitcast v14
;              v16: i32 = load.u32 local[v7 + 0x18] align 4 far
;              v17: f32 = bitcast v16
;              v18: f32 = fma.ftz v17, v12, v9
;              v19: i32 = load.u32 local[v7 + 0x1c] align 4 far
;              v20: f32 = bitcast v19
;              v21: f32 = fma.ftz v20, v15, v18
;              v22: f32 = fcanon v21, 0x7fffffff
;              v23: i32 = bitcast v22
;     @0x4     v24: f32 = bitcast v23
;              v25: f32 = call.pure @tesla.rcp(v24)
;              v26: f32 = fcanon v25, 0x7fffffff
;              v27: i32 = bitcast v26
;     @0x8     v28: ui32 = const 0x0
;              v29: i32 = load.u32 local[v28 + 0x20] align 4 far
;              v30: f32 = bitcast v29
;              v31: ui32 = const 0x0
;              v32: i32 = load.u32 local[v31 + 0x8] align 4 far
;              v33: f32 = bitcast v32
;              v34: ui32 = const 0x0
;              v35: i32 = load.u32 local[v34 + 0xc] align 4 far
;              v36: f32 = bitcast v35
;              v37: i32 = load.u32 local[v28 + 0x24] align 4 far
;              v38: f32 = bitcast v37
;              v39: f32 = fma.ftz v38, v33, v30
;              v40: i32 = load.u32 local[v28 + 0x28] align 4 far
;              v41: f32 = bitcast v40
;              v42: f32 = fma.ftz v41, v36, v39
;              v43: f32 = fcanon v42, 0x7fffffff
;              v44: f32 = bitcast v27
;              v45: f32 = fmul.ftz v43, v44
;              v46: f32 = fcanon v45, 0x7fffffff
;              v47: i32 = bitcast v46
;     @0x10    v48: mask = slot.get s8  ; c0.z
;              v49: mask = slot.get s9  ; c0.s
;              v50: mask = slot.get s10  ; c0.c
;              v51: mask = slot.get s11  ; c0.o
;              v52: mask = inot v48
;              v53: mask = iand v49, v52
;              v54: mask = ixor v53, v51
;              v55: ui32 = const 0x0
;              v56: ui32 = const 0x0
;              store.u32 local[v56 + 0x10], v55 align 4 far if v54
;     @0x18    v57: ui32 = const 0x0
;              store.u32 local[v57 + 0x2c], v47 align 4 far
;              v58: ui32 = const 0x0
;              store.u32 local[v58 + 0x30], v27 align 4 far
;              slot.set s0, v47  ; r0
;              slot.set s1, v27  ; r1
;              leave.exit -> block2
;
; block2 at 0x20 insts 1:
;              fault illegal
