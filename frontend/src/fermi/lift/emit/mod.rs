//! Emits the IR of one block: reads operands, writes results under the guard predicate, sets flags.

use warpjit_ir::{Block, MemAccess, Scalar, Space, Value};

use super::slots::{Program, Slots};
use crate::fermi::{Inst, Operand, PredSrc, Src, TRUE_PRED, ZERO_REG};
use crate::simt::{Emitter, Flags, above, condition};

/// Emits into one block after the other.
pub(in crate::fermi::lift) type Emit<'f> = Emitter<'f, Own<'f>>;

/// What the lifter knows of a program.
pub(in crate::fermi::lift) struct Own<'f> {
    pub(in crate::fermi::lift) slots: &'f Slots,
    pub(in crate::fermi::lift) program: &'f Program<'f>,
}

/// An access to a constant space.
pub(in crate::fermi::lift) fn constant(space: u8, offset: i32, bytes: u8, signed: bool) -> MemAccess {
    MemAccess { space: Space::Const(space), bytes, signed, offset, align: 1, align_offset: 0, far: false }
}

/// The block behind an instruction that ends one. The graph has made it a leader.
pub(in crate::fermi::lift) fn next_block(e: &Emit<'_>, inst: &Inst) -> Block {
    e.own.family.program.blocks.behind(inst.next_pc())
}

