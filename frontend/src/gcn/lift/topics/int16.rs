//! Lifts integer arithmetic of the vector unit on 16 bits. Results have zeros above, or keep what was there (`Emit::set_dst16`).

use super::int::{median, min_max_opcode, three};
use crate::gcn::lift::emit::Emit;
use crate::gcn::{Inst, Op};

/// Emits an instruction of this file's; false for others.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    let signed = matches!(
        inst.op,
        Op::V_MIN_I16
            | Op::V_MAX_I16
            | Op::V_MIN3_I16
            | Op::V_MAX3_I16
            | Op::V_MED3_I16
            | Op::V_ASHRREV_I16
            | Op::V_ADD_I16
            | Op::V_SUB_I16
            | Op::V_MAD_I16
            | Op::V_MAD_LEGACY_I16
    );
    let count_first = matches!(inst.op, Op::V_LSHLREV_B16 | Op::V_LSHRREV_B16 | Op::V_ASHRREV_I16);
    let mut s =
        |n: usize| if signed && !(count_first && n == 0) { e.src_i16(inst, n) } else { e.src16(inst, n) };
    let value = match inst.op {
        Op::V_ADD_U16 | Op::V_ADD_I16 => {
            let (a, b) = (s(0), s(1));
            e.b.iadd(a, b)
        }
        Op::V_SUB_U16 | Op::V_SUB_I16 => {
            let (a, b) = (s(0), s(1));
            e.b.isub(a, b)
        }
        Op::V_SUBREV_U16 => {
            let (a, b) = (s(0), s(1));
            e.b.isub(b, a)
        }
        Op::V_MUL_LO_U16 => {
            let (a, b) = (s(0), s(1));
            e.b.imul(a, b)
        }
        Op::V_MAD_U16 | Op::V_MAD_LEGACY_U16 | Op::V_MAD_I16 | Op::V_MAD_LEGACY_I16 => {
            let (a, b, c) = (s(0), s(1), s(2));
            let product = e.b.imul(a, b);
            if inst.saturates() && !signed {
                // The sum of an unsigned product of halves and a half fits.
                let sum = e.b.iadd(product, c);
                let limit = e.b.i32(0xffff);
                let sum = e.b.umin(sum, limit);
                e.set_dst16(inst, sum);
                return true;
            }
            e.b.iadd(product, c)
        }
        Op::V_LSHLREV_B16 | Op::V_LSHRREV_B16 | Op::V_ASHRREV_I16 => {
            let (count, a) = (s(0), s(1));
            let count = e.and_const(count, 15);
            match inst.op {
                Op::V_LSHLREV_B16 => e.b.ishl(a, count),
                Op::V_LSHRREV_B16 => e.b.ushr(a, count),
                _ => e.b.sshr(a, count),
            }
        }
        Op::V_MIN_I16 | Op::V_MAX_I16 | Op::V_MIN_U16 | Op::V_MAX_U16 => {
            let (a, b) = (s(0), s(1));
            e.b.same(min_max_opcode(inst.op), &[a, b], warpjit_ir::Imm::None)
        }
        Op::V_MIN3_I16 | Op::V_MAX3_I16 | Op::V_MIN3_U16 | Op::V_MAX3_U16 => {
            let (a, b, c) = (s(0), s(1), s(2));
            three(e, min_max_opcode(inst.op), a, b, c)
        }
        Op::V_MED3_I16 | Op::V_MED3_U16 => {
            let (a, b, c) = (s(0), s(1), s(2));
            median(e, signed, a, b, c)
        }
        _ => return false,
    };
    let value = if !inst.saturates() {
        value
    } else {
        match inst.op {
            Op::V_ADD_U16 => {
                let limit = e.b.i32(0xffff);
                e.b.umin(value, limit)
            }
            Op::V_SUB_U16 | Op::V_SUBREV_U16 => {
                let zero = e.b.i32(0);
                e.b.smax(value, zero)
            }
            _ if signed => e.clamp_i16(value),
            _ => value,
        }
    };
    e.set_dst16(inst, value);
    true
}
