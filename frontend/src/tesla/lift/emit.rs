//! Emission of one block: cached slots, operands, results, predicates and flags.

use std::collections::BTreeMap;

use warpjit_ir::{
    Block, Builder, Builtin, Function, IntCC, MemAccess, Opcode, Scalar, Slot, SlotInit, Space, Terminator,
    Type, Value,
};

use super::Slots;
use crate::tesla::{Address, Inst, Operand, Predicate, RegWidth, Src, Type as GuestType};

/// The four flags of a `$c`, as masks.
#[derive(Clone, Copy)]
pub(super) struct Flags {
    pub(super) zero: Value,
    pub(super) sign: Value,
    pub(super) carry: Value,
    pub(super) overflow: Value,
}

/// Emits into one block after the other.
///
/// Slots are read once a block and written at its end; in between their values are SSA values.
pub(super) struct Emit<'f> {
    pub(super) b: Builder<'f>,
    pub(super) slots: &'f mut Slots,
    /// What each slot holds now, and whether the slot itself has to be written.
    cache: BTreeMap<Slot, (Value, bool)>,
    /// The predicate of the instruction being emitted; `None` is always.
    pub(super) guard: Option<Value>,
    done: bool,
}

impl<'f> Emit<'f> {
    pub(super) fn new(func: &'f mut Function, slots: &'f mut Slots, block: Block) -> Self {
        Emit { b: Builder::new(func, block), slots, cache: BTreeMap::new(), guard: None, done: false }
    }

    /// Goes on at the begin of a block.
    pub(super) fn start(&mut self, block: Block) {
        self.b.switch_to(block);
        self.cache.clear();
        self.guard = None;
        self.done = false;
    }

    /// Names the guest instruction that is emitted from here on.
    pub(super) fn at(&mut self, pc: u32) {
        self.b.pc = pc;
    }

    /// Counts a guest instruction in the current block.
    pub(super) fn count(&mut self) {
        let block = self.b.block;
        self.b.func.block_mut(block).guest_insts += 1;
    }

    /// Whether the block has its terminator.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Writes what slots hold and ends the block.
    pub(super) fn terminate(&mut self, term: Terminator) {
        self.flush();
        self.b.terminate(term);
        self.done = true;
    }

    /// Ends the block with a terminator that names a new block, and goes on in that one.
    pub(super) fn split(&mut self, pc: u32, term: impl FnOnce(Block) -> Terminator) {
        let next = self.b.func.add_block(pc);
        // Values do not live across blocks; the predicate does, in a slot.
        let saved = self.guard.take().map(|guard| {
            let slot = self.temp(Type::MASK, 0);
            self.put_always(slot, guard);
            slot
        });
        self.terminate(term(next));
        self.start(next);
        self.guard = saved.map(|slot| self.get(slot));
    }

    /// Runs `body` in a block of its own, as cross-lane operations need it. What `body` uses it has to get from
    /// slots; the guard is read from one already.
    pub(super) fn isolated(&mut self, body: impl FnOnce(&mut Self)) {
        let pc = self.b.pc;
        if !self.b.func.block(self.b.block).insts.is_empty() || !self.cache.is_empty() {
            self.split(pc, |next| Terminator::Jump(next.into()));
        }
        body(self);
        self.split(pc, |next| Terminator::Jump(next.into()));
    }

    fn flush(&mut self) {
        for (slot, (value, dirty)) in std::mem::take(&mut self.cache) {
            if dirty {
                self.b.set(slot, value);
            }
        }
    }

    /// What a slot holds.
    pub(super) fn get(&mut self, slot: Slot) -> Value {
        if let Some(&(value, _)) = self.cache.get(&slot) {
            return value;
        }
        let value = self.b.get(slot);
        self.cache.insert(slot, (value, false));
        value
    }

    /// Gives a slot a new value, where the guard holds.
    pub(super) fn put(&mut self, slot: Slot, value: Value) {
        let value = match self.guard {
            None => value,
            Some(guard) => {
                let old = self.get(slot);
                self.blend(guard, value, old)
            }
        };
        self.put_always(slot, value);
    }

    /// Gives a slot a new value whatever the guard is.
    pub(super) fn put_always(&mut self, slot: Slot, value: Value) {
        let value = self.b.splat(value);
        if self.cache.get(&slot).is_none_or(|(held, _)| *held != value) {
            self.cache.insert(slot, (value, true));
        }
    }

