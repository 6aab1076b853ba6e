; test lift nv41 0
add $r1 $c0 $r2 $r3
mov $v1 0x2 $c1 $r4
exit 0x0

; expect:
; function @kernel spmd lanes 16 {
;
; block0 pc 0x0 insts 1:
;              v0: ui32 = slot.get s2  ; r2
;              v1: ui32 = slot.get s3  ; r3
;              v2: ui32 = iadd v0, v1
;              v3: ui32 = const 0x0
;              v4: ui1 = icmp eq v2, v3
;              v5: ui32 = const 0x2
;              v6: ui32 = const 0x0
;              v7: ui32 = select v4, v5, v6
;              v8: ui32 = const 0x10
;              v9: ui32 = ushr v2, v8
;              v10: ui32 = const 0x30
;              v11: ui32 = iand v9, v10
;              v12: ui32 = const 0x11
;              v13: ui32 = ushr v2, v12
;              v14: ui32 = const 0x4
;              v15: ui32 = iand v13, v14
;              v16: ui32 = ior v7, v11
;              v17: ui32 = ior v16, v15
;              v18: ui32 = const 0x1f
;              v19: ui32 = ushr v2, v18
;              v20: ui32 = ixor v2, v0
;              v21: ui32 = const 0x11
;              v22: ui32 = ushr v20, v21
;              v23: ui32 = const 0x8
;              v24: ui32 = iand v22, v23
;              v25: ui32 = ior v19, v24
;              v26: ui32 = ior v17, v25
;              v27: ui32 = slot.get s143  ; #c0
;              v28: ui32 = const 0x2700
;              v29: ui32 = iand v27, v28
;              v30: ui32 = ior v29, v26
;              slot.set s143, v30  ; #c0
;              slot.set s1, v2  ; r1
;              jump block1
;
; block1 pc 0x4 insts 1:
;              v31: ui32 = slot.get s4  ; r4
;              v32: i32 = slot.get s201  ; #lane
;              v33: ui32 = const 0x3
;              v34: i32 = iand v32, v33
;              v35: ui32 = const 0x3
;              v36: i32 = ishl v34, v35
;              v37: i32 = ushr v31, v36
;              v38: ui32 = const 0xff
;              v39: i32 = iand v37, v38
;              v40: ui32 = const 0x2
;              v41: i32 = ushr v32, v40
;              v42: ui32 = const 0x2
;              v43: mask = icmp eq v41, v42
;              v44: i32 = slot.get s160  ; v1
;              v45: i32 = select v43, v39, v44
;              v46: ui32 = const 0x0
;              v47: ui32 = const 0x0
;              v48: ui32 = const 0x1
;              v49: ui32 = slot.get s144  ; #c1
;              v50: ui32 = const 0x2700
;              v51: ui32 = iand v49, v50
;              v52: ui32 = ior v51, v46
;              slot.set s144, v52  ; #c1
;              slot.set s160, v45  ; v1
;              slot.set s155, v47  ; #exit0
;              slot.set s156, v48  ; #exit_at0
;              leave.exit -> block2
;
; block2 pc 0xc insts 1:
;              fault illegal
; }
