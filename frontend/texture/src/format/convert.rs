//! Numbers of components: bits of a field to a register's word, and back.
//!
//! Rules: docs/hardware/textures-nv.md section 3, docs/hardware/graphics-gcn.md section 3.2.

use super::Number;

/// The NaN that small floats become.
const NAN: u32 = 0x7fc0_0000;
const ONE: u32 = 0x3f80_0000;

/// `n / 255` as bits of an f32: both are exact, so the quotient is rounded once.
const UNORM8: [u32; 256] = {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        table[n] = (n as f32 / 255.0).to_bits();
        n += 1;
    }
    table
};

/// Linear intensities of sRGB's numbers of 8 bits, each the nearest f32's bits: tables are the same on all machines, powers are not.
#[rustfmt::skip]
pub const SRGB8: [u32; 256] = [
    0x0000_0000, 0x399f_22b4, 0x3a1f_22b4, 0x3a6e_b40e, 0x3a9f_22b4, 0x3ac6_eb61, 0x3aee_b40e, 0x3b0b_3e5d,
    0x3b1f_22b4, 0x3b33_070a, 0x3b46_eb61, 0x3b5b_518e, 0x3b70_f18f, 0x3b83_e1c6, 0x3b8f_e616, 0x3b9c_87fd,
    0x3ba9_c9b6, 0x3bb7_ad6f, 0x3bc6_354a, 0x3bd5_6360, 0x3be5_39c1, 0x3bf5_ba71, 0x3c03_73b6, 0x3c0c_6153,
    0x3c15_a705, 0x3c1f_45be, 0x3c29_3e6b, 0x3c33_91f7, 0x3c3e_4149, 0x3c49_4d44, 0x3c54_b6c9, 0x3c60_7eb4,
    0x3c6c_a5df, 0x3c79_2d22, 0x3c83_0aa9, 0x3c89_af9f, 0x3c90_85dc, 0x3c97_8dc6, 0x3c9e_c7c2, 0x3ca6_3433,
    0x3cad_d37d, 0x3cb5_a602, 0x3cbd_ac21, 0x3cc5_e63a, 0x3cce_54ac, 0x3cd6_f7d5, 0x3cdf_d010, 0x3ce8_ddba,
    0x3cf2_212d, 0x3cfb_9ac3, 0x3d02_a56a, 0x3d07_98dd, 0x3d0c_a7e6, 0x3d11_d2af, 0x3d17_1964, 0x3d1c_7c30,
    0x3d21_fb3c, 0x3d27_96b2, 0x3d2d_4ebb, 0x3d33_2381, 0x3d39_152b, 0x3d3f_23e4, 0x3d45_4fd2, 0x3d4b_991d,
    0x3d51_ffec, 0x3d58_8468, 0x3d5f_26b6, 0x3d65_e6fd, 0x3d6c_c563, 0x3d73_c20e, 0x3d7a_dd24, 0x3d81_0b65,
    0x3d84_b793, 0x3d88_732e, 0x3d8c_3e48, 0x3d90_18f4, 0x3d94_0344, 0x3d97_fd49, 0x3d9c_0715, 0x3da0_20ba,
    0x3da4_4a4a, 0x3da8_83d6, 0x3dac_cd6f, 0x3db1_2727, 0x3db5_910f, 0x3dba_0b38, 0x3dbe_95b3, 0x3dc3_3090,
    0x3dc7_dbe0, 0x3dcc_97b4, 0x3dd1_641d, 0x3dd6_412b, 0x3ddb_2eee, 0x3de0_2d76, 0x3de5_3cd4, 0x3dea_5d18,
    0x3def_8e51, 0x3df4_d090, 0x3dfa_23e5, 0x3dff_885e, 0x3e02_7f06, 0x3e05_427f, 0x3e08_0ea2, 0x3e0a_e377,
    0x3e0d_c104, 0x3e10_a753, 0x3e13_966a, 0x3e16_8e51, 0x3e19_8f0f, 0x3e1c_98ac, 0x3e1f_ab30, 0x3e22_c6a1,
    0x3e25_eb07, 0x3e29_186a, 0x3e2c_4ed0, 0x3e2f_8e42, 0x3e32_d6c5, 0x3e36_2862, 0x3e39_831f, 0x3e3c_e703,
    0x3e40_5417, 0x3e43_ca60, 0x3e47_49e6, 0x3e4a_d2af, 0x3e4e_64c3, 0x3e52_0029, 0x3e55_a4e7, 0x3e59_5305,
    0x3e5d_0a89, 0x3e60_cb7a, 0x3e64_95df, 0x3e68_69be, 0x3e6c_471f, 0x3e70_2e07, 0x3e74_1e7e, 0x3e78_188b,
    0x3e7c_1c33, 0x3e80_14bf, 0x3e82_2039, 0x3e84_308b, 0x3e86_45b8, 0x3e88_5fc3, 0x3e8a_7eb0, 0x3e8c_a281,
    0x3e8e_cb3b, 0x3e90_f8df, 0x3e93_2b72, 0x3e95_62f6, 0x3e97_9f6f, 0x3e99_e0e0, 0x3e9c_274c, 0x3e9e_72b6,
    0x3ea0_c321, 0x3ea3_1890, 0x3ea5_7307, 0x3ea7_d288, 0x3eaa_3716, 0x3eac_a0b6, 0x3eaf_0f68, 0x3eb1_8332,
    0x3eb3_fc15, 0x3eb6_7a14, 0x3eb8_fd34, 0x3ebb_8576, 0x3ebe_12de, 0x3ec0_a56e, 0x3ec3_3d2a, 0x3ec5_da14,
    0x3ec8_7c30, 0x3ecb_2380, 0x3ecd_d008, 0x3ed0_81ca, 0x3ed3_38c9, 0x3ed5_f508, 0x3ed8_b68a, 0x3edb_7d52,
    0x3ede_4963, 0x3ee1_1abf, 0x3ee3_f169, 0x3ee6_cd65, 0x3ee9_aeb5, 0x3eec_955b, 0x3eef_815c, 0x3ef2_72b8,
    0x3ef5_6974, 0x3ef8_6593, 0x3efb_6716, 0x3efe_6e00, 0x3f00_bd2b, 0x3f02_460c, 0x3f03_d1a5, 0x3f05_5ff7,
    0x3f06_f104, 0x3f08_84cd, 0x3f0a_1b54, 0x3f0b_b499, 0x3f0d_509f, 0x3f0e_ef65, 0x3f10_90ef, 0x3f12_353d,
    0x3f13_dc50, 0x3f15_862a, 0x3f17_32cc, 0x3f18_e237, 0x3f1a_946e, 0x3f1c_4970, 0x3f1e_0140, 0x3f1f_bbde,
    0x3f21_794d, 0x3f23_398c, 0x3f24_fc9f, 0x3f26_c285, 0x3f28_8b41, 0x3f2a_56d2, 0x3f2c_253c, 0x3f2d_f67f,
    0x3f2f_ca9c, 0x3f31_a194, 0x3f33_7b6a, 0x3f35_581d, 0x3f37_37b0, 0x3f39_1a24, 0x3f3a_ff7a, 0x3f3c_e7b2,
    0x3f3e_d2cf, 0x3f40_c0d2, 0x3f42_b1bc, 0x3f44_a58e, 0x3f46_9c49, 0x3f48_95ef, 0x3f4a_9280, 0x3f4c_91ff,
    0x3f4e_946c, 0x3f50_99c9, 0x3f52_a216, 0x3f54_ad56, 0x3f56_bb88, 0x3f58_ccaf, 0x3f5a_e0cc, 0x3f5c_f7df,
    0x3f5f_11ea, 0x3f61_2eef, 0x3f63_4eee, 0x3f65_71e9, 0x3f67_97e0, 0x3f69_c0d5, 0x3f6b_ecca, 0x3f6e_1bbf,
    0x3f70_4db5, 0x3f72_82ae, 0x3f74_baab, 0x3f76_f5ae, 0x3f79_33b6, 0x3f7b_74c6, 0x3f7d_b8de, 0x3f80_0000,
];

