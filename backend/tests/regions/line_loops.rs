//! Tests loops whose lanes carry pointers that start on lines and advance, all by one step or each by its own, and masks of lanes that are
//! compared with a limit. The pass that takes such pointers apart has run on what is compiled, and not on what is interpreted.

use warpjit_backend::{Options, Shape};
use warpjit_ir::Function;
use warpjit_ir::passes::{advances, dce, gvn, licm, pipeline};
use warpjit_ir::text::parse_function;
use warpjit_ir::verify::verify;

use super::common::{Random, all_options, frame, read, write};
use super::{Memory, compiled, interpreted, seeds};

/// How a loop ends for a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// The pointer is compared with a limit.
    Pointer,
    /// A word on a line is.
    Word,
    /// Each lane has a number of iterations.
    Count,
}

#[derive(Debug)]
struct Loop {
    lanes: u32,
    /// What the start's word has more from lane to lane.
    stride: i32,
    signed: bool,
    /// Whether the word is multiplied by something that all lanes share.
    factor: bool,
    by: u32,
    minus: bool,
    bytes: u32,
    loads: bool,
    stores: bool,
    /// Whether the step is the same for all lanes.
    uniform: bool,
    back: bool,
    /// Lanes that have left keep their pointer.
    kept: bool,
    end: End,
    condition: &'static str,
    limit_first: bool,
    /// What becomes of the mask besides the loop: it is stored, selects, both or nothing.
    selects: bool,
    stored: bool,
    aligned: bool,
    /// Which lanes take part is told by the bits of a scalar.
    part_bits: bool,
}

const WORD: usize = 0;
const BASE: usize = 1;
const VALUE: usize = 2;
const PART: usize = 3;
const SUM: usize = 4;
const STEP: usize = 5;
const COUNT: usize = 6;
const FACTOR: usize = 7;
const LIMIT: usize = 8;
const LAST: usize = 9;
const MASK: usize = 10;
const LIMIT_WORD: usize = 11;
const PARTS: usize = 12;

/// Most iterations.
const MOST: u32 = 5;

