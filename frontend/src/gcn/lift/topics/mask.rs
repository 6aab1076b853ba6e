//! Lifts 64-bit logic of the scalar unit: on numbers, or lane by lane on masks.

use warpjit_ir::{IntCC, Value};

use crate::gcn::lift::analysis::effects::{is_exec_op, is_flexible};
use crate::gcn::lift::analysis::logic::logic_of;
use crate::gcn::lift::analysis::view::{HI, LANE, LO};
use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::logic::logic;
use crate::gcn::lift::slots::EXEC;
use crate::gcn::{Inst, Op};

/// 32-bit logic and the operations that have two views.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    if is_flexible(inst.op) {
        let (truths, result) = e.truths_of(inst);
        // They go to their slots before anything looks at other lanes.
        e.set_truths(truths);
        if is_exec_op(inst.op) {
            with_exec(e, inst, result);
        } else if e.own.in_lanes {
            in_lanes(e, inst, result);
        } else {
            as_numbers(e, inst);
        }
    } else if let Some(op) = logic_of(inst.op) {
        let (a, b) = (e.src32(inst, 0), e.src32(inst, 1));
        let value = logic(e, op, a, b);
        e.set_dst32(inst, value);
        e.set_scc_nonzero(value);
    } else {
        return false;
    }
    true
}

fn as_numbers(e: &mut Emit<'_>, inst: &Inst) {
    match inst.op {
        Op::S_MOV_B64 => {
            let value = e.src64(inst, 0);
            e.set_dst64(inst, value);
            constant_mask(e, inst, value);
        }
        Op::S_CMOV_B64 => {
            let scc = e.scc();
            let new = e.src64(inst, 0);
            let Some(dst) = inst.dst else { return };
            let old = e.read64(dst);
            let value = e.b.select(scc, new, old);
            e.set_dst64(inst, value);
        }
        Op::S_CSELECT_B64 => {
            let scc = e.scc();
            let (a, b) = (e.src64(inst, 0), e.src64(inst, 1));
            let value = e.b.select(scc, a, b);
            e.set_dst64(inst, value);
        }
        Op::S_CMP_EQ_U64 | Op::S_CMP_LG_U64 => {
            let (a, b) = (e.src64(inst, 0), e.src64(inst, 1));
            let cc = if inst.op == Op::S_CMP_EQ_U64 { IntCC::Eq } else { IntCC::Ne };
            let scc = e.b.icmp(cc, a, b);
            e.set_scc(scc);
        }
        op => {
            let a = e.src64(inst, 0);
            let value = match logic_of(op) {
                Some(op) => {
                    let b = e.src64(inst, 1);
                    logic(e, op, a, b)
                }
                // S_NOT_B64.
                None => e.b.inot(a),
            };
            e.set_dst64(inst, value);
            e.set_scc_nonzero(value);
        }
    }
}

/// No lane or all lanes: where it is read as a mask, it costs nothing to have that too.
fn constant_mask(e: &mut Emit<'_>, inst: &Inst, value: Value) {
    let Some(code) = inst.dst.and_then(|dst| dst.operand.scalar_code()) else { return };
    let all = match e.b.func.as_const(value) {
        Some(0) => false,
        Some(u64::MAX) => true,
        _ => return,
    };
    if e.own.live_after.get(code) & LANE != 0 && code & !1 != EXEC {
        let mask = e.b.bool(all);
        e.set_lanes(code, mask);
        e.own.views.set(code, LO | HI | LANE);
    }
}

fn in_lanes(e: &mut Emit<'_>, inst: &Inst, truth: Option<Value>) {
    let a = e.mask_src(inst.src(0));
    match inst.op {
        Op::S_MOV_B64 => set_mask(e, inst, a),
        Op::S_CMOV_B64 | Op::S_CSELECT_B64 => {
            let other = match inst.dst {
                Some(dst) if inst.op == Op::S_CMOV_B64 => e.mask_src(dst),
                _ => e.mask_src(inst.src(1)),
            };
            let scc = e.scc();
            let scc = e.b.splat(scc);
            let mask = e.blend(scc, a, other);
            set_mask(e, inst, mask);
        }
        Op::S_CMP_EQ_U64 | Op::S_CMP_LG_U64 => {
            let b = e.mask_src(inst.src(1));
            if e.own.scc_live {
                let differs = e.b.ixor(a, b);
                let differs = e.b.splat(differs);
                let any = e.vote_any(differs);
                let scc = if inst.op == Op::S_CMP_EQ_U64 { e.b.inot(any) } else { any };
                e.set_scc(scc);
            }
        }
        op => {
            let mask = match logic_of(op) {
                Some(op) => {
                    let b = e.mask_src(inst.src(1));
                    logic(e, op, a, b)
                }
                None => e.b.inot(a),
            };
            let mask = e.b.splat(mask);
            set_mask(e, inst, mask);
            set_scc_any(e, mask, truth);
        }
    }
}

fn set_mask(e: &mut Emit<'_>, inst: &Inst, mask: Value) {
    if let Some(code) = inst.dst.and_then(|dst| dst.operand.scalar_code()) {
        let mask = e.b.splat(mask);
        e.set_lanes(code, mask);
    }
}

/// SCC tells whether any lane is in the mask: its truth value if it has one. Else values made before are lost if it is read.
fn set_scc_any(e: &mut Emit<'_>, mask: Value, truth: Option<Value>) {
    if !e.own.scc_live {
        return;
    }
    let any = match truth {
        Some(truth) => truth,
        None => e.vote_any(mask),
    };
    e.set_scc(any);
}

/// The destination takes the old EXEC, and EXEC the result (of `wrexec` both take the result).
fn with_exec(e: &mut Emit<'_>, inst: &Inst, truth: Option<Value>) {
    let Some(op) = logic_of(inst.op) else { return };
    let (source, exec) = (e.mask_src(inst.src(0)), e.exec());
    let result = logic(e, op, source, exec);
    let result = e.b.splat(result);
    let to_dst = match inst.op {
        Op::S_ANDN1_WREXEC_B64 | Op::S_ANDN2_WREXEC_B64 => result,
        _ => exec,
    };
    set_mask(e, inst, to_dst);
    e.set_exec(result);
    set_scc_any(e, result, truth);
}
