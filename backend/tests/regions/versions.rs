//! Tests full-mask versions, addresses at constant offsets from one base, slots that are affine over a chunk, and addresses that
//! lanes share.

use warpjit_backend::Shape;
use warpjit_ir::passes::{conjunctions, dce, fold, gvn, pipeline, simplify_cfg, whole};
use warpjit_ir::text::parse_function;
use warpjit_ir::verify::verify;

use super::common::{Random, all_options, frame, read, write};
use super::{Memory, compiled, interpreted};

/// Nested conditions, four loads round one place, a store.
const NESTED: &str = "
function @nested mask lanes 32 {
    slot s0: i32 index
    slot s1: i32 base
    slot s2: i32 bound
    slot s3: mask inner
    slot s4: i32 result
    slot s5: i32 far

block0 at 0x0:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: i32 = slot.get s2
    v3: mask = slot.get s3
    v4: i32 = slot.get s5
    v5: mask = active
    v6: mask = icmp slt v0, v2
    v7: mask = iand v5, v6
    br_any v7, block1, block4

block1 at 0x4:
    v8: i64 = zext v1
    v9: i64 = sext v0
    v10: ui64 = const 0x2
    v11: i64 = ishl v9, v10
    v12: i64 = iadd v8, v11
    v13: ui64 = const 0xfffffffffffffffc
    v14: ui64 = const 0x4
    v15: i64 = iadd v12, v13
    v16: i64 = iadd v12, v14
    v17: i32 = load.u32 global0[v12] align 1 if v7
    v18: i32 = load.u32 global0[v15 + 0x10] align ALIGN if v7
    v19: mask = iand v7, v3
    br_any v19, block2, block3(v17)

block2 at 0x8:
    v20: i32 = load.u32 global0[v16] align 1 if v19
    v21: i64 = sext v4
    v22: i64 = ishl v21, v10
    v23: i64 = iadd v12, v22
    v24: i32 = load.u32 global0[v23] align 1 if v19
    v25: i32 = iadd v20, v24
    v26: i32 = iadd v25, v18
    v27: i32 = select v19, v26, v17
    jump block3(v27)

block3(v28: i32) at 0xc:
    store.u32 global0[v16 + 0x4], v28 align ALIGN if v7
    slot.set s4, v28, v7
    jump block4

block4 at 0x10:
    return 0
}
";

#[test]
fn versions_for_all_lanes_do_the_same() {
    let mut random = Random(1234);
    let (mut tested, mut all) = (0, 0);
    for (n, options) in all_options().into_iter().enumerate() {
        for (versions, align) in [(false, "1"), (true, "1"), (true, "4")] {
            let plain = parse_function(&NESTED.replace("ALIGN", align), &[]).expect("parses");
            let mut func = plain.clone();
            if versions {
                let passes =
                    [whole::run, fold::run, gvn::run, conjunctions::run, simplify_cfg::run, dce::run];
                assert!(pipeline(&mut func, &passes));
                assert!(func.blocks.len() > plain.blocks.len(), "{func}");
            }
            verify(&func).expect("valid");
            let mut options = options.clone();
            let (even, same) = (Some(Shape::Affine(1)), Some(Shape::Uniform));
            options.slot_shapes = vec![even, same, same, None, None, same];
            for round in 0..40 {
                options.apart = match round % 2 {
                    0 => vec![Some(16), Some(0), Some(0), None, None, Some(0)],
                    _ => Vec::new(),
                };
                let memory = Memory::new(&mut random, 32, 3);
                let mut words = frame(&func);
                // Some are below 0.
                let start = match round % 8 {
                    7 => 0u32.wrapping_sub(random.below(40) as u32),
                    _ => random.below(60) as u32,
                };
                let base = 4096 + 4 * random.below(64) as u32;
                let bound =
                    if round % 3 == 0 { start.wrapping_add(random.below(34) as u32) } else { 1 << 30 };
                let far = random.below(900) as u32;
                let inner = if round % 4 < 2 { u64::MAX } else { random.next() };
                for lane in 0..32u32 {
                    let l = lane as usize;
                    write(&func, &mut words, 0, l, start.wrapping_add(lane).into());
                    write(&func, &mut words, 1, l, base.into());
                    write(&func, &mut words, 2, l, bound.into());
                    write(&func, &mut words, 3, l, inner >> lane & 1);
                    write(&func, &mut words, 4, l, random.next() & 0xffff_ffff);
                    write(&func, &mut words, 5, l, far.into());
                }
                let active = if round % 5 == 0 { random.next() & 0xffff_ffff } else { 0xffff_ffff };
                let want = interpreted(&plain, &options, &words, &memory, active);
                if want.result.is_err() {
                    // Pages that are not there would be found by a signal.
                    continue;
                }
                let got = compiled(&func, &options, &words, &memory, active);
                let say = format!("options {n}, versions {versions}, align {align}, round {round}");
                assert_eq!(got.result, want.result, "{say}");
                tested += 1;
                all += usize::from(active == 0xffff_ffff);
                for lane in (0..32).filter(|lane| active >> lane & 1 != 0) {
                    let (a, b) = (read(&func, &got.frame, 4, lane), read(&func, &want.frame, 4, lane));
                    assert_eq!(a, b, "{say}, lane {lane}");
                }
                assert!(got.memory == want.memory, "{say}: memory");
            }
        }
    }
    assert!(tested > 100 && all > 80 && tested > all, "{tested}, {all} of them by all lanes");
}

