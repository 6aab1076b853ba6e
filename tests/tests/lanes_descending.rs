//! Tests reversed accesses, in which the last thread accesses the first element, in global and shared memory, for all element
//! widths; with all lanes or some active; and with arrays that begin within the access. All tiers are compared with the same
//! computation in Rust, and their faults with each other.

use warpjit_runtime::{Isa, Program};
use warpjit_tests::arrays::{engines, program, random, run};

const BLOCK: u32 = 64;

/// What a thread does: of the element as far from the `last` as the thread is from the first it takes `bytes`, and stores them, each word
/// plus one, at the same place of another array, or at its own, unless they have one of the bits of `skipped`.
#[derive(Clone, Copy, Debug)]
struct Case {
    bytes: u32,
    last: u32,
    skipped: u32,
    /// Whether it stores in ascending order.
    turns: bool,
    isa: Isa,
}

impl Case {
    /// The width in instructions, the register of what is loaded, and the sums.
    fn parts(self) -> (&'static str, &'static str, String) {
        let (width, vector) = match self.bytes {
            1 => ("u8", "$r4"),
            2 => ("s16", "$r4"),
            4 => ("b32", "$r4"),
            _ => ("b64", "$r4d"),
        };
        let sums = (4..4 + self.bytes.div_ceil(4)).map(|r| format!("add b32 $r{r} $r{r} 0x1\n")).collect();
        (width, vector, sums)
    }

    fn program(self) -> Program {
        let Case { last, skipped, turns, isa, .. } = self;
        let (width, vector, sums) = self.parts();
        let shift = self.bytes.trailing_zeros();
        let stored = if turns { "$r6" } else { "$r0" };
        let text = match isa {
            Isa::Tesla => format!(
                "cvt u32 $r1 u16 $r0l\ncvt u32 $r2 u16 u16 s[0xc]\ncvt u32 $r3 u16 u16 s[0x2]\n\
                 add $r6 (mul u16 $r2l $r3l) $r1\nxor b32 $r0 $r6 0xffffffff\nadd b32 $r0 $r0 {:#x}\n\
                 shl b32 $r1 $r0 {shift:#x}\nshl b32 $r0 {stored} {shift:#x}\nadd b32 $r1 b32 s[0x10] $r1\n\
                 add b32 $r0 b32 s[0x14] $r0\nld {width} {vector} g14[$r1]\n\
                 mov b32 $r2 {skipped:#x}\nand b32 $c0 # $r4 $r2\n{sums}(e $c0) st {width} g14[$r0] {vector}\nexit nop\n",
                last + 1
            ),
            _ => format!(
                "mov b32 $r0 $ctaidx\nmov b32 $r2 $tidx\nadd $r6 (mul u32 $r0 u32 c0[0x8]) $r2\nmov b32 $r3 {last:#x}\n\
                 sub b32 $r0 $r3 $r6\nmov b32 $r3 {:#x}\n\
                 add $r8 $c (mul u32 $r0 u32 $r3) c0[0x20]\nadd $r9 (mul high s32 $r0 s32 $r3) c0[0x24] $c\n\
                 add $r10 $c (mul u32 {stored} u32 $r3) c0[0x28]\nadd $r11 (mul high s32 {stored} s32 $r3) c0[0x2c] $c\n\
                 ld {width} {vector} ca g[$r8d]\nand b32 $r2 $r4 {skipped:#x}\n\
                 set $p0 0x1 eq s32 $r2 0x0\n{sums}$p0 st {width} wb g[$r10d] {vector}\nexit\n",
                1 << shift
            ),
        };
        program(&text, isa, None)
    }

