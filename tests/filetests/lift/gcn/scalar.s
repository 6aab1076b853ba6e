; test lift gfx900 8
s_add_u32 s2, s3, s4
s_addc_u32 s5, s6, 0
s_absdiff_i32 s7, s2, s3
s_bfe_u32 s8, s2, 0x80004
s_endpgm

; expect:
; block1 at 0x0 insts 5:
;              v9: ui32 = slot.get s3  ; s3
;              v10: ui32 = slot.get s4  ; s4
;              v11: ui32 = iadd v9, v10
;              v12: ui1 = icmp ult v11, v9
;     @0x4     v13: ui32 = slot.get s6  ; s6
;              v14: ui32 = const 0x0
;              v15: ui32 = const 0x1
;              v16: ui32 = const 0x0
;              v17: ui32 = select v12, v15, v16
;              v18: ui32 = iadd v13, v14
;              v19: ui1 = icmp ult v18, v13
;              v20: ui32 = iadd v18, v17
;              v21: ui1 = icmp ult v20, v18
;              v22: ui1 = ior v19, v21
;     @0x8     v23: ui32 = isub v11, v9
;              v24: ui32 = const 0x0
;              v25: ui1 = icmp slt v23, v24
;              v26: ui32 = ineg v23
;              v27: ui32 = select v25, v26, v23
;     @0xc     v28: ui32 = const 0x80004
;              v29: ui32 = const 0x1f
;              v30: ui32 = iand v28, v29
;              v31: ui32 = const 0x10
;              v32: ui32 = ushr v28, v31
;              v33: ui32 = const 0x7f
;              v34: ui32 = iand v32, v33
;              v35: ui32 = const 0x20
;              v36: ui32 = isub v35, v30
;              v37: ui32 = umin v34, v36
;              v38: ui32 = const 0x0
;              v39: ui1 = icmp eq v37, v38
;              v40: ui32 = isub v36, v37
;              v41: ui32 = const 0x20
;              v42: ui32 = isub v41, v37
;              v43: ui32 = ishl v11, v40
;              v44: ui32 = ushr v43, v42
;              v45: ui32 = const 0x0
;              v46: ui32 = select v39, v45, v44
;     @0x14    v47: mask = slot.get s118  ; exec
;              slot.set s2, v11  ; s2
;              slot.set s5, v20  ; s5
;              slot.set s7, v27  ; s7
;              slot.set s8, v46  ; s8
;              slot.set s121, v12  ; scc
;              jump block2
;
; block2 pc 0x14:
;              v48: mask = slot.get s118  ; exec
;              v49: ui64 = ballot v48
;              slot.set s122, v49  ; t16.ui64
;              jump block3
;
; block3 pc 0x14:
;              v50: ui64 = slot.get s122  ; t16.ui64
;              v51: ui32 = trunc v50
;              v52: ui64 = const 0x20
;              v53: ui64 = ushr v50, v52
;              v54: ui32 = trunc v53
;              slot.set s106, v51  ; exec_lo
;              slot.set s107, v54  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x14:
;              fault illegal
