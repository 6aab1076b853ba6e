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
use foldhash::{HashMap, HashMapExt};

/// An operation with its operands in a canonical order.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    op: Opcode,
    ty: Type,
    args: Args,
    imm: ImmKey,
    /// Distinguishes results that depend on the block, or on the last write to the slot.
    time: u32,
}

#[derive(Clone, PartialEq, Eq, Hash)]
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
        known: HashMap::new(),
        undo: Vec::new(),
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
                path.push((down, 0, pass.undo.len()));
                pass.block(func, down);
            }
            None => {
                let mark = *mark;
                pass.forget(mark);
                path.pop();
            }
        }
    }
    pass.aliases.apply(func);
    pass.aliases.any()
}

struct Numbering {
    aliases: Aliases,
    known: HashMap<Key, Value>,
    /// Keys in the order they became known.
    undo: Vec<Key>,
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
        // When each slot was last written in this block.
        let mut slot_time: HashMap<Slot, u32> = HashMap::new();
        let mut insts = std::mem::take(&mut func.block_mut(block).insts);
        insts.retain(|&inst| {
            for arg in &mut func.inst_mut(inst).args {
                *arg = self.aliases.get(*arg);
            }
            let data = func.inst(inst);
            if let (Opcode::SlotSet, Imm::Slot(slot)) = (data.op, &data.imm) {
                self.clock += 1;
                slot_time.insert(*slot, self.clock);
            }
            let Some(result) = data.result else { return true };
            let ty = func.ty(result);
            let time = match (data.op, &data.imm) {
                (Opcode::SlotGet, Imm::Slot(slot)) if self.written[slot.index()] => {
                    slot_time.get(slot).copied().unwrap_or(block_time)
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
            if let Some(&leader) = self.known.get(&key) {
                self.aliases.set(result, leader);
                return false;
            }
            self.known.insert(key.clone(), result);
            self.undo.push(key);
            true
        });
        func.block_mut(block).insts = insts;
    }

    fn forget(&mut self, mark: usize) {
        for key in self.undo.drain(mark..) {
            self.known.remove(&key);
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
