//! What passes share that rewrite a function: values that stand for others, and which reads and loads may move or go.

use std::cell::Cell;

use crate::analysis::{Cfg, Incoming};
use crate::entities::Value;
use crate::function::{Form, Function, Imm, InstData, Terminator, ValueDef};
use crate::opcodes::{Opcode, Space};

/// Values that stand for others.
pub struct Aliases {
    /// What a value is, or what is on the way there.
    to: Vec<Cell<Option<Value>>>,
    any: bool,
}

impl Aliases {
    /// No aliases yet, for the values that `func` has.
    pub fn new(func: &Function) -> Aliases {
        Aliases { to: vec![Cell::new(None); func.values.len()], any: false }
    }

    /// `value` is from now on `by`.
    pub fn set(&mut self, value: Value, by: Value) {
        let by = self.get(by);
        debug_assert_ne!(value, by);
        if value.index() >= self.to.len() {
            self.to.resize(value.index() + 1, Cell::new(None));
        }
        self.to[value.index()].set(Some(by));
        self.any = true;
    }

    /// What stands for `value`. The way there is shorter the next time.
    pub fn get(&self, mut value: Value) -> Value {
        let onward = |value: Value| self.to.get(value.index()).and_then(Cell::get);
        while let Some(by) = onward(value) {
            if let Some(next) = onward(by) {
                self.to[value.index()].set(Some(next));
            }
            value = by;
        }
        value
    }

    /// Whether anything was replaced.
    pub fn any(&self) -> bool {
        self.any
    }

    /// Replaces all uses.
    pub fn apply(&self, func: &mut Function) {
        if !self.any {
            return;
        }
        for b in 0..func.blocks.len() {
            for i in 0..func.blocks[b].insts.len() {
                let inst = func.blocks[b].insts[i];
                for arg in &mut func.inst_mut(inst).args {
                    *arg = self.get(*arg);
                }
            }
            if let Some(term) = &mut func.blocks[b].term {
                term.map_uses(|v| self.get(v));
            }
        }
    }
}

/// Whether lanes never see what another lane computes, so that a value may be used in another block than its own.
/// In SPMD form `quadon` enables lanes that have not run the blocks that dominate it.
pub fn values_cross_blocks(func: &Function) -> bool {
    func.form == Form::Mask
        || func.blocks.iter().all(|b| {
            !matches!(b.term, Some(Terminator::QuadOn { .. }))
                && b.insts.iter().all(|&i| !matches!(func.inst(i).op, Opcode::QuadLane | Opcode::Shuffle))
        })
}

/// Which slots the function writes.
pub fn written_slots(func: &Function) -> Vec<bool> {
    let mut written = vec![false; func.slots.len()];
    for &inst in func.blocks.iter().flat_map(|b| &b.insts) {
        if let InstData { op: Opcode::SlotSet, imm: Imm::Slot(slot), .. } = func.inst(inst) {
            written[slot.index()] = true;
        }
    }
    written
}

/// Whether the load can be left out, or done where it wasn't: it cannot fault.
pub fn load_cannot_fault(func: &Function, inst: &InstData) -> bool {
    let Imm::Mem(mem) = inst.imm else { return false };
    if matches!(mem.space, Space::Global(_)) {
        return false;
    }
    if mem.align <= 1 {
        return true;
    }
    let Some(&address) = inst.args.first() else { return false };
    let Some(address) = func.as_const(address) else { return false };
    let at = (address as u32).wrapping_add(mem.offset as u32).wrapping_sub(u32::from(mem.align_offset));
    at.is_multiple_of(u32::from(mem.align))
}