/// The largest number of `bits` bits.
pub(super) const fn low_bits(bits: u32) -> u32 {
    if bits >= 32 { u32::MAX } else { (1 << bits) - 1 }
}

fn sign_extended(value: u32, bits: u32) -> i32 {
    let shift = 32 - bits.clamp(1, 32);
    (value << shift) as i32 >> shift
}

/// The largest magnitude of a signed norm.
fn signed_max(bits: u32) -> u32 {
    (low_bits(bits) >> 1).max(1)
}

/// `numerator / denominator` as the nearest f32.
fn quotient(numerator: u32, denominator: u32) -> f32 {
    // Numbers below 2^24 are exact, and the division rounds once.
    if denominator < 1 << 24 && numerator < 1 << 24 {
        return numerator as f32 / denominator.max(1) as f32;
    }
    let (n, d) = (u128::from(numerator) << 80, u128::from(denominator));
    // The lowest bit tells whether something was cut off; it is far below the f32's last.
    let cut = (n / d) | u128::from(!n.is_multiple_of(d));
    cut as f32 * 2f32.powi(-80)
}

/// `x * most` to nearest even, `x` at least 0 and at most 1.
fn scaled(x: f32, most: u32) -> u32 {
    if most < 1 << 29 {
        // Exact before it is rounded: 24 and 29 bits.
        return (f64::from(x) * f64::from(most)).round_ties_even() as u32;
    }
    let bits = x.to_bits();
    let exponent = (bits >> 23) as i32 - 150;
    // 2^-100 and less are far below a half. Else `x` is `mantissa * 2^exponent`, and the exponent is negative.
    if exponent < -100 {
        return 0;
    }
    let mantissa = u128::from(bits & 0x7f_ffff | 0x80_0000);
    let (product, shift) = (mantissa * u128::from(most), -exponent as u32);
    let (whole, rest, half) = (product >> shift, product & ((1 << shift) - 1), 1u128 << (shift - 1));
    let up = rest > half || rest == half && whole & 1 != 0;
    (whole + u128::from(up)) as u32
}

