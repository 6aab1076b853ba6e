; test lift gf100 16
tex lauto all dfp #:$r0:#:# t2d $t0 $s0 $r2:$r3 ()
exit

; expect:
; block1 at 0x0 insts 1:
;              v0: i32 = slot.get s2  ; r2
;              v1: i32 = slot.get s3  ; r3
;              v2: ui32 = const 0x0
;              store.u32 local[v2], v0 align 4 far
;              v3: ui32 = const 0x0
;              store.u32 local[v3 + 0x4], v1 align 4 far
;              jump block3
;
; block2 at 0xc insts 1:
;              fault illegal
;
; block3 pc 0x0:
;              call.device @fermi.texture(0x2) at 0x0
;              jump block4
;
; block4 pc 0x0 insts 1:
;              v4: ui32 = const 0x0
;              v5: i32 = load.u32 local[v4 + 0x44] align 4 far
;     @0x8     slot.set s0, v5  ; r0
;              leave.exit -> block2
