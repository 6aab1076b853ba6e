// Vertex program, Fermi.
//   a[0x80] position   a[0x90] normal   a[0xa0] texture coordinate: generic attributes 0 to 2
//   c0[0x00] model to clip space, four rows   c0[0x40] model to world space, three rows
//   out: a[0x70] clip position   a[0x80] normal in world space   a[0x90] texture coordinate
ld b32 $r0 a[0x80] 0x0 unk39
ld b32 $r1 a[0x84] 0x0 unk39
ld b32 $r2 a[0x88] 0x0 unk39
mul ftz rn f32 $r4 $r0 c0[0x0]
mul ftz rn f32 $r5 $r0 c0[0x10]
mul ftz rn f32 $r6 $r0 c0[0x20]
mul ftz rn f32 $r7 $r0 c0[0x30]
fma ftz rn f32 $r4 $r1 c0[0x4] $r4
fma ftz rn f32 $r5 $r1 c0[0x14] $r5
fma ftz rn f32 $r6 $r1 c0[0x24] $r6
fma ftz rn f32 $r7 $r1 c0[0x34] $r7
fma ftz rn f32 $r4 $r2 c0[0x8] $r4
fma ftz rn f32 $r5 $r2 c0[0x18] $r5
fma ftz rn f32 $r6 $r2 c0[0x28] $r6
fma ftz rn f32 $r7 $r2 c0[0x38] $r7
add ftz rn f32 $r4 $r4 c0[0xc]
add ftz rn f32 $r5 $r5 c0[0x1c]
add ftz rn f32 $r6 $r6 c0[0x2c]
add ftz rn f32 $r7 $r7 c0[0x3c]
st b128 a[0x70] $r4:$r5:$r6:$r7 0x0 unk39
// the normal turns with the model
ld b32 $r0 a[0x90] 0x0 unk39
ld b32 $r1 a[0x94] 0x0 unk39
ld b32 $r2 a[0x98] 0x0 unk39
mul ftz rn f32 $r4 $r0 c0[0x40]
mul ftz rn f32 $r5 $r0 c0[0x50]
mul ftz rn f32 $r6 $r0 c0[0x60]
fma ftz rn f32 $r4 $r1 c0[0x44] $r4
fma ftz rn f32 $r5 $r1 c0[0x54] $r5
fma ftz rn f32 $r6 $r1 c0[0x64] $r6
fma ftz rn f32 $r4 $r2 c0[0x48] $r4
fma ftz rn f32 $r5 $r2 c0[0x58] $r5
fma ftz rn f32 $r6 $r2 c0[0x68] $r6
st b32 a[0x80] $r4 0x0 unk39
st b32 a[0x84] $r5 0x0 unk39
st b32 a[0x88] $r6 0x0 unk39
ld b64 $r0:$r1 a[0xa0] 0x0 unk39
st b64 a[0x90] $r0:$r1 0x0 unk39
exit
