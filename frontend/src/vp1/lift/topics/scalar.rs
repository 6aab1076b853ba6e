//! Lifts the scalar unit (docs/hardware/vp1.md section 4 and the document on the unit).

use warpjit_ir::{IntCC, PureFn, Value};

use super::pure;
use crate::vp1::lift::analysis::graph::Bundle;
use crate::vp1::lift::analysis::outside::{Outside, outside_of};
use crate::vp1::lift::emit::{Emit, Writer};
use crate::vp1::{Inst, Op};

/// Where the fields are (docs/hardware/vp1.md section 3).
pub(in crate::vp1::lift) fn dst(word: u32) -> u32 {
    word >> 19 & 31
}

pub(in crate::vp1::lift) fn src1(word: u32) -> u32 {
    word >> 14 & 31
}

pub(in crate::vp1::lift) fn src2(word: u32) -> u32 {
    word >> 9 & 31
}

/// The 11-bit signed immediate.
pub(in crate::vp1::lift) fn imm(word: u32) -> i32 {
    (word << 18) as i32 >> 21
}

/// A byte in all four.
fn in_all_bytes(byte: u32) -> u32 {
    (byte & 0xff) * 0x0101_0101
}

/// Which scalar bits of `$c` an instruction writes besides zeros.
enum Flags {
    /// It writes none.
    Untouched,
    /// All are cleared.
    Zero,
    /// Zero and bits 18 to 21 of the result.
    Some(Value),
    /// Sign, too, and whether bit 20 of the result and of a value differ.
    All(Value, Value),
}

/// Emits the scalar instruction of a bundle. `resumed`: what it reads outside is in the input slot.
pub(in crate::vp1::lift) fn unit(e: &mut Emit<'_>, bundle: &Bundle, resumed: bool) {
    let inst = bundle.scalar;
    let word = inst.word;
    let flags = match inst.op() {
        Op::MovTo => {
            move_to(e, bundle);
            Flags::Zero
        }
        Op::MovFrom => {
            move_from(e, bundle, resumed);
            Flags::Zero
        }
        Op::MovImm => {
            let value = e.word(((word << 13) as i32 >> 13) as u32);
            e.set_r(Writer::Scalar, dst(word), value);
            Flags::Untouched
        }
        Op::SetHigh => {
            let old = e.r(dst(word));
            let low = e.and_const(old, 0xffff);
            let value = e.or_const(low, word << 16);
            e.set_r(Writer::Scalar, dst(word), value);
            Flags::Untouched
        }
        Op::BusMask => {
            let source = e.r(src1(word));
            let value = e.shift(source, -4);
            e.set_r(Writer::Scalar, src1(word), value);
            Flags::Untouched
        }
        Op::ScalarClear => Flags::Zero,
        // The rest of these is the bus.
        Op::BusMul if matches!(inst.opcode(), 0x1f | 0x2f | 0x3f) => Flags::Zero,
        Op::BusMul | Op::BusByteMad | Op::BusBytes | Op::BusImm | Op::ScalarNop => Flags::Untouched,
        Op::ByteMul => {
            if matches!(inst.opcode() & 3, 1 | 2) {
                let (a, b, settings) = byte_factors(e, inst);
                let settings = e.word(settings);
                let value = e.b.call_pure(&pure::BMUL, &[a, b, settings]);
                e.set_r(Writer::Scalar, dst(word), value);
            }
            Flags::Untouched
        }
        Op::ByteBitop => {
            let (a, b) = (e.r(src1(word)), e.word(in_all_bytes(word >> 3)));
            let code = match inst.opcode() {
                0x25 => 0x8,
                0x26 => 0xe,
                _ => 0x6,
            };
            let value = e.bitop(code, a, b);
            e.set_r(Writer::Scalar, dst(word), value);
            Flags::Zero
        }
        op => match bytewise(op, word) {
            Some(function) => {
                let (a, b) = (e.r(src1(word)), byte_source(e, inst));
                let value = e.b.call_pure(function, &[a, b]);
                e.set_r(Writer::Scalar, dst(word), value);
                Flags::Zero
            }
            None => arithmetic(e, inst),
        },
    };
    let bits = match flags {
        Flags::Untouched => return,
        Flags::Zero => e.word(0),
        _ if word & 7 >= 4 => return,
        Flags::Some(result) => result_flags(e, result),
        Flags::All(result, other) => {
            let part = result_flags(e, result);
            let sign = e.shr(result, 31);
            let differ = e.b.ixor(result, other);
            let differ = e.shr(differ, 17);
            let differ = e.and_const(differ, 8);
            let both = e.b.ior(sign, differ);
            e.b.ior(part, both)
        }
    };
    e.set_flags(word & 7, 0xff, bits);
}

