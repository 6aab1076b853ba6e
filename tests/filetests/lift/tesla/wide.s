; test lift g80 16
(lg $c0) ld b128 $r4q g14[$r1]
st b64 g14[$r1] $r4d
exit nop

; expect:
; block1 at 0x0 insts 3:
;              v9: mask = slot.get s16  ; c0.z
;              v10: mask = slot.get s17  ; c0.s
;              v11: mask = slot.get s18  ; c0.c
;              v12: mask = slot.get s19  ; c0.o
;              v13: mask = inot v9
;              v14: i32 = slot.get s1  ; r1
;              v15: i32 = load.u32 global14[v14] align 16 if v13
;              v16: i32 = load.u32 global14[v14 + 0x4] align 16 part 4 if v13
;              v17: i32 = load.u32 global14[v14 + 0x8] align 16 part 8 if v13
;              v18: i32 = load.u32 global14[v14 + 0xc] align 16 part 12 if v13
;              v19: i32 = slot.get s4  ; r4
;              v20: i32 = select v13, v15, v19
;              v21: i32 = slot.get s5  ; r5
;              v22: i32 = select v13, v16, v21
;              v23: i32 = slot.get s6  ; r6
;              v24: i32 = select v13, v17, v23
;              v25: i32 = slot.get s7  ; r7
;              v26: i32 = select v13, v18, v25
;     @0x8     store.u32 global14[v14], v20 align 8
;              store.u32 global14[v14 + 0x4], v22 align 8 part 4
;     @0x10    slot.set s4, v20  ; r4
;              slot.set s5, v22  ; r5
;              slot.set s6, v24  ; r6
;              slot.set s7, v26  ; r7
;              leave.exit -> block2
;
; block2 at 0x18 insts 1:
;              fault illegal
