//! Lifts accesses to hardware registers, and the instructions that set MODE (docs/hardware/gcn.md section 4).

use warpjit_ir::{Builtin, Value};

use crate::gcn::lift::analysis::hwreg::{
    FLAG_BITS, Field, GPR_ALLOC, HW_ID, LDS_ALLOC, MODE, SH_MEM_BASES, STATUS, index_operands, setreg_source,
};
use crate::gcn::lift::analysis::statics::{MODE_INDEX, MODE_SKIP};
use crate::gcn::lift::emit::Emit;
use crate::gcn::{Generation, Inst, Op, Operand};

/// Instructions about hardware registers.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    match inst.op {
        Op::S_GETREG_B32 | Op::S_GETREG_REGRD_B32 => {
            let field = Field::of(inst.simm16);
            let value = register(e, field);
            let value = e.ushr_const(value, field.offset);
            let value = e.extend(value, field.bits, false);
            e.set_dst32(inst, value);
        }
        Op::S_SETREG_B32 => {
            let value = e.read32(setreg_source(inst));
            set_register(e, Field::of(inst.simm16), value);
        }
        Op::S_SETREG_IMM32_B32 => {
            let value = e.b.i32(inst.literal.unwrap_or(0));
            set_register(e, Field::of(inst.simm16), value);
        }
        Op::S_SETVSKIP => {
            let (word, bit) = (e.src32(inst, 0), e.src32(inst, 1));
            let skip = e.b.ushr(word, bit);
            let skip = e.and_const(skip, 1);
            let skip = e.shl_const(skip, MODE_SKIP.trailing_zeros());
            set_mode(e, MODE_SKIP, skip);
        }
        Op::S_SET_GPR_IDX_ON => {
            let index = e.src32(inst, 0);
            let index = e.and_const(index, 0xff);
            let operands = e.b.i32(u32::from(index_operands(inst)) << 12);
            let low = e.b.ior(index, operands);
            set_m0(e, 0xf0ff, low);
            let on = e.b.i32(MODE_INDEX);
            set_mode(e, MODE_INDEX, on);
        }
        Op::S_SET_GPR_IDX_IDX => {
            let index = e.src32(inst, 0);
            let index = e.and_const(index, 0xff);
            set_m0(e, 0xff, index);
        }
        Op::S_SET_GPR_IDX_MODE => {
            let operands = e.b.i32(u32::from(inst.simm16 & 15) << 12);
            set_m0(e, 0xf000, operands);
        }
        Op::S_SET_GPR_IDX_OFF => {
            let off = e.b.i32(0);
            set_mode(e, MODE_INDEX, off);
        }
        _ => return false,
    }
    true
}

fn set_m0(e: &mut Emit<'_>, mask: u32, value: Value) {
    let m0 = e.m0();
    let m0 = e.and_const(m0, !mask);
    let m0 = e.b.ior(m0, value);
    e.set_scalar(crate::gcn::lift::slots::M0, m0);
}

/// Sets the bits of MODE in `mask` to those of `value`, which has no others.
fn set_mode(e: &mut Emit<'_>, mask: u32, value: Value) {
    let mode = e.mode_bits();
    let mode = e.and_const(mode, !mask);
    let mode = e.b.ior(mode, value);
    e.set_mode_bits(mode);
}

fn set_register(e: &mut Emit<'_>, field: Field, value: Value) {
    // All others tell about the hardware, or hold what only a trap handler looks at.
    if field.id != MODE {
        return;
    }
    let value = e.shl_const(value, field.offset);
    let value = e.and_const(value, field.mask());
    set_mode(e, field.mask(), value);
}

/// What a hardware register holds. Those that name the place where a wave runs are zero.
fn register(e: &mut Emit<'_>, field: Field) -> Value {
    match field.id {
        MODE => e.mode_bits(),
        // In a workgroup, valid.
        STATUS => {
            let mut status = e.b.i32(1 << 11 | 1 << 16);
            for (flag, at) in [Operand::Scc, Operand::Execz, Operand::Vccz].into_iter().zip(FLAG_BITS) {
                if field.mask() >> at & 1 != 0 {
                    let bit = match flag {
                        Operand::Scc => {
                            let scc = e.scc();
                            e.bit(scc)
                        }
                        Operand::Execz => e.zero_flag(1),
                        _ => e.zero_flag(0),
                    };
                    let bit = e.shl_const(bit, at);
                    status = e.b.ior(status, bit);
                }
            }
            status
        }
        // Wave slot 3:0.
        HW_ID => {
            let warp = e.builtin(Builtin::WarpId);
            e.and_const(warp, 15)
        }
        // VGPR_BASE 5:0, VGPR_SIZE 13:8 in fours, SGPR_BASE 21:16, SGPR_SIZE 27:24 in eights (1.4: sixteens).
        GPR_ALLOC => {
            let vgprs = e.own.options.vgprs.div_ceil(4).saturating_sub(1) & 63;
            let unit = if e.own.generation == Generation::Gfx9 { 16 } else { 8 };
            let sgprs = e.own.options.sgprs.div_ceil(unit).saturating_sub(1) & 15;
            e.b.i32(vgprs << 8 | sgprs << 24)
        }
        // LDS_BASE 7:0, LDS_SIZE 20:12 in 64 dwords.
        LDS_ALLOC => e.b.i32((e.own.options.lds_bytes.div_ceil(256) & 0x1ff) << 12),
        SH_MEM_BASES if e.own.generation == Generation::Gfx9 => {
            let (shared, private) = (e.own.options.shared_aperture, e.own.options.private_aperture);
            e.b.i32(shared & 0xffff_0000 | private >> 16)
        }
        _ => e.b.i32(0),
    }
}
