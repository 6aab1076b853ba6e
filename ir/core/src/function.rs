//! The IR's data structures: a [`Function`] with its slots, blocks, instructions and terminators. A function is one kernel or one
//! lane region.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::abi::Builtin;
use crate::device::DeviceSite;
use crate::entities::{Block, Inst, Slot, Value};
use crate::lane_counts::LaneCounts;
use crate::opcodes::{AtomicOp, FloatCC, IntCC, MemAccess, Opcode, Space};
use crate::pure::{PureFn, Special};
use crate::types::Type;
use crate::word_table::WordTable;

/// Which of the two forms a function is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Form {
    /// Branches may depend on the lane; the guest's divergence instructions are terminators.
    Spmd,
    /// Branches are uniform, effects name their masks.
    Mask,
}

/// What a slot holds when a warp starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SlotInit {
    /// Zero.
    Zero,
    /// A launch value.
    Builtin(Builtin),
    /// A constant.
    Const(u64),
    /// The offset of the warp's part within a segment, which is named by number ([`crate::SegmentSize::PerWarp`],
    /// [`crate::SegmentSize::Ring`]).
    WarpOffset(u8),
}

/// A variable of the warp's frame.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SlotData {
    /// The guest's name for it (`r5`, `c0.z`, `a1`) or the lifter's.
    pub name: String,
    /// Type; mask slots are words of 0 or -1 in the frame.
    pub ty: Type,
    /// Initial value.
    pub init: SlotInit,
    /// Upper bound of its unsigned value, if one below the type's maximum is known.
    pub umax: Option<u32>,
}

/// What an instruction has besides its operands.
#[derive(Clone, Copy, PartialEq, Hash, Debug)]
pub enum Imm {
    /// Nothing.
    None,
    /// Bits of a constant, of the NaN of `fcanon`, the lane of `quad_lane`.
    Bits(u64),
    /// Condition of `icmp`.
    Int(IntCC),
    /// Condition of `fcmp`, and whether denormals count as zeros.
    FloatCmp(FloatCC, bool),
    /// Whether a float operation flushes denormals (`ftz`).
    Ftz(bool),
    /// The access of `load`, `store`, `lock`, `unlock_store`.
    Mem(MemAccess),
    /// The access and operation of `atomic`.
    Atomic(MemAccess, AtomicOp),
    /// The slot of `slot.get` and `slot.set`.
    Slot(Slot),
    /// The callee of `call.pure`.
    Pure(&'static PureFn),
    /// The table of `lookup`.
    Table(&'static WordTable),
    /// The callee of `call.device`, its constant and its place in local memory.
    Device(DeviceSite),
}

/// An instruction.
#[derive(Clone, PartialEq, Hash, Debug)]
pub struct InstData {
    /// Operation.
    pub op: Opcode,
    /// Operands.
    pub args: Vec<Value>,
    /// The rest.
    pub imm: Imm,
    /// The result, if the operation has one.
    pub result: Option<Value>,
    /// Guest address of the instruction it was lifted from.
    pub pc: u32,
}

impl InstData {
    /// If this calls a pure function that a code generator may implement itself: which.
    #[inline]
    pub fn special(&self) -> Option<Special> {
        match self.imm {
            Imm::Pure(callee) => callee.special,
            _ => None,
        }
    }

    /// Number of operands of an atomic before its guard.
    #[inline]
    pub fn atomic_operands(&self) -> usize {
        match self.imm {
            Imm::Atomic(_, op) if op.takes_two() => 3,
            _ => 2,
        }
    }
}

/// A block and the arguments for its parameters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BlockCall {
    /// Where.
    pub block: Block,
    /// One a parameter.
    pub args: Vec<Value>,
}

impl From<Block> for BlockCall {
    fn from(block: Block) -> Self {
        BlockCall { block, args: Vec::new() }
    }
}

/// Kind of a divergence-stack entry that a push instruction makes (docs/hardware/divergence.md).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum PushKind {
    /// joinat, ssy.
    Join,
    /// prebrk, pbk.
    Break,
    /// precont, pcnt.
    Continue,
    /// preret, pret: an entry that `ret` returns to.
    Call,
    /// plongjmp.
    Long,
}

