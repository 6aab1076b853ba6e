//! Finds the lanes in which each value matters.
//!
//! In mask form, lanes that have left a loop or wait for the other side of a branch keep computing, on meaningless operands.
//! Their results only reach guards, selects and conjunctions that exclude them. For each value this analysis finds a mask outside
//! which nothing depends on it, so that code that is fast for common operands need not test these lanes.
//!
//! In a conjunction `m & c`, the condition `c` matters only in the lanes of `m`. The mask `m` matters wherever the conjunction
//! does, because one of the two must be right everywhere.

use warpjit_ir::analysis::{Cfg, Dominators};
use warpjit_ir::function::{BlockCall, Terminator, ValueDef};
use warpjit_ir::types::Scalar;
use warpjit_ir::{Block, Function, Opcode, Value};

/// The lanes where a value matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lanes {
    None,
    /// At most the lanes of this mask.
    Of(Value),
    All,
}

/// Most steps from a mask to masks that it implies.
const MOST_STEPS: usize = 32;

/// For each value, the lanes in which it matters.
pub(crate) struct DemandedLanes<'a> {
    f: &'a Function,
    dominators: Dominators,
    of: Vec<Lanes>,
    /// Block and position of each definition. Parameters come before all instructions.
    place: Vec<Option<(Block, usize)>>,
}

