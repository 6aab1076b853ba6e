//! Finds the lane region that starts at a block: the largest part of the kernel that each lane can run on its own and where all
//! lanes leave together.
//!
//! The result is a [`Plan`], a graph of nodes. A node is a block together with the divergence-stack entries pushed since the
//! region's start. For a single lane, a join falls through and a leave jumps to the target of its entry, so a region needs no
//! stack. It may only exit where the hardware's stack equals the stack at the start and the lanes have reconverged:
//!
//! - where nothing has been pushed since the start, a divergent branch ends the region, and the driver runs it on the warp's
//!   stack. Exception: every path from the branch runs to the end of the thread without another exit;
//! - a leave or join that would pop an entry from before the start ends the region. So does a cross-lane operation, a barrier, or
//!   an indirect branch;
//! - if one of these comes after a push and before its pop, the region ends before the push instead;
//! - accesses to shared memory, and atomics, that could conflict between lanes are not in one region (see [`super::split`]);
//! - if every region must end soon ([`super::RegionOptions::bounded`]), a loop ends the region;
//! - a loop that certainly waits for memory to change ends the region, so that a spinning warp returns to the scheduler
//!   (`waiting.rs`).
//!
//! A region may start inside a loop that it cannot hold, such as one with atomics that depend on the order of lanes. In a wave it then
//! ends where the loop comes back to its start (`may_end_at_entry`): it is one iteration of the loop. It does not if scalars that it
//! loads decide how the loop is left, because chunks could disagree.

mod checks;

use std::collections::VecDeque;

use super::kernel_facts::{KernelFacts, Mode};
use super::plan::{Node, NodeTerm, Plan};
use super::sizes::Size;
use super::split::OrderedAccesses;
use super::wave_memory::is_wave_store;
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use warpjit_ir_core::entities::Block;
pub use warpjit_ir_core::exit::ExitKind;
use warpjit_ir_core::function::{Function, Imm, InstData, LeaveKind, PushKind, Terminator};
use warpjit_ir_core::meter::{Meter, Stopped};
use warpjit_ir_core::opcodes::{Opcode, Reach, Space};

/// Factor on both limits if one chunk holds the whole warp. Blocks are single bundles then, and most of their
/// instructions read and write slots.
const WHOLE_TIMES: usize = 3;
/// Most entries pushed within a region (a bound on recursion).
const MAX_DEPTH: usize = 12;

/// An entry of the divergence stack that was pushed within the region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Entry {
    kind: PushKind,
    target: Block,
    /// The block that pushed it.
    pusher: Block,
}

/// Blocks at which the region must exit, found so far.
#[derive(Default, Clone, PartialEq, Eq)]
struct Stops {
    /// After the body.
    term: HashSet<Block>,
    /// Before the body.
    enter: HashSet<Block>,
    /// Where lanes come back to the entry.
    back: bool,
}

/// Why a try ends without a region.
enum Failure {
    /// A stop was added; explore again.
    Stop,
    /// This block cannot start a region.
    Impossible,
    /// The budget is used up, or the work was cancelled.
    Stopped(Stopped),
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Failure {
        Failure::Stopped(stopped)
    }
}

/// Finds the region that starts at `entry`, of at most the given size. `None` if the block must run in the interpreter.
pub fn explore(
    func: &Function,
    facts: &KernelFacts,
    entry: Block,
    size: Size,
    meter: &Meter,
) -> Result<Option<Plan>, Stopped> {
    meter.stage("cutting it out")?;
    if has_cross_lane(func, facts, entry) {
        return Ok(None);
    }
    if size.nodes == 1 {
        return Ok(single_block(func, facts, entry));
    }
    // First try whether all lanes can run to their end, even diverged. Otherwise exit where lanes have reconverged.
    for to_end in [true, false] {
        // Lanes would diverge, which counted regions must not.
        if to_end && facts.mode.counted {
            continue;
        }
        let mut stops = Stops::default();
        let find = |stops: &mut Stops| {
            let e = Explorer {
                func,
                facts,
                entry,
                size,
                meter,
                stops,
                to_end,
                nodes: Vec::new(),
                index: HashMap::new(),
                exits: vec![ExitKind::Ended],
                work: VecDeque::new(),
                crossed: HashSet::new(),
                joined: Vec::new(),
                insts: 0,
                places: Vec::new(),
                chain: (!facts.mode.whole && !facts.mode.across).then(OrderedAccesses::default),
            };
            e.run()
        };
        for _ in 0..200 {
            match find(&mut stops) {
                Ok(plan) if facts.mode.counted => return Ok(plan.limit_loops()),
                Ok(plan) if facts.mode.wave => return with_fewer_stops(facts, plan, stops, find).map(Some),
                Ok(plan) => return Ok(Some(plan)),
                Err(Failure::Stop) if !to_end => continue,
                Err(Failure::Stop) => break,
                Err(Failure::Impossible) => break,
                Err(Failure::Stopped(stopped)) => return Err(stopped),
            }
        }
    }
    Ok(single_block(func, facts, entry))
}

