//! Lifts read-modify-write operations: the list of them, and the code for one.
//!
//! Memory atomics take the comparison value from the register after the new value; LDS atomics take it from the first data
//! register (docs/hardware/gcn.md section 5). Atomics need natural alignment: otherwise an atomic on global memory is a `memory` fault,
//! and one on LDS drops the low address bits.

use warpjit_ir::{AtomicOp, MemAccess, Scalar, Value};

use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::access;
use crate::gcn::{Inst, Op};

/// What an atomic does to a word of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) struct Rmw {
    pub(in crate::gcn::lift) op: AtomicOp,
    /// Subtraction is the addition of the negated operand.
    pub(in crate::gcn::lift) negate: bool,
    /// 64 bits.
    pub(in crate::gcn::lift) wide: bool,
}

impl Rmw {
    fn new(op: AtomicOp, wide: bool) -> Rmw {
        Rmw { op, negate: false, wide }
    }

    /// Bytes of the word.
    pub(in crate::gcn::lift) fn bytes(self) -> u8 {
        if self.wide { 8 } else { 4 }
    }

    /// Dwords of the word.
    pub(in crate::gcn::lift) fn words(self) -> usize {
        usize::from(self.bytes() / 4)
    }
}

/// The atomics of flat and global memory, buffers, images and the scalar cache by their names, which end alike.
pub(in crate::gcn::lift) fn memory_atomic(op: Op) -> Option<Rmw> {
    let (_, name) = op.name().split_once("_ATOMIC_")?;
    let (name, wide) = match name.strip_suffix("_X2") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let op = match name {
        "SWAP" => AtomicOp::Exch,
        "CMPSWAP" => AtomicOp::Cas,
        "ADD" => AtomicOp::Add,
        "SUB" => return Some(Rmw { negate: true, ..Rmw::new(AtomicOp::Add, wide) }),
        "RSUB" => AtomicOp::Rsub,
        "SMIN" => AtomicOp::Smin,
        "UMIN" => AtomicOp::Umin,
        "SMAX" => AtomicOp::Smax,
        "UMAX" => AtomicOp::Umax,
        "AND" => AtomicOp::And,
        "OR" => AtomicOp::Or,
        "XOR" => AtomicOp::Xor,
        "INC" => AtomicOp::Inc,
        "DEC" => AtomicOp::Dec,
        "FCMPSWAP" => AtomicOp::Fcas,
        "FMIN" => AtomicOp::Fmin,
        "FMAX" => AtomicOp::Fmax,
        _ => return None,
    };
    Some(Rmw::new(op, wide))
}

/// The atomics of LDS: `DS_` operation, then perhaps `RTN_` or `SRC2_`, then the type.
pub(in crate::gcn::lift) fn lds_atomic(op: Op) -> Option<Rmw> {
    let name = op.name().strip_prefix("DS_")?.replace("RTN_", "").replace("SRC2_", "");
    let (name, ty) = name.split_once('_')?;
    let wide = ty.ends_with("64");
    let op = match (name, ty.as_bytes().first()?) {
        ("ADD", b'F') => AtomicOp::Fadd,
        ("ADD", _) => AtomicOp::Add,
        ("SUB", _) => return Some(Rmw { negate: true, ..Rmw::new(AtomicOp::Add, wide) }),
        ("RSUB", _) => AtomicOp::Rsub,
        ("INC", _) => AtomicOp::Inc,
        ("DEC", _) => AtomicOp::Dec,
        ("MIN", b'I') => AtomicOp::Smin,
        ("MIN", b'U') => AtomicOp::Umin,
        ("MIN", b'F') => AtomicOp::Fmin,
        ("MAX", b'I') => AtomicOp::Smax,
        ("MAX", b'U') => AtomicOp::Umax,
        ("MAX", b'F') => AtomicOp::Fmax,
        ("AND", _) => AtomicOp::And,
        ("OR", _) => AtomicOp::Or,
        ("XOR", _) => AtomicOp::Xor,
        ("MSKOR", _) => AtomicOp::Mskor,
        ("WRXCHG", _) => AtomicOp::Exch,
        ("CMPST", b'B') => AtomicOp::Cas,
        ("CMPST", b'F') => AtomicOp::Fcas,
        ("WRAP", _) => AtomicOp::Wrap,
        _ => return None,
    };
    Some(Rmw::new(op, wide))
}

