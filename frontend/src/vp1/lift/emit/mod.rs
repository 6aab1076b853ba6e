//! Emits the IR of one bundle: all reads before all writes, writes in the processor's order, and arithmetic that the units share.

pub(super) mod state;

use warpjit_ir::{Imm, IntCC, MemAccess, Opcode, Scalar, Slot, Space, Type, Value};

use self::state::{Slots, flag_bits};
use crate::emission::Emission;
use crate::vp1::Chip;

/// The order in which writes of one bundle to one register count, the last one winning (docs/hardware/vp1.md section 8).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::vp1::lift) enum Writer {
    /// `6b` from `$c`, `$v`, `$a`, `$l`, and `6a` to `$v`.
    Move,
    Address,
    Scalar,
    Vector,
    Branch,
}

struct Write {
    writer: Writer,
    slot: Slot,
    value: Value,
    /// Written only where this uniform truth value holds.
    when: Option<Value>,
}

/// Builds the block of one bundle.
pub(in crate::vp1::lift) type Emit<'a> = Emission<'a, Own<'a>>;

/// What VP1's lifter knows of the program and of the bundle.
pub(in crate::vp1::lift) struct Own<'a> {
    pub(in crate::vp1::lift) slots: &'a Slots,
    pub(in crate::vp1::lift) chip: Chip,
    writes: Vec<Write>,
    /// Bits of `$c` registers: register, which bits, their values.
    flags: Vec<(u32, u32, Value)>,
}

impl<'a> Own<'a> {
    pub(in crate::vp1::lift) fn new(slots: &'a Slots, chip: Chip) -> Own<'a> {
        Own { slots, chip, writes: Vec::new(), flags: Vec::new() }
    }
}

impl Emit<'_> {
    /// Writes a slot behind the bundle.
    pub(in crate::vp1::lift) fn set(&mut self, writer: Writer, slot: Slot, value: Value) {
        self.own.writes.push(Write { writer, slot, value, when: None });
    }

    /// Writes a slot behind the bundle where a uniform truth value holds.
    pub(in crate::vp1::lift) fn set_when(&mut self, writer: Writer, slot: Slot, value: Value, when: Value) {
        self.own.writes.push(Write { writer, slot, value, when: Some(when) });
    }

    /// Gives `$c[index]` the bits of `mask` from `value`, which has no others; no effect where `index` is 4 or more.
    pub(in crate::vp1::lift) fn set_flags(&mut self, index: u32, mask: u32, value: Value) {
        if index < 4 {
            self.own.flags.push((index, mask & flag_bits(self.own.chip), value));
        }
    }

    /// Makes all writes happen.
    pub(in crate::vp1::lift) fn write_back(&mut self) {
        for (index, slot) in self.own.slots.c.into_iter().enumerate() {
            let mut written = None;
            for (of, mask, bits) in std::mem::take(&mut self.own.flags) {
                if of as usize != index {
                    self.own.flags.push((of, mask, bits));
                    continue;
                }
                let old = written.unwrap_or_else(|| self.get(slot));
                let others = !mask & flag_bits(self.own.chip);
                let kept = self.and_const(old, others);
                written = Some(self.b.ior(kept, bits));
            }
            if let Some(value) = written {
                self.b.set(slot, value);
            }
        }
        let mut writes = std::mem::take(&mut self.own.writes);
        writes.sort_by_key(|write| write.writer);
        let mut last: Vec<(Slot, Value)> = Vec::new();
        for Write { slot, mut value, when, .. } in writes {
            let known = last.iter().position(|&(of, _)| of == slot);
            if let Some(when) = when {
                let old = known.map_or_else(|| self.get(slot), |at| last[at].1);
                value = self.b.select(when, value, old);
            }
            match known {
                Some(at) => last[at].1 = value,
                None => last.push((slot, value)),
            }
        }
        for (slot, value) in last {
            self.b.set(slot, value);
        }
    }

    pub(in crate::vp1::lift) fn word(&mut self, bits: u32) -> Value {
        self.b.i32(bits)
    }

    pub(in crate::vp1::lift) fn or_const(&mut self, a: Value, bits: u32) -> Value {
        if bits == 0 {
            return a;
        }
        let bits = self.word(bits);
        self.b.ior(a, bits)
    }

    pub(in crate::vp1::lift) fn add_const(&mut self, a: Value, number: i32) -> Value {
        if number == 0 {
            return a;
        }
        let number = self.word(number as u32);
        self.b.iadd(a, number)
    }

    /// Shifts left, or right (arithmetically) by a negative count.
    pub(in crate::vp1::lift) fn shift(&mut self, a: Value, left: i32) -> Value {
        if left == 0 {
            return a;
        }
        let count = self.word(left.unsigned_abs());
        if left > 0 { self.b.ishl(a, count) } else { self.b.sshr(a, count) }
    }

    pub(in crate::vp1::lift) fn shr(&mut self, a: Value, count: u32) -> Value {
        if count == 0 {
            return a;
        }
        let count = self.word(count);
        self.b.ushr(a, count)
    }

    /// The low `bits` bits as a signed number.
    pub(in crate::vp1::lift) fn sign_extend(&mut self, a: Value, bits: i32) -> Value {
        let high = self.shift(a, 32 - bits);
        self.shift(high, bits - 32)
    }

    /// Between two signed bounds.
    pub(in crate::vp1::lift) fn clamp(&mut self, a: Value, low: i32, high: i32) -> Value {
        let low = self.word(low as u32);
        let a = self.b.smax(a, low);
        let high = self.word(high as u32);
        self.b.smin(a, high)
    }

