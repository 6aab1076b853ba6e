//! Finds the instructions that a program can reach, where its blocks begin, and their successors.
//!
//! A jump to a computed address is followed if the address is a constant, or one of a few addresses that calls return to. Any other
//! computed jump may go to every *indirect target*: after a call, to both sides of a fork, to any constant in a scalar pair that is an
//! address in the code. If there are no such targets, it may go to every block.

use std::collections::{BTreeMap, BTreeSet};

use warpjit_ir::{Meter, Stopped};

use super::effects::{Effects, fork_condition, is_for_active_lanes};
use super::statics::Statics;
use super::view::{HI, LANE, LO, View};
use super::views::Analysis;
use crate::code::Code;
use crate::gcn::lift::options::Options;
use crate::gcn::lift::slots::{EXEC, M0};
use crate::gcn::{Inst, Op, Operand, Segment};
use crate::reachable::{After, Reachable, Source};

/// A block.
#[derive(Clone, Debug, Default)]
pub(in crate::gcn::lift) struct Node {
    /// Its instructions; where they end without a jump, the next block or a fault follows.
    pub(in crate::gcn::lift) insts: Vec<Inst>,
    /// Blocks it leads to.
    pub(in crate::gcn::lift) successors: Vec<u32>,
    /// Whether it can go to all indirect targets besides.
    pub(in crate::gcn::lift) indirect: bool,
    /// Where the last instruction jumps to, if that is computed and known: one of these.
    pub(in crate::gcn::lift) targets: Vec<u32>,
}

impl Node {
    /// The only block that a computed jump leads to.
    pub(in crate::gcn::lift) fn target(&self) -> Option<u32> {
        match self.targets[..] {
            [target] => Some(target),
            _ => None,
        }
    }
}

/// The reachable code.
pub(in crate::gcn::lift) struct Graph {
    nodes: BTreeMap<u32, Node>,
    statics: BTreeMap<u32, Statics>,
    entry: u32,
    indirect: BTreeSet<u32>,
    /// Whether the code, explored or not, seems to have scratch instructions: those of 1.4 that take no buffer.
    pub(in crate::gcn::lift) scratch_instructions: bool,
}

/// A program's instructions and leaders so far, and what is known where blocks begin.
///
/// Constants tell where computed jumps lead, and what lies there tells of more constants. So both are found in one go: a block is looked at
/// again when less is known where it begins, or when something turns out to lead into its middle. What is known only ever becomes less, so
/// each block is looked at a few times.
struct Explorer<'a> {
    source: Program<'a>,
    meter: &'a Meter,
    reach: Reachable<u32, Inst>,
    /// Constants that could be addresses of code. They are targets of jumps to unknown addresses. New ones (`untold`) are given to these
    /// jumps when the worklist is empty, because a block that begins at one may cut the code that computes a jump's address, and then that
    /// address may no longer be known.
    pointers: BTreeSet<u32>,
    untold: Vec<u32>,
    /// Whether the targets that the options name ([`Options::jump_targets`]) are among them.
    told_given: bool,
    /// What is known at the start of each block.
    statics: BTreeMap<u32, Statics>,
    /// The worklist: blocks to visit. Blocks that were cut shorter ([`Reachable::take_shortened`]) are visited last, because a block may be
    /// cut many times.
    waiting: BTreeSet<u32>,
    /// The targets of computed jumps, by the jump's address; `None`: unknown.
    jumps: BTreeMap<u32, Option<Vec<u32>>>,
    /// The state after all jumps to unknown addresses, merged. `anywhere_waits`: it has changed and has not been propagated to their
    /// targets. That is done when the worklist is empty, because there may be as many jumps and targets as blocks.
    anywhere: Option<Statics>,
    anywhere_waits: bool,
}

