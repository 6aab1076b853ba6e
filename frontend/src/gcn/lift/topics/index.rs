//! Lifts `v_movrel*`: moves of vector registers whose numbers are computed with M0 (docs/hardware/gcn.md section 5).

use crate::gcn::lift::emit::Emit;
use crate::gcn::{Inst, Op, Operand};

/// `v_movrel*`.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let number = |operand: Option<Operand>| operand.and_then(Operand::vgpr).unwrap_or(0).into();
    let from = number(Some(inst.src(0).operand));
    let to = number(inst.dst.map(|dst| dst.operand));
    match inst.op {
        Op::V_MOVRELS_B32 => {
            let m0 = e.m0();
            let value = e.vgpr_at(from, m0);
            e.set_dst32(inst, value);
        }
        Op::V_MOVRELD_B32 => {
            let value = e.src32_modified(inst, 0);
            let m0 = e.m0();
            e.set_vgpr_at(to, m0, value);
        }
        Op::V_MOVRELSD_B32 => {
            let m0 = e.m0();
            let value = e.vgpr_at(from, m0);
            e.set_vgpr_at(to, m0, value);
        }
        _ => return false,
    }
    true
}
