//! Counts the spills and reloads of vectors that an order of a block's instructions needs.

use super::host::HostModel;
use super::{keeps_register, register_of};
use foldhash::{HashMap, HashMapExt};
use warpjit_ir_core::entities::{Inst, Value};
use warpjit_ir_core::function::Function;
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::types::Scalar;

/// The value is used after the block.
const BEHIND: usize = usize::MAX - 1;

/// The value is not used any more.
const NONE: usize = usize::MAX;

/// For each value: whether terminators, or blocks other than its own, use it.
pub(super) fn leaving(func: &Function) -> Vec<bool> {
    let mut home = vec![None; func.values.len()];
    let mut leaving = vec![false; func.values.len()];
    for block in func.block_ids() {
        for &inst in &func.block(block).insts {
            if let Some(r) = func.inst(inst).result {
                home[r.index()] = Some(block);
            }
        }
    }
    for block in func.block_ids() {
        for &inst in &func.block(block).insts {
            for &a in &func.inst(inst).args {
                leaving[register_of(func, a).index()] |= home[a.index()] != Some(block);
            }
        }
        func.term(block).for_each_use(|v| leaving[register_of(func, v).index()] = true);
    }
    leaving
}

/// Vector registers that a value takes; 0 for scalars, masks and constants.
fn vectors(func: &Function, model: &HostModel, value: Value) -> u32 {
    let ty = func.ty(value);
    match ty.scalar {
        _ if ty.uniform || func.as_const(value).is_some() => 0,
        Scalar::I1 => 0,
        Scalar::I32 | Scalar::F32 => model.vectors,
        Scalar::I64 | Scalar::F64 => 2 * model.vectors,
    }
}

/// Spills and reloads of vectors that an order needs, if the value whose next use is farthest away is always spilled
/// first.
pub(super) fn moves(func: &Function, model: &HostModel, order: &[Inst], leaving: &[bool]) -> usize {
    let is_code = |op: Opcode| op != Opcode::Const && !keeps_register(op);
    // For each value: the indices of its uses, the last one first.
    let mut uses: HashMap<Value, Vec<usize>> = HashMap::new();
    for (n, &inst) in order.iter().enumerate().rev() {
        let data = func.inst(inst);
        for &a in data.args.iter().filter(|_| is_code(data.op)) {
            let v = register_of(func, a);
            let first = if leaving[v.index()] { vec![BEHIND] } else { Vec::new() };
            uses.entry(v).or_insert(first).push(n);
        }
    }
    let mut held =
        InRegisters { func, model, in_registers: Vec::new(), taken: 0, in_memory: Vec::new(), moves: 0 };
    for (n, &inst) in order.iter().enumerate() {
        let data = func.inst(inst);
        if !is_code(data.op) {
            continue;
        }
        for &a in &data.args {
            let v = register_of(func, a);
            let next = uses.get_mut(&v).and_then(|places| {
                while places.last().is_some_and(|&place| place <= n) {
                    places.pop();
                }
                places.last().copied()
            });
            held.use_value(v, next.unwrap_or(NONE));
        }
        if let Some(r) = data.result {
            let behind = leaving[r.index()].then_some(BEHIND);
            if let Some(next) = uses.get(&r).and_then(|places| places.last().copied()).or(behind) {
                held.put(r, next);
            }
        }
        held.make_room();
    }
    held.moves
}

/// The contents of the registers while the order is walked.
struct InRegisters<'a> {
    func: &'a Function,
    model: &'a HostModel,
    /// Values, each with the index of its next use.
    in_registers: Vec<(Value, usize)>,
    taken: u32,
    in_memory: Vec<Value>,
    moves: usize,
}

impl InRegisters<'_> {
    /// Uses `v`, whose use after this one is at `next`.
    fn use_value(&mut self, v: Value, next: usize) {
        match self.in_registers.iter().position(|&(held, _)| held == v) {
            Some(at) if next == NONE => {
                self.in_registers.swap_remove(at);
                self.taken -= vectors(self.func, self.model, v);
            }
            Some(at) => self.in_registers[at].1 = next,
            None => {
                let vectors = vectors(self.func, self.model, v);
                self.moves += vectors as usize;
                if next != NONE && vectors > 0 {
                    self.in_memory.push(v);
                    self.put(v, next);
                }
            }
        }
    }

    fn put(&mut self, v: Value, next: usize) {
        let vectors = vectors(self.func, self.model, v);
        if vectors > 0 {
            self.in_registers.push((v, next));
            self.taken += vectors;
        }
    }

    fn make_room(&mut self) {
        while self.taken > self.model.registers
            && let Some((at, &(v, _))) =
                self.in_registers.iter().enumerate().max_by_key(|(_, (_, next))| *next)
        {
            self.in_registers.swap_remove(at);
            let vectors = vectors(self.func, self.model, v);
            self.taken -= vectors;
            if !self.in_memory.contains(&v) {
                self.in_memory.push(v);
                self.moves += vectors as usize;
            }
        }
    }
}
