//! GCN's hardware registers (MODE, STATUS, ...), which `s_getreg` and `s_setreg` access.
//!
//! In: an instruction. Out: the [`Field`] of a hardware register that its constant names, and what the analyses ask: which operand is
//! written to MODE, and whether the instruction reads SCC, EXECZ or VCCZ as bits of STATUS.

use crate::gcn::{Arg, Inst, Op, Operand};

/// MODE.
pub(in crate::gcn::lift) const MODE: u32 = 1;
pub(in crate::gcn::lift) const STATUS: u32 = 2;
pub(in crate::gcn::lift) const HW_ID: u32 = 4;
pub(in crate::gcn::lift) const GPR_ALLOC: u32 = 5;
pub(in crate::gcn::lift) const LDS_ALLOC: u32 = 6;
pub(in crate::gcn::lift) const SH_MEM_BASES: u32 = 15;

/// Bits of STATUS: SCC, EXECZ, VCCZ.
pub(in crate::gcn::lift) const FLAG_BITS: [u32; 3] = [0, 9, 10];

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

/// Whether the part of STATUS that an instruction reads holds SCC, EXECZ or VCCZ: these are not among its operands.
pub(in crate::gcn::lift) fn reads_flag(inst: &Inst, flag: Operand) -> bool {
    let field = Field::of(inst.simm16);
    let bit = match flag {
        Operand::Scc => FLAG_BITS[0],
        Operand::Execz => FLAG_BITS[1],
        _ => FLAG_BITS[2],
    };
    let reads = matches!(inst.op, Op::S_GETREG_B32 | Op::S_GETREG_REGRD_B32) && field.id == STATUS;
    reads && field.mask() >> bit & 1 != 0
}

/// Whether VSKIP leaves an instruction out where it is on.
pub(in crate::gcn::lift) fn is_skipped(inst: &Inst) -> bool {
    super::effects::is_vector(inst)
}