/// Linear intensity of an sRGB component, both from 0 to 1.
pub(super) fn linear(c: f64) -> f32 {
    let x = if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
    x as f32
}

fn srgb(value: u32, bits: u32) -> u32 {
    match bits {
        8 => SRGB8[value as usize & 255],
        _ => linear(f64::from(value) / f64::from(low_bits(bits))).to_bits(),
    }
}

/// A half as an f32. NaNs become one.
pub(super) fn from_f16(half: u32) -> u32 {
    let (sign, exponent, fraction) = ((half & 0x8000) << 16, half >> 10 & 31, half & 0x3ff);
    sign | match (exponent, fraction) {
        (0, 0) => 0,
        // Exact: ten bits times a power of two that an f32 has.
        (0, _) => (fraction as f32 * 2f32.powi(-24)).to_bits(),
        (31, 0) => f32::INFINITY.to_bits(),
        (31, _) => return NAN,
        _ => (exponent + 127 - 15) << 23 | fraction << 13,
    }
}

/// An f32 as a float with five bits of exponent and so many of fraction, to nearest even; the sign is in the bit above the exponent.
fn narrow(bits: u32, fraction: u32) -> u32 {
    let (sign, magnitude) = ((bits >> 31) << (fraction + 5), bits & 0x7fff_ffff);
    let infinity = 31 << fraction;
    if magnitude > f32::INFINITY.to_bits() {
        return infinity | 1 << (fraction - 1);
    }
    let exponent = (magnitude >> 23) as i32 - 127 + 15;
    let rounded = |value: u32, shift: u32| {
        if shift > 25 {
            // Less than half of the last bit.
            return 0;
        }
        let (whole, rest, half) = (value >> shift, value & low_bits(shift), 1 << (shift - 1));
        whole + u32::from(rest > half || rest == half && whole & 1 != 0)
    };
    let small = match exponent {
        31.. => infinity,
        // A carry out of the fraction goes into the exponent, up to infinity.
        1.. => rounded(magnitude - ((127 - 15) << 23), 23 - fraction),
        -24..=0 => rounded(magnitude & 0x7f_ffff | 0x80_0000, 23 - fraction + (1 - exponent) as u32),
        _ => 0,
    };
    sign | small
}

