//! Emits the IR of one block for Tesla and Fermi: cached slots, guard predicates, and separate blocks for cross-lane operations.

use std::collections::BTreeMap;

use warpjit_ir::{
    Block, Builder, Builtin, Function, GuestFault, IntCC, Scalar, Slot, SlotInit, Terminator, Type, Value,
};

use crate::emission::{Emission, extends_emission};

/// Slots that lifters make as they need them.
#[derive(Debug)]
pub(crate) struct Carried {
    /// Launch values read by the program, by builtin.
    builtins: Vec<(Builtin, Slot)>,
    /// Carry values across the borders of blocks that hold a cross-lane operation.
    temps: Vec<(Type, usize, Slot)>,
    /// The largest value of a builtin on any chip of the family.
    builtin_max: fn(Builtin) -> Option<u32>,
}

impl Carried {
    /// No slots yet.
    pub(crate) fn new(builtin_max: fn(Builtin) -> Option<u32>) -> Self {
        Carried { builtins: Vec::new(), temps: Vec::new(), builtin_max }
    }
}

/// Emits into one block after the other, for a family that knows `own` besides.
///
/// Slots are read once a block and written at its end; in between their values are SSA values.
pub(crate) struct Emitter<'f, O> {
    core: Emission<'f>,
    /// What the family's lifter knows of the program.
    pub(crate) own: O,
    carried: &'f mut Carried,
    /// Values that were written to slots under a guard, with the guard. An instruction under the same guard reads that value directly,
    /// not `select guard, value, old`: its own results matter only in the lanes of the guard.
    guarded: BTreeMap<Slot, (Value, Value)>,
    /// Complements of masks in this block, so that equal guards are one value.
    complements: BTreeMap<Value, Value>,
    /// The predicate of the instruction being emitted; `None` is always.
    pub(crate) guard: Option<Value>,
}

