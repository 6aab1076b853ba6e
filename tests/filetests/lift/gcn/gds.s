; test lift gfx900 8
s_mov_b32 m0, 0x100040
ds_read_b32 v1, v2 gds
s_endpgm

; expect:
; block1 at 0x0 insts 3:
;              v9: ui32 = const 0x100040
;     @0x8     v10: i32 = slot.get s111  ; v2
;              v11: ui32 = const 0x10
;              v12: ui32 = ushr v9, v11
;              v13: ui32 = const 0xffff
;              v14: ui32 = iand v9, v13
;              v15: ui32 = const 0x0
;              v16: i32 = iadd v10, v15
;              v17: ui32 = const 0x3
;              v18: ui32 = const 0x0
;              v19: ui1 = icmp ugt v14, v17
;              v20: ui32 = isub v14, v17
;              v21: ui32 = select v19, v20, v18
;              v22: mask = icmp ult v16, v21
;              v23: i32 = iadd v12, v16
;              v24: ui32 = const 0xfffc
;              v25: mask = icmp ule v23, v24
;              v26: mask = iand v22, v25
;              v27: i64 = zext v23
;              v28: ui64 = const 0xf13000000
;              v29: i64 = iadd v28, v27
;              v30: mask = slot.get s118  ; exec
;              v31: mask = iand v30, v26
;              v32: i32 = load.u32 global0[v29] align 1 if v31
;              v33: ui32 = const 0x0
;              v34: i32 = select v26, v32, v33
;              v35: i32 = slot.get s110  ; v1
;              v36: i32 = select v30, v34, v35
;     @0x10    slot.set s108, v9  ; m0
;              slot.set s110, v36  ; v1
;              jump block2
;
; block2 pc 0x10:
;              v37: mask = slot.get s118  ; exec
;              v38: ui64 = ballot v37
;              slot.set s121, v38  ; t16.ui64
;              jump block3
;
; block3 pc 0x10:
;              v39: ui64 = slot.get s121  ; t16.ui64
;              v40: ui32 = trunc v39
;              v41: ui64 = const 0x20
;              v42: ui64 = ushr v39, v41
;              v43: ui32 = trunc v42
;              slot.set s106, v40  ; exec_lo
;              slot.set s107, v43  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x10:
;              fault illegal
