//! AES-128: each thread encrypts one block of 16 bytes, with four tables of 256 words in constant memory.

use std::fmt::Write;

use super::{Bench, Buffers, Guest, Native, Yardstick, fermi};
use crate::numeric::{Random, bytes_of, words_of};
use crate::simd::Simd;

const BLOCKS: usize = 1 << 16;
const KEY: [u8; 16] = *b"\x2b\x7e\x15\x16\x28\xae\xd2\xa6\xab\xf7\x15\x88\x09\xcf\x4f\x3c";

/// Product by x in GF(2^8).
fn double(x: u8) -> u8 {
    x << 1 ^ if x & 0x80 != 0 { 0x1b } else { 0 }
}

/// The S-box, from its definition: the inverse, then an affine map.
fn s_box() -> [u8; 256] {
    let mut table = [0x63; 256];
    // 3 generates the group, and 0xf6 is its inverse.
    let (mut p, mut q) = (1_u8, 1_u8);
    loop {
        p ^= double(p);
        q ^= q << 1;
        q ^= q << 2;
        q ^= q << 4;
        if q & 0x80 != 0 {
            q ^= 0x09;
        }
        let turned = q ^ q.rotate_left(1) ^ q.rotate_left(2) ^ q.rotate_left(3) ^ q.rotate_left(4);
        table[usize::from(p)] = turned ^ 0x63;
        if p == 1 {
            return table;
        }
    }
}

