; test lift nv41 0
badd s $r1 $c0 $r2 $r3
exit 0x0

; expect:
; function @kernel spmd lanes 16 {
;
; block0 pc 0x0 insts 1:
;              v0: ui32 = slot.get s2  ; r2
;              v1: ui32 = slot.get s3  ; r3
;              v2: ui32 = call.pure @vp1.badd_s(v0, v1)
;              v3: ui32 = const 0x0
;              v4: ui32 = const 0x0
;              v5: ui32 = const 0x0
;              v6: ui32 = slot.get s143  ; #c0
;              v7: ui32 = const 0x2700
;              v8: ui32 = iand v6, v7
;              v9: ui32 = ior v8, v3
;              slot.set s143, v9  ; #c0
;              slot.set s1, v2  ; r1
;              slot.set s155, v4  ; #exit0
;              slot.set s156, v5  ; #exit_at0
;              leave.exit -> block1
;
; block1 pc 0x8 insts 1:
;              fault illegal
; }
