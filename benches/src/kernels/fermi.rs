//! Writes the sources of those Fermi kernels whose loops are unrolled (sgemm, AES, n-body), as text for the assembler.
//!
//! The code is as nvcc would compile the same work for sm_20, with 32-bit addresses. Parameters start at c0[0x20]; the block size is at
//! c0[0x8], the grid size at c0[0x14].

use std::fmt::Write;

const SGEMM_HEAD: &str = "\
// C = A B, matrices of n by n floats, n a multiple of 16: a block of 16 by 16 threads computes a tile.
//   c0[0x20] A    c0[0x24] B    c0[0x28] C    c0[0x2c] n
// Tiles in shared memory: A at s[0x0], B at s[0x400].

// $r1 = tid.x, $r2 = tid.y, $r3 = column, $r4 = row
mov b32 $r1 $tidx
mov b32 $r2 $tidy
mov b32 $r3 $ctaidx
mov b32 $r4 $ctaidy
add b32 $r3 (shl $r3 0x4) $r1
add b32 $r4 (shl $r4 0x4) $r2
// $r5 = address in A, $r6 in B, $r7 = 16 rows of B, $r9 = end of A's row
mov b32 $r7 c0[0x2c]
add $r5 (mul u32 $r4 u32 $r7) $r1
add b32 $r5 (shl $r5 0x2) c0[0x20]
add $r6 (mul u32 $r2 u32 $r7) $r3
add b32 $r6 (shl $r6 0x2) c0[0x24]
add b32 $r9 (shl $r7 0x2) $r5
shl b32 $r7 $r7 wrap 0x6
// $r10 = A's row in the tile, $r11 = B's column, $r12 = this thread's place
shl b32 $r10 $r2 wrap 0x6
shl b32 $r11 $r1 wrap 0x2
add b32 $r12 $r10 $r11
mov b32 $r8 0x0
loop:
ld b32 $r13 ca g[$r5]
ld b32 $r14 ca g[$r6]
st b32 s[$r12] $r13
st b32 s[$r12+0x400] $r14
bar popc 0x1 0x0 0x0 0x0 0x1
";

const SGEMM_TAIL: &str = "\
bar popc 0x1 0x0 0x0 0x0 0x1
add b32 $r5 $r5 0x40
add b32 $r6 $r6 $r7
set $p0 0x1 lt u32 $r5 $r9
$p0 bra #loop
mov b32 $r5 c0[0x2c]
add $r5 (mul u32 $r4 u32 $r5) $r3
add b32 $r5 (shl $r5 0x2) c0[0x28]
st b32 wb g[$r5] $r8
exit
";

/// The row of A is loaded four at a time.
pub(super) fn sgemm() -> String {
    let mut text = SGEMM_HEAD.to_string();
    for k in 0..16 {
        if k % 4 == 0 {
            let _ = writeln!(text, "ld b128 $r16q s[$r10+{:#x}]", k * 4);
        }
        let _ = writeln!(text, "ld b32 $r{} s[$r11+{:#x}]", 20 + k % 4, 0x400 + k * 64);
        let _ = writeln!(text, "fma rn f32 $r8 $r{} $r{} $r8", 16 + k % 4, 20 + k % 4);
    }
    text.push_str(SGEMM_TAIL);
    text
}

const AES_HEAD: &str = "\
// AES-128 of blocks of 16 bytes.
//   c0[0x20] plain    c0[0x24] cipher
//   c2[]  four tables of 256 words, then the S-box, a word an entry
//   c3[]  round keys, 11 by 4 words

mov b32 $r0 $ctaidx
mov b32 $r1 $tidx
add $r0 (mul u32 $r0 u32 c0[0x8]) $r1
shl b32 $r0 $r0 wrap 0x4
add b32 $r1 $r0 c0[0x20]
ld b128 $r4q ca g[$r1]
xor b32 $r4 $r4 c3[0x0]
xor b32 $r5 $r5 c3[0x4]
xor b32 $r6 $r6 c3[0x8]
xor b32 $r7 $r7 c3[0xc]
mov b32 $r1 0x10
loop:
";

