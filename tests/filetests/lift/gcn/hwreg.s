; test lift gfx900 8
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0xf
s_getreg_b32 s2, hwreg(HW_REG_STATUS)
s_endpgm

; expect:
; block1 at 0x0 insts 2:
;              v9: ui32 = const 0xf
;              v10: ui32 = const 0x4
;              v11: ui32 = ishl v9, v10
;              v12: ui32 = const 0xf0
;              v13: ui32 = iand v11, v12
;              v14: ui32 = slot.get s117  ; mode
;              v15: ui32 = const 0xffffff0f
;              v16: ui32 = iand v14, v15
;              v17: ui32 = ior v16, v13
;     @0x8     v18: ui32 = slot.get s104  ; vcc_lo
;              v19: ui32 = slot.get s105  ; vcc_hi
;              v20: ui64 = zext v18
;              v21: ui64 = zext v19
;              v22: ui64 = const 0x20
;              v23: ui64 = ishl v21, v22
;              v24: ui64 = ior v23, v20
;              v25: mask = lane_bit v24
;              slot.set s117, v17  ; mode
;              slot.set s121, v25  ; vcc.m
;              jump block2
;
; block2 pc 0x8:
;              v26: mask = slot.get s121  ; vcc.m
;              v27: ui1 = vote_any v26
;              slot.set s122, v27  ; t16.ui1
;              jump block3
;
; block3 pc 0x8:
;              v28: ui1 = slot.get s122  ; t16.ui1
;              v29: ui1 = inot v28
;              v30: mask = slot.get s118  ; exec
;              slot.set s123, v29  ; t9.ui1
;              jump block4
;
; block4 pc 0x8:
;              v31: mask = slot.get s118  ; exec
;              v32: ui1 = vote_any v31
;              slot.set s122, v32  ; t16.ui1
;              jump block5
;
; block5 pc 0x8 insts 1:
;              v33: ui1 = slot.get s122  ; t16.ui1
;              v34: ui1 = inot v33
;              v35: ui32 = const 0x10800
;              v36: ui1 = slot.get s125  ; scc
;              v37: ui32 = const 0x1
;              v38: ui32 = const 0x0
;              v39: ui32 = select v36, v37, v38
;              v40: ui32 = const 0x0
;              v41: ui32 = ishl v39, v40
;              v42: ui32 = ior v35, v41
;              v43: ui32 = const 0x1
;              v44: ui32 = const 0x0
;              v45: ui32 = select v34, v43, v44
;              v46: ui32 = const 0x9
;              v47: ui32 = ishl v45, v46
;              v48: ui32 = ior v42, v47
;              v49: ui1 = slot.get s123  ; t9.ui1
;              v50: ui32 = const 0x1
;              v51: ui32 = const 0x0
;              v52: ui32 = select v49, v50, v51
;              v53: ui32 = const 0xa
;              v54: ui32 = ishl v52, v53
;              v55: ui32 = ior v48, v54
;              v56: ui32 = const 0x0
;              v57: ui32 = ushr v55, v56
;     @0xc     v58: mask = slot.get s118  ; exec
;              slot.set s2, v57  ; s2
;              slot.set s124, v34  ; t10.ui1
;              jump block6
;
; block6 pc 0xc:
;              v59: mask = slot.get s118  ; exec
;              v60: ui64 = ballot v59
;              slot.set s126, v60  ; t16.ui64
;              jump block7
;
; block7 pc 0xc:
;              v61: ui64 = slot.get s126  ; t16.ui64
;              v62: ui32 = trunc v61
;              v63: ui64 = const 0x20
;              v64: ui64 = ushr v61, v63
;              v65: ui32 = trunc v64
;              slot.set s106, v62  ; exec_lo
;              slot.set s107, v65  ; exec_hi
;              leave.exit -> block8
;
; block8 pc 0xc:
;              fault illegal
