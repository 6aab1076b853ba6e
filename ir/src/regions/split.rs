//! Cuts blocks where lanes could see each other, so that every block is safe to run a few lanes at a time.
//!
//! Lanes of a warp run in lock step: an access to shared memory must not pass an access of another lane to the
//! same place when one of the two stores. Within a block that holds if no store follows, and nothing follows a
//! store. (Locks, atomics and other cross-lane operations stand in blocks of their own already.)
//!
//! Atomics happen in the order of lanes. That of a region run a few lanes at a time is the same as long as each lane does one of them, or
//! the order of all that it does makes no difference.

use std::collections::HashMap;

use crate::builder::Builder;
use crate::entities::{Block, Slot, Value};
use crate::function::{Function, Imm, SlotInit, Terminator};
use crate::graph;
use crate::opcodes::{AtomicOp, Opcode, Space};

/// Whether accesses to `space` are ordered between lanes: shared memory always, global memory with `lockstep`.
pub fn is_ordered(space: Space, lockstep: bool) -> bool {
    match space {
        Space::Shared => true,
        Space::Global(_) => lockstep,
        Space::Local | Space::Const(_) => false,
    }
}

/// The atomics of some code.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Atomics {
    /// There are none.
    #[default]
    None,
    /// All do one operation on words of so many bytes, and give the same in any order: nobody looks at what they return.
    Commuting(AtomicOp, u8),
    /// Their order matters.
    Ordered,
}

impl Atomics {
    fn plus(self, other: Atomics) -> Atomics {
        match (self, other) {
            (Atomics::None, x) | (x, Atomics::None) => x,
            (a, b) if a == b => a,
            _ => Atomics::Ordered,
        }
    }
}

/// Accesses of a block whose order between lanes may matter.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OrderedAccesses {
    /// Loads from memory that is ordered between lanes.
    pub loads: u32,
    /// Stores to it.
    pub stores: u32,
    /// Atomics of any memory.
    pub atomics: Atomics,
    /// Whether some of them are of memory that is ordered.
    on_ordered: bool,
    /// Whether there are stores to global memory that is not ordered. Before an atomic that others may see, those of all lanes are done.
    tells: bool,
}

impl OrderedAccesses {
    /// Those of one block.
    pub fn of_block(func: &Function, block: Block, lockstep: bool) -> OrderedAccesses {
        let mut this = OrderedAccesses::default();
        for &i in &func.block(block).insts {
            match (func.inst(i).op, func.inst(i).imm) {
                (Opcode::Load, Imm::Mem(m)) if is_ordered(m.space, lockstep) => this.loads += 1,
                (Opcode::Store, Imm::Mem(m)) if is_ordered(m.space, lockstep) => this.stores += 1,
                (Opcode::Store, Imm::Mem(m)) => this.tells |= matches!(m.space, Space::Global(_)),
                (Opcode::Atomic, Imm::Atomic(m, op)) => {
                    // Local memory is each lane's own.
                    if m.space == Space::Local {
                        continue;
                    }
                    let free = op.is_commutative() && !is_used(func, block, func.inst(i).result);
                    let own = if free { Atomics::Commuting(op, m.bytes) } else { Atomics::Ordered };
                    this.atomics = this.atomics.plus(own);
                    this.on_ordered |= is_ordered(m.space, lockstep);
                }
                _ => {}
            }
        }
        this
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self == OrderedAccesses::default()
    }

    /// Whether a store and another access are both among the loads and stores.
    pub fn conflict(self) -> bool {
        self.stores > 1 || self.stores == 1 && self.loads > 0
    }

    /// Whether it matters that these come before others in all lanes.
    pub fn conflicts_with(self, later: OrderedAccesses) -> bool {
        let both = self.plus(later);
        let plain = |x: OrderedAccesses| x.loads + x.stores > 0;
        let has = |x: OrderedAccesses| x.atomics != Atomics::None;
        plain(self) && plain(later) && both.conflict()
            || has(self) && has(later) && both.atomics == Atomics::Ordered
            || self.on_ordered && plain(later)
            || later.on_ordered && plain(self)
            || self.tells && has(later)
    }

    /// Whether lanes must go through these together: what each does is done in the order of lanes.
    pub fn needs_all(self) -> bool {
        self.stores > 0 || self.atomics == Atomics::Ordered
    }

    /// Both together.
    pub fn plus(self, other: OrderedAccesses) -> OrderedAccesses {
        OrderedAccesses {
            loads: self.loads + other.loads,
            stores: self.stores + other.stores,
            atomics: self.atomics.plus(other.atomics),
            on_ordered: self.on_ordered || other.on_ordered,
            tells: self.tells || other.tells,
        }
    }
}

/// Whether a block uses a value that it makes.
fn is_used(func: &Function, block: Block, value: Option<Value>) -> bool {
    let Some(value) = value else { return false };
    let mut used = func.block(block).insts.iter().any(|&i| func.inst(i).args.contains(&value));
    func.term(block).for_each_use(|v| used |= v == value);
    used
}

/// Cuts every block of a kernel in SPMD form where ordered accesses could conflict. Values needed behind a cut
/// pass through new slots.
pub fn split_hazards(func: &mut Function, lockstep: bool) {
    let mut next = 0;
    while next < func.blocks.len() {
        let block = Block::new(next);
        if let Some(at) = first_conflict(func, block, lockstep) {
            split_block(func, block, at);
        }
        next += 1;
    }
}

