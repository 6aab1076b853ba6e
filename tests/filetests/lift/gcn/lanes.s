; test lift gfx900 8
v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf
v_readlane_b32 s2, v1, s3
ds_swizzle_b32 v3, v1 offset:swizzle(SWAP,1)
s_endpgm

; expect:
; block1 at 0x0 insts 1:
;              v9: i32 = slot.get s111  ; v2
;              v10: i32 = slot.get s121  ; laneid
;              v11: ui1 = const 0x1
;              v12: ui32 = const 0xffffffff
;              v13: i32 = iadd v10, v12
;              v14: i32 = ixor v13, v10
;              v15: ui32 = const 0xfffffff0
;              v16: i32 = iand v14, v15
;              v17: ui32 = const 0x0
;              v18: mask = icmp eq v16, v17
;              v19: mask = slot.get s118  ; exec
;              v20: i32 = bmask v19
;              slot.set s122, v18  ; t13.mask
;              slot.set s123, v20  ; t1.i32
;              slot.set s124, v13  ; t2.i32
;              jump block2
;
; block2 pc 0x0:
;              v21: i32 = slot.get s111  ; v2
;              v22: i32 = slot.get s123  ; t1.i32
;              v23: i32 = slot.get s124  ; t2.i32
;              v24: i32 = shuffle v21, v23
;              v25: i32 = shuffle v22, v23
;              slot.set s125, v24  ; t16.i32
;              slot.set s126, v25  ; t17.i32
;              jump block3
;
; block3 pc 0x0 insts 1:
;              v26: i32 = slot.get s125  ; t16.i32
;              v27: i32 = slot.get s126  ; t17.i32
;              v28: ui32 = const 0x0
;              v29: mask = icmp ne v27, v28
;              v30: mask = slot.get s122  ; t13.mask
;              v31: mask = iand v29, v30
;              v32: ui1 = const 0x1
;              v33: mask = iand v32, v31
;              v34: mask = slot.get s118  ; exec
;              v35: mask = iand v34, v33
;              v36: i32 = slot.get s110  ; v1
;              v37: i32 = select v35, v26, v36
;     @0x8     v38: ui32 = slot.get s3  ; s3
;              slot.set s110, v37  ; v1
;              slot.set s127, v26  ; t11.i32
;              slot.set s128, v33  ; t12.mask
;              jump block4
;
; block4 pc 0x8:
;              v39: i32 = slot.get s110  ; v1
;              v40: ui32 = slot.get s3  ; s3
;              v41: ui32 = shuffle v39, v40
;              slot.set s129, v41  ; t16.ui32
;              jump block5
;
; block5 pc 0x8 insts 1:
;              v42: ui32 = slot.get s129  ; t16.ui32
;     @0x10    v43: i32 = slot.get s110  ; v1
;              v44: i32 = slot.get s121  ; laneid
;              v45: ui32 = const 0x1f
;              v46: i32 = iand v44, v45
;              v47: ui32 = const 0x0
;              v48: ui32 = const 0x1
;              v49: i32 = ior v46, v47
;              v50: i32 = ixor v49, v48
;              v51: ui32 = const 0x20
;              v52: i32 = iand v44, v51
;              v53: i32 = ior v52, v50
;              v54: mask = slot.get s118  ; exec
;              v55: ui32 = const 0x0
;              v56: i32 = select v54, v43, v55
;              slot.set s2, v42  ; s2
;              slot.set s123, v53  ; t1.i32
;              slot.set s130, v56  ; t0.i32
;              jump block6
;
; block6 pc 0x10:
;              v57: i32 = slot.get s130  ; t0.i32
;              v58: i32 = slot.get s123  ; t1.i32
;              v59: i32 = shuffle v57, v58
;              slot.set s125, v59  ; t16.i32
;              jump block7
;
; block7 pc 0x10 insts 1:
;              v60: i32 = slot.get s125  ; t16.i32
;              v61: mask = slot.get s118  ; exec
;              v62: i32 = slot.get s112  ; v3
;              v63: i32 = select v61, v60, v62
;     @0x18    slot.set s112, v63  ; v3
;              jump block8
;
; block8 pc 0x18:
;              v64: mask = slot.get s118  ; exec
;              v65: ui64 = ballot v64
;              slot.set s131, v65  ; t16.ui64
;              jump block9
;
; block9 pc 0x18:
;              v66: ui64 = slot.get s131  ; t16.ui64
;              v67: ui32 = trunc v66
;              v68: ui64 = const 0x20
;              v69: ui64 = ushr v66, v68
;              v70: ui32 = trunc v69
;              slot.set s106, v67  ; exec_lo
;              slot.set s107, v70  ; exec_hi
;              leave.exit -> block10
;
; block10 pc 0x18:
;              fault illegal
