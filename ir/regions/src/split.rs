//! Cuts blocks where lanes could observe each other, so that every block may run chunk by chunk.
//!
//! Lanes of a warp run in lock step, so an access to shared memory must not be reordered with an access of another lane to the
//! same address if one of them stores. Within a block chunk by chunk is right if no store follows a load and nothing follows a
//! store. So blocks are cut before an access that would break this rule. (Locks, atomics and other cross-lane operations are in
//! blocks of their own already.)
//!
//! The hardware executes an atomic in the order of lanes. Chunk by chunk gives the same result if each lane executes one atomic,
//! or if the order of all atomics makes no difference.

use std::cell::OnceCell;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use warpjit_ir_core::builder::Builder;
use warpjit_ir_core::entities::{Block, Inst, Slot, Value};
use warpjit_ir_core::function::{Begun, Function, Imm, SlotInit, Terminator};
use warpjit_ir_core::graph;
use warpjit_ir_core::opcodes::{AtomicOp, Opcode, Reach, Space};
use warpjit_ir_core::types::Type;

use super::wave_memory::{WaveLoads, is_wave_store};

/// Most guest instructions of a block that is short ([`loops_are_short`]).
const MOST_SHORT: u32 = 16;

/// Whether accesses to `space` are ordered between lanes: shared memory always, global memory with `lockstep`.
pub fn is_ordered(space: Space, lockstep: bool) -> bool {
    match space {
        Space::Shared => true,
        Space::Global(_) => lockstep,
        Space::Local | Space::Const(_) => false,
    }
}

/// Which accesses are ordered between the lanes of a warp, so that code that runs chunk by chunk must keep their order.
#[derive(Clone, Default, Debug)]
pub struct Order {
    /// Accesses to global memory too.
    pub lockstep: bool,
    /// Scalar loads of a wave that runs chunk by chunk.
    pub wave: WaveLoads,
}

impl Order {
    /// Orders shared memory and, with `lockstep`, global memory.
    pub fn of_lanes(lockstep: bool) -> Order {
        Order { lockstep, wave: WaveLoads::default() }
    }
}

/// The atomics of some code.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Atomics {
    /// There are none.
    #[default]
    None,
    /// All are the same commutative operation on words of so many bytes, and their results are unused.
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

/// Summary of a block's accesses whose order between lanes may matter.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OrderedAccesses {
    /// Loads from memory that is ordered between lanes.
    pub loads: u32,
    /// Stores to it.
    pub stores: u32,
    /// Atomics on any memory.
    pub atomics: Atomics,
    /// Whether some of the atomics are on ordered memory.
    on_ordered: bool,
    /// Whether there are stores to unordered global memory. All lanes' stores must be done before an atomic on global
    /// memory, because another warp may see the atomic and then read what was stored.
    tells: bool,
    /// Whether there are atomics on global memory.
    updates: bool,
    /// Whether accesses are in lock step. Then all accesses before a faulting one are done in all lanes.
    in_step: bool,
    /// Whether there are scalar loads of a wave, which must not see the stores of only some chunks.
    of_wave: bool,
}

