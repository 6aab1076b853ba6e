//! Lifts video instructions: each becomes a call of a pure function, whose arguments are the instruction's form and three
//! operands.

use warpjit_ir::{GuestFault, Value};

use super::int::compare;
use super::special::write_test;
use crate::fermi::lift::emit::Emit;
use crate::fermi::numeric::pure;
use crate::fermi::numeric::video::{Form, Op as Action, Signs};
use crate::fermi::{AddOp, Inst, Op, Operand, Select, Type};

/// Emits a video instruction.
pub(in crate::fermi::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) {
    if !inst.op.is_video() {
        return e.fault(GuestFault::Illegal);
    }
    if inst.op == Op::VSetP {
        return set_predicates(e, inst);
    }
    let (a, b, c) = (e.src(inst, 0), e.src(inst, 1), e.src(inst, 2));
    let form = form(inst);
    let code = if inst.op == Op::VSel {
        let [first, second] = [Action::First, Action::Second].map(|op| e.b.i64(Form { op, ..form }.encode()));
        let holds = e.pred(inst.mods.pred);
        e.b.select(holds, first, second)
    } else {
        e.b.i64(form.encode())
    };
    let result = e.b.call_pure(&pure::VIDEO, &[code, a, b, c]);
    e.finish(inst, result);
}

fn signed(inst: &Inst, n: usize) -> bool {
    inst.src(n).and_then(|src| src.ty).is_some_and(Type::is_signed)
}

fn form(inst: &Inst) -> Form {
    let mods = &inst.mods;
    let op = match (inst.op, mods.add) {
        (Op::VAdd, AddOp::Add) => Action::Add,
        (Op::VAdd, AddOp::Sub) => Action::Sub,
        (Op::VAdd, AddOp::Subr) => Action::Subr,
        (Op::VAdd, AddOp::AddPo) => Action::AddPo,
        (Op::VAvg, _) => Action::Avg,
        (Op::VMin, _) => Action::Min,
        (Op::VMax, _) => Action::Max,
        (Op::VAbsDiff, _) => Action::AbsDiff,
        (Op::VSet, _) => Action::Set,
        (Op::VShr, _) => Action::Shr,
        (Op::VShl, _) => Action::Shl,
        (Op::VMad, _) => Action::Mad,
        _ => Action::First,
    };
    Form {
        op,
        lanes: inst.video_lanes,
        signs: Signs {
            to: mods.ty.is_some_and(Type::is_signed),
            a: signed(inst, 0),
            // Counts of shifts have no sign.
            b: signed(inst, 1) && !matches!(inst.op, Op::VShr | Op::VShl),
        },
        first: parts(inst, 0),
        second: parts(inst, 1),
        saturate: mods.sat,
        merge: mods.merge,
        mask: mods.lane_mask,
        compare: mods.compare,
        wrap: mods.wrap,
        join: mods.add as u8,
        shift: mods.shift_right,
    }
}

/// Which parts a source selects, as [`Form`] counts them.
fn parts(inst: &Inst, n: usize) -> [u8; 4] {
    const ALL: u8 = 6;
    let Some(src) = inst.src(n) else { return [ALL; 4] };
    match src.select {
        Select::Bytes(parts) => parts,
        Select::Halves([first, second]) => [first, second, 0, 0],
        Select::Byte(part) => [part, 0, 0, 0],
        Select::Half(part) => [4 + part, 0, 0, 0],
        Select::All => [ALL, 0, 0, 0],
    }
}

/// A scalar comparison; of two numbers of different signs the exact values count.
fn set_predicates(e: &mut Emit<'_>, inst: &Inst) {
    let [a, b] = [0, 1].map(|n| {
        let value = e.src(inst, n);
        let sign = signed(inst, n);
        let value = part_of(e, inst, n, value, sign);
        super::int::widen(e, value, sign)
    });
    let holds = compare(e, inst.mods.compare, true, a, b);
    write_test(e, inst, holds);
}

fn part_of(e: &mut Emit<'_>, inst: &Inst, n: usize, value: Value, sign: bool) -> Value {
    let (shift, bits) = match inst.src(n).map(|src| (src.select, src.operand)) {
        Some((_, Operand::Imm(_))) | None => return value,
        Some((Select::Byte(n), _)) => (8 * u32::from(n), 8),
        Some((Select::Half(n), _)) => (16 * u32::from(n), 16),
        _ => return value,
    };
    let down = e.ushr_const(value, shift);
    if sign { e.sext(down, bits) } else { e.and_const(down, u32::MAX >> (32 - bits)) }
}
