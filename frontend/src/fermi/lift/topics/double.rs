//! Lifts f64 arithmetic: IR operations for round-to-nearest, pure functions for other directions. f64 denormals are never
//! flushed.

use warpjit_ir::{GuestFault, Opcode, PureFn, Scalar, Value};

use super::float::{is_nearest, modified};
use super::int::pick;
use super::special::write_test;
use crate::fermi::lift::emit::Emit;
use crate::fermi::numeric::{self, pure};
use crate::fermi::{Inst, Op};
use crate::simt::float_compare;

/// Emits one f64 instruction.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    let result = match inst.op {
        Op::DSet | Op::DSetP => {
            let (a, b) = (source(e, inst, 0), source(e, inst, 1));
            let holds = float_compare(&mut e.b, inst.mods.compare, a, b, false);
            return write_test(e, inst, holds);
        }
        Op::DMinMax => {
            let (a, b) = (source(e, inst, 0), source(e, inst, 1));
            let result = pick(e, inst, |e, min| if min { e.b.fmin(a, b) } else { e.b.fmax(a, b) });
            e.b.fcanon(result, numeric::NAN64)
        }
        Op::DAdd => arithmetic(e, inst, Opcode::Fadd, &pure::ADD64, 2),
        Op::DMul => arithmetic(e, inst, Opcode::Fmul, &pure::MUL64, 2),
        Op::DFma => arithmetic(e, inst, Opcode::Fma, &pure::FMA64, 3),
        _ => return e.fault(GuestFault::Illegal),
    };
    e.write64(inst, result);
    if inst.cc_out {
        let flags = e.float_flags(result, false);
        e.set_flags(flags);
    }
}

/// Source `n` as f64, modifiers applied.
pub(in crate::fermi::lift) fn source(e: &mut Emit<'_>, inst: &Inst, n: usize) -> Value {
    let bits = e.src64(inst, n);
    let value = e.b.bitcast(bits, Scalar::F64);
    modified(e, inst.src(n), value)
}

fn arithmetic(e: &mut Emit<'_>, inst: &Inst, op: Opcode, exact: &'static PureFn, count: usize) -> Value {
    let mut args: Vec<Value> = (0..count).map(|n| source(e, inst, n)).collect();
    if inst.mods.neg {
        args[0] = e.b.fneg(args[0]);
    }
    if is_nearest(inst) {
        let value = e.b.float(op, &args, false);
        return e.b.fcanon(value, numeric::NAN64);
    }
    let field = e.b.i32(inst.mods.rounding.unwrap_or_default().field());
    args.insert(0, field);
    e.b.call_pure(exact, &args)
}
