; test lift gfx900 8
s_bcnt1_i32_b64 s2, s[4:5]
s_ff1_i32_b32 s3, s2
s_wqm_b64 s[6:7], s[4:5]
s_endpgm

; expect:
; block1 at 0x0 insts 4:
;              v9: ui32 = slot.get s4  ; s4
;              v10: ui32 = slot.get s5  ; s5
;              v11: ui64 = zext v9
;              v12: ui64 = zext v10
;              v13: ui64 = const 0x20
;              v14: ui64 = ishl v12, v13
;              v15: ui64 = ior v14, v11
;              v16: ui64 = popcnt v15
;              v17: ui32 = trunc v16
;     @0x4     v18: ui32 = ctz v17
;              v19: ui32 = const 0x0
;              v20: ui1 = icmp eq v17, v19
;              v21: ui32 = const 0xffffffff
;              v22: ui32 = select v20, v21, v18
;     @0x8     v23: ui64 = zext v9
;              v24: ui64 = zext v10
;              v25: ui64 = const 0x20
;              v26: ui64 = ishl v24, v25
;              v27: ui64 = ior v26, v23
;              v28: ui64 = const 0x1
;              v29: ui64 = const 0xffffffffffffffff
;              v30: ui64 = ushr v27, v28
;              v31: ui64 = ior v27, v30
;              v32: ui64 = iand v31, v29
;              v33: ui64 = const 0x2
;              v34: ui64 = const 0x1111111111111111
;              v35: ui64 = ushr v32, v33
;              v36: ui64 = ior v32, v35
;              v37: ui64 = iand v36, v34
;              v38: ui64 = const 0xf
;              v39: ui64 = imul v37, v38
;              v40: ui32 = trunc v39
;              v41: ui64 = const 0x20
;              v42: ui64 = ushr v39, v41
;              v43: ui32 = trunc v42
;     @0xc     v44: mask = slot.get s118  ; exec
;              slot.set s2, v17  ; s2
;              slot.set s3, v22  ; s3
;              slot.set s6, v40  ; s6
;              slot.set s7, v43  ; s7
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
