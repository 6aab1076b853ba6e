//! Loops that wait for others: for memory to change, or for a lock.

use std::collections::HashSet;

use super::explore::{NodeTerm, Plan};
use crate::entities::{Block, Slot, Value};
use crate::function::{Function, Imm, InstData};
use crate::graph;
use crate::opcodes::{Opcode, Space};

/// A region's graph, whose loops are asked about.
pub(super) struct Waiting<'a> {
    pub func: &'a Function,
    pub plan: &'a Plan,
    pub succs: &'a [Vec<usize>],
}

impl Waiting<'_> {
    /// Whether leaving a loop depends on memory read within it that others may write, as they may `shared` memory.
    pub fn waits_for_memory(&self, component: &[usize], shared: bool) -> bool {
        let source = |data: &InstData| match (data.op, data.imm) {
            (Opcode::Load, Imm::Mem(m)) if m.space == Space::Shared => shared,
            (Opcode::Load, Imm::Mem(m)) => matches!(m.space, Space::Global(_)),
            _ => false,
        };
        let mut found = Tainted::default();
        found.spread(self.func, &self.blocks(component), source);
        self.leaves_by(component, &found)
    }

    /// Whether leaving the loop depends on what an atomic within it returns: then it may be a lock that somebody else holds. That may
    /// be noted in a register by code that is only run if the lock was free.
    pub fn waits_for_atomics(&self, component: &[usize]) -> bool {
        let source = |data: &InstData| data.op == Opcode::Atomic;
        let blocks = self.blocks(component);
        if !blocks.iter().any(|&b| self.func.block(b).insts.iter().any(|&i| source(self.func.inst(i)))) {
            return false;
        }
        let after = graph::post_dominators(self.succs);
        let mut found = Tainted::default();
        loop {
            found.spread(self.func, &blocks, source);
            let before = found.slots.len();
            let deciding: Vec<usize> =
                component.iter().copied().filter(|&n| found.decides(self.plan, n)).collect();
            for n in deciding {
                let meeting = after[n];
                let (mut seen, mut work) = (HashSet::new(), self.succs[n].clone());
                while let Some(at) = work.pop() {
                    if Some(at) == meeting || !component.contains(&at) || !seen.insert(at) {
                        continue;
                    }
                    work.extend(&self.succs[at]);
                    let insts = self.plan.nodes[at].block.iter().flat_map(|&b| &self.func.block(b).insts);
                    found.slots.extend(insts.filter_map(|&i| match self.func.inst(i) {
                        InstData { op: Opcode::SlotSet, imm: Imm::Slot(slot), .. } => Some(*slot),
                        _ => None,
                    }));
                }
            }
            if found.slots.len() == before {
                break;
            }
        }
        self.leaves_by(component, &found)
    }

    fn blocks(&self, component: &[usize]) -> HashSet<Block> {
        component.iter().filter_map(|&n| self.plan.nodes[n].block).collect()
    }

    /// Whether what was found decides where a loop is left.
    fn leaves_by(&self, component: &[usize], found: &Tainted) -> bool {
        component.iter().any(|&n| {
            let leaves = self.succs[n].iter().any(|s| !component.contains(s));
            leaves && found.decides(self.plan, n)
        })
    }
}

/// Slots and values that depend on something.
#[derive(Default)]
struct Tainted {
    slots: HashSet<Slot>,
    values: HashSet<Value>,
}

impl Tainted {
    /// Adds the results of `source` in these blocks, and what is made of them and of the slots.
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
                    if let (true, Some(v)) = (taint, data.result) {
                        self.values.insert(v);
                    }
                }
            }
            if before == (self.slots.len(), self.values.len()) {
                return;
            }
        }
    }

    /// Whether they decide where a node goes on.
    fn decides(&self, plan: &Plan, node: usize) -> bool {
        matches!(plan.nodes[node].term, NodeTerm::Branch(cond, ..) | NodeTerm::Agree(cond, ..) | NodeTerm::Unless(cond, ..) if self.values.contains(&cond))
    }
}
