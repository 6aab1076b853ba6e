//! Removes selects whose condition holds wherever their result matters.
//!
//! A guest with a lane mask (GCN's EXEC, predicates) writes each register as `select mask, new, old`. If the register is only
//! read under the same mask or a narrower one, `new` may replace the select: in other lanes nothing uses the value. So for each
//! value the pass finds, from its uses backwards, a mask outside which nothing reads it. If a register is written under a mask
//! and then under a wider one, the first write is dropped for the same reason.

use crate::masks::{Edge, Masks};
use warpjit_ir_core::entities::Value;
use warpjit_ir_core::function::{Form, Function, InstData, ValueDef};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::passes::rewrite::Aliases;
use warpjit_ir_core::types::Scalar;

/// The lanes in which the value matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Demand {
    None,
    /// At most where this mask holds.
    In(Value),
    All,
}

/// How often the demand of a value may grow before it becomes "all lanes". Keeps the search linear.
const MOST_CHANGES: u8 = 6;

/// Runs the pass. In SPMD form it does nothing: there, masks are not values.
pub fn run(func: &mut Function) -> bool {
    if func.form == Form::Spmd {
        return false;
    }
    let demand = Search::new(func).demands();
    let masks = Masks::new(func);
    let mut aliases = Aliases::new(func);
    let mut uses = Vec::new();
    for block in func.block_ids() {
        for &inst in &func.block(block).insts {
            let data = func.inst(inst);
            masks.visit_uses(data, &demand, |n, by| uses.push((inst, n, by)));
            let Some(result) = data.result.filter(|v| demand[v.index()] != Demand::None) else { continue };
            if let Some(by) = masks.implied(data) {
                if by != result {
                    aliases.set(result, by);
                }
                continue;
            }
            let Demand::In(mask) = demand[result.index()] else { continue };
            let by = match (data.op, &data.args[..]) {
                (Opcode::Select, &[cond, then, _]) if masks.implies(mask, cond) => then,
                // `b` holds wherever this conjunction matters, so `a` suffices.
                (Opcode::Iand, &[a, b]) if a != mask && masks.implies(mask, b) => a,
                (Opcode::Iand, &[a, b]) if b != mask && masks.implies(mask, a) => b,
                _ => continue,
            };
            let by = aliases.get(by);
            if by != result && result != mask && !func.ty(by).uniform
                || data.op == Opcode::Select && by != result
            {
                aliases.set(result, by);
            }
        }
    }
    let changed = aliases.any() || !uses.is_empty();
    for (inst, n, by) in uses {
        func.inst_mut(inst).args[n] = by;
    }
    aliases.apply(func);
    changed
}

impl Masks<'_> {
    /// The operand that a union or intersection of masks equals, if one operand implies the other.
    fn implied(&self, data: &InstData) -> Option<Value> {
        let (Opcode::Ior | Opcode::Iand, &[a, b]) = (data.op, &data.args[..]) else { return None };
        if [a, b].into_iter().any(|v| self.func.ty(v).scalar != Scalar::I1 || self.func.ty(v).uniform) {
            return None;
        }
        let (narrow, wide) = if self.implies(a, b) {
            (a, b)
        } else if self.implies(b, a) {
            (b, a)
        } else {
            return None;
        };
        Some(if data.op == Opcode::Ior { wide } else { narrow })
    }

    /// Calls `found` with each operand that may be replaced, and its replacement. An operand that is a select may be
    /// replaced by the alternative that it takes in all lanes that matter here. For the `old` operand of a select,
    /// those are the lanes outside its condition.
    fn visit_uses(&self, data: &InstData, demand: &[Demand], mut found: impl FnMut(usize, Value)) {
        let guard = guarded(data);
        let chooses = |v: Value| {
            let data = self.func.def_inst(v)?;
            let words = data.op == Opcode::Select && self.func.ty(v).scalar != Scalar::I1;
            words.then_some(&data.args[..])
        };
        let here = match (guard, data.result) {
            (Some(n), _) => data.args.get(n).map_or(Demand::All, |&guard| Demand::In(guard)),
            (None, Some(result)) if data.op.is_pure() && !self.func.ty(result).uniform => {
                demand[result.index()]
            }
            _ => return,
        };
        for (n, &arg) in data.args.iter().enumerate().take(guard.unwrap_or(usize::MAX)) {
            // The first alternative matters only where the condition holds, the second only where it does not.
            let (masks, chosen) = match (data.op, here) {
                (Opcode::Select, Demand::In(mask)) if n == 1 => ([Some(mask), Some(data.args[0])], None),
                (Opcode::Select, _) if n == 1 => ([None, Some(data.args[0])], None),
                (Opcode::Select, Demand::In(mask)) if n == 2 => ([Some(mask), None], Some(data.args[0])),
                (Opcode::Select, _) if n == 2 => ([None, None], Some(data.args[0])),
                (_, Demand::In(mask)) => ([Some(mask), None], None),
                _ => continue,
            };
            let mut by = arg;
            while let Some(&[cond, then, other]) = chooses(by) {
                by = if masks.iter().flatten().any(|&mask| self.implies(mask, cond)) {
                    then
                } else if chosen.is_some_and(|chosen| self.implies(cond, chosen)) {
                    other
                } else {
                    break;
                };
            }
            if by != arg {
                found(n, by);
            }
        }
    }

    /// The demand on an edge's argument, given the demand on its parameter.
    fn before_edge(&self, demand: Demand, (block, args): &Edge) -> Demand {
        let Demand::In(mask) = demand else { return demand };
        for wide in self.wider(mask) {
            match self.func.values[wide.index()].def {
                ValueDef::Param(at, n) if at == *block => {
                    return args.get(n as usize).map_or(Demand::All, |&arg| Demand::In(arg));
                }
                _ if self.is_older(wide, *block) => return Demand::In(wide),
                _ => {}
            }
        }
        Demand::All
    }

    /// Masks that `mask` implies, nearest first, itself included.
    fn wider(&self, mask: Value) -> Vec<Value> {
        let mut list = vec![mask];
        let mut at = 0;
        while at < list.len() && list.len() < 16 {
            if let Some(InstData { op: Opcode::Iand, args, .. }) = self.func.def_inst(list[at]) {
                for &a in args {
                    if !list.contains(&a) {
                        list.push(a);
                    }
                }
            }
            at += 1;
        }
        list
    }

    fn join(&self, a: Demand, b: Demand) -> Demand {
        match (a, b) {
            (Demand::None, x) | (x, Demand::None) => x,
            (Demand::All, _) | (_, Demand::All) => Demand::All,
            (Demand::In(a), Demand::In(b)) if self.implies(a, b) => Demand::In(b),
            (Demand::In(a), Demand::In(b)) => {
                let common = self.wider(a).into_iter().find(|&wide| self.implies(b, wide));
                common.map_or(Demand::All, Demand::In)
            }
        }
    }
}