/// The program's code, and where jumps to unknown addresses may go in what has been decoded of it.
struct Program<'a> {
    code: &'a Code<'a>,
    options: &'a Options<'a>,
    /// Branches that are taken for `s_nop`.
    dropped: &'a BTreeSet<u32>,
    /// Indirect targets: where a jump to an unknown address may go.
    indirect: BTreeSet<u32>,
    /// Indirect targets to which the state after such jumps (`Explorer::anywhere`) has not been propagated. That is done when the worklist
    /// is empty, because the state where a new target cuts a block must be propagated first.
    led_anywhere: Vec<u32>,
}

impl Program<'_> {
    /// A jump may go there of which it is not known where it goes.
    fn lead_anywhere(&mut self, pc: u32) {
        if self.indirect.insert(pc) {
            self.led_anywhere.push(pc);
        }
    }
}

impl Source<u32> for Program<'_> {
    type Inst = Inst;

    fn decode(&mut self, pc: u32) -> Option<Inst> {
        if !pc.is_multiple_of(4) {
            return None;
        }
        let bytes = self.code.bytes(pc);
        let Some(mut inst) = (self.options.decode)(&bytes, pc, self.options.chip) else {
            self.code.depend(pc, LONGEST_INST);
            return None;
        };
        self.code.depend(pc, inst.len.into());
        if let Some(target) = inst.target_pc {
            inst.target_pc = Some(self.code.branch(pc, target).map_or(target, u64::from));
        }
        if self.dropped.contains(&pc) {
            inst.op = Op::S_NOP;
            inst.target_pc = None;
        }
        Some(inst)
    }

    fn leads(&mut self, _: u32, inst: &Inst, leaders: &mut Vec<u32>) -> Result<After<u32>, Stopped> {
        let next = inst.next_pc() as u32;
        let target = inst.target_pc.map(|target| target as u32);
        leaders.extend(target);
        if is_fork(inst) {
            leaders.push(next);
            self.lead_anywhere(next);
            target.into_iter().for_each(|target| self.lead_anywhere(target));
        }
        if matches!(inst.op, Op::S_SWAPPC_B64 | Op::S_CALL_B64) {
            leaders.push(next);
            self.lead_anywhere(next);
        }
        if !ends_block(inst) {
            return Ok(After::Next(next));
        }
        if goes_on(inst) {
            leaders.push(next);
        }
        Ok(After::Ends)
    }
}

/// Bytes of the longest instruction.
const LONGEST_INST: usize = 8;
/// Most instructions that are worth no branch round them.
const SHORT: usize = 12;

impl Graph {
    /// Follows the program from its entry.
    pub(in crate::gcn::lift) fn explore(
        code: &Code<'_>,
        options: &Options<'_>,
        meter: &Meter,
    ) -> Result<Graph, Stopped> {
        Graph::explore_without(code, options, &BTreeSet::new(), meter)
    }

    /// Follows the program without some branches.
    pub(in crate::gcn::lift) fn explore_without(
        code: &Code<'_>,
        options: &Options<'_>,
        dropped: &BTreeSet<u32>,
        meter: &Meter,
    ) -> Result<Graph, Stopped> {
        meter.stage("finding the code that can be reached")?;
        let source = Program { code, options, dropped, indirect: BTreeSet::new(), led_anywhere: Vec::new() };
        let mut explorer = Explorer {
            source,
            meter,
            reach: Reachable::new(),
            pointers: BTreeSet::new(),
            untold: Vec::new(),
            told_given: false,
            statics: BTreeMap::new(),
            waiting: BTreeSet::new(),
            jumps: BTreeMap::new(),
            anywhere: None,
            anywhere_waits: false,
        };
        explorer.reach.lead(options.entry);
        explorer.flow(options.entry, &Statics::entry(options))?;
        explorer.run()?;
        explorer.graph()
    }

