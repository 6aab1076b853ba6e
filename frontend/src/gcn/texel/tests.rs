use warpjit_ir::function::{SlotInit, Terminator};
use warpjit_ir::interp::{Code, Denied, Frame, Scratch, WarpMemory, run_mask_function};
use warpjit_ir::passes::expand;
use warpjit_ir::verify::verify;
use warpjit_ir::{Builder, Form, Function, Space, Type, Value};

use super::*;

fn float(x: f32) -> u32 {
    x.to_bits()
}

#[test]
fn loads_are_what_the_tables_say() {
    // Data format, number format, selector, texel, result.
    for (data, number, selector, texel, want) in [
        (10, 0, 4, 0x676b_1b69, 0x3ed2_d2d3),
        (10, 0, 5, 0x676b_1b69, 0x3dd8_d8d9),
        (10, 0, 6, 0x676b_1b69, 0x3ed6_d6d7),
        (10, 0, 7, 0x676b_1b69, 0x3ece_cecf),
        (10, 4, 7, 0x676b_1b69, 0x67),
        (10, 5, 4, 0x80, -128i32 as u32),
        (10, 1, 4, 0x80, float(-1.0)),
        (10, 1, 4, 0x81, float(-1.0)),
        (10, 1, 4, 0x7f, float(1.0)),
        (10, 6, 4, 0x80, float(-1.0)),
        (10, 6, 4, 0, float(1.0 / 255.0)),
        (10, 2, 4, 0x80, float(128.0)),
        (10, 3, 4, 0x80, float(-128.0)),
        (1, 0, 5, 0xff, 0),
        (1, 0, 7, 0xff, float(1.0)),
        (1, 4, 7, 0xff, 1),
        (1, 4, 1, 0xff, 1),
        (1, 4, 0, 0xff, 0),
        (0, 4, 4, 0xff, 0),
        (15, 4, 4, 0xff, 0),
        (2, 7, 4, 0x3c00, float(1.0)),
        (2, 7, 4, 0x8001, float(-5.960_464_5e-8)),
        (6, 7, 4, 0x3c0, float(1.0)),
        (6, 7, 6, 0x1e0 << 22, float(1.0)),
        (7, 7, 4, 0x1e0, float(1.0)),
        (9, 4, 7, 0xc000_0000, 3),
        (9, 4, 4, 0x3ff, 0x3ff),
        (8, 4, 4, 0xffff_fffd, 1),
        (8, 4, 5, 4, 1),
        (14, 7, 7, 0x4049_0fdb << 96, 0x4049_0fdb),
        (13, 4, 6, 7 << 64, 7),
        (12, 5, 5, 0xffff_0000, u32::MAX),
        (16, 4, 5, 0x07e0, 63),
        (17, 4, 7, 0x8000, 1),
        (18, 4, 4, 1, 1),
        (19, 0, 4, 15, float(1.0)),
        (10, 9, 4, 0xff, float(1.0)),
        (10, 9, 7, 0x80000000, 0x3f00_8081),
        // Of 24 bits and 8, either way round; 32 and 8.
        (20, 0, 4, 0x12ff_ffff, float(1.0)),
        (20, 4, 5, 0x12ff_ffff, 0x12),
        (21, 4, 4, 0xabcd_ef12, 0x12),
        (21, 4, 5, 0xabcd_ef12, 0x00ab_cdef),
        (22, 7, 4, 0x99_3f00_0000, 0x3f00_0000),
        (22, 4, 5, 0x99_3f00_0000, 0x99),
        (22, 7, 5, 0x99_3f00_0000, 0x99),
        (57, 4, 4, 0xc3, 3),
        (57, 4, 5, 0xc3, 12),
        (58, 4, 4, 0xf83e, 30),
        (58, 4, 5, 0xf83e, 1),
        (58, 4, 6, 0xf83e, 62),
        // 9 bits times 2^(exponent - 24).
        (34, 7, 4, 0x1ff | 24 << 27, float(511.0)),
        (34, 7, 5, 0x100 << 9 | 16 << 27, float(1.0)),
        (34, 7, 6, 1 << 18, float(1.0 / 16_777_216.0)),
        (34, 7, 6, 0x1ff << 18 | 31 << 27, float(65408.0)),
        (34, 7, 7, 0, float(1.0)),
        (34, 7, 4, 31 << 27, 0),
        (34, 4, 4, u128::MAX, 0),
        // Formats that images do not have here.
        (35, 0, 4, u128::MAX, 0),
    ] {
        assert_eq!(
            load(data, number, selector, false, false, texel),
            want,
            "{data} {number} {selector} {texel:#x}"
        );
    }
    assert_eq!(load(10, 0, 4, true, false, 0xff), 0x3c00);
    assert_eq!(load(4, 4, 4, true, false, 0x1234_5678), 0x5678);
    // Two bits of alpha with a sign, and without: snorm, sscaled, sint; ten bits keep theirs.
    let alpha = |number, plain| load(9, number, 7, false, plain, 0xffff_ffff);
    assert_eq!([1, 3, 5].map(|number| alpha(number, false)), [float(-1.0), float(-1.0), u32::MAX]);
    assert_eq!([1, 3, 5].map(|number| alpha(number, true)), [float(1.0), float(3.0), 3]);
    assert_eq!(load(9, 5, 6, false, true, 0xffff_ffff), u32::MAX);
}