/// How lanes leave.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum LeaveKind {
    /// brk.
    Break,
    /// cont.
    Continue,
    /// ret; without a call entry on the stack the thread ends.
    Return,
    /// longjmp.
    Long,
    /// exit.
    Exit,
}

impl LeaveKind {
    /// The kind of entry that says where lanes that leave this way continue; `None` if their threads end.
    pub fn entry(self) -> Option<PushKind> {
        match self {
            LeaveKind::Break => Some(PushKind::Break),
            LeaveKind::Continue => Some(PushKind::Continue),
            LeaveKind::Return => Some(PushKind::Call),
            LeaveKind::Long => Some(PushKind::Long),
            LeaveKind::Exit => None,
        }
    }
}

/// The guest faults that code itself can raise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum GuestFault {
    /// Undefined or impossible instruction.
    Illegal,
    /// The guest's trap instruction.
    Trap,
}

/// A barrier instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BarrierSpec {
    /// Which barrier.
    pub index: u8,
    /// Whether the warp arrives.
    pub arrive: bool,
    /// Whether the warp waits.
    pub wait: bool,
    /// Number of warps that must arrive; `None`: all warps of the block.
    pub warps: Option<u32>,
    /// If the barrier is chosen at run time: the i32 slot that names it. Its value in the lowest active lane has the
    /// barrier's index in bits 0 to 3 and the number of warps (0: all of the block) above. Then `index` and `warps` are
    /// ignored.
    pub from: Option<Slot>,
}

impl BarrierSpec {
    /// The barrier that the value of the slot `from` names.
    pub fn named_by(self, value: u32) -> BarrierSpec {
        let warps = value >> 4;
        BarrierSpec { index: value as u8 & 15, warps: (warps != 0).then_some(warps), from: None, ..self }
    }
}

/// The end of a block.
///
/// Those up to [`Terminator::Fault`] stand in SPMD form, where the stack rules of docs/hardware/divergence.md apply;
/// those after it in mask form. `Jump` stands in both.
#[derive(Clone, PartialEq, Hash, Debug)]
pub enum Terminator {
    /// Goes on at one block.
    Jump(BlockCall),
    /// Lanes whose `cond` holds go to `taken`, the rest to `next`. When lanes disagree, the rest is pushed as a
    /// branch entry and the taken side runs first.
    Branch {
        /// Condition, a mask.
        cond: Value,
        /// Where lanes go whose condition holds.
        taken: BlockCall,
        /// Where the others go.
        next: BlockCall,
    },
    /// Pushes an entry with the active mask and goes on.
    Push {
        /// Kind of entry.
        kind: PushKind,
        /// Its target.
        target: Block,
        /// Where execution goes on.
        next: Block,
    },
    /// Pushes a call entry for `ret` and jumps to `target`.
    Call {
        /// The function called.
        target: Block,
        /// Where it returns to.
        ret: Block,
    },
    /// Lanes whose `cond` holds (all without one) leave; the others go on at `next`.
    Leave {
        /// How.
        kind: LeaveKind,
        /// Condition, a mask.
        cond: Option<Value>,
        /// Where the others go.
        next: Block,
    },
    /// Lanes whose `cond` holds (all without one) have arrived at the join.
    Join {
        /// Condition, a mask (Fermi's `.S`); Tesla has none.
        cond: Option<Value>,
        /// Tesla: behind the joining instruction. Fermi: where lanes go that do not join.
        next: Block,
        /// Whether lanes continue at the target of the popped join entry (Fermi) instead of at `next` (Tesla, see
        /// [`Terminator::behind_target`]).
        at_target: bool,
    },
    /// Pushes a quad entry and enables all lanes of every quad that has an active one.
    QuadOn {
        /// Where execution goes on.
        next: Block,
    },
    /// Pops the quad entry and restores its mask.
    QuadPop {
        /// Where execution goes on.
        next: Block,
    },
    /// Arrives at or waits for a barrier.
    Barrier {
        /// The barrier.
        spec: BarrierSpec,
        /// Where execution goes on.
        next: Block,
    },
    /// Jumps to the block whose guest address is the (varying) `address`. If lanes have different targets, these run
    /// one after another, in the order of their lowest lanes; the waiting ones are pushed as branch entries. An address
    /// at which no block starts is an `illegal` fault.
    BranchIndirect {
        /// Guest byte address, i32 or i64; no block is at one beyond 32 bits.
        address: Value,
    },
    /// The guest faults, if any lane is active.
    Fault(GuestFault),