/// The round keys of [`KEY`], as little-endian words.
fn round_keys() -> [u32; 44] {
    let s_box = s_box();
    let mut keys = [0; 44];
    for (word, bytes) in keys.iter_mut().zip(KEY.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    let mut constant = 1;
    for at in 4..44 {
        let mut word: u32 = keys[at - 1];
        if at % 4 == 0 {
            let [a, b, c, d] = word.to_le_bytes().map(|byte| s_box[usize::from(byte)]);
            word = u32::from_le_bytes([b ^ constant, c, d, a]);
            constant = double(constant);
        }
        keys[at] = keys[at - 4] ^ word;
    }
    keys
}

/// Substitution and mixing of columns in one: a word for each byte, for byte 0 of a column. The others' are
/// turned by 8, 16, 24 bits.
fn table() -> [u32; 256] {
    s_box().map(|s| u32::from_le_bytes([double(s), s, s, double(s) ^ s]))
}

/// AES by the book (FIPS 197): byte by byte, without the tables.
fn encrypt(block: [u8; 16], s_box: &[u8; 256], keys: &[u8]) -> [u8; 16] {
    let with_key = |state: [u8; 16], round: usize| -> [u8; 16] {
        std::array::from_fn(|at| state[at] ^ keys[round * 16 + at])
    };
    let mut state = with_key(block, 0);
    for round in 1..=10 {
        let substituted = state.map(|byte| s_box[usize::from(byte)]);
        // Row r of column c is byte 4c + r, and comes from column c + r.
        let shifted: [u8; 16] = std::array::from_fn(|at| substituted[(at + at % 4 * 4) % 16]);
        state = shifted;
        if round != 10 {
            state = std::array::from_fn(|at| {
                let column = &shifted[at / 4 * 4..at / 4 * 4 + 4];
                let of = |row: usize| column[(at % 4 + row) % 4];
                double(of(0)) ^ double(of(1)) ^ of(1) ^ of(2) ^ of(3)
            });
        }
        state = with_key(state, round);
    }
    state
}

/// The kernel.
#[derive(Debug)]
pub struct Aes {
    /// Whose.
    pub guest: Guest,
}

const HEAD: &str = "\
// AES-128 of blocks of 16 bytes.
//   s[0x10] plain    s[0x14] cipher
//   c2[]  four tables of 256 words, then the S-box, a word an entry
//   c3[]  round keys, 11 by 4 words

cvt u32 $r1 u16 $r0l
cvt u32 $r2 u16 u16 s[0xc]
cvt u32 $r3 u16 u16 s[0x2]
add $r0 (mul u16 $r2l $r3l) $r1
shl b32 $r0 $r0 0x4
add b32 $r1 b32 s[0x10] $r0
ld b128 $r4q g14[$r1]
xor b32 $r4 $r4 c3[0x0]
xor b32 $r5 $r5 c3[0x4]
xor b32 $r6 $r6 c3[0x8]
xor b32 $r7 $r7 c3[0xc]
mov b32 $r1 0x10
";

impl Aes {
    /// A round: `from` the registers of the state to those of the new one. $r2, $r3, $r16 to $r19 are for use.
    fn round(text: &mut String, from: [u32; 4], to: [u32; 4], last: bool) {
        for column in 0..4 {
            for row in 0..4 {
                let source = from[(column + row) % 4];
                let index = match row {
                    0 => {
                        let _ = writeln!(text, "and b32 $r2 $r{source} 0xff");
                        2
                    }
                    1 | 2 => {
                        let _ = writeln!(text, "shr u32 $r3 $r{source} {:#x}", row * 8);
                        let _ = writeln!(text, "and b32 $r3 $r3 0xff");
                        3
                    }
                    _ => {
                        let _ = writeln!(text, "shr u32 $r2 $r{source} 0x18");
                        2
                    }
                };
                let offset = if last { 0x1000 } else { row * 0x400 };
                let register = 16 + row;
                let address = 1 + row % 2;
                let _ = writeln!(text, "shl $a{address} $r{index} 0x2");
                let _ = writeln!(text, "ld $r{register} b32 c2[$a{address}+{offset:#x}]");
                if last && row != 0 {
                    let _ = writeln!(text, "shl b32 $r{register} $r{register} {:#x}", row * 8);
                }
            }
            let to = to[column];
            let _ = writeln!(text, "xor b32 $r16 $r16 $r17");
            let _ = writeln!(text, "xor b32 $r18 $r18 $r19");
            let _ = writeln!(text, "xor b32 $r16 $r16 $r18");
            if last {
                let _ = writeln!(text, "xor b32 $r{to} $r16 c3[{:#x}]", 160 + column * 4);
            } else {
                let _ = writeln!(text, "xor b32 $r{to} $r16 c3[$a3+{:#x}]", column * 4);
            }
        }
    }
}

impl Bench for Aes {
    fn name(&self) -> &'static str {
        "aes"
    }

    fn guest(&self) -> Guest {
        self.guest
    }

    /// Rounds 1 to 9 are a loop; their keys are found by $a3.
    fn source(&self) -> Option<String> {
        if self.guest == Guest::Fermi {
            return Some(fermi::aes());
        }
        let mut text = HEAD.to_string();
        text.push_str("loop:\nshl $a3 $r1 0x0\n");
        Aes::round(&mut text, [4, 5, 6, 7], [8, 9, 10, 11], false);
        text.push_str("add b32 $r1 $r1 0x10\nmov b32 $r2 0xa0\n");
        for at in 0..4 {
            let _ = writeln!(text, "mov b32 $r{} $r{}", 4 + at, 8 + at);
        }
        text.push_str("set $c0 # l u32 $r1 $r2\n(lg $c0) bra #loop\n");
        Aes::round(&mut text, [4, 5, 6, 7], [8, 9, 10, 11], true);
        text.push_str("add b32 $r0 b32 s[0x14] $r0\nexit st b128 g14[$r0] $r8q\n");
        Some(text)
    }

    fn const_files(&self) -> Vec<(&'static str, Vec<u8>)> {
        let table = table();
        let tables = (0..4).flat_map(|row| table.map(|word| word.rotate_left(row * 8)));
        let tables = bytes_of(tables.chain(s_box().map(u32::from)));
        vec![("tables.bin", tables), ("keys.bin", bytes_of(round_keys()))]
    }

    fn inputs(&self) -> Buffers {
        let mut random = Random::new(6);
        vec![("plain", bytes_of((0..BLOCKS * 4).map(|_| random.word())))]
    }

    fn model(&self, inputs: &Buffers) -> Buffers {
        let (s_box, keys) = (s_box(), bytes_of(round_keys()));
        let blocks = inputs[0].1.chunks_exact(16);
        let block = |bytes: &[u8]| encrypt(std::array::from_fn(|at| bytes[at]), &s_box, &keys);
        vec![("cipher", blocks.flat_map(block).collect())]
    }

    fn native(&self, inputs: &Buffers) -> Box<dyn Native> {
        let table = table();
        Box::new(NativeAes {
            plain: words_of(&inputs[0].1),
            cipher: vec![0; BLOCKS * 4],
            tables: std::array::from_fn(|row| table.map(|word| word.rotate_left(row as u32 * 8))),
            s_box: s_box().map(u32::from),
            keys: round_keys(),
        })
    }
}

