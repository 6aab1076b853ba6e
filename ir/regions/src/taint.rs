//! Finds the values of a loop that depend on given instructions in it, such as loads.
//!
//! It is more precise than plain data flow about masks: one that is narrowed by a condition and then widened again to what it was
//! does not depend on the condition. Compilers do that around every `if`.

use super::plan::Plan;
use foldhash::{HashMap, HashMapExt, HashSet};
use warpjit_ir_core::entities::{Inst, Slot, Value};
use warpjit_ir_core::function::{Function, Imm, InstData};
use warpjit_ir_core::graph::Loop;
use warpjit_ir_core::opcodes::Opcode;

/// A number for a value that the loop computes in one iteration. Equal numbers mean equal values.
type Name = u32;

/// What is known of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fact {
    name: Name,
    /// It depends on the source instructions.
    tainted: bool,
}

/// Most iterations of the fixed point before the search is given up.
const MOST_ROUNDS: usize = 24;
/// Most names visited to prove that one mask is part of another.
const MOST_STEPS: usize = 32;

/// A search.
struct Search<'a> {
    func: &'a Function,
    /// By what may have a name ([`NameIndices`]): its name.
    names: Vec<Option<Name>>,
    /// For each name: whether it is tainted; the names of supersets (`above`); and if it is a difference of two sets,
    /// their names (`minus`).
    tainted: Vec<bool>,
    above: Vec<[Option<Name>; 2]>,
    minus: Vec<Option<[Name; 2]>>,
    /// The complement of each name, if known.
    not: HashMap<Name, Fact>,
}

/// Which slot writes of a node depend on the taint because a tainted condition decides whether the node runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Noted {
    /// Writes of uniform slots only. Its other writes are under a mask, so a lane's value does not depend on whether
    /// the node ran.
    Scalars,
    /// All writes.
    All,
}

/// The values in a loop that depend on instructions selected by `source`, or on slot writes of the nodes in `noted`.
/// `None` if that could not be determined.
pub(super) fn tainted(
    func: &Function,
    plan: &Plan,
    succs: &[Vec<usize>],
    of: &Loop<usize>,
    source: impl Fn(&InstData) -> bool,
    noted: &HashMap<usize, Noted>,
) -> Option<HashSet<Value>> {
    let insts = |n: usize| plan.nodes[n].block.into_iter().flat_map(|b| &func.block(b).insts);
    let mut set: Vec<Slot> = Vec::new();
    for &n in &of.blocks {
        set.extend(insts(n).filter_map(|&i| match (func.inst(i).op, func.inst(i).imm) {
            (Opcode::SlotSet, Imm::Slot(slot)) => Some(slot),
            _ => None,
        }));
    }
    set.sort_unstable();
    set.dedup();
    let indices = NameIndices::new(func, plan, of, set.len());
    // Nodes are numbered by their place in the loop from here on.
    let mut number = vec![None; plan.nodes.len()];
    for (at, &n) in of.blocks.iter().enumerate() {
        number[n] = Some(at);
    }
    let mut preds: Vec<Vec<usize>> = vec![Vec::new(); of.blocks.len()];
    for (at, &n) in of.blocks.iter().enumerate() {
        for to in succs[n].iter().filter_map(|&to| number[to]) {
            preds[to].push(at);
        }
    }
    let mut search = Search {
        func,
        names: vec![None; indices.count],
        tainted: Vec::new(),
        above: Vec::new(),
        minus: Vec::new(),
        not: HashMap::new(),
    };
    let mut after: Vec<Option<Vec<Fact>>> = vec![None; of.blocks.len()];
    let operands: Vec<Operands> = of.blocks.iter().map(|&n| Operands::new(func, insts(n))).collect();
    let mut values: Vec<Fact> = Vec::new();
    for _ in 0..MOST_ROUNDS {
        let mut found = Vec::new();
        let mut changed = false;
        for (node, &n) in of.blocks.iter().enumerate() {
            let known: Vec<&Vec<Fact>> = preds[node].iter().filter_map(|&p| after[p].as_ref()).collect();
            let mut state: Vec<Fact> = (0..set.len())
                .map(|at| {
                    let facts = known.iter().map(|state| state[at]);
                    search.meet(indices.slot(node, at), facts, n == of.header)
                })
                .collect();
            values.clear();
            for (k, &i) in insts(n).enumerate() {
                let own = operands[node].of(k);
                let data = func.inst(i);
                let slot = match (data.op, data.imm) {
                    (Opcode::SlotGet | Opcode::SlotSet, Imm::Slot(slot)) => Some(slot),
                    _ => None,
                };
                let place = slot.and_then(|slot| set.binary_search(&slot).ok());
                let fact = match (data.op, slot, place) {
                    (Opcode::SlotGet, _, Some(at)) => state[at],
                    // A slot that the loop does not write.
                    (Opcode::SlotGet, Some(slot), None) => {
                        search.fact(indices.other_slot(slot), false, [None; 2], None)
                    }
                    (Opcode::SlotSet, Some(slot), Some(at)) => {
                        let value = own[0].map(|at| values[at as usize]);
                        let tells = match noted.get(&n) {
                            Some(Noted::All) => true,
                            Some(Noted::Scalars) => func.slots[slot.index()].ty.uniform,
                            None => false,
                        };
                        let tainted = tells || value.is_none_or(|v| v.tainted);
                        state[at] = match value {
                            Some(value) if value.tainted == tainted => value,
                            _ => search.fact(indices.noted(node, at), tainted, [None; 2], None),
                        };
                        values.push(NOTHING);
                        continue;
                    }
                    _ => {
                        let known = |n: usize| own.get(n).copied().flatten().map(|at| values[at as usize]);
                        search.result(indices.value(node, k), data, known, source(data))
                    }
                };
                values.push(fact);
                found.extend(data.result.filter(|_| fact.tainted));
            }
            if after[node].as_ref() != Some(&state) {
                after[node] = Some(state);
                changed = true;
            }
        }
        if !changed {
            return Some(found.into_iter().collect());
        }
    }
    None
}

