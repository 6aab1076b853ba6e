//! The model's vector unit (docs/hardware/vp1.md section 6).

use super::bus::{self, Bus};
use super::{Bundle, State, bitop, bits, mangle, signed};

/// A byte, signed or not.
fn number(byte: u8, sign: bool) -> i32 {
    if sign { i32::from(byte as i8) } else { i32::from(byte) }
}

pub(super) fn run(old: &State, new: &mut State, bundle: &Bundle) {
    let word = bundle.v;
    let opcode = word >> 24;
    match opcode {
        0xbf => {}
        0x80..=0x87 | 0x90..=0x93 | 0x95..=0x97 | 0xa0..=0xa3 | 0xa6 | 0xa7 | 0xb0..=0xb7 => {
            mad(old, new, bundle)
        }
        0x8f => compare(old, new, bundle),
        _ => simple(old, new, word),
    }
}

fn simple(old: &State, new: &mut State, word: u32) {
    let opcode = word >> 24;
    let (v1, v2) = (&old.v[bits(word, 14, 5) as usize], &old.v[bits(word, 9, 5) as usize]);
    let v3 = &old.v[bits(word, 4, 5) as usize];
    let immediate = opcode >= 0xa0 && !matches!(opcode, 0xa4 | 0xa5);
    let sign = opcode & 0x10 == 0;
    let (mut signs, mut zeros) = (0, 0);
    let mut out = [0; 16];
    for n in 0..16 {
        let b2 = if immediate { bits(word, 3, 8) as u8 } else { v2[n] };
        let (s1, s2) = (number(v1[n], sign), number(b2, sign));
        let (plain, low) = (i32::from(v1[n]), i32::from(b2));
        // Result, sign flag, whether it is to be clipped as signed or unsigned.
        let (result, flag, clip) = match opcode {
            0x88 | 0x98 | 0xa8 | 0xb8 => (s1.min(s2), None, Some(sign)),
            0x89 | 0x99 | 0xa9 | 0xb9 => (s1.max(s2), None, Some(sign)),
            0x8a | 0x9a => (s1.abs(), None, Some(sign)),
            0x8b => (-s1, None, Some(sign)),
            0x8c | 0x9c | 0xac | 0xbc => (s1 + s2, None, Some(sign)),
            0x8d | 0x9d | 0xbd => (s1 - s2, None, Some(sign)),
            0x8e | 0x9e | 0xae | 0xbe => {
                let count = low << 28 >> 28;
                let result = if count < 0 { s1 << -count } else { s1 >> count };
                (result, Some(result & 0x80 != 0), None)
            }
            0x94 => (bitop(bits(word, 3, 4), plain as u32, low as u32) as i32, Some(false), None),
            0xaa => (plain & low, Some(false), None),
            0xab => (plain ^ low, Some(false), None),
            0xaf => (plain | low, Some(false), None),
            0xba => (plain, Some(false), None),
            0xad => (low, Some(low & 0x80 != 0), None),
            0xbb => ((old.vc[n / 4] >> (8 * (n % 4))) as i32, Some(false), None),
            0xa4 => {
                let s3 = number(v3[n], true);
                let mut three = [s1, s2, s3];
                three.sort_unstable();
                (three[1], Some(!(s2 < s1 && s1 < s3)), None)
            }
            0xa5 => (s1.abs().min(s2.abs()), None, Some(true)),
            0x9f => {
                let pair = if n < 8 { v2 } else { v3 };
                let at = (2 * n) & 14;
                let difference = i32::from(u16::from_le_bytes([pair[at], pair[at + 1]])) << 23 >> 23;
                (plain + difference, None, Some(false))
            }
            _ => {
                // 9b: vswz.
                let (component, which) = match bits(word, 3, 1) {
                    1 => (v3[n] >> 4, v3[n] & 1),
                    _ => (v3[n] & 15, v3[n] >> 4 & 1),
                };
                (i32::from((if which == 1 { v2 } else { v1 })[component as usize]), Some(false), None)
            }
        };
        let (byte, flag) = match clip {
            Some(true) => (result.clamp(-128, 127) as u8, result < 0),
            Some(false) => (result.clamp(0, 255) as u8, result & 0x100 != 0),
            None => (result as u8, flag == Some(true)),
        };
        out[n] = byte;
        signs |= u32::from(flag) << n;
        zeros |= u32::from(byte == 0) << n;
    }
    new.v[bits(word, 19, 5) as usize] = out;
    if !matches!(opcode, 0x9b | 0xbb) {
        set_flags(new, word, signs, zeros);
    }
}

fn set_flags(new: &mut State, word: u32, signs: u32, zeros: u32) {
    if let Some(vc) = new.vc.get_mut(bits(word, 0, 3) as usize) {
        *vc = signs | zeros << 16;
    }
}

/// Register, half and transform that an instruction's own fields choose.
fn own_choice(word: u32) -> (usize, u32, usize) {
    (bits(word, 0, 2) as usize, bits(word, 2, 1), 0)
}

fn compare(old: &State, new: &mut State, bundle: &Bundle) {
    let word = bundle.v;
    let bus = Bus::of(old, bundle.s);
    let flags = bus::flags(old, bus.choice.unwrap_or(own_choice(word)));
    let c = old.c[bits(word, 3, 2) as usize];
    let first = bits(word, 14, 5) as usize;
    let (v1, v2, v3) = (&old.v[first], &old.v[mangle(bits(word, 9, 5), c, word, 0)], &old.v[first | 1]);
    let (mut signs, mut zeros) = (0, 0);
    for n in 0..16 {
        let distance = v1[n].abs_diff(v2[n]);
        let row = u32::from(distance < v3[n]) * 2 + (flags >> n & 1);
        signs |= (bits(word, 19, 4) >> row & 1) << n;
        zeros |= u32::from(distance == v3[n]) << n;
    }
    set_flags(new, word, signs, zeros);
}