    /// Mask form: goes to `taken` if `mask` holds in any lane, else to `next`.
    BrAny {
        /// Mask tested.
        mask: Value,
        /// Where it goes if any lane holds.
        taken: BlockCall,
        /// Where it goes if none does.
        next: BlockCall,
    },
    /// Mask form: goes to `taken` if the uniform truth value holds, else to `next`.
    BrIf {
        /// Uniform condition.
        cond: Value,
        /// Where it goes if it holds.
        taken: BlockCall,
        /// Where it goes if not.
        next: BlockCall,
    },
    /// Mask form: the region ends for this chunk. `exited` are the lanes whose threads have ended. `cond` is the
    /// condition of the terminator that the driver executes next (a branch or leave).
    Return {
        /// Which of the region's exits.
        exit: u32,
        /// Lanes that have ended, a mask.
        exited: Option<Value>,
        /// Condition for the exit's terminator, a mask.
        cond: Option<Value>,
    },
}

impl Terminator {
    /// Tesla: where lanes continue that pop a join entry at a join other than the one the entry names. `self` is the
    /// terminator of the block that the entry names; `pc` and `term_pc` are the block's address and the terminator's.
    /// If that block is just a join, lanes continue after it.
    ///
    /// The vendor's compilers have joins at their entries' targets only (docs/hardware/divergence.md). Mesa's replaces a branch to the
    /// join by a join (`FlatteningPass::tryPropagateBranch`, nv50_ir): where no lane takes the other side, it pops the entry itself.
    pub fn behind_target(&self, pc: u32, term_pc: u32) -> Option<Block> {
        match self {
            Terminator::Join { next, at_target: false, .. } if pc == term_pc => Some(*next),
            _ => None,
        }
    }

    /// Calls `f` with each successor, pushed targets included.
    pub fn for_each_successor(&self, mut f: impl FnMut(Block)) {
        match self {
            Terminator::Jump(c) => f(c.block),
            Terminator::Branch { taken, next, .. }
            | Terminator::BrAny { taken, next, .. }
            | Terminator::BrIf { taken, next, .. } => {
                f(taken.block);
                f(next.block);
            }
            Terminator::Push { target, next, .. } => {
                f(*next);
                f(*target);
            }
            Terminator::Call { target, ret } => {
                f(*target);
                f(*ret);
            }
            Terminator::Leave { next, .. }
            | Terminator::Join { next, .. }
            | Terminator::QuadOn { next }
            | Terminator::QuadPop { next }
            | Terminator::Barrier { next, .. } => f(*next),
            Terminator::BranchIndirect { .. } | Terminator::Fault(_) | Terminator::Return { .. } => {}
        }
    }

    /// Calls `f` with each value used.
    pub fn for_each_use(&self, mut f: impl FnMut(Value)) {
        match self {
            Terminator::Jump(c) => c.args.iter().copied().for_each(f),
            Terminator::Branch { cond: m, taken, next }
            | Terminator::BrAny { mask: m, taken, next }
            | Terminator::BrIf { cond: m, taken, next } => {
                f(*m);
                taken.args.iter().chain(&next.args).copied().for_each(f);
            }
            Terminator::Leave { cond, .. } | Terminator::Join { cond, .. } => {
                cond.iter().copied().for_each(f)
            }
            Terminator::BranchIndirect { address } => f(*address),
            Terminator::Return { exited, cond, .. } => exited.iter().chain(cond).copied().for_each(f),
            _ => {}
        }
    }