/// Removes parameters of blocks, and the arguments for them: those that `keep` does not want. Says whether there were any.
pub fn retain_params(func: &mut Function, keep: impl Fn(Value) -> bool) -> bool {
    let mut kept: Vec<Option<Vec<bool>>> = vec![None; func.blocks.len()];
    let mut any = false;
    for block in func.block_ids() {
        let own: Vec<bool> = func.block(block).params.iter().map(|&param| keep(param)).collect();
        if !own.contains(&false) {
            continue;
        }
        func.block_mut(block).params.retain(|&param| keep(param));
        for (n, param) in func.block(block).params.clone().into_iter().enumerate() {
            func.values[param.index()].def = ValueDef::Param(block, n as u32);
        }
        kept[block.index()] = Some(own);
        any = true;
    }
    if any {
        for term in func.blocks.iter_mut().filter_map(|data| data.term.as_mut()) {
            term.for_each_call(|call| {
                if let Some(kept) = &kept[call.block.index()] {
                    let mut kept = kept.iter();
                    call.args.retain(|_| *kept.next().unwrap_or(&true));
                }
            });
        }
    }
    any
}

/// Removes parameters that are given one value on every edge, besides themselves: the value stands for them. It may
/// then be all that another parameter is given.
pub fn single_arguments(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let incoming = Incoming::new(func, cfg.rpo.iter().copied());
    // Parameters have numbers of their own here, block by block.
    let mut params = 0;
    let mut firsts = Vec::with_capacity(func.blocks.len());
    for data in &func.blocks {
        firsts.push(params);
        params += data.params.len();
    }
    let param_index = |value: Value| match func.values[value.index()].def {
        ValueDef::Param(block, n) => Some((block, n, firsts[block.index()] + n as usize)),
        ValueDef::Inst(_) => None,
    };
    let mut takers = Takers::new(params);
    for &block in &cfg.rpo {
        for (&param, n) in func.block(block).params.iter().zip(0..) {
            for (_, _, giver) in incoming.arguments(block, n).filter_map(param_index) {
                takers.add(giver, param);
            }
        }
    }
    let mut aliases = Aliases::new(func);
    let blocks = cfg.rpo.iter().rev().filter(|&&block| block != func.entry);
    let mut work: Vec<Value> =
        blocks.flat_map(|&block| func.block(block).params.iter().rev().copied()).collect();
    while let Some(param) = work.pop() {
        if aliases.get(param) != param {
            continue;
        }
        let Some((block, n, own)) = param_index(param) else { continue };
        let mut others = incoming.arguments(block, n).map(|arg| aliases.get(arg)).filter(|&arg| arg != param);
        let Some(value) = others.next().filter(|&value| others.all(|other| other == value)) else { continue };
        aliases.set(param, value);
        // Those who were given the parameter are given the value.
        work.extend(takers.of(own));
        if let Some((.., value)) = param_index(value) {
            takers.hand_over(own, value);
        }
    }
    if !aliases.any() {
        return false;
    }
    retain_params(func, |param| aliases.get(param) == param);
    aliases.apply(func);
    true
}

/// For each parameter: the parameters that are given it, as lists in one table.
struct Takers {
    /// By parameter: its first and its last entry.
    ends: Vec<Option<(usize, usize)>>,
    /// A taker, and the next entry.
    entries: Vec<(Value, Option<usize>)>,
}

impl Takers {
    fn new(params: usize) -> Takers {
        Takers { ends: vec![None; params], entries: Vec::new() }
    }

    fn add(&mut self, giver: usize, taker: Value) {
        let entry = self.entries.len();
        self.entries.push((taker, None));
        self.append(giver, (entry, entry));
    }

    fn of(&self, giver: usize) -> impl Iterator<Item = Value> {
        let mut next = self.ends[giver].map(|(first, _)| first);
        std::iter::from_fn(move || {
            let (taker, behind) = self.entries[next?];
            next = behind;
            Some(taker)
        })
    }

    /// Gives the takers of one to another.
    fn hand_over(&mut self, from: usize, to: usize) {
        if let Some(list) = self.ends[from].take() {
            self.append(to, list);
        }
    }

    fn append(&mut self, giver: usize, list: (usize, usize)) {
        let own = &mut self.ends[giver];
        match own {
            Some((_, last)) => {
                self.entries[*last].1 = Some(list.0);
                *last = list.1;
            }
            None => *own = Some(list),
        }
    }
}
