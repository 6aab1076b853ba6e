//! Finds loops that wait for other warps: for memory to change, or for a lock.
//!
//! A loop whose exit depends on what it loads may be waiting for another warp, or it may be walking a list; its code does not
//! tell. It certainly waits only if nothing changes between iterations but what it loads. Such a loop ends a region, so that the
//! warp returns to the scheduler after each iteration. Other loops that may wait stay in a region that is marked
//! ([`super::Region::may_wait`]); the runtime can suspend its code in the middle of a loop.

use super::plan::{NodeTerm, Plan};
use super::taint::{self, Noted};
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use warpjit_ir_core::entities::{Block, Slot, Value};
use warpjit_ir_core::function::{Function, Imm, InstData};
use warpjit_ir_core::graph::{self, Loop};
use warpjit_ir_core::opcodes::{AtomicOp, Opcode, Space};
use warpjit_ir_core::types::Scalar;

/// A region's graph whose loops are classified.
pub(super) struct Waiting<'a> {
    pub func: &'a Function,
    pub plan: &'a Plan,
    pub succs: &'a [Vec<usize>],
}

/// Whether a loop waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waits {
    /// It does not wait: whether it ends does not depend on others.
    Never,
    /// It may wait.
    Maybe,
    /// It certainly waits while it iterates.
    Surely,
}

