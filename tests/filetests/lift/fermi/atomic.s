; test lift gf100 16
red add u32 g[$r2d+0x10] $r4
$p0 cas b32 $r5 g[$r2] $r6 $r7
exit

; expect:
; block1 at 0x0 insts 1:
;              v0: i32 = slot.get s4  ; r4
;              v1: i32 = slot.get s2  ; r2
;              v2: i32 = slot.get s3  ; r3
;              v3: i64 = zext v1
;              v4: i64 = zext v2
;              v5: ui64 = const 0x20
;              v6: i64 = ishl v4, v5
;              v7: i64 = ior v6, v3
;              slot.set s27, v7  ; #t0.i64
;              jump block3
;
; block2 at 0x14 insts 1:
;              fault illegal
;
; block3 pc 0x0:
;              v8: i64 = slot.get s27  ; #t0.i64
;              v9: i32 = slot.get s4  ; r4
;              v10: i32 = atomic.u32 add global0[v8 + 0x10], v9 align 4
;              jump block4
;
; block4 pc 0x0 insts 1:
;     @0x8     v11: mask = slot.get s16  ; p0
;              v12: i32 = slot.get s6  ; r6
;              v13: i32 = slot.get s7  ; r7
;              v14: i32 = slot.get s2  ; r2
;              slot.set s29, v11  ; #t0.mask
;              jump block5
;
; block5 pc 0x8:
;              v15: mask = slot.get s29  ; #t0.mask
;              v16: i32 = slot.get s2  ; r2
;              v17: i32 = slot.get s6  ; r6
;              v18: i32 = slot.get s7  ; r7
;              v19: i32 = atomic.u32 cas global0[v16], v17, v18 align 4 if v15
;              slot.set s28, v19  ; #t3.i32
;              jump block6
;
; block6 pc 0x8 insts 1:
;              v20: mask = slot.get s29  ; #t0.mask
;              v21: i32 = slot.get s28  ; #t3.i32
;              v22: i32 = slot.get s5  ; r5
;              v23: i32 = select v20, v21, v22
;     @0x10    slot.set s5, v23  ; r5
;              leave.exit -> block2
