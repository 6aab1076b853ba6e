//! Lists which scalar registers, SCC and views an instruction reads and writes. The analyses of the lifter use it.

use super::slots::{EXEC, M0, SCALARS, SGPRS, VCC};
use super::views::{HI, LANE, LO, View};
use crate::gcn::{Arg, Format, Inst, Op, Operand};

/// What an instruction does to scalar registers, by pair: the even register, and the views or halves of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Effects {
    /// What it reads. `LANE` stands for the pair as a mask.
    pub(super) reads: Vec<(u8, View)>,
    /// What it certainly writes: the whole pair, as `LANE` (a mask) or `LO | HI`, or one half.
    pub(super) writes: Vec<(u8, View)>,
    /// It may write any of these.
    pub(super) may_write: Vec<u8>,
    /// Whether SCC is read.
    pub(super) reads_scc: bool,
    /// Whether SCC is written.
    pub(super) writes_scc: bool,
}

/// Registers of the control stack: four for each of eight entries.
pub(super) const STACK_REGISTERS: u8 = 32;

/// 64-bit operations that work on masks as well as on numbers. They do the former if a source is a mask, or with
/// EXEC.
pub(super) fn is_flexible(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        S_MOV_B64
            | S_CMOV_B64
            | S_NOT_B64
            | S_AND_B64
            | S_OR_B64
            | S_XOR_B64
            | S_ANDN2_B64
            | S_ORN2_B64
            | S_NAND_B64
            | S_NOR_B64
            | S_XNOR_B64
            | S_CSELECT_B64
            | S_CMP_EQ_U64
            | S_CMP_LG_U64
    ) || is_exec_op(op)
}

/// Operations that combine a mask with EXEC.
pub(super) fn is_exec_op(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        S_AND_SAVEEXEC_B64
            | S_OR_SAVEEXEC_B64
            | S_XOR_SAVEEXEC_B64
            | S_ANDN2_SAVEEXEC_B64
            | S_ORN2_SAVEEXEC_B64
            | S_NAND_SAVEEXEC_B64
            | S_NOR_SAVEEXEC_B64
            | S_XNOR_SAVEEXEC_B64
            | S_ANDN1_SAVEEXEC_B64
            | S_ORN1_SAVEEXEC_B64
            | S_ANDN1_WREXEC_B64
            | S_ANDN2_WREXEC_B64
    )
}

/// The source of a vector instruction that is a mask.
fn mask_source(op: Op) -> Option<usize> {
    use Op::*;
    match op {
        V_CNDMASK_B32 | V_ADDC_CO_U32 | V_SUBB_CO_U32 | V_SUBBREV_CO_U32 => Some(2),
        V_DIV_FMAS_F32 | V_DIV_FMAS_F64 => Some(3),
        _ => None,
    }
}

/// Whether a compare writes EXEC too.
pub(super) fn is_cmpx(op: Op) -> bool {
    let name = op.name();
    name.starts_with("V_CMPX_") || name.starts_with("V_CMPSX_")
}

fn is_scalar_format(format: Format) -> bool {
    matches!(format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Smem)
}

/// Whether it wants something of all lanes from LDS or a vector register: scalar instructions and lane numbers cannot.
pub(super) fn has_varying_scalar(inst: &Inst) -> bool {
    let varying = |arg: &Arg| matches!(arg.operand, Operand::LdsDirect | Operand::Vgpr(_));
    let names_lane = matches!(
        inst.op,
        Op::V_READLANE_B32 | Op::V_WRITELANE_B32 | Op::V_READLANE_REGRD_B32 | Op::V_WRITELANE_REGWR_B32
    );
    is_scalar_format(inst.format) && inst.srcs().iter().any(varying) || names_lane && varying(&inst.src(1))
}

/// Whether an instruction without active lanes does nothing, but for what it writes to scalar registers ([`Effects`]).
pub(super) fn is_for_active_lanes(inst: &Inst) -> bool {
    use Op::*;
    let name = inst.op.name();
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    let plain = inst.dpp.is_none() && !has_varying_scalar(inst);
    match inst.format {
        Format::Sopp => matches!(inst.op, S_NOP | S_WAITCNT),
        // Arithmetic; what sets MODE or goes elsewhere is more than that.
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk => {
            plain
                && !inst.ends_block_for_all()
                && !begins(&["S_CBRANCH", "S_SET", "S_GETREG", "S_MOVREL", "S_RFE", "S_CALL", "S_GETPC"])
        }
        Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p | Format::Vopc => {
            let names_lane = begins(&["V_READ", "V_WRITELANE", "V_INTERP", "V_SCREEN"]);
            plain && !names_lane && !is_cmpx(inst.op)
        }
        Format::Ds => !inst.mem.gds && begins(&["DS_READ", "DS_WRITE_B", "DS_WRITE2"]),
        Format::Flat => begins(&["FLAT_LOAD", "FLAT_STORE"]),
        Format::Mubuf => !inst.mem.lds && begins(&["BUFFER_LOAD", "BUFFER_STORE"]),
        _ => false,
    }
}

