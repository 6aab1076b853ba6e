// Vertex program, GCN (fiji). It fetches its vertex itself.
//   v0 number of the vertex
//   s[0:3] s[4:7] s[8:11] descriptors of the buffers of positions, normals, texture coordinates   s[12:15] of the constants:
//   0x00 model to clip space, four rows   0x40 model to world space, three rows
//   pos0 clip position   param0 normal in world space   param1 texture coordinate
s_buffer_load_dwordx16 s[20:35], s[12:15], 0x0
s_buffer_load_dwordx8 s[36:43], s[12:15], 0x40
s_buffer_load_dwordx4 s[44:47], s[12:15], 0x60
buffer_load_format_xyz v[4:6], v0, s[0:3], 0 idxen
buffer_load_format_xyz v[8:10], v0, s[4:7], 0 idxen
buffer_load_format_xy v[12:13], v0, s[8:11], 0 idxen
s_waitcnt vmcnt(0) lgkmcnt(0)
v_mul_f32 v16, s20, v4
v_mul_f32 v17, s24, v4
v_mul_f32 v18, s28, v4
v_mul_f32 v19, s32, v4
v_mac_f32 v16, s21, v5
v_mac_f32 v17, s25, v5
v_mac_f32 v18, s29, v5
v_mac_f32 v19, s33, v5
v_mac_f32 v16, s22, v6
v_mac_f32 v17, s26, v6
v_mac_f32 v18, s30, v6
v_mac_f32 v19, s34, v6
v_add_f32 v16, s23, v16
v_add_f32 v17, s27, v17
v_add_f32 v18, s31, v18
v_add_f32 v19, s35, v19
exp pos0 v16, v17, v18, v19 done
// the normal turns with the model
v_mul_f32 v20, s36, v8
v_mul_f32 v21, s40, v8
v_mul_f32 v22, s44, v8
v_mac_f32 v20, s37, v9
v_mac_f32 v21, s41, v9
v_mac_f32 v22, s45, v9
v_mac_f32 v20, s38, v10
v_mac_f32 v21, s42, v10
v_mac_f32 v22, s46, v10
exp param0 v20, v21, v22, off
exp param1 v12, v13, off, off
s_endpgm
