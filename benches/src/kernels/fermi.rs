//! Sources of the Fermi kernels whose code is unrolled: what nvcc makes of the same work for sm_20, with 32-bit addresses. Parameters
//! stand from c0[0x20] on, the block's size at c0[0x8], the grid's at c0[0x14].

use std::fmt::Write;

use super::black_scholes::{DRIFT, LN_2, LOG2_E, NORMAL, NORMAL_K, RATE, RSQRT_2PI, VOLATILITY};
use super::md5::{SHIFTS, SINES, START, word_of};

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

const MD5_HEAD: &str = "\
// MD5 of messages of one block. Word w of message i is at 4 (w n + i), and so are the digests.
//   c0[0x20] messages    c0[0x24] digests    c0[0x28] 4 n

mov b32 $r0 $ctaidx
mov b32 $r1 $tidx
add $r0 (mul u32 $r0 u32 c0[0x8]) $r1
add b32 $r1 (shl $r0 0x2) c0[0x20]
mov b32 $r2 c0[0x28]
";

/// $r4 to $r19 hold the message, $r20 to $r23 the state, $r1 and $r3 are for use.
pub(super) fn md5() -> String {
    let mut text = MD5_HEAD.to_string();
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    for word in 0..16 {
        line(format!("ld b32 $r{} ca g[$r1]", 4 + word));
        if word != 15 {
            line("add b32 $r1 $r1 $r2".into());
        }
    }
    for (at, start) in START.iter().enumerate() {
        line(format!("mov b32 $r{} {start:#x}", 20 + at));
    }
    let mut state = [20, 21, 22, 23];
    for round in 0..64 {
        let [a, b, c, d] = state;
        match round / 16 {
            0 => {
                line(format!("and b32 $r1 $r{b} $r{c}"));
                line(format!("and b32 $r3 not $r{b} $r{d}"));
                line("or b32 $r1 $r1 $r3".into());
            }
            1 => {
                line(format!("and b32 $r1 $r{b} $r{d}"));
                line(format!("and b32 $r3 $r{c} not $r{d}"));
                line("or b32 $r1 $r1 $r3".into());
            }
            2 => {
                line(format!("xor b32 $r1 $r{b} $r{c}"));
                line(format!("xor b32 $r1 $r1 $r{d}"));
            }
            _ => {
                line(format!("or b32 $r1 $r{b} not $r{d}"));
                line(format!("xor b32 $r1 $r1 $r{c}"));
            }
        }
        let shift = SHIFTS[round / 16][round % 4];
        line(format!("add b32 $r1 $r1 $r{a}"));
        line(format!("add b32 $r1 $r1 $r{}", 4 + word_of(round)));
        line(format!("add b32 $r1 $r1 {:#x}", SINES[round]));
        // A rotation is a shift and a sum.
        line(format!("shr u32 $r3 $r1 wrap {:#x}", 32 - shift));
        line(format!("add b32 $r1 (shl $r1 {shift:#x}) $r3"));
        line(format!("add b32 $r{a} $r1 $r{b}"));
        state = [d, a, b, c];
    }
    line("add b32 $r0 (shl $r0 0x2) c0[0x24]".into());
    for (at, start) in START.iter().enumerate() {
        line(format!("add b32 $r{0} $r{0} {start:#x}", 20 + at));
        line(format!("st b32 wb g[$r0] $r{}", 20 + at));
        line(if at == 3 { "exit".into() } else { "add b32 $r0 $r0 $r2".into() });
    }
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

/// The distribution of $r{d} to $r{to}, by $r12 to $r14.
fn normal(d: u32, to: u32) -> String {
    let bits = |x: f32| format!("{:#x}", x.to_bits());
    let mut lines = vec![
        format!("cvt ftz f32 $r12 abs f32 $r{d}"),
        "mov b32 $r13 0x3f800000".into(),
        format!("fma ftz f32 $r13 $r12 {} $r13", bits(NORMAL_K)),
        "rcp f32 $r12 $r13".into(),
        format!("mov b32 $r13 {}", bits(NORMAL[3])),
        format!("fma ftz f32 $r13 $r12 {} $r13", bits(NORMAL[4])),
    ];
    for at in (0..3).rev() {
        let (from, into) = if at == 1 { (14, 13) } else { (13, 14) };
        lines.push(format!("mov b32 $r{into} {}", bits(NORMAL[at])));
        lines.push(format!("fma ftz rn f32 $r{into} $r{from} $r12 $r{into}"));
    }
    lines.extend([
        "mul ftz rn f32 $r12 $r14 $r12".into(),
        format!("mul ftz rn f32 $r13 $r{d} $r{d}"),
        format!("mul ftz f32 $r13 $r13 {}", bits(-0.5 * LOG2_E)),
        "preex2 f32 $r13 $r13".into(),
        "ex2 f32 $r13 $r13".into(),
        format!("mul ftz f32 $r13 $r13 {}", bits(RSQRT_2PI)),
        format!("mul ftz rn f32 $r{to} $r12 $r13"),
        format!("set ftz $p0 0x1 gt f32 $r{d} 0x0"),
        format!("$p0 add ftz rn f32 $r{to} neg $r{to} 0x3f800000"),
    ]);
    lines.join("\n")
}

/// As with `-use_fast_math`.
pub(super) fn black_scholes() -> String {
    let bits = |x: f32| format!("{:#x}", x.to_bits());
    format!(
        "\
// Black-Scholes prices of European options, one a thread.
//   c0[0x20] price  c0[0x24] strike  c0[0x28] years  c0[0x2c] call  c0[0x30] put

mov b32 $r0 $ctaidx
mov b32 $r1 $tidx
add $r0 (mul u32 $r0 u32 c0[0x8]) $r1
add b32 $r1 (shl $r0 0x2) c0[0x20]
ld b32 $r4 ca g[$r1]
add b32 $r1 (shl $r0 0x2) c0[0x24]
ld b32 $r5 ca g[$r1]
add b32 $r1 (shl $r0 0x2) c0[0x28]
ld b32 $r6 ca g[$r1]
// $r7 = volatility by the root of the time, $r8 = d1, $r9 = d2
rsqrt f32 $r7 $r6
rcp f32 $r7 $r7
mul ftz f32 $r7 $r7 {volatility}
rcp f32 $r8 $r5
mul ftz rn f32 $r8 $r4 $r8
lg2 f32 $r8 $r8
mul ftz f32 $r9 $r6 {drift}
fma ftz f32 $r9 $r8 {ln_2} $r9
rcp f32 $r8 $r7
mul ftz rn f32 $r8 $r9 $r8
add ftz rn f32 $r9 $r8 neg $r7
// $r10 and $r11 = their distribution
{first}
{second}
// $r12 = discounted strike
mul ftz f32 $r12 $r6 {rate}
preex2 f32 $r12 $r12
ex2 f32 $r12 $r12
mul ftz rn f32 $r12 $r5 $r12
mul ftz rn f32 $r13 $r12 $r11
fma ftz rn f32 $r13 $r4 $r10 neg $r13
add b32 $r1 (shl $r0 0x2) c0[0x2c]
st b32 wb g[$r1] $r13
add ftz rn f32 $r10 neg $r10 0x3f800000
add ftz rn f32 $r11 neg $r11 0x3f800000
mul ftz rn f32 $r13 $r4 $r10
fma ftz rn f32 $r13 $r12 $r11 neg $r13
add b32 $r1 (shl $r0 0x2) c0[0x30]
st b32 wb g[$r1] $r13
exit
",
        volatility = bits(VOLATILITY),
        drift = bits(DRIFT),
        ln_2 = bits(LN_2),
        rate = bits(-RATE * LOG2_E),
        first = normal(8, 10),
        second = normal(9, 11),
    )
}
