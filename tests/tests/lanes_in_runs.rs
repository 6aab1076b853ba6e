//! Tests accesses that are contiguous in each 8 or each 4 lanes only, as in blocks that are 8 or 12 wide. These runs are at a
//! distance, adjacent, overlapping, or equal, with all lanes or some active. Also tests blocks 16 wide, in which consecutive
//! vectors of 16 lanes differ by a known constant. All tiers are compared with the same computation in Rust, and their faults
//! with each other.

use warpjit_runtime::{Engine, Isa, Program};
use warpjit_tests::arrays::{engines, program, random, run, run_rows, some_of};

const BLOCK: u32 = 64;

/// What a thread does: of the element that it has by its place in its run, and by the run, it takes `bytes` and stores them, each word plus
/// one, at the same place of another array, unless the first has one of the bits of `skipped`.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// Threads of a run: 8 or 4.
    run: u32,
    bytes: u32,
    /// Elements from run to run.
    pitch: u32,
    /// Elements that each lane has more in odd runs, so that these do not lie side by side.
    odd: u32,
    skipped: u32,
    /// What the addresses of both arrays have more: not aligned, or beyond the address space.
    moved: u64,
    /// Every other run takes no part, and its addresses are none of the host's.
    wild: bool,
}

impl Case {
    fn program(self) -> Program {
        let Case { run, bytes, pitch, odd, skipped, moved, wild } = self;
        let (low, high) = (moved as u32, moved >> 32);
        let moved = [8, 10]
            .map(|r| format!("add b32 $r{r} $r{r} {low:#x}\nadd b32 $r{0} $r{0} {high:#x}\n", r + 1))
            .concat();
        let (wild, reads, also) = match wild {
            // What the upper halves have more is not known until the code runs.
            true => (
                format!(
                    "and b32 $r13 $r6 {:#x}\nmov b32 $r12 0x6f56df77\nmul $r12 u32 $r13 u32 $r12\nadd b32 $r9 $r9 $r12\n\
                     add b32 $r11 $r11 $r12\nset $p1 0x1 eq s32 $r13 0x0\nmov b32 $r4 0x0\nmov b32 $r5 0x0\n",
                    run
                ),
                "$p1 ",
                "or b32 $r2 $r2 $r13\n",
            ),
            false => Default::default(),
        };
        let (shift, within) = (run.trailing_zeros(), run - 1);
        let (width, vector) = if bytes == 4 { ("b32", "$r4") } else { ("b64", "$r4d") };
        let sums: String = (4..4 + bytes / 4).map(|r| format!("add b32 $r{r} $r{r} 0x1\n")).collect();
        let text = format!(
            "mov b32 $r0 $ctaidx\nmov b32 $r2 $tidx\nadd $r6 (mul u32 $r0 u32 c0[0x8]) $r2\nshr u32 $r3 $r6 clamp {shift:#x}\n\
             and b32 $r0 $r6 {within:#x}\nmov b32 $r7 {pitch:#x}\nand b32 $r12 $r3 0x1\nadd $r3 (mul u32 $r3 u32 $r7) $r0\n\
             mov b32 $r7 {odd:#x}\nmul $r12 u32 $r12 u32 $r7\nadd $r0 (mul u32 $r12 u32 $r0) $r3\n\
             mov b32 $r3 {bytes:#x}\nadd $r8 $c (mul u32 $r0 u32 $r3) c0[0x20]\nadd $r9 (mul high u32 $r0 u32 $r3) c0[0x24] $c\n\
             add $r10 $c (mul u32 $r0 u32 $r3) c0[0x28]\nadd $r11 (mul high u32 $r0 u32 $r3) c0[0x2c] $c\n\
             {moved}{wild}{reads}ld {width} {vector} ca g[$r8d]\nand b32 $r2 $r4 {skipped:#x}\n{also}set $p0 0x1 eq s32 $r2 0x0\n{sums}\
             $p0 st {width} wb g[$r10d] {vector}\nexit\n"
        );
        program(&text, Isa::Fermi, None)
    }

    /// The word where a thread's element begins.
    fn place(self, thread: u32) -> usize {
        let (run, lane) = (thread / self.run, thread % self.run);
        ((run * self.pitch + lane + run % 2 * self.odd * lane) * self.bytes / 4) as usize
    }