impl Waiting<'_> {
    /// Whether a loop waits. `shared`: other warps may write shared memory too.
    pub fn waits(&self, of: &Loop<usize>, shared: bool) -> Waits {
        if !self.may_wait(of, shared) {
            return Waits::Never;
        }
        if self.only_loads_change(&of.blocks) { Waits::Surely } else { Waits::Maybe }
    }

    /// Whether the exit of a loop depends on a scalar load within it from memory that others may write. Then chunks of
    /// one wave could read different values and take different paths, which a wave cannot.
    pub fn leaves_by_scalar_memory(&self, nodes: &[usize]) -> bool {
        let uniform = |v: &Value| self.func.ty(*v).uniform;
        let source = |data: &InstData| match (data.op, data.imm) {
            (Opcode::Load, Imm::Mem(m)) => !matches!(m.space, Space::Const(_) | Space::Local),
            (Opcode::Atomic, _) => true,
            _ => false,
        };
        let mut found = Tainted { only_uniform: true, ..Tainted::default() };
        found.spread(self.func, &self.blocks(nodes), |data| {
            source(data) && data.result.is_some_and(|v| uniform(&v))
        });
        self.is_left_by(nodes, &found.values)
    }

    /// Whether only the loaded values change between iterations of a loop. It stores nothing, its atomics do the same
    /// each time, and loop-carried values are only selections of others or mask logic.
    fn only_loads_change(&self, nodes: &[usize]) -> bool {
        let blocks = self.blocks(nodes);
        // Nodes of the dependence graph: values, then slots.
        let mut places: HashMap<Value, usize> = HashMap::new();
        let mut slots: HashMap<Slot, usize> = HashMap::new();
        let mut edges: Vec<Vec<usize>> = Vec::new();
        let mut settles: Vec<bool> = Vec::new();
        let place = |edges: &mut Vec<Vec<usize>>| {
            edges.push(Vec::new());
            edges.len() - 1
        };
        for &b in &blocks {
            for &i in &self.func.block(b).insts {
                let data = self.func.inst(i);
                if !self.is_same_each_turn(data) {
                    return false;
                }
                if let Some(v) = data.result {
                    places.insert(v, place(&mut edges));
                    settles.push(is_choice(data.op));
                }
                if let (Opcode::SlotSet, Imm::Slot(slot)) = (data.op, data.imm)
                    && !slots.contains_key(&slot)
                {
                    slots.insert(slot, place(&mut edges));
                    settles.push(true);
                }
            }
        }
        for &b in &blocks {
            for &i in &self.func.block(b).insts {
                let data = self.func.inst(i);
                let to = match (data.op, data.imm, data.result) {
                    (Opcode::SlotSet, Imm::Slot(slot), _) => slots[&slot],
                    (_, _, Some(v)) => places[&v],
                    _ => continue,
                };
                if let (Opcode::SlotGet, Imm::Slot(slot)) = (data.op, data.imm)
                    && let Some(&from) = slots.get(&slot)
                {
                    edges[from].push(to);
                }
                // A guard changes which lanes take part, not the values.
                let guards = |v: &Value| self.func.ty(*v).scalar == Scalar::I1;
                let args = data.args.iter().enumerate().filter(|(at, v)| match data.op {
                    Opcode::Select => *at != 0,
                    Opcode::Load | Opcode::Atomic => !guards(v),
                    Opcode::SlotSet => *at == 0,
                    _ => true,
                });
                for from in args.filter_map(|(_, v)| places.get(v)) {
                    edges[*from].push(to);
                }
            }
        }
        graph::strongly_connected(&edges).iter().all(|component| {
            let cyclic = component.len() > 1 || edges[component[0]].contains(&component[0]);
            !cyclic || component.iter().all(|&n| settles[n])
        })
    }

    /// Whether executing an instruction again with the same operands leaves memory unchanged.
    fn is_same_each_turn(&self, data: &InstData) -> bool {
        match (data.op, data.imm) {
            (Opcode::Atomic, Imm::Atomic(_, op)) => match op {
                AtomicOp::Exch | AtomicOp::Cas | AtomicOp::And | AtomicOp::Or | AtomicOp::Nop => true,
                AtomicOp::Umax | AtomicOp::Umin | AtomicOp::Smax | AtomicOp::Smin => true,
                _ => data.args.get(1).is_some_and(|&v| self.func.as_const(v) == Some(0)),
            },
            (Opcode::SlotSet, _) => true,
            _ => !data.op.has_effect(),
        }
    }

    /// Whether the exit of a loop depends on memory read within it that others may write (with `shared`, shared memory
    /// too), or on the result of an atomic within it, which may be a lock that another warp holds. The dependence may
    /// be indirect: a register written by code that runs only on that condition.
    fn may_wait(&self, of: &Loop<usize>, shared: bool) -> bool {
        let source = |data: &InstData| match (data.op, data.imm) {
            (Opcode::Load, Imm::Mem(m)) if m.space == Space::Shared => shared,
            (Opcode::Load, Imm::Mem(m)) => matches!(m.space, Space::Global(_)),
            (op, _) => op == Opcode::Atomic,
        };
        let blocks = self.blocks(&of.blocks);
        if !blocks.iter().any(|&b| self.func.block(b).insts.iter().any(|&i| source(self.func.inst(i)))) {
            return false;
        }
        let after = graph::post_dominators(self.succs);
        let mut noted: HashMap<usize, Noted> = HashMap::new();
        loop {
            let found = taint::tainted(self.func, self.plan, self.succs, of, source, &noted);
            let Some(found) = found else { return true };
            if self.is_left_by(&of.blocks, &found) {
                return true;
            }
            let before = noted.clone();
            for &n in of.blocks.iter().filter(|&&n| self.decides(&found, n)) {
                // A vote only skips code that has no effect for lanes outside its mask.
                let kind = if self.votes(n) { Noted::Scalars } else { Noted::All };
                let meeting = after[n];
                let (mut seen, mut work) = (HashSet::new(), self.succs[n].clone());
                while let Some(at) = work.pop() {
                    if Some(at) == meeting || !of.blocks.contains(&at) || !seen.insert(at) {
                        continue;
                    }
                    work.extend(&self.succs[at]);
                    let known = noted.entry(at).or_insert(kind);
                    if kind == Noted::All {
                        *known = kind;
                    }
                }
            }
            if noted == before {
                return false;
            }
        }
    }

    /// Whether a node ends with a branch by a vote.
    fn votes(&self, node: usize) -> bool {
        let NodeTerm::Branch(cond, ..) = self.plan.nodes[node].term else { return false };
        let made = self.func.def_inst(cond).map(|data| data.op);
        matches!(made, Some(Opcode::Any | Opcode::VoteAny | Opcode::VoteAll))
    }

    fn blocks(&self, component: &[usize]) -> HashSet<Block> {
        component.iter().filter_map(|&n| self.plan.nodes[n].block).collect()
    }

    /// Whether a found value decides when a cycle of these nodes is left: an exit of all of them, or of a smaller cycle among them, of
    /// which nothing leaves all. Two loops with one header are such cycles, of one natural loop.
    fn is_left_by(&self, nodes: &[usize], found: &HashSet<Value>) -> bool {
        let mut work = vec![nodes.to_vec()];
        while let Some(nodes) = work.pop() {
            let all: HashSet<usize> = nodes.iter().copied().collect();
            let (ends, inner): (Vec<usize>, Vec<usize>) =
                nodes.iter().partition(|&&n| self.succs[n].iter().any(|s| !all.contains(s)));
            if ends.iter().any(|&n| self.decides(found, n)) {
                return true;
            }
            // Without an exit there is nothing smaller.
            if ends.is_empty() {
                continue;
            }
            let places: HashMap<usize, usize> = inner.iter().enumerate().map(|(at, &n)| (n, at)).collect();
            let edges: Vec<Vec<usize>> = inner
                .iter()
                .map(|&n| self.succs[n].iter().filter_map(|s| places.get(s)).copied().collect())
                .collect();
            for cycle in graph::strongly_connected(&edges) {
                if cycle.len() > 1 || edges[cycle[0]].contains(&cycle[0]) {
                    work.push(cycle.iter().map(|&at| inner[at]).collect());
                }
            }
        }
        false
    }

    /// Whether a found value decides a node's successor.
    fn decides(&self, found: &HashSet<Value>, node: usize) -> bool {
        matches!(self.plan.nodes[node].term, NodeTerm::Branch(cond, ..) | NodeTerm::Agree(cond, ..) | NodeTerm::Unless(cond, ..) if found.contains(&cond))
    }
}

