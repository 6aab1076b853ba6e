; test lift nv41 0
{ bvec $r1 $vc0 sf 0x0 | vmad2 s factor rn fract 0x0 hi # s $v2d s $v4 }
exit 0x0

; expect:
; function @kernel spmd lanes 16 {
;
; block0 pc 0x0 insts 1:
;              v0: i32 = slot.get s163  ; v4
;              v1: i32 = slot.get s161  ; v2
;              v2: i32 = slot.get s162  ; v3
;              v3: ui32 = const 0x18
;              v4: i32 = ishl v1, v3
;              v5: ui32 = const 0x17
;              v6: i32 = sshr v4, v5
;              v7: ui32 = const 0x18
;              v8: i32 = ishl v2, v7
;              v9: ui32 = const 0x17
;              v10: i32 = sshr v8, v9
;              v11: ui32 = slot.get s1  ; r1
;              v12: ui32 = const 0x18
;              v13: ui32 = ishl v11, v12
;              v14: ui32 = const 0x18
;              v15: ui32 = sshr v13, v14
;              v16: ui32 = const 0x1
;              v17: ui32 = ishl v15, v16
;              v18: ui32 = const 0x10
;              v19: ui32 = ishl v11, v18
;              v20: ui32 = const 0x18
;              v21: ui32 = sshr v19, v20
;              v22: ui32 = const 0x1
;              v23: ui32 = ishl v21, v22
;              v24: ui32 = const 0x8
;              v25: ui32 = ishl v11, v24
;              v26: ui32 = const 0x18
;              v27: ui32 = sshr v25, v26
;              v28: ui32 = const 0x1
;              v29: ui32 = ishl v27, v28
;              v30: ui32 = const 0x18
;              v31: ui32 = sshr v11, v30
;              v32: ui32 = const 0x1
;              v33: ui32 = ishl v31, v32
;              v34: mask = slot.get s193  ; #vc0.sign
;              v35: i32 = select v34, v23, v17
;              v36: i32 = select v34, v33, v29
;              v37: ui32 = const 0x18
;              v38: i32 = ishl v0, v37
;              v39: ui32 = const 0x17
;              v40: i32 = sshr v38, v39
;              v41: i32 = imul v6, v35
;              v42: i32 = imul v10, v36
;              v43: i32 = iadd v41, v42
;              v44: ui32 = const 0x18
;              v45: i32 = ishl v0, v44
;              v46: ui32 = const 0x17
;              v47: i32 = sshr v45, v46
;              v48: ui32 = const 0x9
;              v49: i32 = ishl v47, v48
;              v50: i32 = iadd v43, v49
;              v51: ui32 = const 0x100
;              v52: ui32 = slot.get s152  ; uc16
;              v53: ui32 = const 0x1
;              v54: ui32 = iand v52, v53
;              v55: ui32 = isub v51, v54
;              v56: i32 = iadd v50, v55
;              v57: ui32 = const 0xfffffff
;              v58: i32 = iand v56, v57
;              v59: ui32 = const 0x0
;              v60: ui32 = const 0x0
;              slot.set s192, v58  ; va
;              slot.set s155, v59  ; #exit0
;              slot.set s156, v60  ; #exit_at0
;              leave.exit -> block1
;
; block1 pc 0xc insts 1:
;              fault illegal
; }
