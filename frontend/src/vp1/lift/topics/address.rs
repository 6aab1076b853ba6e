//! Lifts the address unit: its registers, and loads and stores of the data store (docs/hardware/vp1.md section 7).

use warpjit_ir::{IntCC, Value};

use super::scalar::{dst, imm, src1, src2};
use crate::vp1::Op;
use crate::vp1::lift::analysis::graph::Bundle;
use crate::vp1::lift::emit::{Emit, Writer};

/// Emits the address instruction of a bundle.
pub(in crate::vp1::lift) fn unit(e: &mut Emit<'_>, bundle: &Bundle) {
    let inst = bundle.address;
    let word = inst.word;
    let slots = e.own.slots;
    match inst.op() {
        Op::ALoad => load(e, bundle),
        Op::AStore => store(e, bundle),
        Op::ALoadRaw => {
            // A cell for each component, its bank the component.
            let cells = e.v(vector_port(bundle, src2(word)));
            let address = e.a(src1(word));
            let cell = e.shr(address, 4);
            let cell = e.and_const(cell, 0x1ff);
            let cell = e.b.ior(cell, cells);
            let lane = e.lane();
            let row = e.shift(cell, 4);
            let at = e.b.iadd(row, lane);
            let value = e.load_byte(at);
            e.set(Writer::Address, slots.v[dst(word) as usize], value);
        }
        Op::AStoreRaw => {
            let value = e.v(vector_port(bundle, src1(word)));
            let address = e.a(dst(word));
            let row = e.and_const(address, 0x1ff0);
            let lane = e.lane();
            let at = e.b.iadd(row, lane);
            e.store_byte(at, value);
            let step = step_register(e, word);
            let stepped = half_add(e, address, step);
            e.set(Writer::Address, slots.a[dst(word) as usize], stepped);
        }
        Op::AHalfAdd => {
            let address = e.a(dst(word));
            let step = step_register(e, word);
            let stepped = half_add(e, address, step);
            e.set(Writer::Address, slots.a[dst(word) as usize], stepped);
            end_flag(e, word, stepped);
        }
        Op::AAdd | Op::ABitop => {
            let a = e.a(src1(word));
            let value = if inst.op() == Op::AAdd {
                let b = step_register(e, word);
                e.b.iadd(a, b)
            } else {
                let b = e.a(src2(word));
                e.bitop(word >> 3 & 15, a, b)
            };
            e.set(Writer::Address, slots.a[dst(word) as usize], value);
            if word & 7 < 4 {
                let sign = e.shr(value, 31);
                let sign = e.shift(sign, 8);
                let zero = e.is_zero(value);
                let zero = e.choose(zero, 0x200, 0);
                let flags = e.b.ior(sign, zero);
                e.set_flags(word & 7, 0x300, flags);
            }
        }
        Op::ASetLow => {
            let old = e.a(dst(word));
            let high = e.and_const(old, 0xffff_0000);
            let value = e.or_const(high, word & 0xffff);
            e.set(Writer::Address, slots.a[dst(word) as usize], value);
        }
        Op::ASetHigh => {
            let old = e.a(dst(word));
            let low = e.and_const(old, 0xffff);
            let value = e.or_const(low, word << 16);
            e.set(Writer::Address, slots.a[dst(word) as usize], value);
        }
        // Transfers are none of this unit's registers; the rest does nothing.
        _ => {}
    }
}

/// The `$v` that a store or `ldr` reads: a scalar `6b` from `$v` shares its port (docs/hardware/vp1.md section 4).
fn vector_port(bundle: &Bundle, own: u32) -> u32 {
    let scalar = bundle.scalar;
    let reads_v = scalar.op() == Op::MovFrom && scalar.word >> 3 & 31 < 4;
    if reads_v { src1(scalar.word) } else { own }
}

/// The register that is added, after mangling.
fn step_register(e: &mut Emit<'_>, word: u32) -> Value {
    e.mangled(word, src2(word), 0, &|e, index| e.a(index))
}

