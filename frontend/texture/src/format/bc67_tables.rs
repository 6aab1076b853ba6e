//! Tables of block compression 6 and 7, as Direct3D 11 and OpenGL's `ARB_texture_compression_bptc` define them.

/// Which of two subsets a texel is in: a bit for each, in order of rows.
#[rustfmt::skip]
pub(super) const TWO: [u16; 64] = [
    0xcccc, 0x8888, 0xeeee, 0xecc8, 0xc880, 0xfeec, 0xfec8, 0xec80,
    0xc800, 0xffec, 0xfe80, 0xe800, 0xffe8, 0xff00, 0xfff0, 0xf000,
    0xf710, 0x008e, 0x7100, 0x08ce, 0x008c, 0x7310, 0x3100, 0x8cce,
    0x088c, 0x3110, 0x6666, 0x366c, 0x17e8, 0x0ff0, 0x718e, 0x399c,
    0xaaaa, 0xf0f0, 0x5a5a, 0x33cc, 0x3c3c, 0x55aa, 0x9696, 0xa55a,
    0x73ce, 0x13c8, 0x324c, 0x3bdc, 0x6996, 0xc33c, 0x9966, 0x0660,
    0x0272, 0x04e4, 0x4e40, 0x2720, 0xc936, 0x936c, 0x39c6, 0x639c,
    0x9336, 0x9cc6, 0x817e, 0xe718, 0xccf0, 0x0fcc, 0x7744, 0xee22,
];

/// The anchor of the second of two subsets.
#[rustfmt::skip]
pub(super) const ANCHOR_OF_TWO: [u8; 64] = [
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
    15, 2, 8, 2, 2, 8, 8, 15, 2, 8, 2, 2, 8, 8, 2, 2,
    15, 15, 6, 8, 2, 8, 15, 15, 2, 8, 2, 2, 2, 15, 15, 6,
    6, 2, 6, 8, 15, 15, 2, 2, 15, 15, 15, 15, 15, 2, 2, 15,
];

/// Which of three subsets a texel is in: two bits for each.
#[rustfmt::skip]
pub(super) const THREE: [u32; 64] = [
    0xaa68_5050, 0x6a5a_5040, 0x5a5a_4200, 0x5450_a0a8, 0xa5a5_0000, 0xa0a0_5050, 0x5555_a0a0, 0x5a5a_5050,
    0xaa55_0000, 0xaa55_5500, 0xaaaa_5500, 0x9090_9090, 0x9494_9494, 0xa4a4_a4a4, 0xa9a5_9450, 0x2a0a_4250,
    0xa594_5040, 0x0a42_5054, 0xa5a5_a500, 0x55a0_a0a0, 0xa8a8_5454, 0x6a6a_4040, 0xa4a4_5000, 0x1a1a_0500,
    0x0050_a4a4, 0xaaa5_9090, 0x1469_6914, 0x6969_1400, 0xa085_85a0, 0xaa82_1414, 0x50a4_a450, 0x6a5a_0200,
    0xa9a5_8000, 0x5090_a0a8, 0xa8a0_9050, 0x2424_2424, 0x00aa_5500, 0x2492_4924, 0x2449_9224, 0x50a5_0a50,
    0x500a_a550, 0xaaaa_4444, 0x6666_0000, 0xa5a0_a5a0, 0x50a0_50a0, 0x6928_6928, 0x44aa_aa44, 0x6666_6600,
    0xaa44_4444, 0x54a8_54a8, 0x9580_9580, 0x9696_9600, 0xa854_54a8, 0x8095_9580, 0xaa14_1414, 0x9696_0000,
    0xaaaa_1414, 0xa050_50a0, 0xa0a5_a5a0, 0x9600_0000, 0x4080_4080, 0xa9a8_a9a8, 0xaaaa_aa44, 0x2a4a_5254,
];

/// The anchors of the second and the third of three subsets, in order of texels.
#[rustfmt::skip]
pub(super) const ANCHORS_OF_THREE: [[u8; 2]; 64] = [
    [3, 15], [3, 8], [8, 15], [3, 15], [8, 15], [3, 15], [3, 15], [8, 15],
    [8, 15], [8, 15], [6, 15], [6, 15], [6, 15], [5, 15], [3, 15], [3, 8],
    [3, 15], [3, 8], [8, 15], [3, 15], [3, 15], [3, 8], [6, 15], [8, 10],
    [3, 5], [8, 15], [6, 8], [6, 10], [8, 15], [5, 15], [10, 15], [8, 15],
    [8, 15], [3, 15], [3, 15], [5, 10], [6, 10], [8, 10], [8, 9], [10, 15],
    [6, 15], [3, 15], [8, 15], [5, 15], [3, 15], [6, 15], [6, 15], [8, 15],
    [3, 15], [3, 15], [5, 15], [5, 15], [5, 15], [8, 15], [5, 15], [10, 15],
    [5, 15], [10, 15], [8, 15], [13, 15], [3, 15], [12, 15], [3, 15], [3, 8],
];

