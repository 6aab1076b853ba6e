//! Lifts atomics on global memory and locked accesses to shared memory. Each gets a block of its own.

use warpjit_ir::{AtomicOp, GuestFault, MemAccess, Space, Type as IrType};

use super::memory::global;
use crate::tesla::lift::emit::Emit;
use crate::tesla::{Features, Inst, Op, Operand, Target, decode_word};

/// Emits one atomic or locked access.
pub(in crate::tesla::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::LdLock => load_lock(e, inst),
        Op::StShared => store_unlock(e, inst),
        Op::Red | Op::Atom if traps(inst) => e.fault(GuestFault::Trap),
        Op::Red | Op::Atom => atomic(e, inst),
        _ => e.fault(GuestFault::Illegal),
    }
}

/// The size and operation fields of an atomic's word.
///
/// The table has the useful combinations only; what the chips do with the others is known from tests of real ones
/// (docs/hardware/tesla.md section 4), so the lifter looks at the fields themselves.
#[derive(Clone, Copy)]
struct Fields {
    size: u64,
    op: u64,
    /// G200 and later.
    late: bool,
}

const SIZE_SHIFT: u32 = 53;
const OP_SHIFT: u32 = 34;

impl Fields {
    fn of(raw: u64, target: Target) -> Fields {
        Fields {
            size: raw >> SIZE_SHIFT & 7,
            op: raw >> OP_SHIFT & 15,
            late: target.chip.features().contains(Features::SM12),
        }
    }

    fn wide(self) -> bool {
        self.size == 4
    }

    /// Bytes of the operand if they are fewer than a word.
    fn narrow(self) -> Option<u32> {
        match self.size {
            0 | 1 => Some(1),
            2 | 3 => Some(2),
            _ => None,
        }
    }

    /// What happens to memory; `None` is a trap.
    fn operation(self) -> Option<AtomicOp> {
        let signed = self.size == 7;
        let odd = signed && !self.late;
        Some(match self.op {
            3 => return None,
            // Sub-word operations do nothing on later chips, 64-bit ones have add, exch and cas.
            _ if self.narrow().is_some() && self.late => AtomicOp::Nop,
            0 => AtomicOp::Add,
            1 => AtomicOp::Exch,
            2 => AtomicOp::Cas,
            _ if self.wide() => AtomicOp::Nop,
            4 if odd => AtomicOp::IncS,
            4 => AtomicOp::Inc,
            5 if odd => AtomicOp::DecS,
            5 => AtomicOp::Dec,
            6 if signed => AtomicOp::Smax,
            6 => AtomicOp::Umax,
            7 if signed => AtomicOp::Smin,
            7 => AtomicOp::Umin,
            10 => AtomicOp::And,
            11 => AtomicOp::Or,
            12 => AtomicOp::Xor,
            _ => AtomicOp::Nop,
        })
    }
}

/// Decodes an atomic that the table does not have but whose effect is known: as the addition on the same operands,
/// with the word as it is, which [`inst`] goes by.
pub(in crate::tesla::lift) fn decode_odd(raw: u64, pc: u32, target: Target) -> Option<Inst> {
    let is_atom = match (raw >> 28 & 0xf, raw & 3, raw >> 61) {
        (0xd, 1, 6) => false,
        (0xd, 1, 7) => true,
        _ => return None,
    };
    let fields = Fields::of(raw, target);
    let size = match fields.size {
        // Nobody has seen what 128-bit ones do.
        5 => return None,
        4 => 4,
        _ => 6,
    };
    let op = match fields.op {
        2 if is_atom && fields.narrow().is_none() => 2,
        2 => return None,
        _ => 0,
    };
    let known = raw & !(7 << SIZE_SHIFT | 15 << OP_SHIFT) | size << SIZE_SHIFT | op << OP_SHIFT;
    let inst = decode_word(known, pc, target).ok()?;
    Some(Inst { raw, ..inst })
}