impl<'a> DemandedLanes<'a> {
    /// Analyses the blocks in `order`, a reverse postorder.
    pub fn new(f: &'a Function, order: &[Block]) -> DemandedLanes<'a> {
        let mut place = vec![None; f.values.len()];
        for &b in order {
            f.block(b).params.iter().for_each(|p| place[p.index()] = Some((b, 0)));
            for (n, &inst) in f.block(b).insts.iter().enumerate() {
                if let Some(r) = f.inst(inst).result {
                    place[r.index()] = Some((b, n + 1));
                }
            }
        }
        let dominators = Dominators::of(&Cfg::new(f));
        let mut wanted = DemandedLanes { f, dominators, of: vec![Lanes::None; f.values.len()], place };
        // The sets only grow, from each mask to one that it implies, so this ends.
        let mut changed = true;
        while changed {
            changed = false;
            for &b in order.iter().rev() {
                changed |= wanted.block(b);
            }
        }
        wanted
    }

    /// A mask that is available after `behind` instructions of a block and holds in every lane where one of the values
    /// matters; `None` if there is none.
    pub fn mask_covering(
        &self,
        values: impl Iterator<Item = Value>,
        block: Block,
        behind: usize,
    ) -> Option<Value> {
        let all = values.map(|v| self.of[v.index()]).fold(Lanes::None, |all, one| self.join(all, one));
        let Lanes::Of(mask) = all else { return None };
        self.around(mask).into_iter().find(|m| match self.place[m.index()] {
            Some((b, n)) if b == block => n <= behind,
            Some((b, _)) => self.dominators.dominates(b, block),
            None => false,
        })
    }

    /// A mask and the masks that it implies, the nearest first.
    fn around(&self, mask: Value) -> Vec<Value> {
        let mut list = vec![mask];
        let mut next = 0;
        while let Some(&m) = list.get(next).filter(|_| next < MOST_STEPS) {
            next += 1;
            if let Some(data) = self.f.def_inst(m).filter(|data| data.op == Opcode::Iand) {
                for &a in &data.args {
                    if !list.contains(&a) {
                        list.push(a);
                    }
                }
            }
        }
        list
    }

    fn join(&self, a: Lanes, b: Lanes) -> Lanes {
        match (a, b) {
            (Lanes::None, x) | (x, Lanes::None) => x,
            (Lanes::Of(a), Lanes::Of(b)) => {
                let around_b = self.around(b);
                let both = self.around(a).into_iter().find(|m| around_b.contains(m));
                both.map_or(Lanes::All, Lanes::Of)
            }
            _ => Lanes::All,
        }
    }

    fn want(&mut self, v: Value, lanes: Lanes) -> bool {
        let joined = self.join(self.of[v.index()], lanes);
        let changed = joined != self.of[v.index()];
        self.of[v.index()] = joined;
        changed
    }

    fn block(&mut self, b: Block) -> bool {
        let f = self.f;
        let mut changed = false;
        let mut call = |w: &mut Self, call: &BlockCall| {
            for (&p, &a) in f.block(call.block).params.iter().zip(&call.args) {
                let lanes = w.at_edge(w.of[p.index()], call);
                changed |= w.want(a, lanes);
            }
        };
        match f.term(b) {
            Terminator::Jump(c) => call(self, c),
            Terminator::BrIf { cond, taken, next } | Terminator::BrAny { mask: cond, taken, next } => {
                call(self, taken);
                call(self, next);
                changed |= self.want(*cond, Lanes::All);
            }
            other => other.for_each_use(|v| changed |= self.want(v, Lanes::All)),
        }
        for &inst in f.block(b).insts.iter().rev() {
            changed |= self.inst(inst);
        }
        changed
    }

    /// The lanes in which an argument matters, given those of its parameter.
    fn at_edge(&self, lanes: Lanes, call: &BlockCall) -> Lanes {
        let Lanes::Of(mask) = lanes else { return lanes };
        for m in self.around(mask) {
            match self.f.values[m.index()].def {
                ValueDef::Param(b, n) if b == call.block => {
                    return call.args.get(n as usize).map_or(Lanes::All, |&a| Lanes::Of(a));
                }
                _ => {}
            }
            // A mask defined in the target is a different value when the edge is taken.
            if let Some((b, _)) = self.place[m.index()]
                && b != call.block
                && self.dominators.dominates(b, call.block)
            {
                return Lanes::Of(m);
            }
        }
        Lanes::All
    }

    fn inst(&mut self, inst: warpjit_ir::Inst) -> bool {
        let data = self.f.inst(inst);
        let own = data.result.map_or(Lanes::None, |r| self.of[r.index()]);
        let mut changed = false;
        match (data.op, &data.args[..]) {
            (Opcode::Iand, &[x, y]) if data.result.is_some_and(|r| self.f.ty(r).scalar == Scalar::I1) => {
                if own == Lanes::None {
                    return false;
                }
                let (mask, condition) =
                    if self.is_condition(x) && !self.is_condition(y) { (y, x) } else { (x, y) };
                let narrow = match own {
                    Lanes::Of(m) if self.around(m).contains(&mask) => own,
                    _ => Lanes::Of(mask),
                };
                changed |= self.want(mask, own);
                changed |= self.want(condition, narrow);
            }
            // Address and value matter only in the lanes of the guard.
            (Opcode::Store, &[address, value, guard]) => {
                changed |= self.want(address, Lanes::All);
                changed |= self.want(guard, Lanes::All);
                changed |= self.want(value, Lanes::Of(guard));
            }
            (Opcode::SlotSet, &[value, guard]) if self.f.as_const(guard).is_none() => {
                changed |= self.want(guard, Lanes::All);
                changed |= self.want(value, Lanes::Of(guard));
            }
            (op, args) if op.is_pure() && (op != Opcode::CallPure || data.special().is_some()) => {
                args.iter().for_each(|&a| changed |= self.want(a, own));
            }
            (_, args) => args.iter().for_each(|&a| changed |= self.want(a, Lanes::All)),
        }
        changed
    }

    /// Whether a mask is the result of a comparison. In a conjunction, that is taken as the condition, and the other
    /// operand as its mask.
    fn is_condition(&self, v: Value) -> bool {
        match self.f.def_inst(v) {
            Some(data) if data.op == Opcode::Inot => data.args.iter().any(|&a| self.is_condition(a)),
            Some(data) => matches!(data.op, Opcode::Fcmp | Opcode::Fsignals | Opcode::Icmp),
            None => false,
        }
    }
}