    /// What an array is behind, whose words were `to`, by one whose words are `from`.
    fn model(self, from: &[u32], to: &mut [u32], threads: u32) {
        let takes_part = |thread: &u32| !self.wild || thread & self.run == 0;
        for place in (0..threads).filter(takes_part).map(|thread| self.place(thread)) {
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
    for (run, bytes) in [(8, 4), (8, 8), (4, 4), (4, 8)] {
        for pitch in [0, 3, 4, 8, 12, 100] {
            for odd in [0, 1] {
                let skipped = [(0, false), (1, false), (0x7000, false), (0, true), (0x7000, true)];
                list.extend(skipped.map(|(skipped, wild)| Case {
                    run,
                    bytes,
                    pitch,
                    odd,
                    skipped,
                    moved: 0,
                    wild,
                }));
            }
        }
    }
    list
}

#[test]
fn runs_side_by_side() {
    let engines = engines();
    for case in some_of(cases(), 3) {
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

/// Memory ends in the midst of some run: all tiers say where.
#[test]
fn faults_of_runs() {
    let engines = engines();
    let mut faults = 0;
    for case in some_of(cases(), 3) {
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
    assert!(faults > 13, "{faults} programs fault");
}

/// Addresses that are none.
#[test]
fn runs_of_no_addresses() {
    let engines = engines();
    let words = random(4096, 4);
    let even = cases().into_iter().filter(|case| case.odd == 0).collect();
    for case in some_of(even, 3) {
        for moved in [1, 2, 1 << 33, 1 << 40] {
            let program = Case { moved, ..case }.program();
            let wanted = run(&engines[0].1, &program, Isa::Fermi, (1, BLOCK), &words, &words);
            assert!(wanted.is_err(), "{case:?} {moved:#x}");
            for (kind, engine) in &engines[1..] {
                let got = run(engine, &program, Isa::Fermi, (1, BLOCK), &words, &words);
                assert!(
                    got == wanted,
                    "{case:?} {moved:#x}, {kind}: {:?}, not {:?}",
                    got.err(),
                    wanted.err()
                );
            }
        }
    }
}

/// Blocks of some lines, so many threads in each: a thread takes the one, two or four `words` at `start` plus its place
/// in rows of `pitch` words, and adds one to the first.
#[derive(Clone, Copy, Debug)]
struct Lines {
    /// Tesla's addresses have 32 bits; there, threads are skipped by `tid.x`, and pitches have 16 bits.
    isa: Isa,
    width: u32,
    height: u32,
    words: u32,
    pitch: u32,
    /// The launch says the pitch, not the code.
    told: bool,
    start: u32,
    skipped: u32,
    /// Those whose place is below zero end; else they are beyond all memory.
    end: bool,
}

const LINE_BLOCKS: u32 = 3;
/// Lines from block to block.
const BLOCK_LINES: u32 = 16;

impl Lines {
    fn program(self) -> Program {
        let Lines { isa, words, pitch, told, start, skipped, end, .. } = self;
        if isa == Isa::Tesla {
            return self.tesla();
        }
        let end = if end { "set $p1 0x1 lt s32 $r0 0x0\n$p1 exit\n" } else { "" };
        let (bits, vector) = match words {
            1 => ("b32", "$r4"),
            2 => ("b64", "$r4d"),
            _ => ("b128", "$r4q"),
        };
        let pitch = if told { "c0[0x30]".into() } else { format!("{pitch:#x}") };
        let text = format!(
            "mov b32 $r0 $ctaidx\nmov b32 $r1 $tidy\nmov b32 $r2 $tidx\nshl b32 $r2 $r2 {:#x}\nmov b32 $r3 {:#x}\nmov b32 $r7 {pitch}\n\
             add $r1 (mul u32 $r0 u32 $r3) $r1\nmov b32 $r3 0x4\nadd $r0 (mul u32 $r1 u32 $r7) $r2\nmov b32 $r7 {start:#x}\n\
             add b32 $r0 $r0 $r7\n{end}add $r8 $c (mul u32 $r0 u32 $r3) c0[0x20]\n\
             add $r9 (mul high u32 $r0 u32 $r3) c0[0x24] $c\nadd $r10 $c (mul u32 $r0 u32 $r3) c0[0x28]\n\
             add $r11 (mul high u32 $r0 u32 $r3) c0[0x2c] $c\nld {bits} {vector} ca g[$r8d]\nand b32 $r2 $r4 {skipped:#x}\n\
             set $p0 0x1 eq s32 $r2 0x0\nadd b32 $r4 $r4 0x1\n$p0 st {bits} wb g[$r10d] {vector}\nexit\n",
            words.trailing_zeros(),
            BLOCK_LINES
        );
        program(&text, Isa::Fermi, None)
    }

    fn tesla(self) -> Program {
        let Lines { words, pitch, told, start, skipped, .. } = self;
        let (bits, vector) = if words == 1 { ("b32", "$r4") } else { ("b128", "$r4q") };
        let pitch = if told { "b32 $r3 b32 s[0x18]".into() } else { format!("b32 $r3 {pitch:#x}") };
        let text = format!(
            "cvt u32 $r1 u16 $r0l\nand b32 $r8 $r1 {skipped:#x}\nmov b32 $r9 0x0\nset $c0 # e u32 $r8 $r9\nshl b32 $r1 $r1 {:#x}\ncvt u32 $r5 u16 $r0h\ncvt u32 $r2 u16 u16 s[0xc]\nshl b32 $r2 $r2 0x4\n\
             mov {pitch}\nadd $r1 (mul u16 $r5l $r3l) $r1\nadd $r1 (mul u16 $r2l $r3l) $r1\nmov b32 $r2 {start:#x}\n\
             add b32 $r1 $r1 $r2\nshl b32 $r0 $r1 0x2\nadd b32 $r1 b32 s[0x10] $r0\nadd b32 $r0 b32 s[0x14] $r0\n\
             (lg $c0) ld {bits} {vector} g14[$r1]\nadd b32 $r4 $r4 0x1\n(lg $c0) st {bits} g14[$r0] {vector}\nexit nop\n",
            words.trailing_zeros()
        );
        program(&text, Isa::Tesla, None)
    }

    /// Where threads' words begin, of those that take part.
    fn places(self) -> Vec<u32> {
        let Lines { isa, width, height, words, pitch, start, skipped, end, .. } = self;
        let takes = move |x: &u32| isa != Isa::Tesla || x & skipped == 0;
        let line = |n: u32| (n / height * BLOCK_LINES + n % height).wrapping_mul(pitch);
        let lines = 0..LINE_BLOCKS * height;
        let all = lines.flat_map(|n| {
            (0..width).filter(takes).map(move |x| start.wrapping_add(line(n)).wrapping_add(x * words))
        });
        all.filter(|&place| !end || place as i32 >= 0).collect()
    }
}

fn wide_lines() -> Vec<Lines> {
    let mut list = Vec::new();
    for (width, height) in [(16, 4), (8, 8), (4, 16), (8, 3), (12, 5)] {
        for words in [1, 2, 4] {
            for pitch in [0, 8, 16, 21, 32, 1024, 1 << 18, 1 << 30, u32::MAX - 15] {
                let two_before = u32::MAX.wrapping_sub(pitch.wrapping_mul(2));
                for start in [0, 5, 1000, 16 * 11, u32::MAX - 20, two_before] {
                    for (told, end) in [(false, false), (true, false), (true, true)] {
                        let (isa, skipped) = (Isa::Fermi, u32::from(end));
                        list.push(Lines { isa, width, height, words, pitch, told, start, skipped, end });
                    }
                }
            }
        }
    }
    list
}

fn narrow_lines() -> Vec<Lines> {
    let mut list = Vec::new();
    let (isa, end) = (Isa::Tesla, false);
    let sizes = [(16, 4, 1), (8, 8, 1), (4, 16, 1), (16, 4, 4), (8, 8, 4), (4, 16, 4), (8, 3, 4), (4, 9, 1)];
    for (width, height, words) in sizes {
        for pitch in [0, 8, 16, 21, 1024, 0x4001, 0xffff] {
            for start in [0, 5, 1000, u32::MAX - 20, 0x4000_0000, 0x3fff_fff0, 0x3fff_0000] {
                for (told, skipped) in [(false, 0), (true, 0), (false, 2), (true, 5)] {
                    list.push(Lines { isa, width, height, words, pitch, told, start, skipped, end });
                }
            }
        }
    }
    list
}

/// All there, memory that ends in a line or between two, indices that wrap within a block, and double words of which a line's do not lie at
/// multiples of eight.
#[test]
fn lines_at_a_distance() {
    let engines = engines();
    let faults: u32 = some_of(wide_lines(), 7).map(|lines| along(&engines, lines)).sum();
    assert!(faults > 100, "{faults} launches fault");
}

#[test]
fn lines_at_32_bit_addresses() {
    let engines = engines();
    let faults: u32 = some_of(narrow_lines(), 5).map(|lines| along(&engines, lines)).sum();
    assert!(faults > 10, "{faults} launches fault");
}

/// Launches of lines; how many of them fault.
fn along(engines: &[(String, Engine)], lines: Lines) -> u32 {
    let places = lines.places();
    let words = lines.words as usize;
    let last = places.iter().max().map_or(0, |&last| last as usize) + words;
    let all = if last <= 1 << 16 { last } else { 3000 };
    let random = random(all, 7);
    let aligned = places.iter().all(|place| place % lines.words == 0);
    let program = lines.program();
    let mut faults = 0;
    for length in [all, all.min(1024), all.min(2048)] {
        let (from, to) = (&random[..length], &random[..all]);
        let shape = (LINE_BLOCKS, [lines.width, lines.height]);
        let run = |engine| run_rows(engine, &program, lines.isa, shape, &[lines.pitch], [from, to]);
        let wanted = run(&engines[0].1);
        faults += u32::from(wanted.is_err());
        if length == last {
            let mut model = to.to_vec();
            // The last thread's words are what is there, where some lie over each other.
            for place in places
                .iter()
                .map(|&place| place as usize)
                .filter(|&at| lines.isa == Isa::Tesla || from[at] & lines.skipped == 0)
            {
                model[place..place + words].copy_from_slice(&from[place..place + words]);
                model[place] = from[place].wrapping_add(1);
            }
            assert_eq!(wanted.as_ref().ok(), aligned.then_some(&model), "{lines:?}");
        }
        for (kind, engine) in &engines[1..] {
            let got = run(engine);
            // Of several lanes' faults, the one that is not at a multiple may be named before one without memory.
            let same = match (&got, &wanted) {
                (Err(got), Err(wanted)) if !aligned && length != last => {
                    (got.kind, got.pc) == (wanted.kind, wanted.pc)
                }
                _ => got == wanted,
            };
            assert!(same, "{lines:?} {length} {kind}: {:?}, not {:?}", got.err(), wanted.as_ref().err());
        }
    }
    faults
}
