//! Emits the IR of one block: reads operands, writes results under the predicate, sets flags.

pub(super) mod stage;

use warpjit_ir::{Builtin, MemAccess, Scalar, Space, Value};

use super::slots::Slots;
pub(in crate::tesla::lift) use crate::simt::Flags;
use crate::simt::stage::Plan;
use crate::simt::{Emitter, above, condition};
use crate::tesla::{Address, Inst, Operand, Predicate, RegWidth, Src, Type as GuestType};

/// Emits into one block after the other.
pub(in crate::tesla::lift) type Emit<'f> = Emitter<'f, Own<'f>>;

/// What the lifter knows of a program.
pub(in crate::tesla::lift) struct Own<'f> {
    pub(in crate::tesla::lift) slots: &'f Slots,
    /// Inputs and outputs of a graphics stage.
    pub(in crate::tesla::lift) plan: Option<&'f Plan>,
    /// Where texture instructions have their arguments in local memory.
    pub(in crate::tesla::lift) mailbox: u32,
}

impl Emit<'_> {
    // Registers.

    /// A general register; zero beyond the allotted ones.
    pub(in crate::tesla::lift) fn reg(&mut self, number: u32) -> Value {
        match self.own.family.slots.registers.get(number as usize) {
            Some(&slot) => self.get(slot),
            None => self.b.i32(0),
        }
    }

    /// Writes a general register under the guard.
    pub(in crate::tesla::lift) fn set_reg(&mut self, number: u32, value: Value) {
        if let Some(&slot) = self.own.family.slots.registers.get(number as usize) {
            self.put_guarded(slot, value);
        }
    }

    /// Half of a register, zero-extended.
    pub(in crate::tesla::lift) fn half(&mut self, number: u32, high: bool) -> Value {
        let whole = self.reg(number);
        if high { self.ushr_const(whole, 16) } else { self.and_const(whole, 0xffff) }
    }

    /// Writes half of a register; `value` has no other bits.
    pub(in crate::tesla::lift) fn set_half(&mut self, number: u32, high: bool, value: Value) {
        let whole = self.reg(number);
        let merged = if high {
            let low = self.and_const(whole, 0xffff);
            let up = self.shl_const(value, 16);
            self.b.ior(low, up)
        } else {
            let up = self.and_const(whole, 0xffff_0000);
            self.b.ior(up, value)
        };
        self.set_reg(number, merged);
    }

    /// Two registers as one 64-bit value.
    pub(in crate::tesla::lift) fn pair(&mut self, number: u32) -> Value {
        let (low, high) = (self.reg(number), self.reg(number + 1));
        self.wide(low, high)
    }

    /// Writes two registers.
    pub(in crate::tesla::lift) fn set_pair(&mut self, number: u32, value: Value) {
        let (low, high) = (self.low(value), self.high(value));
        self.set_reg(number, low);
        self.set_reg(number + 1, high);
    }

    /// An address register, 16 bits.
    pub(in crate::tesla::lift) fn areg(&mut self, number: u8) -> Value {
        match self.own.family.slots.aregs.get(usize::from(number)).copied().flatten() {
            Some(slot) => self.get(slot),
            None => self.b.i32(0),
        }
    }

    /// Writes the low 16 bits of `value` to an address register.
    pub(in crate::tesla::lift) fn set_areg(&mut self, number: u8, value: Value) {
        if let Some(slot) = self.own.family.slots.aregs.get(usize::from(number)).copied().flatten() {
            let value = self.and_const(value, 0xffff);
            self.put_guarded(slot, value);
        }
    }

    // Operands.

    /// Address and access of a memory operand; steps the address register of the post-increment form.
    pub(in crate::tesla::lift) fn address(
        &mut self,
        space: Space,
        addr: Address,
        bytes: u32,
        signed: bool,
    ) -> (MemAccess, Value) {
        let base = self.areg(addr.areg);
        if let Some(step) = addr.post_increment {
            let step = self.b.i32(step as u32);
            let stepped = self.b.iadd(base, step);
            self.set_areg(addr.areg, stepped);
        }
        let mem = MemAccess {
            space,
            bytes: bytes as u8,
            signed,
            offset: addr.offset_bytes as i32,
            align: 1,
            far: false,
            align_offset: 0,
        };
        (mem, base)
    }

    fn load_operand(&mut self, space: Space, ty: GuestType, addr: Address) -> Value {
        let (mem, base) = self.address(space, addr, ty.bytes().min(4), ty.is_signed());
        self.b.load(mem, base, None)
    }

    /// A source as 32 bits: halves and narrow memory operands are extended (by the sign for signed memory types).
    pub(in crate::tesla::lift) fn read(&mut self, src: Src) -> Value {
        match src.operand {
            Operand::Reg { num, width: RegWidth::B16 { high } } => self.half(num.into(), high),
            Operand::Reg { num, .. } => self.reg(num.into()),
            Operand::Imm(value) => self.b.i32(value),
            Operand::Shared { ty, addr } => self.load_operand(Space::Shared, ty, addr),
            Operand::Const { space, ty, addr } => self.load_operand(Space::Const(space), ty, addr),
            Operand::Areg(number) => self.areg(number),
            Operand::Attr { addr } => stage::attribute(self, addr),
            Operand::Prim { addr } => stage::vertex_word(self, addr),
            // Nothing else is read as a number.
            _ => self.b.i32(0),
        }
    }

    /// Source number `n` as 32 bits.
    pub(in crate::tesla::lift) fn src(&mut self, inst: &Inst, n: usize) -> Value {
        match inst.src(n) {
            Some(src) => self.read(src),
            None => self.b.i32(0),
        }
    }

    /// Source number `n` as 16 bits, extended as asked.
    pub(in crate::tesla::lift) fn src16(&mut self, inst: &Inst, n: usize, signed: bool) -> Value {
        let Some(src) = inst.src(n) else { return self.b.i32(0) };
        let value = self.read(src);
        if signed {
            return self.sext(value, 16);
        }
        self.low_half(src, value)
    }

    /// The low 16 bits of what was read from a source.
    fn low_half(&mut self, src: Src, value: Value) -> Value {
        match src.operand {
            Operand::Reg { width: RegWidth::B16 { .. }, .. } => value,
            Operand::Shared {
                ty: GuestType::U16 | GuestType::U8 | GuestType::B16 | GuestType::B8, ..
            } => value,
            Operand::Const {
                ty: GuestType::U16 | GuestType::U8 | GuestType::B16 | GuestType::B8, ..
            } => value,
            _ => self.and_const(value, 0xffff),
        }
    }

    /// The low 16 bits of `value`, read from source 0.
    pub(in crate::tesla::lift) fn src16_of(&mut self, inst: &Inst, value: Value) -> Value {
        match inst.src(0) {
            Some(src) => self.low_half(src, value),
            None => value,
        }
    }

    /// Source number `n`, a register pair.
    pub(in crate::tesla::lift) fn src64(&mut self, inst: &Inst, n: usize) -> Value {
        match inst.src(n).map(|src| src.operand) {
            Some(Operand::Reg { num, .. }) => self.pair(num.into()),
            _ => self.b.i64(0),
        }
    }

    /// Writes a 16- or 32-bit integer result to the destination.
    pub(in crate::tesla::lift) fn write(&mut self, inst: &Inst, value: Value) {
        match inst.dst {
            Some(Operand::Reg { num, width: RegWidth::B16 { high } }) => {
                let value = self.and_const(value, 0xffff);
                self.set_half(num.into(), high, value);
            }
            Some(Operand::Reg { num, .. }) => self.set_reg(num.into(), value),
            Some(Operand::Out { ty, addr }) => stage::set_output(self, addr, ty, value),
            _ => {}
        }
    }

    /// Writes an f32 result.
    pub(in crate::tesla::lift) fn write_f32(&mut self, inst: &Inst, value: Value) {
        let bits = self.b.bitcast(value, Scalar::I32);
        self.write(inst, bits);
    }

    /// Writes a 64-bit result, integer or float.
    pub(in crate::tesla::lift) fn write64(&mut self, inst: &Inst, value: Value) {
        if let Some(Operand::Reg { num, .. }) = inst.dst {
            let bits = self.b.bitcast(value, Scalar::I64);
            self.set_pair(num.into(), bits);
        }
    }

    // Flags.

    /// Writes `$c` if the instruction has one.
    pub(in crate::tesla::lift) fn set_flags(&mut self, inst: &Inst, flags: Flags) {
        if let Some(creg) = inst.cdst {
            self.set_creg(creg, flags);
        }
    }

    /// Writes a `$c`.
    pub(in crate::tesla::lift) fn set_creg(&mut self, creg: u8, flags: Flags) {
        let slots = self.own.family.slots.flags[usize::from(creg & 3)];
        let values = [flags.zero, flags.sign, flags.carry, flags.overflow];
        for (slot, value) in slots.into_iter().zip(values) {
            self.put_guarded(slot, value);
        }
    }

    /// Z and S of an integer result of 16 or 32 bits, C and O clear.
    pub(in crate::tesla::lift) fn set_integer_flags(&mut self, inst: &Inst, result: Value, half: bool) {
        if inst.cdst.is_some() {
            let clear = self.b.bool(false);
            let (zero, sign) = self.zero_sign(result, half);
            self.set_flags(inst, Flags { zero, sign, carry: clear, overflow: clear });
        }
    }

    /// `$c` as the outcome of a test: S if it holds, Z if not.
    pub(in crate::tesla::lift) fn test_flags(&mut self, holds: Value) -> Flags {
        let clear = self.b.bool(false);
        Flags { zero: self.b.inot(holds), sign: holds, carry: clear, overflow: clear }
    }

    /// One flag of a `$c`: 0 Z, 1 S, 2 C, 3 O.
    pub(in crate::tesla::lift) fn flag(&mut self, creg: u8, flag: usize) -> Value {
        let slot = self.own.family.slots.flags[usize::from(creg & 3)][flag];
        self.get(slot)
    }

    /// Where a predicate holds.
    pub(in crate::tesla::lift) fn predicate(&mut self, pred: Predicate) -> Value {
        let c = pred.creg;
        let flags = Flags {
            zero: self.flag(c, 0),
            sign: self.flag(c, 1),
            carry: self.flag(c, 2),
            overflow: self.flag(c, 3),
        };
        let b = &mut self.b;
        match pred.cond {
            code @ 0x00..=0x0f => condition(b, code, flags),
            0x10 => flags.overflow,
            0x11 => flags.carry,
            0x12 => above(b, flags),
            0x13 => flags.sign,
            // The upper ones are complements of the lower ones, in reverse.
            0x1c => b.inot(flags.sign),
            0x1d => {
                let above = above(b, flags);
                b.inot(above)
            }
            0x1e => b.inot(flags.carry),
            0x1f => b.inot(flags.overflow),
            _ => b.bool(true),
        }
    }
}

/// The largest value of a builtin on any chip of the family.
pub(in crate::tesla::lift) fn builtin_max(builtin: Builtin) -> Option<u32> {
    match builtin {
        Builtin::Tid(0 | 1) => Some(511),
        Builtin::Tid(_) => Some(63),
        Builtin::LaneId => Some(31),
        Builtin::WarpId => Some(15),
        _ => None,
    }
}
