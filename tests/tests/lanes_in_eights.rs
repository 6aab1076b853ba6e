//! Threads of which each eight take elements side by side, as those of blocks that are eight wide do: eights apart, behind each other, over each
//! other, or at one place; all lanes or some. All tiers against the same in Rust, and their faults against each other.

use warpjit_frontend::fermi;
use warpjit_runtime::{Isa, Program, ProgramOptions};
use warpjit_tests::arrays::{engines, random, run};

const BLOCK: u32 = 64;

/// What a thread does: of the element that it has by its place in its eight, and by the eight, it takes `bytes` and stores them, each word plus
/// one, at the same place of another array, unless the first has one of the bits of `skipped`.
#[derive(Clone, Copy, Debug)]
struct Case {
    bytes: u32,
    /// Elements from eight to eight.
    pitch: u32,
    /// Elements that each lane has more in odd eights, so that these do not lie side by side.
    odd: u32,
    skipped: u32,
}

impl Case {
    fn program(self) -> Program {
        let Case { bytes, pitch, odd, skipped } = self;
        let (width, vector) = if bytes == 4 { ("b32", "$r4") } else { ("b64", "$r4d") };
        let sums: String = (4..4 + bytes / 4).map(|r| format!("add b32 $r{r} $r{r} 0x1\n")).collect();
        let text = format!(
            "mov b32 $r0 $ctaidx\nmov b32 $r2 $tidx\nadd $r6 (mul u32 $r0 u32 c0[0x8]) $r2\nshr u32 $r3 $r6 clamp 0x3\n\
             and b32 $r0 $r6 0x7\nmov b32 $r7 {pitch:#x}\nand b32 $r12 $r3 0x1\nadd $r3 (mul u32 $r3 u32 $r7) $r0\n\
             mov b32 $r7 {odd:#x}\nmul $r12 u32 $r12 u32 $r7\nadd $r0 (mul u32 $r12 u32 $r0) $r3\n\
             mov b32 $r3 {bytes:#x}\nadd $r8 $c (mul u32 $r0 u32 $r3) c0[0x20]\nadd $r9 (mul high u32 $r0 u32 $r3) c0[0x24] $c\n\
             add $r10 $c (mul u32 $r0 u32 $r3) c0[0x28]\nadd $r11 (mul high u32 $r0 u32 $r3) c0[0x2c] $c\n\
             ld {width} {vector} ca g[$r8d]\nand b32 $r2 $r4 {skipped:#x}\nset $p0 0x1 eq s32 $r2 0x0\n{sums}\
             $p0 st {width} wb g[$r10d] {vector}\nexit\n"
        );
        let code = fermi::assemble(&text, fermi::Chip::Gf100).unwrap_or_else(|e| panic!("{e}\n{text}")).code;
        let options = ProgramOptions {
            raw: true,
            chip: Some("gf100".into()),
            registers: Some(16),
            ..ProgramOptions::new(Isa::Fermi)
        };
        Program::load(&code, &options).unwrap()
    }

    /// The word where a thread's element begins.
    fn place(self, thread: u32) -> usize {
        let (eight, lane) = (thread / 8, thread % 8);
        ((eight * self.pitch + lane + eight % 2 * self.odd * lane) * self.bytes / 4) as usize
    }

    /// What an array is behind, whose words were `to`, by one whose words are `from`.
    fn model(self, from: &[u32], to: &mut [u32], threads: u32) {
        for place in (0..threads).map(|thread| self.place(thread)) {
            if from[place] & self.skipped == 0 {
                for word in place..place + self.bytes as usize / 4 {
                    to[word] = from[word].wrapping_add(1);
                }
            }
        }
    }
}

fn cases() -> Vec<Case> {
    let mut list = Vec::new();
    for bytes in [4, 8] {
        for pitch in [0, 3, 4, 8, 12, 100] {
            for odd in [0, 1] {
                list.extend([0, 1, 0x7000].map(|skipped| Case { bytes, pitch, odd, skipped }));
            }
        }
    }
    list
}

#[test]
fn eights_side_by_side() {
    let engines = engines();
    for case in cases() {
        let program = case.program();
        let words = case.place(3 * BLOCK - 1).max(case.place(3 * BLOCK - 9)) + 2;
        let (from, to) = (random(words, 1), random(words, 2));
        let mut wanted = to.clone();
        case.model(&from, &mut wanted, 3 * BLOCK);
        for (kind, engine) in &engines {
            let got = run(engine, &program, Isa::Fermi, (3, BLOCK), &from, &to);
            assert!(got.as_ref() == Ok(&wanted), "{case:?}, {kind}: {:?}", got.err());
        }
    }
}

/// Memory ends in the midst of some eight: all tiers say where.
#[test]
fn faults_of_eights() {
    let engines = engines();
    let mut faults = 0;
    for case in cases() {
        let program = case.program();
        let blocks = 4096 / BLOCK;
        let words = case.place(blocks * BLOCK - 1).max(case.place(blocks * BLOCK - 9)) + 2;
        let long = random(words, 3);
        let short = &long[..words.min(1024)];
        for (from, to) in [(short, &long[..]), (&long[..], short)] {
            let wanted = run(&engines[0].1, &program, Isa::Fermi, (blocks, BLOCK), from, to);
            faults += u32::from(wanted.is_err());
            for (kind, engine) in &engines[1..] {
                let got = run(engine, &program, Isa::Fermi, (blocks, BLOCK), from, to);
                assert!(got == wanted, "{case:?}, {kind}: {:?}, not {:?}", got.err(), wanted.err());
            }
        }
    }
    assert!(faults > 40, "{faults} programs fault");
}