/// 80 to 87, 90, b3 to b7 and their kin.
fn mad(old: &State, new: &mut State, bundle: &Bundle) {
    let word = bundle.v;
    let opcode = word >> 24;
    let bus = Bus::of(old, bundle.s);
    let c = old.c[bits(word, 3, 2) as usize];
    let src1 = bits(word, 14, 5);
    let quad = |n: u32| &old.v[(src1 & 0x1c | (src1 + n + (c >> 4 & 3)) & 3) as usize];
    let normal = matches!(opcode & 0xf, 0..=7) && opcode != 0x90 && !matches!(opcode, 0xb3..=0xb7);
    let bit = |at: u32| bits(word, at, 1) == 1;
    let (integer, low, round, shift, unsigned) = match opcode {
        0xb6 | 0xb7 => (false, false, bit(9), signed(word, 11, 3), opcode == 0xb6),
        0xb3 => (false, false, bit(8), signed(word, 5, 3), !bit(12)),
        0xb4 | 0xb5 => (false, true, bit(8), signed(word, 5, 3), true),
        0x90 => (false, false, bit(8), signed(word, 5, 3), true),
        _ => (bit(3), bit(4), bit(8), signed(word, 5, 3), opcode & 0x10 != 0),
    };
    let place = match (integer, unsigned) {
        (true, _) => 16 - shift,
        (false, true) => 8 - shift,
        (false, false) => 9 - shift,
    };
    let choice = if normal { bus.choice.unwrap_or(own_choice(word)) } else { own_choice(word) };
    let flags = bus::flags(old, choice);
    let input = |byte: u8, sign: bool| match (sign, integer) {
        (false, _) => i32::from(byte),
        (true, true) => i32::from(byte as i8),
        (true, false) => 2 * i32::from(byte as i8),
    };
    let mut bytes = [0; 16];
    let mut sums = [0; 16];
    for n in 0..16 {
        let cc = (flags >> n & 1) as usize;
        let factors = (bus.factors[cc], bus.factors[2 + cc]);
        let sum = match opcode {
            0x90 => {
                let (s1, s2) =
                    (i32::from(old.v[src1 as usize][n]), i32::from(old.v[bits(word, 9, 5) as usize][n]));
                let s3 = i32::from(old.v[src1 as usize | 1][n]);
                (s3 << place) + (s1 - s3) * s2
            }
            0xb3 | 0xb4 => {
                let sign = opcode == 0xb3 && bit(9);
                let flip = if opcode == 0xb3 && bit(10) { 0x80 } else { 0 };
                let q = |k: u32| input(quad(k)[n], sign);
                (input(quad(0)[n] ^ flip, sign) << place)
                    + (q(2) - q(0)) * factors.0
                    + (q(3) - q(0)) * factors.1
            }
            0xb5 => {
                let (q2, q3) = (i32::from(quad(2)[n]), i32::from(quad(3)[n]));
                let s2 = i32::from(old.v[bits(word, 9, 5) as usize][n] as i8);
                (s2 << place) + (q2 - q3) * factors.0 + q3 * factors.1
            }
            0xb6 | 0xb7 => {
                let q = |k: u32| i32::from(old.v[mangle(src1, c, word, k)][n]);
                let vx = i32::from(old.vx[n]);
                old.va[n] as i32 + (q(1) - q(0)) * factors.0 + (vx - q(0)) * factors.1
            }
            _ => {
                let kind = opcode & 7;
                let second = match opcode {
                    0xb0 => bits(word, 0, 8) as u8,
                    0xa0.. => ((bits(word, 0, 1) << 5 | bits(word, 9, 5)) * 4) as u8,
                    _ => old.v[bits(word, 9, 5) as usize][n],
                };
                let third = if matches!(opcode, 0x96 | 0xa6 | 0xa7) { bits(word, 4, 5) } else { src1 | 1 };
                let s1 = input(old.v[src1 as usize][n], bit(2));
                let s2 = input(second, bit(1));
                let s3 = input(old.v[third as usize][n], bit(2));
                let factors = if bit(0) {
                    (256 * i32::from(bus.mask(0, n)), 256 * i32::from(bus.mask(1, n)))
                } else {
                    factors
                };
                let products = if kind < 4 { s1 * s2 } else { s1 * factors.0 + s3 * factors.1 };
                let addend = match kind {
                    0 | 1 => 0,
                    4 | 5 => s2 << place,
                    _ => old.va[n] as i32,
                };
                addend.wrapping_add(products << if integer { 8 } else { 0 })
            }
        };
        let at = if low { place - 8 } else { place };
        let half = if round && at > 0 { (1 << (at - 1)) - (old.uc16 & 1) as i32 } else { 0 };
        let sum = sum.wrapping_add(half) << 4 >> 4;
        let read = if place >= 8 { sum >> (place - 8) } else { sum << (8 - place) };
        let read = if unsigned { read.clamp(0, 0xffff) } else { read.clamp(-0x8000, 0x7fff) };
        bytes[n] = (if low { read } else { read >> 8 }) as u8;
        sums[n] = sum as u32 & 0x0fff_ffff;
    }
    let (to_register, to_sum) = match opcode {
        0x90 => (true, false),
        0xb3 => (true, bit(11)),
        0xb4 | 0xb5 => (false, true),
        0xb6 | 0xb7 => (true, true),
        _ => (!matches!(opcode & 7, 0 | 3 | 4 | 6), true),
    };
    if to_register {
        new.v[bits(word, 19, 5) as usize] = bytes;
    }
    if to_sum {
        new.va = sums;
    }
}