fn bytewise(op: Op, word: u32) -> Option<&'static PureFn> {
    let signed = word & 1 << 28 == 0;
    Some(match (op, signed) {
        (Op::ByteMin, true) => &pure::BMIN_S,
        (Op::ByteMin, false) => &pure::BMIN_U,
        (Op::ByteMax, true) => &pure::BMAX_S,
        (Op::ByteMax, false) => &pure::BMAX_U,
        (Op::ByteAbs, true) => &pure::BABS_S,
        (Op::ByteAbs, false) => &pure::BABS_U,
        (Op::ByteNeg, true) => &pure::BNEG_S,
        (Op::ByteNeg, false) => &pure::BNEG_U,
        (Op::ByteAdd, true) => &pure::BADD_S,
        (Op::ByteAdd, false) => &pure::BADD_U,
        (Op::ByteSub, true) => &pure::BSUB_S,
        (Op::ByteSub, false) => &pure::BSUB_U,
        (Op::ByteShift, true) => &pure::BSHR_S,
        (Op::ByteShift, false) => &pure::BSHR_U,
        _ => return None,
    })
}

/// The second source of bytewise instructions: a byte, or a mangled register.
fn byte_source(e: &mut Emit<'_>, inst: Inst) -> Value {
    if inst.opcode() & 0x20 != 0 {
        e.word(in_all_bytes(inst.word >> 3))
    } else {
        mangled_source(e, inst.word)
    }
}

/// The register that `SRC2` names after mangling.
fn mangled_source(e: &mut Emit<'_>, word: u32) -> Value {
    e.mangled(word, src2(word), 0, &|e, index| e.r(index))
}

/// The factors of an instruction that multiplies bytes, and the settings of its product.
pub(in crate::vp1::lift) fn byte_factors(e: &mut Emit<'_>, inst: Inst) -> (Value, Value, u32) {
    let (word, opcode) = (inst.word, inst.opcode());
    let a = e.r(src1(word));
    let mut settings = 0;
    let b = match inst.op() {
        Op::ByteMul => {
            let sub = opcode & 3;
            settings |= if word & 4 != 0 { pure::SIGNED1 } else { 0 };
            settings |= if word & 2 != 0 { pure::SIGNED2 } else { 0 };
            settings |= if opcode & 0x10 == 0 { pure::SIGNED_RESULT } else { 0 };
            settings |= if word & 0x100 != 0 && sub != 0 { pure::ROUND } else { 0 };
            settings |= if opcode & 2 == 0 { pure::BUS_HIGH } else { 0 };
            match (opcode & 0x20 != 0, sub) {
                (false, _) => e.r(src2(word)),
                (true, 1) => e.word(in_all_bytes(((word & 1) << 5 | src2(word)) << 2)),
                (true, _) => e.word(in_all_bytes(word)),
            }
        }
        // Opcodes that are no multiplications, but drive the multiplier (docs/hardware/vp1.md section 5).
        _ => match opcode {
            0x1f => mangled_source(e, word),
            0x2f | 0x3f => e.word(in_all_bytes(word >> 3)),
            0x34..=0x37 => e.word(in_all_bytes(word)),
            _ => e.r(src2(word)),
        },
    };
    (a, b, settings)
}

/// Instructions on 32 bits.
fn arithmetic(e: &mut Emit<'_>, inst: Inst) -> Flags {
    let word = inst.word;
    let immediate = inst.opcode() & 0x20 != 0;
    let a = e.r(src1(word));
    let code = match inst.opcode() {
        0x42 => Some(word >> 3 & 15),
        0x62 => Some(0x8),
        0x63 => Some(0x6),
        0x64 => Some(0xe),
        _ => None,
    };
    if let Some(code) = code {
        let b = if immediate { e.word(imm(word) as u32) } else { e.r(src2(word)) };
        let value = e.bitop(code, a, b);
        e.set_r(Writer::Scalar, dst(word), value);
        return Flags::Some(value);
    }
    let mut other = a;
    let value = match inst.op() {
        Op::Abs => {
            let negated = e.b.ineg(a);
            e.b.smax(a, negated)
        }
        Op::Neg => {
            other = e.word(0);
            e.b.ineg(a)
        }
        op => {
            let b = if immediate { e.word(imm(word) as u32) } else { mangled_source(e, word) };
            match op {
                Op::Mul => {
                    let (a, b) = (e.sign_extend(a, 16), e.sign_extend(b, 16));
                    e.b.imul(a, b)
                }
                Op::Min => e.b.smin(a, b),
                Op::Max => e.b.smax(a, b),
                Op::Add => e.b.iadd(a, b),
                Op::Sub => e.b.isub(a, b),
                _ => shift(e, a, b, op == Op::Sar),
            }
        }
    };
    // The largest negative number has no absolute value: it stays what it is, which is what both forms give.
    e.set_r(Writer::Scalar, dst(word), value);
    Flags::All(value, other)
}

/// Shifts right by a signed number of six bits; -32 does not shift.
fn shift(e: &mut Emit<'_>, a: Value, count: Value, arithmetic: bool) -> Value {
    let count = e.sign_extend(count, 6);
    // Shifts take their counts modulo 32.
    let right = if arithmetic { e.b.sshr(a, count) } else { e.b.ushr(a, count) };
    let left = e.b.ineg(count);
    let left = e.b.ishl(a, left);
    let zero = e.word(0);
    let negative = e.b.icmp(IntCC::Slt, count, zero);
    e.b.select(negative, left, right)
}

