; test lift gfx900 8
s_load_dwordx2 s[4:5], s[2:3], 0x10
s_buffer_load_dword s6, s[8:11], s5
s_endpgm

; expect:
; block1 at 0x0 insts 3:
;              v9: ui64 = const 0x10
;              v10: ui32 = slot.get s2  ; s2
;              v11: ui32 = slot.get s3  ; s3
;              v12: ui64 = zext v10
;              v13: ui64 = zext v11
;              v14: ui64 = const 0x20
;              v15: ui64 = ishl v13, v14
;              v16: ui64 = ior v15, v12
;              v17: ui64 = iadd v16, v9
;              v18: ui64 = const 0xfffffffffffffffc
;              v19: ui64 = iand v17, v18
;              v20: ui64 = load.u64 global0[v19] align 1
;              v21: ui32 = trunc v20
;              v22: ui64 = const 0x20
;              v23: ui64 = ushr v20, v22
;              v24: ui32 = trunc v23
;     @0x8     v25: ui64 = const 0x0
;              v26: ui64 = zext v24
;              v27: ui32 = slot.get s8  ; s8
;              v28: ui32 = slot.get s9  ; s9
;              v29: ui32 = slot.get s10  ; s10
;              v30: ui32 = slot.get s11  ; s11
;              v31: ui32 = const 0x10
;              v32: ui32 = ishl v28, v31
;              v33: ui32 = const 0x10
;              v34: ui32 = sshr v32, v33
;              v35: ui64 = zext v27
;              v36: ui64 = zext v34
;              v37: ui64 = const 0x20
;              v38: ui64 = ishl v36, v37
;              v39: ui64 = ior v38, v35
;              v40: ui64 = zext v29
;              v41: ui32 = const 0x10
;              v42: ui32 = ushr v28, v41
;              v43: ui32 = const 0x3fff
;              v44: ui32 = iand v42, v43
;              v45: ui32 = const 0x0
;              v46: ui1 = icmp eq v44, v45
;              v47: ui64 = zext v44
;              v48: ui64 = imul v40, v47
;              v49: ui64 = select v46, v40, v48
;              v50: ui64 = const 0xfffffffffffffffc
;              v51: ui64 = iand v26, v50
;              v52: ui64 = const 0xfffffffffffffffc
;              v53: ui64 = iand v49, v52
;              v54: ui64 = const 0xfffffffffffffffc
;              v55: ui64 = iand v39, v54
;              v56: ui64 = iadd v55, v51
;              v57: ui64 = const 0x0
;              v58: ui64 = iadd v51, v57
;              v59: ui1 = icmp ult v58, v53
;              v60: ui32 = load.u32 global0[v56] align 1 if v59
;              v61: ui32 = const 0x0
;              v62: ui32 = select v59, v60, v61
;     @0x10    v63: mask = slot.get s118  ; exec
;              slot.set s4, v21  ; s4
;              slot.set s5, v24  ; s5
;              slot.set s6, v62  ; s6
;              jump block2
;
; block2 pc 0x10:
;              v64: mask = slot.get s118  ; exec
;              v65: ui64 = ballot v64
;              slot.set s121, v65  ; t16.ui64
;              jump block3
;
; block3 pc 0x10:
;              v66: ui64 = slot.get s121  ; t16.ui64
;              v67: ui32 = trunc v66
;              v68: ui64 = const 0x20
;              v69: ui64 = ushr v66, v68
;              v70: ui32 = trunc v69
;              slot.set s106, v67  ; exec_lo
;              slot.set s107, v70  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x10:
;              fault illegal
