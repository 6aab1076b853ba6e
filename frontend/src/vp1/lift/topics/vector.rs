//! Lifts the vector unit (docs/hardware/vp1.md section 6). Each component of a vector is a lane.

use warpjit_ir::{IntCC, Opcode, Scalar, Value};

use super::bus::{self, Bus, FlagChoice};
use super::mad;
use super::scalar::{dst, src1, src2};
use crate::vp1::lift::analysis::graph::Bundle;
use crate::vp1::lift::emit::{Emit, Writer};
use crate::vp1::{Inst, Op};

/// How a result becomes a byte, and what its sign flag is.
enum Finish {
    /// Low eight bits; no flags.
    Plain,
    /// Low eight bits; never a sign.
    Logic,
    /// Low eight bits; bit 7 is the sign.
    Shift,
    /// Clipped; the sign is that of the signed result, or bit 8 of the unsigned one.
    Clip,
    /// Low eight bits; the sign is this.
    Sign(Value),
}

/// Emits the vector instruction of a bundle.
pub(in crate::vp1::lift) fn unit(e: &mut Emit<'_>, bundle: &Bundle, bus: Bus) {
    let inst = bundle.vector;
    let word = inst.word;
    let signed = word & 1 << 28 == 0;
    let (result, finish) = match inst.op() {
        Op::VNop => return,
        Op::VMad => return mad::unit(e, inst, bus),
        Op::VCmpad => return compare(e, word, bus),
        Op::VMovFlags => (all_flags(e), Finish::Plain),
        Op::VMovImm => (e.word(word >> 3 & 0xff), Finish::Shift),
        Op::VSwizzle => (swizzle(e, word), Finish::Plain),
        Op::VBitop => {
            let (a, b) = sources(e, inst, false);
            let code = match inst.opcode() {
                0xaa => 0x8,
                0xab => 0x6,
                0xaf => 0xe,
                0xba => 0xc,
                _ => word >> 3 & 15,
            };
            (e.bitop(code, a, b), Finish::Logic)
        }
        Op::VClip => {
            let (a, b) = sources(e, inst, true);
            let c = e.v(word >> 4 & 31);
            let c = e.sign_extend(c, 8);
            let (low, high) = (e.b.smin(a, b), e.b.smax(a, b));
            let median = e.b.smax(c, low);
            let median = e.b.smin(median, high);
            let (left, right) = (e.b.icmp(IntCC::Slt, b, a), e.b.icmp(IntCC::Slt, a, c));
            let ordered = e.b.iand(left, right);
            let sign = e.b.inot(ordered);
            (median, Finish::Sign(sign))
        }
        Op::VMinAbs => {
            let (a, b) = sources(e, inst, true);
            let (a, b) = (absolute(e, a), absolute(e, b));
            (e.b.smin(a, b), Finish::Clip)
        }
        Op::VAdd9 => (add9(e, word), Finish::Clip),
        Op::VShift => {
            let (a, _) = sources(e, inst, signed);
            let (_, count) = sources(e, inst, false);
            let count = e.sign_extend(count, 4);
            let left = e.b.ineg(count);
            let (left, right) = (e.b.ishl(a, left), e.b.sshr(a, count));
            let negative = e.is_negative(count);
            (e.b.select(negative, left, right), Finish::Shift)
        }
        op => {
            let (a, b) = sources(e, inst, signed);
            let result = match op {
                Op::VMin => e.b.smin(a, b),
                Op::VMax => e.b.smax(a, b),
                Op::VAbs => absolute(e, a),
                Op::VNeg => e.b.ineg(a),
                Op::VAdd => e.b.iadd(a, b),
                _ => e.b.isub(a, b),
            };
            (result, Finish::Clip)
        }
    };
    // vclip's, vminabs's and vadd9's opcodes have no bit for the sign.
    let signed = match inst.op() {
        Op::VMinAbs => true,
        Op::VAdd9 => false,
        _ => signed,
    };
    let result = e.b.splat(result);
    let (byte, sign) = match finish {
        Finish::Clip if signed => {
            let clipped = e.clamp(result, -0x80, 0x7f);
            (e.and_const(clipped, 0xff), Some(e.is_negative(result)))
        }
        Finish::Clip => (e.clamp(result, 0, 0xff), Some(e.test(result, 0x100))),
        Finish::Plain | Finish::Logic => (e.and_const(result, 0xff), None),
        Finish::Shift => {
            let byte = e.and_const(result, 0xff);
            (byte, Some(e.test(byte, 0x80)))
        }
        Finish::Sign(sign) => (e.and_const(result, 0xff), Some(sign)),
    };
    e.set(Writer::Vector, e.own.slots.v[dst(word) as usize], byte);
    if !matches!(finish, Finish::Plain) {
        let zero = e.is_zero(byte);
        let sign = sign.unwrap_or_else(|| e.b.bool(false));
        set_flags(e, word, sign, zero);
    }
}

