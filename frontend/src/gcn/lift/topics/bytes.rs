//! Lifts operations on the bytes of a 32-bit value: sums of absolute differences, averages, permutations.

use warpjit_ir::{IntCC, Value};

use crate::gcn::lift::emit::Emit;
use crate::gcn::numeric::pure;
use crate::gcn::{Inst, Op};

/// Emits an instruction of this file's; false for others.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    match inst.op {
        Op::V_SAD_U8 | Op::V_MSAD_U8 | Op::V_SAD_U16 | Op::V_SAD_U32 | Op::V_SAD_HI_U8 => {
            let (a, b, c) = (e.src32(inst, 0), e.src32(inst, 1), e.src32(inst, 2));
            let sum = match inst.op {
                Op::V_SAD_U8 => differences(e, a, b, 8, false),
                Op::V_MSAD_U8 => differences(e, a, b, 8, true),
                Op::V_SAD_U16 => differences(e, a, b, 16, false),
                Op::V_SAD_U32 => differences(e, a, b, 32, false),
                _ => {
                    let sum = differences(e, a, b, 8, false);
                    e.shl_const(sum, 16)
                }
            };
            let value = add(e, inst, sum, c);
            e.set_dst32(inst, value);
        }
        Op::V_QSAD_PK_U16_U8 | Op::V_MQSAD_PK_U16_U8 => {
            let (a, b, c) = (e.src64(inst, 0), e.src32(inst, 1), e.src64(inst, 2));
            let flags = u32::from(inst.op == Op::V_MQSAD_PK_U16_U8) | u32::from(inst.saturates()) << 1;
            let flags = e.b.i32(flags);
            let value = e.b.call_pure(&pure::QSAD_PK_U16_U8, &[flags, a, b, c]);
            e.set_dst64(inst, value);
        }
        Op::V_MQSAD_U32_U8 => {
            let (low, high) = {
                let a = e.src64(inst, 0);
                (e.low(a), e.high(a))
            };
            let b = e.src32(inst, 1);
            let sums = e.src_words(inst.src(2), 4);
            let values: Vec<Value> = (0u32..4)
                .zip(sums)
                .map(|(n, sum)| {
                    let count = e.b.i32(8 * n);
                    let a = if n == 0 { low } else { e.align(high, low, count) };
                    let differences = differences(e, a, b, 8, true);
                    add(e, inst, differences, sum)
                })
                .collect();
            e.set_dst_words(inst, &values);
        }
        Op::V_LERP_U8 => {
            // The average of each byte: what both have, half of what one has, and, where bit 0 of the third
            // says so, the half that is lost.
            let (a, b, round) = (e.src32(inst, 0), e.src32(inst, 1), e.src32(inst, 2));
            let (both, one) = (e.b.iand(a, b), e.b.ixor(a, b));
            let half = e.ushr_const(one, 1);
            let half = e.and_const(half, 0x7f7f_7f7f);
            let up = e.b.iand(one, round);
            let up = e.and_const(up, 0x0101_0101);
            let value = e.b.iadd(both, half);
            let value = e.b.iadd(value, up);
            e.set_dst32(inst, value);
        }
        Op::V_SCREEN_PARTITION_4SE_B32 => {
            let a = e.src32(inst, 0);
            let value = e.b.call_pure(&pure::SCREEN_PARTITION, &[a]);
            e.set_dst32(inst, value);
        }
        Op::V_PERM_B32 => {
            let (high, low, selector) = (e.src32(inst, 0), e.src32(inst, 1), e.src32(inst, 2));
            let known = match inst.src(2).operand.scalar_code() {
                Some(code) => e.own.statics.constant(code),
                None => e.b.func.as_const(selector).map(|bits| bits as u32),
            };
            let value = match known {
                Some(selector) => permute(e, high, low, selector),
                None => e.b.call_pure(&pure::PERM_B32, &[high, low, selector]),
            };
            e.set_dst32(inst, value);
        }
        _ => return false,
    }
    true
}

/// Sum of the absolute differences of the parts of two words; `masked`: of those that are not zero in `b`.
fn differences(e: &mut Emit<'_>, a: Value, b: Value, bits: u32, masked: bool) -> Value {
    let mut total = None;
    for shift in (0..32).step_by(bits as usize) {
        let mut part = |x: Value| {
            let x = if shift == 0 { x } else { e.ushr_const(x, shift) };
            e.extend(x, bits, false)
        };
        let (x, y) = (part(a), part(b));
        let (low, high) = (e.b.umin(x, y), e.b.umax(x, y));
        let mut difference = e.b.isub(high, low);
        if masked {
            let zero = e.b.i32(0);
            let none = e.b.icmp(IntCC::Eq, y, zero);
            difference = e.b.select(none, zero, difference);
        }
        total = Some(match total {
            Some(total) => e.b.iadd(total, difference),
            None => difference,
        });
    }
    total.unwrap_or(a)
}

/// The sum with the accumulator, saturated if told so.
fn add(e: &mut Emit<'_>, inst: &Inst, a: Value, b: Value) -> Value {
    let sum = e.b.iadd(a, b);
    if !inst.saturates() {
        return sum;
    }
    let wrapped = e.b.icmp(IntCC::Ult, sum, b);
    let limit = e.b.i32(u32::MAX);
    e.b.select(wrapped, limit, sum)
}

/// The permutation for a constant selector: bytes that move by as much go together.
fn permute(e: &mut Emit<'_>, high: Value, low: Value, selector: u32) -> Value {
    let byte = |n: u32| selector >> (8 * n) & 0xff;
    let sources = [low, high];
    let mut value = e.b.i32((0..4).filter(|&n| byte(n) > 12).fold(0, |ones, n| ones | 0xff << (8 * n)));
    // The first byte of each word in reverse order is a swap.
    for (word, reversed) in [(0, 0x0001_0203), (1, 0x0405_0607)] {
        if selector == reversed {
            return e.b.bswap(sources[word]);
        }
    }
    for (word, &source) in sources.iter().enumerate() {
        for distance in -3..=3i32 {
            let takes = |&n: &u32| {
                let at = byte(n);
                at < 8 && at / 4 == word as u32 && n as i32 - (at & 3) as i32 == distance
            };
            let mask = (0..4).filter(takes).fold(0u32, |mask, n| mask | 0xff << (8 * n));
            if mask == 0 {
                continue;
            }
            let moved = match distance {
                0 => source,
                1.. => e.shl_const(source, 8 * distance as u32),
                _ => e.ushr_const(source, 8 * distance.unsigned_abs()),
            };
            let moved = e.and_const(moved, mask);
            value = e.b.ior(value, moved);
        }
    }
    for n in (0..4).filter(|&n| (8..12).contains(&byte(n))) {
        let half = byte(n) - 8;
        let source = sources[half as usize / 2];
        let sign = if half & 1 == 0 { e.shl_const(source, 16) } else { source };
        let sign = e.sshr_const(sign, 31);
        let sign = e.and_const(sign, 0xff << (8 * n));
        value = e.b.ior(value, sign);
    }
    value
}
