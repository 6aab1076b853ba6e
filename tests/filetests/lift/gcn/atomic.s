; test lift gfx900 8
global_atomic_add v1, v[2:3], v4, off glc
ds_cmpst_rtn_b32 v1, v2, v3, v4
s_endpgm

; expect:
; block1 at 0x0 insts 1:
;              v9: i32 = slot.get s111  ; v2
;              v10: i32 = slot.get s112  ; v3
;              v11: i64 = zext v9
;              v12: i64 = zext v10
;              v13: ui64 = const 0x20
;              v14: i64 = ishl v12, v13
;              v15: i64 = ior v14, v11
;              v16: i32 = slot.get s113  ; v4
;              v17: mask = slot.get s118  ; exec
;              slot.set s121, v15  ; t0.i64
;              jump block2
;
; block2 pc 0x0:
;              v18: i64 = slot.get s121  ; t0.i64
;              v19: mask = slot.get s118  ; exec
;              v20: i32 = slot.get s113  ; v4
;              v21: i32 = atomic.u32 add global0[v18], v20 align 4 if v19
;              v22: ui32 = const 0x0
;              v23: i32 = select v19, v21, v22
;              slot.set s122, v23  ; t16.i32
;              jump block3
;
; block3 pc 0x0 insts 1:
;              v24: i32 = slot.get s122  ; t16.i32
;              v25: mask = slot.get s118  ; exec
;              v26: i32 = slot.get s110  ; v1
;              v27: i32 = select v25, v24, v26
;     @0x8     v28: i32 = slot.get s111  ; v2
;              v29: i32 = slot.get s112  ; v3
;              v30: i32 = slot.get s113  ; v4
;              v31: ui32 = const 0x0
;              v32: i32 = iadd v28, v31
;              v33: ui32 = const 0xfffffffc
;              v34: i32 = iand v32, v33
;              slot.set s110, v27  ; v1
;              slot.set s123, v34  ; t0.i32
;              jump block4
;
; block4 pc 0x8:
;              v35: i32 = slot.get s123  ; t0.i32
;              v36: mask = slot.get s118  ; exec
;              v37: i32 = slot.get s112  ; v3
;              v38: i32 = slot.get s113  ; v4
;              v39: i32 = atomic.u32 cas shared[v35], v37, v38 align 1 far if v36
;              v40: ui32 = const 0x0
;              v41: i32 = select v36, v39, v40
;              slot.set s122, v41  ; t16.i32
;              jump block5
;
; block5 pc 0x8 insts 1:
;              v42: i32 = slot.get s122  ; t16.i32
;              v43: mask = slot.get s118  ; exec
;              v44: i32 = slot.get s110  ; v1
;              v45: i32 = select v43, v42, v44
;     @0x10    slot.set s110, v45  ; v1
;              jump block6
;
; block6 pc 0x10:
;              v46: mask = slot.get s118  ; exec
;              v47: ui64 = ballot v46
;              slot.set s124, v47  ; t16.ui64
;              jump block7
;
; block7 pc 0x10:
;              v48: ui64 = slot.get s124  ; t16.ui64
;              v49: ui32 = trunc v48
;              v50: ui64 = const 0x20
;              v51: ui64 = ushr v48, v50
;              v52: ui32 = trunc v51
;              slot.set s106, v49  ; exec_lo
;              slot.set s107, v52  ; exec_hi
;              leave.exit -> block8
;
; block8 pc 0x10:
;              fault illegal
