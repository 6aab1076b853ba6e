//! Known bits and unsigned bounds: for each value, the bits that are always 0, the bits that are always 1, and the largest
//! unsigned value.
//!
//! They follow from the bounds of slots, the widths of loads, constants, and the operations that use these. Each fact holds in
//! every lane.

use crate::entities::{Block, Value};
use crate::function::{Function, Imm, InstData};
use crate::opcodes::Opcode;
use crate::types::Scalar;

/// What is known of a value's bits in every lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// Bits that are certainly 0.
    pub zeros: u64,
    /// Bits that are certainly 1.
    pub ones: u64,
    /// Largest unsigned value.
    pub max: u64,
}

impl Bits {
    /// Nothing known, for a value of this type.
    pub fn unknown(scalar: Scalar) -> Bits {
        let mask = scalar.bit_mask();
        Bits { zeros: !mask, ones: 0, max: mask }
    }

    /// A single value.
    pub fn exactly(bits: u64) -> Bits {
        Bits { zeros: !bits, ones: bits, max: bits }
    }

    /// Any value up to `max`.
    pub fn up_to(max: u64) -> Bits {
        Bits { zeros: !ones_below(max), ones: 0, max }
    }

    fn new(zeros: u64, ones: u64, max: u64) -> Bits {
        // The bits and the bound each restrict the other.
        let zeros = zeros | !ones_below(max);
        Bits { zeros, ones, max: max.min(!zeros) }
    }

    /// What holds for both.
    fn join(self, other: Bits) -> Bits {
        Bits { zeros: self.zeros & other.zeros, ones: self.ones & other.ones, max: self.max.max(other.max) }
    }

    /// The value, if there is only one.
    pub fn constant(self) -> Option<u64> {
        (self.zeros == !self.ones).then_some(self.ones)
    }

    /// Bits that may be 1.
    pub fn possible(self) -> u64 {
        !self.zeros
    }

    /// Whether all these bits are 0.
    pub fn clear(self, mask: u64) -> bool {
        self.possible() & mask == 0
    }

    /// Smallest unsigned value.
    pub fn min(self) -> u64 {
        self.ones
    }
}

/// All bits up to the highest set one.
fn ones_below(max: u64) -> u64 {
    u64::MAX.checked_shr(max.leading_zeros()).unwrap_or(0)
}

/// Rounds of the analysis after which bounds that still grow around a loop are given up.
const ROUNDS: usize = 4;

/// Known bits of every value.
pub struct KnownBits {
    bits: Vec<Bits>,
}