#[test]
fn stores_round_and_clamp() {
    let all = |x: f32| [x.to_bits(); 4];
    for (data, number, values, want) in [
        (10, 0, all(1.0), 0xffff_ffff),
        (10, 0, all(2.0), 0xffff_ffff),
        (10, 0, all(-1.0), 0),
        (10, 0, all(f32::NAN), 0),
        (10, 0, all(0.5), 0x8080_8080),
        (10, 1, all(-1.0), 0x8181_8181),
        (10, 1, all(-9.0), 0x8181_8181),
        (10, 4, [0x101, 2, 3, 4], 0x0403_02ff),
        (10, 5, [0x101, 2, -3i32 as u32, -300i32 as u32], 0x80fd_027f),
        (10, 2, [1.9f32, -1.0, 300.0, f32::NAN].map(f32::to_bits), 0x00ff_0001),
        (2, 7, all(65536.0), 0x7c00),
        (6, 7, all(-1.0), 0),
        (6, 7, all(1.0), 0x3c0 | 0x3c0 << 11 | 0x1e0 << 22),
        (9, 4, [1, 2, 3, 4], 1 | 2 << 10 | 3 << 20 | 3 << 30),
        (14, 7, [1, 2, 3, 4], 1 | 2 << 32 | 3 << 64 | 4 << 96),
    ] {
        assert_eq!(store(data, number, IDENTITY, false, values), want, "{data} {number} {values:x?}");
    }
    for (values, want) in [
        ([0.0, 0.0, 0.0], 0),
        ([1.0, 1.0, 1.0], 256 | 256 << 9 | 256 << 18 | 16 << 27),
        ([511.0, 1.0, 0.5], 511 | 1 << 9 | 1 << 18 | 24 << 27),
        ([-1.0, f32::NAN, 1e9], 511 << 18 | 31 << 27),
        // Rounded up to a power of two: one exponent more.
        ([511.75, 0.0, 0.0], 256 | 25 << 27),
        ([2f32.powi(-24), 2f32.powi(-25), 2f32.powi(-26)], 1 | 1 << 9),
        ([1e-40, 0.0, 2f32.powi(-16)], 256 << 18),
    ] {
        let values = [values[0].to_bits(), values[1].to_bits(), values[2].to_bits(), 7];
        assert_eq!(store(34, 7, IDENTITY, false, values), want, "{values:x?}");
    }
    assert_eq!(store(34, 4, IDENTITY, false, [1, 2, 3, 4]), 0);
    assert_eq!(store(22, 7, IDENTITY, false, [1, 0x102, 3, 4]), 2 << 32 | 1);
    // Red and blue exchanged; f16 in registers.
    let swapped = 6 | 5 << 3 | 4 << 6 | 7 << 9;
    assert_eq!(store(10, 4, swapped, false, [1, 2, 3, 4]), 0x0401_0203);
    assert_eq!(store(4, 7, IDENTITY, true, [0x3c00, 0, 0, 0]), 0x3f80_0000);
    assert_eq!(store(4, 5, IDENTITY, true, [0x8000, 0, 0, 0]), 0xffff_8000);
}

/// What was loaded stores as it was, in all formats whose codes are different numbers.
#[test]
fn storing_what_was_loaded_changes_nothing() {
    for data in (0..64).filter(|&data| data != SHARED_EXPONENT) {
        for number in [0, 2, 3, 4, 5, 6, 7] {
            let Some(format) = DataFormat::of(data) else { continue };
            if number == 7 && format.widths().any(|w| float_format(w).is_none() && w != 32) {
                continue;
            }
            // 32 bits do not go through a float.
            if number < 4 && format.width(0) == Some(32) || number == 6 && format.widths().any(|w| w != 8) {
                continue;
            }
            for seed in 0..200u128 {
                let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
                let texel = random & low_mask(format.widths().sum());
                let values = [4, 5, 6, 7].map(|selector| load(data, number, selector, false, false, texel));
                // NaNs become one.
                if number == 7 && values.iter().any(|&v| f32::from_bits(v).is_nan()) {
                    continue;
                }
                assert_eq!(store(data, number, IDENTITY, false, values), texel, "{data} {number} {texel:#x}");
            }
        }
    }
}