/// Cuts every block of more than `most` instructions into parts of about the same size, between guest instructions: a block is
/// compiled as a whole at least, and the time for that grows faster than its length.
pub fn split_long(func: &mut Function, most: usize) {
    let mut next = 0;
    while next < func.blocks.len() {
        let block = Block::new(next);
        next += 1;
        let insts = &func.block(block).insts;
        let parts = insts.len().div_ceil(most);
        if parts < 2 {
            continue;
        }
        let pc = |n: usize| func.inst(insts[n]).pc;
        let middle = insts.len() / parts;
        if let Some(at) = (1..=middle).rev().find(|&n| pc(n) != pc(n - 1)) {
            split_block(func, block, at);
        }
    }
}

/// Whether lanes of a kernel in SPMD form exchange anything but through votes and memory of all blocks: then regions are longer where
/// the lanes of a warp run at once. In a `wave` operations across lanes count. Atomics of global memory do where regions would end
/// within loops for them.
pub fn lanes_meet(func: &Function, wave: bool) -> bool {
    let meets = |i: &crate::entities::Inst| match (func.inst(*i).op, func.inst(*i).imm) {
        (Opcode::Store, Imm::Mem(m)) => m.space == Space::Shared,
        (Opcode::Atomic, Imm::Atomic(m, _)) => m.space == Space::Shared,
        (Opcode::Ballot | Opcode::Shuffle | Opcode::QuadLane | Opcode::VoteAll, _) => wave,
        _ => false,
    };
    func.blocks.iter().any(|block| block.insts.iter().any(meets)) || has_atomics_in_loops(func)
}

/// Whether there are loops with atomics that cannot be run a few lanes at a time.
fn has_atomics_in_loops(func: &Function) -> bool {
    if !func.insts.iter().any(|inst| inst.op == Opcode::Atomic) {
        return false;
    }
    let mut succs: Vec<Vec<usize>> = vec![Vec::new(); func.blocks.len()];
    for block in func.block_ids() {
        func.term(block).for_each_successor(|s| succs[block.index()].push(s.index()));
    }
    graph::strongly_connected(&succs).into_iter().any(|component| {
        let cyclic = component.len() > 1 || succs[component[0]].contains(&component[0]);
        let of_block = |sum: OrderedAccesses, &n: &usize| {
            sum.plus(OrderedAccesses::of_block(func, Block::new(n), false))
        };
        let all = component.iter().fold(OrderedAccesses::default(), of_block);
        cyclic && all.atomics != Atomics::None && (all.needs_all() || all.conflicts_with(all))
    })
}

fn first_conflict(func: &Function, block: Block, lockstep: bool) -> Option<usize> {
    let mut seen = OrderedAccesses::default();
    for (n, &i) in func.block(block).insts.iter().enumerate() {
        let Some(m) = func.mem_access(i) else { continue };
        if !is_ordered(m.space, lockstep) {
            continue;
        }
        match func.inst(i).op {
            Opcode::Load => seen.loads += 1,
            Opcode::Store => seen.stores += 1,
            _ => continue,
        }
        if seen.conflict() {
            return Some(n);
        }
    }
    None
}

/// Moves the instructions from index `at` on, and the terminator, to a new block.
fn split_block(func: &mut Function, block: Block, at: usize) {
    let tail_insts = func.block_mut(block).insts.split_off(at);
    let tail_pc = func.inst(tail_insts[0]).pc;
    let term = func.block_mut(block).term.take().expect("complete block");
    let term_pc = func.block(block).term_pc;
    let tail = func.add_block(tail_pc);
    // Guest instructions that started before the cut count as the head's.
    let total = func.block(block).guest_insts;
    let mut pcs: Vec<u32> = func.block(block).insts.iter().map(|i| func.inst(*i).pc).collect();
    pcs.dedup();
    let head_insts = (pcs.iter().filter(|&&pc| pc < tail_pc).count() as u32).min(total);
    func.block_mut(block).guest_insts = head_insts;
    func.block_mut(tail).guest_insts = total - head_insts;

    let head: std::collections::HashSet<Value> =
        func.block(block).insts.iter().filter_map(|i| func.inst(*i).result).collect();
    let mut crossing: Vec<Value> = Vec::new();
    let mut note = |v: Value| {
        if head.contains(&v) && !crossing.contains(&v) {
            crossing.push(v);
        }
    };
    for &i in &tail_insts {
        func.inst(i).args.iter().copied().for_each(&mut note);
    }
    term.for_each_use(&mut note);

    let mut replaced: HashMap<Value, Value> = HashMap::new();
    for v in crossing {
        let data = func.def_inst(v).cloned();
        if let Some(data) = data.filter(|d| d.op == Opcode::Const) {
            // A constant is made again rather than carried.
            let ty = func.ty(v);
            let mut b = Builder::new(func, tail);
            let again = b.push(Opcode::Const, &[], data.imm, Some(ty)).expect("has a result");
            replaced.insert(v, again);
            continue;
        }
        let slot: Slot = func.add_slot(format!("#x{}", func.slots.len()), func.ty(v), SlotInit::Zero);
        let mut b = Builder::new(func, block);
        b.pc = tail_pc;
        b.set(slot, v);
        let mut b = Builder::new(func, tail);
        replaced.insert(v, b.get(slot));
    }
    let map = |v: Value| replaced.get(&v).copied().unwrap_or(v);
    for &i in &tail_insts {
        func.inst_mut(i).args.iter_mut().for_each(|a| *a = map(*a));
    }
    let mut term = term;
    term.map_uses(map);
    let data = func.block_mut(tail);
    data.insts.extend(tail_insts);
    data.term = Some(term);
    data.term_pc = term_pc;
    let head_data = func.block_mut(block);
    head_data.term = Some(Terminator::Jump(tail.into()));
    head_data.term_pc = tail_pc;
}