impl Loop {
    fn random(random: &mut Random) -> Loop {
        let mut any = |list: &[i32]| list[random.below(list.len())];
        let bytes = any(&[1, 2, 4, 4, 8]) as u32;
        let conditions = ["ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge", "eq", "ne"];
        Loop {
            lanes: any(&[32, 32, 64]) as u32,
            stride: any(&[1, 1, 2, 4, -1, 3]),
            signed: any(&[0, 1]) == 1,
            factor: any(&[0, 0, 1]) == 1,
            by: any(&[0, 1, 2, 2, 3]) as u32,
            minus: any(&[0, 0, 0, 1]) == 1,
            bytes,
            loads: any(&[0, 1, 1]) == 1,
            stores: any(&[0, 1, 1]) == 1,
            uniform: any(&[0, 1, 1, 1]) == 1,
            back: any(&[0, 0, 1]) == 1,
            kept: any(&[0, 0, 0, 1]) == 1,
            end: [End::Pointer, End::Word, End::Count][any(&[0, 1, 2]) as usize],
            condition: conditions[any(&[0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) as usize],
            limit_first: any(&[0, 1]) == 1,
            selects: any(&[0, 0, 1]) == 1,
            stored: any(&[0, 0, 1]) == 1,
            aligned: any(&[0, 0, 1]) == 1,
            part_bits: any(&[0, 1]) == 1,
        }
    }

    fn func(&self) -> Function {
        let wide = if self.bytes == 8 { "i64" } else { "i32" };
        let step = if self.uniform { "ui64" } else { "i64" };
        let mut text = format!(
            "function @loop mask lanes {} {{
                slot s0: i32 word
                slot s1: ui64 base
                slot s2: {wide} value
                slot s3: mask part
                slot s4: {wide} sum
                slot s5: {step} step
                slot s6: i32 count
                slot s7: ui64 factor
                slot s8: ui64 limit
                slot s9: i64 last
                slot s10: mask mask
                slot s11: ui32 limit_word
                slot s12: ui64 parts

            block0 at 0x0:
                v0: i32 = slot.get s0
                v1: ui64 = slot.get s1
                v2: {wide} = slot.get s2
                v3: mask = slot.get s3
                v4: {step} = slot.get s5
                v5: i32 = slot.get s6
                v6: ui64 = slot.get s7
                v40: ui64 = slot.get s12
                v7: ui64 = slot.get s8
                v8: ui32 = slot.get s11
                v9: ui64 = const {:#x}
                v10: ui32 = const 0
                v11: ui32 = const 1
                v12: ui32 = const {MOST}
                v13: i64 = {} v0
                v14: i64 = {}
                v15: i64 = ishl v14, v9
                v16: i64 = {} v1, v15
                v17: mask = active
                v18: mask = {}
                v19: mask = iand v17, v18
                jump block1(v16, v10, v19, v2)

            block1(v20: i64, v21: ui32, v22: mask, v23: {wide}) at 0x8:\n",
            self.lanes,
            self.by,
            if self.signed { "sext" } else { "zext" },
            if self.factor { "imul v6, v13" } else { "iadd v13, v13" },
            if self.minus { "isub" } else { "iadd" },
            if self.part_bits { "lane_bit v40" } else { "iand v17, v3" },
        );
        let bits = 8 * self.bytes;
        let align = if self.aligned { self.bytes } else { 1 };
        let mut sum = "v23";
        if self.loads {
            text += &format!(
                "@0x10 v24: {wide} = load.u{bits} global0[v20 + 0x8] align {align} if v22
                v25: {wide} = iadd v23, v24\n"
            );
            sum = "v25";
        }
        if self.stores {
            text += &format!("@0x18 store.u{bits} global0[v20], {sum} align {align} if v22\n");
        }
        text += &format!("v26: i64 = {} v20, v4\n", if self.back { "isub" } else { "iadd" });
        let mut next = "v26";
        if self.kept {
            text += "v27: i64 = select v22, v26, v20\n";
            next = "v27";
        }
        if self.selects {
            text += &format!("v28: {wide} = select v22, {sum}, v23\n");
            sum = "v28";
        }
        let (line, limit) = match self.end {
            End::Pointer => (next, "v7"),
            End::Word => ("v31", "v8"),
            End::Count => ("v29", "v5"),
        };
        let (a, b) = if self.limit_first { (limit, line) } else { (line, limit) };
        let condition = if self.end == End::Count { "ult" } else { self.condition };
        let (a, b) = if self.end == End::Count { (line, limit) } else { (a, b) };
        text += &format!(
            "   v29: ui32 = iadd v21, v11
                v31: i32 = iadd v0, v21
                v32: mask = icmp {condition} {a}, {b}
                v33: mask = iand v22, v32
                v34: ui1 = icmp ult v29, v12
                br_any v33, block2, block3

            block2 at 0x20:
                br_if v34, block1({next}, v29, v33, {sum}), block3

            block3 at 0x28:
                slot.set s4, {sum}
                slot.set s9, {next}\n"
        );
        if self.stored {
            text += "slot.set s10, v33\n";
        }
        let func = parse_function(&(text + "return 0\n}\n"), &[]).unwrap_or_else(|e| panic!("{self:?}: {e}"));
        verify(&func).expect("valid");
        func
    }

    /// The first address of a word.
    fn start(&self, base: u64, factor: u64, word: u32) -> u64 {
        let wide = if self.signed { word as i32 as i64 as u64 } else { word.into() };
        let wide = if self.factor { wide.wrapping_mul(factor) } else { wide.wrapping_add(wide) };
        let wide = wide << self.by;
        if self.minus { base.wrapping_sub(wide) } else { base.wrapping_add(wide) }
    }

    /// Sets slots so that the first lane starts at `target`.
    fn set(&self, func: &Function, random: &mut Random, target: u64, words: &mut [u32]) {
        let lanes = self.lanes as usize;
        let near = (random.below(lanes + 2) as u32).wrapping_mul(self.stride as u32).wrapping_neg();
        let first = match random.below(6) {
            0 => near,
            1 => near.wrapping_add(0x8000_0000),
            _ => random.next() as u32 & 0xffff,
        };
        let factor = [1, 2, 4, u64::from(self.bytes), 0, u64::MAX, 3][random.below(7)];
        let base = target.wrapping_sub(self.start(0, factor, first));
        let steps = [0, 1, 4, 8, u64::from(self.bytes) * self.lanes as u64, 4u64.wrapping_neg()];
        let step = steps[random.below(steps.len())];
        let span = self.start(base, factor, first.wrapping_add((self.stride * lanes as i32) as u32));
        let near = [target, span, target.wrapping_add(step.wrapping_mul(2)), target / 2 + span / 2];
        let limit = match random.below(8) {
            0 => random.next(),
            1 => 0,
            n => near[n % near.len()].wrapping_add(random.below(5) as u64),
        };
        let limit_word = match random.below(6) {
            0 => random.next() as u32,
            _ => first.wrapping_add((self.stride * random.below(lanes) as i32) as u32),
        };
        for lane in 0..lanes {
            let word = first.wrapping_add((self.stride as u32).wrapping_mul(lane as u32));
            let own_step = if random.below(4) == 0 { step.wrapping_add(4) } else { step };
            write(func, words, WORD, lane, word.into());
            write(func, words, VALUE, lane, random.next());
            write(func, words, PART, lane, u64::from(random.below(8) != 0));
            write(func, words, COUNT, lane, random.below(MOST as usize) as u64);
            write(func, words, STEP, lane, if self.uniform { step } else { own_step });
        }
        if random.below(2) == 0 {
            (0..lanes).for_each(|lane| write(func, words, PART, lane, 1));
        }
        write(func, words, BASE, 0, base);
        write(func, words, FACTOR, 0, factor);
        write(func, words, STEP, 0, step);
        write(func, words, LIMIT, 0, limit);
        let parts = if random.below(2) == 0 { u64::MAX } else { random.next() | random.next() };
        write(func, words, PARTS, 0, parts);
        write(func, words, LIMIT_WORD, 0, limit_word.into());
    }

    fn shapes(&self) -> (Vec<Option<Shape>>, Vec<Option<i32>>) {
        let mut shapes = vec![None; 13];
        let mut apart = vec![None; 13];
        (shapes[WORD], apart[WORD]) = (Some(Shape::Affine(self.stride)), Some(16 * self.stride));
        (shapes, apart)
    }
}

/// With `tame` all that is accessed is there.
fn compare(tame: bool, count: u64) {
    let all = all_options();
    let (mut faults, mut whole, mut apart, mut seen) = (0, 0, 0, 0);
    for seed in seeds(count) {
        seen += 1;
        let mut random = Random(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ 0x1357);
        let one = Loop::random(&mut random);
        let func = one.func();
        let mut split = func.clone();
        let is_split = pipeline(&mut split, &[advances::run]);
        assert!(!is_split || one.uniform && !one.kept && (one.loads || one.stores), "{one:?}");
        apart += u32::from(is_split);
        pipeline(&mut split, &[licm::run, gvn::run, dce::run]);
        let mut options: Options = all[seed as usize % all.len()].clone();
        if one.lanes == 64 && !options.single && random.below(2) == 0 {
            options.chunk_groups = 16;
        }
        options.checked_memory = !options.wide_vectors && (!tame || seed % 3 == 0);
        if !tame && options.wide_vectors {
            continue;
        }
        (options.slot_shapes, options.apart) = one.shapes();
        let every = u64::MAX >> (64 - one.lanes);
        for _ in 0..4 {
            let memory = Memory::new(&mut random, one.lanes.into(), if tame { 3 } else { 1 });
            let mut words = frame(&func);
            let target = match tame {
                true => 6000 + random.below(3000) as u64,
                false => (random.below(24_000) as u64).wrapping_sub(600),
            };
            one.set(&func, &mut random, target & !7, &mut words);
            let active = if random.below(3) == 0 { random.next() & every } else { every };
            let want = interpreted(&func, &options, &words, &memory, active);
            if tame && want.result.is_err() {
                continue;
            }
            whole += u32::from(active == every);
            let got = compiled(&split, &options, &words, &memory, active);
            let say = || format!("seed {seed} active {active:x} {one:?} {options:?}\n{func}\n{split}");
            match (&got.result, &want.result) {
                (Err(a), Err(b)) => {
                    faults += 1;
                    assert_eq!((a.pc, a.space, a.store), (b.pc, b.space, b.store), "{}", say());
                    assert_eq!((a.lane, a.address), (b.lane, b.address), "{}", say());
                    continue;
                }
                (a, b) => assert_eq!(a, b, "{}", say()),
            }
            for lane in (0..one.lanes as usize).filter(|lane| active >> lane & 1 != 0) {
                for slot in [SUM, LAST, MASK] {
                    // What lanes load that take no part may be anything.
                    if slot == SUM && one.loads && !one.selects {
                        continue;
                    }
                    let (a, b) = (read(&func, &got.frame, slot, lane), read(&func, &want.frame, slot, lane));
                    assert_eq!(a, b, "slot {slot} of lane {lane}: {}", say());
                }
            }
            assert!(got.memory == want.memory, "memory: {}", say());
        }
    }
    assert!(seen < 100 || apart > seen / 4 && whole > seen, "{apart} {whole}");
    assert!(seen < 100 || tame == (faults == 0) && (tame || faults > 50), "{faults}");
}

#[test]
fn pointers_in_loops_are_as_lane_by_lane() {
    compare(true, 500);
}

#[test]
fn faults_in_loops_over_lines_are_as_lane_by_lane() {
    compare(false, 300);
}

/// Lanes' numbers are multiplied by something so large that the last lane is where the line says, once the device's ignored bits are gone,
/// and those between are not.
#[test]
fn a_stride_that_wraps_on_the_way_is_no_line() {
    let text = "function @far mask lanes 32 {
            slot s0: i32 word
            slot s1: ui64 base
            slot s2: ui64 factor
            slot s3: ui64 rest
            slot s4: i32 sum
        block0 at 0x0:
            v0: i32 = slot.get s0
            v1: ui64 = slot.get s1
            v2: ui64 = slot.get s2
            v3: ui64 = slot.get s3
            v4: i64 = zext v0
            v5: i64 = imul v4, v2
            v6: ui64 = const 16
            v7: i64 = ishl v5, v6
            v8: i64 = sshr v7, v6
            v9: i64 = imul v4, v3
            v10: i64 = iadd v8, v9
            v11: i64 = iadd v10, v1
            v12: i32 = load.u32 global0[v11] align 4
            slot.set s4, v12
            return 0
        }";
    let func = parse_function(text, &[]).unwrap();
    verify(&func).unwrap();
    let mut random = Random(7);
    for mut options in all_options() {
        let last = match options.chunk_groups {
            _ if options.single || options.wide_vectors => continue,
            groups @ (1 | 4) => 4 * u64::from(groups) - 1,
            _ => continue,
        };
        let factor = u64::MAX / last;
        assert_eq!(factor.wrapping_mul(last), u64::MAX);
        options.checked_memory = true;
        options.slot_shapes = vec![None; 5];
        options.apart = vec![None; 5];
        options.slot_shapes[WORD] = Some(Shape::Affine(1));
        let memory = Memory::new(&mut random, 32, 3);
        let mut words = frame(&func);
        (0..32).for_each(|lane| write(&func, &mut words, 0, lane, lane as u64));
        write(&func, &mut words, 1, 0, 8192);
        write(&func, &mut words, 2, 0, factor);
        write(&func, &mut words, 3, 0, 4u64.wrapping_sub(factor));
        let want = interpreted(&func, &options, &words, &memory, u64::from(u32::MAX));
        let got = compiled(&func, &options, &words, &memory, u64::from(u32::MAX));
        let fault = want.result.expect_err("the second lane is far away");
        let own = got.result.expect_err("in compiled code, too");
        assert_eq!((own.lane, own.address), (fault.lane, fault.address), "{options:?}");
        assert_eq!(fault.lane, 1);
    }
}
