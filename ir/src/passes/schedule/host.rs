//! A model of a host processor with four vector units: how many cycles a block takes with its instructions in a given order.
//!
//! It takes what Zen 4, Zen 5 and Golden Cove have in common, and is only as precise as needed to choose between two orders of
//! the same instructions.

use std::collections::VecDeque;

use super::keeps_register;
use crate::entities::{Block, Inst};
use crate::function::{Function, InstData};
use crate::opcodes::{Group, Opcode};
use crate::types::Scalar;

/// Vectors of a varying value, in most chunks.
pub(super) const VECTORS: u32 = 2;

/// Operations that can start in one cycle.
const UNITS: u32 = 4;

/// Operations dispatched to the units in one cycle, not counting loads and moves.
const DISPATCHED: u32 = 5;

/// Size of the window: operations between the oldest that has not started and the youngest that the host considers.
const WINDOW: u32 = 96;

/// The cost of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cost {
    /// Operations, summed over all vectors of the value.
    pub operations: u32,
    /// Cycles from its start until an instruction that waits for it can start.
    pub latency: u32,
    /// Cycles for which it occupies the divider.
    pub divides: u32,
}

/// The cost of an instruction.
pub(super) fn cost(func: &Function, data: &InstData) -> Cost {
    let ty = data.result.map(|r| func.ty(r));
    let is_wide = ty.is_some_and(|ty| matches!(ty.scalar, Scalar::I64 | Scalar::F64));
    let (operations, latency, divides) = match data.op {
        op if matches!(op, Opcode::Const | Opcode::Splat) || keeps_register(op) => (0, 0, 0),
        // Scalar instructions use general registers and other units.
        _ if ty.is_some_and(|ty| ty.uniform) => (0, if data.op == Opcode::Load { 5 } else { 1 }, 0),
        // Special functions: tables and polynomials.
        Opcode::CallPure => (30, 45, 0),
        Opcode::FmadTrunc => (3, 6, 0),
        Opcode::Lookup => (6, 8, 0),
        Opcode::Load => (1, 6, 0),
        Opcode::Fdiv => (1, 12, 6),
        Opcode::Fsqrt => (1, 18, 8),
        Opcode::Imul => (1, 4, 0),
        // The result passes through a mask register.
        Opcode::Icmp | Opcode::Fcmp | Opcode::Fsignals => (1, 5, 0),
        op => match op.group() {
            Group::Float => (1, 4, 0),
            Group::Convert => (1, 3, 0),
            _ => (1, 2, 0),
        },
    };
    let vectors = if is_wide { 2 * VECTORS } else { VECTORS };
    Cost { operations: operations * vectors, latency, divides: divides * vectors }
}

/// Whether a block has more operations than fit into the window.
pub(super) fn is_longer_than_window(func: &Function, insts: &[Inst]) -> bool {
    let operations = insts.iter().map(|&inst| cost(func, func.inst(inst)).operations);
    operations.sum::<u32>() > WINDOW
}

/// The units of a host without a window limit.
#[derive(Default)]
pub(super) struct Units {
    /// The current cycle.
    pub now: u32,
    /// Operations started in this cycle, including those that overflow into later ones.
    taken: u32,
    /// The cycle from which on the divider is free.
    pub divider_free: u32,
}

impl Units {
    /// Whether an operation can start in this cycle.
    pub fn are_free(&self) -> bool {
        self.taken < UNITS
    }

    /// Starts an instruction.
    pub fn start(&mut self, cost: &Cost) {
        self.taken += cost.operations;
        if cost.divides > 0 {
            self.divider_free = self.divider_free.max(self.now) + cost.divides;
        }
    }

    /// Advances to a later cycle.
    pub fn go_on_to(&mut self, cycle: u32) {
        self.taken = self.taken.saturating_sub((cycle - self.now).saturating_mul(UNITS));
        self.now = cycle;
    }
}

/// Cycles that a block takes with its instructions in this order. For a block that jumps to itself: cycles of an
/// iteration other than the first.
pub(super) fn cycles(func: &Function, block: Block, order: &[Inst]) -> u32 {
    let mut host = Host::new(func);
    let first = host.execute(order);
    let Some(call) = func.term(block).calls().find(|call| call.block == block) else { return first };
    let next: Vec<u32> = call.args.iter().map(|a| host.there_from[a.index()]).collect();
    for (param, from) in func.block(block).params.iter().zip(next) {
        host.there_from[param.index()] = from;
    }
    host.execute(order) - first
}

/// The host with its window limit.
struct Host<'a> {
    func: &'a Function,
    /// For each value: the cycle from which on it is available.
    there_from: Vec<u32>,
    /// For each cycle: how many operations start.
    started: Vec<u32>,
    /// The window. For each instruction: the cycle in which all before it have started, and its operations.
    window: VecDeque<(u32, u32)>,
    in_window: u32,
    /// Operations dispatched so far, scaled so that one cycle dispatches a fixed number.
    dispatched: u32,
    divider_free: u32,
    /// The latest start so far.
    end: u32,
}

impl<'a> Host<'a> {
    fn new(func: &'a Function) -> Host<'a> {
        Host {
            func,
            there_from: vec![0; func.values.len()],
            started: Vec::new(),
            window: VecDeque::new(),
            in_window: 0,
            dispatched: 0,
            divider_free: 0,
            end: 0,
        }
    }

    /// Executes instructions; returns the cycle in which the last one starts.
    fn execute(&mut self, order: &[Inst]) -> u32 {
        for &inst in order {
            let data = self.func.inst(inst);
            let cost = cost(self.func, data);
            self.dispatched += cost.operations;
            while self.in_window + cost.operations > WINDOW
                && let Some((at, operations)) = self.window.pop_front()
            {
                self.in_window -= operations;
                self.dispatched = self.dispatched.max(at * DISPATCHED);
            }
            let ready = data.args.iter().map(|a| self.there_from[a.index()]);
            let mut start = ready.max().unwrap_or(0).max(self.dispatched / DISPATCHED);
            if cost.divides > 0 {
                start = start.max(self.divider_free);
                self.divider_free = start + cost.divides;
            }
            if cost.operations > 0 {
                start = self.take_units(start, cost.operations);
                let before = self.window.back().map_or(0, |&(at, _)| at);
                self.window.push_back((start.max(before), cost.operations));
                self.in_window += cost.operations;
            }
            if let Some(r) = data.result {
                self.there_from[r.index()] = start + cost.latency;
            }
            self.end = self.end.max(start);
        }
        self.end
    }

    /// Occupies units from cycle `start` on; returns the cycle in which the last operation starts.
    fn take_units(&mut self, start: u32, mut operations: u32) -> u32 {
        let mut cycle = start as usize;
        loop {
            if self.started.len() <= cycle {
                self.started.resize(cycle + 1, 0);
            }
            let taken = operations.min(UNITS - self.started[cycle]);
            self.started[cycle] += taken;
            operations -= taken;
            if operations == 0 {
                return cycle as u32;
            }
            cycle += 1;
        }
    }
}