    /// Calls `f` with each edge that carries arguments.
    pub fn for_each_call(&mut self, mut f: impl FnMut(&mut BlockCall)) {
        match self {
            Terminator::Jump(c) => f(c),
            Terminator::Branch { taken, next, .. }
            | Terminator::BrAny { taken, next, .. }
            | Terminator::BrIf { taken, next, .. } => {
                f(taken);
                f(next);
            }
            _ => {}
        }
    }

    /// Replaces each block named by what `f` gives for it.
    pub fn map_blocks(&mut self, mut f: impl FnMut(Block) -> Block) {
        match self {
            Terminator::Push { target, next, .. } => {
                *target = f(*target);
                *next = f(*next);
            }
            Terminator::Call { target, ret } => {
                *target = f(*target);
                *ret = f(*ret);
            }
            Terminator::Leave { next, .. }
            | Terminator::Join { next, .. }
            | Terminator::QuadOn { next }
            | Terminator::QuadPop { next }
            | Terminator::Barrier { next, .. } => *next = f(*next),
            _ => self.for_each_call(|call| call.block = f(call.block)),
        }
    }

    /// The edges that carry arguments.
    pub fn calls(&self) -> impl Iterator<Item = &BlockCall> {
        let (a, b) = match self {
            Terminator::Jump(c) => (Some(c), None),
            Terminator::Branch { taken, next, .. }
            | Terminator::BrAny { taken, next, .. }
            | Terminator::BrIf { taken, next, .. } => (Some(taken), Some(next)),
            _ => (None, None),
        };
        a.into_iter().chain(b)
    }

    /// Calls `f` with each value used that is not an argument of an edge.
    pub fn for_each_condition(&self, mut f: impl FnMut(Value)) {
        match self {
            Terminator::Branch { cond, .. } | Terminator::BrIf { cond, .. } => f(*cond),
            Terminator::BrAny { mask, .. } => f(*mask),
            Terminator::Jump(_) => {}
            _ => self.for_each_use(f),
        }
    }

    /// Replaces each value used by what `f` gives for it.
    pub fn map_uses(&mut self, mut f: impl FnMut(Value) -> Value) {
        let mut all = |values: &mut Vec<Value>| values.iter_mut().for_each(|v| *v = f(*v));
        match self {
            Terminator::Jump(c) => all(&mut c.args),
            Terminator::Branch { cond: m, taken, next }
            | Terminator::BrAny { mask: m, taken, next }
            | Terminator::BrIf { cond: m, taken, next } => {
                all(&mut taken.args);
                all(&mut next.args);
                *m = f(*m);
            }
            Terminator::Leave { cond, .. } | Terminator::Join { cond, .. } => {
                if let Some(v) = cond {
                    *v = f(*v);
                }
            }
            Terminator::BranchIndirect { address } => *address = f(*address),
            Terminator::Return { exited, cond, .. } => {
                for v in exited.iter_mut().chain(cond) {
                    *v = f(*v);
                }
            }
            _ => {}
        }
    }
}

/// Guest addresses of the instructions that a block counts, in order, as far as they are known. They only serve
/// statistics. They are not part of a function's identity or text, so all are equal.
#[derive(Clone, Debug, Default)]
pub struct Counted(pub Vec<u32>);

impl PartialEq for Counted {
    fn eq(&self, _: &Counted) -> bool {
        true
    }
}

