//! Lifts compute programs to the IR's SPMD form.
//!
//! Every register is a slot: `r0`, `r1`, ... (i32), `a1` to `a4` and `a7` (i32, 16 bits of value), `c0.z`,
//! `c0.s`, `c0.c`, `c0.o` and so on (masks). A register beyond the program's allotment has no slot: it reads as
//! zero and writes to it are dropped. [`graph`](self) finds the instructions that can be reached and where blocks
//! begin; the other files, one a topic, say what each instruction does.
//!
//! Nothing that code can contain is an error here: undefined words, graphics-only instructions, targets outside
//! the code or inside an instruction become an `illegal` fault that is raised if a lane gets there.

mod atomic;
mod control;
mod convert;
mod emit;
mod float;
mod graph;
mod int;
mod memory;
mod special;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use warpjit_ir::{Block, Builtin, Form, Function, GuestFault, Slot, SlotInit, Terminator, Type};

use super::{Inst, Target};
use crate::simt::{Carried, Graph};
use emit::Emit;

/// What the lifter has to know about a program besides its code.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Name of the resulting function.
    pub name: &'a str,
    /// Chip and program type.
    pub target: Target,
    /// Byte offset of the first instruction.
    pub entry: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Const banks whose contents are fixed, as `(bank, bytes)`: the only targets of a `bra c[]` through them are
    /// the words they hold. A `bra c[]` through any other bank may go to every instruction.
    pub const_banks: &'a [(u8, &'a [u8])],
}

/// Lifts the program that starts at `options.entry` of `code`.
pub fn lift(code: &[u8], options: &Options<'_>) -> Function {
    let graph = graph::explore(code, options);
    let mut func = Function::new(options.name, Form::Spmd, 32);
    let slots = Slots::declare(&mut func, options.registers);
    // The prologue stands before everything, so that a branch to the entry does not run it again.
    let prologue = func.add_block(options.entry);
    func.entry = prologue;
    let blocks: BTreeMap<u32, Block> = graph.leaders().map(|pc| (pc, func.add_block(pc))).collect();
    func.block_at.clone_from(&blocks);
    let mut carried = Carried::new(emit::builtin_max);
    let mut emit = Emit::new(&mut func, &slots, &mut carried, prologue);
    emit.prologue(blocks[&options.entry]);
    for (&pc, &block) in &blocks {
        emit.start(block);
        lift_block(&mut emit, &graph, &blocks, pc);
    }
    func
}

/// Emits the block that begins at `pc`, up to the next one or to its last instruction.
fn lift_block(emit: &mut Emit<'_>, graph: &Graph<Inst>, blocks: &BTreeMap<u32, Block>, start: u32) {
    let mut pc = start;
    loop {
        emit.at(pc);
        let Some(inst) = graph.inst(pc) else {
            emit.count();
            return emit.terminate(Terminator::Fault(GuestFault::Illegal));
        };
        emit.count();
        emit.inst(inst, blocks);
        if emit.is_done() {
            return;
        }
        pc = inst.next_pc();
        if let Some(&next) = blocks.get(&pc) {
            return emit.terminate(Terminator::Jump(next.into()));
        }
    }
}

/// The slots of a thread's state.
struct Slots {
    registers: Vec<Slot>,
    /// z, s, c, o of each `$c`.
    flags: [[Slot; 4]; 4],
    aregs: [Option<Slot>; 8],
}

impl Slots {
    fn declare(func: &mut Function, registers: u32) -> Slots {
        let registers = (0..registers.min(128))
            .map(|n| func.add_slot(format!("r{n}"), Type::I32, SlotInit::Zero))
            .collect();
        let flags = std::array::from_fn(|n| {
            std::array::from_fn(|flag| {
                let name = format!("c{n}.{}", ["z", "s", "c", "o"][flag]);
                func.add_slot(name, Type::MASK, SlotInit::Zero)
            })
        });
        let aregs = std::array::from_fn(|n| {
            is_areg(n as u8).then(|| {
                let slot = func.add_slot(format!("a{n}"), Type::I32, SlotInit::Zero);
                func.slots[slot.index()].umax = Some(0xffff);
                slot
            })
        });
        Slots { registers, flags, aregs }
    }
}

/// Whether `$a` of that number can be written: `$a0` is zero, 5 and 6 do not exist. (`$a7` is one a warp; here
/// each lane keeps what it wrote.)
fn is_areg(number: u8) -> bool {
    matches!(number, 1..=4 | 7)
}

impl Emit<'_> {
    /// Sets up what the hardware passes in registers, then enters the program.
    ///
    /// `$r0 = tid.x | tid.y << 16 | tid.z << 26`.
    fn prologue(&mut self, entry: Block) {
        let axis = |n| Builtin::Tid(n);
        let (x, y, z) = (self.builtin(axis(0)), self.builtin(axis(1)), self.builtin(axis(2)));
        let y = self.shl_const(y, 16);
        let z = self.shl_const(z, 26);
        let yz = self.b.ior(y, z);
        let all = self.b.ior(x, yz);
        self.set_reg(0, all);
        self.terminate(Terminator::Jump(entry.into()));
    }

    /// Emits one instruction with what its modifiers do afterwards.
    fn inst(&mut self, inst: &Inst, blocks: &BTreeMap<u32, Block>) {
        control::inst(self, inst, blocks);
    }
}
