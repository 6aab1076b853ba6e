//! Puts what pure functions do in place of their calls, where they say it in operations: vector code instead of a call for
//! each lane.

use super::Aliases;
use crate::builder::Builder;
use crate::entities::Block;
use crate::function::{Function, Imm, InstData};
use crate::opcodes::Opcode;

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    let calls = |inst: &InstData| matches!(inst.imm, Imm::Pure(callee) if callee.expand.is_some());
    let mut blocks = func.blocks.iter();
    if !blocks.any(|b| b.insts.iter().any(|&i| calls(func.inst(i)))) {
        return false;
    }
    let ftz = !keeps_denormals(func);
    let mut aliases = Aliases::new(func);
    for n in 0..func.blocks.len() {
        let block = Block::new(n);
        if !func.block(block).insts.iter().any(|&i| calls(func.inst(i))) {
            continue;
        }
        for inst in std::mem::take(&mut func.block_mut(block).insts) {
            let data = func.inst(inst);
            if let (Imm::Pure(callee), Some(result)) = (data.imm, data.result)
                && let Some(expand) = callee.expand
            {
                let (pc, args) = (data.pc, data.args.iter().map(|&a| aliases.get(a)).collect::<Vec<_>>());
                let mut b = Builder::new(func, block);
                b.pc = pc;
                if let Some(value) = expand(&mut b, &args, ftz) {
                    aliases.set(result, value);
                    continue;
                }
            }
            func.block_mut(block).insts.push(inst);
        }
    }
    aliases.apply(func);
    aliases.any()
}

/// Whether some operation must not flush denormals, so that the host's environment cannot.
fn keeps_denormals(func: &Function) -> bool {
    use Opcode::*;
    let mut insts = func.blocks.iter().flat_map(|b| &b.insts).map(|&i| func.inst(i));
    insts.any(|inst| match inst.op {
        Fadd | Fsub | Fmul | Fdiv | Fsqrt | Fma | Fdemote => inst.imm != Imm::Ftz(true),
        Fcmp => matches!(inst.imm, Imm::FloatCmp(_, false)),
        _ => false,
    })
}
