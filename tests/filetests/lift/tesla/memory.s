; test lift g200 8
mov b16 $r1h $r2l
ld u8 $r3 l[0x4]
st b32 l[0x8] $r3
ld $r4 b32 c1[0x10]
exit nop

; expect:
; block1 at 0x0 insts 5:
;              v9: i32 = slot.get s2  ; r2
;              v10: ui32 = const 0xffff
;              v11: i32 = iand v9, v10
;              v12: ui32 = const 0xffff
;              v13: i32 = iand v11, v12
;              v14: i32 = slot.get s1  ; r1
;              v15: ui32 = const 0xffff
;              v16: i32 = iand v14, v15
;              v17: ui32 = const 0x10
;              v18: i32 = ishl v13, v17
;              v19: i32 = ior v16, v18
;     @0x8     v20: ui32 = const 0x0
;              v21: i32 = load.u8 local[v20 + 0x4] align 1
;     @0x10    v22: ui32 = const 0x0
;              store.u32 local[v22 + 0x8], v21 align 1
;     @0x18    v23: ui32 = const 0x0
;              v24: i32 = load.u32 const1[v23 + 0x10] align 1
;     @0x20    slot.set s1, v19  ; r1
;              slot.set s3, v21  ; r3
;              slot.set s4, v24  ; r4
;              leave.exit -> block2
;
; block2 at 0x28 insts 1:
;              fault illegal
