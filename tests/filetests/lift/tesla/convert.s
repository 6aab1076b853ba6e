; test lift g200 8
cvt rn f32 $r1 s32 $r2
cvt rzi u16 $r1l f32 $r3
cvt rn f16 $r2l f32 $r4
exit nop

; expect:
; block1 at 0x0 insts 4:
;              v9: i32 = slot.get s2  ; r2
;              v10: f32 = fcvt_from_sint v9
;              v11: i32 = bitcast v10
;     @0x8     v12: i32 = slot.get s3  ; r3
;              v13: f32 = bitcast v12
;              v14: f32 = fflush v13
;              v15: i32 = fcvt_to_uint v14
;              v16: ui32 = const 0xffff
;              v17: i32 = umin v15, v16
;              v18: ui32 = const 0xffff
;              v19: i32 = iand v17, v18
;              v20: ui32 = const 0xffff
;              v21: i32 = iand v19, v20
;              v22: ui32 = const 0xffff0000
;              v23: i32 = iand v11, v22
;              v24: i32 = ior v23, v21
;     @0x10    v25: i32 = slot.get s4  ; r4
;              v26: ui32 = const 0x4098
;              v27: i32 = call.pure @tesla.cvt.i32.i32(v26, v25)
;              v28: ui32 = const 0xffff
;              v29: i32 = iand v27, v28
;              v30: ui32 = const 0xffff0000
;              v31: i32 = iand v9, v30
;              v32: i32 = ior v31, v29
;     @0x18    slot.set s1, v24  ; r1
;              slot.set s2, v32  ; r2
;              leave.exit -> block2
;
; block2 at 0x20 insts 1:
;              fault illegal