impl std::hash::Hash for Counted {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// A block: parameters, instructions, terminator.
#[derive(Clone, PartialEq, Hash, Debug)]
pub struct BlockData {
    /// Parameters, in order.
    pub params: Vec<Value>,
    /// Instructions, in order.
    pub insts: Vec<Inst>,
    /// The end; `None` only while the block is being built.
    pub term: Option<Terminator>,
    /// Guest address of the block's first instruction.
    pub pc: u32,
    /// Guest address of the instruction that the terminator stands for.
    pub term_pc: u32,
    /// Guest instructions that one pass through the block executes (for statistics and `max_steps`).
    pub guest_insts: u32,
    /// Their addresses.
    pub counted: Counted,
    /// The lifter's notes on which of them run under which lane mask.
    pub lane_counts: LaneCounts,
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValueDef {
    /// Result of an instruction.
    Inst(Inst),
    /// Parameter `n` of a block.
    Param(Block, u32),
}

/// A value's type and origin.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ValueData {
    /// Type.
    pub ty: Type,
    /// Origin.
    pub def: ValueDef,
}

/// A function: one kernel, or one lane region of it.
#[derive(Clone, PartialEq, Hash, Debug)]
pub struct Function {
    /// Name of the kernel or region.
    pub name: String,
    /// SPMD or mask form.
    pub form: Form,
    /// Lanes of the warp, 16, 32 or 64.
    pub lanes: u32,
    /// Variables of the frame, by [`Slot`].
    pub slots: Vec<SlotData>,
    /// The mask slot with the guest's lane mask, if it keeps one in a register (GCN's EXEC): instructions take effect in its lanes
    /// only.
    pub lane_mask: Option<Slot>,
    /// Blocks by [`Block`]; the order of emission too.
    pub blocks: Vec<BlockData>,
    /// Instructions by [`Inst`].
    pub insts: Vec<InstData>,
    /// Values by [`Value`].
    pub values: Vec<ValueData>,
    /// Where execution starts.
    pub entry: Block,
    /// The block that starts at a guest address, for indirect branches and listings.
    pub block_at: BTreeMap<u32, Block>,
    /// For each number that a `count_lanes` has: addresses of guest instructions.
    pub counted_lanes: Vec<Vec<u32>>,
}

/// Counts how many of a block's guest instructions have begun, operation by operation. Takes time in proportion to the
/// operations, in whatever order their instructions are.
pub struct Begun<'a> {
    /// Addresses of the instructions that count.
    counted: &'a [u32],
    count: usize,
    /// The index of each address in the list, made when first needed.
    places: Option<HashMap<u32, Vec<u32>>>,
}

impl<'a> Begun<'a> {
    /// None has begun.
    pub fn new(counted: &'a [u32]) -> Begun<'a> {
        Begun { counted, count: 0, places: None }
    }

    /// How many have begun.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many have begun when an operation at `pc` runs. If `pc` is not among the instructions that have not begun,
    /// the count stays: the operation belongs to one that has, perhaps in an earlier block.
    pub fn with(&mut self, pc: u32) -> usize {
        if self.counted[..self.count].last() != Some(&pc) {
            self.count = self.find(pc).map_or(self.count, |at| at + 1);
        }
        self.count
    }

    /// Counts all instructions before the one at `pc` as begun, if that one has not begun.
    pub fn up_to(&mut self, pc: u32) {
        self.count = self.find(pc).unwrap_or(self.count);
    }

    /// The index of an instruction that has not begun.
    fn find(&mut self, pc: u32) -> Option<usize> {
        /// Nearly always it is one of the next few.
        const NEAR: usize = 8;
        let behind = &self.counted[self.count..];
        let near = behind.iter().take(NEAR).position(|&of| of == pc);
        if near.is_some() || behind.len() <= NEAR {
            return near.map(|more| self.count + more);
        }
        let counted = self.counted;
        let places = self.places.get_or_insert_with(|| {
            let mut places: HashMap<u32, Vec<u32>> = HashMap::new();
            (0..).zip(counted).for_each(|(at, &of)| places.entry(of).or_default().push(at));
            places
        });
        let list = places.get(&pc)?;
        let next = list.partition_point(|&at| (at as usize) < self.count);
        list.get(next).map(|&at| at as usize)
    }
}

impl Function {
    /// An empty function.
    pub fn new(name: impl Into<String>, form: Form, lanes: u32) -> Function {
        Function {
            name: name.into(),
            form,
            lanes,
            slots: Vec::new(),
            lane_mask: None,
            blocks: Vec::new(),
            insts: Vec::new(),
            values: Vec::new(),
            entry: Block(0),
            block_at: BTreeMap::new(),
            counted_lanes: Vec::new(),
        }
    }