impl Emit<'_> {
    // Registers.

    /// A general register; zero beyond the allotted ones.
    pub(in crate::fermi::lift) fn reg(&mut self, number: u8) -> Value {
        match self.own.family.slots.registers.get(usize::from(number)) {
            Some(&slot) => self.get(slot),
            None => self.b.i32(0),
        }
    }

    /// Writes a general register under the guard.
    pub(in crate::fermi::lift) fn set_reg(&mut self, number: u8, value: Value) {
        if let Some(&slot) = self.own.family.slots.registers.get(usize::from(number)) {
            self.put_guarded(slot, value);
        }
    }

    /// Word `n` of a register group.
    pub(in crate::fermi::lift) fn group(&mut self, number: u8, n: u8) -> Value {
        if number == ZERO_REG { self.b.i32(0) } else { self.reg(number.saturating_add(n)) }
    }

    /// Writes word `n` of a register group.
    pub(in crate::fermi::lift) fn set_group(&mut self, number: u8, n: u8, value: Value) {
        if number != ZERO_REG {
            self.set_reg(number.saturating_add(n), value);
        }
    }

    /// Two registers as one 64-bit value.
    pub(in crate::fermi::lift) fn pair(&mut self, number: u8) -> Value {
        let (low, high) = (self.group(number, 0), self.group(number, 1));
        self.wide(low, high)
    }

    /// A register that is an address: 64 bits of a pair or 32 of one.
    pub(in crate::fermi::lift) fn address(&mut self, base: u8, wide: bool) -> Value {
        if wide { self.pair(base) } else { self.group(base, 0) }
    }

    /// A predicate register.
    pub(in crate::fermi::lift) fn pred(&mut self, pred: PredSrc) -> Value {
        let value = match self.own.family.slots.predicates.get(usize::from(pred.num)) {
            Some(&slot) => self.get(slot),
            None => self.b.bool(true),
        };
        if pred.not { self.complement(value) } else { value }
    }

    /// Writes a predicate under the guard.
    pub(in crate::fermi::lift) fn set_pred(&mut self, pred: Option<u8>, value: Value) {
        if let Some(&slot) = pred.and_then(|pred| self.own.family.slots.predicates.get(usize::from(pred))) {
            self.put_guarded(slot, value);
        }
    }

    /// The guard predicate of an instruction; `None` is always.
    pub(in crate::fermi::lift) fn guard_of(&mut self, inst: &Inst) -> Option<Value> {
        let guard = inst.guard.filter(|guard| guard.num != TRUE_PRED || guard.not)?;
        Some(self.pred(guard))
    }

    // Operands.

    fn operand(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Reg { num, .. } => self.reg(num),
            Operand::Imm(value) => self.b.i32(value as u32),
            Operand::Const { space, base, offset } => {
                let base = self.group(base, 0);
                self.b.load(constant(space, offset, 4, false), base, None)
            }
            // Nothing else is read as a number.
            _ => self.b.i32(0),
        }
    }

    /// A source as 32 bits, complemented if it says so; neg and abs are the operation's business.
    pub(in crate::fermi::lift) fn read(&mut self, src: Src) -> Value {
        let value = self.operand(src.operand);
        if src.not { self.b.inot(value) } else { value }
    }

    /// Source number `n` as 32 bits.
    pub(in crate::fermi::lift) fn src(&mut self, inst: &Inst, n: usize) -> Value {
        match inst.src(n) {
            Some(src) => self.read(src),
            None => self.b.i32(0),
        }
    }

    /// Source number `n` as 64 bits.
    pub(in crate::fermi::lift) fn src64(&mut self, inst: &Inst, n: usize) -> Value {
        match inst.src(n).map(|src| src.operand) {
            Some(Operand::Reg { num, .. }) => self.pair(num),
            Some(Operand::Imm(value)) => self.b.i64(value),
            Some(Operand::Const { space, base, offset }) => {
                let base = self.group(base, 0);
                self.b.load(constant(space, offset, 8, false), base, None)
            }
            _ => self.b.i64(0),
        }
    }

    /// The immediate at source `n`.
    pub(in crate::fermi::lift) fn immediate(&self, inst: &Inst, n: usize) -> Option<u32> {
        match inst.src(n) {
            Some(Src { operand: Operand::Imm(value), .. }) => Some(value as u32),
            Some(Src { operand: Operand::Reg { num: ZERO_REG, .. }, .. }) => Some(0),
            _ => None,
        }
    }

    /// Writes a 32-bit integer result to the destination.
    pub(in crate::fermi::lift) fn write(&mut self, inst: &Inst, value: Value) {
        if let Some(Operand::Reg { num, .. }) = inst.dst {
            self.set_reg(num, value);
        }
    }

    /// Writes an f32 result.
    pub(in crate::fermi::lift) fn write_f32(&mut self, inst: &Inst, value: Value) {
        let bits = self.b.bitcast(value, Scalar::I32);
        self.write(inst, bits);
    }

    /// Writes a 64-bit result, integer or float.
    pub(in crate::fermi::lift) fn write64(&mut self, inst: &Inst, value: Value) {
        if let Some(Operand::Reg { num, .. }) = inst.dst {
            let bits = self.b.bitcast(value, Scalar::I64);
            let (low, high) = (self.low(bits), self.high(bits));
            self.set_group(num, 0, low);
            self.set_group(num, 1, high);
        }
    }

    // Flags.

    /// `$c` as it is.
    pub(in crate::fermi::lift) fn flags(&mut self) -> Flags {
        let [zero, sign, carry, overflow] = self.own.family.slots.flags.map(|slot| self.get(slot));
        Flags { zero, sign, carry, overflow }
    }

    /// Writes `$c` under the guard.
    pub(in crate::fermi::lift) fn set_flags(&mut self, flags: Flags) {
        let values = [flags.zero, flags.sign, flags.carry, flags.overflow];
        for (slot, value) in self.own.family.slots.flags.into_iter().zip(values) {
            self.put_guarded(slot, value);
        }
    }

    /// Writes an integer result and, for `.CC`, Z and S of it; C and O are clear then.
    pub(in crate::fermi::lift) fn finish(&mut self, inst: &Inst, result: Value) {
        self.write(inst, result);
        self.finish_flags(inst, result);
    }

    /// For `.CC`, Z and S of an integer result; C and O are clear then.
    pub(in crate::fermi::lift) fn finish_flags(&mut self, inst: &Inst, result: Value) {
        if inst.cc_out {
            let clear = self.b.bool(false);
            let (zero, sign) = self.zero_sign(result, false);
            self.set_flags(Flags { zero, sign, carry: clear, overflow: clear });
        }
    }

    /// Where a `$c` condition holds (docs/hardware/fermi.md section 1: the tail has another order than Tesla's).
    pub(in crate::fermi::lift) fn condition(&mut self, code: u8) -> Value {
        let flags = self.flags();
        let b = &mut self.b;
        match code {
            0x10 => b.inot(flags.overflow),
            0x11 => b.inot(flags.carry),
            0x12 => b.inot(flags.sign),
            0x13 => {
                let above = above(b, flags);
                b.inot(above)
            }
            0x14 => above(b, flags),
            0x15 => flags.sign,
            0x16 => flags.carry,
            0x17 => flags.overflow,
            code => condition(b, code, flags),
        }
    }
}