/// Double words round one place of shared memory.
const ALIKE: &str = "
function @alike mask lanes 32 {
    slot s0: i32 place
    slot s1: mask part
    slot s2: i64 first
    slot s3: i64 sum

block0 at 0x0:
    v0: i32 = slot.get s0
    v1: mask = slot.get s1
    v2: i64 = load.u64 shared[v0] align 1 far if v1
    v3: i64 = load.u64 shared[v0 + 0x8] align 1 far
    v4: i64 = load.u64 shared[v0 + 0x80] align 1 far if v1
    v5: i64 = load.u64 shared[v0 + 0x8c] align 1 far
    v6: i64 = iadd v3, v4
    v7: i64 = iadd v6, v5
    slot.set s2, v2, v1
    slot.set s3, v7, v1
    return 0
}
";

#[test]
fn double_words_that_lanes_share_are_those_of_each() {
    let mut random = Random(99);
    let func = parse_function(ALIKE, &[]).expect("parses");
    verify(&func).expect("valid");
    for (n, options) in all_options().into_iter().enumerate() {
        for round in 0..60 {
            let memory = Memory::new(&mut random, 32, 3);
            let mut words = frame(&func);
            // Up to the end of shared memory, and beyond.
            let most = if round % 3 == 0 { 1100 } else { 850 };
            let places: Vec<u64> = (0..32).map(|_| random.below(most) as u64).collect();
            let odd = random.below(64);
            for lane in 0..32 {
                let place = match round % 4 {
                    _ if round % 5 == 4 && lane == odd => places[31],
                    0 => places[lane % 16],
                    1 => places[lane / 8],
                    2 => places[0],
                    _ => places[lane],
                };
                write(&func, &mut words, 0, lane, place);
                write(&func, &mut words, 1, lane, u64::from(round % 7 != 0 || random.below(3) > 0));
            }
            let active = if round % 6 == 5 { random.next() & 0xffff_ffff } else { 0xffff_ffff };
            let want = interpreted(&func, &options, &words, &memory, active);
            let got = compiled(&func, &options, &words, &memory, active);
            assert_eq!(got.result, want.result, "options {n}, round {round}");
            let part = |lane: usize| active >> lane & read(&func, &words, 1, lane) & 1 != 0;
            for (slot, lane) in (2..4).flat_map(|slot| (0..32).map(move |lane| (slot, lane))) {
                let (a, b) = (read(&func, &got.frame, slot, lane), read(&func, &want.frame, slot, lane));
                assert!(
                    a == b || !part(lane),
                    "options {n}, round {round}, slot {slot}, lane {lane}: {a:x} {b:x}"
                );
            }
        }
    }
}

/// A sum of words of a row, as a float the addend of a multiply-add behind it.
const LOOKED_THROUGH: &str = "
function @looked_through mask lanes 32 {
    slot s0: i32 lane
    slot s1: i32 a
    slot s2: i32 first
    slot s3: i32 second

block0 at 0x0:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: ui32 = const 0x2
    v3: i32 = ishl v0, v2
    v4: i32 = load.u32 shared[v3] align 1
    v5: i32 = load.u32 shared[v3 + 0x40] align 1
    v6: i32 = load.u32 shared[v3 + 0x80] align 1
    v7: i32 = iadd v4, v5
    v8: f32 = bitcast v7
    v9: f32 = bitcast v6
    v10: f32 = fmad_trunc v9, v8, v9
    v11: mask = active
    store.u32 shared[v1], v0 align 1 if v11
    v12: f32 = bitcast v1
    v13: f32 = fmad_trunc v12, v12, v8
    v16: f32 = fcanon v10, 0x7fffffff
    v17: f32 = fcanon v13, 0x7fffffff
    v14: i32 = bitcast v16
    v15: i32 = bitcast v17
    slot.set s2, v14
    slot.set s3, v15
    return 0
}
";

