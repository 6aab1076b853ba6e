//! Compares the arithmetic with the host's and with the tables of the PTX manual.

use super::convert::{self, Convert, Kind};
use super::video::{Form, Op, Signs};
use super::{Flags, NAN, add, fma, mul, permute, selectors};
use crate::fermi::Merge;
use crate::soft::Rounding;

const PLAIN: Flags = Flags { rounding: Rounding::Nearest, ftz: false, fmz: false, scale: 0 };

/// Bits of all kinds: special values, and numbers from a fixed sequence.
fn samples() -> impl Iterator<Item = (u32, u32, u32)> {
    let special =
        [0, 0x8000_0000, 0x3f80_0000, 0x7f80_0000, 0xff80_0000, 1, 0x007f_ffff, 0x0080_0000, 0x7f7f_ffff];
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let word = (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32;
        if word.is_multiple_of(5) { special[word as usize / 8 % special.len()] } else { word }
    };
    (0..20_000).map(move |_| (next(), next(), next()))
}

fn same(got: u32, want: f32) -> bool {
    if want.is_nan() { got == NAN } else { got == want.to_bits() }
}

#[test]
fn to_nearest_is_the_hosts_arithmetic() {
    for (a, b, c) in samples() {
        let [x, y, z] = [a, b, c].map(f32::from_bits);
        assert!(same(add(a, b, PLAIN), x + y), "{a:x} + {b:x}");
        assert!(same(mul(a, b, PLAIN), x * y), "{a:x} * {b:x}");
        assert!(same(fma(a, b, c, PLAIN), x.mul_add(y, z)), "{a:x} * {b:x} + {c:x}");
    }
}

#[test]
fn flags() {
    let one = 1f32.to_bits();
    let third = |rounding| {
        let flags = Flags { rounding, ..PLAIN };
        add(one, 1e-9f32.to_bits(), flags)
    };
    assert_eq!(third(Rounding::Nearest), one);
    assert_eq!(third(Rounding::Up), one + 1);
    assert_eq!(third(Rounding::Zero), one);
    assert_eq!(add(one, (-1e-9f32).to_bits(), Flags { rounding: Rounding::Down, ..PLAIN }), one - 1);
    // An exact zero of opposite signs.
    assert_eq!(add(one, (-1f32).to_bits(), Flags { rounding: Rounding::Down, ..PLAIN }), 0x8000_0000);
    let fmz = Flags { fmz: true, ftz: true, ..PLAIN };
    assert_eq!(mul(0, 0x7f80_0000, fmz), 0);
    assert_eq!(mul(0x8000_0001, NAN, fmz), 0);
    assert_eq!(fma(0, NAN, one, fmz), one);
    assert_eq!(mul(0, 0x7f80_0000, PLAIN), NAN);
    // The scale comes before the rounding, so nothing is lost or overflows on the way.
    let half = Flags { scale: -1, ..PLAIN };
    let large = f32::MAX.to_bits();
    assert_eq!(mul(large, 2f32.to_bits(), half), large);
    assert_eq!(mul(3f32.to_bits(), 5f32.to_bits(), Flags { scale: 3, ..PLAIN }), 120f32.to_bits());
    for flags in [PLAIN, fmz, half, Flags { rounding: Rounding::Up, scale: 3, ..PLAIN }] {
        assert_eq!(Flags::decode(flags.encode()), flags);
    }
}

#[test]
fn byte_permutes_of_the_manual() {
    // Modes from f4e on, results for n = 0 to 3, highest byte first.
    let table: [[[u8; 4]; 4]; 6] = [
        [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]],
        [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]],
        [[0; 4], [1; 4], [2; 4], [3; 4]],
        [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]],
        [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]],
        [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]],
    ];
    for (mode, rows) in (1..).zip(table) {
        for (n, mut want) in (0..).zip(rows) {
            want.reverse();
            assert_eq!(selectors(mode, n), want, "mode {mode}, {n}");
        }
    }
    assert_eq!(permute(0, 0x8070_6050, 0x4703, 0xd4c3_b2a1), 0xa1d4_5080);
    assert_eq!(permute(0, 0x8070_6050, 0xcb08, 0xd4c3_b2a1), 0xffff_5000);
}

fn convert(to: Kind, from: Kind) -> Convert {
    of(convert::Form { rounding: Rounding::Zero, ..convert::Form::new(to, from) })
}

fn of(form: convert::Form) -> Convert {
    Convert { form, ftz: false }
}

