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

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

use super::sizes::Size;
use super::split::{Order, OrderedAccesses};
use super::uniform::Uniformity;
use super::waiting::{Waiting, Waits};
use super::wave_memory::is_wave_store;
use warpjit_ir_core::entities::{Block, Slot, Value};
pub use warpjit_ir_core::exit::ExitKind;
use warpjit_ir_core::exit::terminator_cond;
use warpjit_ir_core::function::{Function, GuestFault, Imm, InstData, LeaveKind, PushKind, Terminator};
use warpjit_ir_core::graph::{self, DominatorTree};
use warpjit_ir_core::meter::{Meter, Stopped};
use warpjit_ir_core::opcodes::{Opcode, Space};

/// Factor on both limits if one chunk holds the whole warp. Blocks are single bundles then, and most of their
/// instructions read and write slots.
const WHOLE_TIMES: usize = 3;
/// Most entries pushed within a region (a bound on recursion).
const MAX_DEPTH: usize = 12;

/// How a lane continues after a node. Numbers are nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeTerm {
    /// Continues at a node.
    Jump(usize),
    /// Continues at the first node if the condition holds, else at the second.
    Branch(Value, usize, usize),
    /// The same, if all lanes agree. Otherwise the region takes the exit with this index in [`Plan::exits`]; `None`:
    /// they always agree.
    Agree(Value, usize, usize, Option<usize>),
    /// Continues at the node if the condition holds in no lane, otherwise takes the exit.
    Unless(Value, usize, usize),
    /// Continues at the node if the steps left suffice for one pass through the region ([`Plan::steps`]), otherwise
    /// takes the exit.
    Limit(usize, usize),
    /// The thread ends.
    End,
    /// Takes the exit with this index in [`Plan::exits`], with the condition for its terminator.
    Exit(usize, Option<Value>),
    /// The guest faults.
    Fault(GuestFault),
}

impl NodeTerm {
    /// The nodes at which it may continue.
    fn targets_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let targets = match self {
            NodeTerm::Jump(to) | NodeTerm::Unless(_, to, _) | NodeTerm::Limit(to, _) => [Some(to), None],
            NodeTerm::Branch(_, taken, next) | NodeTerm::Agree(_, taken, next, _) => {
                [Some(taken), Some(next)]
            }
            NodeTerm::End | NodeTerm::Exit(..) | NodeTerm::Fault(_) => [None, None],
        };
        targets.into_iter().flatten()
    }
}

/// A block together with the stack entries pushed since the region's start.
#[derive(Clone, Debug)]
pub struct Node {
    /// The block whose body runs; `None` for a node without a body.
    pub block: Option<Block>,
    /// What comes after it.
    pub term: NodeTerm,
}

/// A region's graph.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Nodes; the region starts at the first.
    pub nodes: Vec<Node>,
    /// Its exits; the first is [`ExitKind::Ended`].
    pub exits: Vec<ExitKind>,
    /// Whether one of its loops may wait for other warps.
    pub may_wait: bool,
}

impl Plan {
    /// Successor lists of the nodes.
    pub fn successors(&self) -> Vec<Vec<usize>> {
        let of = |node: &Node| {
            let mut list: Vec<usize> = node.term.clone().targets_mut().map(|to| *to).collect();
            list.dedup();
            list
        };
        self.nodes.iter().map(of).collect()
    }

    /// The most guest instructions on any path through the region that takes no back edge.
    pub fn steps(&self, func: &Function) -> u32 {
        let blocks = self.nodes.iter().filter_map(|node| node.block);
        blocks.fold(0, |sum, block| sum.saturating_add(func.block(block).guest_insts))
    }

