//! MD5: each thread hashes one 64-byte block, with all 64 rounds unrolled. Integer arithmetic in registers.

use super::{Bench, Buffers, Guest, Native, Yardstick};
use crate::numeric::{Random, bytes_of, words_of};
use crate::simd::Simd;

const MESSAGES: usize = 1 << 17;

const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
];

/// The word of the message that a round uses.
const fn word_of(round: usize) -> usize {
    match round / 16 {
        0 => round,
        1 => (5 * round + 1) % 16,
        2 => (3 * round + 5) % 16,
        _ => 7 * round % 16,
    }
}

fn digest(message: [u32; 16]) -> [u32; 4] {
    let [mut a, mut b, mut c, mut d] = START;
    for round in 0..64 {
        let f = match round / 16 {
            0 => b & c | !b & d,
            1 => b & d | c & !d,
            2 => b ^ c ^ d,
            _ => c ^ (b | !d),
        };
        let sum = a.wrapping_add(f).wrapping_add(message[word_of(round)]).wrapping_add(SINES[round]);
        let next = b.wrapping_add(sum.rotate_left(SHIFTS[round / 16][round % 4]));
        (a, d, c, b) = (d, c, b, next);
    }
    let end = [a, b, c, d];
    std::array::from_fn(|at| START[at].wrapping_add(end[at]))
}

/// The kernel.
#[derive(Debug)]
pub struct Md5 {
    /// Whose.
    pub guest: Guest,
}

