//! Tests accesses at 64-bit addresses that lie on lines, nearly on lines, or wrap somewhere among their lanes, against the interpreter.

use warpjit_backend::{Options, Shape};
use warpjit_ir::Function;
use warpjit_ir::text::parse_function;
use warpjit_ir::verify::verify;

use super::common::{Random, all_options, frame, read, write};
use super::{Memory, compiled, interpreted, seeds};

/// What an address is made of: `base`, plus or minus a word that is extended and shifted, plus `more`; then the highest bits ignored, then
/// relative to `start`.
#[derive(Debug)]
struct Line {
    /// What the word has more from lane to lane.
    step: i32,
    /// Whether code knows that.
    known: bool,
    signed: bool,
    by: u32,
    minus: bool,
    /// The high word comes from a slot of its own.
    joined: bool,
    more: i32,
    ignored: u32,
    start: u64,
    bytes: u32,
    load: bool,
    signed_load: bool,
    offset: i32,
    aligned: bool,
    guarded: bool,
}

/// Slots of the functions.
const WORD: usize = 0;
const BASE: usize = 1;
const VALUE: usize = 2;
const PART: usize = 3;
const LOADED: usize = 4;
const HIGH: usize = 5;

impl Line {
    fn random(random: &mut Random) -> Line {
        let bytes = [1, 2, 4, 4, 8, 8][random.below(6)];
        let ignored = [0, 0, 8, 16, 32][random.below(5)];
        let joined = random.below(6) == 0;
        Line {
            step: [0, 1, 1, 2, 3, 4, 8, 16, -1, -1, -2, -4][random.below(12)],
            known: random.below(4) != 0,
            signed: !joined && random.below(2) == 0,
            by: random.below(4) as u32,
            minus: !joined && random.below(6) == 0,
            joined,
            more: [0, 0, 4, -16, 100][random.below(5)],
            ignored,
            start: if ignored == 0 || random.below(2) == 0 { 0 } else { 0x31_0000_0000 >> (ignored / 2) },
            bytes,
            load: random.below(2) == 0,
            signed_load: random.below(2) == 0,
            offset: [0, 0, 8, 16, -8][random.below(5)],
            aligned: random.below(3) == 0,
            guarded: random.below(3) == 0,
        }
    }

