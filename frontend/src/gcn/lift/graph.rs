//! Which instructions a program can reach, where its blocks begin and where they lead.
//!
//! Jumps to computed addresses are followed where the address is a constant. Others may go to any *indirect target*:
//! behind calls, to both sides of forks, and to any constant in a scalar pair that points into the code; without any of
//! these, to every block.

use std::collections::{BTreeMap, BTreeSet};

use super::effects::{Effects, fork_condition, is_for_active_lanes};
use super::options::Options;
use super::slots::{EXEC, M0};
use super::statics::Statics;
use super::views::{Analysis, HI, LANE, LO, View};
use crate::gcn::{Inst, Op, Operand, Segment};

/// A block.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// Its instructions; where they end without a jump, the next block or a fault follows.
    pub(super) insts: Vec<Inst>,
    /// Blocks it leads to.
    pub(super) successors: Vec<u32>,
    /// Whether it can go to all indirect targets besides.
    pub(super) indirect: bool,
    /// Where the last instruction jumps to, if that is computed and known.
    pub(super) target: Option<u32>,
}

/// The reachable code.
pub(super) struct Graph {
    nodes: BTreeMap<u32, Node>,
    statics: BTreeMap<u32, Statics>,
    entry: u32,
    indirect: BTreeSet<u32>,
    /// Whether the code, explored or not, seems to have scratch instructions: those of 1.4 that take no buffer.
    pub(super) scratch_instructions: bool,
}

/// A program's instructions and leaders so far.
struct Explorer<'a> {
    code: &'a [u8],
    options: &'a Options<'a>,
    insts: BTreeMap<u32, Inst>,
    leaders: BTreeSet<u32>,
    work: Vec<u32>,
    indirect: BTreeSet<u32>,
    /// Branches that are taken for `s_nop`.
    dropped: &'a BTreeSet<u32>,
}

/// Most instructions that are worth no branch round them.
const SHORT: usize = 12;

impl Graph {
    /// Follows the program from its entry.
    pub(super) fn explore(code: &[u8], options: &Options<'_>) -> Graph {
        Graph::explore_without(code, options, &BTreeSet::new())
    }

    /// Follows the program without some branches.
    pub(super) fn explore_without(code: &[u8], options: &Options<'_>, dropped: &BTreeSet<u32>) -> Graph {
        let mut explorer = Explorer {
            code,
            options,
            insts: BTreeMap::new(),
            leaders: BTreeSet::new(),
            work: Vec::new(),
            indirect: BTreeSet::new(),
            dropped,
        };
        explorer.lead(options.entry);
        loop {
            explorer.follow();
            let mut graph = explorer.graph();
            let found = graph.run_statics(options, code.len());
            let before = (explorer.leaders.len(), explorer.indirect.len());
            for pc in found.targets {
                explorer.lead(pc);
            }
            // Constants that look like addresses matter only where something jumps who knows where.
            if graph.nodes.values().any(|node| node.indirect) {
                for pc in found.pointers {
                    explorer.lead(pc);
                    explorer.indirect.insert(pc);
                }
                if explorer.indirect.is_empty() {
                    explorer.indirect = explorer.leaders.clone();
                }
            }
            if (explorer.leaders.len(), explorer.indirect.len()) == before {
                graph.indirect.clone_from(&explorer.indirect);
                return graph;
            }
        }
    }

    /// The `s_cbranch_execz` that only save a little work: what they skip does nothing if no lane is active, and what it
    /// makes of scalar registers nobody reads. Without them no lane has to be asked.
    pub(super) fn needless_branches(&self, analysis: &Analysis) -> BTreeSet<u32> {
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
    pub(super) fn node(&self, start: u32) -> Option<&Node> {
        self.nodes.get(&start)
    }

    /// All blocks, in order.
    pub(super) fn nodes(&self) -> impl DoubleEndedIterator<Item = (u32, &Node)> {
        self.nodes.iter().map(|(&start, node)| (start, node))
    }

    /// Where the program begins.
    pub(super) fn entry(&self) -> u32 {
        self.entry
    }

    /// Where an indirect jump can go.
    pub(super) fn indirect_targets(&self) -> impl Iterator<Item = u32> + '_ {
        self.indirect.iter().copied()
    }

