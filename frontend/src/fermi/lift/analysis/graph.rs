//! Finds the instructions that a program can reach and where its blocks begin, and whether the program can know the addresses of
//! the windows to shared and local memory.

use warpjit_ir::{Meter, Stopped};

use crate::code::Code;
use crate::envydis::fetch;
use crate::fermi::lift::options::Options;
use crate::fermi::modifier::Breakpoint;
use crate::fermi::{
    Chip, Family, Inst, MemSpace, Op, Operand, TRUE_PRED, ZERO_REG, abi, decode_word, table::Fermi,
};
use crate::simt::{Graph, Leads, Source, TargetSet};

/// A program's code.
struct Program<'a> {
    code: &'a Code<'a>,
    chip: Chip,
}

/// Follows the program from its entry.
pub(in crate::fermi::lift) fn explore(
    code: &Code<'_>,
    options: &Options<'_>,
    meter: &Meter,
) -> Result<Graph<Inst>, Stopped> {
    Graph::explore(&Program { code, chip: options.chip }, options.entry, meter)
}

impl Source for Program<'_> {
    type Inst = Inst;

    fn decode(&self, pc: u32) -> Option<Inst> {
        if !pc.is_multiple_of(4) {
            return None;
        }
        let fetched = fetch::<Fermi>(&self.code.bytes(pc), 0).ok();
        self.code.depend(pc, fetched.map_or(8, |(_, len)| len.into()));
        let (raw, _) = fetched?;
        let inst = decode_word(raw, pc, self.chip).ok()?;
        // Long instructions are aligned; each group of 64 bytes of GK104 begins with its hints, which stand
        // nowhere else.
        let aligned = inst.len == 4 || pc.is_multiple_of(8);
        let hints = self.chip.family() == Family::Gk104 && pc.is_multiple_of(64);
        (aligned && hints == (inst.op == Op::Sched)).then_some(inst)
    }

    fn leads(&self, inst: &Inst) -> Leads {
        let names = matches!(inst.op, Op::Bra | Op::BraIndirect | Op::Call) || is_push(inst.op);
        let indirect = names
            && inst
                .srcs()
                .iter()
                .any(|src| matches!(src.operand, Operand::Const { .. } | Operand::Reg { .. }));
        Leads {
            next: inst.next_pc(),
            target: inst.target_pc(),
            set: indirect.then_some(TargetSet::Anywhere),
            ends: ends_block(inst),
            goes_on: goes_on(inst),
            block_behind: self.code.file().is_none() && is_leaving(inst.op) && is_for_all(inst) && !inst.join,
        }
    }

    fn set(&self, _: TargetSet) -> Vec<u32> {
        // Nobody puts short instructions where an address is computed.
        let (first, bytes) = self.code.extent().unwrap_or((0, 0));
        let first = first.next_multiple_of(8);
        (0..bytes.min(1 << 24)).step_by(8).filter_map(|at| first.checked_add(at)).collect()
    }
}

/// Whether a block ends after the instruction.
fn ends_block(inst: &Inst) -> bool {
    inst.join
        || is_leaving(inst.op)
        || is_push(inst.op)
        || matches!(
            inst.op,
            Op::Bra | Op::BraIndirect | Op::Call | Op::Rtt | Op::QuadOn | Op::QuadPop | Op::Bar
        )
        || inst.op == Op::Bpt && inst.mods.has(Breakpoint::Trap)
}

/// Whether the instruction pushes a target onto the divergence stack, to which lanes may later leave.
fn is_push(op: Op) -> bool {
    matches!(op, Op::PreLongjmp | Op::JoinAt | Op::PreBrk | Op::PreCont | Op::PreRet)
}

/// Whether lanes leave to a target on the divergence stack.
fn is_leaving(op: Op) -> bool {
    matches!(op, Op::Exit | Op::Longjmp | Op::Ret | Op::Discard | Op::Brk | Op::Cont)
}

/// Whether no predicate and no condition leaves lanes out.
fn is_for_all(inst: &Inst) -> bool {
    inst.guard.is_none_or(|guard| guard.num == TRUE_PRED && !guard.not) && inst.cond.is_none()
}

/// Whether execution can continue at the next address after an instruction that ends a block.
fn goes_on(inst: &Inst) -> bool {
    let always = is_for_all(inst);
    match inst.op {
        Op::Rtt => false,
        Op::Bpt => !inst.mods.has(Breakpoint::Trap),
        Op::Bra | Op::BraIndirect => !always,
        _ => true,
    }
}

/// Whether the program can find out where the windows to shared and local memory are: only then do generic addresses
/// point there.
pub(in crate::fermi::lift) fn knows_windows(graph: &Graph<Inst>, chip: Chip) -> bool {
    let first = abi::windows(chip) as i32;
    graph.insts().any(|inst| {
        inst.srcs().iter().any(|src| match src.operand {
            Operand::Sreg(number) => matches!(number, 48 | 52),
            Operand::Const { space: 0, base: ZERO_REG, offset } => {
                // A wide load may begin before them.
                (first - 12..first + 8).contains(&offset)
            }
            _ => false,
        })
    })
}

/// End of what an instruction accesses in local memory at a known address.
pub(in crate::fermi::lift) fn local_end(inst: &Inst) -> u32 {
    let ends = inst.srcs().iter().map(|src| match src.operand {
        Operand::Mem { space: MemSpace::Local, base: ZERO_REG, offset, .. } => {
            u32::try_from(offset).map_or(0, |offset| offset.saturating_add(16))
        }
        _ => 0,
    });
    ends.max().unwrap_or(0)
}

/// Whether the instruction can access local memory.
pub(in crate::fermi::lift) fn is_local(inst: &Inst, windows: bool) -> bool {
    inst.srcs().iter().any(|src| match src.operand {
        Operand::Mem { space, .. } => space == MemSpace::Local || windows && space == MemSpace::Global,
        _ => false,
    })
}

/// Whether `bra allwarp` only skips instructions that would do nothing for those who jump: all up to the target
/// have the opposite guard, keep it, and go on. Then whether the warp jumps makes no difference.
pub(in crate::fermi::lift) fn skips_guarded(graph: &Graph<Inst>, inst: &Inst, target: u32) -> bool {
    let Some(guard) = inst.guard.filter(|guard| guard.num != TRUE_PRED) else { return false };
    if inst.cond.is_some() || target < inst.next_pc() {
        return false;
    }
    let mut pc = inst.next_pc();
    while pc < target {
        let Some(inside) = graph.inst(pc) else { return false };
        pc = inside.next_pc();
        if inside.op == Op::Sched {
            continue;
        }
        let opposite = inside.guard.is_some_and(|own| own.num == guard.num && own.not != guard.not);
        let keeps =
            inside.pdst != Some(guard.num) && inside.pdst2 != Some(guard.num) && inside.op != Op::MovToFlags;
        // Votes and the like give a result to lanes whose guard holds, from those lanes.
        if !opposite || !keeps || ends_block(inside) {
            return false;
        }
    }
    pc == target
}
