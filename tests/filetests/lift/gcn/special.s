; test lift gfx900 8
v_rcp_f32 v1, v2
v_sin_f32 v3, v2
v_rsq_f64 v[4:5], v[6:7]
s_endpgm

; expect:
; block1 at 0x0 insts 4:
;              v9: i32 = slot.get s111  ; v2
;              v10: f32 = bitcast v9
;              v11: uf32 = const 0x3f800000  ; 1.0
;              v12: f32 = fdiv.ftz v11, v10
;              v13: f32 = fcanon v12, 0x7fc00000
;              v14: i32 = bitcast v13
;              v15: mask = slot.get s118  ; exec
;              v16: i32 = slot.get s110  ; v1
;              v17: i32 = select v15, v14, v16
;     @0x4     v18: f32 = bitcast v9
;              v19: f32 = call.pure @gcn.sin_any.f32(v18)
;              v20: f32 = fcanon v19, 0x7fc00000
;              v21: i32 = bitcast v20
;              v22: i32 = slot.get s112  ; v3
;              v23: i32 = select v15, v21, v22
;     @0x8     v24: i32 = slot.get s115  ; v6
;              v25: i32 = slot.get s116  ; v7
;              v26: i64 = zext v24
;              v27: i64 = zext v25
;              v28: ui64 = const 0x20
;              v29: i64 = ishl v27, v28
;              v30: i64 = ior v29, v26
;              v31: f64 = bitcast v30
;              v32: f64 = fsqrt v31
;              v33: uf64 = const 0x3ff0000000000000  ; 1.0
;              v34: f64 = fdiv v33, v32
;              v35: f64 = fcanon v34, 0x7ff8000000000000
;              v36: i64 = bitcast v35
;              v37: i32 = trunc v36
;              v38: ui64 = const 0x20
;              v39: i64 = ushr v36, v38
;              v40: i32 = trunc v39
;              v41: i32 = slot.get s113  ; v4
;              v42: i32 = select v15, v37, v41
;              v43: i32 = slot.get s114  ; v5
;              v44: i32 = select v15, v40, v43
;     @0xc     slot.set s110, v17  ; v1
;              slot.set s112, v23  ; v3
;              slot.set s113, v42  ; v4
;              slot.set s114, v44  ; v5
;              jump block2
;
; block2 pc 0xc:
;              v45: mask = slot.get s118  ; exec
;              v46: ui64 = ballot v45
;              slot.set s121, v46  ; t16.ui64
;              jump block3
;
; block3 pc 0xc:
;              v47: ui64 = slot.get s121  ; t16.ui64
;              v48: ui32 = trunc v47
;              v49: ui64 = const 0x20
;              v50: ui64 = ushr v47, v49
;              v51: ui32 = trunc v50
;              slot.set s106, v48  ; exec_lo
;              slot.set s107, v51  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0xc:
;              fault illegal