    fn func(&self) -> Function {
        let value = if self.bytes == 8 { "i64" } else { "i32" };
        let mut text = format!(
            "function @line mask lanes 32 {{
                slot s0: i32 word
                slot s1: ui64 base
                slot s2: {value} value
                slot s3: mask part
                slot s4: {value} loaded
                slot s5: i32 high

            block0 at 0x0:
                v0: i32 = slot.get s0
                v1: ui64 = slot.get s1
                v2: {value} = slot.get s2
                v3: mask = slot.get s3
                v4: i64 = {} v0
                v5: ui64 = const {:#x}
                v6: ui64 = const {:#x}
                v7: ui64 = const {:#x}
                v8: ui64 = const {:#x}
                v9: i32 = slot.get s5
                v10: i64 = zext v9
                v11: ui64 = const 0x20
                v12: i64 = ishl v10, v11
                v13: i64 = ior v12, v4\n",
            if self.signed { "sext" } else { "zext" },
            self.by,
            i64::from(self.more),
            self.ignored,
            self.start,
        );
        let mut last = 13;
        let mut push = |line: String| {
            last += 1;
            text += &format!("                v{last}: i64 = {line}\n");
            last
        };
        let word = if self.joined { 13 } else { 4 };
        let mut at = push(format!("ishl v{word}, v5"));
        at = push(format!("{} v1, v{at}", if self.minus { "isub" } else { "iadd" }));
        at = push(format!("iadd v{at}, v6"));
        if self.ignored > 0 {
            at = push(format!("ishl v{at}, v7"));
            at = push(format!("sshr v{at}, v7"));
        }
        if self.start > 0 {
            at = push(format!("isub v{at}, v8"));
        }
        let bits = 8 * self.bytes;
        let sign = if self.load && self.signed_load && self.bytes < 4 { "s" } else { "u" };
        let offset =
            if self.offset < 0 { format!("- {:#x}", -self.offset) } else { format!("+ {:#x}", self.offset) };
        let align = if self.aligned { self.bytes } else { 1 };
        let guard = if self.guarded { " if v3" } else { "" };
        text += &match self.load {
            true => format!(
                "@0x10 v100: {value} = load.{sign}{bits} global0[v{at} {offset}] align {align}{guard}
                slot.set s4, v100\n"
            ),
            false => format!("@0x10 store.u{bits} global0[v{at} {offset}], v2 align {align}{guard}\n"),
        };
        let func = parse_function(&(text + "return 0\n}\n"), &[]).unwrap_or_else(|e| panic!("{self:?}: {e}"));
        verify(&func).expect("valid");
        func
    }

    /// The address, without the access's offset, of a word.
    fn address(&self, base: u64, word: u32, high: u32) -> u64 {
        let wide = match (self.joined, self.signed) {
            (true, _) => u64::from(word) | u64::from(high) << 32,
            (_, true) => word as i32 as i64 as u64,
            (_, false) => word.into(),
        } << self.by;
        let sum = if self.minus { base.wrapping_sub(wide) } else { base.wrapping_add(wide) };
        let sum = sum.wrapping_add(self.more as i64 as u64);
        (((sum << self.ignored) as i64 >> self.ignored) as u64).wrapping_sub(self.start)
    }

    /// Sets slots so that the first lane's address is `target`; gives which lanes take part.
    fn set(&self, func: &Function, random: &mut Random, target: u64, words: &mut [u32]) -> u32 {
        // Some wrap among the lanes, at the end of words or of signed words.
        let near = (random.below(34) as u32).wrapping_mul(self.step as u32).wrapping_neg();
        let first = match random.below(5) {
            0 => near,
            1 => near.wrapping_add(0x8000_0000),
            _ => random.next() as u32 & 0xffff,
        };
        let high = [0, 1, random.next() as u32][random.below(3)];
        let unmoved = self.address(0, first, high);
        let base = target.wrapping_sub(unmoved);
        // What is ignored may be anything.
        let tag = if self.ignored > 0 { random.next() << (64 - self.ignored) } else { 0 };
        let part = if self.guarded { random.next() as u32 | random.next() as u32 } else { u32::MAX };
        for lane in 0..32 {
            let word = first.wrapping_add((self.step as u32).wrapping_mul(lane as u32));
            // Where nobody knows, one may be elsewhere, and those that take no part may be anywhere.
            let word = match random.below(60) {
                0 if !self.known => word ^ 8,
                _ if !self.known && part >> lane & 1 == 0 => random.next() as u32,
                _ => word,
            };
            write(func, words, WORD, lane, word.into());
            write(func, words, HIGH, lane, high.into());
            write(func, words, VALUE, lane, random.next());
            write(func, words, PART, lane, u64::from(part >> lane & 1));
        }
        write(func, words, BASE, 0, base ^ tag);
        part
    }

    fn shapes(&self) -> (Vec<Option<Shape>>, Vec<Option<i32>>) {
        let shape = if self.step == 0 { Shape::Uniform } else { Shape::Affine(self.step) };
        let word = self.known.then_some(shape);
        let high = self.known.then_some(Shape::Uniform);
        let shapes = vec![word, Some(Shape::Uniform), None, None, None, high];
        let apart =
            vec![self.known.then_some(16 * self.step), Some(0), None, None, None, self.known.then_some(0)];
        (shapes, apart)
    }
}

/// `tame`: all that is accessed is there.
fn compare(tame: bool, count: u64) {
    let all = all_options();
    let (mut faults, mut wraps, mut on_lines) = (0, 0, 0);
    let mut seen = 0;
    for seed in seeds(count) {
        seen += 1;
        let mut random = Random(seed.wrapping_mul(0x1234_5678_9abd) ^ 0x77);
        let line = Line::random(&mut random);
        let func = line.func();
        let mut options: Options = all[seed as usize % all.len()].clone();
        // Unmapped pages are found by the table of pages here, not by signals.
        options.checked_memory = !options.wide_vectors && (!tame || seed % 3 == 0);
        if !tame && options.wide_vectors {
            continue;
        }
        (options.slot_shapes, options.apart) = line.shapes();
        for _ in 0..4 {
            let memory = Memory::new(&mut random, 32, if tame { 3 } else { 1 });
            let mut words = frame(&func);
            let target = match tame {
                true => 5000 + random.below(6000) as u64,
                false => (random.below(24_000) as u64).wrapping_sub(600),
            };
            // As the guest wants it, mostly.
            let target = if random.below(4) == 0 { target } else { target & !7 };
            let part = line.set(&func, &mut random, target, &mut words);
            let active = match random.below(3) {
                0 => random.next() as u32,
                _ => u32::MAX,
            };
            let taking = active & part;
            let addresses: Vec<u64> = (0..32)
                .map(|lane| {
                    let word = |slot| read(&func, &words, slot, lane);
                    line.address(read(&func, &words, BASE, 0), word(WORD) as u32, word(HIGH) as u32)
                })
                .collect();
            let inside = |lane: &usize| {
                let at = addresses[*lane].wrapping_add(line.offset as u64);
                at < 16_384 - 8 && (!line.aligned || at.is_multiple_of(line.bytes.into()))
            };
            let mine = || (0..32).filter(|&lane| taking >> lane & 1 != 0);
            if tame && !mine().all(|lane| inside(&lane)) {
                continue;
            }
            let even = addresses
                .windows(2)
                .all(|two| two[1].wrapping_sub(two[0]) == addresses[1].wrapping_sub(addresses[0]));
            (wraps, on_lines) = (wraps + u32::from(!even), on_lines + u32::from(even));
            let got = compiled(&func, &options, &words, &memory, active.into());
            let want = interpreted(&func, &options, &words, &memory, active.into());
            let say = || {
                format!(
                    "seed {seed} active {active:x} part {part:x} {addresses:x?} {line:?} {options:?}\n{func}"
                )
            };
            match (&got.result, &want.result) {
                (Err(a), Err(b)) => {
                    faults += 1;
                    assert_eq!((a.pc, a.space, a.store), (b.pc, b.space, b.store), "{}", say());
                    assert_eq!(a.lane, b.lane, "{a:?} {b:?} {}", say());
                    continue;
                }
                (a, b) => assert_eq!(a, b, "{}", say()),
            }
            for lane in mine() {
                let (a, b) = (read(&func, &got.frame, LOADED, lane), read(&func, &want.frame, LOADED, lane));
                assert_eq!(a, b, "lane {lane}: {}", say());
            }
            assert!(got.memory == want.memory, "memory: {}", say());
        }
    }
    assert!(seen < 100 || wraps > 20 && on_lines > 100, "{wraps} {on_lines}");
    assert!(seen < 100 || tame == (faults == 0) && (tame || faults > 100), "{faults}");
}

#[test]
fn lines_of_64_bits_are_as_lane_by_lane() {
    compare(true, 1200);
}

#[test]
fn faults_on_lines_of_64_bits_are_as_lane_by_lane() {
    compare(false, 600);
}