/// Adds to the low half only.
fn half_add(e: &mut Emit<'_>, a: Value, b: Value) -> Value {
    let high = e.and_const(a, 0xffff_0000);
    let low = e.b.iadd(a, b);
    let low = e.and_const(low, 0xffff);
    e.b.ior(high, low)
}

/// The flag that the address has reached its limit.
fn end_flag(e: &mut Emit<'_>, word: u32, address: Value) {
    if word & 7 < 4 {
        let low = e.and_const(address, 0xffff);
        let limit = e.shr(address, 16);
        let limit = e.and_const(limit, 0x3fff);
        let reached = e.b.icmp(IntCC::Uge, low, limit);
        let flag = e.choose(reached, 0x400, 0);
        e.set_flags(word & 7, 0x400, flag);
    }
}

/// Steps the address register behind an access, or does as if, for the flag.
fn step(e: &mut Emit<'_>, opcode: u32, word: u32, register: u32) {
    let address = e.a(register);
    let by = match opcode & 0x18 {
        0x18 => e.word(word >> 3 & 0x7ff),
        0x10 => e.word(imm(word) as u32 & 0xffff),
        _ => step_register(e, word),
    };
    let stepped = half_add(e, address, by);
    if opcode & 0x18 != 0x18 {
        e.set(Writer::Address, e.own.slots.a[register as usize], stepped);
    }
    end_flag(e, word, stepped);
}

/// An address in the data store with what says how banks are arranged.
#[derive(Clone, Copy)]
struct DataAddress {
    /// 13 bits.
    address: Value,
    /// Two bits.
    stride: Value,
}

fn data_address(e: &mut Emit<'_>, opcode: u32, word: u32, register: u32) -> DataAddress {
    let a = e.a(register);
    let base = e.and_const(a, 0x1fff);
    let address = if opcode & 0x18 == 0x18 { e.or_const(base, word >> 3 & 0x7ff) } else { base };
    DataAddress { address, stride: e.shr(a, 30) }
}

/// The bank of an address.
fn bank(e: &mut Emit<'_>, at: DataAddress) -> Value {
    // Strides 0 and 1 look at bit 5 and up, 2 at bit 6, 3 at bit 7; stride 0 at three bits only.
    let one = e.word(1);
    let count = e.b.umax(at.stride, one);
    let count = e.add_const(count, 4);
    let row = e.b.ushr(at.address, count);
    let first = e.is_zero(at.stride);
    let bits = e.choose(first, 7, 15);
    let row = e.b.iand(row, bits);
    e.b.iadd(row, at.address)
}

/// Raw address of a row, and the bank of its first byte. The bytes go round: byte n is in bank first + n.
fn row(e: &mut Emit<'_>, at: DataAddress) -> (Value, Value) {
    let row = e.and_const(at.address, 0x1ff0);
    let bank = bank(e, DataAddress { address: row, ..at });
    (row, bank)
}

/// Loads a row: all banks side by side, then turned so that its first byte is component 0.
fn load_row(e: &mut Emit<'_>, at: DataAddress) -> Value {
    let (row, bank) = row(e, at);
    let lane = e.lane();
    let at = e.b.iadd(row, lane);
    let banks = e.load_byte(at);
    let from = e.b.iadd(bank, lane);
    let from = e.and_const(from, 15);
    e.b.shuffle(banks, from)
}

/// Stores a row.
fn store_row(e: &mut Emit<'_>, at: DataAddress, value: Value) {
    let (row, bank) = row(e, at);
    let lane = e.lane();
    let from = e.b.isub(lane, bank);
    let from = e.and_const(from, 15);
    let banks = e.b.shuffle(value, from);
    let at = e.b.iadd(row, lane);
    e.store_byte(at, banks);
}