impl KnownBits {
    /// Analyses a function. `order` is the reverse postorder of its reachable blocks. A parameter has what all its
    /// arguments have in common.
    pub fn new(func: &Function, order: &[Block]) -> KnownBits {
        let unknown: Vec<Bits> = func.values.iter().map(|v| Bits::unknown(v.ty.scalar)).collect();
        let mut known = KnownBits { bits: unknown.clone() };
        // Optimistic: a parameter has no value until an argument reaches it.
        let mut reached: Vec<bool> = vec![false; func.values.len()];
        // By block: whether this round has been there. What it finds for other blocks, they see in the same round.
        let mut passed = vec![false; func.blocks.len()];
        let mut gave_up = false;
        for round in 0.. {
            let mut changed = false;
            passed.fill(false);
            for &block in order {
                passed[block.index()] = true;
                let data = func.block(block);
                for &inst in &data.insts {
                    if let Some(result) = func.inst(inst).result {
                        known.bits[result.index()] = known.transfer(func, func.inst(inst));
                    }
                }
                let Some(term) = &data.term else { continue };
                for call in term.calls() {
                    let goes_back = passed[call.block.index()];
                    for (&param, &arg) in func.block(call.block).params.iter().zip(&call.args) {
                        let (p, from) = (param.index(), known.get(arg));
                        if !std::mem::replace(&mut reached[p], true) {
                            known.bits[p] = from;
                            changed |= goes_back;
                            continue;
                        }
                        let before = known.bits[p];
                        let mut joined = before.join(from);
                        if joined == before {
                            continue;
                        }
                        if round >= ROUNDS {
                            // Known bits are lost one by one at worst, but a bound can grow by one in each round.
                            joined.max = !joined.zeros;
                            gave_up = true;
                        }
                        if round >= 2 * ROUNDS {
                            joined = unknown[p];
                        }
                        changed |= goes_back && joined != before;
                        known.bits[p] = joined;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        // Giving up lost too much. What the arguments have now also holds for the parameters.
        if gave_up {
            known.narrow(func, order);
            known.narrow(func, order);
        }
        known
    }

    fn narrow(&mut self, func: &Function, order: &[Block]) {
        let mut joined: Vec<Option<Bits>> = vec![None; self.bits.len()];
        for &block in order {
            let data = func.block(block);
            for &inst in &data.insts {
                if let Some(result) = func.inst(inst).result {
                    self.bits[result.index()] = self.transfer(func, func.inst(inst));
                }
            }
            for call in data.term.iter().flat_map(|t| t.calls()) {
                for (&param, &arg) in func.block(call.block).params.iter().zip(&call.args) {
                    let from = self.get(arg);
                    let at = &mut joined[param.index()];
                    *at = Some(at.map_or(from, |b| b.join(from)));
                }
            }
        }
        for (bits, joined) in self.bits.iter_mut().zip(joined) {
            if let Some(joined) = joined {
                *bits = joined;
            }
        }
    }

    /// Bits of a value.
    pub fn get(&self, value: Value) -> Bits {
        self.bits[value.index()]
    }

    /// Adds a value that was made after the analysis.
    pub fn update(&mut self, func: &Function, value: Value) {
        if value.index() >= self.bits.len() {
            let from = self.bits.len();
            self.bits.extend(func.values[from..].iter().map(|v| Bits::unknown(v.ty.scalar)));
        }
        if let Some(data) = func.def_inst(value) {
            self.bits[value.index()] = self.transfer(func, data);
        }
    }

    /// Bits of an instruction's result.
    fn transfer(&self, func: &Function, data: &InstData) -> Bits {
        let Some(result) = data.result else { return Bits::exactly(0) };
        let scalar = func.ty(result).scalar;
        let unknown = Bits::unknown(scalar);
        let (mask, width) = (scalar.bit_mask(), u64::from(scalar.bits()));
        let a = data.args.first().map_or(unknown, |&v| self.get(v));
        let b = data.args.get(1).map_or(unknown, |&v| self.get(v));
        let count = || b.constant().map(|n| (n % width) as u32);
        // Bits known of a sum: those below which both operands have zeros.
        let low_zeros = |n: u32| if n >= 64 { u64::MAX } else { (1u64 << n) - 1 };
        use Opcode::*;
        match (data.op, &data.imm) {
            (Const, Imm::Bits(bits)) => Bits::exactly(bits & mask),
            (SlotGet, Imm::Slot(slot)) => match func.slots.get(slot.index()).and_then(|s| s.umax) {
                Some(max) => Bits::up_to(u64::from(max)),
                None => unknown,
            },
            (Load, Imm::Mem(mem)) if !mem.signed && mem.bytes < 4 => {
                Bits::up_to((1u64 << (u32::from(mem.bytes) * 8)) - 1)
            }
            (Splat | Bitcast, _) => a,
            (Iand, _) => Bits::new(a.zeros | b.zeros, a.ones & b.ones, a.max.min(b.max)),
            (Ior, _) => Bits::new(a.zeros & b.zeros, a.ones | b.ones, mask),
            (Ixor, _) => Bits::new(
                (a.zeros & b.zeros) | (a.ones & b.ones),
                (a.zeros & b.ones) | (a.ones & b.zeros),
                mask,
            ),
            (Inot, _) => Bits::new(a.ones | !mask, a.zeros & mask, mask - a.ones.min(mask)),
            (Iadd, _) => {
                let low = a.zeros.trailing_ones().min(b.zeros.trailing_ones());
                let max = a.max.checked_add(b.max).filter(|&m| m <= mask).unwrap_or(mask);
                if a.possible() & b.possible() == 0 {
                    // No carries: as `ior`.
                    return Bits::new(a.zeros & b.zeros, a.ones | b.ones, max);
                }
                Bits::new(low_zeros(low) | !mask, 0, max)
            }
            (Isub, _) => {
                let low = a.zeros.trailing_ones().min(b.zeros.trailing_ones());
                let max = if a.min() >= b.max { a.max - b.min() } else { mask };
                Bits::new(low_zeros(low) | !mask, 0, max)
            }
            (Imul, _) => {
                let low = a.zeros.trailing_ones().saturating_add(b.zeros.trailing_ones());
                let max = a.max.checked_mul(b.max).filter(|&m| m <= mask).unwrap_or(mask);
                Bits::new(low_zeros(low) | !mask, 0, max)
            }
            (Umulhi, _) => {
                let high = (u128::from(a.max) * u128::from(b.max)) >> width;
                Bits::up_to(high as u64)
            }
            (Ishl, _) => match count() {
                Some(n) => {
                    let max = if a.max <= mask >> n { a.max << n } else { mask };
                    Bits::new((a.zeros << n) | low_zeros(n) | !mask, (a.ones << n) & mask, max)
                }
                None => Bits::new(low_zeros(a.zeros.trailing_ones()) | !mask, 0, mask),
            },
            (Ushr, _) => match count() {
                Some(n) => Bits::new(!((a.possible() & mask) >> n), a.ones >> n, a.max >> n),
                None => Bits::up_to(a.max),
            },
            (Sshr, _) if a.clear(mask ^ (mask >> 1)) => match count() {
                Some(n) => Bits::new(!(a.possible() >> n), a.ones >> n, a.max >> n),
                None => Bits::up_to(a.max),
            },
            (Rotl, _) => match count() {
                Some(n) => {
                    let turn = |x: u64| match scalar {
                        Scalar::I32 => u64::from((x as u32).rotate_left(n)),
                        _ => x.rotate_left(n),
                    };
                    Bits::new(turn(a.zeros & mask) | !mask, turn(a.ones), mask)
                }
                None => unknown,
            },
            (Umin, _) => Bits::new(a.zeros & b.zeros, a.ones & b.ones, a.max.min(b.max)),
            (Umax, _) => Bits::new(a.zeros & b.zeros, a.ones & b.ones, a.max.max(b.max)),
            (Smin | Smax, _) => a.join(b),
            (Popcnt | Clz | Ctz, _) => Bits::up_to(width),
            (Bitrev, _) => {
                let turn = |x: u64| x.reverse_bits() >> (64 - width);
                Bits::new(turn(a.zeros) | !mask, turn(a.ones), mask)
            }
            (Bswap, _) => {
                let turn = |x: u64| x.swap_bytes() >> (64 - width);
                Bits::new(turn(a.zeros) | !mask, turn(a.ones), mask)
            }
            (Select, _) => {
                let c = data.args.get(2).map_or(unknown, |&v| self.get(v));
                b.join(c)
            }
            (Zext, _) => a,
            (Sext, _) => {
                if a.clear(0x8000_0000) {
                    a
                } else {
                    let sign = if a.ones & 0x8000_0000 != 0 { 0xffff_ffff_0000_0000 } else { 0 };
                    Bits::new(a.zeros & 0x7fff_ffff, a.ones | sign, mask)
                }
            }
            (Trunc, _) => {
                let max = if a.max <= mask { a.max } else { mask };
                Bits::new(a.zeros | !mask, a.ones & mask, max)
            }
            (Fabs, _) => Bits::new(a.zeros | !(mask >> 1), a.ones & (mask >> 1), mask >> 1),
            (Fneg, _) => {
                let sign = mask ^ (mask >> 1);
                let zeros = (a.zeros & !sign) | (a.ones & sign);
                Bits::new(zeros, (a.ones & !sign) | (a.zeros & sign), mask)
            }
            (F32ToF16, _) => Bits::up_to(0xffff),
            (Ballot, _) if func.lanes == 32 => Bits::up_to(0xffff_ffff),
            _ => unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Cfg;
    use crate::builder::Builder;
    use crate::eval::eval_scalar;
    use crate::function::{Form, SlotInit, Terminator};
    use crate::types::Type;

    /// Every operation on operands of known bits: results must be among what the analysis says.
    #[test]
    fn results_are_within_what_is_known() {
        let ops = [
            Opcode::Iadd,
            Opcode::Isub,
            Opcode::Imul,
            Opcode::Umulhi,
            Opcode::Smulhi,
            Opcode::Iand,
            Opcode::Ior,
            Opcode::Ixor,
            Opcode::Ishl,
            Opcode::Ushr,
            Opcode::Sshr,
            Opcode::Rotl,
            Opcode::Umin,
            Opcode::Umax,
            Opcode::Smin,
            Opcode::Smax,
            Opcode::Inot,
            Opcode::Ineg,
            Opcode::Popcnt,
            Opcode::Clz,
            Opcode::Ctz,
            Opcode::Bitrev,
            Opcode::Bswap,
            Opcode::Zext,
            Opcode::Sext,
            Opcode::Trunc,
        ];
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for round in 0..4000 {
            let op = ops[round % ops.len()];
            let scalar = if op == Opcode::Trunc
                || ((round / ops.len()).is_multiple_of(2) && !matches!(op, Opcode::Zext | Opcode::Sext))
            {
                Scalar::I64
            } else {
                Scalar::I32
            };
            let result = match op {
                Opcode::Zext | Opcode::Sext => Scalar::I64,
                Opcode::Trunc => Scalar::I32,
                _ => scalar,
            };
            let unary = matches!(
                op,
                Opcode::Inot
                    | Opcode::Ineg
                    | Opcode::Popcnt
                    | Opcode::Clz
                    | Opcode::Ctz
                    | Opcode::Bitrev
                    | Opcode::Bswap
                    | Opcode::Zext
                    | Opcode::Sext
                    | Opcode::Trunc
            );
            let mask = scalar.bit_mask();
            let mut func = Function::new("t", Form::Mask, 32);
            let slots = [0, 1].map(|n| {
                let slot = func.add_slot(format!("s{n}"), Type::varying(scalar), SlotInit::Zero);
                func.slots[slot.index()].umax = Some((random() as u32) >> (random() % 32));
                slot
            });
            let block = func.add_block(0);
            let mut b = Builder::new(&mut func, block);
            // An operand is (x & and) | or; the second one is a small constant now and then.
            let mut operands = Vec::new();
            for &slot in &slots[..if unary { 1 } else { 2 }] {
                let (and, or) = (random() & random() & mask, random() & random() & random() & mask);
                let x = b.get(slot);
                let (c, d) = (b.constant(scalar, and | random() & mask), b.constant(scalar, or));
                let masked = b.iand(x, c);
                let and = b.func.as_const(c).unwrap();
                let value = b.ior(masked, d);
                operands.push((value, slot, and, or));
            }
            if operands.len() == 2 && random() % 2 == 0 {
                let bits = random() % 70;
                operands[1] = (b.constant(scalar, bits), slots[1], 0, bits);
            }
            let args: Vec<Value> = operands.iter().map(|o| o.0).collect();
            let value = b.push(op, &args, Imm::None, Some(Type::varying(result))).unwrap();
            b.terminate(Terminator::Return { exit: 0, exited: None, cond: None });
            let known = KnownBits::new(&func, &Cfg::order(&func)).get(value);
            for _ in 0..50 {
                let bits: Vec<u64> = operands
                    .iter()
                    .map(|&(_, slot, and, or)| {
                        let max = u64::from(func.slots[slot.index()].umax.unwrap());
                        let x = if random() % 4 == 0 { max } else { random() % (max + 1) };
                        (x & and) | or
                    })
                    .collect();
                let types = vec![scalar; bits.len()];
                let got = eval_scalar(op, &Imm::None, &types, result, &bits).unwrap();
                assert!(
                    got & known.zeros == 0 && got & known.ones == known.ones && got <= known.max,
                    "{} {bits:x?} gives {got:#x}, known {known:x?}",
                    op.name()
                );
            }
        }
    }
}
