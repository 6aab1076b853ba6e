//! The IR's data structures: a [`Function`] with its slots, blocks, instructions and terminators. A function is one kernel or one
//! lane region.

mod begun;
mod terminator;

use std::collections::BTreeMap;

use crate::abi::Builtin;
use crate::device::DeviceSite;
use crate::entities::{Block, Inst, Slot, Value};
use crate::lane_counts::LaneCounts;
use crate::opcodes::{AtomicOp, FloatCC, IntCC, MemAccess, Opcode, Space};
use crate::pure::{PureFn, Special};
use crate::types::Type;
use crate::word_table::WordTable;
use foldhash::{HashSet, HashSetExt};
use smallvec::SmallVec;

pub use begun::Begun;
pub use terminator::{BarrierSpec, BlockCall, GuestFault, LeaveKind, PushKind, Terminator};

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

/// Operands of an instruction. Up to four are in place, as nearly all are.
pub type Args = SmallVec<[Value; 4]>;

/// An instruction.
#[derive(PartialEq, Hash, Debug)]
pub struct InstData {
    /// Operation.
    pub op: Opcode,
    /// Operands.
    pub args: Args,
    /// The rest.
    pub imm: Imm,
    /// The result, if the operation has one.
    pub result: Option<Value>,
    /// Guest address of the instruction it was lifted from.
    pub pc: u32,
}

impl Clone for InstData {
    fn clone(&self) -> InstData {
        // All operands at once: what is derived would copy them one by one.
        let args = Args::from_slice(&self.args);
        InstData { op: self.op, args, imm: self.imm, result: self.result, pc: self.pc }
    }
}

impl InstData {
    /// Becomes a copy of `other`, and keeps its own storage for operands.
    pub(crate) fn copy_from(&mut self, other: &InstData) {
        self.args.clear();
        self.args.extend_from_slice(&other.args);
        (self.op, self.result, self.pc) = (other.op, other.result, other.pc);
        self.imm.clone_from(&other.imm);
    }

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
        self.insts.push(InstData { op, args: Args::from_slice(args), imm, result, pc });
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

    /// Whether an instruction loads or stores for the warp, once, and not for each lane: its address, what it stores and what it loads have
    /// uniform types. Local memory is each lane's own.
    pub fn accesses_once(&self, data: &InstData) -> bool {
        let Imm::Mem(mem) = data.imm else { return false };
        let is_one = |value: Option<&Value>| value.is_none_or(|&value| self.ty(value).uniform);
        let stored = if data.op == Opcode::Store { data.args.get(1) } else { None };
        matches!(data.op, Opcode::Load | Opcode::Store)
            && mem.space != Space::Local
            && is_one(data.args.first())
            && is_one(stored)
            && is_one(data.result.as_ref())
    }

    /// Bytes of memory that it takes, by the lengths of its tables. Takes no time.
    pub fn bytes(&self) -> usize {
        /// Of an instruction: its places in a block and among what the block counts, and arguments beyond four.
        const MORE: usize = 24;
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