/// A field's bits as a register's word.
#[inline]
pub(super) fn decode(number: Number, bits: u32, value: u32) -> u32 {
    match (number, bits) {
        (Number::Unorm, 8) => UNORM8[value as usize & 255],
        (Number::Float, 32) | (Number::Uint, _) => value,
        (Number::Float, 16) => from_f16(value),
        _ => decode_other(number, bits, value),
    }
}

fn decode_other(number: Number, bits: u32, value: u32) -> u32 {
    let signed = sign_extended(value, bits);
    let float = |magnitude: f32| if signed < 0 { -magnitude } else { magnitude }.to_bits();
    match number {
        Number::Unorm => quotient(value, low_bits(bits)).to_bits(),
        Number::Snorm => float(quotient(signed.unsigned_abs(), signed_max(bits)).min(1.0)),
        Number::SnormNoZero => {
            let twice = 2 * i64::from(signed) + 1;
            float(quotient(twice.unsigned_abs() as u32, low_bits(bits)))
        }
        Number::Uscaled => (value as f32).to_bits(),
        Number::Sscaled => (signed as f32).to_bits(),
        Number::Uint => value,
        Number::Sint => signed as u32,
        Number::Float => match bits {
            // No float has eight bits: they are the stencil beside a float's depth.
            8 | 32 => value,
            16 => from_f16(value),
            // Halves without a sign, and with fewer bits of fraction.
            11 => from_f16(value << 4),
            10 => from_f16(value << 5),
            _ => 0,
        },
        Number::Srgb => srgb(value, bits),
    }
}

/// The inverse of [`decode`]: a register's word as a field's bits.
pub(super) fn encode(number: Number, bits: u32, word: u32) -> u32 {
    let x = f32::from_bits(word);
    // A NaN is 0.
    let x = if x.is_nan() { 0.0 } else { x };
    let signed = |magnitude: u32, negative: bool| if negative { magnitude.wrapping_neg() } else { magnitude };
    let (most, most_signed) = (low_bits(bits), low_bits(bits) >> 1);
    let value = match number {
        Number::Unorm => scaled(x.clamp(0.0, 1.0), most),
        Number::Snorm => signed(scaled(x.abs().min(1.0), signed_max(bits)), x < 0.0),
        Number::SnormNoZero => {
            let x = f64::from(x.clamp(-1.0, 1.0));
            ((x * f64::from(most) - 1.0) / 2.0).round_ties_even() as i64 as u32
        }
        // Conversions of floats to integers saturate.
        Number::Uscaled => (x as u32).min(most),
        Number::Sscaled => (x as i32).clamp(-(most_signed as i32) - 1, most_signed as i32) as u32,
        Number::Uint => word.min(most),
        Number::Sint => (word as i32).clamp(-(most_signed as i32) - 1, most_signed as i32) as u32,
        Number::Float => match bits {
            8 | 32 => word,
            16 => narrow(word, 10),
            // They have no sign: what is negative is 0.
            10 | 11 if x < 0.0 => 0,
            10 | 11 => narrow(word, bits - 5),
            _ => 0,
        },
        Number::Srgb => 0,
    };
    value & most
}

/// The fourth component where a format has none.
pub(super) fn one(integer: bool) -> u32 {
    if integer { 1 } else { ONE }
}

/// Three components with a common exponent.
pub(super) fn from_shared_exponent(element: u32) -> [u32; 3] {
    // 2^(exponent - 24), which is never denormal.
    let scale = f32::from_bits(((element >> 27) + 127 - 24) << 23);
    [0, 9, 18].map(|bit| ((element >> bit & 0x1ff) as f32 * scale).to_bits())
}

