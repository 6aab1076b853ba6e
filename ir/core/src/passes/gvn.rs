//! Global value numbering: replaces an operation by an equal one that dominates it.
//!
//! It covers pure operations, constants, conversions, `call.pure`, loads from const space, and reads of slots. A read
//! of a slot that the function never writes counts as pure. Other slots are read anew in each block and after each
//! write. In SPMD form `active` and `any` are only equal within one block.

use super::rewrite::{Aliases, values_cross_blocks, written_slots};
use crate::analysis::{Cfg, Dominators};
use crate::entities::{Block, Slot, Value};
use crate::function::{Args, Form, Function, Imm, InstData};
use crate::opcodes::{FloatCC, IntCC, MemAccess, Opcode, Space};
use crate::types::Type;
use foldhash::fast::RandomState;
use std::hash::BuildHasher;

/// An operation with its operands in a canonical order.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: Opcode,
    ty: Type,
    args: Args,
    imm: ImmKey,
    /// Distinguishes results that depend on the block, or on the last write to the slot.
    time: u32,
}

#[derive(PartialEq, Eq, Hash)]
enum ImmKey {
    Flag(bool),
    Bits(u64),
    Int(IntCC),
    Float(FloatCC, bool),
    Mem(MemAccess),
    Slot(Slot),
    Pure(&'static str),
    Table(&'static str),
}

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    let cfg = Cfg::new(func);
    let dom = Dominators::of(&cfg);
    let mut pass = Numbering {
        aliases: Aliases::new(func),
        known: Known::new(),
        slot_times: vec![0; func.slots.len()],
        written: written_slots(func),
        cross: values_cross_blocks(func),
        clock: 0,
    };
    let Some(&entry) = cfg.rpo.first() else { return false };
    // Walk the dominator tree: what a block computes is known in the blocks that it dominates only.
    let mut path = vec![(entry, 0, 0)];
    pass.block(func, entry);
    while let Some((block, child, mark)) = path.last_mut() {
        match dom.children[block.index()].get(*child) {
            Some(&down) => {
                *child += 1;
                path.push((down, 0, pass.known.stack.len()));
                pass.block(func, down);
            }
            None => {
                let mark = *mark;
                pass.known.forget(mark);
                path.pop();
            }
        }
    }
    pass.aliases.apply(func);
    pass.aliases.any()
}

struct Numbering {
    aliases: Aliases,
    known: Known,
    /// When each slot was last written.
    slot_times: Vec<u32>,
    written: Vec<bool>,
    /// Whether values may be used outside their block.
    cross: bool,
    /// Times above this are not in use yet.
    clock: u32,
}

impl Numbering {
    fn block(&mut self, func: &mut Function, block: Block) {
        self.clock += 1;
        let block_time = self.clock;
        let mut insts = std::mem::take(&mut func.block_mut(block).insts);
        insts.retain(|&inst| {
            for arg in &mut func.inst_mut(inst).args {
                *arg = self.aliases.get(*arg);
            }
            let data = func.inst(inst);
            if let (Opcode::SlotSet, Imm::Slot(slot)) = (data.op, &data.imm) {
                self.clock += 1;
                self.slot_times[slot.index()] = self.clock;
            }
            let Some(result) = data.result else { return true };
            let ty = func.ty(result);
            let time = match (data.op, &data.imm) {
                (Opcode::SlotGet, Imm::Slot(slot)) if self.written[slot.index()] => {
                    self.slot_times[slot.index()].max(block_time)
                }
                (Opcode::SlotGet, _) => 0,
                (Opcode::Load, Imm::Mem(mem)) if matches!(mem.space, Space::Const(_)) => 0,
                (Opcode::Any | Opcode::ActiveMask, _) if func.form == Form::Spmd => block_time,
                (Opcode::Any, _) => 0,
                _ if data.op.is_pure() => 0,
                _ => return true,
            };
            let time = if self.cross || ty.uniform { time } else { time.max(block_time) };
            let Some(key) = key(data, ty, time) else { return true };
            match self.known.leader(key, result) {
                Some(leader) => self.aliases.set(result, leader),
                None => return true,
            }
            false
        });
        func.block_mut(block).insts = insts;
    }
}

/// The operations known at a point of the walk. A hash table with open addressing and linear probing. Keys are removed in the reverse order
/// of their insertion, so a removed key leaves no mark in the table: whatever was inserted after it is gone.
struct Known {
    hasher: RandomState,
    stack: Vec<(u64, Key, Value)>,
    /// By hash, then by the next free place: indices into the stack. A power of two of them.
    table: Vec<u32>,
}

impl Known {
    const FREE: u32 = u32::MAX;

    fn new() -> Known {
        Known { hasher: RandomState::default(), stack: Vec::new(), table: vec![Known::FREE; 256] }
    }

    /// The value with this key; `value` becomes it if there is none.
    fn leader(&mut self, key: Key, value: Value) -> Option<Value> {
        let hash = self.hasher.hash_one(&key);
        let mut place = self.place(hash);
        while let Some((other, known, leader)) = self.stack.get(self.table[place] as usize) {
            if *other == hash && *known == key {
                return Some(*leader);
            }
            place = self.next(place);
        }
        self.table[place] = self.stack.len() as u32;
        self.stack.push((hash, key, value));
        if self.stack.len() * 2 > self.table.len() {
            self.grow();
        }
        None
    }

    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.table.len() - 1)
    }

    fn next(&self, place: usize) -> usize {
        (place + 1) & (self.table.len() - 1)
    }

    fn grow(&mut self) {
        self.table = vec![Known::FREE; self.table.len() * 2];
        // In the order of the stack, as before.
        for n in 0..self.stack.len() {
            let mut place = self.place(self.stack[n].0);
            while self.table[place] != Known::FREE {
                place = self.next(place);
            }
            self.table[place] = n as u32;
        }
    }

    /// Forgets what became known since the stack had `mark` keys.
    fn forget(&mut self, mark: usize) {
        while self.stack.len() > mark {
            let Some((hash, ..)) = self.stack.pop() else { return };
            let mut place = self.place(hash);
            while self.table[place] as usize != self.stack.len() {
                place = self.next(place);
            }
            self.table[place] = Known::FREE;
        }
    }
}

fn key(data: &InstData, ty: Type, time: u32) -> Option<Key> {
    let mut args = Args::from_slice(&data.args);
    let mut imm = match data.imm {
        Imm::None => ImmKey::Flag(false),
        Imm::Ftz(ftz) => ImmKey::Flag(ftz),
        Imm::Bits(bits) => ImmKey::Bits(bits),
        Imm::Int(cc) => ImmKey::Int(cc),
        Imm::FloatCmp(cc, ftz) => ImmKey::Float(cc, ftz),
        Imm::Mem(mem) => ImmKey::Mem(mem),
        Imm::Slot(slot) => ImmKey::Slot(slot),
        Imm::Pure(callee) => ImmKey::Pure(callee.name),
        Imm::Table(table) => ImmKey::Table(table.name()),
        Imm::Atomic(..) | Imm::Device(_) => return None,
    };
    if args.len() >= 2 && args[0] > args[1] {
        match imm {
            ImmKey::Int(cc) => {
                args.swap(0, 1);
                imm = ImmKey::Int(cc.swapped());
            }
            ImmKey::Float(cc, ftz) => {
                args.swap(0, 1);
                imm = ImmKey::Float(cc.swapped(), ftz);
            }
            _ if data.op.is_commutative() => args.swap(0, 1),
            _ => {}
        }
    }
    Some(Key { op: data.op, ty, args, imm, time })
}
