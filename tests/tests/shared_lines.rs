//! Tests shared memory with addresses that are affine in two dimensions: blocks 16, 8 or 4 wide store along rows, and load along
//! rows, along columns, or one word for all lanes of a row. The pitch is a constant or an argument; accesses are partly out of
//! bounds or overlap. All tiers are compared with the same computation in Rust.

use warpjit_runtime::{Isa, Program};
use warpjit_tests::arrays::{engines, program, random, run_rows, some_of};

/// Threads of a block: one warp, so that each sees what the others have stored.
const THREADS: u32 = 32;
const BLOCKS: u32 = 3;
/// Bytes of shared memory.
const SHARED: u32 = 1024;

#[derive(Clone, Copy, Debug)]
struct Case {
    width: u32,
    /// Words that a thread stores and loads as its own: what it has loaded, that and one, two, three.
    words: u32,
    /// Words from line to line.
    pitch: u32,
    /// The launch says the pitch, not the code.
    told: bool,
    /// The first word's address.
    start: u32,
    /// Threads that store: those with one of these bits in what they load, or all.
    only: u32,
}

impl Case {
    /// out = own + the line's first + the column's first word of shared memory.
    fn program(self) -> Program {
        let Case { width, words, pitch, told, start, only } = self;
        let pitch = if told { "c0[0x30]".into() } else { format!("{pitch:#x}") };
        let guard = if only == 0 { "" } else { "$p0 " };
        let (bits, vector) = match words {
            1 => ("b32", "$r16"),
            2 => ("b64", "$r16d"),
            _ => ("b128", "$r16q"),
        };
        let more: String = (0..words).map(|n| format!("add b32 $r{} $r4 {n:#x}\n", 16 + n)).collect();
        let sum: String = (1..words).map(|n| format!("add b32 $r16 $r16 $r{}\n", 16 + n)).collect();
        let by = 2 + words.trailing_zeros();
        let text = format!(
            "mov b32 $r0 $ctaidx\nmov b32 $r1 $tidy\nmov b32 $r2 $tidx\nmov b32 $r7 {pitch}\nmov b32 $r12 {start:#x}\n\
             mov b32 $r6 {width:#x}\nmov b32 $r5 {THREADS:#x}\nadd $r6 (mul u32 $r1 u32 $r6) $r2\n\
             add $r6 (mul u32 $r0 u32 $r5) $r6\nmov b32 $r5 0x4\nadd $r8 $c (mul u32 $r6 u32 $r5) c0[0x20]\n\
             add $r9 (mul high u32 $r6 u32 $r5) c0[0x24] $c\nadd $r10 $c (mul u32 $r6 u32 $r5) c0[0x28]\n\
             add $r11 (mul high u32 $r6 u32 $r5) c0[0x2c] $c\nld b32 $r4 ca g[$r8d]\n\
             mul $r3 u32 $r1 u32 $r7\nshl b32 $r3 $r3 clamp 0x2\nadd b32 $r3 $r3 $r12\nshl b32 $r2 $r2 clamp {by:#x}\n\
             add b32 $r13 $r3 $r2\nadd b32 $r2 $r2 $r12\nand b32 $r14 $r4 {only:#x}\nset $p0 0x1 ne s32 $r14 0x0\n{more}\
             {guard}st {bits} s[$r13] {vector}\nld {bits} {vector} s[$r13]\n{sum}ld b32 $r14 s[$r3]\nld b32 $r15 s[$r2]\n\
             add b32 $r4 $r16 $r14\nadd b32 $r4 $r4 $r15\nst b32 wb g[$r10d] $r4\nexit\n"
        );
        program(&text, Isa::Fermi, Some(SHARED))
    }

    /// What blocks store, of what they load.
    fn model(self, from: &[u32]) -> Vec<u32> {
        let Case { width, words, pitch, start, only, .. } = self;
        let mut out = Vec::new();
        for block in from.chunks(THREADS as usize) {
            let mut shared = vec![0; SHARED as usize / 4];
            let line = |n: u32| (n / width).wrapping_mul(pitch).wrapping_mul(4).wrapping_add(start);
            let column = |n: u32| n % width * 4 * words;
            let place =
                |n: u32, word: u32| line(n).wrapping_add(column(n)).wrapping_add(4 * word) as usize / 4;
            // A vector is stored word by word, by all lanes.
            for word in 0..words {
                for (n, &own) in (0..).zip(block).filter(|(_, own)| only == 0 || *own & only != 0) {
                    if let Some(to) = shared.get_mut(place(n, word)) {
                        *to = own.wrapping_add(word);
                    }
                }
            }
            let load = |at: usize| shared.get(at).copied().unwrap_or(0);
            out.extend((0..THREADS).map(|n| {
                let own = (0..words).fold(0u32, |sum, word| sum.wrapping_add(load(place(n, word))));
                let (line, column) = (line(n), column(n).wrapping_add(start));
                own.wrapping_add(load(line as usize / 4)).wrapping_add(load(column as usize / 4))
            }));
        }
        out
    }
}

fn cases() -> Vec<Case> {
    let mut list = Vec::new();
    let minus = |words: u32| words.wrapping_neg();
    for (width, words) in [(16, 1), (8, 1), (4, 1), (16, 4), (8, 2), (8, 4), (4, 2), (4, 4)] {
        for pitch in [0, 4, 8, 9, 33, 250, 1 << 14, minus(1), minus(8)] {
            for start in [0, 128, SHARED - 32, SHARED - 4, minus(16), minus(pitch.wrapping_mul(4))] {
                let ways = [(false, 0), (true, 3)];
                list.extend(ways.map(|(told, only)| Case { width, words, pitch, told, start, only }));
            }
        }
    }
    list
}

#[test]
fn lines_in_shared_memory() {
    let engines = engines();
    let from = random((BLOCKS * THREADS) as usize, 5);
    let to = vec![0; from.len()];
    for case in some_of(cases(), 5) {
        let Case { width, words, pitch, start, .. } = case;
        // Nothing is said of vectors that do not lie at multiples of themselves, but that all do the same.
        let aligned = (pitch.wrapping_mul(4) | start) % (4 * words) == 0;
        let program = case.program();
        let mut wanted = aligned.then(|| Ok(case.model(&from)));
        for (kind, engine) in &engines {
            let shape = (BLOCKS, [width, THREADS / width]);
            let got = run_rows(engine, &program, Isa::Fermi, shape, &[pitch], [&from, &to]);
            let wanted = wanted.get_or_insert_with(|| got.clone());
            assert!(got == *wanted, "{case:?}, {kind}: {:?}", got.err());
        }
    }
}
