; test lift nv41 0
vadd s $v1 $vc0 $v2 $v3
vswz $v4 $v5 $v6 lo $v7
exit 0x0

; expect:
; function @kernel spmd lanes 16 {
;
; block0 pc 0x0 insts 1:
;              v0: i32 = slot.get s161  ; v2
;              v1: i32 = slot.get s162  ; v3
;              v2: ui32 = const 0x18
;              v3: i32 = ishl v0, v2
;              v4: ui32 = const 0x18
;              v5: i32 = sshr v3, v4
;              v6: ui32 = const 0x18
;              v7: i32 = ishl v1, v6
;              v8: ui32 = const 0x18
;              v9: i32 = sshr v7, v8
;              v10: i32 = iadd v5, v9
;              v11: ui32 = const 0xffffff80
;              v12: i32 = smax v10, v11
;              v13: ui32 = const 0x7f
;              v14: i32 = smin v12, v13
;              v15: ui32 = const 0xff
;              v16: i32 = iand v14, v15
;              v17: ui32 = const 0x0
;              v18: mask = icmp slt v10, v17
;              v19: ui32 = const 0x0
;              v20: mask = icmp eq v16, v19
;              slot.set s160, v16  ; v1
;              slot.set s193, v18  ; #vc0.sign
;              slot.set s197, v20  ; #vc0.zero
;              jump block1
;
; block1 pc 0x4 insts 1:
;              v21: i32 = slot.get s166  ; v7
;              v22: ui32 = const 0x4
;              v23: i32 = ushr v21, v22
;              v24: ui32 = const 0xf
;              v25: i32 = iand v21, v24
;              v26: ui32 = const 0x1
;              v27: i32 = iand v23, v26
;              v28: ui32 = const 0x0
;              v29: mask = icmp ne v27, v28
;              v30: i32 = slot.get s164  ; v5
;              v31: i32 = slot.get s165  ; v6
;              v32: i32 = shuffle v30, v25
;              v33: i32 = shuffle v31, v25
;              v34: i32 = select v29, v33, v32
;              v35: ui32 = const 0xff
;              v36: i32 = iand v34, v35
;              v37: ui32 = const 0x0
;              v38: ui32 = const 0x1
;              slot.set s163, v36  ; v4
;              slot.set s155, v37  ; #exit0
;              slot.set s156, v38  ; #exit_at0
;              leave.exit -> block2
;
; block2 pc 0xc insts 1:
;              fault illegal
; }
