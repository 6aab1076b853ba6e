; test lift nv41 0
mov $l0 $c0 0x2
bnop
bnop
bnop
loop:
bra $c0 $c1 sf #loop
bnop
bnop
bnop
exit 0x0

; expect:
; function @kernel spmd lanes 16 {
;
; block0 pc 0x0 insts 1:
;              v0: ui32 = const 0x2
;              v1: ui32 = const 0x0
;              v2: ui32 = slot.get s143  ; #c0
;              v3: ui32 = const 0x73f
;              v4: ui32 = iand v2, v3
;              v5: ui32 = ior v4, v1
;              slot.set s143, v5  ; #c0
;              slot.set s147, v0  ; l0
;              jump block1
;
; block1 pc 0x4 insts 1:
;              jump block2
;
; block2 pc 0x8 insts 1:
;              jump block3
;
; block3 pc 0xc insts 1:
;              jump block4
;
; block4 pc 0x10 insts 1:
;              v6: ui32 = const 0x2000
;              v7: ui32 = slot.get s144  ; #c1
;              v8: ui32 = const 0x1
;              v9: ui32 = iand v7, v8
;              v10: ui32 = const 0x0
;              v11: ui1 = icmp ne v9, v10
;              v12: ui32 = slot.get s143  ; #c0
;              v13: ui32 = const 0x73f
;              v14: ui32 = iand v12, v13
;              v15: ui32 = ior v14, v6
;              slot.set s143, v15  ; #c0
;              branch v11, block6, block5
;
; block5 pc 0x14 insts 1:
;              jump block7
;
; block6 pc 0x14 insts 1:
;              jump block4
;
; block7 pc 0x18 insts 1:
;              jump block8
;
; block8 pc 0x1c insts 1:
;              jump block9
;
; block9 pc 0x20 insts 1:
;              v16: ui32 = const 0x0
;              v17: ui32 = const 0x9
;              slot.set s155, v16  ; #exit0
;              slot.set s156, v17  ; #exit_at0
;              leave.exit -> block10
;
; block10 pc 0x24 insts 1:
;              fault illegal
; }
