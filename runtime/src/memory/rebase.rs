//! Takes the addresses of accesses relative to the range that a space of the host's own addresses hands out.
//!
//! There the guest's address is the host's, and nothing of the process but the space's memory may be reached. Code finds the range at
//! [`warpjit_backend::Context::global_base`], with guards around it, as it finds the window of other spaces: an address minus the range's
//! start is tested as any 64-bit address is. So what is outside of the range is beyond the address space, and faults. The start differs
//! from space to space, so code reads it from a const bank that no guest names ([`BANK`]).

use super::window_access::{BANK, WINDOWS, WindowWords};
use warpjit_ir::entities::{Block, Inst, Value};
use warpjit_ir::function::{Function, Imm};
use warpjit_ir::opcodes::{MemAccess, Opcode, Space};
use warpjit_ir::passes::permit::{global_access, knows_accesses};
use warpjit_ir::passes::translate::adds_offset_first;
use warpjit_ir::types::{Scalar, Type};

/// Where the start is in the const bank, after the descriptions of windows.
const START_OFFSET: usize = WINDOWS * WindowWords::BYTES;
/// What there is of the const bank: accesses are at [`START_OFFSET`] alone.
pub(super) const BANK_BYTES: usize = START_OFFSET + 64;

/// The const bank of a space whose range begins there.
pub(super) fn bank_of(start: u64) -> Box<[u8; BANK_BYTES]> {
    let mut bytes = Box::new([0; BANK_BYTES]);
    bytes[START_OFFSET..START_OFFSET + 8].copy_from_slice(&start.to_le_bytes());
    bytes
}

/// Rewrites all accesses of a function; `false`, with the function as it was, if it has some of another kind: then the interpreter runs it.
/// `ignored`: so many of the highest bits of 64-bit addresses repeat the bit below them, whatever the guest has there.
pub fn run(func: &mut Function, ignored: u32) -> bool {
    if !knows_accesses(func) {
        return false;
    }
    for block in func.block_ids() {
        let mut start = None;
        for inst in std::mem::take(&mut func.block_mut(block).insts) {
            if let Some(mem) = global_access(func, inst) {
                let pc = func.inst(inst).pc;
                let mut at = At { func, block, pc };
                let start = *start.get_or_insert_with(|| at.start());
                at.rebase(inst, mem, start, ignored);
            }
            func.block_mut(block).insts.push(inst);
        }
    }
    true
}

/// Where operations are appended.
struct At<'a> {
    func: &'a mut Function,
    block: Block,
    pc: u32,
}

impl At<'_> {
    fn make(&mut self, op: Opcode, args: &[Value], imm: Imm, ty: Type) -> Value {
        let inst = self.func.make_inst(op, args, imm, Some(ty), self.pc);
        self.func.block_mut(self.block).insts.push(inst);
        Value::new(self.func.values.len() - 1)
    }

    /// Loads where the range begins.
    fn start(&mut self) -> Value {
        let zero = self.make(Opcode::Const, &[], Imm::Bits(0), Type { scalar: Scalar::I32, uniform: true });
        let mem = MemAccess {
            space: Space::Const(BANK),
            bytes: 8,
            signed: false,
            offset: START_OFFSET as i32,
            far: false,
            align: 1,
            align_offset: 0,
        };
        self.make(Opcode::Load, &[zero], Imm::Mem(mem), Type { scalar: Scalar::I64, uniform: true })
    }

    /// Makes the address of an access relative.
    fn rebase(&mut self, inst: Inst, mut mem: MemAccess, start: Value, ignored: u32) {
        let mut address = self.func.inst(inst).args[0];
        let ty = self.func.ty(address);
        let wide = Type { scalar: Scalar::I64, uniform: ty.uniform };
        if ty.scalar == Scalar::I32 {
            // The sum has 32 bits, as the guest's address has.
            let number = Type { scalar: Scalar::I32, uniform: true };
            let offset = self.make(Opcode::Const, &[], Imm::Bits((mem.offset as u32).into()), number);
            let sum = self.make(Opcode::Iadd, &[address, offset], Imm::None, ty);
            address = self.make(Opcode::Zext, &[sum], Imm::None, wide);
            mem.offset = 0;
        } else if ignored > 0 && !matches!(self.func.inst(inst).op, Opcode::Atomic) {
            // A fault is named without those bits. (Atomics elsewhere are the runtime's, which takes the guest's address.)
            let number = Type { scalar: Scalar::I64, uniform: true };
            if adds_offset_first(ignored, mem.offset) {
                let offset = self.make(Opcode::Const, &[], Imm::Bits(i64::from(mem.offset) as u64), number);
                address = self.make(Opcode::Iadd, &[address, offset], Imm::None, wide);
                mem.offset = 0;
            }
            let by = self.make(Opcode::Const, &[], Imm::Bits(ignored.into()), number);
            let up = self.make(Opcode::Ishl, &[address, by], Imm::None, wide);
            address = self.make(Opcode::Sshr, &[up, by], Imm::None, wide);
        }
        let place = self.make(Opcode::Isub, &[address, start], Imm::None, wide);
        let data = self.func.inst_mut(inst);
        data.args[0] = place;
        match &mut data.imm {
            Imm::Mem(own) | Imm::Atomic(own, _) => *own = mem,
            _ => {}
        }
    }
}