#[test]
fn conversions() {
    let f = |x: f32| u64::from(x.to_bits());
    assert_eq!(convert(Kind::S32, Kind::F32).apply(f(-1.9)), 0xffff_ffff);
    assert_eq!(convert(Kind::U32, Kind::F32).apply(f(-1.9)), 0);
    assert_eq!(convert(Kind::S32, Kind::F32).apply(f(3e9)), 0x7fff_ffff);
    assert_eq!(convert(Kind::S32, Kind::F32).apply(f(f32::NEG_INFINITY)), 0x8000_0000);
    assert_eq!(convert(Kind::U64, Kind::F32).apply(f(f32::INFINITY)), u64::MAX);
    // PTX: zero if neither f64 nor a 64-bit integer takes part.
    assert_eq!(convert(Kind::S32, Kind::F32).apply(f(f32::NAN)), 0);
    assert_eq!(convert(Kind::S64, Kind::F64).apply(f64::NAN.to_bits()), 1 << 63);
    assert_eq!(convert(Kind::U64, Kind::F32).apply(f(f32::NAN)), 1 << 63);
    assert_eq!(convert(Kind::U32, Kind::F64).apply(f64::NAN.to_bits()), 1 << 31);
    assert_eq!(convert(Kind::U16, Kind::F32).apply(f(70000.0)), 0xffff);
    assert_eq!(convert(Kind::S16, Kind::F32).apply(f(-70000.0)), 0xffff_8000);
    assert_eq!(convert(Kind::S8, Kind::U32).apply(0x1ff), 0xffff_ffff);
    let saturated = of(convert::Form { saturate: true, ..convert::Form::new(Kind::S8, Kind::U32) });
    assert_eq!(saturated.apply(0x1ff), 0x7f);
    let negated =
        of(convert::Form { negate: true, saturate: true, ..convert::Form::new(Kind::S32, Kind::S32) });
    assert_eq!(negated.apply(0x8000_0000), 0x7fff_ffff);
    assert_eq!(of(convert::Form { negate: true, ..convert::Form::new(Kind::F32, Kind::S32) }).apply(0), 0);
    assert_eq!(convert(Kind::F64, Kind::U64).apply(u64::MAX), 1.844_674_407_370_955e19f64.to_bits());
    let half = of(convert::Form::new(Kind::F16, Kind::F32));
    assert_eq!(half.apply(f(65520.0)), 0x7c00);
    assert_eq!(half.apply(f(5.960_464_5e-8)), 1);
    assert_eq!(convert(Kind::F32, Kind::F16).apply(0x8001), f(-5.960_464_5e-8));
    let rounding = Rounding::Up;
    let integral = of(convert::Form { integral: true, rounding, ..convert::Form::new(Kind::F32, Kind::F32) });
    assert_eq!(integral.apply(f(-0.5)), 0x8000_0000);
    assert_eq!(integral.apply(f(1.25)), f(2.0));
    for form in [half, integral, negated, saturated] {
        assert_eq!(Convert::decode(form.encode()), form);
    }
}

#[test]
fn directed_conversions_bracket_the_value() {
    for (a, b, _) in samples() {
        let value = u64::from(a) << 32 | u64::from(b);
        let to = |rounding| {
            let form = of(convert::Form { rounding, ..convert::Form::new(Kind::F32, Kind::U64) });
            f64::from(f32::from_bits(form.apply(value) as u32))
        };
        let (down, up, near) = (to(Rounding::Down), to(Rounding::Up), to(Rounding::Nearest));
        assert!(down as u128 <= value.into() && up as u128 >= value.into(), "{value:x}");
        assert_eq!(near, f64::from(value as f32), "{value:x}");
    }
}

fn video(op: Op, lanes: u8) -> Form {
    Form {
        op,
        lanes,
        signs: Signs { to: false, a: false, b: false },
        first: if lanes == 1 { [6; 4] } else { [0, 1, 2, 3] },
        second: match lanes {
            1 => [6; 4],
            2 => [2, 3, 0, 0],
            _ => [4, 5, 6, 7],
        },
        saturate: false,
        merge: Merge::None,
        mask: 15,
        compare: 0,
        wrap: false,
        join: 0,
        shift: 0,
    }
}