    /// Puts a [`NodeTerm::Limit`] on every back edge; `None` for an irreducible graph.
    fn limit_loops(mut self) -> Option<Plan> {
        let loops = graph::natural_loops(&self.successors(), 0)?;
        let mut limits: HashMap<usize, usize> = HashMap::new();
        for n in 0..self.nodes.len() {
            let mut term = self.nodes[n].term;
            for to in term.targets_mut() {
                let header = *to;
                let leads_back =
                    |(l, of): (usize, &graph::Loop<usize>)| of.header == header && loops.is_in(l, n);
                if !loops.loops.iter().enumerate().any(leads_back) {
                    continue;
                }
                *to = *limits.entry(header).or_insert_with(|| {
                    let kind = ExitKind::Enter(self.nodes[header].block.expect("a loop's header has a body"));
                    let exit = self.exits.iter().position(|e| *e == kind).unwrap_or_else(|| {
                        self.exits.push(kind);
                        self.exits.len() - 1
                    });
                    self.nodes.push(Node { block: None, term: NodeTerm::Limit(header, exit) });
                    self.nodes.len() - 1
                });
            }
            self.nodes[n].term = term;
        }
        Some(self)
    }
}

/// How regions are run.
#[derive(Clone, Copy, Default, Debug)]
pub struct Run {
    /// One chunk holds all lanes of the warp.
    pub whole: bool,
    /// Regions may contain cross-lane operations.
    pub across: bool,
    /// A block has only one warp.
    pub alone: bool,
    /// The warp's steps are counted: lanes must not diverge, and loops exit when the steps left run short.
    pub counted: bool,
    /// Lanes never diverge ([`super::wave`]).
    pub wave: bool,
    /// A chunk holds whole quads.
    pub by_quads: bool,
    /// Regions that do not count their steps contain no loops.
    pub cut_loops: bool,
    /// Code does a scalar store of a wave once.
    pub stores_once: bool,
}

/// What exploring needs to know of the kernel.
#[derive(Debug)]
pub struct KernelFacts {
    /// Which slots and conditions are uniform.
    pub uniform: Uniformity,
    /// Blocks that may run with a call entry on the stack.
    may_be_called: Vec<bool>,
    run: Run,
    /// Which memory accesses are ordered between lanes.
    order: Order,
    /// Blocks with a vote that each chunk takes by itself, each with the post-dominator of the vote's branch
    /// ([`super::votes`]).
    votes: HashMap<Block, Block>,
    /// Blocks with a vote that an exit can take, each with the mask that is asked for ([`super::votes::at_exits`]).
    exit_votes: HashMap<Block, Value>,
    /// For each block explored so far: whether it is the head of a loop that certainly waits.
    waits: Vec<AtomicBool>,
}

impl KernelFacts {
    /// Analyses a kernel in SPMD form. Its blocks must be cut at hazards, unless one chunk holds the whole warp.
    pub fn compute(
        func: &Function,
        run: Run,
        order: Order,
        (votes, exit_votes): (HashMap<Block, Block>, HashMap<Block, Value>),
        meter: &Meter,
    ) -> Result<KernelFacts, Stopped> {
        let may_be_called = may_be_called(func, meter)?;
        let waits = func.blocks.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(KernelFacts {
            uniform: Uniformity::compute(func, meter)?,
            may_be_called,
            run,
            order,
            votes,
            exit_votes,
            waits,
        })
    }

    /// Whether the block ends with a vote that the exit of a region can take.
    pub fn votes_at_exit(&self, block: Block) -> bool {
        self.exit_votes.contains_key(&block)
    }

    /// What an exit after the block's body gives as the condition of its terminator: the mask of a vote, since the condition needs all
    /// lanes of the warp.
    fn exit_cond(&self, func: &Function, block: Block) -> Option<Value> {
        self.exit_votes.get(&block).copied().or_else(|| terminator_cond(func.term(block)))
    }

    /// Whether a block is known to be the head of a loop that certainly waits.
    pub fn surely_waits(&self, block: Block) -> bool {
        self.waits.get(block.index()).is_some_and(|waits| waits.load(Ordering::Relaxed))
    }

