//! Tests accesses whose addresses have a constant stride from lane to lane: contiguous, components of vectors of two or four, and
//! larger strides; with all lanes or some active; and with memory that ends within the access. Both tiers are compared with the
//! same computation in Rust, and their faults with each other.

use warpjit_runtime::{Isa, Program};
use warpjit_tests::arrays::{engines, program, random, run};
use warpjit_tests::gcn::one_wave;

const BLOCK: u32 = 64;

/// What a thread does: it takes `words` words, `1 << shift` bytes behind the thread's before and `offset` on, and stores each plus one
/// at the same place of another array, unless the first has one of the bits of `skipped`.
#[derive(Clone, Copy, Debug)]
struct Case {
    shift: u32,
    words: u32,
    offset: u32,
    skipped: u32,
    isa: Isa,
}

/// How instructions name so many words, and the registers for them.
fn width_and_vector(words: u32) -> (&'static str, &'static str) {
    match words {
        1 => ("b32", "$r4"),
        2 => ("b64", "$r4d"),
        _ => ("b128", "$r4q"),
    }
}

impl Case {
    fn program(self) -> Program {
        let Case { shift, words, offset, skipped, isa } = self;
        let (width, vector) = width_and_vector(words);
        let sums: String = (4..4 + words).map(|r| format!("add b32 $r{r} $r{r} 0x1\n")).collect();
        let text = match isa {
            Isa::Tesla => format!(
                "cvt u32 $r1 u16 $r0l\ncvt u32 $r2 u16 u16 s[0xc]\ncvt u32 $r3 u16 u16 s[0x2]\n\
                 add $r0 (mul u16 $r2l $r3l) $r1\nshl b32 $r0 $r0 {shift:#x}\nadd b32 $r0 $r0 {offset:#x}\n\
                 add b32 $r1 b32 s[0x10] $r0\nadd b32 $r0 b32 s[0x14] $r0\nld {width} {vector} g14[$r1]\n\
                 mov b32 $r2 {skipped:#x}\nand b32 $c0 # $r4 $r2\n{sums}\
                 (e $c0) st {width} g14[$r0] {vector}\nexit nop\n"
            ),
            _ => format!(
                "mov b32 $r0 $ctaidx\nmov b32 $r2 $tidx\nadd $r0 (mul u32 $r0 u32 c0[0x8]) $r2\nmov b32 $r3 {:#x}\n\
                 add $r8 $c (mul u32 $r0 u32 $r3) c0[0x20]\nadd $r9 (mul high u32 $r0 u32 $r3) c0[0x24] $c\n\
                 add $r10 $c (mul u32 $r0 u32 $r3) c0[0x28]\nadd $r11 (mul high u32 $r0 u32 $r3) c0[0x2c] $c\n\
                 ld {width} {vector} ca g[$r8d+{offset:#x}]\nand b32 $r2 $r4 {skipped:#x}\n\
                 set $p0 0x1 eq s32 $r2 0x0\n{sums}$p0 st {width} wb g[$r10d+{offset:#x}] {vector}\nexit\n",
                1 << shift
            ),
        };
        program(&text, isa, None)
    }

    /// What an array is behind, whose words were `to`, by one whose words are `from`, if these are all of the threads'.
    fn model(self, from: &[u32], to: &mut [u32], threads: u32) {
        for thread in 0..threads {
            let first = ((thread << self.shift) + self.offset) as usize / 4;
            if from[first] & self.skipped == 0 {
                for word in first..first + self.words as usize {
                    to[word] = from[word].wrapping_add(1);
                }
            }
        }
    }
}

/// All distances, widths and components of them, of both kinds of addresses.
fn cases() -> Vec<Case> {
    let mut list = Vec::new();
    for isa in [Isa::Tesla, Isa::Fermi] {
        for shift in 2..7 {
            for words in [1, 2, 4] {
                for offset in (0..1u32 << shift).step_by(words as usize * 4) {
                    for skipped in [0, 1] {
                        list.push(Case { shift, words, offset, skipped, isa });
                    }
                }
            }
        }
    }
    list
}

#[test]
fn words_of_each_lane() {
    let engines = engines();
    for case in cases() {
        // Wide accesses of words side by side are not aligned: that is for the faults.
        if 1 << case.shift < case.words * 4 {
            continue;
        }
        let program = case.program();
        let (blocks, threads) = (3, 3 * BLOCK);
        let words = (threads << case.shift) as usize / 4;
        let (from, to) = (random(words, 1), random(words, 2));
        let mut wanted = to.clone();
        case.model(&from, &mut wanted, threads);
        for (kind, engine) in &engines {
            let got = run(engine, &program, case.isa, (blocks, BLOCK), &from, &to);
            assert!(got.as_ref() == Ok(&wanted), "{case:?}, {kind}: {:?}", got.err());
        }
    }
}

