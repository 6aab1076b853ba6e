; test lift g200 8
mul $r1 high u24 $r2 $r3
sub $r1 (mul u16 $r2l $r3h) $r4
set $r5 l s32 $r1 $r2
shr u32 $r6 $r5 $r4
exit nop

; expect:
; block1 at 0x0 insts 5:
;              v9: i32 = slot.get s2  ; r2
;              v10: ui32 = const 0xffffff
;              v11: i32 = iand v9, v10
;              v12: i32 = slot.get s3  ; r3
;              v13: ui32 = const 0xffffff
;              v14: i32 = iand v12, v13
;              v15: i32 = imul v11, v14
;              v16: i32 = umulhi v11, v14
;              v17: ui32 = const 0x10
;              v18: i32 = ishl v16, v17
;              v19: ui32 = const 0x10
;              v20: i32 = ushr v15, v19
;              v21: i32 = ior v18, v20
;     @0x8     v22: ui32 = const 0xffff
;              v23: i32 = iand v9, v22
;              v24: ui32 = const 0x10
;              v25: i32 = ushr v12, v24
;              v26: i32 = imul v23, v25
;              v27: i32 = slot.get s4  ; r4
;              v28: i32 = isub v26, v27
;     @0x10    v29: mask = icmp slt v28, v9
;              v30: ui32 = const 0xffffffff
;              v31: ui32 = const 0x0
;              v32: i32 = select v29, v30, v31
;     @0x18    v33: ui32 = const 0x0
;              v34: i32 = ushr v32, v27
;              v35: ui32 = const 0x20
;              v36: ui32 = const 0x0
;              v37: mask = icmp ult v27, v35
;              v38: i32 = select v37, v34, v36
;     @0x20    slot.set s1, v28  ; r1
;              slot.set s5, v32  ; r5
;              slot.set s6, v38  ; r6
;              leave.exit -> block2
;
; block2 at 0x28 insts 1:
;              fault illegal
