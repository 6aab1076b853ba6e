//! Chooses how many vectors a chunk of a region has.
//!
//! More vectors hide latency and share the work that is done once a chunk. But they need more registers, and in a loop that lanes
//! leave at different times, all vectors wait for the last lane.

use warpjit_ir::graph::on_cycle;
use warpjit_ir::{Function, Imm, Inst, InstData, Opcode, Scalar, Slot, Space, Terminator, Value};

/// A region with at least this many instructions per varying access to global memory is compute-bound.
const MOSTLY: usize = 24;

/// Vector registers of the host.
const REGISTERS: usize = 32;

/// Limit on blocks times values. A larger region is not analysed: it needs all registers even with two vectors.
const MOST_LOOKED_AT: usize = 1 << 19;

/// Number of 16-lane vectors that a chunk should have: 1, 2 or 4.
pub(crate) fn vectors(func: &Function) -> u8 {
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
        // One: fewer cache lines are in use at a time, and finished lanes wait for fewer others.
        return 1;
    }
    if in_loops == 0 && insts < MOSTLY * accesses {
        // One pass over memory: more vectors only take registers.
        return 1;
    }
    let small = succs.len() * func.values.len() <= MOST_LOOKED_AT;
    if !diverges && small && 4 * most_live(func, &succs, &[]) <= REGISTERS { 4 } else { 2 }
}

/// Whether four vectors of a region's values fit the registers, if its slots are affine. Values computed from affine
/// slots for addresses are scalars and do not count.
pub(crate) fn fits_whole(func: &Function) -> bool {
    let succs = successors(func);
    let small = succs.len() * func.values.len() <= MOST_LOOKED_AT;
    accesses_lanes(func)
        && small
        && !parts_in_loops(func)
        && 4 * most_live(func, &succs, &even_values(func, false, |_| true)) <= REGISTERS
}

/// With 128-bit vectors: how many a chunk has, unless another number is better.
const NARROW: u8 = 2;

/// With 128-bit vectors: the most varying values that may be live for chunks of four vectors (this) and of eight
/// (next). More would be spilled.
const MOST_OF_FOUR: usize = 32;
const MOST_OF_EIGHT: usize = 24;

/// The most instructions for chunks of four vectors (this) and of eight (next), because more vectors take longer to
/// compile.
const LONGEST_OF_FOUR: usize = 1000;
const LONGEST_OF_EIGHT: usize = 200;

/// A region with at most this many varying operations per access is memory-bound.
const FEW_OPERATIONS: usize = 8;

/// Whether lanes leave a loop at different times.
pub(crate) fn parts_in_loops(func: &Function) -> bool {
    let in_loop = on_cycle(&successors(func));
    func.block_ids().any(|b| in_loop[b.index()] && depends_on_lanes(func, func.term(b)))
}

/// The most operations of a region with two 128-bit vectors in a chunk. The code of more of them does not fit the host's
/// instruction cache (32 KiB on most).
const LONGEST_OF_TWO: usize = 1500;

/// Number of 128-bit vectors that a chunk should have where no more save work ([`narrow_groups`]): 2, so that one hides the
/// other's latency, or 1 if the code of two would not fit the host's instruction cache.
pub(crate) fn smallest_groups(func: &Function) -> u8 {
    let insts = func.block_ids().flat_map(|block| &func.block(block).insts);
    let operations =
        insts.filter(|&&inst| func.inst(inst).result.is_some_and(|r| registers(func, r) > 0)).count();
    if operations > LONGEST_OF_TWO { 1 } else { NARROW }
}

/// Number of 128-bit vectors that a chunk should have: 2, or more if that saves work done once a chunk. Two are best
/// for loops that lanes leave at different times, for gathers, and for loops that only compute.
pub(crate) fn narrow_groups(func: &Function, slot_is_even: impl Fn(Slot) -> bool) -> u8 {
    let succs = successors(func);
    if succs.len() * func.values.len() > MOST_LOOKED_AT || parts_in_loops(func) {
        return NARROW;
    }
    let in_loop = on_cycle(&succs);
    let even = even_values(func, true, slot_is_even);
    let (mut accesses, mut in_loops, mut loops, mut operations, mut insts) = (0, 0, false, 0, 0);
    for block in func.block_ids() {
        let looping = in_loop[block.index()];
        loops |= looping;
        insts += func.block(block).insts.len();
        for &inst in &func.block(block).insts {
            let data = func.inst(inst);
            let of_lanes = data.args.first().is_some_and(|&a| !func.ty(a).uniform);
            let is_memory = matches!(data.imm, Imm::Mem(_)) || data.op == Opcode::Lookup;
            match data.args.first() {
                Some(&a) if is_memory && of_lanes && !even[a.index()] => return NARROW,
                _ if is_memory => {
                    accesses += usize::from(of_lanes);
                    in_loops += usize::from(of_lanes && looping);
                }
                _ => {
                    let of_vectors = data.result.is_some_and(|r| registers(func, r) > 0 && !even[r.index()]);
                    operations += usize::from(of_vectors);
                }
            }
        }
    }
    if loops && in_loops == 0 {
        return NARROW;
    }
    match most_live(func, &succs, &[]) {
        live if live <= MOST_OF_EIGHT
            && insts <= LONGEST_OF_EIGHT
            && (loops || operations <= FEW_OPERATIONS * accesses) =>
        {
            8
        }
        live if live <= MOST_OF_FOUR && insts <= LONGEST_OF_FOUR => 4,
        _ => NARROW,
    }
}