    /// What is known at the begin of a block. Nothing leads to one that has none.
    pub(super) fn statics(&self, start: u32) -> Option<&Statics> {
        self.statics.get(&start)
    }

    /// Propagates constants; resolves computed jumps.
    fn run_statics(&mut self, options: &Options<'_>, code_bytes: usize) -> Found {
        let mut found = Found::default();
        let mut work = BTreeSet::from([self.entry]);
        self.statics.insert(self.entry, Statics::entry(options));
        let mut unknown: Option<Statics> = None;
        let indirect: Vec<u32> = self.indirect.iter().copied().collect();
        while let Some(start) = work.pop_first() {
            let (Some(node), Some(statics)) = (self.nodes.get(&start), self.statics.get(&start)) else {
                continue;
            };
            let mut statics = statics.clone();
            let mut before_last = None;
            let last = node.insts.last().copied();
            for (n, inst) in node.insts.iter().enumerate() {
                if n + 1 == node.insts.len() && computed_target(inst).is_some() {
                    before_last = Some(statics.clone());
                }
                statics.step(inst, options.code_address);
                if let Some(address) = inst
                    .dst
                    .and_then(|dst| dst.operand.scalar_code())
                    .and_then(|code| statics.constant64(code))
                    && let Some(pc) = offset_of(address, options, code_bytes)
                {
                    found.pointers.insert(pc);
                }
            }
            let (target, indirect_now) = resolve(node, before_last.as_ref().unwrap_or(&statics), options);
            let mut successors = node.successors.clone();
            successors.extend(target);
            if let Some(node) = self.nodes.get_mut(&start) {
                node.target = target;
                node.indirect = indirect_now;
            }
            found.targets.extend(target);
            if indirect_now {
                match &mut unknown {
                    None => unknown = Some(statics.clone()),
                    Some(known) => {
                        known.meet(&statics);
                    }
                }
                successors.extend(&indirect);
            }
            for to in successors {
                let from = if indirect_now && indirect.contains(&to) { unknown.as_ref() } else { None };
                let mut from = from.unwrap_or(&statics).clone();
                let mut statics = statics.clone();
                if let Some(last) = &last {
                    from.refine(last, to);
                    statics.refine(last, to);
                }
                match self.statics.get_mut(&to) {
                    None => {
                        self.statics.insert(to, from);
                        work.insert(to);
                    }
                    Some(known) => {
                        let mut lost = known.meet(&from);
                        lost |= known.meet(&statics);
                        if lost {
                            work.insert(to);
                        }
                    }
                }
            }
        }
        for node in self.nodes.values_mut() {
            node.successors.extend(node.target);
            node.successors.sort_unstable();
            node.successors.dedup();
        }
        found
    }
}

/// What constants tell about where a program goes.
#[derive(Default)]
struct Found {
    /// Targets of computed jumps.
    targets: BTreeSet<u32>,
    /// Constants that could be such.
    pointers: BTreeSet<u32>,
}

/// The byte offset that a guest address is in the code.
pub(super) fn offset_of(address: u64, options: &Options<'_>, code_bytes: usize) -> Option<u32> {
    let offset = address.wrapping_sub(options.code_address);
    (offset < code_bytes as u64 && offset.is_multiple_of(4)).then_some(offset as u32)
}

