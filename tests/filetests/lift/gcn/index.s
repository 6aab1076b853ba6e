; test lift gfx600 8
s_mov_b32 m0, s3
v_movrels_b32 v1, v2
s_endpgm

; expect:
; block1 at 0x0 insts 3:
;              v9: ui32 = slot.get s3  ; s3
;     @0x4     v10: i32 = slot.get s109  ; v0
;              v11: ui32 = const 0x0
;              v12: ui1 = icmp eq v9, v11
;              v13: i32 = slot.get s111  ; v2
;              v14: i32 = select v12, v13, v10
;              v15: ui32 = const 0x1
;              v16: ui1 = icmp eq v9, v15
;              v17: i32 = slot.get s112  ; v3
;              v18: i32 = select v16, v17, v14
;              v19: ui32 = const 0x2
;              v20: ui1 = icmp eq v9, v19
;              v21: i32 = slot.get s113  ; v4
;              v22: i32 = select v20, v21, v18
;              v23: ui32 = const 0x3
;              v24: ui1 = icmp eq v9, v23
;              v25: i32 = slot.get s114  ; v5
;              v26: i32 = select v24, v25, v22
;              v27: ui32 = const 0x4
;              v28: ui1 = icmp eq v9, v27
;              v29: i32 = slot.get s115  ; v6
;              v30: i32 = select v28, v29, v26
;              v31: ui32 = const 0x5
;              v32: ui1 = icmp eq v9, v31
;              v33: i32 = slot.get s116  ; v7
;              v34: i32 = select v32, v33, v30
;              v35: mask = slot.get s118  ; exec
;              v36: i32 = slot.get s110  ; v1
;              v37: i32 = select v35, v34, v36
;     @0x8     slot.set s108, v9  ; m0
;              slot.set s110, v37  ; v1
;              jump block2
;
; block2 pc 0x8:
;              v38: mask = slot.get s118  ; exec
;              v39: ui64 = ballot v38
;              slot.set s121, v39  ; t16.ui64
;              jump block3
;
; block3 pc 0x8:
;              v40: ui64 = slot.get s121  ; t16.ui64
;              v41: ui32 = trunc v40
;              v42: ui64 = const 0x20
;              v43: ui64 = ushr v40, v42
;              v44: ui32 = trunc v43
;              slot.set s106, v41  ; exec_lo
;              slot.set s107, v44  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x8:
;              fault illegal
