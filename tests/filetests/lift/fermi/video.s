; test lift gf100 16
vadd4 sat u8 $r0 u8 $r1 u8 $r2 $r3
exit

; expect:
; block1 at 0x0 insts 2:
;              v0: i32 = slot.get s1  ; r1
;              v1: i32 = slot.get s2  ; r2
;              v2: i32 = slot.get s3  ; r3
;              v3: ui64 = const 0x8007cfac68800
;              v4: i32 = call.pure @fermi.video(v3, v0, v1, v2)
;     @0x8     slot.set s0, v4  ; r0
;              leave.exit -> block2
;
; block2 at 0xc insts 1:
;              fault illegal
