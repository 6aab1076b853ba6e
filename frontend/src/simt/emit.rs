//! Emits the IR of one block for Tesla and Fermi: cached slots, guard predicates, and separate blocks for cross-lane operations.

use warpjit_ir::{
    Block, Builder, Builtin, FloatCC, GuestFault, IntCC, Scalar, Slot, SlotInit, Terminator, Type, Value,
};

use super::Flags;
use crate::emission::Emission;
use crate::soft::Rounding;

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

/// Emits into one block after the other, for a lifter that knows `O` of its program.
pub(crate) type Emitter<'f, O> = Emission<'f, Simt<'f, O>>;

/// What both lifters' emitters know.
pub(crate) struct Simt<'f, O> {
    /// What the lifter knows of the program.
    pub(crate) family: O,
    /// Slots that are made as they are needed.
    pub(crate) carried: &'f mut Carried,
}

impl<O> Emitter<'_, O> {
    /// Ends the block with a terminator that names a new block, and goes on in that one.
    pub(crate) fn split(&mut self, pc: u32, term: impl FnOnce(Block) -> Terminator) {
        let next = self.b.func.add_block(pc);
        // Values do not live across blocks; the predicate does, in a slot.
        let saved = self.guard.take().map(|guard| {
            let slot = self.temp(Type::MASK, 0);
            self.put_in_all_lanes(slot, guard);
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

    /// A slot that holds `value` for the next block: a register that happens to, or the given temporary.
    pub(crate) fn keep(&mut self, value: Value, ty: Type, number: usize) -> Slot {
        if let Some(slot) = self.holder(value) {
            return slot;
        }
        let slot = self.temp(ty, number);
        self.put_in_all_lanes(slot, value);
        slot
    }

    /// A slot that carries a value of type `ty` from one block to the next one.
    pub(crate) fn temp(&mut self, ty: Type, number: usize) -> Slot {
        if let Some((.., slot)) = self.own.carried.temps.iter().find(|(t, n, _)| *t == ty && *n == number) {
            return *slot;
        }
        let slot = self.b.func.add_slot(format!("#t{number}.{ty}"), ty, SlotInit::Zero);
        self.own.carried.temps.push((ty, number, slot));
        slot
    }

    /// A launch value.
    pub(crate) fn builtin(&mut self, builtin: Builtin) -> Value {
        let slot = match self.own.carried.builtins.iter().find(|(b, _)| *b == builtin) {
            Some((_, slot)) => *slot,
            None => {
                let slot = self.b.func.add_slot(builtin.name(), Type::I32, SlotInit::Builtin(builtin));
                self.b.func.slots[slot.index()].umax = (self.own.carried.builtin_max)(builtin);
                self.own.carried.builtins.push((builtin, slot));
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

    /// The modifiers of a source: abs, then neg.
    pub(crate) fn modified(&mut self, value: Value, absolute: bool, negate: bool) -> Value {
        let value = if absolute { self.b.fabs(value) } else { value };
        if negate { self.b.fneg(value) } else { value }
    }

    /// The integral value in that direction.
    pub(crate) fn round(&mut self, value: Value, direction: Rounding) -> Value {
        match direction {
            Rounding::Nearest => self.b.fnearest(value),
            Rounding::Down => self.b.ffloor(value),
            Rounding::Up => self.b.fceil(value),
            Rounding::Zero => self.b.ftrunc(value),
        }
    }

    /// `$c` of an f32 or f64 result: Z for zero and NaN, S for negative and NaN, C and O clear.
    pub(crate) fn float_flags(&mut self, value: Value, ftz: bool) -> Flags {
        let none = match self.b.func.ty(value).scalar {
            Scalar::F64 => self.b.f64(0.0),
            _ => self.b.f32(0.0),
        };
        let clear = self.b.bool(false);
        let zero = self.b.fcmp(FloatCC::Ueq, value, none, ftz);
        let sign = self.b.fcmp(FloatCC::Ult, value, none, ftz);
        Flags { zero, sign, carry: clear, overflow: clear }
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
        let mut builder = Builder::new(self.b.func, apart);
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
