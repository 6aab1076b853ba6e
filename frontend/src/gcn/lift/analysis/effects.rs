//! Lists which scalar registers, SCC and views an instruction reads and writes. The analyses of the lifter use it.
//!
//! What comes in is the decoded instruction, whose operands are named in its text, and the row of its operation
//! ([`rows`](crate::gcn::rows)), which says what it uses besides. No operation is listed here: what an operation reads
//! and writes is said in its row.

use super::hwreg;
use super::view::{HI, LANE, LO, View};
use crate::gcn::lift::slots::{EXEC, M0, SCALARS, SGPRS, VCC};
use crate::gcn::rows::{Property, Registers};
use crate::gcn::table::meaning;
use crate::gcn::{Arg, Format, Inst, Op, Operand, Row, Topic};

/// What an instruction does to scalar registers, by pair: the even register, and the views or halves of it.
#[derive(Clone, Debug, Default)]
pub(in crate::gcn::lift) struct Effects {
    /// What it reads. `LANE` stands for the pair as a mask.
    pub(in crate::gcn::lift) reads: Vec<(u8, View)>,
    /// What it certainly writes: the whole pair, as `LANE` (a mask) or `LO | HI`, or one half.
    pub(in crate::gcn::lift) writes: Vec<(u8, View)>,
    /// It may write any of these.
    pub(in crate::gcn::lift) may_write: Vec<u8>,
    /// Whether SCC is read.
    pub(in crate::gcn::lift) reads_scc: bool,
    /// Whether SCC is written.
    pub(in crate::gcn::lift) writes_scc: bool,
}

/// Registers of the control stack: four for each of eight entries.
pub(in crate::gcn::lift) const STACK_REGISTERS: u8 = 32;

/// Whether a 64-bit operation works on masks as well as on numbers. It does the former if a source is a mask, or with EXEC.
pub(in crate::gcn::lift) fn is_flexible(op: Op) -> bool {
    meaning(op).has(Property::Lanes)
}

/// Whether an operation combines a mask with EXEC.
pub(in crate::gcn::lift) fn is_exec_op(op: Op) -> bool {
    let row = meaning(op);
    row.has(Property::Lanes) && row.writes.contains(Registers::EXEC)
}

/// Whether a compare writes EXEC too.
pub(in crate::gcn::lift) fn is_cmpx(op: Op) -> bool {
    let row = meaning(op);
    row.format == Format::Vopc && row.writes.contains(Registers::EXEC)
}

fn is_scalar_format(format: Format) -> bool {
    matches!(format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Smem)
}

/// Whether it wants something of all lanes from LDS or a vector register: scalar instructions and lane numbers cannot.
pub(in crate::gcn::lift) fn has_varying_scalar(inst: &Inst) -> bool {
    let varying = |arg: &Arg| matches!(arg.operand, Operand::LdsDirect | Operand::Vgpr(_));
    let lane = meaning(inst.op).lane_source();
    is_scalar_format(inst.format) && inst.srcs().iter().any(varying)
        || lane.is_some_and(|lane| varying(&inst.src(lane)))
}

/// Whether an instruction without active lanes does nothing, but for what it writes to scalar registers ([`Effects`]).
pub(in crate::gcn::lift) fn is_for_active_lanes(inst: &Inst) -> bool {
    let plain = inst.dpp.is_none() && !has_varying_scalar(inst);
    match inst.op.topic() {
        Topic::Control => matches!(inst.op, Op::S_NOP | Op::S_WAITCNT),
        Topic::Int
        | Topic::Float
        | Topic::Double
        | Topic::Half
        | Topic::Packed
        | Topic::Convert
        | Topic::Special
        | Topic::Index
        | Topic::Logic
        | Topic::ScalarBits => plain,
        Topic::Compare => plain && !is_cmpx(inst.op),
        // Time goes on, and where a relative move reads or writes M0 says.
        Topic::Scalar => {
            let row = meaning(inst.op);
            let indexed = row.has(Property::IndexedSource) || row.has(Property::IndexedDestination);
            plain && !indexed && inst.format != Format::Smem
        }
        // Others name a lane.
        Topic::Lanes => plain && inst.op == Op::V_SWAP_B32,
        Topic::Lds => !inst.mem.gds && loads_or_stores(inst.op),
        Topic::Flat => loads_or_stores(inst.op),
        Topic::Buffer => inst.format == Format::Mubuf && !inst.mem.lds && loads_or_stores(inst.op),
        Topic::HardwareRegister
        | Topic::Export
        | Topic::Interpolation
        | Topic::Message
        | Topic::Image
        | Topic::ScalarMemory => false,
    }
}

