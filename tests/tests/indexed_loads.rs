//! Tests products with rows of a sparse matrix. Each lane's loop loads an index, the value beside it, and the element at that
//! index; lanes leave the loop after different numbers of iterations. All tiers are compared with the same computation in Rust,
//! and their faults with each other.

use std::collections::HashSet;

use warpjit_runtime::{Isa, Program};
use warpjit_tests::arrays::{engines, program, random, run};

const BLOCKS: u32 = 3;
const BLOCK: u32 = 64;
const THREADS: usize = (BLOCKS * BLOCK) as usize;

/// Where the lists are in the array, in bytes: first where each thread's row begins and ends; the last ends with it.
const ENDS: usize = 0x800;
const INDICES: usize = 0x1000;
const VALUES: usize = 0x5000;
const ELEMENTS: usize = 0x9000;
const MIDDLE: usize = 0xd000;
const END: usize = 0x11000;
/// How far in front of index 0 the elements are, where indices are signed.
const FAR: u32 = 0x1_0000;
/// Entries of the lists.
const ENTRIES: usize = (VALUES - INDICES) / 4;

/// What a loop is like.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// Bytes from element to element, as a power of two.
    shift: u32,
    /// Whether indices are signed.
    signed: bool,
    /// Whether a value stands beside each index.
    values: bool,
    /// Whether the value is loaded from entries before.
    back: bool,
    /// Whether only some lanes load an element.
    some: bool,
}

impl Case {
    /// Where the element with index 0 would be: there is none if there are indices below zero.
    fn first_element(self) -> usize {
        if self.signed { MIDDLE + ((FAR as usize) << self.shift) } else { ELEMENTS }
    }

    fn program(self) -> Program {
        let Case { shift, signed, values, back, some } = self;
        let value = if back { VALUES - 4 } else { VALUES };
        let load =
            if values { format!("ld b32 $r7 ca g[$r10d+{value:#x}]\n") } else { "mov b32 $r7 0x5\n".into() };
        let signed = if signed { "s32" } else { "u32" };
        let (middle, scale) = (self.first_element(), 1 << shift);
        let (test, guard) = match some {
            true => ("and b32 $r17 $r4 0x1\nset $p1 0x1 eq s32 $r17 0x0\n", "$p1 "),
            false => ("", ""),
        };
        let text = format!(
            "mov b32 $r0 $ctaidx\nmov b32 $r2 $tidx\nadd $r0 (mul u32 $r0 u32 c0[0x8]) $r2\nmov b32 $r3 0x4\n\
             mov b32 $r16 {scale:#x}\nadd $r8 $c (mul u32 $r0 u32 $r3) c0[0x20]\n\
             add $r9 (mul high u32 $r0 u32 $r3) c0[0x24] $c\nld b32 $r4 ca g[$r8d]\nld b32 $r5 ca g[$r8d+{ENDS:#x}]\n\
             add $r10 $c (mul u32 $r4 u32 $r3) c0[0x20]\nadd $r11 (mul high u32 $r4 u32 $r3) c0[0x24] $c\n\
             mov b32 $r12 0x0\nmov b32 $r13 0x11\njoinat #end\nset $p0 0x1 ge s32 $r4 $r5\n$p0 bra #out\n\
             loop:\n{test}ld b32 $r6 ca g[$r10d+{INDICES:#x}]\n{load}\
             add $r14 $c (mul u32 $r6 u32 $r16) c0[0x20]\n\
             add $r15 (mul high {signed} $r6 {signed} $r16) c0[0x24] $c\nmov b32 $r18 0x0\n\
             {guard}ld b32 $r18 ca g[$r14d+{middle:#x}]\nadd $r12 (mul u32 $r12 u32 $r13) $r18\n\
             xor b32 $r12 $r12 $r7\nadd b32 $r4 $r4 0x1\nadd b32 $r10 $c $r10 0x4\nadd b32 $r11 $r11 0x0 $c\n\
             set $p0 0x1 lt s32 $r4 $r5\n$p0 bra #loop\nout:\njoin nop\nend:\n\
             add $r8 $c (mul u32 $r0 u32 $r3) c0[0x28]\nadd $r9 (mul high u32 $r0 u32 $r3) c0[0x2c] $c\n\
             st b32 wb g[$r8d] $r12\nexit\n"
        );
        program(&text, Isa::Fermi, None)
    }