    /// What an array is behind, whose bytes were `to`, by one whose bytes are `from`, if these are all of the threads'.
    fn model(self, from: &[u8], to: &mut [u8], threads: u32) {
        let bytes = self.bytes as usize;
        for thread in 0..threads {
            let first = (self.last - thread) as usize * bytes;
            let own = if self.turns { thread as usize * bytes } else { first };
            let element = &from[first..first + bytes];
            let skips = element.iter().zip(self.skipped.to_le_bytes()).any(|(a, b)| a & b != 0);
            if skips {
                continue;
            }
            for (n, word) in element.chunks(4).enumerate() {
                let mut all = [0; 4];
                all[..word.len()].copy_from_slice(word);
                let sum = u32::from_le_bytes(all).wrapping_add(1).to_le_bytes();
                to[own + 4 * n..][..word.len()].copy_from_slice(&sum[..word.len()]);
            }
        }
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn cases(last: impl Fn(u32) -> u32) -> Vec<Case> {
    let mut list = Vec::new();
    for isa in [Isa::Tesla, Isa::Fermi] {
        for bytes in [1, 2, 4, 8] {
            for skipped in [0, 1, 0x83] {
                for turns in [false, true] {
                    list.push(Case { bytes, last: last(bytes), skipped, turns, isa });
                }
            }
        }
    }
    list
}

#[test]
fn elements_from_the_last_on() {
    let engines = engines();
    for more in [0, 1, 7, 40] {
        for case in cases(|_| 3 * BLOCK - 1 + more) {
            let words = ((3 * BLOCK + 40) * case.bytes / 4) as usize;
            let (from, to) = (random(words, 1), random(words, 2));
            let mut wanted = bytes(&to);
            case.model(&bytes(&from), &mut wanted, 3 * BLOCK);
            let program = case.program();
            for (kind, engine) in &engines {
                let got = run(engine, &program, case.isa, (3, BLOCK), &from, &to).map(|words| bytes(&words));
                assert!(got.as_ref() == Ok(&wanted), "{case:?}, {kind}: {:?}", got.err());
            }
        }
    }
}

/// The array begins, or a page ends, in the midst of some lanes: all tiers say where.
#[test]
fn faults_of_lanes_in_descending_order() {
    let engines = engines();
    let mut faults = 0;
    for (page, before) in [(0, 13), (0, 16), (0, 47), (4096, 0), (4096, 9), (4096, 64)] {
        // The element from which on there is nothing: before the first, or behind a page.
        for case in cases(|bytes| page / bytes + 3 * BLOCK - 1 - before) {
            let program = case.program();
            let long = random(3 * 4096, 3);
            let short = &long[..if page == 0 { long.len() } else { 1024 }];
            for (from, to) in [(short, &long[..]), (&long[..], short)] {
                let wanted = run(&engines[0].1, &program, case.isa, (3, BLOCK), from, to);
                faults += u32::from(wanted.is_err());
                for (kind, engine) in &engines[1..] {
                    let got = run(engine, &program, case.isa, (3, BLOCK), from, to);
                    assert!(got == wanted, "{case:?}, {kind}: {:?}, not {:?}", got.err(), wanted.err());
                }
            }
        }
    }
    assert!(faults > 200, "{faults} programs fault");
}

/// Through shared memory of one warp, stored in one order and loaded in the other, `offset` bytes on.
fn through_shared(case: Case, offset: i32, shared: u32) -> Program {
    let (width, vector, sums) = case.parts();
    let shift = case.bytes.trailing_zeros();
    let offset = if offset < 0 { format!("-{:#x}", -offset) } else { format!("+{offset:#x}") };
    let (first, second) = if case.turns { ("$r13", "$r12") } else { ("$r12", "$r13") };
    let text = format!(
        "mov b32 $r0 $ctaidx\nmov b32 $r2 $tidx\nadd $r0 (mul u32 $r0 u32 c0[0x8]) $r2\nmov b32 $r3 {:#x}\n\
         shl b32 $r12 $r2 {shift:#x}\nmov b32 $r13 {:#x}\nsub b32 $r13 $r13 $r12\n\
         add $r8 $c (mul u32 $r0 u32 $r3) c0[0x20]\nadd $r9 (mul high u32 $r0 u32 $r3) c0[0x24] $c\n\
         add $r10 $c (mul u32 $r0 u32 $r3) c0[0x28]\nadd $r11 (mul high u32 $r0 u32 $r3) c0[0x2c] $c\n\
         ld {width} {vector} ca g[$r8d]\nand b32 $r2 $r4 {:#x}\nset $p0 0x1 eq s32 $r2 0x0\n\
         $p0 st {width} s[{first}{offset}] {vector}\nld {width} {vector} s[{second}{offset}]\n{sums}\
         st {width} wb g[$r10d] {vector}\nexit\n",
        1 << shift,
        31 << shift,
        case.skipped,
    );
    program(&text, Isa::Fermi, Some(shared))
}

#[test]
fn shared_memory_from_the_last_on() {
    let engines = engines();
    for case in cases(|_| 31).into_iter().filter(|case| case.isa == Isa::Fermi) {
        let whole = 32 * case.bytes;
        // All of it, a part, and offsets that leave it on either side.
        for (shared, offset) in
            [(whole, 0), (whole - case.bytes, 0), (whole / 2, 0), (whole, 8), (whole, -8), (whole + 8, 8)]
        {
            let program = through_shared(case, offset, shared);
            let words = whole as usize / 2;
            let (from, to) = (random(words, 4), random(words, 5));
            let wanted = run(&engines[0].1, &program, Isa::Fermi, (2, 32), &from, &to);
            if case.skipped == 0 && offset >= 0 && shared >= whole + offset as u32 {
                let mut model = bytes(&to);
                let (first, second) = model.split_at_mut(whole as usize);
                let turned = Case { turns: true, ..case };
                turned.model(&bytes(&from)[..whole as usize], first, 32);
                turned.model(&bytes(&from)[whole as usize..], second, 32);
                assert!(
                    wanted.as_ref().map(|words| bytes(words)) == Ok(model),
                    "{case:?}: {:?}",
                    wanted.err()
                );
            }
            for (kind, engine) in &engines[1..] {
                let got = run(engine, &program, Isa::Fermi, (2, 32), &from, &to);
                assert!(
                    got == wanted,
                    "{case:?}, {shared}, {offset}, {kind}: {:?}, {:?}",
                    got.err(),
                    wanted.err()
                );
            }
        }
    }
}
