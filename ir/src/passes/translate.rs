//! Translates the guest addresses of loads and stores, for launches whose memory is not in one piece.
//!
//! Normally compiled code finds guest memory at a fixed distance from the guest address, because all of it lies in the window
//! that the host has reserved. If a launch also has memory elsewhere, this pass puts a [`Opcode::TranslateLoad`] or
//! [`Opcode::TranslateStore`] in front of each access at a 64-bit address. Such a translation
//! - leaves an address inside the window unchanged;
//! - adds a constant to an address in the upper window, a second reservation for the addresses from `0xffff800000000000` on;
//! - asks the runtime for any other address; a lane whose address is not mapped faults there.
//!
//! Atomics are not translated: the runtime executes those outside the window and takes guest addresses.

use crate::entities::{Inst, Value};
use crate::function::{Function, Imm};
use crate::opcodes::{MemAccess, Opcode, Space};
use crate::types::{Scalar, Type};

/// Runs the pass; returns whether anything was translated.
pub fn run(func: &mut Function) -> bool {
    let mut changed = false;
    for block in func.block_ids() {
        let insts = std::mem::take(&mut func.block_mut(block).insts);
        let mut list = Vec::with_capacity(insts.len());
        for inst in insts {
            if let Some((translation, place)) = translation_of(func, inst) {
                let data = func.inst_mut(inst);
                data.args[0] = place;
                if let Imm::Mem(mem) = &mut data.imm {
                    mem.offset = 0;
                }
                list.push(translation);
                changed = true;
            }
            list.push(inst);
        }
        func.block_mut(block).insts = list;
    }
    changed
}

/// The translation of an access, with its result; `None` where the access needs none.
fn translation_of(func: &mut Function, inst: Inst) -> Option<(Inst, Value)> {
    let data = func.inst(inst).clone();
    let op = match data.op {
        Opcode::Load => Opcode::TranslateLoad,
        Opcode::Store => Opcode::TranslateStore,
        _ => return None,
    };
    let Imm::Mem(mem @ MemAccess { space: Space::Global(_), .. }) = data.imm else { return None };
    let address = func.ty(*data.args.first()?);
    if address.scalar != Scalar::I64 {
        return None;
    }
    let ty = Type { scalar: Scalar::I64, uniform: address.uniform };
    let translation = func.make_inst(op, &data.args, Imm::Mem(mem), Some(ty), data.pc);
    Some((translation, func.inst(translation).result?))
}