    /// The `s_cbranch_execz` that only save a little work: the code they skip has no effect if no lane is active, and the scalar registers
    /// it writes are not read. Dropping such a branch saves its vote.
    pub(in crate::gcn::lift) fn needless_branches(&self, analysis: &Analysis) -> BTreeSet<u32> {
        let lasts = self.nodes.values().filter_map(|node| node.insts.last());
        let branches = lasts.filter(|inst| inst.op == Op::S_CBRANCH_EXECZ);
        branches.filter(|branch| self.is_needless(branch, analysis)).map(|branch| branch.pc as u32).collect()
    }

    fn is_needless(&self, branch: &Inst, analysis: &Analysis) -> bool {
        let Some(target) = branch.target_pc.map(|pc| pc as u32) else { return false };
        let Some(live) = analysis.live_at(target) else { return false };
        let mut pc = branch.next_pc() as u32;
        let mut count = 0;
        while pc != target {
            let Some(node) = self.nodes.get(&pc) else { return false };
            for inst in &node.insts {
                let fx = Effects::of(inst, false);
                let seen = |&(pair, view): &(u8, View)| {
                    // A mask is made of both numbers, and they of it.
                    let read = if view == LANE { LO | HI | LANE } else { view | LANE };
                    matches!(pair, EXEC | M0) || live.views.get(pair) & read != 0
                };
                count += 1;
                let shown =
                    fx.writes.iter().any(seen) || fx.writes_scc && live.scc || !fx.may_write.is_empty();
                if count > SHORT || shown || !is_for_active_lanes(inst) {
                    return false;
                }
                pc = inst.next_pc() as u32;
            }
            if node.insts.is_empty() || pc > target {
                return false;
            }
        }
        true
    }

    /// A block.
    pub(in crate::gcn::lift) fn node(&self, start: u32) -> Option<&Node> {
        self.nodes.get(&start)
    }

    /// All blocks, in order.
    pub(in crate::gcn::lift) fn nodes(&self) -> impl DoubleEndedIterator<Item = (u32, &Node)> {
        self.nodes.iter().map(|(&start, node)| (start, node))
    }

    /// Where the program begins.
    pub(in crate::gcn::lift) fn entry(&self) -> u32 {
        self.entry
    }

    /// Whether an indirect jump can go there.
    pub(in crate::gcn::lift) fn is_indirect_target(&self, pc: u32) -> bool {
        self.indirect.contains(&pc)
    }

    /// Where an indirect jump can go.
    pub(in crate::gcn::lift) fn indirect_targets(&self) -> impl Iterator<Item = u32> + '_ {
        self.indirect.iter().copied()
    }

    /// What is known at the begin of a block. Nothing leads to one that has none.
    pub(in crate::gcn::lift) fn statics(&self, start: u32) -> Option<&Statics> {
        self.statics.get(&start)
    }
}

/// The position of a guest address where code may begin.
pub(in crate::gcn::lift) fn position_of(address: u64, code: &Code<'_>) -> Option<u32> {
    code.known(address).filter(|position| position.is_multiple_of(4))
}

/// Where a jump may go whose address is computed, by what is known before it; `None`: anywhere.
fn resolve(jump: &Inst, source: usize, statics: &Statics, code: &Code<'_>) -> Option<Vec<u32>> {
    jump.srcs().get(source)?;
    if let Some(address) = statics.source64(jump, source) {
        return Some(vec![code.lead(address)?]);
    }
    if is_fork(jump) {
        return None;
    }
    let mut targets: Vec<u32> =
        statics.targets(jump, source)?.iter().map(|&address| code.lead(address)).collect::<Option<_>>()?;
    targets.sort_unstable();
    targets.dedup();
    Some(targets)
}

/// Which source is the address that an instruction jumps to.
pub(in crate::gcn::lift) fn computed_target(inst: &Inst) -> Option<usize> {
    match inst.op {
        Op::S_SETPC_B64 | Op::S_SWAPPC_B64 => Some(0),
        Op::S_CBRANCH_G_FORK => Some(1),
        _ => None,
    }
}

