//! Instruction scheduling: reorders long blocks so that independent chains of operations overlap.
//!
//! A host sees a window of some hundred operations. If independent chains (the iterations of an unrolled loop, a root and another
//! quotient) stand one after another, it finds the second one only when it is nearly through the first. So a model without a
//! window limit executes the block (`Graph::starts`), and the instructions are put into the order in which they started. Values
//! then live longer, which can cause spills. So the new order is kept only if a model with the real limits (`host.rs`) plus the
//! count of spills (`registers.rs`) is cheaper than before.
//!
//! Instructions that are not pure keep their order. A truncating multiply-add also stays behind the masks that preceded it: the
//! code generator's fast version of it uses these masks to decide in which lanes its operands matter.

mod host;
mod registers;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use host::Units;
pub use host::{Cost, HostModel};
use warpjit_ir_core::entities::{Block, Inst, Value};
use warpjit_ir_core::function::{Function, ValueDef};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::types::Type;

/// The new order is kept if it costs at most this many percent of the old one.
const WORTH: usize = 95;

/// Runs the pass for a host.
pub fn run(func: &mut Function, model: &HostModel) -> bool {
    let mut leaving = None;
    let mut changed = false;
    for block in func.block_ids() {
        let insts = &func.block(block).insts;
        if !model.is_beyond_window(func, insts) {
            continue;
        }
        let order = in_order_of_start(func, model, block);
        let leaving = leaving.get_or_insert_with(|| registers::leaving(func));
        if cost(func, model, block, &order, leaving) * 100 < cost(func, model, block, insts, leaving) * WORTH
        {
            func.block_mut(block).insts = order;
            changed = true;
        }
    }
    changed
}

/// Estimated cycles of a block with its instructions in an order, spills included.
fn cost(func: &Function, model: &HostModel, block: Block, order: &[Inst], leaving: &[bool]) -> usize {
    host::cycles(func, model, block, order) as usize
        + registers::moves(func, model, order, leaving) / model.moves_per_cycle
}

/// The block's instructions in the order in which a host without a window limit starts them.
fn in_order_of_start(func: &Function, model: &HostModel, block: Block) -> Vec<Inst> {
    let insts = &func.block(block).insts;
    let graph = Graph::new(func, model, insts);
    let mut starts = graph.starts();
    graph.delay(&mut starts);
    let mut order: Vec<usize> = (0..insts.len()).collect();
    order.sort_by_key(|&n| (starts[n], n));
    order.into_iter().map(|n| insts[n]).collect()
}

/// The dependence graph of a block. Instructions are named by their index in the block.
struct Graph<'a> {
    model: &'a HostModel,
    costs: Vec<Cost>,
    /// For each instruction: those that wait for it, each with the cycles from its start.
    behind: Vec<Vec<(usize, u32)>>,
    /// For each instruction: how many it waits for.
    waits: Vec<usize>,
}

