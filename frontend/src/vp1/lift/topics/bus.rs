//! Lifts the bus that carries values from the scalar to the vector unit (docs/hardware/vp1.md section 5).

use warpjit_ir::{IntCC, Opcode, Scalar, Value};

use super::pure;
use super::scalar::{byte_factors, src1, src2};
use crate::vp1::lift::emit::Emit;
use crate::vp1::{Inst, Op};

/// What the scalar instruction of a bundle sends.
#[derive(Clone, Copy)]
pub(in crate::vp1::lift) struct Bus {
    inst: Inst,
}

/// Which flags of `$vc` choose between factors: register, whether zero flags, transform.
#[derive(Clone, Copy)]
pub(in crate::vp1::lift) struct FlagChoice {
    pub(in crate::vp1::lift) register: u32,
    pub(in crate::vp1::lift) zero: bool,
    pub(in crate::vp1::lift) transform: u32,
}

impl Bus {
    pub(in crate::vp1::lift) fn new(inst: Inst) -> Bus {
        Bus { inst }
    }

    /// The choice of `$vc` flags that is sent, by those that send one.
    pub(in crate::vp1::lift) fn flag_choice(self) -> Option<FlagChoice> {
        let word = self.inst.word;
        let valid = matches!(self.inst.op(), Op::BusByteMad | Op::BusBytes | Op::BusImm | Op::BusMask);
        valid.then_some(FlagChoice {
            register: word >> 19 & 3,
            zero: word & 1 << 21 != 0,
            transform: word >> 22 & 3 | (word & 1) << 2,
        })
    }

    /// The four factors.
    pub(in crate::vp1::lift) fn factors(self, e: &mut Emit<'_>) -> [Value; 4] {
        let inst = self.inst;
        let word = inst.word;
        match inst.op() {
            Op::BusImm => {
                let one = (word << 22) as i32 >> 23;
                let two = (word << 13) as i32 >> 23;
                [one, one, two, two].map(|factor| e.word(factor as u32))
            }
            Op::BusBytes => {
                let source = e.r(src1(word));
                std::array::from_fn(|byte| {
                    let factor = signed_byte(e, source, byte);
                    e.shift(factor, 1)
                })
            }
            Op::BusByteMad => self.byte_mad(e),
            Op::ByteMul | Op::BusMul => {
                let (a, b, settings) = byte_factors(e, inst);
                let settings = e.word(settings);
                let packed = e.b.call_pure(&pure::BMUL_BUS, &[a, b, settings]);
                std::array::from_fn(|factor| {
                    let count = e.b.i64(16 * factor as u64);
                    let part = e.b.ushr(packed, count);
                    let part = e.b.convert(Opcode::Trunc, part, Scalar::I32);
                    e.sign_extend(part, 16)
                })
            }
            Op::ByteMin
            | Op::ByteMax
            | Op::ByteAbs
            | Op::ByteNeg
            | Op::ByteAdd
            | Op::ByteSub
            | Op::ByteShift
            | Op::ByteBitop => [e.word(0); 4],
            _ => {
                // Four bits, each for four components: bits 1 to 8 of two factors.
                let register = if inst.op() == Op::SetHigh { word >> 19 & 31 } else { src1(word) };
                let source = e.r(register);
                let zero = e.word(0);
                let factor = |e: &mut Emit<'_>, bit: u32| {
                    let (low, high) = (e.test(source, 1 << bit), e.test(source, 2 << bit));
                    let (low, high) = (e.choose(low, 0x1e, 0), e.choose(high, 0x1e0, 0));
                    e.b.ior(low, high)
                };
                [factor(e, 0), factor(e, 2), zero, zero]
            }
        }
    }

    /// `bvecmad`, `bvecmadsel`.
    fn byte_mad(self, e: &mut Emit<'_>) -> [Value; 4] {
        let word = self.inst.word;
        let select = self.inst.opcode() == 0x05;
        let source = e.r(src1(word));
        let p = e.shr(source, 11);
        let p = e.and_const(p, if select { 0x7f } else { 0xff });
        let (a, b) = mad_registers(e, word);
        let factors: [Value; 4] = std::array::from_fn(|byte| {
            let (a, b) = (signed_byte(e, a, byte), signed_byte(e, b, byte));
            let a = e.shift(a, 8);
            let b = e.b.imul(p, b);
            let sum = e.b.iadd(a, b);
            let sum = e.add_const(sum, 0x40);
            e.shift(sum, -7)
        });
        if !select {
            return factors;
        }
        // Bit 7 of $c, where SLCT is 2, says which of each pair counts.
        let [one, two] = if word >> 5 & 15 == 2 {
            let c = e.c(word >> 3 & 3);
            let second = e.test(c, 0x80);
            [e.b.select(second, factors[1], factors[0]), e.b.select(second, factors[3], factors[2])]
        } else {
            [factors[0], factors[2]]
        };
        [one, one, two, two]
    }

    /// The two masks, for each component.
    pub(in crate::vp1::lift) fn masks(self, e: &mut Emit<'_>) -> [Value; 2] {
        let factors = self.factors(e);
        std::array::from_fn(|mask| {
            let mut byte = |factor: Value| {
                let bits = e.shift(factor, -1);
                e.and_const(bits, 0xff)
            };
            let (low, high) = (byte(factors[2 * mask]), byte(factors[2 * mask + 1]));
            let high = e.shift(high, 8);
            let bits = e.b.ior(low, high);
            let bits = e.b.convert(Opcode::Zext, bits, Scalar::I64);
            e.b.lane_bit(bits)
        })
    }
}

