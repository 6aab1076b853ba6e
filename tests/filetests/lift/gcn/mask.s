; test lift gfx900 8
v_cmp_gt_u32 vcc, v1, v2
s_and_saveexec_b64 s[2:3], vcc
v_mov_b32 v3, 1
s_or_b64 exec, exec, s[2:3]
s_endpgm

; expect:
; block1 at 0x0 insts 5:
;              v9: i32 = slot.get s110  ; v1
;              v10: i32 = slot.get s111  ; v2
;              v11: mask = icmp ugt v9, v10
;              v12: mask = slot.get s118  ; exec
;              v13: mask = iand v12, v11
;     @0x4     v14: ui1 = const 0x1
;              v15: mask = iand v13, v12
;     @0x8     v16: ui32 = const 0x1
;              v17: i32 = slot.get s112  ; v3
;              v18: i32 = select v15, v16, v17
;     @0xc     v19: ui1 = const 0x1
;              v20: mask = ior v15, v12
;     @0x10    slot.set s112, v18  ; v3
;              slot.set s118, v20  ; exec
;              slot.set s121, v13  ; vcc.m
;              slot.set s122, v12  ; s2.m
;              jump block2
;
; block2 pc 0x10:
;              v21: mask = slot.get s122  ; s2.m
;              v22: ui64 = ballot v21
;              slot.set s123, v22  ; t16.ui64
;              jump block3
;
; block3 pc 0x10:
;              v23: ui64 = slot.get s123  ; t16.ui64
;              v24: ui32 = trunc v23
;              v25: ui64 = const 0x20
;              v26: ui64 = ushr v23, v25
;              v27: ui32 = trunc v26
;              v28: mask = slot.get s121  ; vcc.m
;              slot.set s2, v24  ; s2
;              slot.set s3, v27  ; s3
;              jump block4
;
; block4 pc 0x10:
;              v29: mask = slot.get s121  ; vcc.m
;              v30: ui64 = ballot v29
;              slot.set s123, v30  ; t16.ui64
;              jump block5
;
; block5 pc 0x10:
;              v31: ui64 = slot.get s123  ; t16.ui64
;              v32: ui32 = trunc v31
;              v33: ui64 = const 0x20
;              v34: ui64 = ushr v31, v33
;              v35: ui32 = trunc v34
;              v36: mask = slot.get s118  ; exec
;              slot.set s104, v32  ; vcc_lo
;              slot.set s105, v35  ; vcc_hi
;              jump block6
;
; block6 pc 0x10:
;              v37: mask = slot.get s118  ; exec
;              v38: ui64 = ballot v37
;              slot.set s123, v38  ; t16.ui64
;              jump block7
;
; block7 pc 0x10:
;              v39: ui64 = slot.get s123  ; t16.ui64
;              v40: ui32 = trunc v39
;              v41: ui64 = const 0x20
;              v42: ui64 = ushr v39, v41
;              v43: ui32 = trunc v42
;              slot.set s106, v40  ; exec_lo
;              slot.set s107, v43  ; exec_hi
;              leave.exit -> block8
;
; block8 pc 0x10:
;              fault illegal