/// Whether an operation does nothing but read memory, or write it.
fn loads_or_stores(op: Op) -> bool {
    let row = meaning(op);
    row.has(Property::Load) || row.has(Property::Store)
}

/// Whether a vector unit executes it: what VSKIP leaves out.
pub(in crate::gcn::lift) fn is_vector(inst: &Inst) -> bool {
    !is_scalar_format(inst.format)
}

/// Whether a flexible instruction names EXEC.
pub(in crate::gcn::lift) fn names_exec(inst: &Inst) -> bool {
    let is_exec = |arg: &Arg| matches!(arg.operand, Operand::Exec(_));
    inst.srcs().iter().any(is_exec) || inst.dst.as_ref().is_some_and(is_exec) || is_exec_op(inst.op)
}

impl Effects {
    /// The effects of an instruction; `in_lanes`: it is a flexible one and works on masks.
    pub(in crate::gcn::lift) fn of(inst: &Inst, in_lanes: bool) -> Effects {
        let row = meaning(inst.op);
        let flag = |flag: Operand| {
            inst.srcs().iter().any(|src| src.operand == flag) || hwreg::reads_flag(inst, flag)
        };
        let mut fx = Effects {
            reads_scc: row.reads.contains(Registers::SCC) || flag(Operand::Scc),
            writes_scc: row.writes.contains(Registers::SCC),
            ..Effects::default()
        };
        for (i, src) in inst.srcs().iter().enumerate() {
            fx.read(*src, in_lanes || row.mask_source() == Some(i));
        }
        let mem = &inst.mem;
        let of_memory = [mem.addr, mem.data, mem.data1, mem.base, mem.sampler, mem.soffset, mem.saddr];
        of_memory.into_iter().flatten().for_each(|arg| fx.read(arg, false));
        if let Some(dst) = inst.dst {
            if row.has(Property::Old) {
                fx.read(dst, in_lanes);
            }
            // Which register a relative move writes M0 says.
            if !row.has(Property::IndexedDestination) {
                fx.write(dst, in_lanes || row.writes_mask());
            }
        }
        if let Some(sdst) = inst.sdst {
            // A carry.
            fx.write(sdst, true);
        }
        fx.unnamed(inst, row);
        fx
    }

    /// Adds registers that the instruction does not name.
    fn unnamed(&mut self, inst: &Inst, row: &Row) {
        if row.reads.contains(Registers::VCC) || hwreg::reads_flag(inst, Operand::Vccz) {
            self.reads.push((VCC, LANE));
        }
        if row.reads.contains(Registers::M0) {
            self.reads.push((M0, LO));
        }
        if row.writes.contains(Registers::M0) {
            self.writes.push((M0, LO));
        }
        if row.reads.contains(Registers::STACK) {
            self.any(0, STACK_REGISTERS, row.writes.contains(Registers::STACK));
        }
        if row.has(Property::Mask) {
            // Here it is read as a number as well, which does no harm.
            if let Some(code) = fork_condition(inst).operand.scalar_code() {
                self.reads.push((code & !1, LANE));
            }
        }
        if row.has(Property::IndexedSource) {
            // What is read where M0 names no register.
            self.reads.push((0, LO | HI));
            let from = inst.src(0).operand.scalar_code().unwrap_or(0);
            self.any(from, SGPRS.max(from | 1), false);
        }
        if row.has(Property::IndexedDestination) {
            let from = inst.dst.and_then(|dst| dst.operand.scalar_code()).unwrap_or(0);
            self.any(from, SGPRS.max(from | 1), true);
        }
        if row.writes.contains(Registers::EXEC) {
            self.writes.push((EXEC, LANE));
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
pub(in crate::gcn::lift) fn fork_condition(inst: &Inst) -> Arg {
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