/// Memory ends behind some lane's words, or accesses are not aligned: all tiers say where.
#[test]
fn faults_of_lanes_apart() {
    let engines = engines();
    let mut faults = 0;
    for case in cases() {
        let program = case.program();
        // Pages end behind a part of the threads: one of the arrays is a page, the other longer.
        let threads = (4096u32 >> case.shift) + 40;
        let blocks = threads.div_ceil(BLOCK);
        let all = ((blocks * BLOCK + 1) << case.shift) as usize / 4 + 16;
        let long = random(all, 3);
        for (from, to) in [(&long[..1024], &long[..]), (&long[..], &long[..1024])] {
            let wanted = run(&engines[0].1, &program, case.isa, (blocks, BLOCK), from, to);
            faults += u32::from(wanted.is_err());
            for (kind, engine) in &engines[1..] {
                let got = run(engine, &program, case.isa, (blocks, BLOCK), from, to);
                assert!(got == wanted, "{case:?}, {kind}: {:?}, not {:?}", got.err(), wanted.err());
            }
        }
    }
    assert!(faults > 200, "{faults} programs fault");
}

/// Words that go through shared memory, of which there is enough or not: a thread stores its words, or not, and loads them back.
fn through_shared(shift: u32, words: u32, offset: u32, skipped: u32, bytes: u32) -> Program {
    let (width, vector) = width_and_vector(words);
    let sums: String = (4..4 + words).map(|r| format!("add b32 $r{r} $r{r} 0x1\n")).collect();
    let text = format!(
        "mov b32 $r0 $ctaidx\nmov b32 $r2 $tidx\nshl b32 $r12 $r2 {shift:#x}\nadd $r0 (mul u32 $r0 u32 c0[0x8]) $r2\n\
         mov b32 $r3 {:#x}\nadd $r8 $c (mul u32 $r0 u32 $r3) c0[0x20]\nadd $r9 (mul high u32 $r0 u32 $r3) c0[0x24] $c\n\
         add $r10 $c (mul u32 $r0 u32 $r3) c0[0x28]\nadd $r11 (mul high u32 $r0 u32 $r3) c0[0x2c] $c\n\
         ld {width} {vector} ca g[$r8d+{offset:#x}]\nand b32 $r2 $r4 {skipped:#x}\nset $p0 0x1 eq s32 $r2 0x0\n\
         $p0 st {width} s[$r12+{offset:#x}] {vector}\nld {width} {vector} s[$r12+{offset:#x}]\n{sums}\
         st {width} wb g[$r10d+{offset:#x}] {vector}\nexit\n",
        1 << shift
    );
    program(&text, Isa::Fermi, Some(bytes))
}

#[test]
fn words_of_shared_memory() {
    let engines = engines();
    for case in cases().into_iter().filter(|case| case.isa == Isa::Fermi) {
        let Case { shift, words, offset, skipped, .. } = case;
        if 1 << shift < words * 4 {
            continue;
        }
        let whole = BLOCK << shift;
        // All of it, exactly up to the last word, and half of it, where compiled code has to see that there is no more.
        for bytes in [whole, whole - (1 << shift) + offset + words * 4, whole / 2] {
            let program = through_shared(shift, words, offset, skipped, bytes);
            let all = (2 * whole) as usize / 4;
            let (from, to) = (random(all, 4), random(all, 5));
            let wanted = run(&engines[0].1, &program, Isa::Fermi, (2, BLOCK), &from, &to);
            if bytes >= whole && skipped == 0 {
                let mut model = to.clone();
                case.model(&from, &mut model, 2 * BLOCK);
                assert!(wanted.as_ref() == Ok(&model), "{case:?}: {:?}", wanted.err());
            }
            for (kind, engine) in &engines[1..] {
                let got = run(engine, &program, Isa::Fermi, (2, BLOCK), &from, &to);
                assert!(
                    got == wanted,
                    "{case:?}, {bytes} bytes, {kind}: {:?}, {:?}",
                    got.err(),
                    wanted.err()
                );
            }
        }
    }
}

/// Sixteen bytes a lane, at an offset that passes a minimum, so that only a test at run time tells how lanes lie: the last half of the wave
/// has one place. Aligned as the access is, and by four only.
#[test]
fn four_words_at_a_time_at_a_tested_offset() {
    for (more, last) in [(0, 0x1f0), (4, 0x1e0)] {
        let text = format!(
            "v_lshlrev_b32 v4, 4, v0
            s_movk_i32 s8, 0x{last:x}
            v_min_i32 v4, s8, v4
            global_load_dwordx4 v[8:11], v4, s[0:1] offset:{more}
            s_waitcnt vmcnt(0)
            v_add_u32 v8, 1, v8
            v_add_u32 v9, 2, v9
            v_add_u32 v10, 3, v10
            v_add_u32 v11, 4, v11
            global_store_dwordx4 v4, v[8:11], s[0:1] offset:{}",
            512 + more
        );
        let (first, count) = (more / 4, last / 4 + 4);
        one_wave::check(&text, |n| match n.checked_sub(128 + first) {
            Some(word) if word < count => 1000 + first + word + 1 + word % 4,
            _ => 1000 + n,
        });
    }
}