/// The mode's number, bits of the first end point's components, of the others' red, green and blue, whether these are differences from the
/// first, and the pieces of end points in the order of the block's bits.
pub(super) type Mode6 = (u32, u32, [u32; 3], bool, &'static str);

#[rustfmt::skip]
pub(super) const MODES6: [Mode6; 14] = [
    (0x00, 10, [5, 5, 5], true, "gy4 by4 bz4 rw9:0 gw9:0 bw9:0 rx4:0 gz4 gy3:0 gx4:0 bz0 gz3:0 bx4:0 bz1 by3:0 ry4:0 bz2 rz4:0 bz3"),
    (0x01, 7, [6, 6, 6], true, "gy5 gz4 gz5 rw6:0 bz0 bz1 by4 gw6:0 by5 bz2 gy4 bw6:0 bz3 bz5 bz4 rx5:0 gy3:0 gx5:0 gz3:0 bx5:0 by3:0 ry5:0 rz5:0"),
    (0x02, 11, [5, 4, 4], true, "rw9:0 gw9:0 bw9:0 rx4:0 rw10 gy3:0 gx3:0 gw10 bz0 gz3:0 bx3:0 bw10 bz1 by3:0 ry4:0 bz2 rz4:0 bz3"),
    (0x06, 11, [4, 5, 4], true, "rw9:0 gw9:0 bw9:0 rx3:0 rw10 gz4 gy3:0 gx4:0 gw10 gz3:0 bx3:0 bw10 bz1 by3:0 ry3:0 bz0 bz2 rz3:0 gy4 bz3"),
    (0x0a, 11, [4, 4, 5], true, "rw9:0 gw9:0 bw9:0 rx3:0 rw10 by4 gy3:0 gx3:0 gw10 bz0 gz3:0 bx4:0 bw10 by3:0 ry3:0 bz1 bz2 rz3:0 bz4 bz3"),
    (0x0e, 9, [5, 5, 5], true, "rw8:0 by4 gw8:0 gy4 bw8:0 bz4 rx4:0 gz4 gy3:0 gx4:0 bz0 gz3:0 bx4:0 bz1 by3:0 ry4:0 bz2 rz4:0 bz3"),
    (0x12, 8, [6, 5, 5], true, "rw7:0 gz4 by4 gw7:0 bz2 gy4 bw7:0 bz3 bz4 rx5:0 gy3:0 gx4:0 bz0 gz3:0 bx4:0 bz1 by3:0 ry5:0 rz5:0"),
    (0x16, 8, [5, 6, 5], true, "rw7:0 bz0 by4 gw7:0 gy5 gy4 bw7:0 gz5 bz4 rx4:0 gz4 gy3:0 gx5:0 gz3:0 bx4:0 bz1 by3:0 ry4:0 bz2 rz4:0 bz3"),
    (0x1a, 8, [5, 5, 6], true, "rw7:0 bz1 by4 gw7:0 by5 gy4 bw7:0 bz5 bz4 rx4:0 gz4 gy3:0 gx4:0 bz0 gz3:0 bx5:0 by3:0 ry4:0 bz2 rz4:0 bz3"),
    (0x1e, 6, [6, 6, 6], false, "rw5:0 gz4 bz0 bz1 by4 gw5:0 gy5 by5 bz2 gy4 bw5:0 gz5 bz3 bz5 bz4 rx5:0 gy3:0 gx5:0 gz3:0 bx5:0 by3:0 ry5:0 rz5:0"),
    (0x03, 10, [10, 10, 10], false, "rw9:0 gw9:0 bw9:0 rx9:0 gx9:0 bx9:0"),
    (0x07, 11, [9, 9, 9], true, "rw9:0 gw9:0 bw9:0 rx8:0 rw10 gx8:0 gw10 bx8:0 bw10"),
    (0x0b, 12, [8, 8, 8], true, "rw9:0 gw9:0 bw9:0 rx7:0 rw10:11 gx7:0 gw10:11 bx7:0 bw10:11"),
    (0x0f, 16, [4, 4, 4], true, "rw9:0 gw9:0 bw9:0 rx3:0 rw10:15 gx3:0 gw10:15 bx3:0 bw10:15"),
];
