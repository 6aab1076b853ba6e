; test lift gfx900 8
v_fma_f64 v[2:3], v[4:5], -v[6:7], s[2:3]
v_ldexp_f64 v[2:3], v[4:5], v6
s_endpgm

; expect:
; block1 at 0x0 insts 3:
;              v9: i32 = slot.get s113  ; v4
;              v10: i32 = slot.get s114  ; v5
;              v11: i64 = zext v9
;              v12: i64 = zext v10
;              v13: ui64 = const 0x20
;              v14: i64 = ishl v12, v13
;              v15: i64 = ior v14, v11
;              v16: f64 = bitcast v15
;              v17: i32 = slot.get s115  ; v6
;              v18: i32 = slot.get s116  ; v7
;              v19: i64 = zext v17
;              v20: i64 = zext v18
;              v21: ui64 = const 0x20
;              v22: i64 = ishl v20, v21
;              v23: i64 = ior v22, v19
;              v24: f64 = bitcast v23
;              v25: f64 = fneg v24
;              v26: ui32 = slot.get s2  ; s2
;              v27: ui32 = slot.get s3  ; s3
;              v28: ui64 = zext v26
;              v29: ui64 = zext v27
;              v30: ui64 = const 0x20
;              v31: ui64 = ishl v29, v30
;              v32: ui64 = ior v31, v28
;              v33: uf64 = bitcast v32
;              v34: f64 = fma v16, v25, v33
;              v35: f64 = fcanon v34, 0x7ff8000000000000
;              v36: i64 = bitcast v35
;              v37: i32 = trunc v36
;              v38: ui64 = const 0x20
;              v39: i64 = ushr v36, v38
;              v40: i32 = trunc v39
;              v41: mask = slot.get s118  ; exec
;              v42: i32 = slot.get s111  ; v2
;              v43: i32 = select v41, v37, v42
;              v44: i32 = slot.get s112  ; v3
;              v45: i32 = select v41, v40, v44
;     @0x8     v46: i64 = zext v9
;              v47: i64 = zext v10
;              v48: ui64 = const 0x20
;              v49: i64 = ishl v47, v48
;              v50: i64 = ior v49, v46
;              v51: f64 = bitcast v50
;              v52: ui32 = const 0xc0
;              v53: f64 = call.pure @gcn.ldexp.f64(v52, v51, v17)
;              v54: f64 = fcanon v53, 0x7ff8000000000000
;              v55: i64 = bitcast v54
;              v56: i32 = trunc v55
;              v57: ui64 = const 0x20
;              v58: i64 = ushr v55, v57
;              v59: i32 = trunc v58
;              v60: i32 = select v41, v56, v43
;              v61: i32 = select v41, v59, v45
;     @0x10    slot.set s111, v60  ; v2
;              slot.set s112, v61  ; v3
;              jump block2
;
; block2 pc 0x10:
;              v62: mask = slot.get s118  ; exec
;              v63: ui64 = ballot v62
;              slot.set s121, v63  ; t16.ui64
;              jump block3
;
; block3 pc 0x10:
;              v64: ui64 = slot.get s121  ; t16.ui64
;              v65: ui32 = trunc v64
;              v66: ui64 = const 0x20
;              v67: ui64 = ushr v64, v66
;              v68: ui32 = trunc v67
;              slot.set s106, v65  ; exec_lo
;              slot.set s107, v68  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x10:
;              fault illegal
