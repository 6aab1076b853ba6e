; test lift nv41 0
vmul s rn fract 0x0 hi # s $v1 s $v2
exit 0x0

; expect:
; function @kernel spmd lanes 16 {
;
; block0 pc 0x0 insts 1:
;              v0: i32 = slot.get s161  ; v2
;              v1: i32 = slot.get s160  ; v1
;              v2: ui32 = const 0x18
;              v3: i32 = ishl v1, v2
;              v4: ui32 = const 0x17
;              v5: i32 = sshr v3, v4
;              v6: ui32 = const 0x18
;              v7: i32 = ishl v1, v6
;              v8: ui32 = const 0x17
;              v9: i32 = sshr v7, v8
;              v10: ui32 = const 0x18
;              v11: i32 = ishl v0, v10
;              v12: ui32 = const 0x17
;              v13: i32 = sshr v11, v12
;              v14: i32 = imul v5, v13
;              v15: ui32 = const 0x100
;              v16: ui32 = slot.get s152  ; uc16
;              v17: ui32 = const 0x1
;              v18: ui32 = iand v16, v17
;              v19: ui32 = isub v15, v18
;              v20: i32 = iadd v14, v19
;              v21: ui32 = const 0xfffffff
;              v22: i32 = iand v20, v21
;              v23: ui32 = const 0x0
;              v24: ui32 = const 0x0
;              slot.set s192, v22  ; va
;              slot.set s155, v23  ; #exit0
;              slot.set s156, v24  ; #exit_at0
;              leave.exit -> block1
;
; block1 pc 0x8 insts 1:
;              fault illegal
; }