/// The registers that `bvecmad` multiplies and adds: the bit or rotation that mangling would use is or-ed.
pub(in crate::vp1::lift) fn mad_registers(e: &mut Emit<'_>, word: u32) -> (Value, Value) {
    let base = src2(word);
    let mut read = |more: u32| match word >> 5 & 15 {
        4 => {
            let c = e.c(word >> 3 & 3);
            let all: [Value; 4] = std::array::from_fn(|n| e.r(base | more | n as u32));
            let (low, high) = (e.test(c, 1 << 4), e.test(c, 1 << 5));
            let even = e.b.select(low, all[1], all[0]);
            let odd = e.b.select(low, all[3], all[2]);
            e.b.select(high, odd, even)
        }
        _ => {
            let (zero, one) = (e.r(base | more), e.r(base | more | 1));
            let bit = e.selected(word);
            e.b.select(bit, one, zero)
        }
    };
    (read(0), read(2))
}

fn signed_byte(e: &mut Emit<'_>, word: Value, byte: usize) -> Value {
    let high = e.shift(word, 24 - 8 * byte as i32);
    e.shift(high, -24)
}

/// For each component, the flag of a `$vc` after its transform.
pub(in crate::vp1::lift) fn flag_of(e: &mut Emit<'_>, choice: FlagChoice) -> Value {
    let slots = e.own.slots;
    let half = if choice.zero { &slots.vc_zero } else { &slots.vc_sign };
    let flags = e.get(half[choice.register as usize & 3]);
    if choice.transform == 0 {
        return flags;
    }
    // Which component's flag each one gets (the document's tables): its group of four, and an index in the group.
    let lane = e.lane();
    let group = e.and_const(lane, 12);
    let source = match choice.transform {
        1 => e.or_const(group, 2),
        2 => {
            let kept = e.and_const(lane, 9);
            e.or_const(kept, 4)
        }
        3 => {
            // Target 2 for 2, else 0.
            let odd = e.shift(lane, 1);
            let odd = e.b.inot(odd);
            let two = e.b.iand(lane, odd);
            let two = e.and_const(two, 2);
            e.b.ior(group, two)
        }
        4 => {
            // Target 3 for 3, else 1.
            let odd = e.shift(lane, 1);
            let three = e.b.iand(lane, odd);
            let three = e.and_const(three, 2);
            let last = e.b.ior(group, three);
            e.or_const(last, 1)
        }
        5 => e.and_const(lane, 14),
        6 => e.or_const(group, 1),
        _ => {
            // Every second one of two registers.
            let other = e.get(half[(choice.register | 1) as usize & 3]);
            let source = e.shift(lane, 1);
            let (one, two) = (moved(e, flags, source), moved(e, other, source));
            let first = e.word(8);
            let first = e.b.icmp(IntCC::Ult, lane, first);
            return e.b.select(first, one, two);
        }
    };
    moved(e, flags, source)
}

/// The truth value of the component that `source` names.
fn moved(e: &mut Emit<'_>, flags: Value, source: Value) -> Value {
    let words = e.b.convert(Opcode::Bmask, flags, Scalar::I32);
    let words = e.b.shuffle(words, source);
    e.test(words, 1)
}
