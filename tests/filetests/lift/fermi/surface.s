; test lift gf100 16
suldb b32 $r0 ca trap img[0x0] 2d $r2:$r3
exit

; expect:
; block1 at 0x0 insts 1:
;              v0: i32 = slot.get s2  ; r2
;              v1: ui32 = const 0x0
;              store.u32 local[v1], v0 align 4 far
;              v2: i32 = slot.get s3  ; r3
;              v3: ui32 = const 0x0
;              store.u32 local[v3 + 0x4], v2 align 4 far
;              v4: ui32 = const 0x0
;              v5: i32 = splat v4
;              v6: ui32 = const 0x0
;              store.u32 local[v6 + 0x1c], v5 align 4 far
;              jump block3
;
; block2 at 0xc insts 1:
;              fault illegal
;
; block3 pc 0x0:
;              call.device @fermi.surface(0x103890) at 0x0
;              jump block4
;
; block4 pc 0x0 insts 1:
;              v7: ui32 = const 0x0
;              v8: i32 = load.u32 local[v7] align 4 far
;     @0x8     slot.set s0, v8  ; r0
;              leave.exit -> block2
