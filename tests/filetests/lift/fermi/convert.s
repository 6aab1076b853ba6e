; test lift gf100 16
cvt rn f32 $r1 s32 $r2
cvt ftz sat rz f16 $r3 neg f32 $r4
cvt rmi s32 $r5 abs f32 $r6
exit

; expect:
; block1 at 0x0 insts 4:
;              v0: i32 = slot.get s2  ; r2
;              v1: f32 = fcvt_from_sint v0
;              v2: f32 = fcanon v1, 0x7fffffff
;              v3: i32 = bitcast v2
;     @0x8     v4: i32 = slot.get s4  ; r4
;              v5: ui32 = const 0x7398
;              v6: i32 = call.pure @fermi.cvt.i32.i32(v5, v4)
;     @0x10    v7: i32 = slot.get s6  ; r6
;              v8: f32 = bitcast v7
;              v9: f32 = fabs v8
;              v10: f32 = ffloor v9
;              v11: i32 = fcvt_to_sint v10
;     @0x14    slot.set s1, v3  ; r1
;              slot.set s3, v6  ; r3
;              slot.set s5, v11  ; r5
;              leave.exit -> block2
;
; block2 at 0x18 insts 1:
;              fault illegal
