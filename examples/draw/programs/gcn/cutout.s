// Pixel program of things with holes, GCN (fiji).
//   v0, v1 perspective barycentric coordinates I, J   attr0 normal   attr1 texture coordinate   s16 for M0
//   s[0:7] descriptor of the texture   s[8:11] of the sampler   s[12:15] of the constants:
//   0x00 direction to the light, ambient light   0x10 half vector, shininess   0x20 tint, strength of the highlight
//   mrt0 the colour
s_mov_b64 s[20:21], exec
// helper pixels come to life: sampling needs the whole quad
s_wqm_b64 exec, exec
s_mov_b32 m0, s16
s_buffer_load_dwordx8 s[24:31], s[12:15], 0x0
s_buffer_load_dwordx4 s[32:35], s[12:15], 0x20
v_interp_p1_f32 v4, v0, attr1.x
v_interp_p2_f32 v4, v1, attr1.x
v_interp_p1_f32 v5, v0, attr1.y
v_interp_p2_f32 v5, v1, attr1.y
image_sample v[8:11], v[4:5], s[0:7], s[8:11] dmask:0xf
s_mov_b64 exec, s[20:21]
v_interp_p1_f32 v4, v0, attr0.x
v_interp_p2_f32 v4, v1, attr0.x
v_interp_p1_f32 v5, v0, attr0.y
v_interp_p2_f32 v5, v1, attr0.y
v_interp_p1_f32 v6, v0, attr0.z
v_interp_p2_f32 v6, v1, attr0.z
v_mul_f32 v7, v4, v4
v_mac_f32 v7, v5, v5
v_mac_f32 v7, v6, v6
v_rsq_f32 v7, v7
v_mul_f32 v4, v4, v7
v_mul_f32 v5, v5, v7
v_mul_f32 v6, v6, v7
s_waitcnt vmcnt(0) lgkmcnt(0)
// holes: nothing is drawn where alpha is below a half
v_cmpx_le_f32 vcc, 0.5, v11
// light: ambient + max(normal . light, 0)
v_mul_f32 v12, s24, v4
v_mac_f32 v12, s25, v5
v_mac_f32 v12, s26, v6
v_max_f32 v12, 0, v12
v_add_f32 v12, s27, v12
// highlight: strength * max(normal . half vector, 0) ^ shininess
v_mul_f32 v13, s28, v4
v_mac_f32 v13, s29, v5
v_mac_f32 v13, s30, v6
v_max_f32 v13, 0, v13
v_log_f32 v13, v13
v_mul_f32 v13, s31, v13
v_exp_f32 v13, v13
v_mul_f32 v13, s35, v13
// texel * tint * light + highlight
v_mul_f32 v8, s32, v8
v_mul_f32 v9, s33, v9
v_mul_f32 v10, s34, v10
v_mad_f32 v8, v8, v12, v13 clamp
v_mad_f32 v9, v9, v12, v13 clamp
v_mad_f32 v10, v10, v12, v13 clamp
exp mrt0 v8, v9, v10, v11 done vm
s_endpgm