    /// Adds a slot.
    pub fn add_slot(&mut self, name: impl Into<String>, ty: Type, init: SlotInit) -> Slot {
        self.slots.push(SlotData { name: name.into(), ty, init, umax: None });
        Slot::new(self.slots.len() - 1)
    }

    /// Adds an empty block that stands for guest address `pc`.
    pub fn add_block(&mut self, pc: u32) -> Block {
        self.blocks.push(BlockData {
            params: Vec::new(),
            insts: Vec::new(),
            term: None,
            pc,
            term_pc: pc,
            guest_insts: 0,
            counted: Counted::default(),
            lane_counts: LaneCounts::default(),
        });
        Block::new(self.blocks.len() - 1)
    }

    /// Addresses of the guest instructions that a block counts, as far as they are known. If the block does not list
    /// them, they are taken from its operations.
    pub fn counted_addresses(&self, block: Block) -> Vec<u32> {
        let data = self.block(block);
        let count = data.guest_insts as usize;
        if data.counted.0.len() == count {
            return data.counted.0.clone();
        }
        let mut seen = HashSet::new();
        let pcs = data.insts.iter().map(|&inst| self.inst(inst).pc).chain([data.term_pc]);
        pcs.filter(|&pc| seen.insert(pc)).take(count).collect()
    }

    /// Adds a parameter to a block.
    pub fn add_param(&mut self, block: Block, ty: Type) -> Value {
        let n = self.blocks[block.index()].params.len() as u32;
        let value = self.add_value(ty, ValueDef::Param(block, n));
        self.blocks[block.index()].params.push(value);
        value
    }

    fn add_value(&mut self, ty: Type, def: ValueDef) -> Value {
        self.values.push(ValueData { ty, def });
        Value::new(self.values.len() - 1)
    }

    /// Adds an instruction that is in no block yet; `ty` is its result's type.
    pub fn make_inst(&mut self, op: Opcode, args: &[Value], imm: Imm, ty: Option<Type>, pc: u32) -> Inst {
        let inst = Inst::new(self.insts.len());
        let result = ty.map(|ty| self.add_value(ty, ValueDef::Inst(inst)));
        self.insts.push(InstData { op, args: args.to_vec(), imm, result, pc });
        inst
    }

    /// Data of a block.
    #[inline]
    pub fn block(&self, block: Block) -> &BlockData {
        &self.blocks[block.index()]
    }

    /// Data of a block.
    #[inline]
    pub fn block_mut(&mut self, block: Block) -> &mut BlockData {
        &mut self.blocks[block.index()]
    }

    /// The end of a block.
    ///
    /// # Panics
    /// When the block is still being built.
    #[inline]
    pub fn term(&self, block: Block) -> &Terminator {
        self.blocks[block.index()].term.as_ref().expect("block without terminator")
    }

    /// Where lanes continue that arrive at the join at the end of `block` and pop an entry that names `target`. `next`
    /// is the block after that join ([`Terminator::behind_target`]).
    pub fn behind_join(&self, block: Block, next: Block, target: Block) -> Block {
        let named = self.block(target);
        let behind = named.term.as_ref().filter(|_| target != block);
        behind.and_then(|term| term.behind_target(named.pc, named.term_pc)).unwrap_or(next)
    }

