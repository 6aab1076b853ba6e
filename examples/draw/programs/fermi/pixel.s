// Pixel program, Fermi.
//   a[0x7c] 1/w   a[0x80] normal / w   a[0x90] texture coordinate / w
//   c0[0x00] direction to the light, ambient light   c0[0x10] half vector, shininess   c0[0x20] tint, strength of the highlight
//   $r0 to $r3 at the end: the colour
interp pass f32 $r0 a[0x7c] 0x0 0x0
rcp f32 $r4 $r0
interp mul f32 $r0 a[0x90] $r4 0x0
interp mul f32 $r1 a[0x94] $r4 0x0
tex p lauto all dfp $r0:$r1:$r2:$r3 t2d $t0 $s0 $r0:$r1 ()
interp mul f32 $r5 a[0x80] $r4 0x0
interp mul f32 $r6 a[0x84] $r4 0x0
interp mul f32 $r7 a[0x88] $r4 0x0
mul ftz rn f32 $r8 $r5 $r5
fma ftz rn f32 $r8 $r6 $r6 $r8
fma ftz rn f32 $r8 $r7 $r7 $r8
rsqrt f32 $r8 $r8
mul ftz rn f32 $r5 $r5 $r8
mul ftz rn f32 $r6 $r6 $r8
mul ftz rn f32 $r7 $r7 $r8
// light: ambient + max(normal . light, 0)
mul ftz rn f32 $r9 $r5 c0[0x0]
fma ftz rn f32 $r9 $r6 c0[0x4] $r9
fma ftz rn f32 $r9 $r7 c0[0x8] $r9
max ftz f32 $r9 $r9 0x0
add ftz rn f32 $r9 $r9 c0[0xc]
// highlight: strength * max(normal . half vector, 0) ^ shininess
mul ftz rn f32 $r10 $r5 c0[0x10]
fma ftz rn f32 $r10 $r6 c0[0x14] $r10
fma ftz rn f32 $r10 $r7 c0[0x18] $r10
max ftz f32 $r10 $r10 0x0
lg2 f32 $r10 $r10
mul ftz rn f32 $r10 $r10 c0[0x1c]
preex2 f32 $r10 $r10
ex2 f32 $r10 $r10
mul ftz rn f32 $r10 $r10 c0[0x2c]
// texel * tint * light + highlight
mul ftz rn f32 $r0 $r0 c0[0x20]
mul ftz rn f32 $r1 $r1 c0[0x24]
mul ftz rn f32 $r2 $r2 c0[0x28]
fma ftz sat rn f32 $r0 $r0 $r9 $r10
fma ftz sat rn f32 $r1 $r1 $r9 $r10
fma ftz sat rn f32 $r2 $r2 $r9 $r10
exit