/// Writes `$vc[VCDST]`, if there is one.
fn set_flags(e: &mut Emit<'_>, word: u32, sign: Value, zero: Value) {
    let index = word as usize & 7;
    if index < 4 {
        let (sign, zero) = (e.b.splat(sign), e.b.splat(zero));
        e.set(Writer::Vector, e.own.slots.vc_sign[index], sign);
        e.set(Writer::Vector, e.own.slots.vc_zero[index], zero);
    }
}

/// The first two sources: registers, the second one possibly a byte; signed or not.
fn sources(e: &mut Emit<'_>, inst: Inst, signed: bool) -> (Value, Value) {
    let word = inst.word;
    // Opcodes a0 to bf take a byte, but for these.
    let immediate = inst.opcode() & 0x20 != 0 && !matches!(inst.op(), Op::VClip | Op::VMinAbs);
    let a = e.v(src1(word));
    let b = if immediate { e.word(word >> 3 & 0xff) } else { e.v(src2(word)) };
    if signed { (e.sign_extend(a, 8), e.sign_extend(b, 8)) } else { (a, b) }
}

fn absolute(e: &mut Emit<'_>, a: Value) -> Value {
    let negated = e.b.ineg(a);
    e.b.smax(a, negated)
}

/// Each component adds a 9-bit difference: components 2i and 2i + 1 of the second source for the first eight, of the
/// third for the others.
fn add9(e: &mut Emit<'_>, word: u32) -> Value {
    let (one, two) = (e.v(src2(word)), e.v(word >> 4 & 31));
    let lane = e.lane();
    let low = e.shift(lane, 1);
    let low = e.and_const(low, 14);
    let high = e.or_const(low, 1);
    let eight = e.word(8);
    let first = e.b.icmp(IntCC::Ult, lane, eight);
    let mut part = |index: Value| {
        let (one, two) = (e.b.shuffle(one, index), e.b.shuffle(two, index));
        e.b.select(first, one, two)
    };
    let (low, high) = (part(low), part(high));
    let high = e.shift(high, 8);
    let difference = e.b.ior(low, high);
    let difference = e.sign_extend(difference, 9);
    let a = e.v(src1(word));
    e.b.iadd(a, difference)
}

/// A component of one of two registers, both chosen by the third.
fn swizzle(e: &mut Emit<'_>, word: u32) -> Value {
    let control = e.v(word >> 4 & 31);
    let high = e.shr(control, 4);
    let (index, which) = if word & 8 != 0 { (high, control) } else { (control, high) };
    let index = e.and_const(index, 15);
    let second = e.test(which, 1);
    let (one, two) = (e.v(src1(word)), e.v(src2(word)));
    let (one, two) = (e.b.shuffle(one, index), e.b.shuffle(two, index));
    e.b.select(second, two, one)
}

/// All flags: a byte of the `$vc` of the component's group of four.
fn all_flags(e: &mut Emit<'_>) -> Value {
    let slots = e.own.slots;
    let lane = e.lane();
    let group = e.shr(lane, 2);
    let mut all = e.word(0);
    for (index, (&sign, &zero)) in slots.vc_sign.iter().zip(&slots.vc_zero).enumerate() {
        let mut half = |slot| {
            let flags = e.get(slot);
            let bits = e.b.ballot(flags);
            e.b.convert(Opcode::Trunc, bits, Scalar::I32)
        };
        let (sign, zero) = (half(sign), half(zero));
        let zero = e.shift(zero, 16);
        let word = e.b.ior(sign, zero);
        let this = e.word(index as u32);
        let here = e.b.icmp(IntCC::Eq, group, this);
        all = e.b.select(here, word, all);
    }
    let shift = e.and_const(lane, 3);
    let shift = e.shift(shift, 3);
    let byte = e.b.ushr(all, shift);
    e.and_const(byte, 0xff)
}

/// `vcmpad`: compares the distance of two sources with a third.
fn compare(e: &mut Emit<'_>, word: u32, bus: Bus) {
    let a = e.v(src1(word));
    let b = e.mangled(word, src2(word), 0, &|e, index| e.v(index));
    let other = e.v(src1(word) | 1);
    let difference = e.b.isub(a, b);
    let distance = absolute(e, difference);
    let equal = e.b.icmp(IntCC::Eq, distance, other);
    let below = e.b.icmp(IntCC::Slt, distance, other);
    let own = FlagChoice { register: word & 3, zero: word & 4 != 0, transform: 0 };
    let flag = bus::flag_of(e, bus.flag_choice().unwrap_or(own));
    // Bit 2 * below + flag of CMPOP.
    let code = word >> 19;
    let bit = |e: &mut Emit<'_>, bit: u32| e.b.bool(code & 1 << bit != 0);
    let (not_below, is_below) = ((bit(e, 0), bit(e, 1)), (bit(e, 2), bit(e, 3)));
    let not_below = e.b.select(flag, not_below.1, not_below.0);
    let is_below = e.b.select(flag, is_below.1, is_below.0);
    let sign = e.b.select(below, is_below, not_below);
    set_flags(e, word, sign, equal);
}
