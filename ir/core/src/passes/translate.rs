//! Translates the guest addresses of loads and stores, for launches whose memory is not in one piece.
//!
//! Normally compiled code finds guest memory at a fixed distance from the guest address, because all of it lies in the window
//! that the host has reserved. If a launch also has memory elsewhere, this pass puts a [`Opcode::TranslateLoad`] or
//! [`Opcode::TranslateStore`] in front of each access at a 64-bit address. Such a translation
//! - leaves an address inside the window unchanged;
//! - adds a constant to an address in the upper window, a second reservation for the addresses from `0xffff800000000000` on;
//! - asks the runtime for any other address; a lane whose address is not mapped faults there.
//!
//! In a *careful* launch, accesses at 32-bit addresses are translated too ([`Translation::narrow`]): the code looks each page up, and the
//! runtime answers for pages that it does not find in the table. The translation of a load is uniform there only if the loaded value is:
//! then the warp loads once. If a device ignores the highest bits of an address, they are
//! replaced first ([`Translation::ignored`]).
//!
//! Atomics are not translated: the runtime executes those outside the window and takes guest addresses.

use crate::entities::{Inst, Value};
use crate::function::{Function, Imm};
use crate::opcodes::{MemAccess, Opcode, Space};
use crate::types::{Scalar, Type};

/// What is translated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Translation {
    /// Also accesses at 32-bit addresses.
    pub narrow: bool,
    /// Bits at the top of a 64-bit address that repeat the bit below them, whatever the guest has there.
    pub ignored: u32,
}

/// Translates 64-bit addresses; returns whether anything was translated.
pub fn run(func: &mut Function) -> bool {
    run_with(func, Translation::default())
}

/// Runs the pass; returns whether anything was translated.
pub fn run_with(func: &mut Function, how: Translation) -> bool {
    let mut changed = false;
    for block in func.block_ids() {
        let insts = std::mem::take(&mut func.block_mut(block).insts);
        let mut list = Vec::with_capacity(insts.len());
        for inst in insts {
            if let Some((translation, place)) = translation_of(func, inst, how, &mut list) {
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

/// The translation of an access, with its result; `None` where the access needs none. Appends what it needs to `before`.
/// Whether an access's offset has to be added before the bits that the device ignores are replaced. It need not if few are ignored: then a
/// sum that has other such bits than the address is where no memory can be, and accesses at offsets from one address stay such.
pub fn adds_offset_first(ignored: u32, offset: i32) -> bool {
    /// What is left are the addresses of user space, or the bits above 48.
    const FEW: u32 = 16;
    ignored > FEW || offset < 0
}

fn translation_of(
    func: &mut Function,
    inst: Inst,
    how: Translation,
    before: &mut Vec<Inst>,
) -> Option<(Inst, Value)> {
    let data = func.inst(inst).clone();
    let op = match data.op {
        Opcode::Load => Opcode::TranslateLoad,
        Opcode::Store => Opcode::TranslateStore,
        _ => return None,
    };
    let Imm::Mem(mut mem @ MemAccess { space: Space::Global(_), .. }) = data.imm else { return None };
    let mut args = data.args.clone();
    let address = func.ty(*args.first()?);
    let wide = Type { scalar: Scalar::I64, uniform: address.uniform };
    let mut make = |func: &mut Function, op: Opcode, args: &[Value], imm: Imm, ty: Type| {
        let made = func.make_inst(op, args, imm, Some(ty), data.pc);
        before.push(made);
        func.inst(made).result
    };
    match address.scalar {
        Scalar::I64 if how.ignored > 0 => {
            let number = Type { scalar: Scalar::I64, uniform: true };
            if adds_offset_first(how.ignored, mem.offset) {
                let offset = make(func, Opcode::Const, &[], Imm::Bits(i64::from(mem.offset) as u64), number)?;
                args[0] = make(func, Opcode::Iadd, &[args[0], offset], Imm::None, wide)?;
                mem.offset = 0;
            }
            let by = make(func, Opcode::Const, &[], Imm::Bits(how.ignored.into()), number)?;
            let up = make(func, Opcode::Ishl, &[args[0], by], Imm::None, wide)?;
            args[0] = make(func, Opcode::Sshr, &[up, by], Imm::None, wide)?;
        }
        Scalar::I64 => {}
        Scalar::I32 if how.narrow => {
            // The sum has 32 bits, as the guest's address has.
            let number = Type { scalar: Scalar::I32, uniform: true };
            let offset = make(func, Opcode::Const, &[], Imm::Bits((mem.offset as u32).into()), number)?;
            let sum = make(func, Opcode::Iadd, &[args[0], offset], Imm::None, address)?;
            args[0] = make(func, Opcode::Zext, &[sum], Imm::None, wide)?;
            mem.offset = 0;
        }
        _ => return None,
    }
    // What a careful launch loads for several lanes at one address may differ, unless the warp loads once.
    let is_once = !how.narrow || data.result.is_none_or(|loaded| func.ty(loaded).uniform);
    let wide = Type { uniform: wide.uniform && is_once, ..wide };
    let translation = func.make_inst(op, &args, Imm::Mem(mem), Some(wide), data.pc);
    Some((translation, func.inst(translation).result?))
}
