; test lift gfx900 8 fragment in=v0:2:pixel in=attr0:4:plane out=mrt0:4
v_interp_p1_f32 v2, v0, attr0.x
v_interp_p2_f32 v2, v1, attr0.x
exp mrt0 v2, v2, v2, v2 done vm
s_endpgm

; expect:
; block1 at 0x0 insts 4:
;              v9: ui32 = const 0x0
;              v10: ui32 = const 0x0
;              v11: i32 = load.u32 local[v10 + 0xc] align 4
;              v12: ui32 = const 0x0
;              v13: i32 = load.u32 local[v12 + 0x10] align 4
;              v14: ui32 = const 0x0
;              v15: i32 = load.u32 local[v14 + 0x14] align 4
;              v16: f32 = bitcast v13
;              v17: i32 = slot.get s109  ; v0
;              v18: f32 = bitcast v17
;              v19: f32 = bitcast v11
;              v20: f32 = fma.ftz v16, v18, v19
;              v21: f32 = fcanon v20, 0x7fc00000
;              v22: i32 = bitcast v21
;              v23: mask = slot.get s118  ; exec
;              v24: i32 = slot.get s111  ; v2
;              v25: i32 = select v23, v22, v24
;     @0x8     v26: ui32 = const 0x0
;              v27: ui32 = const 0x0
;              v28: i32 = load.u32 local[v27 + 0xc] align 4
;              v29: ui32 = const 0x0
;              v30: i32 = load.u32 local[v29 + 0x10] align 4
;              v31: ui32 = const 0x0
;              v32: i32 = load.u32 local[v31 + 0x14] align 4
;              v33: f32 = bitcast v32
;              v34: i32 = slot.get s110  ; v1
;              v35: f32 = bitcast v34
;              v36: f32 = bitcast v25
;              v37: f32 = fma.ftz v33, v35, v36
;              v38: f32 = fcanon v37, 0x7fc00000
;              v39: i32 = bitcast v38
;              v40: i32 = select v23, v39, v25
;     @0x10    v41: mask = slot.get s119  ; covered
;              v42: mask = iand v23, v41
;              v43: ui32 = const 0x0
;              store.u32 local[v43 + 0x3c], v40 align 4 if v42
;              v44: ui32 = const 0xffffffff
;              v45: ui32 = const 0x0
;              store.u32 local[v45 + 0x4c], v44 align 4 if v42
;              v46: ui32 = const 0x0
;              store.u32 local[v46 + 0x40], v40 align 4 if v42
;              v47: ui32 = const 0xffffffff
;              v48: ui32 = const 0x0
;              store.u32 local[v48 + 0x50], v47 align 4 if v42
;              v49: ui32 = const 0x0
;              store.u32 local[v49 + 0x44], v40 align 4 if v42
;              v50: ui32 = const 0xffffffff
;              v51: ui32 = const 0x0
;              store.u32 local[v51 + 0x54], v50 align 4 if v42
;              v52: ui32 = const 0x0
;              store.u32 local[v52 + 0x48], v40 align 4 if v42
;              v53: ui32 = const 0xffffffff
;              v54: ui32 = const 0x0
;              store.u32 local[v54 + 0x58], v53 align 4 if v42
;              v55: ui32 = const 0xffffffff
;              v56: ui32 = const 0x0
;              v57: i32 = select v42, v55, v56
;              v58: ui32 = const 0x0
;              store.u32 local[v58 + 0x5c], v57 align 4
;     @0x18    slot.set s111, v40  ; v2
;              jump block2
;
; block2 pc 0x18:
;              v59: mask = slot.get s118  ; exec
;              v60: ui64 = ballot v59
;              slot.set s120, v60  ; t16.ui64
;              jump block3
;
; block3 pc 0x18:
;              v61: ui64 = slot.get s120  ; t16.ui64
;              v62: ui32 = trunc v61
;              v63: ui64 = const 0x20
;              v64: ui64 = ushr v61, v63
;              v65: ui32 = trunc v64
;              slot.set s106, v62  ; exec_lo
;              slot.set s107, v65  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x18:
;              fault illegal