/// A round: `from` the registers of the state to those of the new one. $r2, $r3, $r16 to $r19 are for use; the keys are in $r20 to
/// $r23, those of the last round in c3[].
fn aes_round(text: &mut String, from: [u32; 4], to: [u32; 4], last: bool) {
    for column in 0..4 {
        for row in 0..4 {
            let (source, index) = (from[(column + row) % 4], 2 + row % 2);
            let _ = match row {
                0 => writeln!(text, "and b32 $r{index} $r{source} 0xff"),
                3 => writeln!(text, "shr u32 $r{index} $r{source} wrap 0x18"),
                _ => writeln!(text, "ext u32 $r{index} $r{source} {:#x}", 0x800 + row * 8),
            };
            let offset = if last { 0x1000 } else { row * 0x400 };
            let register = 16 + row;
            let _ = writeln!(text, "shl b32 $r{index} $r{index} wrap 0x2");
            let _ = writeln!(text, "ld b32 $r{register} c2[$r{index}+{offset:#x}]");
            if last && row != 0 {
                let _ = writeln!(text, "shl b32 $r{register} $r{register} wrap {:#x}", row * 8);
            }
        }
        let to = to[column];
        text.push_str("xor b32 $r16 $r16 $r17\nxor b32 $r18 $r18 $r19\nxor b32 $r16 $r16 $r18\n");
        let _ = if last {
            writeln!(text, "xor b32 $r{to} $r16 c3[{:#x}]", 160 + column * 4)
        } else {
            writeln!(text, "xor b32 $r{to} $r16 $r{}", 20 + column)
        };
    }
}

/// Rounds 1 to 9 are a loop.
pub(super) fn aes() -> String {
    let mut text = AES_HEAD.to_string();
    text.push_str("ld b128 $r20q c3[$r1]\n");
    aes_round(&mut text, [4, 5, 6, 7], [8, 9, 10, 11], false);
    text.push_str("add b32 $r1 $r1 0x10\n");
    for at in 0..4 {
        let _ = writeln!(text, "mov b32 $r{} $r{}", 4 + at, 8 + at);
    }
    text.push_str("set $p0 0x1 lt u32 $r1 0xa0\n$p0 bra #loop\n");
    aes_round(&mut text, [4, 5, 6, 7], [8, 9, 10, 11], true);
    text.push_str("add b32 $r0 $r0 c0[0x24]\nst b128 wb g[$r0] $r8q\nexit\n");
    text
}

const NBODY_HEAD: &str = "\
// Accelerations of n bodies; n is a multiple of the block's 256 threads.
//   c0[0x20] bodies (x y z mass)    c0[0x24] accelerations    c0[0x28] n    c0[0x2c] softening squared
// A tile of 256 bodies is at s[0x0].

mov b32 $r0 $ctaidx
mov b32 $r1 $tidx
add $r0 (mul u32 $r0 u32 c0[0x8]) $r1
shl b32 $r0 $r0 wrap 0x4
// $r4 to $r6 = position, $r8 to $r10 = acceleration
add b32 $r2 $r0 c0[0x20]
ld b128 $r4q ca g[$r2]
mov b32 $r8 0x0
mov b32 $r9 0x0
mov b32 $r10 0x0
mov b32 $r11 0x0
mov b32 $r12 c0[0x2c]
// $r1 = address of this thread's body of the tile, $r2 = end, $r14 = its place in shared memory
shl b32 $r14 $r1 wrap 0x4
add b32 $r1 $r14 c0[0x20]
mov b32 $r2 c0[0x28]
add b32 $r2 (shl $r2 0x4) $r1
tile:
ld b128 $r16q ca g[$r1]
st b128 s[$r14] $r16q
bar popc 0x1 0x0 0x0 0x0 0x1
mov b32 $r3 0x0
body:
";

const NBODY_TAIL: &str = "\
add b32 $r3 $r3 0x40
set $p0 0x1 lt u32 $r3 0x1000
$p0 bra #body
bar popc 0x1 0x0 0x0 0x0 0x1
add b32 $r1 $r1 0x1000
set $p0 0x1 lt u32 $r1 $r2
$p0 bra #tile
add b32 $r0 $r0 c0[0x24]
st b128 wb g[$r0] $r8q
exit
";

/// Four bodies at a time, each loaded at once.
pub(super) fn nbody() -> String {
    let mut text = NBODY_HEAD.to_string();
    for body in 0..4 {
        let _ = writeln!(text, "ld b128 $r16q s[$r3+{:#x}]", body * 16);
        for axis in 0..3 {
            let _ = writeln!(text, "add ftz rn f32 $r{0} $r{0} neg $r{1}", 16 + axis, 4 + axis);
        }
        for axis in 0..3 {
            let sum = if axis == 0 { 12 } else { 20 };
            let _ = writeln!(text, "fma ftz rn f32 $r20 $r{0} $r{0} $r{sum}", 16 + axis);
        }
        text.push_str("rsqrt f32 $r20 $r20\n");
        text.push_str("mul ftz rn f32 $r21 $r20 $r20\n");
        text.push_str("mul ftz rn f32 $r20 $r21 $r20\n");
        text.push_str("mul ftz rn f32 $r20 $r19 $r20\n");
        for axis in 0..3 {
            let _ = writeln!(text, "fma ftz rn f32 $r{0} $r{1} $r20 $r{0}", 8 + axis, 16 + axis);
        }
    }
    text.push_str(NBODY_TAIL);
    text
}
