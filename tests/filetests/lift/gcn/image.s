; test lift gfx900 8
image_sample v[0:3], v[4:5], s[8:15], s[16:19] dmask:0xf
s_endpgm

; expect:
; block1 at 0x0 insts 1:
;              v9: i32 = slot.get s113  ; v4
;              v10: i32 = slot.get s114  ; v5
;              v11: i32 = slot.get s115  ; v6
;              jump block2
;
; block2 pc 0x0:
;              v12: i32 = slot.get s113  ; v4
;              v13: i32 = slot.get s114  ; v5
;              v14: i32 = slot.get s115  ; v6
;              v15: i32 = quad_lane v12, 0x0
;              v16: i32 = quad_lane v13, 0x0
;              v17: i32 = quad_lane v14, 0x0
;              v18: i32 = quad_lane v12, 0x1
;              v19: i32 = quad_lane v13, 0x1
;              v20: i32 = quad_lane v14, 0x1
;              v21: i32 = quad_lane v12, 0x2
;              v22: i32 = quad_lane v13, 0x2
;              v23: i32 = quad_lane v14, 0x2
;              slot.set s121, v15  ; t16.i32
;              slot.set s122, v16  ; t17.i32
;              slot.set s123, v17  ; t18.i32
;              slot.set s124, v18  ; t19.i32
;              slot.set s125, v19  ; t20.i32
;              slot.set s126, v20  ; t21.i32
;              slot.set s127, v21  ; t22.i32
;              slot.set s128, v22  ; t23.i32
;              slot.set s129, v23  ; t24.i32
;              jump block3
;
; block3 pc 0x0:
;              v24: i32 = slot.get s121  ; t16.i32
;              v25: i32 = slot.get s122  ; t17.i32
;              v26: i32 = slot.get s123  ; t18.i32
;              v27: i32 = slot.get s124  ; t19.i32
;              v28: i32 = slot.get s125  ; t20.i32
;              v29: i32 = slot.get s126  ; t21.i32
;              v30: i32 = slot.get s127  ; t22.i32
;              v31: i32 = slot.get s128  ; t23.i32
;              v32: i32 = slot.get s129  ; t24.i32
;              v33: ui32 = const 0x0
;              v34: ui32 = slot.get s8  ; s8
;              v35: ui32 = slot.get s9  ; s9
;              v36: ui32 = slot.get s10  ; s10
;              v37: ui32 = slot.get s11  ; s11
;              v38: ui32 = slot.get s12  ; s12
;              v39: ui32 = slot.get s13  ; s13
;              v40: ui32 = slot.get s14  ; s14
;              v41: ui32 = slot.get s15  ; s15
;              v42: ui32 = const 0x0
;              v43: ui32 = slot.get s16  ; s16
;              v44: ui32 = slot.get s17  ; s17
;              v45: ui32 = slot.get s18  ; s18
;              v46: ui32 = slot.get s19  ; s19
;              v47: i32 = slot.get s113  ; v4
;              v48: i32 = slot.get s114  ; v5
;              v49: i32 = slot.get s115  ; v6
;              v50: mask = slot.get s118  ; exec
;              v51: ui32 = const 0x0
;              store.u32 local[v51 + 0x60], v24 align 4 if v50
;              v52: ui32 = const 0x0
;              store.u32 local[v52 + 0x64], v25 align 4 if v50
;              v53: ui32 = const 0x0
;              store.u32 local[v53 + 0x68], v26 align 4 if v50
;              v54: ui32 = const 0x0
;              store.u32 local[v54 + 0x6c], v27 align 4 if v50
;              v55: ui32 = const 0x0
;              store.u32 local[v55 + 0x70], v28 align 4 if v50
;              v56: ui32 = const 0x0
;              store.u32 local[v56 + 0x74], v29 align 4 if v50
;              v57: ui32 = const 0x0
;              store.u32 local[v57 + 0x78], v30 align 4 if v50
;              v58: ui32 = const 0x0
;              store.u32 local[v58 + 0x7c], v31 align 4 if v50
;              v59: ui32 = const 0x0
;              store.u32 local[v59 + 0x80], v32 align 4 if v50
;              v60: ui32 = const 0x0
;              store.u32 local[v60], v34 align 4 if v50
;              v61: ui32 = const 0x0
;              store.u32 local[v61 + 0x4], v35 align 4 if v50
;              v62: ui32 = const 0x0
;              store.u32 local[v62 + 0x8], v36 align 4 if v50
;              v63: ui32 = const 0x0
;              store.u32 local[v63 + 0xc], v37 align 4 if v50
;              v64: ui32 = const 0x0
;              store.u32 local[v64 + 0x10], v38 align 4 if v50
;              v65: ui32 = const 0x0
;              store.u32 local[v65 + 0x14], v39 align 4 if v50
;              v66: ui32 = const 0x0
;              store.u32 local[v66 + 0x18], v40 align 4 if v50
;              v67: ui32 = const 0x0
;              store.u32 local[v67 + 0x1c], v41 align 4 if v50
;              v68: ui32 = const 0x0
;              store.u32 local[v68 + 0x20], v43 align 4 if v50
;              v69: ui32 = const 0x0
;              store.u32 local[v69 + 0x24], v44 align 4 if v50
;              v70: ui32 = const 0x0
;              store.u32 local[v70 + 0x28], v45 align 4 if v50
;              v71: ui32 = const 0x0
;              store.u32 local[v71 + 0x2c], v46 align 4 if v50
;              v72: ui32 = const 0x0
;              store.u32 local[v72 + 0x30], v47 align 4 if v50
;              v73: ui32 = const 0x0
;              store.u32 local[v73 + 0x34], v48 align 4 if v50
;              v74: ui32 = const 0x0
;              store.u32 local[v74 + 0x38], v49 align 4 if v50
;              jump block4
;
; block4 pc 0x0:
;              v75: mask = slot.get s118  ; exec
;              call.device @gcn.image(0x820018f0800f00) at 0x0 if v75
;              jump block5
;
; block5 pc 0x0 insts 1:
;              v76: ui32 = const 0x0
;              v77: i32 = load.u32 local[v76] align 4
;              v78: ui32 = const 0x0
;              v79: i32 = load.u32 local[v78 + 0x4] align 4
;              v80: ui32 = const 0x0
;              v81: i32 = load.u32 local[v80 + 0x8] align 4
;              v82: ui32 = const 0x0
;              v83: i32 = load.u32 local[v82 + 0xc] align 4
;              v84: mask = slot.get s118  ; exec
;              v85: i32 = slot.get s109  ; v0
;              v86: i32 = select v84, v77, v85
;              v87: i32 = slot.get s110  ; v1
;              v88: i32 = select v84, v79, v87
;              v89: i32 = slot.get s111  ; v2
;              v90: i32 = select v84, v81, v89
;              v91: i32 = slot.get s112  ; v3
;              v92: i32 = select v84, v83, v91
;     @0x8     slot.set s109, v86  ; v0
;              slot.set s110, v88  ; v1
;              slot.set s111, v90  ; v2
;              slot.set s112, v92  ; v3
;              jump block6
;
; block6 pc 0x8:
;              v93: mask = slot.get s118  ; exec
;              v94: ui64 = ballot v93
;              slot.set s130, v94  ; t16.ui64
;              jump block7
;
; block7 pc 0x8:
;              v95: ui64 = slot.get s130  ; t16.ui64
;              v96: ui32 = trunc v95
;              v97: ui64 = const 0x20
;              v98: ui64 = ushr v95, v97
;              v99: ui32 = trunc v98
;              slot.set s106, v96  ; exec_lo
;              slot.set s107, v99  ; exec_hi
;              leave.exit -> block8
;
; block8 pc 0x8:
;              fault illegal