    fn note_wait(&self, block: Option<Block>) {
        if let Some(waits) = block.and_then(|block| self.waits.get(block.index())) {
            waits.store(true, Ordering::Relaxed);
        }
    }
}

/// Blocks that may run with a call entry on the stack.
fn may_be_called(func: &Function, meter: &Meter) -> Result<Vec<bool>, Stopped> {
    let mut found = vec![false; func.blocks.len()];
    let mut work: Vec<Block> = Vec::new();
    let mut is_indirect = false;
    for b in func.block_ids() {
        match *func.term(b) {
            Terminator::Call { target, .. } => work.push(target),
            Terminator::Push { kind: PushKind::Call, next, .. } => work.push(next),
            Terminator::BranchIndirect { .. } => is_indirect = true,
            _ => {}
        }
    }
    if is_indirect && !work.is_empty() {
        // Whatever an indirect branch reaches.
        work.extend(func.block_at.values());
    }
    while let Some(b) = work.pop() {
        if !std::mem::replace(&mut found[b.index()], true) {
            meter.step(1)?;
            func.term(b).for_each_successor(|s| work.push(s));
        }
    }
    Ok(found)
}

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
        if to_end && facts.run.counted {
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
                chain: (!facts.run.whole && !facts.run.across).then(OrderedAccesses::default),
            };
            e.run()
        };
        for _ in 0..200 {
            match find(&mut stops) {
                Ok(plan) if facts.run.counted => return Ok(plan.limit_loops()),
                Ok(plan) if facts.run.wave => return with_fewer_stops(plan, stops, find).map(Some),
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

/// A stop that was found early may be needless behind one that was found later: a loop is no loop where a vote in it leaves the region.
/// Takes back those before blocks with which nothing else is wrong.
fn with_fewer_stops(
    mut plan: Plan,
    mut stops: Stops,
    mut find: impl FnMut(&mut Stops) -> Result<Plan, Failure>,
) -> Result<Plan, Stopped> {
    let mut enters: Vec<Block> = stops.enter.iter().copied().collect();
    enters.sort();
    for block in enters.into_iter().take(MOST_TAKEN_BACK) {
        if !plan.exits.contains(&ExitKind::Enter(block)) {
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

/// Most stops that are tried to be taken back: each try explores the region once more.
const MOST_TAKEN_BACK: usize = 4;

/// The region that consists of one block's body; `None` if that must run in the interpreter.
pub fn single_block(func: &Function, facts: &KernelFacts, entry: Block) -> Option<Plan> {
    // A vote over one chunk is not the condition that the driver needs.
    let votes = facts.votes.contains_key(&entry) && !facts.votes_at_exit(entry);
    if has_cross_lane(func, facts, entry) || votes {
        return None;
    }
    let cond = facts.exit_cond(func, entry);
    Some(Plan {
        nodes: vec![Node { block: Some(entry), term: NodeTerm::Exit(1, cond) }],
        exits: vec![ExitKind::Ended, ExitKind::Terminator(entry)],
        may_wait: false,
    })
}

/// The region that consists of one block's body, for a chunk that holds the whole wave, though the kernel's chunks do not: there
/// cross-lane operations need nobody else.
pub fn whole_block(func: &Function, facts: &KernelFacts, entry: Block) -> Option<Plan> {
    let run = Run { whole: true, across: true, ..facts.run };
    if !run.wave || is_of_interpreter(func, run, entry) || facts.surely_waits(entry) {
        return None;
    }
    let cond = facts.exit_cond(func, entry);
    Some(Plan {
        nodes: vec![Node { block: Some(entry), term: NodeTerm::Exit(1, cond) }],
        exits: vec![ExitKind::Ended, ExitKind::Terminator(entry)],
        may_wait: false,
    })
}

/// Whether the body of a block must run in the interpreter.
fn has_cross_lane(func: &Function, facts: &KernelFacts, block: Block) -> bool {
    is_of_interpreter(func, facts.run, block)
}

fn is_of_interpreter(func: &Function, run: Run, block: Block) -> bool {
    let possible = |inst: &InstData| match (inst.op, inst.imm) {
        (Opcode::Atomic, Imm::Atomic(m, _)) => !matches!(m.space, Space::Const(_)),
        (Opcode::QuadLane, _) if run.by_quads => true,
        (Opcode::CallDevice, Imm::Device(site)) => !(site.callee.stores)(site.params),
        (op, _) => !op.is_cross_lane() || run.across && op.is_in_whole_warp(),
    };
    func.block(block)
        .insts
        .iter()
        .any(|&i| !possible(func.inst(i)) || !run.stores_once && is_wave_store(func, i))
        || matches!(func.term(block), Terminator::BranchIndirect { .. })
}

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
        let more = if self.facts.run.whole { WHOLE_TIMES } else { 1 };
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
                let counted = self.facts.run.counted;
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
                if self.facts.run.counted =>
            {
                let exit = self.exit(ExitKind::Terminator(block));
                Ok(NodeTerm::Unless(*cond, self.visit(*next, stack.to_vec())?, exit))
            }
            Terminator::Push { .. } | Terminator::Call { .. } | Terminator::Join { .. }
                if self.facts.run.counted =>
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

    /// On Tesla, lanes that wait at a join execute the joining instruction again if others leave across it
    /// (docs/hardware/divergence.md, unwind). Checks that this makes no difference.
    fn check_crossed_joins(&mut self) -> Result<(), Failure> {
        for (entry, block) in self.joined.clone() {
            let at_target = matches!(self.func.term(block), Terminator::Join { at_target: true, .. });
            if self.crossed.contains(&entry)
                && !at_target
                && (entry.target != block || !is_idempotent(self.func, block))
            {
                self.stops.term.insert(entry.pusher);
                // The push may itself be nested. If so, exploring fails there again and finds the outermost one.
                let of_pusher =
                    self.nodes.iter().zip(&self.places).filter(|(n, _)| n.block == Some(entry.pusher));
                let outer = of_pusher.filter_map(|(_, place)| (*place)?.1).next();
                self.stops.term.extend(outer.map(|outer| outer.pusher));
                return Err(Failure::Stop);
            }
        }
        Ok(())
    }

    /// Adds a stop for a node: at its outermost push, or at its own block.
    fn stop_of_node(&mut self, plan: &Plan, node: usize) -> Failure {
        let block = plan.nodes[node].block.expect("node with a body");
        let outer = self.places[node].and_then(|place| place.1);
        self.fail_at(block, outer.as_slice(), true)
    }

    /// Whether the relative stack of a node is empty.
    fn is_outermost(&self, node: usize) -> bool {
        self.places[node].is_some_and(|(depth, _)| depth == 0)
    }

    /// Checks loops: no irreducible graph, no stores to ordered memory, no loop that certainly waits. Returns whether a
    /// loop that stays may wait.
    fn check_cycles(&mut self, plan: &Plan) -> Result<bool, Failure> {
        let succs = plan.successors();
        let loops = graph::natural_loops(&succs, 0);
        for component in graph::strongly_connected(&succs) {
            let cyclic = component.len() > 1 || succs[component[0]].contains(&component[0]);
            if !cyclic {
                continue;
            }
            if self.facts.run.cut_loops && !self.facts.run.counted {
                return Err(self.stop_before(plan, &component));
            }
            let mut apart = OrderedAccesses::default();
            for &n in component.iter().filter(|_| !self.facts.run.across) {
                let Some(b) = plan.nodes[n].block else { continue };
                let together = self.facts.run.whole && !self.to_end && self.is_outermost(n);
                if !together {
                    apart = apart.plus(OrderedAccesses::of_block(self.func, b, &self.facts.order));
                }
            }
            let ordered = apart.needs_all() || apart.conflicts_with(apart);
            if loops.is_none() || ordered {
                let nest = loops.iter().flat_map(|nest| &nest.loops);
                let nest: Vec<_> = nest.filter(|of| component.contains(&of.header)).collect();
                if loops.is_some() && self.may_end_at_entry(plan, &succs, &component, &nest) {
                    self.stops.back = true;
                    return Err(Failure::Stop);
                }
                return Err(self.stop_before(plan, &component));
            }
        }
        let mut may_wait = false;
        let waiting = Waiting { func: self.func, plan, succs: &succs };
        for of in loops.iter().flat_map(|nest| &nest.loops) {
            self.meter.step(1 + of.blocks.len() / 8)?;
            let waits = waiting.waits(of, !self.facts.run.alone);
            match waits {
                Waits::Never => continue,
                Waits::Maybe if self.may_stay(plan, &succs, of, &waiting) => {
                    may_wait = true;
                    continue;
                }
                Waits::Maybe => {}
                Waits::Surely => self.facts.note_wait(plan.nodes[of.header].block),
            }
            return Err(self.stop_before(plan, &of.blocks));
        }
        Ok(may_wait)
    }

    /// Whether a region that starts inside a loop that it cannot hold may end where the loop comes back to its start: then it is
    /// one turn of the loop, instead of a single block. Not where chunks would leave the loop by different scalars.
    fn may_end_at_entry(
        &self,
        plan: &Plan,
        succs: &[Vec<usize>],
        component: &[usize],
        nest: &[&graph::Loop<usize>],
    ) -> bool {
        let waiting = Waiting { func: self.func, plan, succs };
        let keeps = |of: &&graph::Loop<usize>| {
            waiting.waits(of, !self.facts.run.alone) != Waits::Surely
                && !waiting.leaves_by_scalar_memory(&of.blocks)
        };
        self.facts.run.wave && !self.stops.back && component.contains(&0) && nest.iter().all(keeps)
    }

    /// Adds a stop where a loop is entered, at its node with the smallest relative stack.
    fn stop_before(&mut self, plan: &Plan, nodes: &[usize]) -> Failure {
        let node = nodes
            .iter()
            .copied()
            .min_by_key(|&n| (self.places[n].map_or(0, |place| place.0), n))
            .expect("not empty");
        let before = self.stops.clone();
        let failure = self.stop_of_node(plan, node);
        if before.term == self.stops.term && before.enter == self.stops.enter {
            return Failure::Impossible;
        }
        failure
    }

    /// Whether a loop that may wait can stay in the region. It cannot if it may wait for lanes of its own chunk that
    /// the hardware would run before the loop and compiled code runs after it.
    fn may_stay(
        &self,
        plan: &Plan,
        succs: &[Vec<usize>],
        of: &graph::Loop<usize>,
        waiting: &Waiting,
    ) -> bool {
        let run = self.facts.run;
        if self.facts.order.lockstep || run.counted {
            return false;
        }
        if run.wave {
            // A chunk of the whole wave keeps the program's order. Smaller chunks must not exit the loop by different
            // scalars.
            return run.whole || !waiting.leaves_by_scalar_memory(&of.blocks);
        }
        // On the hardware, lanes that take the branch run first, and the others wait for them.
        let away = |&n: &usize| {
            let block = plan.nodes[n].block.map(|block| self.func.term(block));
            match (plan.nodes[n].term, block) {
                (NodeTerm::Branch(_, taken, _), Some(Terminator::Branch { cond, .. })) => {
                    !of.blocks.contains(&taken) && !self.func.ty(*cond).uniform
                }
                _ => false,
            }
        };
        if of.blocks.iter().any(away) {
            return false;
        }
        let order = graph::reverse_postorder(succs, 0);
        let mut position = vec![usize::MAX; succs.len()];
        order.iter().enumerate().for_each(|(at, &n)| position[n] = at);
        let dominators = DominatorTree::new(succs, &order);
        // The nodes before the loop and after it, ignoring back edges.
        let (mut before, mut behind) = (vec![false; succs.len()], vec![false; succs.len()]);
        behind[of.header] = true;
        for &n in &order {
            if behind[n] {
                succs[n].iter().filter(|&&s| position[s] > position[n]).for_each(|&s| behind[s] = true);
            }
        }
        before[of.header] = true;
        for &n in order.iter().rev() {
            before[n] |= succs[n].iter().any(|&s| position[s] > position[n] && before[s]);
        }
        let tells = |n: usize| {
            let insts = plan.nodes[n].block.into_iter().flat_map(|b| &self.func.block(b).insts);
            insts.map(|&i| self.func.inst(i)).any(|data| match (data.op, data.imm) {
                (Opcode::Store, Imm::Mem(m)) => m.space != Space::Local,
                (op, _) => op == Opcode::Atomic,
            })
        };
        order.iter().copied().filter(|&n| !of.blocks.contains(&n) && tells(n)).all(|n| {
            let joined = !self.to_end && self.is_outermost(n);
            before[n] || behind[n] && (joined || dominators.dominates(of.header, n))
        })
    }

    /// Checks that the paths of every vote taken by chunks meet again before the region exits. Others are left to an exit.
    fn check_votes(&mut self, plan: &Plan) -> Result<(), Failure> {
        let succs = plan.successors();
        for (n, node) in plan.nodes.iter().enumerate() {
            let Some(block) = node.block else { continue };
            let Some(&meeting) = self.facts.votes.get(&block) else { continue };
            if matches!(node.term, NodeTerm::Exit(..)) {
                continue;
            }
            let meets = |node: &Node| match (node.block, node.term) {
                (Some(at), _) => at == meeting,
                (None, NodeTerm::Exit(exit, _)) => plan.exits[exit] == ExitKind::Enter(meeting),
                _ => false,
            };
            let (mut seen, mut work) = (HashSet::new(), vec![n]);
            let mut together = true;
            while let Some(at) = work.pop() {
                together &= matches!(plan.nodes[at].term, NodeTerm::Jump(_) | NodeTerm::Branch(..));
                work.extend(succs[at].iter().copied().filter(|&s| !meets(&plan.nodes[s]) && seen.insert(s)));
            }
            if together {
                continue;
            }
            if self.facts.votes_at_exit(block) {
                self.stops.term.insert(block);
            } else if block == self.entry {
                return Err(Failure::Impossible);
            } else {
                self.stops.enter.insert(block);
            }
            return Err(Failure::Stop);
        }
        Ok(())
    }

    /// Checks that all lanes that entered the region are together where one looks at others of its quad: then those that are not active did
    /// not enter, so that their registers are what they were. Lanes that end before the first instruction do not count: nobody gave their
    /// registers a value.
    fn check_quads(&mut self, plan: &Plan) -> Result<(), Failure> {
        if self.facts.run.wave {
            return Ok(());
        }
        let looks = |node: &Node| node.block.is_some_and(|block| looks_at_quad(self.func, block));
        let quads: Vec<usize> = (0..plan.nodes.len()).filter(|&n| looks(&plan.nodes[n])).collect();
        if quads.is_empty() {
            return Ok(());
        }
        let succs = plan.successors();
        // Nodes from which a thread ends; and those that lanes reach when some may have ended.
        let is_end = |n: usize| plan.nodes[n].term == NodeTerm::End;
        let ends_early = |n: &usize| {
            let starts = plan.nodes[*n].block.is_some_and(|block| self.func.block(block).guest_insts == 0);
            !starts && succs[*n].len() > 1 && succs[*n].iter().any(|&to| is_end(to))
        };
        let mut behind = vec![false; succs.len()];
        let mut work: Vec<usize> = (0..succs.len()).filter(ends_early).collect();
        while let Some(n) = work.pop() {
            for &to in &succs[n] {
                if !std::mem::replace(&mut behind[to], true) {
                    work.push(to);
                }
            }
        }
        for n in quads {
            let together = (!self.to_end || self.facts.run.counted) && self.is_outermost(n) && !behind[n];
            if !together {
                if plan.nodes[n].block == Some(self.entry) {
                    return Err(Failure::Impossible);
                }
                return Err(self.stop_of_node(plan, n));
            }
        }
        Ok(())
    }

    /// Checks for conflicts between ordered accesses of different blocks.
    fn check_hazards(&mut self, plan: &Plan) -> Result<(), Failure> {
        if self.facts.run.across {
            return Ok(());
        }
        let mut sum = OrderedAccesses::default();
        let succs = plan.successors();
        let preds = graph::predecessors(&succs);
        let mut order: Vec<usize> = graph::reverse_postorder(&succs, 0);
        order.retain(|&n| plan.nodes[n].block.is_some());
        let joined: Vec<bool> = (0..plan.nodes.len()).map(|n| !self.to_end && self.is_outermost(n)).collect();
        // Nodes that lanes reach by one path only since all lanes were last convergent.
        let mut one_way = vec![false; plan.nodes.len()];
        let mut position = vec![0; plan.nodes.len()];
        for (at, &n) in order.iter().enumerate() {
            position[n] = at;
            one_way[n] = joined[n]
                || match preds[n][..] {
                    [] => true,
                    [p] => n != 0 && one_way[p],
                    _ => false,
                };
        }
        let dominators = DominatorTree::new(&succs, &graph::reverse_postorder(&succs, 0));
        let mut before: Vec<(usize, OrderedAccesses, bool)> = Vec::new();
        for n in order {
            let block = plan.nodes[n].block.expect("has a body");
            let own = OrderedAccesses::of_block(self.func, block, &self.facts.order);
            if own.is_empty() {
                continue;
            }
            // If lanes reach a store by several paths without reconverging, the hardware executes it once for each
            // path.
            let together = one_way[n];
            // If one chunk holds the whole warp, code keeps the order of two accesses if one dominates the other, or if
            // all lanes reconverge between them.
            let mut meeting = Some(n);
            while let Some(d) = meeting.filter(|&d| !joined[d]) {
                meeting = dominators.idom[d];
            }
            let ordered =
                |m: usize| meeting.is_some_and(|d| position[m] < position[d]) || dominators.dominates(m, n);
            let conflict = match self.facts.run.whole {
                true => before.iter().any(|&(m, theirs, with)| {
                    theirs.conflicts_with(own) && !(with && together && ordered(m))
                }),
                false => sum.conflicts_with(own),
            };
            before.push((n, own, together));
            if n != 0 && (conflict || own.needs_all() && !together) {
                return Err(self.stop_of_node(plan, n));
            }
            sum = sum.plus(own);
        }
        Ok(())
    }
}

/// Whether a block contains an operation on quads.
pub fn looks_at_quad(func: &Function, block: Block) -> bool {
    func.block(block).insts.iter().any(|&inst| func.inst(inst).op == Opcode::QuadLane)
}

/// Whether running the block's body twice has the same effect as once.
fn is_idempotent(func: &Function, block: Block) -> bool {
    let mut read: HashSet<Slot> = HashSet::new();
    let insts = &func.block(block).insts;
    for &i in insts {
        if let (Opcode::SlotGet, Imm::Slot(s)) = (func.inst(i).op, func.inst(i).imm) {
            read.insert(s);
        }
    }
    insts.iter().all(|&i| match (func.inst(i).op, func.inst(i).imm) {
        (Opcode::SlotSet, Imm::Slot(s)) => !read.contains(&s),
        (op, _) => !op.has_effect() && op != Opcode::Load,
    })
}