/// An index for each thing that may have a name: results of instructions at a node, slots where paths meet and at the start of an iteration, slots
/// as a node writes them whose writes count as tainted, and slots that the loop does not write.
struct NameIndices {
    /// The first number of each node's instructions.
    firsts: Vec<usize>,
    /// The first number of slots.
    slots: usize,
    nodes: usize,
    /// Slots that the loop writes.
    written: usize,
    count: usize,
}

impl NameIndices {
    fn new(func: &Function, plan: &Plan, of: &Loop<usize>, written: usize) -> NameIndices {
        let mut slots = 0;
        let mut firsts = Vec::with_capacity(of.blocks.len());
        for &n in &of.blocks {
            firsts.push(slots);
            slots += plan.nodes[n].block.map_or(0, |block| func.block(block).insts.len());
        }
        let nodes = of.blocks.len();
        let count = slots + 2 * nodes * written + func.slots.len();
        NameIndices { firsts, slots, nodes, written, count }
    }

    fn value(&self, node: usize, inst: usize) -> usize {
        self.firsts[node] + inst
    }

    fn slot(&self, node: usize, written: usize) -> usize {
        self.slots + node * self.written + written
    }

    fn noted(&self, node: usize, written: usize) -> usize {
        self.slot(self.nodes + node, written)
    }

    fn other_slot(&self, slot: Slot) -> usize {
        self.slot(2 * self.nodes, 0) + slot.index()
    }
}

/// Which instruction of the same block makes each operand.
struct Operands {
    makers: Vec<Option<u32>>,
    /// By instruction: where its operands begin; then where the last one's end.
    firsts: Vec<usize>,
}

impl Operands {
    fn new<'a>(func: &Function, insts: impl Iterator<Item = &'a Inst>) -> Operands {
        let mut made: HashMap<Value, u32> = HashMap::new();
        let (mut makers, mut firsts) = (Vec::new(), vec![0]);
        for (&inst, at) in insts.zip(0..) {
            let data = func.inst(inst);
            makers.extend(data.args.iter().map(|arg| made.get(arg).copied()));
            firsts.push(makers.len());
            made.extend(data.result.map(|v| (v, at)));
        }
        Operands { makers, firsts }
    }

    /// Of an instruction's operands. What other blocks make is unknown.
    fn of(&self, inst: usize) -> &[Option<u32>] {
        &self.makers[self.firsts[inst]..self.firsts[inst + 1]]
    }
}

/// Of an instruction without a result.
const NOTHING: Fact = Fact { name: 0, tainted: false };