/// Keeps the host from flushing: each operation that flushes does it for itself.
const DENORMALS: &str = "
    v18: f32 = fadd v9, v9
    v19: f32 = fcanon v18, 0x7fffffff
    v20: i32 = bitcast v19
    slot.set s1, v20
    return 0
";

#[test]
fn addends_of_a_row_are_looked_through() {
    looked_through(LOOKED_THROUGH);
    looked_through(&LOOKED_THROUGH.replace("    return 0\n", DENORMALS));
}

/// A sum behind a row of loads, one addend of which the row has shifted, so that an address could be made of what it shifted.
const SHIFTED: &str = "
function @shifted mask lanes 32 {
    slot s0: i32 lane
    slot s1: i32 a
    slot s2: i32 sum

block0 at 0x0:
    v0: i32 = slot.get s0
    v1: ui32 = const 0x0
    v2: ui32 = load.u32 shared[v1 + 0x40] align 1
    v3: ui32 = load.u32 shared[v1 + 0x44] align 1
    v4: ui32 = imul v3, v3
    v5: ui32 = iadd v4, v2
    v6: ui32 = const 0x2
    v7: ui32 = ishl v5, v6
    v8: ui32 = load.u32 shared[v1 + 0x48] align 1
    v9: ui32 = iadd v8, v7
    v10: i32 = iadd v0, v9
    slot.set s2, v10
    return 0
}
";

#[test]
fn what_a_row_has_shifted_is_there_behind_it() {
    looked_through(SHIFTED);
}

/// Two stretches of multiply-adds, and a mask that both matter in and only the first uses.
const MASK_OF_BOTH: &str = "
function @mask_of_both mask lanes 32 {
    slot s0: i32 lane
    slot s1: i32 a
    slot s2: i32 first
    slot s3: i32 second

block0 at 0x0:
    v0: i32 = slot.get s0
    v1: i32 = slot.get s1
    v2: f32 = bitcast v1
    v3: mask = active
    v4: f32 = fmad_trunc v2, v2, v2
    v5: ui32 = const 0x100
    v6: mask = icmp ult v0, v5
    v7: mask = iand v3, v6
    v8: f32 = fmad_trunc v4, v2, v2
    v9: mask = icmp ult v1, v5
    v10: mask = iand v7, v9
    v11: f32 = fmad_trunc v8, v2, v2
    v12: mask = inot v9
    v13: mask = iand v7, v12
    v14: f32 = fmad_trunc v11, v2, v2
    store.u32 shared[v1], v0 align 1 if v10
    v15: f32 = fmad_trunc v14, v2, v2
    v16: f32 = fmad_trunc v15, v2, v4
    v17: f32 = fcanon v15, 0x7fffffff
    v18: f32 = fcanon v16, 0x7fffffff
    v19: i32 = bitcast v17
    v20: i32 = bitcast v18
    slot.set s2, v19, v10
    slot.set s3, v20, v13
    return 0
}
";

#[test]
fn masks_of_a_stretch_before() {
    looked_through(MASK_OF_BOTH);
}

fn looked_through(text: &str) {
    let mut random = Random(7);
    let func = parse_function(text, &[]).expect("parses");
    verify(&func).expect("valid");
    for (n, mut options) in all_options().into_iter().enumerate() {
        options.slot_shapes = vec![Some(Shape::Affine(1))];
        for round in 0..40 {
            let memory = Memory::new(&mut random, 32, 3);
            let mut words = frame(&func);
            let first = random.below(400) as u64;
            for lane in 0..32 {
                write(&func, &mut words, 0, lane, first + lane as u64);
                write(&func, &mut words, 1, lane, random.next() & 0xff);
            }
            let want = interpreted(&func, &options, &words, &memory, 0xffff_ffff);
            let got = compiled(&func, &options, &words, &memory, 0xffff_ffff);
            assert_eq!((got.result, got.frame), (want.result, want.frame), "options {n}, round {round}");
        }
    }
}