/// The index of an operation's guard. The operands before it matter only in the guard's lanes.
fn guarded(data: &InstData) -> Option<usize> {
    match data.op {
        Opcode::Load | Opcode::SlotSet | Opcode::TranslateLoad | Opcode::PermitLoad => Some(1),
        Opcode::Store | Opcode::TranslateStore | Opcode::PermitStore => Some(2),
        Opcode::Atomic => Some(data.atomic_operands()),
        Opcode::CallDevice => Some(0),
        _ => None,
    }
}

struct Search<'a> {
    func: &'a Function,
    masks: Masks<'a>,
    demand: Vec<Demand>,
    changes: Vec<u8>,
    work: Vec<Value>,
}

impl<'a> Search<'a> {
    fn new(func: &'a Function) -> Self {
        let count = func.values.len();
        let masks = Masks::new(func);
        Search { func, masks, demand: vec![Demand::None; count], changes: vec![0; count], work: Vec::new() }
    }

    fn add(&mut self, value: Value, more: Demand) {
        let old = self.demand[value.index()];
        let mut new = self.masks.join(old, more);
        if new == old {
            return;
        }
        let changes = &mut self.changes[value.index()];
        *changes += 1;
        if *changes > MOST_CHANGES {
            new = Demand::All;
        }
        self.demand[value.index()] = new;
        self.work.push(value);
    }

    fn demands(mut self) -> Vec<Demand> {
        let func = self.func;
        for block in func.block_ids() {
            let data = func.block(block);
            for &inst in &data.insts {
                self.effect(func.inst(inst));
            }
            let Some(term) = &data.term else { continue };
            term.for_each_condition(|v| self.add(v, Demand::All));
        }
        while let Some(value) = self.work.pop() {
            let demand = self.demand[value.index()];
            match func.values[value.index()].def {
                ValueDef::Param(block, n) => {
                    for at in 0..self.masks.edges[block.index()].len() {
                        let edge = &self.masks.edges[block.index()][at];
                        let (arg, before) =
                            (edge.1.get(n as usize).copied(), self.masks.before_edge(demand, edge));
                        if let Some(arg) = arg {
                            self.add(arg, before);
                        }
                    }
                }
                ValueDef::Inst(inst) => self.operands(func.inst(inst), demand),
            }
        }
        self.demand
    }

    /// Adds the demands that an instruction with an effect makes on its operands.
    fn effect(&mut self, data: &InstData) {
        let Some(guarded) = guarded(data) else {
            if !data.op.is_pure() && data.op != Opcode::SlotGet {
                data.args.iter().for_each(|&a| self.add(a, Demand::All));
            }
            return;
        };
        let demand = data.args.get(guarded).map_or(Demand::All, |&guard| Demand::In(guard));
        for (n, &arg) in data.args.iter().enumerate() {
            self.add(arg, if n < guarded { demand } else { Demand::All });
        }
    }

    /// Adds the demands that a pure instruction makes on its operands if its result matters in `demand`.
    fn operands(&mut self, data: &InstData, demand: Demand) {
        // A uniform result matters in all lanes.
        let demand = if data.result.is_some_and(|v| self.func.ty(v).uniform) { Demand::All } else { demand };
        match (data.op, &data.args[..]) {
            (op, _) if !op.is_pure() => {}
            (Opcode::Select, &[cond, then, other]) => {
                self.add(cond, demand);
                let narrow = self.narrowed(demand, cond);
                self.add(then, narrow);
                self.add(other, demand);
            }
            (Opcode::Iand, &[a, b]) if self.func.ty(a).scalar == Scalar::I1 => {
                // A comparison in a conjunction matters only in the lanes of the other conjunct.
                let compares = |v: Value| matches!(self.func.def_inst(v), Some(d) if matches!(d.op, Opcode::Icmp | Opcode::Fcmp | Opcode::Fsignals | Opcode::CallPure));
                let (first, second) = if compares(b) && !compares(a) { (b, a) } else { (a, b) };
                let narrow = if compares(first) { self.narrowed(demand, second) } else { demand };
                self.add(first, narrow);
                self.add(second, demand);
            }
            (_, args) => args.iter().for_each(|&a| self.add(a, demand)),
        }
    }

    /// The lanes of `demand` where `mask` holds, or a superset of them.
    fn narrowed(&self, demand: Demand, mask: Value) -> Demand {
        match demand {
            Demand::In(wanted) if self.masks.implies(wanted, mask) => demand,
            Demand::None => Demand::None,
            _ if self.func.ty(mask).uniform => demand,
            _ => Demand::In(mask),
        }
    }
}
