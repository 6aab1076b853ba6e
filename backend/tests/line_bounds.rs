//! Tests comparisons of lanes on a line of 64 bits with one number, of which the first and the last lane mostly decide: where bounds are
//! before, among and behind the lanes, where the line wraps, and where lanes at its ends take no part. What is expected is computed here,
//! lane by lane.

mod common;

use common::{Executable, Random, all_options, context, frame, read, write};
use warpjit_backend::{Options, Shape};
use warpjit_ir::Function;
use warpjit_ir::text::parse_function;
use warpjit_ir::verify::verify;

const LANES: usize = 64;

#[derive(Debug)]
struct Bound {
    condition: &'static str,
    /// The number is the first operand.
    number_first: bool,
    signed: bool,
    stride: i32,
    by: u32,
    minus: bool,
}

const WORD: usize = 0;
const BASE: usize = 1;
const NUMBER: usize = 2;
const PARTS: usize = 3;
const INSIDE: usize = 4;
const REST: usize = 5;
const PICKED: usize = 6;
const ANY: usize = 7;

impl Bound {
    fn func(&self) -> Function {
        let operands = if self.number_first { "v2, v6" } else { "v6, v2" };
        let text = format!(
            "function @bound mask lanes {LANES} {{
                slot s0: i32 word
                slot s1: ui64 base
                slot s2: ui64 number
                slot s3: ui64 parts
                slot s4: mask inside
                slot s5: mask rest
                slot s6: i32 picked
                slot s7: ui32 any
            block0 at 0x0:
                v0: i32 = slot.get s0
                v1: ui64 = slot.get s1
                v2: ui64 = slot.get s2
                v3: ui64 = const {}
                v4: i64 = {} v0
                v5: i64 = ishl v4, v3
                v6: i64 = {} v1, v5
                v7: mask = icmp {} {operands}
                v8: ui64 = slot.get s3
                v9: mask = lane_bit v8
                v10: mask = inot v7
                v11: mask = iand v9, v10
                v12: mask = ixor v7, v11
                v13: mask = active
                v14: mask = iand v13, v7
                v15: ui32 = const 1
                v16: ui32 = const 2
                br_any v14, block1(v12, v15), block1(v11, v16)
            block1(v17: mask, v18: ui32) at 0x8:
                v19: i32 = const 7
                v20: i32 = select v17, v0, v19
                slot.set s4, v7
                slot.set s5, v17
                slot.set s6, v20
                slot.set s7, v18
                return 0
            }}",
            self.by,
            if self.signed { "sext" } else { "zext" },
            if self.minus { "isub" } else { "iadd" },
            self.condition,
        );
        let func = parse_function(&text, &[]).unwrap_or_else(|e| panic!("{self:?}: {e}\n{text}"));
        verify(&func).expect("valid");
        func
    }

    fn word(&self, first: u32, lane: usize) -> u32 {
        first.wrapping_add((self.stride as u32).wrapping_mul(lane as u32))
    }

    /// The lane's number on the line.
    fn at(&self, base: u64, first: u32, lane: usize) -> u64 {
        let word = self.word(first, lane);
        let wide = if self.signed { word as i32 as i64 as u64 } else { word.into() };
        let far = wide << self.by;
        if self.minus { base.wrapping_sub(far) } else { base.wrapping_add(far) }
    }

    fn holds(&self, line: u64, number: u64) -> bool {
        let (a, b) = if self.number_first { (number, line) } else { (line, number) };
        let (x, y) = (a as i64, b as i64);
        match self.condition {
            "ult" => a < b,
            "ule" => a <= b,
            "ugt" => a > b,
            "uge" => a >= b,
            "slt" => x < y,
            "sle" => x <= y,
            "sgt" => x > y,
            "sge" => x >= y,
            "eq" => a == b,
            _ => a != b,
        }
    }
}

/// Chunks of all widths, the whole warp's among them.
fn options() -> Vec<Options> {
    let mut list = all_options();
    let widest: Vec<Options> = list
        .iter()
        .filter(|options| options.chunk_groups == 8)
        .map(|options| Options { chunk_groups: 16, ..options.clone() })
        .collect();
    list.extend(widest);
    list
}

