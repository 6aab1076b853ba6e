; test lift gfx900 8 geometry in=v0:1:primitive out=pos0:4
s_mov_b32 m0, s2
s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 0)
s_endpgm

; expect:
; block1 at 0x0 insts 3:
;              v7: ui32 = slot.get s2  ; s2
;     @0x4     v8: mask = slot.get s118  ; exec
;              v9: ui32 = const 0x1
;              v10: ui32 = const 0x0
;              v11: i32 = load.u32 local[v10 + 0x28] align 4
;              v12: ui32 = const 0x3
;              v13: mask = icmp ult v11, v12
;              v14: mask = iand v8, v13
;              v15: i32 = iadd v11, v9
;              v16: ui32 = const 0x0
;              store.u32 local[v16 + 0x28], v15 align 4 if v14
;     @0x8     slot.set s108, v7  ; m0
;              jump block2
;
; block2 pc 0x8:
;              v17: mask = slot.get s118  ; exec
;              v18: ui64 = ballot v17
;              slot.set s119, v18  ; t16.ui64
;              jump block3
;
; block3 pc 0x8:
;              v19: ui64 = slot.get s119  ; t16.ui64
;              v20: ui32 = trunc v19
;              v21: ui64 = const 0x20
;              v22: ui64 = ushr v19, v21
;              v23: ui32 = trunc v22
;              slot.set s106, v20  ; exec_lo
;              slot.set s107, v23  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x8:
;              fault illegal