impl Explorer<'_> {
    /// A jump may go there of which it is not known where it goes.
    fn lead_anywhere(&mut self, pc: u32) {
        self.reach.lead(pc);
        self.source.lead_anywhere(pc);
    }

    /// What is known behind jumps that may go anywhere is what is known at some of their targets.
    fn flow_anywhere(&mut self, targets: impl IntoIterator<Item = u32>) -> Result<(), Stopped> {
        let Some(statics) = self.anywhere.take() else { return Ok(()) };
        for pc in targets {
            self.flow(pc, &statics)?;
        }
        self.anywhere = Some(statics);
        Ok(())
    }

    fn run(&mut self) -> Result<(), Stopped> {
        loop {
            self.reach.follow(&mut self.source, self.meter)?;
            if let Some(start) = self.waiting.pop_first().or_else(|| self.reach.take_shortened()) {
                self.look_at(start)?;
            } else if std::mem::take(&mut self.anywhere_waits) {
                self.source.led_anywhere.clear();
                self.flow_anywhere(self.source.indirect.clone())?;
            } else if self.anywhere.is_some() && !self.source.led_anywhere.is_empty() {
                let targets = std::mem::take(&mut self.source.led_anywhere);
                self.flow_anywhere(targets)?;
            } else if self.anywhere.is_some() && !self.untold.is_empty() {
                std::mem::take(&mut self.untold).into_iter().for_each(|pc| self.lead_anywhere(pc));
            } else if self.anywhere.is_some() && !std::mem::replace(&mut self.told_given, true) {
                for &address in self.source.options.jump_targets {
                    let position =
                        self.source.code.lead(address).filter(|position| position.is_multiple_of(4));
                    position.into_iter().for_each(|pc| self.lead_anywhere(pc));
                }
            } else if self.anywhere.is_some() && self.source.indirect.is_empty() {
                self.reach.leaders().collect::<Vec<_>>().into_iter().for_each(|pc| self.lead_anywhere(pc));
            } else {
                return Ok(());
            }
        }
    }

    /// Less may be known where a block begins than before.
    fn flow(&mut self, to: u32, statics: &Statics) -> Result<(), Stopped> {
        self.meter.step(1)?;
        let lost = match self.statics.get_mut(&to) {
            None => {
                self.meter.hold(statics.bytes())?;
                self.statics.insert(to, statics.clone());
                true
            }
            Some(known) => known.meet(statics),
        };
        if lost {
            self.waiting.insert(to);
        }
        Ok(())
    }

    /// Follows what is known through a block; resolves the jump at its end.
    fn look_at(&mut self, start: u32) -> Result<(), Stopped> {
        let Some(mut statics) = self.statics.get(&start).cloned() else { return Ok(()) };
        let mut pc = start;
        while let Some(inst) = self.reach.inst(pc).copied() {
            self.meter.step(1)?;
            let source = computed_target(&inst);
            let target = source.map(|source| resolve(&inst, source, &statics, self.source.code));
            statics.step(&inst, self.source.code);
            let written = inst.dst.and_then(|dst| dst.operand.scalar_code());
            if let Some(address) = written.and_then(|code| statics.constant64(code))
                && let Some(pointer) = position_of(address, self.source.code)
                && self.pointers.insert(pointer)
            {
                self.untold.push(pointer);
            }
            pc = inst.next_pc() as u32;
            if ends_block(&inst) {
                return self.leave(&inst, target.as_ref(), &statics);
            }
            if self.reach.is_leader(pc) {
                break;
            }
        }
        if pc != start {
            self.flow(pc, &statics)?;
        }
        Ok(())
    }

    /// Goes on behind the end of a block; `targets` are those of a computed jump.
    fn leave(
        &mut self,
        last: &Inst,
        targets: Option<&Option<Vec<u32>>>,
        statics: &Statics,
    ) -> Result<(), Stopped> {
        let next = goes_on(last).then_some(last.next_pc() as u32);
        let computed = targets.into_iter().flatten().flatten().copied();
        for to in last.target_pc.map(|target| target as u32).into_iter().chain(next).chain(computed) {
            let mut refined = statics.clone();
            refined.refine(last, to);
            self.reach.lead(to);
            self.flow(to, &refined)?;
        }
        if let Some(targets) = targets {
            self.jumps.insert(last.pc as u32, targets.clone());
        }
        if targets == Some(&None) || last.op == Op::S_CBRANCH_JOIN {
            self.leave_anywhere(statics)?;
        }
        Ok(())
    }

    /// Goes on wherever a jump may go of which it is not known where.
    fn leave_anywhere(&mut self, statics: &Statics) -> Result<(), Stopped> {
        match &mut self.anywhere {
            Some(known) => self.anywhere_waits |= known.meet(statics),
            None => {
                self.anywhere = Some(statics.clone());
                self.anywhere_waits = true;
            }
        }
        Ok(())
    }

    fn graph(self) -> Result<Graph, Stopped> {
        let mut nodes = BTreeMap::new();
        for start in self.reach.leaders() {
            let node = self.node(start);
            self.meter.hold(size_of::<Node>() + node.insts.len() * size_of::<Inst>())?;
            nodes.insert(start, node);
        }
        let whole = self.source.code.file().unwrap_or(&[]);
        // If all jumps are known, none goes to what only an unknown one could reach.
        let indirect = match nodes.values().any(|node| node.indirect) {
            true => self.source.indirect,
            false => BTreeSet::new(),
        };
        Ok(Graph {
            nodes,
            entry: self.source.options.entry,
            scratch_instructions: self.reach.insts().any(|inst| inst.mem.segment == Segment::Scratch)
                || whole.chunks_exact(4).any(|word| word[3] >> 2 == 0x37 && word[1] >> 6 == 1),
            statics: self.statics,
            indirect,
        })
    }

    fn node(&self, start: u32) -> Node {
        let mut node = Node::default();
        let mut pc = start;
        while let Some(inst) = self.reach.inst(pc) {
            node.insts.push(*inst);
            pc = inst.next_pc() as u32;
            if ends_block(inst) {
                let jump = self.jumps.get(&(inst.pc as u32));
                node.targets = jump.cloned().flatten().unwrap_or_default();
                node.indirect = jump == Some(&None) || inst.op == Op::S_CBRANCH_JOIN;
                node.successors.extend(inst.target_pc.map(|target| target as u32));
                node.successors.extend(goes_on(inst).then_some(pc));
                node.successors.extend(&node.targets);
                node.successors.sort_unstable();
                node.successors.dedup();
                return node;
            }
            if self.reach.is_leader(pc) {
                break;
            }
        }
        if pc != start {
            node.successors.push(pc);
        }
        node
    }
}