impl OrderedAccesses {
    /// The accesses of one block. In lock step, a fault at its end counts as a load, because the stores of all lanes
    /// are done before it.
    pub fn of_block(func: &Function, block: Block, order: &Order) -> OrderedAccesses {
        let lockstep = order.lockstep;
        let loads = u32::from(faults_in_step(func, block, lockstep));
        let mut this = OrderedAccesses { loads, ..Default::default() };
        let used = OnceCell::new();
        for &i in &func.block(block).insts {
            match (func.inst(i).op, func.inst(i).imm) {
                (Opcode::Load, Imm::Mem(m)) if is_ordered(m.space, lockstep) => this.loads += 1,
                (Opcode::Load, _) => this.of_wave |= order.wave.contains(i),
                (Opcode::Store, Imm::Mem(m)) if is_ordered(m.space, lockstep) => this.stores += 1,
                (Opcode::Store, Imm::Mem(m)) => this.tells |= matches!(m.space, Space::Global(_)),
                (Opcode::Atomic, Imm::Atomic(m, op)) => {
                    // Local memory is each lane's own.
                    if m.space == Space::Local {
                        continue;
                    }
                    let is_used = |v| used.get_or_init(|| used_values(func, block)).contains(&v);
                    let free = op.is_commutative() && !func.inst(i).result.is_some_and(is_used);
                    let own = if free { Atomics::Commuting(op, m.bytes) } else { Atomics::Ordered };
                    this.atomics = this.atomics.plus(own);
                    this.on_ordered |= is_ordered(m.space, lockstep);
                    this.updates |= matches!(m.space, Space::Global(_));
                    this.in_step |= lockstep && matches!(m.space, Space::Global(_));
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

    /// Whether all lanes must do these before any lane does the `later` ones.
    pub fn conflicts_with(self, later: OrderedAccesses) -> bool {
        let both = self.plus(later);
        let plain = |x: OrderedAccesses| x.loads + x.stores > 0;
        let has = |x: OrderedAccesses| x.atomics != Atomics::None;
        plain(self) && plain(later) && both.conflict()
            || has(self) && has(later) && both.atomics == Atomics::Ordered
            || self.in_step && later.in_step
            || self.on_ordered && plain(later)
            || later.on_ordered && plain(self)
            || self.tells && has(later)
            || self.of_wave && (later.tells || later.updates)
            || later.of_wave && (self.tells || self.updates)
    }

    /// Whether lanes must execute these together, in lane order.
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
            updates: self.updates || other.updates,
            in_step: self.in_step || other.in_step,
            of_wave: self.of_wave || other.of_wave,
        }
    }
}

/// Whether a block ends with a fault before which the stores of all lanes must be done.
fn faults_in_step(func: &Function, block: Block, lockstep: bool) -> bool {
    lockstep && matches!(func.block(block).term, Some(Terminator::Fault(_)))
}

/// Values that a block uses.
fn used_values(func: &Function, block: Block) -> HashSet<Value> {
    let data = func.block(block);
    let mut used: HashSet<Value> =
        data.insts.iter().flat_map(|&i| func.inst(i).args.iter().copied()).collect();
    func.term(block).for_each_use(|v| _ = used.insert(v));
    used
}

/// Cuts every block of a kernel in SPMD form where ordered accesses could conflict. Values needed after a cut pass
/// through new slots.
pub fn split_hazards(func: &mut Function, order: &Order) {
    split_blocks(func, |func, block| conflicts(func, block, order));
}

/// Cuts every block of more than `most` instructions into parts of about equal size, between guest instructions. The
/// smallest unit of compilation is a block, and compile time grows faster than its length.
///
/// Other values use the slot of a value that passes a cut again, after its last reader. Every region knows all slots, so their number
/// must not grow with the cuts.
pub fn split_long(func: &mut Function, most: usize) {
    split_blocks(func, |func, block| {
        if looks_at_quad(func, block) {
            // Lanes that are not active would not pass on what others look at.
            return Vec::new();
        }
        let insts = &func.block(block).insts;
        let starts = |n: &usize| func.inst(insts[*n]).pc != func.inst(insts[*n - 1]).pc;
        let (mut cuts, mut from) = (Vec::new(), 0);
        while insts.len() - from > most {
            let middle = from + (insts.len() - from) / (insts.len() - from).div_ceil(most);
            let before = (from + 1..=middle).rev().find(starts);
            let Some(at) = before.or_else(|| (middle + 1..insts.len()).find(starts)) else { break };
            cuts.push(at);
            from = at;
        }
        cuts
    });
}

/// Whether the lanes of a kernel in SPMD form communicate within a block other than by votes. Then regions are longer
/// if one chunk holds the whole warp. In a `wave`, cross-lane operations count too. Atomics on global memory count if
/// they would end regions inside loops.
pub fn lanes_exchange_data(func: &Function, wave: bool) -> bool {
    let meets = |i: &Inst| match (func.inst(*i).op, func.inst(*i).imm) {
        (Opcode::Store, Imm::Mem(m)) => m.space == Space::Shared,
        (Opcode::Atomic, Imm::Atomic(m, _)) => m.space == Space::Shared,
        (Opcode::Ballot | Opcode::Shuffle | Opcode::VoteAll, _) => wave,
        _ => false,
    };
    func.blocks.iter().any(|block| block.insts.iter().any(meets)) || has_atomics_in_loops(func)
}

/// Whether lanes may read what other lanes have stored since the last barrier. Running chunk by chunk, such code would
/// be cut into regions of a few instructions. Reads of a constant address (a final sum, or a launch parameter) do not
/// count, because a single cut costs little.
pub fn stores_are_read(func: &Function, lockstep: bool) -> bool {
    // Blocks that may start after a store without a barrier in between.
    let mut behind = vec![false; func.blocks.len()];
    let mut work: Vec<Block> = func.block_ids().collect();
    while let Some(block) = work.pop() {
        let mut stored = behind[block.index()];
        for &i in &func.block(block).insts {
            let (data, Some(m)) = (func.inst(i), func.mem_access(i)) else { continue };
            if !is_ordered(m.space, lockstep) {
                continue;
            }
            if data.op == Opcode::Load && stored && func.as_const(data.args[0]).is_none() {
                return true;
            }
            stored |= data.op == Opcode::Store;
        }
        if stored && !matches!(func.term(block), Terminator::Barrier { .. }) {
            func.term(block).for_each_successor(|next| {
                if !std::mem::replace(&mut behind[next.index()], true) {
                    work.push(next);
                }
            });
        }
    }
    false
}

/// Whether a kernel has scalar loads of memory that its own stores may change. Running chunk by chunk, such code would
/// be cut often.
pub fn wave_loads_may_alias_stores(func: &Function, order: &Order) -> bool {
    let of_block = |sum: OrderedAccesses, block| sum.plus(OrderedAccesses::of_block(func, block, order));
    let all = func.block_ids().fold(OrderedAccesses::default(), of_block);
    all.of_wave && (all.tells || all.updates)
}

/// The cycles of the control-flow graph, as lists of blocks.
fn loops(func: &Function) -> Vec<Vec<usize>> {
    let mut succs: Vec<Vec<usize>> = vec![Vec::new(); func.blocks.len()];
    for block in func.block_ids() {
        func.term(block).for_each_successor(|s| succs[block.index()].push(s.index()));
    }
    let mut list = graph::strongly_connected(&succs);
    list.retain(|component| component.len() > 1 || succs[component[0]].contains(&component[0]));
    list
}

/// Whether there are loops and all their blocks are short. Regions of single blocks would be inefficient there.
pub fn loops_are_short(func: &Function) -> bool {
    let mut blocks = loops(func).into_iter().flatten().peekable();
    blocks.peek().is_some() && blocks.all(|n| func.blocks[n].guest_insts <= MOST_SHORT)
}

/// Whether there are loops with atomics that cannot run chunk by chunk.
pub fn has_atomics_in_loops(func: &Function) -> bool {
    if !func.insts.iter().any(|inst| inst.op == Opcode::Atomic) {
        return false;
    }
    let order = Order::of_lanes(false);
    loops(func).into_iter().any(|component| {
        let of_block = |sum: OrderedAccesses, &n: &usize| {
            sum.plus(OrderedAccesses::of_block(func, Block::new(n), &order))
        };
        let all = component.iter().fold(OrderedAccesses::default(), of_block);
        all.atomics != Atomics::None && (all.needs_all() || all.conflicts_with(all))
    })
}

/// Where a block must be cut: before each access (or fault at its end) that conflicts with an access since the last
/// cut, and before and after each scalar store.
fn conflicts(func: &Function, block: Block, order: &Order) -> Vec<usize> {
    let insts = &func.block(block).insts;
    let (mut cuts, mut seen) = (Vec::new(), OrderedAccesses::default());
    let mut behind_wave_store = false;
    for (n, &i) in insts.iter().enumerate() {
        let Some(m) = func.mem_access(i) else { continue };
        let is_ordered = is_ordered(m.space, order.lockstep);
        let is_global = matches!(m.space, Space::Global(_));
        let is_wave_store = is_wave_store(func, i);
        let own = match func.inst(i).op {
            Opcode::Load if is_ordered => OrderedAccesses { loads: 1, ..Default::default() },
            Opcode::Load if order.wave.contains(i) => OrderedAccesses { of_wave: true, ..Default::default() },
            Opcode::Store if is_ordered => OrderedAccesses { stores: 1, ..Default::default() },
            Opcode::Store if is_global => OrderedAccesses { tells: true, ..Default::default() },
            _ => continue,
        };
        let cut = is_wave_store != behind_wave_store || seen.conflicts_with(own);
        if cut && n > 0 {
            cuts.push(n);
            seen = own;
        } else {
            seen = seen.plus(own);
        }
        behind_wave_store = is_wave_store;
    }
    if seen.stores > 0 && faults_in_step(func, block, order.lockstep) {
        cuts.push(insts.len());
    }
    cuts
}

/// Cuts every block before the instructions whose indices `cuts` returns, in ascending order. The terminator has the
/// index after the last instruction.
fn split_blocks(func: &mut Function, cuts: impl Fn(&Function, Block) -> Vec<usize>) {
    let mut slots = Slots::default();
    for block in func.block_ids().collect::<Vec<_>>() {
        let cuts = cuts(func, block);
        if !cuts.is_empty() {
            split_block(func, block, &cuts, &mut slots);
        }
    }
}

/// How many of the guest instructions that a block counts begin in one part of it. `own` are the part's operations; the
/// first operation after it belongs to the guest instruction at `pc`. An instruction that is cut counts where it
/// begins, because a step limit must not stop inside it.
fn begin_before(func: &Function, own: &[Inst], pc: u32, begun: &mut Begun<'_>) -> usize {
    let before = begun.count();
    let is_cut = own.iter().fold(false, |is_cut, &i| {
        let of = func.inst(i).pc;
        begun.with(of);
        is_cut || of == pc
    });
    if !is_cut {
        // This includes instructions without any operation.
        begun.up_to(pc);
    }
    begun.count() - before
}

/// Slots for values that are needed after a cut. They are reused once the last part that needs them has begun, so that
/// a kernel with many cuts does not have many slots, all of which every region must handle.
#[derive(Default)]
struct Slots {
    free: HashMap<Type, Vec<Slot>>,
}

impl Slots {
    fn take(&mut self, func: &mut Function, ty: Type) -> Slot {
        let free = self.free.get_mut(&ty).and_then(Vec::pop);
        free.unwrap_or_else(|| func.add_slot(format!("#x{}", func.slots.len()), ty, SlotInit::Zero))
    }

    fn give(&mut self, func: &Function, slot: Slot) {
        self.free.entry(func.slots[slot.index()].ty).or_default().push(slot);
    }
}

/// Computes a value anew, and what it is computed of, but for what `made` has already.
fn make_anew(b: &mut Builder<'_>, value: Value, made: &mut HashMap<Value, Value>) -> Value {
    if let Some(&made) = made.get(&value) {
        return made;
    }
    let ty = b.func.ty(value);
    let Some(data) = b.func.def_inst(value) else { return value };
    let (op, imm, args) = (data.op, data.imm, data.args.to_vec());
    let args: Vec<Value> = args.into_iter().map(|arg| make_anew(b, arg, made)).collect();
    let again = b.push(op, &args, imm, Some(ty)).expect("has a result");
    made.insert(value, again);
    again
}

/// Moves the instructions from each cut on, and the terminator, into new blocks. Takes time in proportion to the
/// block's length.
fn split_block(func: &mut Function, block: Block, cuts: &[usize], slots: &mut Slots) {
    let counted = func.counted_addresses(block);
    let mut begun = Begun::new(&counted);
    let insts = std::mem::take(&mut func.block_mut(block).insts);
    let mut term = func.block_mut(block).term.take().expect("complete block");
    let (term_pc, total) = (func.block(block).term_pc, func.block(block).guest_insts);
    let bounds: Vec<usize> = std::iter::once(0).chain(cuts.iter().copied()).chain([insts.len()]).collect();
    let parts = bounds.len() - 1;

    // For each value: the part that defines it and the last part that uses it. For each part: the values of earlier
    // parts that it uses, in order of first use.
    let mut home: HashMap<Value, usize> = HashMap::new();
    let mut last: HashMap<Value, usize> = HashMap::new();
    let mut wanted: Vec<Vec<Value>> = vec![Vec::new(); parts];
    for part in 0..parts {
        let mut note = |v: Value| {
            if home.get(&v).is_some_and(|&made| made < part) && last.insert(v, part) != Some(part) {
                wanted[part].push(v);
            }
        };
        let own = &insts[bounds[part]..bounds[part + 1]];
        own.iter().for_each(|&i| func.inst(i).args.iter().copied().for_each(&mut note));
        if part + 1 == parts {
            term.for_each_use(&mut note);
        }
        home.extend(own.iter().filter_map(|&i| Some((func.inst(i).result?, part))));
    }
    // Constants, and what is computed of nothing else, are made anew in the parts that use them. For one value of the whole
    // warp there is no other way: a slot for it is written by the last chunk of lanes, which need not come here.
    let mut fixed: HashSet<Value> = HashSet::new();
    let mut leaving: Vec<Vec<Value>> = vec![Vec::new(); parts];
    for &i in &insts {
        let data = func.inst(i);
        let Some(v) = data.result else { continue };
        let is_uniform = func.ty(v).uniform && data.op.is_pure();
        if data.op == Opcode::Const || is_uniform && data.args.iter().all(|a| fixed.contains(a)) {
            fixed.insert(v);
        } else if last.contains_key(&v) {
            leaving[home[&v]].push(v);
        }
    }

    let mut held: HashMap<Value, Slot> = HashMap::new();
    let (mut at, mut left) = (block, total);
    for part in 0..parts {
        let own = &insts[bounds[part]..bounds[part + 1]];
        let mut replaced: HashMap<Value, Value> = HashMap::new();
        let mut b = Builder::new(func, at);
        for &v in &wanted[part] {
            let again = match held.get(&v) {
                Some(&slot) => b.get(slot),
                None => make_anew(&mut b, v, &mut replaced),
            };
            replaced.insert(v, again);
            if last[&v] == part
                && let Some(slot) = held.remove(&v)
            {
                slots.give(b.func, slot);
            }
        }
        let map = |v: Value| replaced.get(&v).copied().unwrap_or(v);
        for &i in own {
            func.inst_mut(i).args.iter_mut().for_each(|a| *a = map(*a));
        }
        func.block_mut(at).insts.extend(own);
        if part + 1 == parts {
            term.map_uses(map);
            break;
        }
        let pc = insts.get(bounds[part + 1]).map_or(term_pc, |&i| func.inst(i).pc);
        for &v in &leaving[part] {
            let slot = slots.take(func, func.ty(v));
            let mut b = Builder::new(func, at);
            b.pc = pc;
            b.set(slot, v);
            held.insert(v, slot);
        }
        let first = begun.count();
        let count = begin_before(func, own, pc, &mut begun) as u32;
        left -= count;
        let tail = func.add_block(pc);
        let head = func.block_mut(at);
        head.guest_insts = count;
        head.counted.0 = counted[first..begun.count()].to_vec();
        head.term = Some(Terminator::Jump(tail.into()));
        head.term_pc = pc;
        at = tail;
    }
    let data = func.block_mut(at);
    data.guest_insts = left;
    data.counted.0 = counted[begun.count()..].to_vec();
    data.term = Some(term);
    data.term_pc = term_pc;
}

/// Whether a block contains an operation on quads.
pub fn looks_at_quad(func: &Function, block: Block) -> bool {
    func.block(block).insts.iter().any(|&inst| func.inst(inst).op.reach() == Reach::Quad)
}