struct NativeAes {
    plain: Vec<u32>,
    cipher: Vec<u32>,
    tables: [[u32; 256]; 4],
    s_box: [u32; 256],
    keys: [u32; 44],
}

impl NativeAes {
    /// One block after the other, as C libraries did it.
    #[inline(always)]
    fn scalar<const U: usize>(&mut self) {
        let of = |word: u32, row: u32| (word >> (row * 8) & 0xff) as usize;
        let blocks = self.plain.chunks_exact(4 * U).zip(self.cipher.chunks_exact_mut(4 * U));
        for (plain, cipher) in blocks {
            let mut state: [[u32; 4]; U] =
                std::array::from_fn(|u| std::array::from_fn(|at| plain[u * 4 + at] ^ self.keys[at]));
            for round in 1..10 {
                for state in &mut state {
                    let old = *state;
                    *state = std::array::from_fn(|at| {
                        self.tables[0][of(old[at], 0)]
                            ^ self.tables[1][of(old[(at + 1) % 4], 1)]
                            ^ self.tables[2][of(old[(at + 2) % 4], 2)]
                            ^ self.tables[3][of(old[(at + 3) % 4], 3)]
                            ^ self.keys[round * 4 + at]
                    });
                }
            }
            for (old, cipher) in state.iter().zip(cipher.chunks_exact_mut(4)) {
                for (at, cipher) in cipher.iter_mut().enumerate() {
                    let byte = |row: usize| self.s_box[of(old[(at + row) % 4], row as u32)] << (row * 8);
                    *cipher = byte(0) ^ byte(1) ^ byte(2) ^ byte(3) ^ self.keys[40 + at];
                }
            }
        }
    }

    /// A block a lane, with gathers.
    #[inline(always)]
    fn gathers<S: Simd>(&mut self, s: S) {
        let low = s.i(0xff);
        let lookup = |table: &[[u32; 256]; 4], old: &[S::I; 4], at: usize| {
            let a = s.gather(&table[0], s.and_i(old[at], low));
            let b = s.gather(&table[1], s.and_i(s.shr::<8>(old[(at + 1) % 4]), low));
            let c = s.gather(&table[2], s.and_i(s.shr::<16>(old[(at + 2) % 4]), low));
            let d = s.gather(&table[3], s.shr::<24>(old[(at + 3) % 4]));
            s.xor_i(s.xor_i(a, b), s.xor_i(c, d))
        };
        let last: [[u32; 256]; 4] = std::array::from_fn(|row| self.s_box.map(|word| word << (row * 8)));
        let size = 4 * S::LANES;
        let blocks = self.plain.chunks_exact(size).zip(self.cipher.chunks_exact_mut(size));
        for (plain, cipher) in blocks {
            let mut state: [S::I; 4] = std::array::from_fn(|at| {
                let words: [u32; 16] = std::array::from_fn(|lane| plain[lane % S::LANES * 4 + at]);
                s.xor_i(s.load_i(&words), s.i(self.keys[at]))
            });
            for round in 1..10 {
                let old = state;
                state = std::array::from_fn(|at| {
                    s.xor_i(lookup(&self.tables, &old, at), s.i(self.keys[round * 4 + at]))
                });
            }
            for at in 0..4 {
                let mut words = [0; 16];
                s.store_i(&mut words, s.xor_i(lookup(&last, &state, at), s.i(self.keys[40 + at])));
                for lane in 0..S::LANES {
                    cipher[lane * 4 + at] = words[lane];
                }
            }
        }
    }
}

impl Yardstick for NativeAes {
    /// Blocks at a time; 0: one a lane.
    fn unrolls(&self) -> &'static [usize] {
        &[0, 1, 2]
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, unroll: usize) {
        match unroll {
            0 => self.gathers(s),
            1 => self.scalar::<1>(),
            _ => self.scalar::<2>(),
        }
    }

    fn output(&self) -> Vec<u8> {
        bytes_of(self.cipher.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of FIPS 197, appendix B.
    #[test]
    fn example_of_the_standard() {
        let plain = *b"\x32\x43\xf6\xa8\x88\x5a\x30\x8d\x31\x31\x98\xa2\xe0\x37\x07\x34";
        let cipher = *b"\x39\x25\x84\x1d\x02\xdc\x09\xfb\xdc\x11\x85\x97\x19\x6a\x0b\x32";
        assert_eq!(encrypt(plain, &s_box(), &bytes_of(round_keys())), cipher);
    }
}