/// Whether a vector unit executes it: what VSKIP leaves out.
pub(super) fn is_vector(inst: &Inst) -> bool {
    !is_scalar_format(inst.format)
}

/// Whether a flexible instruction names EXEC.
pub(super) fn names_exec(inst: &Inst) -> bool {
    let is_exec = |arg: &Arg| matches!(arg.operand, Operand::Exec(_));
    inst.srcs().iter().any(is_exec) || inst.dst.as_ref().is_some_and(is_exec) || is_exec_op(inst.op)
}

impl Effects {
    /// The effects of an instruction; `in_lanes`: it is a flexible one and works on masks.
    pub(super) fn of(inst: &Inst, in_lanes: bool) -> Effects {
        let mut fx =
            Effects { reads_scc: reads_scc(inst), writes_scc: writes_scc(inst.op), ..Effects::default() };
        let scalar = is_scalar_format(inst.format);
        for (i, src) in inst.srcs().iter().enumerate() {
            fx.read(*src, in_lanes || (!scalar && mask_source(inst.op) == Some(i)));
        }
        let mem = &inst.mem;
        let of_memory = [mem.addr, mem.data, mem.data1, mem.base, mem.sampler, mem.soffset, mem.saddr];
        of_memory.into_iter().flatten().for_each(|arg| fx.read(arg, false));
        let reads_lane = matches!(inst.op, Op::V_READLANE_B32 | Op::V_READFIRSTLANE_B32);
        if let Some(dst) = inst.dst {
            if reads_dst(inst.op) {
                fx.read(dst, in_lanes);
            }
            // Which register a relative move writes M0 says.
            let relative = matches!(inst.op, Op::S_MOVRELD_B32 | Op::S_MOVRELD_B64);
            if !is_source_only(inst.op) && !relative {
                fx.write(dst, in_lanes || !scalar && !reads_lane);
            }
        }
        if let Some(sdst) = inst.sdst {
            fx.write(sdst, in_lanes || !scalar);
        }
        fx.special(inst);
        fx
    }

    fn special(&mut self, inst: &Inst) {
        match inst.op {
            Op::S_CBRANCH_VCCZ | Op::S_CBRANCH_VCCNZ => self.reads.push((VCC, LANE)),
            Op::S_SET_GPR_IDX_ON | Op::S_SET_GPR_IDX_IDX | Op::S_SET_GPR_IDX_MODE => {
                self.reads.push((M0, LO));
                self.writes.push((M0, LO));
            }
            Op::S_CBRANCH_G_FORK | Op::S_CBRANCH_I_FORK => {
                self.any(0, STACK_REGISTERS, true);
                // The condition is a mask; here it is read as a number as well, which does no harm.
                if let Some(code) = fork_condition(inst).operand.scalar_code() {
                    self.reads.push((code & !1, LANE));
                }
                self.writes.push((EXEC, LANE));
            }
            Op::S_CBRANCH_JOIN => {
                self.any(0, STACK_REGISTERS, false);
                self.writes.push((EXEC, LANE));
            }
            Op::S_MOVRELS_B32 | Op::S_MOVRELS_B64 => {
                // What is read where M0 names no register.
                self.reads.push((0, LO | HI));
                let from = inst.src(0).operand.scalar_code().unwrap_or(0);
                self.any(from, SGPRS.max(from | 1), false);
            }
            Op::S_MOVRELD_B32 | Op::S_MOVRELD_B64 => {
                let from = inst.dst.and_then(|dst| dst.operand.scalar_code()).unwrap_or(0);
                self.any(from, SGPRS.max(from | 1), true);
            }
            Op::S_GETREG_B32 | Op::S_GETREG_REGRD_B32 if super::hwreg::reads_flag(inst, Operand::Vccz) => {
                self.reads.push((VCC, LANE));
            }
            op if is_exec_op(op) || is_cmpx(op) => self.writes.push((EXEC, LANE)),
            _ => {}
        }
    }

    fn any(&mut self, from: u8, to: u8, written: bool) {
        for code in (from & !1..to).step_by(2) {
            self.reads.push((code, LO | HI));
            if written {
                self.may_write.push(code);
            }
        }
    }

    fn read(&mut self, arg: Arg, as_mask: bool) {
        match arg.operand {
            Operand::Vccz => self.reads.push((VCC, LANE)),
            _ => self.reads.extend(parts(arg, as_mask)),
        }
    }

    fn write(&mut self, arg: Arg, as_mask: bool) {
        self.writes.extend(parts(arg, as_mask));
    }
}

/// The condition of a fork.
pub(super) fn fork_condition(inst: &Inst) -> Arg {
    inst.srcs().first().copied().or(inst.dst).unwrap_or(inst.src(0))
}