/// Where the jump at a block's end goes, if it is computed: the known target, and whether it can be another one.
fn resolve(node: &Node, statics: &Statics, options: &Options<'_>) -> (Option<u32>, bool) {
    let Some(last) = node.insts.last() else { return (None, false) };
    let Some(source) = computed_target(last) else { return (None, last.op == Op::S_CBRANCH_JOIN) };
    let address = last.srcs().get(source).and_then(|_| statics.source64(last, source));
    let offset = address.map(|address| address.wrapping_sub(options.code_address));
    match offset.filter(|&offset| offset < 1 << 32) {
        Some(offset) => (Some(offset as u32), false),
        None => (None, true),
    }
}

/// Which source is the address that an instruction jumps to.
pub(super) fn computed_target(inst: &Inst) -> Option<usize> {
    match inst.op {
        Op::S_SETPC_B64 | Op::S_SWAPPC_B64 => Some(0),
        Op::S_CBRANCH_G_FORK => Some(1),
        _ => None,
    }
}

impl Explorer<'_> {
    fn lead(&mut self, pc: u32) {
        if self.leaders.insert(pc) {
            self.work.push(pc);
        }
    }

    fn follow(&mut self) {
        while let Some(start) = self.work.pop() {
            let mut pc = start;
            while !self.insts.contains_key(&pc) {
                let Some(inst) = self.decode(pc) else {
                    // The fault needs a block of its own only where something leads to it.
                    self.lead(pc);
                    break;
                };
                self.insts.insert(pc, inst);
                let next = inst.next_pc() as u32;
                if let Some(target) = inst.target_pc {
                    self.lead(target as u32);
                }
                if is_fork(&inst) {
                    self.indirect.insert(next);
                    self.indirect.extend(inst.target_pc.map(|target| target as u32));
                }
                if matches!(inst.op, Op::S_SWAPPC_B64 | Op::S_CALL_B64) {
                    self.indirect.insert(next);
                    self.lead(next);
                }
                if ends_block(&inst) {
                    if goes_on(&inst) {
                        self.lead(next);
                    }
                    break;
                }
                pc = next;
            }
        }
    }

    fn decode(&self, pc: u32) -> Option<Inst> {
        if !pc.is_multiple_of(4) {
            return None;
        }
        let mut inst = (self.options.decode)(self.code, pc, self.options.chip)?;
        if self.dropped.contains(&pc) {
            inst.op = Op::S_NOP;
            inst.target_pc = None;
        }
        Some(inst)
    }

    fn graph(&self) -> Graph {
        let nodes = self.leaders.iter().map(|&start| (start, self.node(start))).collect();
        Graph {
            nodes,
            statics: BTreeMap::new(),
            entry: self.options.entry,
            indirect: self.indirect.clone(),
            scratch_instructions: self.insts.values().any(|inst| inst.mem.segment == Segment::Scratch)
                || self.code.chunks_exact(4).any(|word| word[3] >> 2 == 0x37 && word[1] >> 6 == 1),
        }
    }

    fn node(&self, start: u32) -> Node {
        let mut node = Node::default();
        let mut pc = start;
        while let Some(inst) = self.insts.get(&pc) {
            node.insts.push(*inst);
            pc = inst.next_pc() as u32;
            if ends_block(inst) {
                if let Some(target) = inst.target_pc {
                    node.successors.push(target as u32);
                }
                if goes_on(inst) {
                    node.successors.push(pc);
                }
                return node;
            }
            if self.leaders.contains(&pc) {
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
pub(super) fn ends_block(inst: &Inst) -> bool {
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
                | EXP
        )
}

/// Whether execution can go on behind an instruction that ends a block.
fn goes_on(inst: &Inst) -> bool {
    !(inst.ends_block_for_all() || matches!(inst.op, Op::S_TRAP | Op::EXP))
}

/// Whether the condition of a fork can be one: the hardware takes no constants.
pub(super) fn fork_works(inst: &Inst) -> bool {
    matches!(
        fork_condition(inst).operand,
        Operand::Sgpr(_) | Operand::Vcc(_) | Operand::Exec(_) | Operand::Ttmp(_)
    )
}