#[test]
fn bounds_of_lines_are_as_lane_by_lane() {
    let options = options();
    let mut random = Random(0x11e5);
    let conditions = ["ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge", "eq", "ne"];
    let (mut mixed, mut alike, mut wrapped) = (0, 0, 0);
    for round in 0..1500 {
        let mut any = |list: &[i32]| list[random.below(list.len())];
        let bound = Bound {
            condition: conditions[round % conditions.len()],
            number_first: any(&[0, 1]) == 1,
            signed: any(&[0, 1]) == 1,
            stride: any(&[1, 1, 1, 2, 4, -1, -3, 1000]),
            by: any(&[0, 0, 2, 4]) as u32,
            minus: any(&[0, 0, 1]) == 1,
        };
        let func = bound.func();
        let mut options = options[random.below(options.len())].clone();
        options.slot_shapes = vec![None; 8];
        options.apart = vec![None; 8];
        options.slot_shapes[WORD] = Some(Shape::Affine(bound.stride));
        options.apart[WORD] = Some(bound.stride.wrapping_mul(16));
        let code = Executable::compile(&func, &options);
        for _ in 0..8 {
            let back = (bound.stride as u32).wrapping_mul(random.below(LANES + 1) as u32);
            let first = match random.below(5) {
                0 => 0u32.wrapping_sub(back),
                1 => 0x8000_0000u32.wrapping_sub(back),
                2 => 0,
                _ => random.next() as u32 & 0xff_ffff,
            };
            // So that some lane is near where the numbers wrap, or anywhere.
            let lane = random.below(LANES);
            let far = bound.at(0, first, lane);
            let base = match random.below(5) {
                0 => 0u64.wrapping_sub(far),
                1 => (1u64 << 63).wrapping_sub(far),
                2 => 0,
                3 => random.next(),
                _ => 0x1_0000_0000,
            };
            let near = bound.at(base, first, [0, LANES - 1, random.below(LANES)][random.below(3)]);
            let number = match random.below(8) {
                0 => 0,
                1 => u64::MAX,
                2 => 1 << 63,
                3 => (1 << 63) - 1,
                4 => near.wrapping_add(0x1_0000_0000),
                _ => near.wrapping_add(random.below(3) as u64).wrapping_sub(1),
            };
            let parts = [u64::MAX, 0, random.next()][random.below(3)];
            let active = [u64::MAX, u64::MAX << 1, u64::MAX >> 1, 1, 1 << 63, random.next()][random.below(6)];
            let mut words = frame(&func);
            (0..LANES).for_each(|n| write(&func, &mut words, WORD, n, bound.word(first, n).into()));
            write(&func, &mut words, BASE, 0, base);
            write(&func, &mut words, NUMBER, 0, number);
            write(&func, &mut words, PARTS, 0, parts);
            let mut context = context();
            context.active = active;
            assert_eq!(code.run(&mut context, &mut words), 0, "{bound:?} {options:?}");
            let holds: Vec<bool> =
                (0..LANES).map(|n| bound.holds(bound.at(base, first, n), number)).collect();
            let count = holds.iter().filter(|&&holds| holds).count();
            *(if count % LANES == 0 { &mut alike } else { &mut mixed }) += 1;
            let ends = [0, LANES - 1].map(|n| bound.at(base, first, n) as i128);
            let straight = (i128::from(bound.stride) * (LANES as i128 - 1)) << bound.by;
            let straight = if bound.minus { -straight } else { straight };
            wrapped += u32::from(ends[1] - ends[0] != straight);
            let lanes = if options.single { 1 } else { 4 * usize::from(options.chunk_groups) };
            let takes_part = |n: usize| active >> n & 1 != 0;
            for n in (0..LANES).filter(|&n| takes_part(n)) {
                let say = || {
                    format!("lane {n} of {active:x}, {first:x} {base:x} {number:x}: {bound:?} {options:?}")
                };
                let mut chunk = n / lanes * lanes..n / lanes * lanes + lanes;
                let any = chunk.any(|n| takes_part(n) && holds[n]);
                let others = parts >> n & 1 != 0 && !holds[n];
                let rest = if any { holds[n] ^ others } else { others };
                assert_eq!(read(&func, &words, INSIDE, n), u64::from(holds[n]), "{}", say());
                assert_eq!(read(&func, &words, REST, n), u64::from(rest), "{}", say());
                let picked = if rest { bound.word(first, n) } else { 7 };
                assert_eq!(read(&func, &words, PICKED, n), u64::from(picked), "{}", say());
            }
            // What all lanes of a chunk share is the last chunk's.
            if let Some(n) = (0..LANES).rev().find(|&n| takes_part(n)) {
                let mut chunk = n / lanes * lanes..n / lanes * lanes + lanes;
                let any = chunk.any(|n| takes_part(n) && holds[n]);
                assert_eq!(read(&func, &words, ANY, 0), if any { 1 } else { 2 }, "{bound:?} {options:?}");
            }
        }
    }
    assert!(mixed > 1000 && alike > 1000 && wrapped > 500, "{mixed} {alike} {wrapped}");
}