/// Zero flag and bits 18 to 21.
fn result_flags(e: &mut Emit<'_>, result: Value) -> Value {
    let zero = e.is_zero(result);
    let zero = e.choose(zero, 2, 0);
    let high = e.shr(result, 16);
    let b20_b21 = e.and_const(high, 0x30);
    let b19 = e.shr(result, 17);
    let b19 = e.and_const(b19, 4);
    let mut all = e.b.ior(zero, b20_b21);
    all = e.b.ior(all, b19);
    if e.own.chip == crate::vp1::Chip::G80 {
        let b19 = e.shr(result, 13);
        let b19 = e.and_const(b19, 0x40);
        let b18 = e.shr(result, 11);
        let b18 = e.and_const(b18, 0x80);
        let both = e.b.ior(b19, b18);
        all = e.b.ior(all, both);
    }
    all
}

/// `6a`: to a register of another file.
fn move_to(e: &mut Emit<'_>, bundle: &Bundle) {
    let word = bundle.scalar.word;
    let (file, index) = (word >> 3 & 31, dst(word));
    if outside_of(bundle.scalar).is_some() {
        return;
    }
    let value = e.r(move_source(bundle));
    let slots = e.own.slots;
    match file {
        0..=3 | 0x12 => {
            // Bytes to the components of a word.
            let lane = e.lane();
            let shift = e.and_const(lane, 3);
            let shift = e.shift(shift, 3);
            let byte = e.b.ushr(value, shift);
            let byte = e.and_const(byte, 0xff);
            let of = e.shr(lane, 2);
            let this = e.word(file & 3);
            let here = e.b.icmp(IntCC::Eq, of, this);
            let old = e.v(index);
            let value = e.b.select(here, byte, old);
            e.set(Writer::Move, slots.v[index as usize], value);
        }
        0x0a => e.set(Writer::Scalar, if index == 0 { slots.uc0 } else { slots.uc16 }, value),
        0x0b => {
            if let Some(&slot) = slots.l.get(index as usize) {
                let value = e.and_const(value, 0xffff);
                e.set(Writer::Scalar, slot, value);
            }
        }
        0x0c => e.set(Writer::Scalar, slots.a[index as usize], value),
        0x14 | 0x15 => e.set(Writer::Scalar, slots.m[((file & 1) << 5 | index) as usize], value),
        _ => e.set(Writer::Scalar, slots.x[index as usize & 15], value),
    }
}

/// The register that a `6a` reads: a store of the address unit shares its port (docs/hardware/vp1.md section 4).
pub(in crate::vp1::lift) fn move_source(bundle: &Bundle) -> u32 {
    let address = bundle.address;
    if address.op() == Op::AStore && address.opcode() & 3 == 2 {
        src1(address.word)
    } else {
        src1(bundle.scalar.word)
    }
}

/// `6b`: from a register of another file.
fn move_from(e: &mut Emit<'_>, bundle: &Bundle, resumed: bool) {
    let word = bundle.scalar.word;
    let (file, index) = (word >> 3 & 31, src1(word));
    let slots = e.own.slots;
    if matches!(outside_of(bundle.scalar), Some(Outside::Read { .. })) {
        if resumed && let Some(&slot) = slots.r.get(dst(word) as usize) {
            let (value, there) = (e.get(slots.input), e.get(slots.has_input));
            let there = e.test(there, 1);
            e.set_when(Writer::Move, slot, value, there);
        }
        return;
    }
    let (writer, value) = match file {
        0..=3 => {
            let v = e.v(index);
            let mut all = component(e, v, file * 4);
            for byte in 1..4 {
                let part = component(e, v, file * 4 + byte);
                let part = e.shift(part, 8 * byte as i32);
                all = e.b.ior(all, part);
            }
            (Writer::Move, all)
        }
        0x0a => (Writer::Move, e.get(if index == 0 { slots.uc0 } else { slots.uc16 })),
        // With an exit in the bundle nothing is written (docs/hardware/vp1.md section 4).
        0x0b if bundle.branch.op() == Op::Exit => return,
        0x0b => (Writer::Move, e.get(slots.l[index as usize & 3])),
        0x0c => (Writer::Move, e.a(index)),
        0x0d if index < 4 => {
            let c = e.c(index);
            (Writer::Move, e.or_const(c, 0x8000))
        }
        0x0d => (Writer::Move, e.word(0)),
        0x14 | 0x15 => (Writer::Scalar, e.get(slots.m[((file & 1) << 5 | index) as usize])),
        _ => (Writer::Scalar, e.get(slots.x[index as usize & 15])),
    };
    e.set_r(writer, dst(word), value);
}

/// A component as a uniform value.
fn component(e: &mut Emit<'_>, vector: Value, index: u32) -> Value {
    let index = e.word(index);
    e.b.read_lane(vector, index)
}
