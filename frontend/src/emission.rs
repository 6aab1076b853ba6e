//! Emits the IR of a block; all lifters use it. In a block each register slot is read at most once, at its first use, and
//! written at most once, at the block's end. Between the two its value is an SSA value.
//!
//! A lifter's emitter is an [`Emission`] with a state of its own: `Emission<'f, Own<'f>>`. What only that lifter can do are methods
//! of that type, so a method's name means one thing, and the compiler refuses a second one.

use std::collections::BTreeMap;

use warpjit_ir::{Block, Builder, Function, IntCC, Opcode, Scalar, Slot, Terminator, Value};

/// Emits into one block after the other, for a lifter that knows `own` besides.
pub(crate) struct Emission<'f, O> {
    /// The builder, at the end of the current block.
    pub(crate) b: Builder<'f>,
    /// What the lifter knows.
    pub(crate) own: O,
    /// The current value of each slot that was read or written, and whether it has to be written back at the end of the block.
    cache: BTreeMap<Slot, (Value, bool)>,
    done: bool,
    /// The lanes that the instruction being emitted is for, where it has a predicate; `None`: all.
    pub(crate) guard: Option<Value>,
    /// Values that were written to slots under a guard, with the guard. An instruction under the same guard reads that value directly,
    /// not `select guard, value, old`: its own results matter only in the lanes of the guard.
    guarded: BTreeMap<Slot, (Value, Value)>,
    /// Complements of masks in this block, so that equal masks are one value.
    complements: BTreeMap<Value, Value>,
}

/// The state of a block that is set aside while another block is emitted.
pub(crate) struct Suspended {
    cache: BTreeMap<Slot, (Value, bool)>,
    done: bool,
    pc: u32,
    guard: Option<Value>,
    guarded: BTreeMap<Slot, (Value, Value)>,
    complements: BTreeMap<Value, Value>,
}

impl<'f, O> Emission<'f, O> {
    /// Begins at the end of a block.
    pub(crate) fn new(func: &'f mut Function, block: Block, own: O) -> Self {
        Emission {
            b: Builder::new(func, block),
            own,
            cache: BTreeMap::new(),
            done: false,
            guard: None,
            guarded: BTreeMap::new(),
            complements: BTreeMap::new(),
        }
    }

    // Blocks.

    /// Continues at the start of a block, without a guard.
    pub(crate) fn start(&mut self, block: Block) {
        self.b.switch_to(block);
        self.cache.clear();
        self.done = false;
        self.guard = None;
        self.guarded.clear();
        self.complements.clear();
    }

    /// Names the guest instruction that is emitted from here on.
    pub(crate) fn at(&mut self, pc: u32) {
        self.b.pc = pc;
    }

    /// Counts a guest instruction in the current block.
    pub(crate) fn count(&mut self) {
        let (block, pc) = (self.b.block, self.b.pc);
        let data = self.b.func.block_mut(block);
        data.guest_insts += 1;
        data.counted.0.push(pc);
    }

    /// Whether the block has its terminator.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// Writes what slots hold and ends the block.
    pub(crate) fn terminate(&mut self, term: Terminator) {
        for (slot, (value, dirty)) in std::mem::take(&mut self.cache) {
            if dirty {
                self.b.set(slot, value);
            }
        }
        self.b.terminate(term);
        self.done = true;
    }

