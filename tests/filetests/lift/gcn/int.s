; test lift gfx900 8
v_add_co_u32 v1, vcc, v2, v3
v_mad_u32_u24 v4, v1, v2, v3
v_ashrrev_i32 v5, v1, v2
v_bfe_i32 v6, v1, 4, 8
s_endpgm

; expect:
; block1 at 0x0 insts 5:
;              v9: i32 = slot.get s111  ; v2
;              v10: i32 = slot.get s112  ; v3
;              v11: i32 = iadd v9, v10
;              v12: mask = icmp ult v11, v9
;              v13: mask = slot.get s118  ; exec
;              v14: i32 = slot.get s110  ; v1
;              v15: i32 = select v13, v11, v14
;              v16: mask = iand v13, v12
;     @0x4     v17: ui32 = const 0xffffff
;              v18: i32 = iand v15, v17
;              v19: ui32 = const 0xffffff
;              v20: i32 = iand v9, v19
;              v21: i32 = imul v18, v20
;              v22: i32 = iadd v21, v10
;              v23: i32 = slot.get s113  ; v4
;              v24: i32 = select v13, v22, v23
;     @0xc     v25: i32 = sshr v9, v15
;              v26: i32 = slot.get s114  ; v5
;              v27: i32 = select v13, v25, v26
;     @0x10    v28: ui32 = const 0x4
;              v29: ui32 = const 0x8
;              v30: ui32 = const 0x1f
;              v31: ui32 = iand v29, v30
;              v32: ui32 = const 0x1
;              v33: i32 = sshr v15, v28
;              v34: ui32 = const 0x20
;              v35: ui32 = isub v34, v31
;              v36: i32 = ishl v33, v35
;              v37: i32 = sshr v36, v35
;              v38: ui32 = const 0x0
;              v39: ui1 = icmp eq v31, v38
;              v40: i32 = select v39, v38, v37
;              v41: i32 = slot.get s115  ; v6
;              v42: i32 = select v13, v40, v41
;     @0x18    slot.set s110, v15  ; v1
;              slot.set s113, v24  ; v4
;              slot.set s114, v27  ; v5
;              slot.set s115, v42  ; v6
;              slot.set s121, v16  ; vcc.m
;              jump block2
;
; block2 pc 0x18:
;              v43: mask = slot.get s121  ; vcc.m
;              v44: ui64 = ballot v43
;              slot.set s122, v44  ; t16.ui64
;              jump block3
;
; block3 pc 0x18:
;              v45: ui64 = slot.get s122  ; t16.ui64
;              v46: ui32 = trunc v45
;              v47: ui64 = const 0x20
;              v48: ui64 = ushr v45, v47
;              v49: ui32 = trunc v48
;              v50: mask = slot.get s118  ; exec
;              slot.set s104, v46  ; vcc_lo
;              slot.set s105, v49  ; vcc_hi
;              jump block4
;
; block4 pc 0x18:
;              v51: mask = slot.get s118  ; exec
;              v52: ui64 = ballot v51
;              slot.set s122, v52  ; t16.ui64
;              jump block5
;
; block5 pc 0x18:
;              v53: ui64 = slot.get s122  ; t16.ui64
;              v54: ui32 = trunc v53
;              v55: ui64 = const 0x20
;              v56: ui64 = ushr v53, v55
;              v57: ui32 = trunc v56
;              slot.set s106, v54  ; exec_lo
;              slot.set s107, v57  ; exec_hi
;              leave.exit -> block6
;
; block6 pc 0x18:
;              fault illegal
