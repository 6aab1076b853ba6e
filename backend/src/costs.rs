//! What code costs on hosts with vectors of 512 bits: the numbers that the passes of the IR ask for.
//!
//! They take what Zen 4, Zen 5 and Golden Cove have in common.

use warpjit_ir::passes::schedule::{Cost, HostModel};
use warpjit_ir::regions::{ChunkLimits, SlowChunks};
use warpjit_ir::{Block, Function, Group, InstData, Opcode, Type, Value};

/// Most lanes of a chunk that holds a whole warp: those of the largest warp. With 128-bit vectors such a chunk is slow, because each
/// value takes several registers.
const MAX_WHOLE_LANES: u32 = 64;

/// With 128-bit vectors: limits of kernels that use a chunk for the whole warp although that is slow. Compiling them takes long too.
const SLOW_CHUNKS: SlowChunks = SlowChunks { max_work: 16_000, max_lanes: 32 };

/// How many lanes a chunk may have. `wide`: code has vectors of 512 bits. `lanes`: the lanes of a chunk that the user asks for.
pub(crate) fn chunk_limits(wide: bool, lanes: Option<u32>) -> ChunkLimits {
    let whole = lanes.filter(|_| wide).unwrap_or(MAX_WHOLE_LANES);
    ChunkLimits { slow: (!wide).then_some(SLOW_CHUNKS), ..ChunkLimits::up_to(whole) }
}

/// The scheduler's numbers. Vectors are of 512 bits.
pub static SCHEDULE: HostModel = HostModel {
    vectors: 2,
    registers: 30,
    units: 4,
    dispatched: 5,
    window: 96,
    moves_per_cycle: 4,
    max_wait: 80,
    cost,
};

fn cost(op: Opcode, ty: Option<Type>) -> Cost {
    let (operations, latency, divides) = match op {
        // Scalar instructions use general registers and other units.
        _ if ty.is_some_and(|ty| ty.uniform) => (0, if op == Opcode::Load { 5 } else { 1 }, 0),
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
    Cost { operations, latency, divides }
}

/// Upper limit of [`few_lanes`].
const MAX_FEW: usize = 12;

/// How many lanes count as few: up to so many, one iteration for each lane costs less than one vector iteration for
/// all.
///
/// Gathers make the difference. The model (Zen 5): for sixteen lanes a gather costs 8 ns, any other operation 0.3 ns.
/// For one lane, each costs 0.05 ns, and leaving the loop for the next lane 5 ns. A load at an index that another load
/// has just given costs half, because a lane's loads follow each other directly.
pub fn few_lanes(func: &Function, head: Block) -> u32 {
    let insts = || func.block(head).insts.iter().map(|&i| func.inst(i));
    let anywhere = |data: &&InstData| data.op == Opcode::Load && !func.ty(data.args[0]).uniform;
    let indices: Vec<Value> = insts().filter(anywhere).filter_map(|data| data.result).collect();
    let indexed = |data: &&InstData| comes_from(func, data.args[0], &indices, 8);
    let loads = insts().filter(anywhere).filter(|data| !indexed(data)).count();
    let all = insts().filter(|data| data.op != Opcode::Const).count();
    if loads == 0 { 0 } else { (2 + 60 * loads / all).min(MAX_FEW) as u32 }
}

/// Whether an address is computed from one of `values` and uniform values only, by at most `depth` operations.
fn comes_from(func: &Function, address: Value, values: &[Value], depth: u32) -> bool {
    if values.contains(&address) {
        return true;
    }
    let Some(data) = func.def_inst(address).filter(|_| depth > 0) else { return false };
    let adds = matches!(data.op, Opcode::Iadd | Opcode::Isub | Opcode::Ishl | Opcode::Zext | Opcode::Sext);
    adds && data.args.iter().any(|&a| comes_from(func, a, values, depth - 1))
}