    /// Whether the block has no instructions yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.b.func.block(self.b.block).insts.is_empty()
    }

    /// Leaves the current block for a while.
    pub(crate) fn suspend(&mut self) -> Suspended {
        Suspended {
            cache: std::mem::take(&mut self.cache),
            done: self.done,
            pc: self.b.pc,
            guard: self.guard.take(),
            guarded: std::mem::take(&mut self.guarded),
            complements: std::mem::take(&mut self.complements),
        }
    }

    /// Comes back to a block.
    pub(crate) fn resume(&mut self, block: Block, state: Suspended) {
        self.b.switch_to(block);
        self.cache = state.cache;
        self.done = state.done;
        self.b.pc = state.pc;
        self.guard = state.guard;
        self.guarded = state.guarded;
        self.complements = state.complements;
    }

    // Slots.

    /// What a slot holds; in the lanes of the guard, where there is one.
    pub(crate) fn get(&mut self, slot: Slot) -> Value {
        if let (Some(guard), Some(&(under, value))) = (self.guard, self.guarded.get(&slot))
            && under == guard
        {
            return value;
        }
        self.get_in_all_lanes(slot)
    }

    /// What a slot holds, whatever the guard is.
    pub(crate) fn get_in_all_lanes(&mut self, slot: Slot) -> Value {
        if let Some(&(value, _)) = self.cache.get(&slot) {
            return value;
        }
        let value = self.b.get(slot);
        self.cache.insert(slot, (value, false));
        value
    }

    /// Gives a slot a new value in the lanes of the guard.
    pub(crate) fn put_guarded(&mut self, slot: Slot, value: Value) {
        let Some(guard) = self.guard else { return self.put_in_all_lanes(slot, value) };
        let old = self.get_in_all_lanes(slot);
        let all = self.blend(guard, value, old);
        self.put_in_all_lanes(slot, all);
        let value = self.b.splat(value);
        self.guarded.insert(slot, (guard, value));
    }

    /// Gives a slot a new value whatever the guard is.
    pub(crate) fn put_in_all_lanes(&mut self, slot: Slot, value: Value) {
        let value = self.b.splat(value);
        self.guarded.remove(&slot);
        self.replace(slot, value);
    }

    /// Gives a slot a new value of its type.
    pub(crate) fn replace(&mut self, slot: Slot, value: Value) {
        if self.cache.get(&slot).is_none_or(|(held, _)| *held != value) {
            self.cache.insert(slot, (value, true));
        }
    }

    /// Says what a slot holds, which then is not written.
    pub(crate) fn assume(&mut self, slot: Slot, value: Value) {
        self.cache.insert(slot, (value, false));
    }

    /// A slot that happens to hold `value`.
    pub(crate) fn holder(&self, value: Value) -> Option<Slot> {
        self.cache.iter().find(|(_, (held, _))| *held == value).map(|(&slot, _)| slot)
    }

    /// What a slot holds, if this block has read or written it.
    pub(crate) fn value_in(&self, slot: Slot) -> Option<Value> {
        self.cache.get(&slot).map(|(held, _)| *held)
    }

    /// Whether slots were read or written in this block.
    pub(crate) fn holds_any(&self) -> bool {
        !self.cache.is_empty()
    }

    /// Whether slots have to be written.
    pub(crate) fn is_dirty(&self) -> bool {
        self.cache.values().any(|(_, dirty)| *dirty)
    }

    // Masks.

    /// The complement of a mask, one value for each.
    pub(crate) fn complement(&mut self, mask: Value) -> Value {
        if let Some(&not) = self.complements.get(&mask) {
            return not;
        }
        let not = self.b.inot(mask);
        self.complements.insert(mask, not);
        not
    }

    /// `a` where `mask` holds, else `b`; of masks too.
    pub(crate) fn blend(&mut self, mask: Value, a: Value, b: Value) -> Value {
        if self.b.func.ty(a).scalar != Scalar::I1 {
            return self.b.select(mask, a, b);
        }
        let not = self.complement(mask);
        let (a, b) = (self.b.iand(mask, a), self.b.iand(not, b));
        self.b.ior(a, b)
    }

    // Words.

    /// `value & mask`
    pub(crate) fn and_const(&mut self, value: Value, mask: u32) -> Value {
        let mask = self.b.i32(mask);
        self.b.iand(value, mask)
    }

    /// `value << count`
    pub(crate) fn shl_const(&mut self, value: Value, count: u32) -> Value {
        let count = self.b.i32(count);
        self.b.ishl(value, count)
    }

    /// `value >> count`, zeros from above
    pub(crate) fn ushr_const(&mut self, value: Value, count: u32) -> Value {
        let count = self.b.i32(count);
        self.b.ushr(value, count)
    }

    /// `value >> count`, the sign from above
    pub(crate) fn sshr_const(&mut self, value: Value, count: u32) -> Value {
        let count = self.b.i32(count);
        self.b.sshr(value, count)
    }

    /// Sign extension of the low `bits`.
    pub(crate) fn sext(&mut self, value: Value, bits: u32) -> Value {
        let count = self.b.i32(32 - bits);
        let up = self.b.ishl(value, count);
        self.b.sshr(up, count)
    }

    /// Whether any bit of `mask` is set in `value`.
    pub(crate) fn test(&mut self, value: Value, mask: u32) -> Value {
        let bits = self.and_const(value, mask);
        let none = self.b.i32(0);
        self.b.icmp(IntCC::Ne, bits, none)
    }

    /// 1 where the truth value holds, else 0.
    pub(crate) fn bit(&mut self, truth: Value) -> Value {
        self.bit_at(truth, 0)
    }

    /// The bit at `place` where the truth value holds, else 0.
    pub(crate) fn bit_at(&mut self, truth: Value, place: u32) -> Value {
        let (bit, none) = (self.b.i32(1 << place), self.b.i32(0));
        self.b.select(truth, bit, none)
    }

    /// Two words as one i64.
    pub(crate) fn wide(&mut self, low: Value, high: Value) -> Value {
        let low = self.b.convert(Opcode::Zext, low, Scalar::I64);
        let high = self.b.convert(Opcode::Zext, high, Scalar::I64);
        let shift = self.b.i64(32);
        let high = self.b.ishl(high, shift);
        self.b.ior(high, low)
    }

    /// The low word of an i64.
    pub(crate) fn low(&mut self, value: Value) -> Value {
        self.b.convert(Opcode::Trunc, value, Scalar::I32)
    }

    /// The high word of an i64.
    pub(crate) fn high(&mut self, value: Value) -> Value {
        let shift = self.b.i64(32);
        let high = self.b.ushr(value, shift);
        self.low(high)
    }
}
