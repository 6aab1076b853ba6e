//! A model of a host processor with several vector units: how many cycles a block takes with its instructions in a given order.
//!
//! It is only as precise as needed to choose between two orders of the same instructions. Its numbers come from the code generator
//! ([`HostModel`]).

use std::collections::VecDeque;

use super::keeps_register;
use warpjit_ir_core::entities::{Block, Inst};
use warpjit_ir_core::function::{Function, InstData};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::types::{Scalar, Type};

/// What the scheduler must know of a host. The code generator has one for the hosts that it generates code for.
#[derive(Clone, Copy, Debug)]
pub struct HostModel {
    /// Vectors of a varying value of 32 bits, in most chunks.
    pub vectors: u32,
    /// Vector registers for values. Constants and temporaries take the others.
    pub registers: u32,
    /// Operations that can start in one cycle.
    pub units: u32,
    /// Operations dispatched to the units in one cycle, not counting loads and moves.
    pub dispatched: u32,
    /// Size of the window: operations between the oldest that has not started and the youngest that the host considers.
    pub window: u32,
    /// Spills and reloads per cycle.
    pub moves_per_cycle: usize,
    /// Most cycles between computing a value and its first use, if it could be computed later.
    pub max_wait: u32,
    /// What an operation costs that gives one vector of the type. Those that give nothing have none.
    pub cost: fn(Opcode, Option<Type>) -> Cost,
}

/// The cost of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// Operations; of [`HostModel::cost`] those for one vector.
    pub operations: u32,
    /// Cycles from its start until an instruction that waits for it can start.
    pub latency: u32,
    /// Cycles for which it occupies the divider; of [`HostModel::cost`] those for one vector.
    pub divides: u32,
}

impl HostModel {
    /// The cost of an instruction, for all vectors of its value.
    pub(super) fn of(&self, func: &Function, data: &InstData) -> Cost {
        let ty = data.result.map(|r| func.ty(r));
        let is_wide = ty.is_some_and(|ty| matches!(ty.scalar, Scalar::I64 | Scalar::F64));
        if matches!(data.op, Opcode::Const | Opcode::Splat) || keeps_register(data.op) {
            return Cost { operations: 0, latency: 0, divides: 0 };
        }
        let Cost { operations, latency, divides } = (self.cost)(data.op, ty);
        let vectors = if is_wide { 2 * self.vectors } else { self.vectors };
        Cost { operations: operations * vectors, latency, divides: divides * vectors }
    }

    /// Whether a block has more operations than fit into the window.
    pub(super) fn is_beyond_window(&self, func: &Function, insts: &[Inst]) -> bool {
        let operations = insts.iter().map(|&inst| self.of(func, func.inst(inst)).operations);
        operations.sum::<u32>() > self.window
    }
}

/// The units of a host without a window limit.
pub(super) struct Units {
    /// Operations that can start in one cycle.
    units: u32,
    /// The current cycle.
    pub now: u32,
    /// Operations started in this cycle, including those that overflow into later ones.
    taken: u32,
    /// The cycle from which on the divider is free.
    pub divider_free: u32,
}

impl Units {
    /// All free, in cycle 0.
    pub fn new(units: u32) -> Units {
        Units { units, now: 0, taken: 0, divider_free: 0 }
    }

    /// Whether an operation can start in this cycle.
    pub fn are_free(&self) -> bool {
        self.taken < self.units
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
        self.taken = self.taken.saturating_sub((cycle - self.now).saturating_mul(self.units));
        self.now = cycle;
    }
}

/// Cycles that a block takes with its instructions in this order. For a block that jumps to itself: cycles of an
/// iteration other than the first.
pub(super) fn cycles(func: &Function, model: &HostModel, block: Block, order: &[Inst]) -> u32 {
    let mut host = Host::new(func, model);
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
    model: &'a HostModel,
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
    fn new(func: &'a Function, model: &'a HostModel) -> Host<'a> {
        Host {
            func,
            model,
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
            let cost = self.model.of(self.func, data);
            self.dispatched += cost.operations;
            while self.in_window + cost.operations > self.model.window
                && let Some((at, operations)) = self.window.pop_front()
            {
                self.in_window -= operations;
                self.dispatched = self.dispatched.max(at * self.model.dispatched);
            }
            let ready = data.args.iter().map(|a| self.there_from[a.index()]);
            let mut start = ready.max().unwrap_or(0).max(self.dispatched / self.model.dispatched);
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
            let taken = operations.min(self.model.units - self.started[cycle]);
            self.started[cycle] += taken;
            operations -= taken;
            if operations == 0 {
                return cycle as u32;
            }
            cycle += 1;
        }
    }
}