/// Raw addresses of the 16 bytes of a column.
fn vertical(e: &mut Emit<'_>, at: DataAddress) -> Value {
    let lane = e.lane();
    let gone = e.word(0xf0);
    let gone = e.b.ishl(gone, at.stride);
    let gone = e.b.inot(gone);
    let address = e.b.iand(at.address, gone);
    let bank = bank(e, DataAddress { address, ..at });
    // Stride 0: two components a bank.
    let first = e.is_zero(at.stride);
    let pairs = e.shr(lane, 1);
    let of_bank = e.b.select(first, pairs, lane);
    let bank = e.b.iadd(bank, of_bank);
    let bank = e.and_const(bank, 15);
    let row = e.and_const(address, 0x1ff0);
    let rows = e.b.ishl(lane, at.stride);
    let rows = e.shift(rows, 4);
    let row = e.b.ior(row, rows);
    e.b.iadd(row, bank)
}

/// Raw addresses of the four bytes of a word, lowest first.
fn word_bytes(e: &mut Emit<'_>, at: DataAddress) -> [Value; 4] {
    let row = e.and_const(at.address, 0x1ff0);
    let bank = bank(e, DataAddress { address: row, ..at });
    let first = e.and_const(at.address, 12);
    let bank = e.b.iadd(bank, first);
    std::array::from_fn(|byte| {
        let bank = e.add_const(bank, byte as i32);
        let bank = e.and_const(bank, 15);
        e.b.iadd(row, bank)
    })
}

/// Loads: opcodes c0-c2, c8, c9, d0-d2, d8-da.
fn load(e: &mut Emit<'_>, bundle: &Bundle) {
    let (word, opcode) = (bundle.address.word, bundle.address.opcode());
    let slots = e.own.slots;
    // c8 and c9 add a register as c0 and c1 do.
    let quad = opcode & 0x18 == 0x08;
    let at = data_address(e, opcode, word, src1(word));
    if opcode & 3 == 2 {
        let bytes = word_bytes(e, at).map(|at| e.load_byte(at));
        let mut value = bytes[0];
        for (byte, &part) in bytes.iter().enumerate().skip(1) {
            let part = e.shift(part, 8 * byte as i32);
            value = e.b.ior(value, part);
        }
        e.set_r(Writer::Address, dst(word), value);
    } else {
        let value = if opcode & 3 == 1 {
            let at = vertical(e, at);
            e.load_byte(at)
        } else {
            load_row(e, at)
        };
        if quad {
            e.set(Writer::Address, slots.vx, value);
            // Where the selected bit is set, also the register of the quad that $c says.
            let when = e.selected(word);
            let c = e.c(word >> 3 & 3);
            let rotation = e.shr(c, 4);
            for n in 0..4 {
                let index = dst(word) & !3 | (dst(word) + n) & 3;
                let low = e.and_const(rotation, 3);
                let this = e.word(n);
                let here = e.b.icmp(IntCC::Eq, low, this);
                let here = e.b.iand(here, when);
                e.set_when(Writer::Address, slots.v[index as usize], value, here);
            }
        } else {
            e.set(Writer::Address, slots.v[dst(word) as usize], value);
        }
    }
    step(e, opcode, word, src1(word));
}

/// Stores: opcodes c4-c6, d4-d6, dc-de.
fn store(e: &mut Emit<'_>, bundle: &Bundle) {
    let (word, opcode) = (bundle.address.word, bundle.address.opcode());
    let at = data_address(e, opcode, word, dst(word));
    if opcode & 3 == 2 {
        let value = stored_word(e, bundle);
        for (byte, at) in word_bytes(e, at).into_iter().enumerate() {
            let part = e.shr(value, 8 * byte as u32);
            e.store_byte(at, part);
        }
    } else {
        let value = e.v(vector_port(bundle, src1(word)));
        if opcode & 3 == 1 {
            let at = vertical(e, at);
            e.store_byte(at, value);
        } else {
            store_row(e, at, value);
        }
    }
    step(e, opcode, word, dst(word));
}

/// The `$r` that a store writes: in a bundle with `bvecmad`, that one's third source (docs/hardware/vp1.md section 4).
fn stored_word(e: &mut Emit<'_>, bundle: &Bundle) -> Value {
    let scalar = bundle.scalar;
    if scalar.op() == Op::BusByteMad {
        super::bus::mad_registers(e, scalar.word).1
    } else {
        e.r(src1(bundle.address.word))
    }
}