/// A texel whose largest field uses the highest bit has the least exponent: it stays as it is.
#[test]
fn common_exponents_are_stored_as_they_were() {
    for seed in 0..2000u64 {
        let texel = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
        let texel = if texel >> 27 == 0 { texel } else { texel | 1 << 8 };
        let values = [4, 5, 6, 7].map(|selector| load(34, 7, selector, false, false, texel.into()));
        assert_eq!(store(34, 7, IDENTITY, false, values), texel.into(), "{texel:x}");
    }
}

/// The codes of the vendor's tables that have components here.
#[test]
fn what_images_may_have_is_known() {
    let data = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21, 22, 34, 57, 58];
    assert_eq!(IMAGE_DATA_FORMATS, data.iter().map(|code| 1u64 << code).sum());
    assert_eq!(IMAGE_NUMBER_FORMATS, 0xff);
}

fn low_mask(bits: u32) -> u128 {
    u128::MAX >> (128 - bits)
}

/// What compiled code has instead of calls gives the same for all formats, selectors and kinds of values.
#[test]
fn expansions_give_what_the_functions_give() {
    let mut seed = 1u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33 ^ seed << 20
    };
    for callee in [&LOAD, &STORE] {
        let mut func = Function::new("expansion", Form::Mask, 32);
        let scalars = callee.params.iter().copied().chain([callee.result]);
        let slots: Vec<_> = scalars
            .map(|scalar| func.add_slot(format!("{scalar:?}"), Type::varying(scalar), SlotInit::Zero))
            .collect();
        let count = callee.params.len();
        let block = func.add_block(0);
        let mut b = Builder::new(&mut func, block);
        let args: Vec<Value> = slots[..count].iter().map(|&slot| b.get(slot)).collect();
        let result = b.call_pure(callee, &args);
        b.set(slots[count], result);
        b.terminate(Terminator::Return { exit: 0, exited: None, cond: None });
        assert!(expand::run(&mut func));
        verify(&func).unwrap_or_else(|error| panic!("{}: {error}", callee.name));
        let code = Code::new(&func).unwrap();
        let (offsets, _) = func.frame_layout();
        let mut scratch = Scratch::new(&code);
        for (data, number) in (0..64).flat_map(|data| (0..8).map(move |number| (data, number))) {
            for _ in 0..24 {
                let mut frame = Frame::new(code.frame_bytes());
                let lanes: Vec<[u64; 4]> = (0..32)
                    .map(|_| {
                        let format = data | number << 6 | next() << 12 & 0x7ff_f000;
                        let mut word = || match next() % 6 {
                            0 => next() as u32,
                            1 => (next() as i32 as f32 / 1e9).to_bits(),
                            2 => (next() as u32 & 0x807f_ffff) | (0x70 + (next() % 0x21) as u32) << 23,
                            3 => [0x7f80_0000, 0xff80_0000, 0x7f80_0001, 0xffc0_1234, 0x8000_0000, 1]
                                [(next() % 6) as usize],
                            4 => (next() % 70_000) as u32,
                            // In the middle between two small floats.
                            _ => (next() as u32 & 0xffff_f000) | 1 << (next() % 20),
                        };
                        let mut pair = || u64::from(word()) | u64::from(word()) << 32;
                        [format, pair(), pair(), next() & 3]
                    })
                    .collect();
                for (lane, args) in (0..).zip(&lanes) {
                    for ((&at, &scalar), &bits) in offsets.iter().zip(callee.params).zip(args) {
                        frame.write(at, scalar, lane, bits);
                    }
                }
                run_mask_function(&code, &mut scratch, &mut frame, u64::from(u32::MAX), &mut Nothing)
                    .unwrap();
                for (lane, args) in (0..).zip(&lanes) {
                    let found = frame.read(offsets[count], callee.result, lane);
                    assert_eq!(found, (callee.eval)(&args[..count]), "{} {args:x?}", callee.name);
                }
            }
        }
    }
}

/// Memory of a function that accesses none.
struct Nothing;

impl WarpMemory for Nothing {
    fn load(&mut self, _: Space, _: u32, _: u64, _: u8) -> Result<u64, Denied> {
        Err(Denied)
    }

    fn store(&mut self, _: Space, _: u32, _: u64, _: u8, _: u64) -> Result<(), Denied> {
        Err(Denied)
    }
}