/// Whether a region has varying loads or stores of global memory.
pub(crate) fn accesses_lanes(func: &Function) -> bool {
    func.blocks.iter().flat_map(|b| &b.insts).any(|&inst| is_access(func, inst))
}

/// Whether an instruction is such an access. Atomics do not count, because they are executed lane by lane for any
/// number of vectors.
fn is_access(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let of_lanes = data.args.first().is_some_and(|&a| !func.ty(a).uniform);
    of_lanes && matches!(data.imm, Imm::Mem(m) if matches!(m.space, Space::Global(_)))
}

/// For each value: whether it is an affine integer, computed from affine slots and uniform values by sums and products.
/// With `loops`, so is a block parameter whose arguments all are.
fn even_values(func: &Function, loops: bool, slot_is_even: impl Fn(Slot) -> bool) -> Vec<bool> {
    let mut even: Vec<bool> = func.values.iter().map(|v| v.ty.uniform).collect();
    let params = || func.blocks.iter().flat_map(|block| &block.params);
    if loops {
        params().for_each(|p| even[p.index()] = true);
    }
    loop {
        for block in func.block_ids() {
            for &inst in &func.block(block).insts {
                let data = func.inst(inst);
                let Some(result) = data.result else { continue };
                even[result.index()] = func.ty(result).uniform || is_even(func, data, &even, &slot_is_even);
            }
        }
        let mut odd = Vec::new();
        for call in func.block_ids().filter(|_| loops).flat_map(|b| func.term(b).calls()) {
            let pairs = func.block(call.block).params.iter().zip(&call.args);
            odd.extend(pairs.filter(|(p, a)| even[p.index()] && !even[a.index()]).map(|(p, _)| *p));
        }
        if odd.is_empty() {
            return even;
        }
        odd.into_iter().for_each(|p| even[p.index()] = false);
    }
}

fn is_even(func: &Function, data: &InstData, even: &[bool], slot_is_even: impl Fn(Slot) -> bool) -> bool {
    let of = |n: usize| data.args.get(n).is_some_and(|a| even[a.index()]);
    let same = |n: usize| data.args.get(n).is_some_and(|&a| func.ty(a).uniform);
    match data.op {
        Opcode::SlotGet => {
            let known = matches!(data.imm, Imm::Slot(slot) if slot_is_even(slot));
            known && data.result.is_some_and(|r| func.ty(r).scalar == Scalar::I32)
        }
        Opcode::Iadd | Opcode::Isub => of(0) && of(1),
        Opcode::Imul => of(0) && same(1) || same(0) && of(1),
        Opcode::Ishl => of(0) && same(1),
        Opcode::Sext | Opcode::Zext | Opcode::Ineg | Opcode::Splat => of(0),
        _ => false,
    }
}

fn successors(func: &Function) -> Vec<Vec<usize>> {
    let of = |b| {
        let mut list = Vec::new();
        func.term(b).for_each_successor(|s| list.push(s.index()));
        list
    };
    func.block_ids().map(of).collect()
}

/// Whether a terminator depends on a varying condition.
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

/// Vector registers that 16 lanes of a varying value take; masks and constants take none.
fn registers(func: &Function, v: Value) -> usize {
    let ty = func.ty(v);
    match ty.scalar {
        _ if ty.uniform || func.as_const(v).is_some() => 0,
        Scalar::I1 => 0,
        Scalar::I64 | Scalar::F64 => 2,
        _ => 1,
    }
}

/// The most vector registers that are live at a time, for 16 lanes. `scalars` are values that are not in vectors.
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