/// Whether the instruction is an atomic that traps.
pub(in crate::tesla::lift) fn traps(inst: &Inst) -> bool {
    Fields::of(inst.raw, inst.target).operation().is_none()
}

fn atomic(e: &mut Emit<'_>, inst: &Inst) {
    let Some(Operand::Global { space, reg }) = inst.src(0).map(|src| src.operand) else { return };
    let fields = Fields::of(inst.raw, inst.target);
    let Some(op) = fields.operation() else { return };
    let wide = fields.wide();
    let ty = if wide { IrType::I64 } else { IrType::I32 };
    let address = e.reg(reg.into());
    let address = e.keep(address, IrType::I32, 0);
    let operand = |e: &mut Emit<'_>, n| if wide { e.src64(inst, n) } else { e.src(inst, n) };
    let mut value = operand(e, 1);
    if let Some(bytes) = fields.narrow() {
        // The operand stands in every part of the word, on which the whole operation is done.
        let (mask, copies) = if bytes == 1 { (0xff, 0x0101_0101) } else { (0xffff, 0x0001_0001) };
        let part = e.and_const(value, mask);
        let copies = e.b.i32(copies);
        value = e.b.imul(part, copies);
    }
    let value = e.keep(value, ty, 1);
    let new = (op == AtomicOp::Cas).then(|| {
        let new = operand(e, 2);
        e.keep(new, ty, 2)
    });
    let old = e.temp(ty, 3);
    let bytes = if wide { 8 } else { 4 };
    let mem = MemAccess { bytes: bytes as u8, ..global(space, bytes, false) };
    e.isolated(|e| {
        let address = e.get(address);
        let value = e.get(value);
        let new = new.map(|slot| e.get(slot));
        let guard = e.guard;
        let result = e.b.atomic(mem, op, address, value, new, guard);
        // Without a result register the order of the lanes cannot be seen.
        if inst.op == Op::Atom {
            e.put_in_all_lanes(old, result);
        }
    });
    if inst.op != Op::Atom {
        return;
    }
    let result = e.get(old);
    let result = match fields.size {
        0 => e.and_const(result, 0xff),
        1 => e.sext(result, 8),
        2 => e.and_const(result, 0xffff),
        3 => e.sext(result, 16),
        4 => return e.write64(inst, result),
        _ => result,
    };
    e.write(inst, result);
}

/// `ld lock`: takes the word's lock and loads it; `$c` is S where that worked, Z where another warp holds the lock.
fn load_lock(e: &mut Emit<'_>, inst: &Inst) {
    let Some(Operand::Shared { addr, .. }) = inst.src(0).map(|src| src.operand) else { return };
    let (mem, base) = e.address(Space::Shared, addr, 4, false);
    let address = e.keep(base, IrType::I32, 0);
    let (locked, loaded) = (e.temp(IrType::MASK, 1), e.temp(IrType::I32, 3));
    e.isolated(|e| {
        let address = e.get(address);
        let success = e.lock(mem, address);
        let word = e.b.load(mem, address, None);
        e.put_in_all_lanes(locked, success);
        e.put_in_all_lanes(loaded, word);
    });
    let (success, word) = (e.get(locked), e.get(loaded));
    e.under(success, |e| e.write(inst, word));
    let flags = e.test_flags(success);
    e.set_flags(inst, flags);
}

/// `st unlock`: stores and frees the lock.
fn store_unlock(e: &mut Emit<'_>, inst: &Inst) {
    let Some(Operand::Shared { addr, ty }) = inst.src(0).map(|src| src.operand) else { return };
    let value = e.src(inst, 1);
    let (mem, base) = e.address(Space::Shared, addr, ty.bytes(), false);
    let address = e.keep(base, IrType::I32, 0);
    let value = e.keep(value, IrType::I32, 1);
    e.store_unlock(mem, address, value);
}