    /// A slot that holds `value` for the next block: a register that happens to, or the given temporary.
    pub(super) fn keep(&mut self, value: Value, ty: Type, number: usize) -> Slot {
        if let Some((&slot, _)) = self.cache.iter().find(|(_, (held, _))| *held == value) {
            return slot;
        }
        let slot = self.temp(ty, number);
        self.put_always(slot, value);
        slot
    }

    /// `a` where `mask` holds, else `b`; of masks too.
    pub(super) fn blend(&mut self, mask: Value, a: Value, b: Value) -> Value {
        if self.b.func.ty(a).scalar != Scalar::I1 {
            return self.b.select(mask, a, b);
        }
        let not = self.b.inot(mask);
        let (a, b) = (self.b.iand(mask, a), self.b.iand(not, b));
        self.b.ior(a, b)
    }

    /// A slot that carries a value of type `ty` from one block to the next one.
    pub(super) fn temp(&mut self, ty: Type, number: usize) -> Slot {
        if let Some((.., slot)) = self.slots.temps.iter().find(|(t, n, _)| *t == ty && *n == number) {
            return *slot;
        }
        let slot = self.b.func.add_slot(format!("t{number}.{ty}"), ty, SlotInit::Zero);
        self.slots.temps.push((ty, number, slot));
        slot
    }

    /// A launch value.
    pub(super) fn builtin(&mut self, builtin: Builtin) -> Value {
        let slot = match self.slots.builtins.iter().find(|(b, _)| *b == builtin) {
            Some((_, slot)) => *slot,
            None => {
                let slot = self.b.func.add_slot(builtin.name(), Type::I32, SlotInit::Builtin(builtin));
                self.b.func.slots[slot.index()].umax = builtin_max(builtin);
                self.slots.builtins.push((builtin, slot));
                slot
            }
        };
        self.get(slot)
    }

    // Registers.

    /// A general register; zero beyond the allotted ones.
    pub(super) fn reg(&mut self, number: u32) -> Value {
        match self.slots.registers.get(number as usize) {
            Some(&slot) => self.get(slot),
            None => self.b.i32(0),
        }
    }

    /// Writes a general register under the guard.
    pub(super) fn set_reg(&mut self, number: u32, value: Value) {
        if let Some(&slot) = self.slots.registers.get(number as usize) {
            self.put(slot, value);
        }
    }

    /// Half of a register, zero-extended.
    pub(super) fn half(&mut self, number: u32, high: bool) -> Value {
        let whole = self.reg(number);
        if high { self.ushr_const(whole, 16) } else { self.and_const(whole, 0xffff) }
    }