/// The slots and values that depend on a source.
#[derive(Default)]
struct Tainted {
    slots: HashSet<Slot>,
    values: HashSet<Value>,
    /// Follow uniform values only.
    only_uniform: bool,
}

impl Tainted {
    /// Adds the results of instructions selected by `source` in these blocks, and everything that depends on them and
    /// on the slots.
    fn spread(&mut self, func: &Function, blocks: &HashSet<Block>, source: impl Fn(&InstData) -> bool) {
        loop {
            let before = (self.slots.len(), self.values.len());
            for &b in blocks {
                for &i in &func.block(b).insts {
                    let data = func.inst(i);
                    let mut taint = source(data) || data.args.iter().any(|a| self.values.contains(a));
                    match (data.op, data.imm) {
                        (Opcode::SlotGet, Imm::Slot(s)) => taint |= self.slots.contains(&s),
                        (Opcode::SlotSet, Imm::Slot(s)) if taint => {
                            self.slots.insert(s);
                        }
                        _ => {}
                    }
                    if let (true, Some(v)) = (taint, data.result)
                        && (!self.only_uniform || func.ty(v).uniform)
                    {
                        self.values.insert(v);
                    }
                }
            }
            if before == (self.slots.len(), self.values.len()) {
                return;
            }
        }
    }
}

/// Whether an operation returns one of its operands or a bitwise combination of them. Repeated, it soon changes nothing
/// more.
fn is_choice(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, SlotGet | Iand | Ior | Inot | Select | Bitcast | Bmask | Splat | Zext | Trunc)
        || matches!(op, Ballot | LaneBit | Any | VoteAny | VoteAll | ActiveMask)
}
