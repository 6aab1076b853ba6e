//! Changes the type of integer block parameters to float if they are only used as floats.
//!
//! Guests keep integers and floats in the same registers, so a loop carries a float sum as an integer. For a code generator that
//! has scalar integers and floats in different registers, each iteration would move the sum from one kind to the other and back.

use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::function::{Form, Function, Imm, InstData};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::passes::rewrite::Aliases;
use warpjit_ir_core::types::{Scalar, Type};

/// Runs the pass. In SPMD form it does nothing.
pub fn run(func: &mut Function) -> bool {
    if func.form == Form::Spmd {
        return false;
    }
    let seen = uses(func);
    let mut aliases = Aliases::new(func);
    let mut changed = Vec::new();
    for block in func.block_ids() {
        for (place, &param) in func.block(block).params.iter().enumerate() {
            if let Use::As(float) = seen[param.index()] {
                changed.push((block, place, param, float));
            }
        }
    }
    for &(.., param, float) in &changed {
        func.values[param.index()].ty.scalar = float;
    }
    for block in func.block_ids() {
        let mut insts = std::mem::take(&mut func.block_mut(block).insts);
        insts.retain(|&inst| match func.inst(inst) {
            InstData { op: Opcode::Bitcast, args, result: Some(result), .. }
                if func.ty(args[0]).scalar == func.ty(*result).scalar =>
            {
                aliases.set(*result, args[0]);
                false
            }
            _ => true,
        });
        func.block_mut(block).insts = insts;
    }
    for &(block, place, _, float) in &changed {
        arguments(func, block, place, float);
    }
    aliases.apply(func);
    !changed.is_empty()
}

/// How a value is used.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    None,
    As(Scalar),
    Otherwise,
}

/// How each parameter is used. A use as its own argument does not count.
fn uses(func: &Function) -> Vec<Use> {
    let mut seen = vec![Use::None; func.values.len()];
    let mut note = |v: Value, how: Use| {
        let old = &mut seen[v.index()];
        *old = if *old == Use::None || *old == how { how } else { Use::Otherwise };
    };
    for block in func.block_ids() {
        for &inst in &func.block(block).insts {
            let data = func.inst(inst);
            let how = match (data.op, data.result.map(|r| func.ty(r).scalar)) {
                (Opcode::Bitcast, Some(to @ (Scalar::F32 | Scalar::F64))) => Use::As(to),
                _ => Use::Otherwise,
            };
            data.args.iter().for_each(|&v| note(v, how));
        }
        let Some(term) = &func.block(block).term else { continue };
        term.for_each_condition(|v| note(v, Use::Otherwise));
        for call in term.calls() {
            for (&param, &arg) in func.block(call.block).params.iter().zip(&call.args) {
                if param != arg {
                    note(arg, Use::Otherwise);
                }
            }
        }
    }
    seen
}

/// Converts the arguments of a parameter that has become a float.
fn arguments(func: &mut Function, to: Block, place: usize, float: Scalar) {
    for block in func.block_ids() {
        let Some(mut term) = func.block_mut(block).term.take() else { continue };
        term.for_each_call(|call| {
            let Some(arg) = call.args.get_mut(place).filter(|_| call.block == to) else { return };
            let ty = func.ty(*arg);
            if ty.scalar == float {
                return;
            }
            let cast =
                func.make_inst(Opcode::Bitcast, &[*arg], Imm::None, Some(Type { scalar: float, ..ty }), 0);
            func.block_mut(block).insts.push(cast);
            if let Some(cast) = func.inst(cast).result {
                *arg = cast;
            }
        });
        func.block_mut(block).term = Some(term);
    }
}