#[test]
fn video_instructions() {
    let signed = Signs { to: true, a: true, b: true };
    let max = u32::MAX;
    assert_eq!(video(Op::Add, 1).apply(max, 2, 0), 1);
    assert_eq!(Form { saturate: true, ..video(Op::Add, 1) }.apply(max, 2, 0), max);
    assert_eq!(
        Form { saturate: true, signs: signed, ..video(Op::Add, 1) }.apply(0x7fff_ffff, 2, 0),
        0x7fff_ffff
    );
    // All bits shifted out: what is too large all the same.
    let shifted = |signs| Form { saturate: true, signs, ..video(Op::Shl, 1) }.apply(0x8000_0001, 32, 0);
    assert_eq!(shifted(video(Op::Shl, 1).signs), max);
    assert_eq!(shifted(Signs { to: true, ..video(Op::Shl, 1).signs }), 0x7fff_ffff);
    assert_eq!(shifted(signed), 0x8000_0000);
    // Saturated to the part that is merged.
    let into = |merge, signs| {
        Form { saturate: true, signs, merge, ..video(Op::Add, 1) }.apply(0x1234, 0x7111, 0xaabb_ccdd)
    };
    let plain = video(Op::Add, 1).signs;
    assert_eq!(into(Merge::B0, plain), 0xaabb_ccff);
    assert_eq!(into(Merge::B2, signed), 0xaa7f_ccdd);
    assert_eq!(into(Merge::H0, plain), 0xaabb_8345);
    assert_eq!(into(Merge::H1, signed), 0x7fff_ccdd);
    // The addend is as signed as the product; the result is signed where anything is subtracted.
    let mad =
        |join, c| Form { op: Op::Mad, join, saturate: true, ..video(Op::Mad, 1) }.apply(1 << 16, 1 << 15, c);
    assert_eq!(mad(0, 0x9000_0000), u32::MAX);
    assert_eq!(mad(1, 0x9000_0000), 0xf000_0000);
    assert_eq!(mad(1, 0), 0x7fff_ffff);
    assert_eq!(mad(2, 0x9000_0000), 0x8000_0000);
    assert_eq!(mad(3, 0x1000_0000), 0x9000_0001);
    let merged = |merge| Form { merge, ..video(Op::Add, 1) }.apply(0x1234, 0x1111, 0xaabb_ccdd);
    assert_eq!(merged(Merge::H1), 0x2345_ccdd);
    assert_eq!(merged(Merge::H0), 0xaabb_2345);
    assert_eq!(merged(Merge::B0), 0xaabb_cc45);
    assert_eq!(merged(Merge::B2), 0xaa45_ccdd);
    assert_eq!(merged(Merge::Add), 0xaabb_f022);
    assert_eq!(merged(Merge::Min), 0x2345);
    assert_eq!(merged(Merge::Max), 0xaabb_ccdd);
    assert_eq!(video(Op::AbsDiff, 4).apply(0x01ff_0080, 0xff01_8000, 0), 0xfefe_8080);
    let sum = Form { merge: Merge::Add, ..video(Op::AbsDiff, 4) };
    assert_eq!(sum.apply(0x01ff_0080, 0xff01_8000, 5), 0xfe + 0xfe + 0x80 + 0x80 + 5);
    let part = Form { mask: 0b0101, ..video(Op::Add, 4) };
    assert_eq!(part.apply(0x0102_0304, 0x1010_1010, 0xaabb_ccdd), 0xaa12_cc14);
    assert_eq!(
        Form { saturate: true, signs: signed, ..video(Op::Sub, 2) }.apply(0x8000_7fff, 0x0001_ffff, 0),
        0x8000_7fff
    );
    let less = Form { compare: 1, ..video(Op::Set, 2) };
    assert_eq!(less.apply(0x0001_0005, 0x0002_0005, 0), 0x0001_0000);
    assert_eq!(
        Form { signs: Signs { to: false, a: true, b: false }, ..video(Op::Shr, 1) }.apply(0x8000_0000, 4, 0),
        0xf800_0000
    );
    assert_eq!(video(Op::Shl, 1).apply(1, 40, 0), 0);
    assert_eq!(Form { wrap: true, ..video(Op::Shl, 1) }.apply(1, 40, 0), 0x100);
    let mad = Form { signs: signed, shift: 7, ..video(Op::Mad, 1) };
    assert_eq!(mad.apply(0xffff_ff00, 4, 0), 0xffff_fff8);
    for form in [part, sum, less, mad, Form { wrap: true, join: 3, ..video(Op::Shl, 1) }] {
        assert_eq!(Form::decode(form.encode()), form);
    }
}
