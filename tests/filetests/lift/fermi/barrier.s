; test lift gf100 16
bar popc $p0 $r1 0x1 0x40 $p2
exit

; expect:
; block1 at 0x0 insts 1:
;              v0: ui32 = const 0x1
;              v1: i32 = slot.get s27  ; #counters
;              v2: i32 = slot.get s29  ; warpid
;              v3: ui32 = const 0x100
;              v4: i32 = imul v2, v3
;              v5: i32 = isub v1, v4
;              v6: ui32 = const 0xdf000000
;              v7: i32 = iadd v5, v6
;              v8: ui32 = const 0x4
;              v9: ui32 = ishl v0, v8
;              v10: i32 = iadd v7, v9
;              v11: i32 = slot.get s28  ; #turns
;              v12: ui32 = const 0x1
;              v13: ui32 = ishl v0, v12
;              v14: i32 = ushr v11, v13
;              v15: ui32 = const 0x3
;              v16: i32 = iand v14, v15
;              v17: ui32 = const 0x0
;              v18: ui32 = const 0x1
;              v19: ui32 = const 0x2
;              v20: mask = icmp eq v16, v17
;              v21: mask = icmp eq v16, v19
;              v22: i32 = isub v16, v18
;              v23: i32 = iadd v16, v18
;              v24: i32 = select v20, v19, v22
;              v25: i32 = select v21, v17, v23
;              v26: i32 = ixor v16, v25
;              v27: i32 = ishl v26, v13
;              v28: i32 = ixor v11, v27
;              v29: ui32 = const 0x2
;              v30: i32 = ishl v16, v29
;              v31: i32 = iadd v10, v30
;              v32: ui32 = const 0x2
;              v33: i32 = ishl v24, v32
;              v34: i32 = iadd v10, v33
;              v35: mask = slot.get s18  ; p2
;              slot.set s28, v28  ; #turns
;              slot.set s30, v31  ; #t5.i32
;              slot.set s31, v34  ; #t6.i32
;              jump block4
;
; block2 at 0x8 insts 1:
;              leave.exit -> block3
;
; block3 at 0xc insts 1:
;              fault illegal
;
; block4 pc 0x0:
;              v36: i32 = slot.get s30  ; #t5.i32
;              v37: mask = slot.get s18  ; p2
;              v38: ui32 = const 0x1
;              v39: i32 = atomic.u32 add global0[v36], v38 align 4 if v37
;              jump block5
;
; block5 pc 0x0:
;              barrier 1 arrive wait warps 2 -> block6
;
; block6 pc 0x0:
;              v40: i32 = slot.get s30  ; #t5.i32
;              v41: i32 = slot.get s31  ; #t6.i32
;              v42: i32 = load.u32 global0[v40] align 4
;              v43: ui32 = const 0x0
;              store.u32 global0[v41], v43 align 4
;              v44: mask = icmp ne v42, v43
;              slot.set s1, v42  ; r1
;              slot.set s16, v44  ; p0
;              jump block2