extends_emission!(Emitter<'f, O>);

impl<'f, O> Emitter<'f, O> {
    /// Begins at the end of a block.
    pub(crate) fn new(func: &'f mut Function, carried: &'f mut Carried, own: O, block: Block) -> Self {
        Emitter {
            core: Emission::new(func, block),
            own,
            carried,
            guarded: BTreeMap::new(),
            complements: BTreeMap::new(),
            guard: None,
        }
    }

    /// Goes on at the begin of a block.
    pub(crate) fn start(&mut self, block: Block) {
        self.core.start(block);
        self.guarded.clear();
        self.complements.clear();
        self.guard = None;
    }

    /// Ends the block with a terminator that names a new block, and goes on in that one.
    pub(crate) fn split(&mut self, pc: u32, term: impl FnOnce(Block) -> Terminator) {
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
    pub(crate) fn isolated(&mut self, body: impl FnOnce(&mut Self)) {
        let pc = self.b.pc;
        if !self.is_empty() || self.holds_any() {
            self.split(pc, |next| Terminator::Jump(next.into()));
        }
        body(self);
        self.split(pc, |next| Terminator::Jump(next.into()));
    }

    /// What a slot holds; in the lanes of the guard, where there is one.
    pub(crate) fn get(&mut self, slot: Slot) -> Value {
        if let (Some(guard), Some(&(under, value))) = (self.guard, self.guarded.get(&slot))
            && under == guard
        {
            return value;
        }
        self.core.get(slot)
    }

    /// Gives a slot a new value, where the guard holds.
    pub(crate) fn put(&mut self, slot: Slot, value: Value) {
        let Some(guard) = self.guard else { return self.put_always(slot, value) };
        let old = self.core.get(slot);
        let all = self.blend(guard, value, old);
        self.put_always(slot, all);
        let value = self.b.splat(value);
        self.guarded.insert(slot, (guard, value));
    }

    /// Gives a slot a new value whatever the guard is.
    pub(crate) fn put_always(&mut self, slot: Slot, value: Value) {
        let value = self.b.splat(value);
        self.guarded.remove(&slot);
        self.replace(slot, value);
    }

    /// The complement of a mask, one value for each.
    pub(crate) fn complement(&mut self, mask: Value) -> Value {
        if let Some(&not) = self.complements.get(&mask) {
            return not;
        }
        let not = self.b.inot(mask);
        self.complements.insert(mask, not);
        not
    }

    /// A slot that holds `value` for the next block: a register that happens to, or the given temporary.
    pub(crate) fn keep(&mut self, value: Value, ty: Type, number: usize) -> Slot {
        if let Some(slot) = self.holder(value) {
            return slot;
        }
        let slot = self.temp(ty, number);
        self.put_always(slot, value);
        slot
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

    /// A slot that carries a value of type `ty` from one block to the next one.
    pub(crate) fn temp(&mut self, ty: Type, number: usize) -> Slot {
        if let Some((.., slot)) = self.carried.temps.iter().find(|(t, n, _)| *t == ty && *n == number) {
            return *slot;
        }
        let slot = self.b.func.add_slot(format!("#t{number}.{ty}"), ty, SlotInit::Zero);
        self.carried.temps.push((ty, number, slot));
        slot
    }

    /// A launch value.
    pub(crate) fn builtin(&mut self, builtin: Builtin) -> Value {
        let slot = match self.carried.builtins.iter().find(|(b, _)| *b == builtin) {
            Some((_, slot)) => *slot,
            None => {
                let slot = self.b.func.add_slot(builtin.name(), Type::I32, SlotInit::Builtin(builtin));
                self.b.func.slots[slot.index()].umax = (self.carried.builtin_max)(builtin);
                self.carried.builtins.push((builtin, slot));
                slot
            }
        };
        self.get(slot)
    }

    /// Z and S of an integer of 16 or 32 bits.
    pub(crate) fn zero_sign(&mut self, result: Value, half: bool) -> (Value, Value) {
        let none = self.b.i32(0);
        let zero = self.b.icmp(IntCC::Eq, result, none);
        (zero, self.sign_bit(result, half))
    }

    /// The sign of an integer of 16 or 32 bits.
    pub(crate) fn sign_bit(&mut self, value: Value, half: bool) -> Value {
        let none = self.b.i32(0);
        if half {
            let bit = self.and_const(value, 0x8000);
            return self.b.icmp(IntCC::Ne, bit, none);
        }
        self.b.icmp(IntCC::Slt, value, none)
    }

    /// Ends the block so that the lanes of the guard (all without one) run what `rest` makes of a block of theirs, which
    /// it must end; the others go on.
    pub(crate) fn part(&mut self, rest: impl FnOnce(&mut Builder<'_>)) {
        let pc = self.b.pc;
        let apart = self.b.func.add_block(pc);
        match self.guard.take() {
            None => self.terminate(Terminator::Jump(apart.into())),
            Some(cond) => {
                self.split(pc, |next| Terminator::Branch { cond, taken: apart.into(), next: next.into() });
            }
        }
        let mut builder = Builder::new(self.core.b.func, apart);
        builder.pc = pc;
        rest(&mut builder);
    }

    /// Raises a fault in the lanes of the guard.
    pub(crate) fn fault(&mut self, fault: GuestFault) {
        if self.guard.is_none() {
            return self.terminate(Terminator::Fault(fault));
        }
        self.part(|builder| builder.terminate(Terminator::Fault(fault)));
    }

    /// Runs `body` under the guard where `mask` holds as well.
    pub(crate) fn under(&mut self, mask: Value, body: impl FnOnce(&mut Self)) {
        let outer = self.guard;
        self.guard = Some(self.narrowed(mask));
        body(self);
        self.guard = outer;
    }

    /// The guard where `mask` holds as well.
    pub(crate) fn narrowed(&mut self, mask: Value) -> Value {
        match self.guard {
            Some(guard) => self.b.iand(guard, mask),
            None => mask,
        }
    }
}
