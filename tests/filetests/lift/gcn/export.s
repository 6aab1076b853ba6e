; test lift gfx900 8 fragment out=mrt0:4
v_mov_b32 v1, 1.0
exp mrt0 v1, v1, off, v1 done vm
s_endpgm

; expect:
; block1 at 0x0 insts 3:
;              v5: ui32 = const 0x3f800000
;              v6: mask = slot.get s118  ; exec
;              v7: i32 = slot.get s110  ; v1
;              v8: i32 = select v6, v5, v7
;     @0x4     v9: mask = slot.get s119  ; covered
;              v10: mask = iand v6, v9
;              v11: ui32 = const 0x0
;              store.u32 local[v11 + 0x4], v8 align 4 if v10
;              v12: ui32 = const 0xffffffff
;              v13: ui32 = const 0x0
;              store.u32 local[v13 + 0x14], v12 align 4 if v10
;              v14: ui32 = const 0x0
;              store.u32 local[v14 + 0x8], v8 align 4 if v10
;              v15: ui32 = const 0xffffffff
;              v16: ui32 = const 0x0
;              store.u32 local[v16 + 0x18], v15 align 4 if v10
;              v17: ui32 = const 0x0
;              store.u32 local[v17 + 0x10], v8 align 4 if v10
;              v18: ui32 = const 0xffffffff
;              v19: ui32 = const 0x0
;              store.u32 local[v19 + 0x20], v18 align 4 if v10
;              v20: ui32 = const 0xffffffff
;              v21: ui32 = const 0x0
;              v22: i32 = select v10, v20, v21
;              v23: ui32 = const 0x0
;              store.u32 local[v23 + 0x24], v22 align 4
;     @0xc     slot.set s110, v8  ; v1
;              jump block2
;
; block2 pc 0xc:
;              v24: mask = slot.get s118  ; exec
;              v25: ui64 = ballot v24
;              slot.set s120, v25  ; t16.ui64
;              jump block3
;
; block3 pc 0xc:
;              v26: ui64 = slot.get s120  ; t16.ui64
;              v27: ui32 = trunc v26
;              v28: ui64 = const 0x20
;              v29: ui64 = ushr v26, v28
;              v30: ui32 = trunc v29
;              slot.set s106, v27  ; exec_lo
;              slot.set s107, v30  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0xc:
;              fault illegal