/// The element that is nearest to three components, as OpenGL's `EXT_texture_shared_exponent` has it: what is negative or a NaN is 0, what
/// is too large the largest there is.
pub(super) fn to_shared_exponent(components: [u32; 3]) -> u32 {
    const LARGEST: f64 = 65408.0;
    // Of a NaN and a number `max` is the number.
    let numbers = components.map(|bits| LARGEST.min(f64::from(f32::from_bits(bits)).max(0.0)));
    let most = numbers.into_iter().fold(0.0, f64::max);
    // Right for numbers that an f32 can hold, which are normal here, and for 0.
    let floor_log2 = (most.to_bits() >> 52) as i32 - 1023;
    let exponent = floor_log2.max(-16) + 16;
    let field = |x: f64, exponent: i32| (x * 2f64.powi(24 - exponent) + 0.5).floor() as u32;
    let exponent = exponent + i32::from(field(most, exponent) > 511);
    let [x, y, z] = numbers.map(|number| field(number, exponent));
    x | y << 9 | z << 18 | (exponent as u32) << 27
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Number; 8] = [
        Number::Unorm,
        Number::Snorm,
        Number::SnormNoZero,
        Number::Uscaled,
        Number::Sscaled,
        Number::Uint,
        Number::Sint,
        Number::Float,
    ];

    /// Every value of every width up to 16 bits comes back, but for NaNs and the lowest signed norm.
    #[test]
    fn values_come_back() {
        for number in ALL {
            for bits in 1..=16 {
                if number == Number::Float && ![8, 10, 11, 16].contains(&bits) {
                    continue;
                }
                for value in 0..=low_bits(bits) {
                    let word = decode(number, bits, value);
                    let lowest = number == Number::Snorm && bits > 1 && value == 1 << (bits - 1);
                    let nan = number == Number::Float && bits > 8 && f32::from_bits(word).is_nan();
                    let wanted = if lowest { value + 1 } else { value };
                    if nan {
                        assert!(f32::from_bits(decode(number, bits, encode(number, bits, word))).is_nan());
                    } else {
                        assert_eq!(encode(number, bits, word), wanted, "{number:?} {bits} {value:#x}");
                    }
                }
            }
            for value in (0..24).map(|bit| (1u32 << bit) + 5).filter(|_| number != Number::Float) {
                let value = value & 0x7f_ffff;
                assert_eq!(encode(number, 24, decode(number, 24, value)), value, "{number:?} {value:#x}");
            }
        }
    }

    #[test]
    fn norms_are_the_nearest() {
        let unorm = |bits, value| f32::from_bits(decode(Number::Unorm, bits, value));
        assert_eq!(unorm(8, 128), 0.501_960_8);
        assert_eq!([unorm(8, 255), unorm(32, u32::MAX), unorm(24, 0xff_ffff), unorm(1, 1)], [1.0; 4]);
        // 3 / (2^32 - 1) is 3 * 2^-32 and less than an f32's step more.
        assert_eq!(unorm(32, 3), 3.0 * 2f32.powi(-32));
        assert_eq!(unorm(32, 0x8000_0000), 0.5);
        let snorm = |value| f32::from_bits(decode(Number::Snorm, 8, value));
        assert_eq!(
            [snorm(0x7f), snorm(0x80), snorm(0x81), snorm(0), snorm(1)],
            [1.0, -1.0, -1.0, 0.0, 1.0 / 127.0]
        );
        let other = |value| f32::from_bits(decode(Number::SnormNoZero, 8, value));
        assert_eq!([other(0x7f), other(0x80), other(0), other(0xff)], [1.0, -1.0, 1.0 / 255.0, -1.0 / 255.0]);
    }

    #[test]
    fn stores_round_and_clamp() {
        let unorm = |bits, x: f32| encode(Number::Unorm, bits, x.to_bits());
        assert_eq!([unorm(8, f32::NAN), unorm(8, -1.0), unorm(8, 7.0), unorm(8, 0.5)], [0, 0, 255, 128]);
        // 0.5 of 1 and 1.5 of 3 are ties.
        assert_eq!([unorm(1, 0.5), unorm(2, 0.5)], [0, 2]);
        assert_eq!(
            [unorm(32, 1.0), unorm(32, 0.5), unorm(32, 1e-30), unorm(32, 2f32.powi(-32))],
            [u32::MAX, 0x8000_0000, 0, 1]
        );
        let snorm = |x: f32| encode(Number::Snorm, 8, x.to_bits());
        assert_eq!([snorm(-1.0), snorm(-9.0), snorm(1.0), snorm(f32::NAN)], [0x81, 0x81, 0x7f, 0]);
        assert_eq!(encode(Number::Uint, 8, 300), 255);
        assert_eq!(encode(Number::Uint, 32, u32::MAX), u32::MAX);
        assert_eq!(encode(Number::Sint, 8, -300i32 as u32), 0x80);
        assert_eq!(encode(Number::Sint, 32, i32::MIN as u32), i32::MIN as u32);
        assert_eq!(encode(Number::Uscaled, 8, 3.9f32.to_bits()), 3);
        assert_eq!(encode(Number::Sscaled, 8, (-3.9f32).to_bits()), 0xfd);
        assert_eq!(encode(Number::Sscaled, 8, 1e9f32.to_bits()), 0x7f);
    }

    #[test]
    fn small_floats() {
        let float = |bits, value| f32::from_bits(decode(Number::Float, bits, value));
        assert_eq!([float(16, 0x3c00), float(16, 1), float(16, 0xc000)], [1.0, 2f32.powi(-24), -2.0]);
        assert_eq!([float(11, 0x3c0), float(11, 1), float(11, 0x7c0)], [1.0, 2f32.powi(-20), f32::INFINITY]);
        assert_eq!([float(10, 0x1e0), float(10, 1), float(10, 0x3e0)], [1.0, 2f32.powi(-19), f32::INFINITY]);
        let store = |bits, x: f32| encode(Number::Float, bits, x.to_bits());
        assert_eq!([store(11, -1.0), store(11, -0.0), store(10, f32::NEG_INFINITY)], [0, 0, 0]);
        assert_eq!([store(16, 65504.0), store(16, 65520.0), store(16, 65519.9)], [0x7bff, 0x7c00, 0x7bff]);
        // Half of the least is a tie and becomes 0, a bit more does not.
        assert_eq!(
            [store(16, 2f32.powi(-25)), store(16, 1.01 * 2f32.powi(-25)), store(16, 1e-38)],
            [0, 1, 0]
        );
        assert_eq!(
            [store(16, 1.0 + 2f32.powi(-11)), store(16, 1.0 + 3.0 * 2f32.powi(-11))],
            [0x3c00, 0x3c02]
        );
        assert_eq!([store(16, f32::NAN), store(11, f32::NAN), store(10, f32::NAN)], [0x7e00, 0x7e0, 0x3f0]);
    }

    #[test]
    fn srgb_follows_the_curve() {
        let srgb = |value| f32::from_bits(decode(Number::Srgb, 8, value));
        assert_eq!([srgb(0), srgb(255)], [0.0, 1.0]);
        assert!((srgb(10) - 10.0 / 255.0 / 12.92).abs() < 1e-9);
        assert!((srgb(188) - 0.502_886).abs() < 1e-5);
        for n in 0..256u32 {
            let curve = linear(f64::from(n) / 255.0);
            assert!((f64::from(srgb(n)) - f64::from(curve)).abs() <= f64::from(curve) * 1e-7);
        }
    }

    #[test]
    fn a_shared_exponent_comes_back() {
        for seed in 0..2000u64 {
            let element = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
            // Only with the highest bit of a field is the exponent the least.
            let element = if element >> 27 == 0 { element } else { element | 1 << 8 };
            assert_eq!(to_shared_exponent(from_shared_exponent(element)), element, "{element:x}");
        }
        let bits = |x: [f32; 3]| x.map(f32::to_bits);
        assert_eq!(to_shared_exponent(bits([1.0, 0.5, f32::NAN])), 0x8001_0100);
        assert_eq!(to_shared_exponent(bits([1e9, -1.0, 0.0])), 31 << 27 | 511);
    }
}
