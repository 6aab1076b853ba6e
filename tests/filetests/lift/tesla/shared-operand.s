; test lift g200 8
long add b32 $r1 b32 s[$a1+0x20] $r2
long add b32 $r1 b32 s[$a1++0x4] $r2
cvt s32 $r3 s16 s16 s[0x12]
ld $r4 s16 c3[$a2+0x8]
st b8 s[$a1+0x3] $r2
exit nop

; expect:
; block1 at 0x0 insts 6:
;              v9: i32 = slot.get s24  ; a1
;              v10: i32 = load.u32 shared[v9 + 0x20] align 1
;              v11: i32 = slot.get s2  ; r2
;              v12: i32 = iadd v10, v11
;     @0x8     v13: ui32 = const 0x4
;              v14: i32 = iadd v9, v13
;              v15: ui32 = const 0xffff
;              v16: i32 = iand v14, v15
;              v17: i32 = load.u32 shared[v9] align 1
;              v18: i32 = iadd v17, v11
;     @0x10    v19: ui32 = const 0x0
;              v20: i32 = load.s16 shared[v19 + 0x12] align 1
;              v21: ui32 = const 0x10
;              v22: i32 = ishl v20, v21
;              v23: i32 = sshr v22, v21
;     @0x18    v24: i32 = slot.get s25  ; a2
;              v25: i32 = load.s16 const3[v24 + 0x8] align 1
;     @0x20    store.u8 shared[v16 + 0x3], v11 align 1
;     @0x28    slot.set s1, v18  ; r1
;              slot.set s3, v23  ; r3
;              slot.set s4, v25  ; r4
;              slot.set s24, v16  ; a1
;              leave.exit -> block2
;
; block2 at 0x30 insts 1:
;              fault illegal