impl Search<'_> {
    /// The fact for what has an index ([`NameIndices`]), with its supersets and the difference that it is. Once tainted, a name stays tainted.
    fn fact(
        &mut self,
        index: usize,
        tainted: bool,
        above: [Option<Name>; 2],
        minus: Option<[Name; 2]>,
    ) -> Fact {
        let next = self.tainted.len() as Name;
        let name = *self.names[index].get_or_insert(next);
        if name == next {
            self.tainted.push(tainted);
            self.above.push(above);
            self.minus.push(minus);
        } else {
            let at = name as usize;
            self.tainted[at] |= tainted;
            // Replace what was known in the previous round, which may no longer hold.
            (self.above[at], self.minus[at]) = (above, minus);
        }
        Fact { name, tainted: self.tainted[name as usize] }
    }

    /// Whether one mask is a subset of another.
    fn is_within(&self, part: Name, whole: Name) -> bool {
        let mut work = vec![part];
        for _ in 0..MOST_STEPS {
            match work.pop() {
                Some(at) if at == whole => return true,
                Some(at) => work.extend(self.above[at as usize].iter().flatten()),
                None => return false,
            }
        }
        false
    }

    /// A slot's value where paths meet. At the start of an iteration (`starts`) it is whatever the previous iteration
    /// left.
    fn meet(&mut self, index: usize, facts: impl Iterator<Item = Fact> + Clone, starts: bool) -> Fact {
        let tainted = facts.clone().any(|fact| fact.tainted);
        let first = facts.clone().next();
        match first {
            Some(first) if !starts => {
                if facts.clone().all(|fact| fact == first) {
                    return first;
                }
                let mut all = facts.clone();
                let whole = all.find(|whole| facts.clone().all(|fact| self.is_within(fact.name, whole.name)));
                self.fact(index, tainted, [whole.map(|whole| whole.name), None], None)
            }
            _ => self.fact(index, tainted, [None; 2], None),
        }
    }

    /// The fact for the result of an instruction.
    fn result(
        &mut self,
        index: usize,
        data: &InstData,
        of: impl Fn(usize) -> Option<Fact>,
        source: bool,
    ) -> Fact {
        if data.result.is_none() {
            return NOTHING;
        }
        let constant = |v: Value| self.func.as_const(v).is_some();
        let unknown = |(n, &v): (usize, &Value)| !constant(v) && of(n).is_none_or(|fact| fact.tainted);
        let tainted = source || data.args.iter().enumerate().any(unknown);
        if let (Some(a), Some(b), false) = (of(0), of(1), source) {
            for (a, b) in [(a, b), (b, a)] {
                let rest = self.minus[a.name as usize];
                let known = match data.op {
                    Opcode::Ior if self.is_within(a.name, b.name) => Some(b.name),
                    Opcode::Iand if self.is_within(a.name, b.name) => Some(a.name),
                    // The union of a part and the rest is the whole.
                    Opcode::Ior | Opcode::Ixor => rest.filter(|rest| rest[1] == b.name).map(|rest| rest[0]),
                    _ => None,
                };
                // The whole without the rest is the part.
                let known = known.or(match (data.op, rest) {
                    (Opcode::Ixor, Some([whole, part])) if whole == b.name => Some(part),
                    _ => None,
                });
                if let Some(name) = known {
                    return Fact { name, tainted: self.tainted[name as usize] };
                }
                if data.op == Opcode::Ixor && self.is_within(a.name, b.name) {
                    return self.fact(index, tainted, [Some(b.name), None], Some([b.name, a.name]));
                }
                if let (Opcode::Iand, Some(&part)) = (data.op, self.not.get(&a.name)) {
                    let minus = self.is_within(part.name, b.name).then_some([b.name, part.name]);
                    return self.fact(index, tainted, [Some(b.name), Some(a.name)], minus);
                }
            }
            if data.op == Opcode::Iand {
                return self.fact(index, tainted, [Some(a.name), Some(b.name)], None);
            }
        }
        let fact = self.fact(index, tainted, [None; 2], None);
        if let (Opcode::Inot, Some(part)) = (data.op, of(0)) {
            self.not.insert(fact.name, part);
        }
        fact
    }
}

#[cfg(test)]
mod tests {
    use super::NameIndices;

    #[test]
    fn each_thing_has_an_index_of_its_own() {
        // Three nodes of 2, 0 and 3 instructions; two slots are written, four more slots are not.
        let (nodes, written, slots) = (3, 2, 6);
        let indices = NameIndices { firsts: vec![0, 2, 2], slots: 5, nodes, written, count: 5 + 12 + slots };
        let values = [(0, 2), (1, 0), (2, 3)].into_iter();
        let mut all: Vec<usize> = values
            .flat_map(|(node, insts)| (0..insts).map(move |k| (node, k)))
            .map(|(n, k)| indices.value(n, k))
            .collect();
        for node in 0..nodes {
            all.extend((0..written).flat_map(|at| [indices.slot(node, at), indices.noted(node, at)]));
        }
        all.extend((0..slots).map(|n| indices.other_slot(super::Slot::new(n))));
        all.sort_unstable();
        assert_eq!(all, (0..indices.count).collect::<Vec<_>>());
    }
}