    pub(in crate::vp1::lift) fn is_zero(&mut self, a: Value) -> Value {
        let zero = self.word(0);
        self.b.icmp(IntCC::Eq, a, zero)
    }

    pub(in crate::vp1::lift) fn is_negative(&mut self, a: Value) -> Value {
        let zero = self.word(0);
        self.b.icmp(IntCC::Slt, a, zero)
    }

    /// `yes` where `cond` is true, else `no`.
    pub(in crate::vp1::lift) fn choose(&mut self, cond: Value, yes: u32, no: u32) -> Value {
        let (yes, no) = (self.word(yes), self.word(no));
        self.b.select(cond, yes, no)
    }

    /// The bit operation `code`: bit `2 * a + b` of it is the result (docs/hardware/vp1.md section 3).
    pub(in crate::vp1::lift) fn bitop(&mut self, code: u32, a: Value, b: Value) -> Value {
        match code & 15 {
            0x0 => self.word(0),
            0x1 => {
                let or = self.b.ior(a, b);
                self.b.inot(or)
            }
            0x2 => {
                let a = self.b.inot(a);
                self.b.iand(a, b)
            }
            0x3 => self.b.inot(a),
            0x4 => {
                let b = self.b.inot(b);
                self.b.iand(a, b)
            }
            0x5 => self.b.inot(b),
            0x6 => self.b.ixor(a, b),
            0x7 => {
                let and = self.b.iand(a, b);
                self.b.inot(and)
            }
            0x8 => self.b.iand(a, b),
            0x9 => {
                let xor = self.b.ixor(a, b);
                self.b.inot(xor)
            }
            0xa => b,
            0xb => {
                let a = self.b.inot(a);
                self.b.ior(a, b)
            }
            0xc => a,
            0xd => {
                let b = self.b.inot(b);
                self.b.ior(a, b)
            }
            0xe => self.b.ior(a, b),
            _ => self.word(u32::MAX),
        }
    }

    /// `$r[index]`; `$r31` is zero.
    pub(in crate::vp1::lift) fn r(&mut self, index: u32) -> Value {
        match self.own.slots.r.get(index as usize) {
            Some(&slot) => self.get(slot),
            None => self.word(0),
        }
    }

    /// Writes `$r[index]`.
    pub(in crate::vp1::lift) fn set_r(&mut self, writer: Writer, index: u32, value: Value) {
        if let Some(&slot) = self.own.slots.r.get(index as usize) {
            self.set(writer, slot, value);
        }
    }

    /// `$a[index]`.
    pub(in crate::vp1::lift) fn a(&mut self, index: u32) -> Value {
        self.get(self.own.slots.a[index as usize & 31])
    }

    /// `$v[index]`.
    pub(in crate::vp1::lift) fn v(&mut self, index: u32) -> Value {
        self.get(self.own.slots.v[index as usize & 31])
    }

    /// `$c[index]` without bit 15.
    pub(in crate::vp1::lift) fn c(&mut self, index: u32) -> Value {
        self.get(self.own.slots.c[index as usize & 3])
    }

    /// Bit `SLCT` of `$c[COND]` (fields of `word`) as a uniform truth value; constant bits are constants.
    pub(in crate::vp1::lift) fn selected(&mut self, word: u32) -> Value {
        match word >> 5 & 15 {
            11 | 12 | 14 => self.b.bool(false),
            15 => self.b.bool(true),
            bit => {
                let c = self.c(word >> 3 & 3);
                self.test(c, 1 << bit)
            }
        }
    }

    /// Reads register `field` after source mangling (docs/hardware/vp1.md section 3): `read` reads one, `more` is added to what a
    /// rotation by `SLCT` 4 adds.
    pub(in crate::vp1::lift) fn mangled(
        &mut self,
        word: u32,
        field: u32,
        more: u32,
        read: &dyn Fn(&mut Self, u32) -> Value,
    ) -> Value {
        match word >> 5 & 15 {
            4 => {
                let c = self.c(word >> 3 & 3);
                let quad: [Value; 4] =
                    std::array::from_fn(|n| read(self, field & !3 | (field + more + n as u32) & 3));
                let (low, high) = (self.test(c, 1 << 4), self.test(c, 1 << 5));
                let even = self.b.select(low, quad[1], quad[0]);
                let odd = self.b.select(low, quad[3], quad[2]);
                self.b.select(high, odd, even)
            }
            11 | 12 | 14 => read(self, field),
            15 => read(self, field ^ 1),
            _ => {
                let (other, same) = (read(self, field ^ 1), read(self, field));
                let bit = self.selected(word);
                self.b.select(bit, other, same)
            }
        }
    }

    /// The number of the component.
    pub(in crate::vp1::lift) fn lane(&mut self) -> Value {
        self.get(self.own.slots.lane)
    }

    /// A byte of the data store at its raw address.
    pub(in crate::vp1::lift) fn load_byte(&mut self, address: Value) -> Value {
        let ty = Type { scalar: Scalar::I32, ..self.b.func.ty(address) };
        let imm = Imm::Mem(byte_access());
        self.b.push(Opcode::Load, &[address], imm, Some(ty)).expect("has a result")
    }

    /// Stores a byte to the data store.
    pub(in crate::vp1::lift) fn store_byte(&mut self, address: Value, value: Value) {
        self.b.store(byte_access(), address, value, None);
    }
}

fn byte_access() -> MemAccess {
    MemAccess {
        space: Space::Shared,
        bytes: 1,
        signed: false,
        offset: 0,
        align: 1,
        far: false,
        align_offset: 0,
    }
}