/// One or two dwords as the operand of an atomic.
fn operand(e: &mut Emit<'_>, words: &[Value]) -> Value {
    match words {
        [low, high, ..] => e.wide(*low, *high),
        [word] => *word,
        [] => e.b.i32(0),
    }
}

/// The operands of a memory atomic in its data registers: what is compared with or combined, then the new value.
pub(in crate::gcn::lift) fn memory_operands(
    e: &mut Emit<'_>,
    inst: &Inst,
    rmw: Rmw,
) -> (Value, Option<Value>) {
    let Some(data) = inst.mem.data else { return (e.b.constant(scalar(rmw), 0), None) };
    let n = rmw.words();
    if rmw.op.takes_two() {
        let words = e.src_words(data, 2 * n);
        let (new, compare) = (operand(e, &words[..n]), operand(e, &words[n..]));
        return (compare, Some(new));
    }
    let words = e.src_words(data, n);
    (operand(e, &words), None)
}

/// The operands of an LDS atomic.
pub(in crate::gcn::lift) fn lds_operands(e: &mut Emit<'_>, inst: &Inst, rmw: Rmw) -> (Value, Option<Value>) {
    let read = |e: &mut Emit<'_>, arg: Option<crate::gcn::Arg>| match arg {
        Some(arg) => {
            let words = e.src_words(arg, rmw.words());
            operand(e, &words)
        }
        None => e.b.constant(scalar(rmw), 0),
    };
    let first = read(e, inst.mem.data);
    let second = rmw.op.takes_two().then(|| read(e, inst.mem.data1));
    (first, second)
}

fn scalar(rmw: Rmw) -> Scalar {
    if rmw.wide { Scalar::I64 } else { Scalar::I32 }
}

/// Emits an atomic in a block of its own and gives the old value, 0 where `ok` does not hold or the instruction has no use for it. Values
/// made before are lost.
pub(in crate::gcn::lift) fn emit(
    e: &mut Emit<'_>,
    inst: &Inst,
    mem: MemAccess,
    rmw: Rmw,
    address: Value,
    (value, new): (Value, Option<Value>),
    ok: Option<Value>,
) -> Value {
    let value = if rmw.negate { e.b.ineg(value) } else { value };
    let guard = access::store_guard(e, mem.space, ok);
    let mut args = vec![address, guard, value];
    args.extend(new);
    let wanted = inst.dst.is_some();
    let old = e.cross(&args, |e, args| {
        let new = args.get(3).copied();
        let old = e.b.atomic(mem, rmw.op, args[0], args[2], new, Some(args[1]));
        // If the old value is not returned, the order of the lanes cannot be seen.
        if wanted { vec![access::or_zero(e, Some(args[1]), old)] } else { Vec::new() }
    });
    old.first().copied().unwrap_or_else(|| {
        let zero = e.b.constant(scalar(rmw), 0);
        e.b.splat(zero)
    })
}

/// Writes the old value to the destination of an atomic that has one.
pub(in crate::gcn::lift) fn write_old(e: &mut Emit<'_>, inst: &Inst, old: Value) {
    if inst.dst.is_none() {
        return;
    }
    let mut words = access::dwords(e, &[old]);
    if inst.mem.tfe {
        words.push(e.b.i32(0));
    }
    e.set_dst_words(inst, &words);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_atomic_is_known() {
        for &op in Op::ALL {
            let name = op.name();
            assert_eq!(memory_atomic(op).is_some(), name.contains("_ATOMIC_"), "{name}");
            if name.starts_with("DS_") {
                let atomic = name.contains("_RTN_") || name.contains("_SRC2_");
                // Those of more than one word, and plain moves between words.
                let other = ["CONDXCHG32", "WRXCHG2", "WRITE_SRC2"].iter().any(|s| name.contains(s));
                assert!(!atomic || other || lds_atomic(op).is_some(), "{name}");
            }
        }
        let of = |op| lds_atomic(op).map(|rmw| (rmw.op, rmw.wide));
        assert_eq!(of(Op::DS_MIN_RTN_I64), Some((AtomicOp::Smin, true)));
        assert_eq!(of(Op::DS_CMPST_F32), Some((AtomicOp::Fcas, false)));
        assert_eq!(of(Op::DS_ADD_SRC2_F32), Some((AtomicOp::Fadd, false)));
        assert_eq!(of(Op::DS_READ_B32), None);
        assert_eq!(of(Op::DS_WRITE_B32), None);
        assert_eq!(memory_atomic(Op::BUFFER_ATOMIC_UMAX_X2), Some(Rmw::new(AtomicOp::Umax, true)));
    }
}