    /// Writes half of a register; `value` has no other bits.
    pub(super) fn set_half(&mut self, number: u32, high: bool, value: Value) {
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
    pub(super) fn pair(&mut self, number: u32) -> Value {
        let (low, high) = (self.reg(number), self.reg(number + 1));
        let low = self.b.convert(Opcode::Zext, low, Scalar::I64);
        let high = self.b.convert(Opcode::Zext, high, Scalar::I64);
        let shift = self.b.i64(32);
        let high = self.b.ishl(high, shift);
        self.b.ior(high, low)
    }

    /// Writes two registers.
    pub(super) fn set_pair(&mut self, number: u32, value: Value) {
        let low = self.b.convert(Opcode::Trunc, value, Scalar::I32);
        let shift = self.b.i64(32);
        let high = self.b.ushr(value, shift);
        let high = self.b.convert(Opcode::Trunc, high, Scalar::I32);
        self.set_reg(number, low);
        self.set_reg(number + 1, high);
    }

    /// An address register, 16 bits.
    pub(super) fn areg(&mut self, number: u8) -> Value {
        match self.slots.aregs.get(usize::from(number)).copied().flatten() {
            Some(slot) => self.get(slot),
            None => self.b.i32(0),
        }
    }

    /// Writes the low 16 bits of `value` to an address register.
    pub(super) fn set_areg(&mut self, number: u8, value: Value) {
        if let Some(slot) = self.slots.aregs.get(usize::from(number)).copied().flatten() {
            let value = self.and_const(value, 0xffff);
            self.put(slot, value);
        }
    }

    // Operands.

    /// Address and access of a memory operand; steps the address register of the post-increment form.
    pub(super) fn address(
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
    pub(super) fn read(&mut self, src: Src) -> Value {
        match src.operand {
            Operand::Reg { num, width: RegWidth::B16 { high } } => self.half(num.into(), high),
            Operand::Reg { num, .. } => self.reg(num.into()),
            Operand::Imm(value) => self.b.i32(value),
            Operand::Shared { ty, addr } => self.load_operand(Space::Shared, ty, addr),
            Operand::Const { space, ty, addr } => self.load_operand(Space::Const(space), ty, addr),
            Operand::Areg(number) => self.areg(number),
            // Nothing else is read as a number in compute programs.
            _ => self.b.i32(0),
        }
    }

    /// Source number `n` as 32 bits.
    pub(super) fn src(&mut self, inst: &Inst, n: usize) -> Value {
        match inst.src(n) {
            Some(src) => self.read(src),
            None => self.b.i32(0),
        }
    }

    /// Source number `n` as 16 bits, extended as asked.
    pub(super) fn src16(&mut self, inst: &Inst, n: usize, signed: bool) -> Value {
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
    pub(super) fn src16_of(&mut self, inst: &Inst, value: Value) -> Value {
        match inst.src(0) {
            Some(src) => self.low_half(src, value),
            None => value,
        }
    }

    /// Source number `n`, a register pair.
    pub(super) fn src64(&mut self, inst: &Inst, n: usize) -> Value {
        match inst.src(n).map(|src| src.operand) {
            Some(Operand::Reg { num, .. }) => self.pair(num.into()),
            _ => self.b.i64(0),
        }
    }

    /// Writes a 16- or 32-bit integer result to the destination.
    pub(super) fn write(&mut self, inst: &Inst, value: Value) {
        match inst.dst {
            Some(Operand::Reg { num, width: RegWidth::B16 { high } }) => {
                let value = self.and_const(value, 0xffff);
                self.set_half(num.into(), high, value);
            }
            Some(Operand::Reg { num, .. }) => self.set_reg(num.into(), value),
            // Output registers of compute programs lead nowhere.
            _ => {}
        }
    }

    /// Writes an f32 result.
    pub(super) fn write_f32(&mut self, inst: &Inst, value: Value) {
        let bits = self.b.bitcast(value, Scalar::I32);
        self.write(inst, bits);
    }

    /// Writes a 64-bit result, integer or float.
    pub(super) fn write64(&mut self, inst: &Inst, value: Value) {
        if let Some(Operand::Reg { num, .. }) = inst.dst {
            let bits = self.b.bitcast(value, Scalar::I64);
            self.set_pair(num.into(), bits);
        }
    }

    // Flags.

    /// Writes `$c` if the instruction has one.
    pub(super) fn set_flags(&mut self, inst: &Inst, flags: Flags) {
        if let Some(creg) = inst.cdst {
            self.set_creg(creg, flags);
        }
    }

    /// Writes a `$c`.
    pub(super) fn set_creg(&mut self, creg: u8, flags: Flags) {
        let slots = self.slots.flags[usize::from(creg & 3)];
        let values = [flags.zero, flags.sign, flags.carry, flags.overflow];
        for (slot, value) in slots.into_iter().zip(values) {
            self.put(slot, value);
        }
    }

    /// Z and S of an integer result of 16 or 32 bits, C and O clear.
    pub(super) fn set_integer_flags(&mut self, inst: &Inst, result: Value, half: bool) {
        if inst.cdst.is_some() {
            let clear = self.b.bool(false);
            let (zero, sign) = self.zero_sign(result, half);
            self.set_flags(inst, Flags { zero, sign, carry: clear, overflow: clear });
        }
    }

    /// Z and S of an integer of 16 or 32 bits.
    pub(super) fn zero_sign(&mut self, result: Value, half: bool) -> (Value, Value) {
        let none = self.b.i32(0);
        let zero = self.b.icmp(IntCC::Eq, result, none);
        (zero, self.sign_bit(result, half))
    }

    /// The sign of an integer of 16 or 32 bits.
    pub(super) fn sign_bit(&mut self, value: Value, half: bool) -> Value {
        let none = self.b.i32(0);
        if half {
            let bit = self.and_const(value, 0x8000);
            return self.b.icmp(IntCC::Ne, bit, none);
        }
        self.b.icmp(IntCC::Slt, value, none)
    }

    /// `$c` as the outcome of a test: S if it holds, Z if not.
    pub(super) fn test_flags(&mut self, holds: Value) -> Flags {
        let clear = self.b.bool(false);
        Flags { zero: self.b.inot(holds), sign: holds, carry: clear, overflow: clear }
    }

    /// One flag of a `$c`: 0 Z, 1 S, 2 C, 3 O.
    pub(super) fn flag(&mut self, creg: u8, flag: usize) -> Value {
        let slot = self.slots.flags[usize::from(creg & 3)][flag];
        self.get(slot)
    }

    /// Where a predicate holds. The formulas are those of the ISA document.
    pub(super) fn predicate(&mut self, pred: Predicate) -> Value {
        let c = pred.creg;
        let [z, s, carry, o] = [0, 1, 2, 3].map(|flag| move |e: &mut Self| e.flag(c, flag));
        // Codes from 0x10 up: the upper half of them are complements of the lower half, in reverse.
        let (code, complement) = match pred.cond {
            0x1c..=0x1f => (0x2f - pred.cond, true),
            // le, ge, lu and so on are written down as they are.
            code => (code, false),
        };
        let value = match code {
            0x00 => self.b.bool(false),
            0x01 => {
                // l: (S & ~Z) ^ O
                let (s, z, o) = (s(self), z(self), o(self));
                let not_z = self.b.inot(z);
                let t = self.b.iand(s, not_z);
                self.b.ixor(t, o)
            }
            0x02 => {
                // e: Z & ~S
                let (s, z) = (s(self), z(self));
                let not_s = self.b.inot(s);
                self.b.iand(z, not_s)
            }
            0x03 => {
                // le: S ^ (Z | O)
                let (s, z, o) = (s(self), z(self), o(self));
                let t = self.b.ior(z, o);
                self.b.ixor(s, t)
            }
            0x04 => {
                // g: ~Z & ~(S ^ O)
                let (s, z, o) = (s(self), z(self), o(self));
                let t = self.b.ixor(s, o);
                let t = self.b.ior(z, t);
                self.b.inot(t)
            }
            0x05 => {
                // lg: ~Z
                let z = z(self);
                self.b.inot(z)
            }
            0x06 => {
                // ge: ~(S ^ O)
                let (s, o) = (s(self), o(self));
                let t = self.b.ixor(s, o);
                self.b.inot(t)
            }
            0x07 => {
                // lge: ~Z | ~S
                let (s, z) = (s(self), z(self));
                let t = self.b.iand(z, s);
                self.b.inot(t)
            }
            0x08 => {
                // u: Z & S
                let (s, z) = (s(self), z(self));
                self.b.iand(z, s)
            }
            0x09 => {
                // lu: S ^ O
                let (s, o) = (s(self), o(self));
                self.b.ixor(s, o)
            }
            0x0a => z(self),
            0x0b => {
                // leu: Z | (S ^ O)
                let (s, z, o) = (s(self), z(self), o(self));
                let t = self.b.ixor(s, o);
                self.b.ior(z, t)
            }
            0x0c => {
                // gu: ~S ^ (Z | O)
                let (s, z, o) = (s(self), z(self), o(self));
                let t = self.b.ior(z, o);
                let t = self.b.ixor(s, t);
                self.b.inot(t)
            }
            0x0d => {
                // lgu: ~Z | S
                let (s, z) = (s(self), z(self));
                let not_z = self.b.inot(z);
                self.b.ior(not_z, s)
            }
            0x0e => {
                // geu: (~S | Z) ^ O
                let (s, z, o) = (s(self), z(self), o(self));
                let not_s = self.b.inot(s);
                let t = self.b.ior(not_s, z);
                self.b.ixor(t, o)
            }
            0x10 => o(self),
            0x11 => carry(self),
            0x12 => {
                // a: ~Z & C
                let (z, carry) = (z(self), carry(self));
                let not_z = self.b.inot(z);
                self.b.iand(not_z, carry)
            }
            0x13 => s(self),
            _ => self.b.bool(true),
        };
        if complement { self.b.inot(value) } else { value }
    }

    // Small integer helpers.

    /// `value & mask`
    pub(super) fn and_const(&mut self, value: Value, mask: u32) -> Value {
        let mask = self.b.i32(mask);
        self.b.iand(value, mask)
    }

    /// `value << count`
    pub(super) fn shl_const(&mut self, value: Value, count: u32) -> Value {
        let count = self.b.i32(count);
        self.b.ishl(value, count)
    }

    /// `value >> count`, zeros from above
    pub(super) fn ushr_const(&mut self, value: Value, count: u32) -> Value {
        let count = self.b.i32(count);
        self.b.ushr(value, count)
    }

    /// Sign extension of the low `bits`.
    pub(super) fn sext(&mut self, value: Value, bits: u32) -> Value {
        let count = self.b.i32(32 - bits);
        let up = self.b.ishl(value, count);
        self.b.sshr(up, count)
    }
}

/// The largest value of a builtin on any chip of the family.
fn builtin_max(builtin: Builtin) -> Option<u32> {
    match builtin {
        Builtin::Tid(0 | 1) => Some(511),
        Builtin::Tid(_) => Some(63),
        Builtin::LaneId => Some(31),
        Builtin::WarpId => Some(15),
        _ => None,
    }
}
