//! Finds the values of a loop that depend on given instructions in it, such as loads.
//!
//! It is more precise than plain data flow about masks: one that is narrowed by a condition and then widened again to what it was
//! does not depend on the condition. Compilers do that around every `if`.

use super::plan::Plan;
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use warpjit_ir_core::entities::{Slot, Value};
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

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Named {
    /// The result of an instruction at a node.
    Value(usize, Value),
    /// A slot's value where paths meet, or at the start of an iteration.
    Slot(usize, Slot),
    /// The value written to a slot at a node whose writes count as tainted.
    Noted(usize, Slot),
}

/// Most iterations of the fixed point before the search is given up.
const MOST_ROUNDS: usize = 24;
/// Most names visited to prove that one mask is part of another.
const MOST_STEPS: usize = 32;

/// A search.
struct Search<'a> {
    func: &'a Function,
    names: HashMap<Named, Name>,
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
    let mut preds: HashMap<usize, Vec<usize>> = HashMap::new();
    for &n in &of.blocks {
        for &s in &succs[n] {
            preds.entry(s).or_default().push(n);
        }
    }
    let mut search = Search {
        func,
        names: HashMap::new(),
        tainted: Vec::new(),
        above: Vec::new(),
        minus: Vec::new(),
        not: HashMap::new(),
    };
    let mut after: HashMap<usize, Vec<Fact>> = HashMap::new();
    for _ in 0..MOST_ROUNDS {
        let mut found = HashSet::new();
        let mut changed = false;
        for &n in &of.blocks {
            let known: Vec<&Vec<Fact>> =
                preds.get(&n).into_iter().flatten().filter_map(|p| after.get(p)).collect();
            let mut state: Vec<Fact> = set
                .iter()
                .enumerate()
                .map(|(at, &slot)| {
                    let facts = known.iter().map(|state| state[at]);
                    search.meet(Named::Slot(n, slot), facts, n == of.header)
                })
                .collect();
            let mut values: HashMap<Value, Fact> = HashMap::new();
            for &i in insts(n) {
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
                        search.fact(Named::Slot(of.header, slot), false, [None; 2], None)
                    }
                    (Opcode::SlotSet, Some(slot), Some(at)) => {
                        let value = values.get(&data.args[0]).copied();
                        let tells = match noted.get(&n) {
                            Some(Noted::All) => true,
                            Some(Noted::Scalars) => func.slots[slot.index()].ty.uniform,
                            None => false,
                        };
                        let tainted = tells || value.is_none_or(|v| v.tainted);
                        state[at] = match value {
                            Some(value) if value.tainted == tainted => value,
                            _ => search.fact(Named::Noted(n, slot), tainted, [None; 2], None),
                        };
                        continue;
                    }
                    _ => search.result(n, data, &values, source(data)),
                };
                if let Some(v) = data.result {
                    values.insert(v, fact);
                    if fact.tainted {
                        found.insert(v);
                    }
                }
            }
            if after.get(&n) != Some(&state) {
                after.insert(n, state);
                changed = true;
            }
        }
        if !changed {
            return Some(found);
        }
    }
    None
}

impl Search<'_> {
    /// The fact for a name, with its supersets and the difference that it is. Once tainted, a name stays tainted.
    fn fact(
        &mut self,
        named: Named,
        tainted: bool,
        above: [Option<Name>; 2],
        minus: Option<[Name; 2]>,
    ) -> Fact {
        let next = self.tainted.len() as Name;
        let name = *self.names.entry(named).or_insert(next);
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
    fn meet(&mut self, named: Named, facts: impl Iterator<Item = Fact> + Clone, starts: bool) -> Fact {
        let tainted = facts.clone().any(|fact| fact.tainted);
        let first = facts.clone().next();
        match first {
            Some(first) if !starts => {
                if facts.clone().all(|fact| fact == first) {
                    return first;
                }
                let mut all = facts.clone();
                let whole = all.find(|whole| facts.clone().all(|fact| self.is_within(fact.name, whole.name)));
                self.fact(named, tainted, [whole.map(|whole| whole.name), None], None)
            }
            _ => self.fact(named, tainted, [None; 2], None),
        }
    }

    /// The fact for the result of an instruction.
    fn result(&mut self, n: usize, data: &InstData, values: &HashMap<Value, Fact>, source: bool) -> Fact {
        let Some(v) = data.result else { return Fact { name: 0, tainted: false } };
        let named = Named::Value(n, v);
        // Values of other blocks are unknown.
        let of = |at: usize| data.args.get(at).and_then(|v| values.get(v)).copied();
        let constant = |v: &Value| self.func.as_const(*v).is_some();
        let unknown = |v: &Value| !constant(v) && values.get(v).is_none_or(|fact| fact.tainted);
        let tainted = source || data.args.iter().any(unknown);
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
                    return self.fact(named, tainted, [Some(b.name), None], Some([b.name, a.name]));
                }
                if let (Opcode::Iand, Some(&part)) = (data.op, self.not.get(&a.name)) {
                    let minus = self.is_within(part.name, b.name).then_some([b.name, part.name]);
                    return self.fact(named, tainted, [Some(b.name), Some(a.name)], minus);
                }
            }
            if data.op == Opcode::Iand {
                return self.fact(named, tainted, [Some(a.name), Some(b.name)], None);
            }
        }
        let fact = self.fact(named, tainted, [None; 2], None);
        if let (Opcode::Inot, Some(part)) = (data.op, of(0)) {
            self.not.insert(fact.name, part);
        }
        fact
    }
}
