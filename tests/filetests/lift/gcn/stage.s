; test lift gfx900 8 geometry in=v0:1:primitive out=pos0:4
s_mov_b32 m0, s2
s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 0)
s_endpgm

; expect:
; block1 at 0x0 insts 3:
;              v7: ui32 = slot.get s2  ; s2
;     @0x4     v8: mask = slot.get s118  ; exec
;              v9: ui32 = const 0x3
;              v10: ui32 = const 0x1
;              v11: ui32 = const 0x0
;              v12: i32 = load.u32 local[v11 + 0x28] align 1
;              v13: i32 = iadd v12, v10
;              v14: i32 = umin v13, v9
;              v15: ui32 = const 0x0
;              store.u32 local[v15 + 0x28], v14 align 1 if v8
;     @0x8     slot.set s108, v7  ; m0
;              jump block2
;
; block2 pc 0x8:
;              v16: mask = slot.get s118  ; exec
;              v17: ui64 = ballot v16
;              slot.set s119, v17  ; t16.ui64
;              jump block3
;
; block3 pc 0x8:
;              v18: ui64 = slot.get s119  ; t16.ui64
;              v19: ui32 = trunc v18
;              v20: ui64 = const 0x20
;              v21: ui64 = ushr v18, v20
;              v22: ui32 = trunc v21
;              slot.set s106, v19  ; exec_lo
;              slot.set s107, v22  ; exec_hi
;              leave.exit -> block4
;
; block4 pc 0x8:
;              fault illegal
