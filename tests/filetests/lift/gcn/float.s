; test lift gfx900 8
v_mad_f32 v1, v2, -v3, |v4|
v_fma_f32 v1, v2, v3, v4 clamp
v_max_f32 v2, v1, v3
v_fract_f32 v5, v1
s_endpgm

; expect:
; block1 at 0x0 insts 5:
;              v9: i32 = slot.get s111  ; v2
;              v10: f32 = bitcast v9
;              v11: i32 = slot.get s112  ; v3
;              v12: f32 = bitcast v11
;              v13: f32 = fneg v12
;              v14: i32 = slot.get s113  ; v4
;              v15: f32 = bitcast v14
;              v16: f32 = fabs v15
;              v17: f32 = fmul.ftz v10, v13
;              v18: f32 = fadd.ftz v17, v16
;              v19: f32 = fcanon v18, 0x7fc00000
;              v20: i32 = bitcast v19
;              v21: mask = slot.get s118  ; exec
;              v22: i32 = slot.get s110  ; v1
;              v23: i32 = select v21, v20, v22
;     @0x8     v24: f32 = bitcast v9
;              v25: f32 = bitcast v11
;              v26: f32 = bitcast v14
;              v27: f32 = fma.ftz v24, v25, v26
;              v28: uf32 = const 0x0  ; 0.0
;              v29: uf32 = const 0x3f800000  ; 1.0
;              v30: f32 = fflush v27
;              v31: f32 = fmax v30, v28
;              v32: f32 = fmin v31, v29
;              v33: mask = fcmp.ftz uno v27, v27
;              v34: f32 = select v33, v27, v32
;              v35: f32 = fcanon v34, 0x7fc00000
;              v36: i32 = bitcast v35
;              v37: i32 = select v21, v36, v23
;     @0x10    v38: f32 = bitcast v37
;              v39: f32 = bitcast v11
;              v40: f32 = fflush v38
;              v41: f32 = fflush v39
;              v42: f32 = fmax v40, v41
;              v43: f32 = fflush v42
;              v44: f32 = fcanon v43, 0x7fc00000
;              v45: i32 = bitcast v44
;              v46: i32 = select v21, v45, v9
;     @0x14    v47: f32 = bitcast v37
;              v48: f32 = fflush v47
;              v49: f32 = ffloor v48
;              v50: f32 = fsub.ftz v48, v49
;              v51: uf32 = const 0x3f800000  ; 1.0
;              v52: uf32 = const 0x3f7fffff  ; 0.99999994
;              v53: mask = fcmp.ftz ge v50, v51
;              v54: f32 = select v53, v52, v50
;              v55: f32 = fflush v54
;              v56: f32 = fcanon v55, 0x7fc00000
;              v57: i32 = bitcast v56
;              v58: i32 = slot.get s114  ; v5
;              v59: i32 = select v21, v57, v58
;     @0x18    slot.set s110, v37  ; v1
;              slot.set s111, v46  ; v2
;              slot.set s114, v59  ; v5
;              jump block2
;
; block2 pc 0x18:
;              v60: mask = slot.get s118  ; exec
;              v61: ui64 = ballot v60
;              slot.set s121, v61  ; t16.ui64
;              jump block3
;
; block3 pc 0x18:
;              v62: ui64 = slot.get s121  ; t16.ui64
;              v63: ui32 = trunc v62
;              v64: ui64 = const 0x20
;              v65: ui64 = ushr v62, v64
;              v66: ui32 = trunc v65
;              slot.set s106, v63  ; exec_lo
;              slot.set s107, v66  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x18:
;              fault illegal