/// What a guest's assembly has of its own.
struct Dialect {
    /// Ends with $r0 = offset of the message and its digest, $r1 = address of the message's first word, $r2 = bytes to the next.
    head: &'static str,
    /// How a load and a store of a word of global memory begin and go on.
    load: [&'static str; 2],
    store: [&'static str; 2],
    /// $r1 turned left, with $r3 for use.
    rotated: fn(u32) -> String,
    /// $r0 to the address of the digest's first word.
    digest: &'static str,
    /// Whether the last store can end the thread.
    exit_at_store: bool,
}

const TESLA: Dialect = Dialect {
    head: "\
// MD5 of messages of one block. Word w of message i is at 4 (w n + i), and so are the digests.
//   s[0x10] messages    s[0x14] digests    s[0x18] 4 n

cvt u32 $r1 u16 $r0l
cvt u32 $r2 u16 u16 s[0xc]
cvt u32 $r3 u16 u16 s[0x2]
add $r0 (mul u16 $r2l $r3l) $r1
shl b32 $r0 $r0 0x2
add b32 $r1 b32 s[0x10] $r0
mov b32 $r2 b32 s[0x18]
",
    load: ["ld b32", "g14"],
    store: ["st b32", "g14"],
    rotated: |by| format!("shl b32 $r3 $r1 {by:#x}\nshr u32 $r1 $r1 {:#x}\nor b32 $r1 $r1 $r3", 32 - by),
    digest: "add b32 $r0 b32 s[0x14] $r0",
    exit_at_store: true,
};

const FERMI: Dialect = Dialect {
    head: "\
// MD5 of messages of one block. Word w of message i is at 4 (w n + i), and so are the digests.
//   c0[0x20] messages    c0[0x24] digests    c0[0x28] 4 n

mov b32 $r0 $ctaidx
mov b32 $r1 $tidx
add $r0 (mul u32 $r0 u32 c0[0x8]) $r1
add b32 $r1 (shl $r0 0x2) c0[0x20]
mov b32 $r2 c0[0x28]
",
    load: ["ld b32", "ca g"],
    store: ["st b32 wb", "g"],
    // A rotation is a shift and a sum.
    rotated: |by| format!("shr u32 $r3 $r1 wrap {:#x}\nadd b32 $r1 (shl $r1 {by:#x}) $r3", 32 - by),
    digest: "add b32 $r0 (shl $r0 0x2) c0[0x24]",
    exit_at_store: false,
};

impl Bench for Md5 {
    fn name(&self) -> &'static str {
        "md5"
    }

    fn guest(&self) -> Guest {
        self.guest
    }

    /// $r4 to $r19 hold the message, $r20 to $r23 the state, $r1 and $r3 are for use.
    fn source(&self) -> Option<String> {
        let dialect = match self.guest {
            Guest::Tesla => TESLA,
            Guest::Fermi => FERMI,
        };
        let mut text = dialect.head.to_string();
        let mut line = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        for word in 0..16 {
            line(format!("{} $r{} {}[$r1]", dialect.load[0], 4 + word, dialect.load[1]));
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
            line((dialect.rotated)(shift));
            line(format!("add b32 $r{a} $r1 $r{b}"));
            state = [d, a, b, c];
        }
        line(dialect.digest.into());
        for (at, start) in START.iter().enumerate() {
            let (register, last) = (20 + at, at == 3);
            let exit = if last && dialect.exit_at_store { "exit " } else { "" };
            line(format!("add b32 $r{register} $r{register} {start:#x}"));
            line(format!("{exit}{} {}[$r0] $r{register}", dialect.store[0], dialect.store[1]));
            if !last {
                line("add b32 $r0 $r0 $r2".into());
            } else if !dialect.exit_at_store {
                line("exit".into());
            }
        }
        Some(text)
    }

    fn inputs(&self) -> Buffers {
        let mut random = Random::new(5);
        vec![("messages", bytes_of((0..MESSAGES * 16).map(|_| random.word())))]
    }

    fn model(&self, inputs: &Buffers) -> Buffers {
        let words = words_of(&inputs[0].1);
        let mut out = vec![0; MESSAGES * 4];
        for message in 0..MESSAGES {
            let digest = digest(std::array::from_fn(|word| words[word * MESSAGES + message]));
            for (word, digest) in digest.into_iter().enumerate() {
                out[word * MESSAGES + message] = digest;
            }
        }
        vec![("digests", bytes_of(out))]
    }

    fn native(&self, inputs: &Buffers) -> Box<dyn Native> {
        Box::new(NativeMd5 { messages: words_of(&inputs[0].1), digests: vec![0; MESSAGES * 4] })
    }
}

struct NativeMd5 {
    messages: Vec<u32>,
    digests: Vec<u32>,
}

/// Sixteen rounds, each written out: where a round's word, constant and shift come from must be known to the compiler.
macro_rules! rounds {
    ($s:ident, $m:ident, $state:ident, $quarter:literal, $f:expr) => {
        rounds!(@four $s, $m, $state, $quarter, 0, $f);
        rounds!(@four $s, $m, $state, $quarter, 1, $f);
        rounds!(@four $s, $m, $state, $quarter, 2, $f);
        rounds!(@four $s, $m, $state, $quarter, 3, $f);
    };
    (@four $s:ident, $m:ident, $state:ident, $quarter:literal, $four:literal, $f:expr) => {
        rounds!(@one $s, $m, $state, $quarter, $four, 0, $f);
        rounds!(@one $s, $m, $state, $quarter, $four, 1, $f);
        rounds!(@one $s, $m, $state, $quarter, $four, 2, $f);
        rounds!(@one $s, $m, $state, $quarter, $four, 3, $f);
    };
    (@one $s:ident, $m:ident, $state:ident, $quarter:literal, $four:literal, $at:literal, $f:expr) => {{
        const ROUND: usize = $quarter * 16 + $four * 4 + $at;
        const N: u32 = SHIFTS[$quarter][$at];
        let constant = $s.i(SINES[ROUND]);
        for u in 0..U {
            let [a, b, c, d] = $state[u];
            let f = $f(b, c, d);
            let sum = $s.add_i($s.add_i(a, constant), $s.add_i(f, $m(u, const { word_of(ROUND) })));
            let turned = $s.or_i($s.shl::<N>(sum), $s.shr::<{ 32 - N }>(sum));
            $state[u] = [d, $s.add_i(b, turned), b, c];
        }
    }};
}

impl NativeMd5 {
    #[inline(always)]
    fn digests<S: Simd, const U: usize>(&mut self, s: S) {
        let group = S::LANES * U;
        let words: [&[u32]; 16] = std::array::from_fn(|word| &self.messages[word * MESSAGES..][..MESSAGES]);
        let ones = s.i(!0);
        for at in (0..MESSAGES).step_by(group) {
            let m = |u: usize, word: usize| s.load_i(&words[word][at + u * S::LANES..]);
            let mut state = [START.map(|word| s.i(word)); U];
            rounds!(s, m, state, 0, |b, c, d| s.xor_i(d, s.and_i(b, s.xor_i(c, d))));
            rounds!(s, m, state, 1, |b, c, d| s.xor_i(c, s.and_i(d, s.xor_i(b, c))));
            rounds!(s, m, state, 2, |b, c, d| s.xor_i(s.xor_i(b, c), d));
            rounds!(s, m, state, 3, |b, c, d| s.xor_i(c, s.or_i(b, s.xor_i(d, ones))));
            for u in 0..U {
                for word in 0..4 {
                    let sum = s.add_i(state[u][word], s.i(START[word]));
                    s.store_i(&mut self.digests[word * MESSAGES + at + u * S::LANES..], sum);
                }
            }
        }
    }
}

impl Yardstick for NativeMd5 {
    fn unrolls(&self) -> &'static [usize] {
        &[1, 2, 4]
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, unroll: usize) {
        match unroll {
            1 => self.digests::<S, 1>(s),
            2 => self.digests::<S, 2>(s),
            _ => self.digests::<S, 4>(s),
        }
    }

    fn output(&self) -> Vec<u8> {
        bytes_of(self.digests.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_of_nothing() {
        let mut message = [0; 16];
        message[0] = 0x80;
        assert_eq!(bytes_of(digest(message))[..4], [0xd4, 0x1d, 0x8c, 0xd9]);
    }
}
