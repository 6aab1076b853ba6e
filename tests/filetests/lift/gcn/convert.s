; test lift gfx900 8
v_cvt_i32_f32 v1, v2
v_cvt_pkrtz_f16_f32 v3, v1, v2
v_cvt_f32_ubyte1 v4, v3
s_endpgm

; expect:
; block1 at 0x0 insts 4:
;              v9: i32 = slot.get s111  ; v2
;              v10: f32 = bitcast v9
;              v11: i32 = fcvt_to_sint v10
;              v12: mask = slot.get s118  ; exec
;              v13: i32 = slot.get s110  ; v1
;              v14: i32 = select v12, v11, v13
;     @0x4     v15: f32 = bitcast v14
;              v16: f32 = bitcast v9
;              v17: ui32 = const 0xc0
;              v18: i32 = call.pure @gcn.cvt_rtz.f16.f32(v17, v15)
;              v19: ui32 = const 0xc0
;              v20: i32 = call.pure @gcn.cvt_rtz.f16.f32(v19, v16)
;              v21: ui32 = const 0x10
;              v22: i32 = ishl v20, v21
;              v23: i32 = ior v18, v22
;              v24: i32 = slot.get s112  ; v3
;              v25: i32 = select v12, v23, v24
;     @0xc     v26: ui32 = const 0x8
;              v27: i32 = ushr v25, v26
;              v28: ui32 = const 0xff
;              v29: i32 = iand v27, v28
;              v30: f32 = fcvt_from_sint v29
;              v31: f32 = fcanon v30, 0x7fc00000
;              v32: i32 = bitcast v31
;              v33: i32 = slot.get s113  ; v4
;              v34: i32 = select v12, v32, v33
;     @0x10    slot.set s110, v14  ; v1
;              slot.set s112, v25  ; v3
;              slot.set s113, v34  ; v4
;              jump block2
;
; block2 pc 0x10:
;              v35: mask = slot.get s118  ; exec
;              v36: ui64 = ballot v35
;              slot.set s121, v36  ; t16.ui64
;              jump block3
;
; block3 pc 0x10:
;              v37: ui64 = slot.get s121  ; t16.ui64
;              v38: ui32 = trunc v37
;              v39: ui64 = const 0x20
;              v40: ui64 = ushr v37, v39
;              v41: ui32 = trunc v40
;              slot.set s106, v38  ; exec_lo
;              slot.set s107, v41  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x10:
;              fault illegal