/// The pairs that an operand is made of.
fn parts(arg: Arg, as_mask: bool) -> Vec<(u8, View)> {
    let Some(first) = arg.operand.scalar_code() else { return Vec::new() };
    if as_mask {
        return vec![(first & !1, LANE)];
    }
    let first = if arg.words > 1 { first & !1 } else { first };
    let codes = first..first.saturating_add(arg.words.max(1)).min(SCALARS);
    let mut parts: Vec<(u8, View)> = Vec::new();
    for code in codes {
        let half = if code & 1 == 0 { LO } else { HI };
        match parts.last_mut() {
            Some((pair, view)) if *pair == code & !1 => *view |= half,
            _ => parts.push((code & !1, half)),
        }
    }
    parts
}

/// Whether what stands in the destination's place is read only.
fn is_source_only(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        S_CMPK_EQ_I32
            | S_CMPK_LG_I32
            | S_CMPK_GT_I32
            | S_CMPK_GE_I32
            | S_CMPK_LT_I32
            | S_CMPK_LE_I32
            | S_CMPK_EQ_U32
            | S_CMPK_LG_U32
            | S_CMPK_GT_U32
            | S_CMPK_GE_U32
            | S_CMPK_LT_U32
            | S_CMPK_LE_U32
            | S_SETREG_B32
            | S_SETREG_IMM32_B32
            | S_CBRANCH_I_FORK
    )
}

/// Whether the destination (or what stands in its place) is read as well.
fn reads_dst(op: Op) -> bool {
    use Op::*;
    is_source_only(op)
        || matches!(
            op,
            S_CMOV_B32
                | S_CMOV_B64
                | S_CMOVK_I32
                | S_ADDK_I32
                | S_MULK_I32
                | S_BITSET0_B32
                | S_BITSET0_B64
                | S_BITSET1_B32
                | S_BITSET1_B64
        )
}

/// Whether SCC is read.
fn reads_scc(inst: &Inst) -> bool {
    use Op::*;
    matches!(
        inst.op,
        S_CSELECT_B32
            | S_CSELECT_B64
            | S_CMOV_B32
            | S_CMOV_B64
            | S_CMOVK_I32
            | S_ADDC_U32
            | S_SUBB_U32
            | S_CBRANCH_SCC0
            | S_CBRANCH_SCC1
    ) || inst.srcs().iter().any(|src| src.operand == Operand::Scc)
        || super::hwreg::reads_flag(inst, Operand::Scc)
}

/// Whether SCC is written (docs/hardware/gcn.md section 5).
fn writes_scc(op: Op) -> bool {
    use Op::*;
    is_exec_op(op)
        || matches!(
            op,
            S_ADD_U32
                | S_SUB_U32
                | S_ADD_I32
                | S_SUB_I32
                | S_ADDC_U32
                | S_SUBB_U32
                | S_MIN_I32
                | S_MIN_U32
                | S_MAX_I32
                | S_MAX_U32
                | S_AND_B32
                | S_AND_B64
                | S_OR_B32
                | S_OR_B64
                | S_XOR_B32
                | S_XOR_B64
                | S_ANDN2_B32
                | S_ANDN2_B64
                | S_ORN2_B32
                | S_ORN2_B64
                | S_NAND_B32
                | S_NAND_B64
                | S_NOR_B32
                | S_NOR_B64
                | S_XNOR_B32
                | S_XNOR_B64
                | S_LSHL_B32
                | S_LSHL_B64
                | S_LSHR_B32
                | S_LSHR_B64
                | S_ASHR_I32
                | S_ASHR_I64
                | S_BFE_U32
                | S_BFE_I32
                | S_BFE_U64
                | S_BFE_I64
                | S_ABSDIFF_I32
                | S_LSHL1_ADD_U32
                | S_LSHL2_ADD_U32
                | S_LSHL3_ADD_U32
                | S_LSHL4_ADD_U32
                | S_ADDK_I32
                | S_NOT_B32
                | S_NOT_B64
                | S_WQM_B32
                | S_WQM_B64
                | S_BCNT0_I32_B32
                | S_BCNT0_I32_B64
                | S_BCNT1_I32_B32
                | S_BCNT1_I32_B64
                | S_QUADMASK_B32
                | S_QUADMASK_B64
                | S_ABS_I32
                | S_CMP_EQ_I32
                | S_CMP_LG_I32
                | S_CMP_GT_I32
                | S_CMP_GE_I32
                | S_CMP_LT_I32
                | S_CMP_LE_I32
                | S_CMP_EQ_U32
                | S_CMP_LG_U32
                | S_CMP_GT_U32
                | S_CMP_GE_U32
                | S_CMP_LT_U32
                | S_CMP_LE_U32
                | S_BITCMP0_B32
                | S_BITCMP1_B32
                | S_BITCMP0_B64
                | S_BITCMP1_B64
                | S_CMP_EQ_U64
                | S_CMP_LG_U64
                | S_CMPK_EQ_I32
                | S_CMPK_LG_I32
                | S_CMPK_GT_I32
                | S_CMPK_GE_I32
                | S_CMPK_LT_I32
                | S_CMPK_LE_I32
                | S_CMPK_EQ_U32
                | S_CMPK_LG_U32
                | S_CMPK_GT_U32
                | S_CMPK_GE_U32
                | S_CMPK_LT_U32
                | S_CMPK_LE_U32
        )
}