impl<'a> Graph<'a> {
    fn new(func: &Function, model: &'a HostModel, insts: &[Inst]) -> Graph<'a> {
        let costs: Vec<Cost> = insts.iter().map(|&inst| model.of(func, func.inst(inst))).collect();
        let mut graph =
            Graph { model, behind: vec![Vec::new(); insts.len()], waits: vec![0; insts.len()], costs };
        let mut places = vec![None; func.values.len()];
        let mut last_effect = None;
        let mut masks = Vec::new();
        for (n, &inst) in insts.iter().enumerate() {
            let data = func.inst(inst);
            for a in &data.args {
                if let Some(before) = places[a.index()] {
                    graph.wait(n, before, graph.costs[before].latency);
                }
            }
            if !data.op.is_pure()
                && let Some(before) = last_effect.replace(n)
            {
                graph.wait(n, before, 0);
            }
            if data.op == Opcode::FmadTrunc {
                masks.iter().for_each(|&before| graph.wait(n, before, 0));
            }
            if let Some(r) = data.result {
                places[r.index()] = Some(n);
                if func.ty(r) == Type::MASK {
                    masks.push(n);
                }
            }
        }
        graph
    }

    fn wait(&mut self, n: usize, before: usize, latency: u32) {
        self.behind[before].push((n, latency));
        self.waits[n] += 1;
    }

    /// The cycle in which each instruction starts. In each cycle the first ready ones start, as many as the host's
    /// units take.
    fn starts(&self) -> Vec<u32> {
        let mut waits = self.waits.clone();
        let mut ready_at = vec![0; waits.len()];
        let mut starts = vec![0; waits.len()];
        let mut ready: BinaryHeap<Reverse<usize>> =
            (0..waits.len()).filter(|&n| waits[n] == 0).map(Reverse).collect();
        // Instructions that become ready later, by cycle.
        let mut later: BinaryHeap<Reverse<(u32, usize)>> = BinaryHeap::new();
        let mut units = Units::new(self.model.units);
        loop {
            while let Some(&Reverse((at, n))) = later.peek()
                && at <= units.now
            {
                later.pop();
                ready.push(Reverse(n));
            }
            while units.are_free()
                && let Some(Reverse(n)) = ready.pop()
            {
                if self.costs[n].divides > 0 && units.divider_free > units.now {
                    later.push(Reverse((units.divider_free, n)));
                    continue;
                }
                starts[n] = units.now;
                units.start(&self.costs[n]);
                for &(next, latency) in &self.behind[n] {
                    ready_at[next] = ready_at[next].max(units.now + latency);
                    waits[next] -= 1;
                    if waits[next] == 0 && ready_at[next] <= units.now {
                        ready.push(Reverse(next));
                    } else if waits[next] == 0 {
                        later.push(Reverse((ready_at[next], next)));
                    }
                }
            }
            match later.peek() {
                None if ready.is_empty() => return starts,
                // Nothing to do until then.
                Some(&Reverse((at, _))) if ready.is_empty() => units.go_on_to(at),
                _ => units.go_on_to(units.now + 1),
            }
        }
    }

    /// Delays instructions whose results would wait long for their first use.
    fn delay(&self, starts: &mut [u32]) {
        for n in (0..starts.len()).rev() {
            let slack = |latency: u32| if latency == 0 { 0 } else { latency + self.model.max_wait };
            let latest =
                self.behind[n].iter().map(|&(next, latency)| starts[next].saturating_sub(slack(latency)));
            starts[n] = starts[n].max(latest.min().unwrap_or(0));
        }
    }
}

/// Whether an operation only changes the type or the NaNs of its operand, so that the result shares the operand's
/// register.
fn keeps_register(op: Opcode) -> bool {
    matches!(op, Opcode::Bitcast | Opcode::Fcanon)
}

/// The value whose register holds `value`.
fn register_of(func: &Function, value: Value) -> Value {
    match func.values[value.index()].def {
        ValueDef::Inst(inst) => {
            let data = func.inst(inst);
            match data.args.first() {
                Some(&a) if keeps_register(data.op) => register_of(func, a),
                _ => value,
            }
        }
        ValueDef::Param(..) => value,
    }
}

/// Reorders every block, whether or not the new order is cheaper. So tests see more orders than [`run`] chooses.
pub fn run_always(func: &mut Function, model: &HostModel) -> bool {
    let mut changed = false;
    for block in func.block_ids() {
        let order = in_order_of_start(func, model, block);
        changed |= order != func.block(block).insts;
        func.block_mut(block).insts = order;
    }
    changed
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use warpjit_ir_core::builder::Builder;
    use warpjit_ir_core::function::{Form, Imm, SlotInit, Terminator};
    use warpjit_ir_core::opcodes::Group;

    /// Four units, sums that take four cycles.
    pub(crate) const MODEL: HostModel = HostModel {
        vectors: 2,
        registers: 30,
        units: 4,
        dispatched: 5,
        window: 96,
        moves_per_cycle: 4,
        max_wait: 80,
        cost: |op, _| match op.group() {
            Group::Float => Cost { operations: 1, latency: 4, divides: 0 },
            _ => Cost { operations: 1, latency: 2, divides: 0 },
        },
    };

    /// A block that reads values from slots, and what `write` adds; the result is written to another slot.
    fn block(values: usize, write: impl FnOnce(&mut Builder<'_>, &[Value]) -> Value) -> (Function, Block) {
        let mut func = Function::new("f", Form::Mask, 32);
        let slots: Vec<_> =
            (0..=values).map(|n| func.add_slot(format!("s{n}"), Type::F32, SlotInit::Zero)).collect();
        let block = func.add_block(0);
        let mut b = Builder::new(&mut func, block);
        let read: Vec<Value> = slots[1..].iter().map(|&slot| b.get(slot)).collect();
        let result = write(&mut b, &read);
        b.set(slots[0], result);
        b.terminate(Terminator::Return { exit: 0, exited: None, cond: None });
        (func, block)
    }

    fn add(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
        b.push(Opcode::Fadd, &[x, y], Imm::None, Some(Type::F32)).expect("has a result")
    }

    fn chain(b: &mut Builder<'_>, from: Value, length: usize) -> Value {
        (0..length).fold(from, |sum, _| add(b, sum, from))
    }

    fn moves(func: &Function, block: Block) -> usize {
        registers::moves(func, &MODEL, &func.block(block).insts, &registers::leaving(func))
    }

    #[test]
    fn a_chain_takes_what_its_links_wait_for() {
        let (func, block) = block(1, |b, v| chain(b, v[0], 10));
        // Slots are read in two cycles; ten sums start every four cycles, the slot is written behind the last.
        assert_eq!(host::cycles(&func, &MODEL, block, &func.block(block).insts), 2 + 10 * 4);
    }

    #[test]
    fn chains_beyond_the_window_are_brought_together() {
        let (mut func, block) = block(2, |b, v| {
            let (x, y) = (chain(b, v[0], 60), chain(b, v[1], 60));
            add(b, x, y)
        });
        let before = host::cycles(&func, &MODEL, block, &func.block(block).insts);
        assert!(run(&mut func, &MODEL));
        let after = host::cycles(&func, &MODEL, block, &func.block(block).insts);
        // Each takes 240 cycles. The window holds the rest of one and 48 sums of both chains.
        assert!((240..260).contains(&after), "{after}");
        assert!(before > 280, "{before}");
        assert!(!run(&mut func, &MODEL), "there is nothing left to do");
    }

    #[test]
    fn a_round_of_a_loop_counts_without_those_before() {
        let mut func = Function::new("f", Form::Mask, 32);
        let (entry, body) = (func.add_block(0), func.add_block(0));
        let mut b = Builder::new(&mut func, entry);
        let (zero, more) = (b.f32(0.0), b.i32(1));
        let call = |block, arg| warpjit_ir_core::function::BlockCall { block, args: vec![arg] };
        b.terminate(Terminator::Jump(call(body, zero)));
        let sum = func.add_param(body, Type::F32);
        let mut b = Builder::new(&mut func, body);
        let next = chain(&mut b, sum, 10);
        let mask = b.icmp(warpjit_ir_core::opcodes::IntCC::Ne, more, more);
        let after = func.add_block(0);
        let end = warpjit_ir_core::function::BlockCall { block: after, args: Vec::new() };
        Builder::new(&mut func, body).terminate(Terminator::BrAny {
            mask,
            taken: call(body, next),
            next: end,
        });
        Builder::new(&mut func, after).terminate(Terminator::Return { exit: 0, exited: None, cond: None });
        // The first link waits for the last one.
        assert_eq!(host::cycles(&func, &MODEL, body, &func.block(body).insts), 10 * 4);
    }

    #[test]
    fn what_registers_do_not_hold_goes_to_memory_and_comes_back() {
        let sum = |b: &mut Builder<'_>, v: &[Value]| v[1..].iter().fold(v[0], |sum, &x| add(b, sum, x));
        // Two vectors a value, and registers for thirty.
        let (func, at) = block(15, sum);
        assert_eq!(moves(&func, at), 0);
        let (func, at) = block(17, sum);
        assert_eq!(moves(&func, at), 2 * (2 + 2));
    }

    #[test]
    fn an_order_that_registers_do_not_hold_costs_its_moves() {
        // Sixty short chains, each of which is added to the sum of those before: in the order of starts all come first.
        let write = |b: &mut Builder<'_>, v: &[Value]| {
            v.iter().fold(v[0], |sum, &x| {
                let own = chain(b, x, 3);
                add(b, sum, own)
            })
        };
        let (mut func, at) = block(60, write);
        let order = in_order_of_start(&func, &MODEL, at);
        let leaving = registers::leaving(&func);
        let (before, after) = (moves(&func, at), registers::moves(&func, &MODEL, &order, &leaving));
        assert!(after > before + 20, "{before} and {after} moves");
        let cycles = host::cycles(&func, &MODEL, at, &order) as usize;
        assert_eq!(cost(&func, &MODEL, at, &order, &leaving), cycles + after / 4);
        assert!(!run(&mut func, &MODEL));
    }
}