fn is_fork(inst: &Inst) -> bool {
    matches!(inst.op, Op::S_CBRANCH_G_FORK | Op::S_CBRANCH_I_FORK)
}

/// Whether a block ends behind the instruction.
pub(in crate::gcn::lift) fn ends_block(inst: &Inst) -> bool {
    use Op::*;
    inst.ends_block_for_all()
        || is_fork(inst)
        || matches!(
            inst.op,
            S_CBRANCH_SCC0
                | S_CBRANCH_SCC1
                | S_CBRANCH_VCCZ
                | S_CBRANCH_VCCNZ
                | S_CBRANCH_EXECZ
                | S_CBRANCH_EXECNZ
                | S_CBRANCH_JOIN
                | S_BARRIER
                | S_TRAP
        )
}

/// Whether execution can go on behind an instruction that ends a block.
fn goes_on(inst: &Inst) -> bool {
    !(inst.ends_block_for_all() || inst.op == Op::S_TRAP)
}

/// Whether the condition of a fork can be one: the hardware takes no constants.
pub(in crate::gcn::lift) fn fork_works(inst: &Inst) -> bool {
    matches!(
        fork_condition(inst).operand,
        Operand::Sgpr(_) | Operand::Vcc(_) | Operand::Exec(_) | Operand::Ttmp(_)
    )
}
