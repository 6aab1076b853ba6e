//! Finds values whose uses decide where they are kept, before code is emitted. Each function finds one kind:
//!
//! - loaded words whose only use is a sign extension: the load does that as well;
//! - comparisons that only a branch uses: they stay in the host's flags;
//! - conjunctions of words that only a comparison with zero uses: both are one instruction;
//! - words that are the same in all lanes and that only operations on lanes use: they go into a vector at once.
//!
//! In: the function, its blocks in order of emission, and how often each value is used. Out: the values, by number or as a list.

use warpjit_ir::analysis::Uses;
use warpjit_ir::function::ValueDef;
use warpjit_ir::types::Scalar;
use warpjit_ir::{Block, Function, Imm, IntCC, Opcode, Space, Value};

use crate::affine::{Form, Forms};

/// Words that one load of global memory gives for all lanes and that nothing uses but a sign extension: the load does that as well.
pub(super) fn extended_loads(f: &Function, order: &[Block], forms: &Forms, uses: &Uses) -> Vec<bool> {
    let mut extended = vec![false; f.values.len()];
    let insts = order.iter().flat_map(|&b| &f.block(b).insts).map(|&inst| f.inst(inst));
    for v in insts.filter(|data| data.op == Opcode::Sext).map(|data| data.args[0]) {
        let loaded = f.def_inst(v).is_some_and(|data| match data.imm {
            Imm::Mem(mem) => {
                data.op == Opcode::Load && mem.bytes == 4 && matches!(mem.space, Space::Global(_))
            }
            _ => false,
        });
        extended[v.index()] =
            uses.count(v) == 1 && loaded && forms.of(v) == Form::Uniform && f.ty(v).scalar == Scalar::I32;
    }
    extended
}

/// Comparisons whose only use is the branch at the end of their block.
pub(super) fn fused_comparisons(f: &Function, order: &[Block], uses: &Uses) -> Vec<bool> {
    let mut fused = vec![false; f.values.len()];
    for &b in order {
        let (warpjit_ir::Terminator::BrIf { cond, .. } | warpjit_ir::Terminator::BrAny { mask: cond, .. }) =
            f.term(b)
        else {
            continue;
        };
        let ValueDef::Inst(inst) = f.values[cond.index()].def else { continue };
        let alone = match f.inst(inst).op {
            Opcode::Icmp => true,
            // Whether all lanes have something.
            Opcode::Inot => f.ty(*cond).scalar == Scalar::I1,
            _ => false,
        };
        if uses.count(*cond) == 1 && f.block(b).insts.contains(&inst) && alone {
            fused[cond.index()] = true;
        }
    }
    fused
}

/// Conjunctions of words that nothing uses but a comparison with zero in the same block, which is one instruction with them.
pub(super) fn tested_bits(f: &Function, order: &[Block], forms: &Forms, uses: &Uses) -> Vec<Value> {
    let mut tested = Vec::new();
    for &b in order {
        let insts = &f.block(b).insts;
        for &inst in insts {
            let data = f.inst(inst);
            let (Opcode::Icmp, Imm::Int(IntCC::Eq | IntCC::Ne), &[a, zero]) =
                (data.op, &data.imm, &data.args[..])
            else {
                continue;
            };
            let ValueDef::Inst(by) = f.values[a.index()].def else { continue };
            let bits = f.inst(by).op == Opcode::Iand && f.ty(a).scalar != Scalar::I1;
            if bits
                && f.as_const(zero) == Some(0)
                && forms.of(a) == Form::Varying
                && uses.count(a) == 1
                && insts.contains(&by)
            {
                tested.push(a);
            }
        }
    }
    tested
}

/// Words that are the same in all lanes and that nothing uses but operations on lanes, or as floats.
pub(super) fn words_for_vectors(f: &Function, order: &[Block], forms: &Forms) -> Vec<bool> {
    let mut only: Vec<bool> = f
        .values
        .iter()
        .enumerate()
        .map(|(n, v)| {
            matches!(v.ty.scalar, Scalar::I32 | Scalar::I64) && forms.of(Value::new(n)) == Form::Uniform
        })
        .collect();
    for &b in order {
        for &inst in &f.block(b).insts {
            let data = f.inst(inst);
            let float = data.result.is_some_and(|r| matches!(f.ty(r).scalar, Scalar::F32 | Scalar::F64));
            let on_lanes = data.result.is_some_and(|r| forms.of(r) == Form::Varying)
                && !matches!(
                    data.op,
                    Opcode::Load | Opcode::Atomic | Opcode::LaneBit | Opcode::ChunkMask | Opcode::CallPure
                );
            if !(on_lanes || data.op == Opcode::Bitcast && float) {
                data.args.iter().for_each(|a| only[a.index()] = false);
            }
        }
        f.term(b).for_each_use(|v| only[v.index()] = false);
    }
    only
}
