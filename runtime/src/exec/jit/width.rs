//! How many vectors of lanes a chunk of a region takes at a time.
//!
//! More of them hide what each waits for and share what is done for a chunk. But they need registers, and where lanes leave a loop
//! at different times all of them wait for the last.

use warpjit_ir::graph::on_cycle;
use warpjit_ir::{Block, Function, Imm, Inst, Opcode, Scalar, Space, Terminator, Value};

/// Instructions for each access of lanes to global memory from which on a region mostly computes.
const MOSTLY: usize = 24;

/// Vector registers of the host.
const REGISTERS: usize = 32;

/// Blocks times values beyond which a region is not looked at: it needs all registers for two vectors.
const MOST_LOOKED_AT: usize = 1 << 19;

/// Vectors of sixteen lanes that a chunk is to have: 1, 2 or 4.
pub(super) fn vectors(func: &Function) -> u8 {
    let succs = successors(func);
    let in_loop = on_cycle(&succs);
    let (mut insts, mut accesses, mut in_loops, mut diverges) = (0, 0, 0, false);
    for block in func.block_ids() {
        let looping = in_loop[block.index()];
        for &inst in &func.block(block).insts {
            insts += 1;
            if is_access(func, inst) {
                accesses += 1;
                in_loops += usize::from(looping);
            }
        }
        diverges |= looping && depends_on_lanes(func, func.term(block));
    }
    if in_loops > 0 && diverges {
        // One: fewer lines are in use at a time, and lanes that are done wait for fewer others.
        return 1;
    }
    if in_loops == 0 && insts < MOSTLY * accesses {
        // One pass over memory: more vectors only take registers.
        return 1;
    }
    let small = succs.len() * func.values.len() <= MOST_LOOKED_AT;
    if !diverges && small && 4 * most_live(func, &succs, &[]) <= REGISTERS { 4 } else { 2 }
}

/// Whether four vectors of the values of a region find room, where slots of lanes are even: what is computed from them for addresses is
/// in scalars.
pub(super) fn fits_whole(func: &Function) -> bool {
    let succs = successors(func);
    let in_loop = on_cycle(&succs);
    let parts = |b| in_loop[Block::index(b)] && depends_on_lanes(func, func.term(b));
    let small = succs.len() * func.values.len() <= MOST_LOOKED_AT;
    accesses_lanes(func)
        && small
        && !func.block_ids().any(parts)
        && 4 * most_live(func, &succs, &even_values(func)) <= REGISTERS
}

/// Whether lanes load from or store to places of global memory.
pub(super) fn accesses_lanes(func: &Function) -> bool {
    func.blocks.iter().flat_map(|b| &b.insts).any(|&inst| is_access(func, inst))
}

/// Whether that is what an instruction does. (Atomics are done lane by lane, however many vectors there are.)
fn is_access(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let of_lanes = data.args.first().is_some_and(|&a| !func.ty(a).uniform);
    of_lanes && matches!(data.imm, Imm::Mem(m) if matches!(m.space, Space::Global(_)))
}

/// Integers that are made of slots and what is the same in all lanes by sums and products.
fn even_values(func: &Function) -> Vec<bool> {
    let mut even: Vec<bool> = func.values.iter().map(|v| v.ty.uniform).collect();
    for block in func.block_ids() {
        for &inst in &func.block(block).insts {
            let data = func.inst(inst);
            let Some(result) = data.result else { continue };
            let of = |n: usize| data.args.get(n).is_some_and(|a| even[a.index()]);
            let same = |n: usize| data.args.get(n).is_some_and(|&a| func.ty(a).uniform);
            let is = match data.op {
                Opcode::SlotGet => func.ty(result).scalar == Scalar::I32,
                Opcode::Iadd | Opcode::Isub => of(0) && of(1),
                Opcode::Imul => of(0) && same(1) || same(0) && of(1),
                Opcode::Ishl => of(0) && same(1),
                Opcode::Sext | Opcode::Zext | Opcode::Ineg | Opcode::Splat => of(0),
                _ => false,
            };
            even[result.index()] |= is;
        }
    }
    even
}

fn successors(func: &Function) -> Vec<Vec<usize>> {
    let of = |b| {
        let mut list = Vec::new();
        func.term(b).for_each_successor(|s| list.push(s.index()));
        list
    };
    func.block_ids().map(of).collect()
}

/// Whether a terminator asks whether any lane has something.
fn depends_on_lanes(func: &Function, term: &Terminator) -> bool {
    match term {
        Terminator::BrAny { .. } => true,
        Terminator::BrIf { cond, .. } => {
            let mut work = vec![*cond];
            let mut looked_at = 0;
            while let (Some(v), true) = (work.pop(), looked_at < 16) {
                looked_at += 1;
                let Some(data) = func.def_inst(v) else { continue };
                match data.op {
                    Opcode::Any | Opcode::VoteAny | Opcode::VoteAll | Opcode::Ballot => return true,
                    Opcode::Inot | Opcode::Iand | Opcode::Ior => work.extend(&data.args),
                    _ => {}
                }
            }
            false
        }
        _ => false,
    }
}

/// Registers that a value of lanes takes for sixteen of them, masks and constants apart.
fn registers(func: &Function, v: Value) -> usize {
    let ty = func.ty(v);
    match ty.scalar {
        _ if ty.uniform || func.as_const(v).is_some() => 0,
        Scalar::I1 => 0,
        Scalar::I64 | Scalar::F64 => 2,
        _ => 1,
    }
}

/// The most registers that values of sixteen lanes take at a time, some values apart that are in no vectors.
fn most_live(func: &Function, succs: &[Vec<usize>], scalars: &[bool]) -> usize {
    let registers = |func: &Function, v: Value| match scalars.get(v.index()) {
        Some(true) => 0,
        _ => registers(func, v),
    };
    let count = func.values.len();
    let mut live_in: Vec<Vec<bool>> = vec![vec![false; count]; succs.len()];
    let mut most = 0;
    loop {
        let mut changed = false;
        for block in func.block_ids().collect::<Vec<_>>().into_iter().rev() {
            let mut live = vec![false; count];
            for &s in &succs[block.index()] {
                live.iter_mut().zip(&live_in[s]).for_each(|(live, &more)| *live |= more);
            }
            func.term(block).for_each_use(|v| live[v.index()] = true);
            let mut now: usize =
                (0..count).filter(|&n| live[n]).map(|n| registers(func, Value::new(n))).sum();
            most = most.max(now);
            for &inst in func.block(block).insts.iter().rev() {
                let data = func.inst(inst);
                if let Some(r) = data.result
                    && std::mem::replace(&mut live[r.index()], false)
                {
                    now -= registers(func, r);
                }
                for &a in &data.args {
                    if !std::mem::replace(&mut live[a.index()], true) {
                        now += registers(func, a);
                    }
                }
                most = most.max(now);
            }
            func.block(block).params.iter().for_each(|p| live[p.index()] = false);
            if live != live_in[block.index()] {
                live_in[block.index()] = live;
                changed = true;
            }
        }
        if !changed {
            return most;
        }
    }
}

#[cfg(test)]
#[path = "width_tests.rs"]
mod tests;
