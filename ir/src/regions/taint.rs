//! Finds the values of a loop that depend on given instructions in it, such as loads.
//!
//! It is more precise than plain data flow about masks: one that is narrowed by a condition and then widened again to what it was
//! does not depend on the condition. Compilers do that around every `if`.

use std::collections::{HashMap, HashSet};

use super::explore::Plan;
use crate::entities::{Slot, Value};
use crate::function::{Function, Imm, InstData};
use crate::graph::Loop;
use crate::opcodes::Opcode;

/// Which of the bits that a loop computes in a turn something is. The same number is the same value.
type Name = u32;

/// What is known of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fact {
    name: Name,
    /// It depends on what is asked about.
    tainted: bool,
}

/// What names stand for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Named {
    /// What an instruction gives at a node.
    Value(usize, Value),
    /// What a slot holds where ways meet, or a turn begins.
    Slot(usize, Slot),
    /// What is put into a slot of those that are tainted at a node.
    Noted(usize, Slot),
}

/// Times that a loop is gone through before all of it is given up.
const MOST_ROUNDS: usize = 24;
/// Names that are followed to tell that one is part of another.
const MOST_STEPS: usize = 32;

/// A search.
struct Search<'a> {
    func: &'a Function,
    names: HashMap<Named, Name>,
    /// By name: whether it is tainted, names that have all of its bits, and if it is the bits that one has more than another, these two.
    tainted: Vec<bool>,
    above: Vec<[Option<Name>; 2]>,
    minus: Vec<Option<[Name; 2]>>,
    /// Complements, by name.
    not: HashMap<Name, Fact>,
}

/// What a node puts into slots though it runs only if something tainted says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Noted {
    /// Lanes' values do not tell whether it has run: it does nothing for lanes that are not in a mask.
    Scalars,
    /// All of it tells.
    All,
}

/// Values in a loop that depend on what `source` gives there, or on what the nodes of `noted` put into slots. `None` where that is not found out.
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
                    // The loop does not change it.
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
    /// A fact of what has that name, with what has all of its bits and what it is the rest of. Once tainted it stays so.
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
            // What was known in the round before may hold no more.
            (self.above[at], self.minus[at]) = (above, minus);
        }
        Fact { name, tainted: self.tainted[name as usize] }
    }

    /// Whether all bits of one are bits of the other.
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

    /// What a slot holds where ways meet; at the start of a turn it is whatever the turn before has left.
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

    /// What an instruction gives.
    fn result(&mut self, n: usize, data: &InstData, values: &HashMap<Value, Fact>, source: bool) -> Fact {
        let Some(v) = data.result else { return Fact { name: 0, tainted: false } };
        let named = Named::Value(n, v);
        // Values of other blocks are not followed.
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
                    // A part and the rest.
                    Opcode::Ior | Opcode::Ixor => rest.filter(|rest| rest[1] == b.name).map(|rest| rest[0]),
                    _ => None,
                };
                // The whole, less the rest.
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
