// Pixel program of things with holes, Tesla.
//   v[0x00] 1/w   v[0x04] normal / w   v[0x10] texture coordinate / w
//   c0[0x00] direction to the light, ambient light   c0[0x10] half vector, shininess   c0[0x20] tint, strength of the highlight
//   $r0 to $r3 at the end: the colour
interp $r0 v[0x0]
rcp f32 $r4 $r0
interp $r0 v[0x10] $r4
interp $r1 v[0x14] $r4
texauto all $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r1 0x0 0x0 0x0
// holes: nothing is drawn where alpha is below a half
mov b32 $r5 0x3f000000
set $c0 # l f32 $r3 $r5
(lg $c0) discard
interp $r5 v[0x4] $r4
interp $r6 v[0x8] $r4
interp $r7 v[0xc] $r4
mul rn f32 $r8 $r5 $r5
add f32 $r8 (mul $r6 $r6) $r8
add f32 $r8 (mul $r7 $r7) $r8
rsqrt f32 $r8 $r8
mul rn f32 $r5 $r5 $r8
mul rn f32 $r6 $r6 $r8
mul rn f32 $r7 $r7 $r8
// light: ambient + max(normal . light, 0)
mul rn f32 $r9 $r5 c0[0x0]
add f32 $r9 (mul $r6 c0[0x4]) $r9
add f32 $r9 (mul $r7 c0[0x8]) $r9
max f32 $r9 $r9 $r63
add rn f32 $r9 $r9 c0[0xc]
// highlight: strength * max(normal . half vector, 0) ^ shininess
mul rn f32 $r10 $r5 c0[0x10]
add f32 $r10 (mul $r6 c0[0x14]) $r10
add f32 $r10 (mul $r7 c0[0x18]) $r10
max f32 $r10 $r10 $r63
lg2 f32 $r10 $r10
mul rn f32 $r10 $r10 c0[0x1c]
preex2 f32 $r10 $r10
ex2 f32 $r10 $r10
mul rn f32 $r10 $r10 c0[0x2c]
// texel * tint * light + highlight
mul rn f32 $r0 $r0 c0[0x20]
mul rn f32 $r1 $r1 c0[0x24]
mul rn f32 $r2 $r2 c0[0x28]
add f32 $r0 (mul $r0 $r9) $r10
add f32 $r1 (mul $r1 $r9) $r10
add f32 $r2 (mul $r2 $r9) $r10
cvt sat f32 $r0 f32 $r0
cvt sat f32 $r1 f32 $r1
exit cvt sat f32 $r2 f32 $r2