    /// Data of an instruction.
    #[inline]
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst.index()]
    }

    /// Data of an instruction.
    #[inline]
    pub fn inst_mut(&mut self, inst: Inst) -> &mut InstData {
        &mut self.insts[inst.index()]
    }

    /// Type of a value.
    #[inline]
    pub fn ty(&self, value: Value) -> Type {
        self.values[value.index()].ty
    }

    /// The instruction that defines a value, if one does.
    #[inline]
    pub fn def_inst(&self, value: Value) -> Option<&InstData> {
        match self.values[value.index()].def {
            ValueDef::Inst(i) => Some(self.inst(i)),
            ValueDef::Param(..) => None,
        }
    }

    /// The bits of a value that is a constant.
    #[inline]
    pub fn as_const(&self, value: Value) -> Option<u64> {
        match self.def_inst(value) {
            Some(InstData { op: Opcode::Const, imm: Imm::Bits(b), .. }) => Some(*b),
            _ => None,
        }
    }

    /// All blocks in order.
    #[inline]
    pub fn block_ids(&self) -> impl DoubleEndedIterator<Item = Block> + use<> {
        (0..self.blocks.len()).map(Block::new)
    }

    /// Byte offset of each slot in the warp's frame, slot-major, and the frame's size.
    pub fn frame_layout(&self) -> (Vec<u32>, u32) {
        let mut offset = 0u32;
        let offsets = self
            .slots
            .iter()
            .map(|s| {
                let at = offset;
                // Uniform slots take a full line as well, so that every slot is aligned alike.
                offset += s.ty.scalar.frame_bytes() as u32 * self.lanes;
                at
            })
            .collect();
        (offsets, offset)
    }

    /// The memory access of an instruction, if it has one.
    #[inline]
    pub fn mem_access(&self, inst: Inst) -> Option<MemAccess> {
        match self.inst(inst).imm {
            Imm::Mem(m) | Imm::Atomic(m, _) => Some(m),
            _ => None,
        }
    }

    /// Bytes of memory that it takes, by the lengths of its tables. Takes no time.
    pub fn bytes(&self) -> usize {
        /// Of an instruction: its arguments (a list of its own), its places in a block and among what the block counts.
        const MORE: usize = 40;
        self.insts.len() * (size_of::<InstData>() + MORE)
            + self.values.len() * size_of::<ValueData>()
            + self.blocks.len() * size_of::<BlockData>()
            + self.slots.len() * size_of::<SlotData>()
    }

    /// Whether any instruction accesses `space`.
    pub fn uses_space(&self, space: Space) -> bool {
        self.insts.iter().any(|i| match i.imm {
            Imm::Mem(m) | Imm::Atomic(m, _) => m.space == space,
            Imm::Device(_) => space == Space::Local,
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By definition, place by place.
    fn begin_plainly(counted: &[u32], begun: usize, pc: u32) -> usize {
        let (before, behind) = counted.split_at(begun);
        if before.last() == Some(&pc) {
            return begun;
        }
        behind.iter().position(|&of| of == pc).map_or(begun, |more| begun + more + 1)
    }

    #[test]
    fn instructions_begin_with_their_first_operation() {
        let mut seed = 1u32;
        let mut random = |limit: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % limit
        };
        for _ in 0..200 {
            // Addresses come in any order, some twice, and operations are of others, too.
            let counted: Vec<u32> =
                (0..1 + random(60)).map(|n| if random(4) == 0 { random(60) } else { n }).collect();
            let mut begun = Begun::new(&counted);
            let mut at = 0;
            for _ in 0..60 {
                let pc = if random(2) == 0 { at as u32 } else { random(80) };
                at = begin_plainly(&counted, at, pc);
                assert_eq!(begun.with(pc), at, "{counted:?} {pc}");
                assert_eq!(
                    begun.find(pc),
                    counted[at..].iter().position(|&of| of == pc).map(|more| at + more)
                );
            }
        }
    }
}
