; test lift gf100 16
ld b64 $r2d ca g[$r4d+0x8]
st s16 s[$r1+0x2] $r5
ld is b32 $r6 c1[$r7+0x4]
exit

; expect:
; block1 at 0x0 insts 4:
;              v0: i32 = slot.get s4  ; r4
;              v1: i32 = slot.get s5  ; r5
;              v2: i64 = zext v0
;              v3: i64 = zext v1
;              v4: ui64 = const 0x20
;              v5: i64 = ishl v3, v4
;              v6: i64 = ior v5, v2
;              v7: i32 = load.u32 global0[v6 + 0x8] align 8
;              v8: i32 = load.u32 global0[v6 + 0xc] align 8 part 4
;     @0x8     v9: i32 = slot.get s1  ; r1
;              store.s16 shared[v9 + 0x2], v1 align 2 far
;     @0x10    v10: i32 = slot.get s7  ; r7
;              v11: ui32 = const 0x10
;              v12: i32 = ushr v10, v11
;              v13: ui32 = const 0xffff
;              v14: i32 = iand v10, v13
;              v15: ui32 = const 0x0
;              v16: mask = icmp eq v12, v15
;              v17: ui32 = const 0x1
;              v18: mask = icmp eq v12, v17
;              v19: ui32 = const 0x2
;              v20: mask = icmp eq v12, v19
;              v21: ui32 = const 0x3
;              v22: mask = icmp eq v12, v21
;              v23: ui32 = const 0x4
;              v24: mask = icmp eq v12, v23
;              v25: ui32 = const 0x5
;              v26: mask = icmp eq v12, v25
;              v27: ui32 = const 0x6
;              v28: mask = icmp eq v12, v27
;              v29: ui32 = const 0x7
;              v30: mask = icmp eq v12, v29
;              v31: ui32 = const 0x8
;              v32: mask = icmp eq v12, v31
;              v33: ui32 = const 0x9
;              v34: mask = icmp eq v12, v33
;              v35: ui32 = const 0xa
;              v36: mask = icmp eq v12, v35
;              v37: ui32 = const 0xb
;              v38: mask = icmp eq v12, v37
;              v39: ui32 = const 0xc
;              v40: mask = icmp eq v12, v39
;              v41: ui32 = const 0xd
;              v42: mask = icmp eq v12, v41
;              v43: ui32 = const 0xe
;              v44: mask = icmp eq v12, v43
;              v45: ui32 = const 0xf
;              v46: mask = icmp eq v12, v45
;              v47: ui32 = const 0x10
;              v48: mask = icmp eq v12, v47
;              v49: ui32 = const 0x0
;              v50: i32 = load.u32 const1[v14 + 0x4] align 1
;              v51: i32 = select v16, v50, v49
;              v52: i32 = load.u32 const2[v14 + 0x4] align 1
;              v53: i32 = select v18, v52, v51
;              v54: i32 = load.u32 const3[v14 + 0x4] align 1
;              v55: i32 = select v20, v54, v53
;              v56: i32 = load.u32 const4[v14 + 0x4] align 1
;              v57: i32 = select v22, v56, v55
;              v58: i32 = load.u32 const5[v14 + 0x4] align 1
;              v59: i32 = select v24, v58, v57
;              v60: i32 = load.u32 const6[v14 + 0x4] align 1
;              v61: i32 = select v26, v60, v59
;              v62: i32 = load.u32 const7[v14 + 0x4] align 1
;              v63: i32 = select v28, v62, v61
;              v64: i32 = load.u32 const8[v14 + 0x4] align 1
;              v65: i32 = select v30, v64, v63
;              v66: i32 = load.u32 const9[v14 + 0x4] align 1
;              v67: i32 = select v32, v66, v65
;              v68: i32 = load.u32 const10[v14 + 0x4] align 1
;              v69: i32 = select v34, v68, v67
;              v70: i32 = load.u32 const11[v14 + 0x4] align 1
;              v71: i32 = select v36, v70, v69
;              v72: i32 = load.u32 const12[v14 + 0x4] align 1
;              v73: i32 = select v38, v72, v71
;              v74: i32 = load.u32 const13[v14 + 0x4] align 1
;              v75: i32 = select v40, v74, v73
;              v76: i32 = load.u32 const14[v14 + 0x4] align 1
;              v77: i32 = select v42, v76, v75
;              v78: i32 = load.u32 const15[v14 + 0x4] align 1
;              v79: i32 = select v44, v78, v77
;              v80: i32 = load.u32 const16[v14 + 0x4] align 1
;              v81: i32 = select v46, v80, v79
;              v82: i32 = load.u32 const17[v14 + 0x4] align 1
;              v83: i32 = select v48, v82, v81
;     @0x18    slot.set s2, v7  ; r2
;              slot.set s3, v8  ; r3
;              slot.set s6, v83  ; r6
;              leave.exit -> block2
;
; block2 at 0x1c insts 1:
;              fault illegal
