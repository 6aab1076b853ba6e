; test lift nv41 0
add $a1 $c0 $a2 $a3
ldavh $v1 $c0 $a4 0x10
exit 0x0

; expect:
; function @kernel spmd lanes 16 {
;
; block0 pc 0x0 insts 1:
;              v0: ui32 = slot.get s33  ; a2
;              v1: ui32 = slot.get s34  ; a3
;              v2: ui32 = iadd v0, v1
;              v3: ui32 = const 0x1f
;              v4: ui32 = ushr v2, v3
;              v5: ui32 = const 0x8
;              v6: ui32 = ishl v4, v5
;              v7: ui32 = const 0x0
;              v8: ui1 = icmp eq v2, v7
;              v9: ui32 = const 0x200
;              v10: ui32 = const 0x0
;              v11: ui32 = select v8, v9, v10
;              v12: ui32 = ior v6, v11
;              v13: ui32 = slot.get s143  ; #c0
;              v14: ui32 = const 0x243f
;              v15: ui32 = iand v13, v14
;              v16: ui32 = ior v15, v12
;              slot.set s143, v16  ; #c0
;              slot.set s32, v2  ; a1
;              jump block1
;
; block1 pc 0x4 insts 1:
;              v17: ui32 = slot.get s35  ; a4
;              v18: ui32 = const 0x1fff
;              v19: ui32 = iand v17, v18
;              v20: ui32 = const 0x1e
;              v21: ui32 = ushr v17, v20
;              v22: ui32 = const 0x1ff0
;              v23: ui32 = iand v19, v22
;              v24: ui32 = const 0x1
;              v25: ui32 = umax v21, v24
;              v26: ui32 = const 0x4
;              v27: ui32 = iadd v25, v26
;              v28: ui32 = ushr v23, v27
;              v29: ui32 = const 0x0
;              v30: ui1 = icmp eq v21, v29
;              v31: ui32 = const 0x7
;              v32: ui32 = const 0xf
;              v33: ui32 = select v30, v31, v32
;              v34: ui32 = iand v28, v33
;              v35: ui32 = iadd v34, v23
;              v36: i32 = slot.get s201  ; #lane
;              v37: i32 = iadd v23, v36
;              v38: i32 = load.u8 shared[v37] align 1
;              v39: i32 = iadd v35, v36
;              v40: ui32 = const 0xf
;              v41: i32 = iand v39, v40
;              v42: i32 = shuffle v38, v41
;              v43: ui32 = const 0x10
;              v44: ui32 = const 0xffff0000
;              v45: ui32 = iand v17, v44
;              v46: ui32 = iadd v17, v43
;              v47: ui32 = const 0xffff
;              v48: ui32 = iand v46, v47
;              v49: ui32 = ior v45, v48
;              v50: ui32 = const 0xffff
;              v51: ui32 = iand v49, v50
;              v52: ui32 = const 0x10
;              v53: ui32 = ushr v49, v52
;              v54: ui32 = const 0x3fff
;              v55: ui32 = iand v53, v54
;              v56: ui1 = icmp uge v51, v55
;              v57: ui32 = const 0x400
;              v58: ui32 = const 0x0
;              v59: ui32 = select v56, v57, v58
;              v60: ui32 = const 0x0
;              v61: ui32 = const 0x1
;              v62: ui32 = slot.get s143  ; #c0
;              v63: ui32 = const 0x233f
;              v64: ui32 = iand v62, v63
;              v65: ui32 = ior v64, v59
;              slot.set s143, v65  ; #c0
;              slot.set s160, v42  ; v1
;              slot.set s35, v49  ; a4
;              slot.set s155, v60  ; #exit0
;              slot.set s156, v61  ; #exit_at0
;              leave.exit -> block2
;
; block2 pc 0xc insts 1:
;              fault illegal
; }
