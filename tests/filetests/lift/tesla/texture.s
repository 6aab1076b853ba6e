; test lift g200 8
texfetch all $r0:$r1:#:# $t1 $s2 $r0:$r1:$r2 0x0 0x0 0x0
exit nop

; expect:
; block1 at 0x0 insts 1:
;              v9: i32 = slot.get s0  ; r0
;              v10: i32 = slot.get s1  ; r1
;              v11: i32 = slot.get s2  ; r2
;              v12: ui32 = const 0x0
;              store.u32 local[v12], v9 align 4 far
;              v13: ui32 = const 0x0
;              store.u32 local[v13 + 0x4], v10 align 4 far
;              v14: ui32 = const 0x0
;              store.u32 local[v14 + 0x8], v11 align 4 far
;              jump block3
;
; block2 at 0x10 insts 1:
;              fault illegal
;
; block3 pc 0x0:
;              call.device @tesla.texture(0x402c065) at 0x0
;              jump block4
;
; block4 pc 0x0 insts 1:
;              v15: ui32 = const 0x0
;              v16: i32 = load.u32 local[v15 + 0x40] align 4 far
;              v17: ui32 = const 0x0
;              v18: i32 = load.u32 local[v17 + 0x44] align 4 far
;     @0x8     slot.set s0, v16  ; r0
;              slot.set s1, v18  ; r1
;              leave.exit -> block2