/// Most stops that are tried to be taken back: each try explores the region once more.
const MOST_TAKEN_BACK: usize = 4;

/// A stop that was found early may be needless behind one that was found later: a loop is no loop where a vote in it leaves the region.
/// Takes back those before blocks with which nothing else is wrong.
fn with_fewer_stops(
    facts: &KernelFacts,
    mut plan: Plan,
    mut stops: Stops,
    mut find: impl FnMut(&mut Stops) -> Result<Plan, Failure>,
) -> Result<Plan, Stopped> {
    let mut enters: Vec<Block> = stops.enter.iter().copied().collect();
    enters.sort();
    for block in enters.into_iter().take(MOST_TAKEN_BACK) {
        // The driver is to see a loop that surely waits.
        if !plan.exits.contains(&ExitKind::Enter(block)) || facts.surely_waits(block) {
            continue;
        }
        let mut fewer = stops.clone();
        fewer.enter.remove(&block);
        let before = fewer.clone();
        match find(&mut fewer) {
            // No stop was added on the way.
            Ok(better) if fewer == before => (plan, stops) = (better, fewer),
            Err(Failure::Stopped(stopped)) => return Err(stopped),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(plan)
}

/// The region that consists of one block's body; `None` if that must run in the interpreter.
pub fn single_block(func: &Function, facts: &KernelFacts, entry: Block) -> Option<Plan> {
    // A vote over one chunk is not the condition that the driver needs.
    let votes = facts.votes.contains_key(&entry) && !facts.votes_at_exit(entry);
    if has_cross_lane(func, facts, entry) || votes {
        return None;
    }
    Some(Plan::of_block(func, facts, entry))
}

impl Plan {
    /// A block's body, after which the driver executes its terminator.
    fn of_block(func: &Function, facts: &KernelFacts, entry: Block) -> Plan {
        let cond = facts.exit_cond(func, entry);
        Plan {
            nodes: vec![Node { block: Some(entry), term: NodeTerm::Exit(1, cond) }],
            exits: vec![ExitKind::Ended, ExitKind::Terminator(entry)],
            may_wait: false,
        }
    }
}

/// The region that consists of one block's body, for a chunk that holds the whole wave, though the kernel's chunks do not: there
/// cross-lane operations need nobody else.
pub fn whole_block(func: &Function, facts: &KernelFacts, entry: Block) -> Option<Plan> {
    let mode = Mode { whole: true, across: true, ..facts.mode };
    if !mode.wave || is_of_interpreter(func, mode, entry) || facts.surely_waits(entry) {
        return None;
    }
    Some(Plan::of_block(func, facts, entry))
}

/// Whether the body of a block must run in the interpreter.
fn has_cross_lane(func: &Function, facts: &KernelFacts, block: Block) -> bool {
    is_of_interpreter(func, facts.mode, block)
}

fn is_of_interpreter(func: &Function, mode: Mode, block: Block) -> bool {
    let possible = |inst: &InstData| match (inst.op, inst.imm) {
        (Opcode::Atomic, Imm::Atomic(m, _)) => !matches!(m.space, Space::Const(_)),
        (Opcode::CallDevice, Imm::Device(site)) => !(site.callee.stores)(site.params),
        (op, _) => match op.reach() {
            Reach::Lane => !op.has_lane_order(),
            Reach::Quad => mode.by_quads || mode.across,
            Reach::Warp => mode.across && op.is_in_whole_warp(),
        },
    };
    func.block(block)
        .insts
        .iter()
        .any(|&i| !possible(func.inst(i)) || !mode.stores_once && is_wave_store(func, i))
        || matches!(func.term(block), Terminator::BranchIndirect { .. })
}

/// One try to explore a region.
struct Explorer<'a> {
    func: &'a Function,
    facts: &'a KernelFacts,
    entry: Block,
    size: Size,
    meter: &'a Meter,
    stops: &'a mut Stops,
    to_end: bool,
    nodes: Vec<Node>,
    index: HashMap<(Block, Vec<Entry>), usize>,
    exits: Vec<ExitKind>,
    work: VecDeque<(usize, Block, Vec<Entry>)>,
    /// Join entries below which a lane leaves.
    crossed: HashSet<Entry>,
    /// Join entries, each with a block that pops it.
    joined: Vec<(Entry, Block)>,
    insts: usize,
    /// For each node: the depth of the relative stack and its outermost entry. `None` for nodes without a block.
    places: Vec<Option<(usize, Option<Entry>)>>,
    /// The ordered accesses of all nodes so far, while the nodes form one chain.
    chain: Option<OrderedAccesses>,
}

impl Explorer<'_> {
    fn run(mut self) -> Result<Plan, Failure> {
        self.visit(self.entry, Vec::new())?;
        while let Some((node, block, stack)) = self.work.pop_front() {
            let term = self.expand(block, &stack)?;
            self.nodes[node].term = term;
        }
        if self.to_end && self.exits.len() > 1 {
            return Err(Failure::Impossible);
        }
        self.check_crossed_joins()?;
        let (nodes, exits) = (std::mem::take(&mut self.nodes), std::mem::take(&mut self.exits));
        let mut plan = Plan { nodes, exits, may_wait: false };
        plan.may_wait = self.check_cycles(&plan)?;
        self.check_hazards(&plan)?;
        self.check_votes(&plan)?;
        self.check_quads(&plan)?;
        Ok(plan)
    }

    /// Adds a stop where the lanes are still convergent: at the push of the outermost entry, or at the block itself.
    fn fail_at(&mut self, block: Block, stack: &[Entry], before: bool) -> Failure {
        if let Some(outer) = stack.first() {
            self.stops.term.insert(outer.pusher);
        } else if before && block != self.entry {
            self.stops.enter.insert(block);
        } else {
            self.stops.term.insert(block);
        }
        Failure::Stop
    }

    fn exit(&mut self, kind: ExitKind) -> usize {
        self.exits.iter().position(|e| *e == kind).unwrap_or_else(|| {
            self.exits.push(kind);
            self.exits.len() - 1
        })
    }

    /// The node of a block and a relative stack; explores it if it is new.
    fn visit(&mut self, block: Block, stack: Vec<Entry>) -> Result<usize, Failure> {
        let again = self.stops.back && block == self.entry && stack.is_empty() && !self.nodes.is_empty();
        if let Some(&n) = self.index.get(&(block, stack.clone())).filter(|_| !again) {
            return Ok(n);
        }
        if again {
            // The entry's own node stays the one that is known.
            let exit = self.exit(ExitKind::Enter(block));
            let node = self.end_node(NodeTerm::Exit(exit, None));
            self.places[node] = Some((0, None));
            return Ok(node);
        }
        let first = self.nodes.is_empty();
        let node = self.nodes.len();
        self.meter.step(1 + self.func.block(block).insts.len() / 64)?;
        if !first
            && (has_cross_lane(self.func, self.facts, block)
                || self.stops.enter.contains(&block) && stack.is_empty())
        {
            if !stack.is_empty() {
                return Err(self.fail_at(block, &stack, true));
            }
            return Ok(self.enter_node(block));
        }
        if let Some(before) = self.chain {
            let own = OrderedAccesses::of_block(self.func, block, &self.facts.order);
            if !first && stack.is_empty() && before.conflicts_with(own) {
                // `check_hazards` would find this too, but only after exploring everything after it.
                self.stops.enter.insert(block);
                return Ok(self.enter_node(block));
            }
            self.chain = Some(before.plus(own));
        }
        self.insts += self.func.block(block).insts.len();
        let more = if self.facts.mode.whole { WHOLE_TIMES } else { 1 };
        let too_long = node >= self.size.nodes * more || self.insts > self.size.insts * more && !first;
        if too_long || stack.len() > MAX_DEPTH {
            return Err(self.fail_at(block, &stack, true));
        }
        self.nodes.push(Node { block: Some(block), term: NodeTerm::End });
        self.places.push(Some((stack.len(), stack.first().copied())));
        self.index.insert((block, stack.clone()), node);
        self.work.push_back((node, block, stack));
        Ok(node)
    }

    /// The node at which the region exits before `block`. The relative stack is empty there.
    fn enter_node(&mut self, block: Block) -> usize {
        let exit = self.exit(ExitKind::Enter(block));
        let node = self.end_node(NodeTerm::Exit(exit, None));
        self.places[node] = Some((0, None));
        self.index.insert((block, Vec::new()), node);
        node
    }

    fn end_node(&mut self, term: NodeTerm) -> usize {
        self.nodes.push(Node { block: None, term });
        self.places.push(None);
        self.nodes.len() - 1
    }

    /// The node that a leaving lane reaches.
    fn leave(&mut self, block: Block, kind: LeaveKind, stack: &[Entry]) -> Result<usize, Failure> {
        let found = kind.entry().and_then(|k| stack.iter().rposition(|e| e.kind == k));
        let kept = found.unwrap_or(0);
        self.crossed.extend(stack[kept..].iter().filter(|e| e.kind == PushKind::Join));
        match (found, kind) {
            (Some(i), _) => self.visit(stack[i].target, stack[..i].to_vec()),
            (None, LeaveKind::Exit) => Ok(self.end_node(NodeTerm::End)),
            (None, LeaveKind::Return) if !self.facts.may_be_called[block.index()] => {
                Ok(self.end_node(NodeTerm::End))
            }
            _ => Err(self.fail_at(block, stack, false)),
        }
    }

    fn expand(&mut self, block: Block, stack: &[Entry]) -> Result<NodeTerm, Failure> {
        let term = self.func.term(block);
        let by_exit = self.facts.votes_at_exit(block) && !self.facts.votes.contains_key(&block);
        if stack.is_empty() && (by_exit || self.stops.term.contains(&block)) {
            let exit = self.exit(ExitKind::Terminator(block));
            return Ok(NodeTerm::Exit(exit, self.facts.exit_cond(self.func, block)));
        }
        let push = |kind, target| {
            let mut s = stack.to_vec();
            s.push(Entry { kind, target, pusher: block });
            s
        };
        match term {
            Terminator::Jump(to) => Ok(NodeTerm::Jump(self.visit(to.block, stack.to_vec())?)),
            Terminator::Branch { cond, taken, next } => {
                let counted = self.facts.mode.counted;
                let parts = stack.is_empty() && !self.to_end && !self.facts.uniform.cond_is_uniform(block);
                if parts && !counted {
                    return Err(self.fail_at(block, stack, false));
                }
                self.chain = None;
                let next = self.visit(next.block, stack.to_vec())?;
                let taken = self.visit(taken.block, stack.to_vec())?;
                Ok(match counted && !self.func.ty(*cond).uniform {
                    true => {
                        let exit = parts.then(|| self.exit(ExitKind::Terminator(block)));
                        NodeTerm::Agree(*cond, taken, next, exit)
                    }
                    false => NodeTerm::Branch(*cond, taken, next),
                })
            }
            // The stack belongs to the driver. It does not change if no lane leaves.
            Terminator::Leave { cond: Some(cond), next, .. }
            | Terminator::Join { cond: Some(cond), next, .. }
                if self.facts.mode.counted =>
            {
                let exit = self.exit(ExitKind::Terminator(block));
                Ok(NodeTerm::Unless(*cond, self.visit(*next, stack.to_vec())?, exit))
            }
            Terminator::Push { .. } | Terminator::Call { .. } | Terminator::Join { .. }
                if self.facts.mode.counted =>
            {
                Err(self.fail_at(block, stack, false))
            }
            Terminator::Push { kind, target, next } => {
                Ok(NodeTerm::Jump(self.visit(*next, push(*kind, *target))?))
            }
            Terminator::Call { target, ret } => {
                Ok(NodeTerm::Jump(self.visit(*target, push(PushKind::Call, *ret))?))
            }
            Terminator::Leave { kind, cond, next } => {
                let away = self.leave(block, *kind, stack)?;
                match cond {
                    None => Ok(NodeTerm::Jump(away)),
                    Some(cond) => {
                        self.chain = None;
                        let next = self.visit(*next, stack.to_vec())?;
                        Ok(NodeTerm::Branch(*cond, away, next))
                    }
                }
            }
            Terminator::Join { cond, next, at_target } => match stack.split_last() {
                Some((top, below)) if top.kind == PushKind::Join => {
                    self.joined.push((*top, block));
                    let arrived = match at_target {
                        true => top.target,
                        false => self.func.behind_join(block, *next, top.target),
                    };
                    let arrived = self.visit(arrived, below.to_vec())?;
                    match cond {
                        None => Ok(NodeTerm::Jump(arrived)),
                        Some(cond) => {
                            self.chain = None;
                            let next = self.visit(*next, stack.to_vec())?;
                            Ok(NodeTerm::Branch(*cond, arrived, next))
                        }
                    }
                }
                _ => Err(self.fail_at(block, stack, false)),
            },
            Terminator::Fault(kind) => Ok(NodeTerm::Fault(*kind)),
            _ => Err(self.fail_at(block, stack, false)),
        }
    }
}
