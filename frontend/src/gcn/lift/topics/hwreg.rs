//! Lifts accesses to hardware registers, and the instructions that set MODE (docs/hardware/gcn.md section 4).

use warpjit_ir::{Builtin, Value};

use crate::gcn::lift::analysis::effects;
use crate::gcn::lift::analysis::statics::{MODE_INDEX, MODE_SKIP};
use crate::gcn::lift::emit::Emit;
use crate::gcn::{Arg, Generation, Inst, Op, Operand};

/// MODE.
pub(in crate::gcn::lift) const MODE: u32 = 1;
const STATUS: u32 = 2;
const HW_ID: u32 = 4;
const GPR_ALLOC: u32 = 5;
const LDS_ALLOC: u32 = 6;
const SH_MEM_BASES: u32 = 15;

/// Bits of STATUS: SCC, EXECZ, VCCZ.
const FLAG_PLACES: [u32; 3] = [0, 9, 10];

/// The part of a hardware register that `s_getreg` and `s_setreg` name.
#[derive(Clone, Copy, Debug)]
pub(in crate::gcn::lift) struct Field {
    pub(in crate::gcn::lift) id: u32,
    pub(in crate::gcn::lift) offset: u32,
    pub(in crate::gcn::lift) bits: u32,
}

impl Field {
    pub(in crate::gcn::lift) fn of(simm16: u16) -> Field {
        let word = u32::from(simm16);
        Field { id: word & 63, offset: word >> 6 & 31, bits: (word >> 11) + 1 }
    }

    /// Which bits of the register these are; what would be beyond bit 31 is not there.
    pub(in crate::gcn::lift) fn mask(self) -> u32 {
        (((1u64 << self.bits) - 1) << self.offset) as u32
    }
}

/// What `s_setreg_b32` writes.
pub(in crate::gcn::lift) fn setreg_source(inst: &Inst) -> Arg {
    let register = |arg: &&Arg| arg.operand.scalar_code().is_some();
    inst.srcs().iter().find(register).copied().or(inst.dst).unwrap_or(inst.src(0))
}

/// Which operands `s_set_gpr_idx_on` is for.
pub(in crate::gcn::lift) fn index_operands(inst: &Inst) -> u8 {
    match inst.src(1).operand {
        Operand::Int(operands) if inst.srcs().len() > 1 => operands as u8 & 15,
        // The field of the second source holds the bits themselves.
        _ => (inst.raw >> 8 & 15) as u8,
    }
}

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
    e.set_scalar(crate::gcn::lift::emit::slots::M0, m0);
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
            for (flag, place) in [Operand::Scc, Operand::Execz, Operand::Vccz].into_iter().zip(FLAG_PLACES) {
                if field.mask() >> place & 1 != 0 {
                    let bit = match flag {
                        Operand::Scc => {
                            let scc = e.scc();
                            e.bit(scc)
                        }
                        Operand::Execz => e.zero_flag(1),
                        _ => e.zero_flag(0),
                    };
                    let bit = e.shl_const(bit, place);
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
            let vgprs = e.options.vgprs.div_ceil(4).saturating_sub(1) & 63;
            let unit = if e.generation == Generation::Gfx9 { 16 } else { 8 };
            let sgprs = e.options.sgprs.div_ceil(unit).saturating_sub(1) & 15;
            e.b.i32(vgprs << 8 | sgprs << 24)
        }
        // LDS_BASE 7:0, LDS_SIZE 20:12 in 64 dwords.
        LDS_ALLOC => e.core.b.i32((e.options.lds_bytes.div_ceil(256) & 0x1ff) << 12),
        SH_MEM_BASES if e.generation == Generation::Gfx9 => {
            let (shared, private) = (e.options.shared_aperture, e.options.private_aperture);
            e.b.i32(shared & 0xffff_0000 | private >> 16)
        }
        _ => e.b.i32(0),
    }
}

/// Whether the part of STATUS that an instruction reads holds SCC, EXECZ or VCCZ: these are not among its operands.
pub(in crate::gcn::lift) fn reads_flag(inst: &Inst, flag: Operand) -> bool {
    let field = Field::of(inst.simm16);
    let place = match flag {
        Operand::Scc => FLAG_PLACES[0],
        Operand::Execz => FLAG_PLACES[1],
        _ => FLAG_PLACES[2],
    };
    let reads = matches!(inst.op, Op::S_GETREG_B32 | Op::S_GETREG_REGRD_B32) && field.id == STATUS;
    reads && field.mask() >> place & 1 != 0
}

/// Whether VSKIP leaves an instruction out where it is on.
pub(in crate::gcn::lift) fn is_skipped(inst: &Inst) -> bool {
    effects::is_vector(inst)
}