    /// The array: rows of so many entries at most, and indices of elements that are all there; behind each row is one that leads nowhere.
    fn array(self, most: u32, seed: u64) -> Vec<u32> {
        let mut array = random(END / 4, seed);
        let mut row = 1;
        let mut behind = Vec::new();
        for (thread, lengths) in random(THREADS, seed + 1).into_iter().enumerate() {
            array[thread] = row;
            // Some rows have nothing, some are long.
            row += lengths % (most + 1) * u32::from(lengths >> 16 & 7 != 0);
            array[ENDS / 4 + thread] = row;
            behind.push(INDICES / 4 + row as usize);
            row += 1;
        }
        assert!((row as usize) < ENTRIES);
        let elements = ((END - ELEMENTS) >> self.shift) as u32;
        for index in &mut array[INDICES / 4..VALUES / 4] {
            // Of elements at any bytes as far as they are aligned.
            *index = (*index % (elements - 3)) & (u32::MAX << 2u32.saturating_sub(self.shift));
            if self.signed {
                *index = index.wrapping_sub(elements / 2 + FAR);
            }
        }
        behind.into_iter().for_each(|entry| array[entry] = 0x7fff_ff00);
        array
    }

    /// What the threads leave.
    fn model(self, array: &[u32]) -> Vec<u32> {
        let row = |thread: usize| {
            let mut sum = 0u32;
            for entry in array[thread] as usize..array[ENDS / 4 + thread] as usize {
                let index = array[INDICES / 4 + entry] as i32;
                let place = (self.first_element() as i64 + (i64::from(index) << self.shift)) as usize;
                let element = if self.some && entry & 1 != 0 { 0 } else { array[place / 4] };
                let value = match (self.values, self.back) {
                    (true, back) => array[VALUES / 4 + entry - usize::from(back)],
                    _ => 5,
                };
                sum = (sum.wrapping_mul(0x11).wrapping_add(element)) ^ value;
            }
            sum
        };
        (0..THREADS).map(row).collect()
    }
}

fn cases() -> Vec<Case> {
    let flags = [false, true];
    let mut list = Vec::new();
    for shift in 0..4 {
        for signed in flags {
            for (values, back) in [(false, false), (true, false), (true, true)] {
                list.extend(flags.map(|some| Case { shift, signed, values, back, some }));
            }
        }
    }
    list
}

#[test]
fn rows_of_any_length() {
    let engines = engines();
    for (number, case) in cases().into_iter().enumerate() {
        let program = case.program();
        for (most, seed) in [(1, 1), (4, 2), (17, 3), (17, 4)] {
            let from = case.array(most, 100 * number as u64 + seed);
            let to = vec![0; THREADS];
            let wanted = case.model(&from);
            for (kind, engine) in &engines {
                let got = run(engine, &program, Isa::Fermi, (BLOCKS, BLOCK), &from, &to);
                assert!(got.as_ref() == Ok(&wanted), "{case:?}, {most}, {kind}: {:?}", got.err());
            }
        }
    }
}

/// One thread's entry leads elsewhere or nowhere, is not aligned, or there is none: all tiers fault alike, if they do.
#[test]
fn one_of_the_lanes_faults() {
    let engines = engines();
    let mut addresses = HashSet::new();
    let mut compare = |case: Case, program: &Program, from: &[u32]| {
        let to = vec![0; THREADS];
        let mut wanted = None;
        for (kind, engine) in &engines {
            let got = run(engine, program, Isa::Fermi, (BLOCKS, BLOCK), from, &to);
            let wanted = wanted.get_or_insert_with(|| got.clone());
            assert!(got == *wanted, "{case:?}, {kind}: {:?}, not {:?}", got.err(), wanted.as_ref().err());
        }
        addresses.extend(wanted.and_then(Result::err).map(|fault| fault.address));
    };
    for (number, case) in cases().into_iter().enumerate() {
        let program = case.program();
        let mut from = case.array(12, 7 * number as u64);
        // A row in the midst of others, and an entry of it whose element is loaded.
        let row = (20 + number % 32..).find(|&row| from[ENDS / 4 + row] - from[row] > 3).unwrap();
        let entry = INDICES / 4 + (from[row] as usize + 2) / 2 * 2;
        let index = from[entry];
        for wild in [0x7fff_fff0, 0x8000_0000, 0xffff_fff0, 0x0010_0000, 0xfff0_0000, 0x2000_0001] {
            from[entry] = wild;
            compare(case, &program, &from);
        }
        from[entry] = index;
        // The row's own entries are behind the array, or far away.
        for begin in [(END - INDICES) as u32 / 4 - 3, 0x3000_0000, 0x7fff_fff0, 0x8000_0010, 0xf000_0000] {
            (from[row], from[ENDS / 4 + row]) = (begin, begin + 8);
            compare(case, &program, &from);
        }
    }
    assert!(addresses.len() > 50, "{} addresses", addresses.len());
}
