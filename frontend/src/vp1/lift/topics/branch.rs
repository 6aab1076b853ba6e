//! Lifts the branch unit, and chooses the successor of each bundle (docs/hardware/vp1.md sections 1 and 7).

use std::collections::BTreeMap;

use warpjit_ir::{Block, LeaveKind, Terminator, Value};

use crate::vp1::Op;
use crate::vp1::lift::analysis::graph::{Graph, MAX_WORDS, Node, Note, Pending, Step, Target, condition};
use crate::vp1::lift::emit::{Emit, Writer};

/// In the delay slot of a call whose return address was not known before: notes it.
pub(in crate::vp1::lift) fn late_call(e: &mut Emit<'_>, node: Node, step: &Step) {
    if node.pending == Pending::LateCall {
        let end = e.word(step.end);
        e.assume(e.own.slots.uc0, end);
        e.set(Writer::Move, e.own.slots.uc0, end);
    }
}

/// Emits the branch instruction of a bundle, its writes, and the way on.
pub(in crate::vp1::lift) fn unit(
    e: &mut Emit<'_>,
    node: Node,
    step: &Step,
    nodes: &BTreeMap<Node, Block>,
    resumable: bool,
) {
    let inst = step.bundle.branch;
    let word = inst.word;
    let slots = e.own.slots;
    match inst.op() {
        Op::Branch if word & 1 << 24 != 0 => {
            // The counter: down by one, or from zero to its total.
            let counter = e.get(slots.l[word as usize >> 3 & 3]);
            let count = e.and_const(counter, 0xff);
            let done = e.is_zero(count);
            let less = e.add_const(counter, -1);
            let total = e.shr(counter, 8);
            let again = e.b.ior(counter, total);
            let stepped = e.b.select(done, again, less);
            e.set(Writer::Branch, slots.l[word as usize & 3], stepped);
            let count = e.and_const(stepped, 0xff);
            let zero = e.is_zero(count);
            let flag = e.choose(zero, 0x2000, 0);
            e.set_flags(word & 7, 0x2000, flag);
        }
        Op::MovLoop => {
            let index = word >> 19 & 3;
            let value = e.word(word & 0xffff);
            e.set(Writer::Branch, slots.l[index as usize], value);
            let flag = e.word(if word & 0xff == 0 { 0x2000 } else { 0 });
            e.set_flags(index, 0x2000, flag);
        }
        Op::BranchAbs | Op::BNop => {}
        Op::Exit => {
            note_end(e, word & 0x1_ffff, nodes[&node]);
        }
        _ => {
            let flag = e.word(0x2000);
            e.set_flags(word & 7, 0x2000, flag);
        }
    }
    // Read before the bundle's writes.
    let target = (step.next.pc.is_none()).then(|| e.get(slots.target));
    if let (Some(target), true) = (target, resumable) {
        e.set(Writer::Branch, slots.gone, target);
    }
    let taken = step.taken.map(|to| (to, predicate(e, step)));
    if let Some((_, taken)) = taken {
        // Nothing reads what is noted where the branch is not taken.
        match step.note {
            Note::ReturnAddress => {
                let to = e.get(slots.uc0);
                e.set(Writer::Branch, slots.target, to);
            }
            Note::Target(to) => {
                let to = e.word(to);
                e.set(Writer::Branch, slots.target, to);
            }
            Note::Nothing => {}
        }
        if let Some(address) = step.returns_to {
            let address = e.word(address);
            e.set_when(Writer::Branch, slots.uc0, address, taken);
        }
    }
    e.write_back();
    if inst.op() == Op::Exit {
        // Where execution goes on if it is resumed.
        let next = go(e, step.next, target, nodes);
        return match next {
            JumpTarget::Block(next) => {
                e.terminate(Terminator::Leave { kind: LeaveKind::Exit, cond: None, next })
            }
            JumpTarget::Address(_) => {
                // Nothing follows in this bundle's own block, so any block will do.
                let next = nodes[&node];
                e.terminate(Terminator::Leave { kind: LeaveKind::Exit, cond: None, next });
            }
        };
    }
    let term = match taken {
        None => go(e, step.next, target, nodes).terminator(),
        Some((to, taken)) => match condition(inst) {
            Some(true) => go(e, to, target, nodes).terminator(),
            Some(false) => go(e, step.next, target, nodes).terminator(),
            None => {
                let there = go(e, to, target, nodes);
                let next = go(e, step.next, target, nodes);
                match (there, next) {
                    (JumpTarget::Block(there), JumpTarget::Block(next)) => {
                        Terminator::Branch { cond: taken, taken: there.into(), next: next.into() }
                    }
                    // Both go to the same address, in different spaces.
                    (JumpTarget::Address(there), JumpTarget::Address(next)) => {
                        let address = e.b.select(taken, there, next);
                        Terminator::BranchIndirect { address }
                    }
                    (JumpTarget::Block(block), _) | (_, JumpTarget::Block(block)) => {
                        Terminator::Jump(block.into())
                    }
                }
            }
        },
    };
    e.terminate(term);
}

/// Ends the program before a bundle; `next` is where it goes on.
pub(in crate::vp1::lift) fn end(e: &mut Emit<'_>, why: u32, block: Block, next: Block) {
    note_end(e, why, block);
    e.write_back();
    e.terminate(Terminator::Leave { kind: LeaveKind::Exit, cond: None, next });
}

/// Notes why the program ends, and where.
fn note_end(e: &mut Emit<'_>, why: u32, block: Block) {
    let (why, at) = (e.word(why), e.word(block.index() as u32));
    e.set(Writer::Branch, e.own.slots.exit, why);
    e.set(Writer::Branch, e.own.slots.exit_at, at);
}

/// Whether the branch is taken.
fn predicate(e: &mut Emit<'_>, step: &Step) -> Value {
    let branch = step.bundle.branch;
    match condition(branch) {
        Some(known) => e.b.bool(known),
        None => {
            let bit = e.selected(branch.word);
            if branch.word & 1 << 25 != 0 { e.b.inot(bit) } else { bit }
        }
    }
}

/// How control gets to a target.
enum JumpTarget {
    Block(Block),
    Address(Value),
}

impl JumpTarget {
    fn terminator(self) -> Terminator {
        match self {
            JumpTarget::Block(block) => Terminator::Jump(block.into()),
            JumpTarget::Address(address) => Terminator::BranchIndirect { address },
        }
    }
}

/// The jump to a target; `target` is the word address that a pending `ret` goes to.
fn go(e: &mut Emit<'_>, to: Target, target: Option<Value>, nodes: &BTreeMap<Node, Block>) -> JumpTarget {
    if let Some(pc) = to.pc
        && let Some(&block) = nodes.get(&Node { pc, pending: to.pending, resumed: false })
    {
        return JumpTarget::Block(block);
    }
    // What is no word of a code must not meet another space.
    let target = target.unwrap_or_else(|| e.word(MAX_WORDS));
    let limit = e.word(MAX_WORDS);
    let target = e.b.umin(target, limit);
    let address = e.shift(target, 2);
    let space = Graph::return_space(to.pending);
    JumpTarget::Address(e.add_const(address, space as i32))
}
