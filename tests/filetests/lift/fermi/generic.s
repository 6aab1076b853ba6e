; test lift gf100 16
mov b32 $r1 $swinbase
ld b32 $r2 ca g[$r3]
exit

; expect:
; block1 at 0x0 insts 3:
;              v0: ui32 = const 0xfe000000
;              v1: i32 = splat v0
;     @0x8     v2: i32 = slot.get s3  ; r3
;              v3: ui32 = const 0x0
;              v4: i32 = iadd v2, v3
;              v5: ui32 = const 0xff000000
;              v6: i32 = iand v4, v5
;              v7: ui32 = const 0xffffff
;              v8: i32 = iand v4, v7
;              v9: ui32 = const 0xfe000000
;              v10: mask = icmp eq v6, v9
;              v11: ui32 = const 0xff000000
;              v12: mask = icmp eq v6, v11
;              v13: mask = ior v10, v12
;              v14: mask = inot v13
;              v15: i32 = load.u32 global0[v4] align 4 if v14
;              v16: i32 = load.u32 shared[v8] align 4 far if v10
;              v17: i32 = select v10, v16, v15
;              v18: i32 = load.u32 local[v8] align 4 far if v12
;              v19: i32 = select v12, v18, v17
;     @0x10    slot.set s1, v1  ; r1
;              slot.set s2, v19  ; r2
;              leave.exit -> block2
;
; block2 at 0x14 insts 1:
;              fault illegal
