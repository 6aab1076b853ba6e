//! Finds the alignment test that an access needs: none if the chip does not require alignment, or if known zero bits of the
//! address prove it.

use warpjit_ir::{Function, Imm, InstData, MemAccess, Opcode, Value};

use crate::error::Error;
use crate::operands::arg;

/// How many operands deep zero bits are searched for.
const DEPTH: u32 = 8;

/// The test that `address + place` is a multiple of `align`, in the lanes of a guard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AlignmentTest {
    address: Value,
    guard: Option<Value>,
    /// The offset that is added to the address, less than `align`.
    pub place: u32,
    align: u8,
}

impl AlignmentTest {
    /// The test that an access needs, if any.
    pub fn of(
        f: &Function,
        data: &InstData,
        mem: MemAccess,
        guard: Option<Value>,
    ) -> Result<Option<AlignmentTest>, Error> {
        if mem.align <= 1 {
            return Ok(None);
        }
        let address = arg(data, 0)?;
        let low = u32::from(mem.align - 1);
        let place = (mem.offset as u32).wrapping_sub(u32::from(mem.align_offset)) & low;
        let known = place == 0 && zero_bits(f, address, DEPTH) >= mem.align.trailing_zeros();
        Ok((!known).then_some(AlignmentTest { address, guard, place, align: mem.align }))
    }

    /// The address bits that must be zero.
    pub fn low(&self) -> u32 {
        u32::from(self.align - 1)
    }
}

/// How many low bits of a value are zero in every lane.
fn zero_bits(f: &Function, v: Value, depth: u32) -> u32 {
    let Some(data) = f.def_inst(v) else { return 0 };
    if depth == 0 {
        return 0;
    }
    let arg = |k: usize| zero_bits(f, data.args[k], depth - 1);
    match (data.op, data.imm) {
        (Opcode::Const, Imm::Bits(bits)) => bits.trailing_zeros(),
        (Opcode::Iadd | Opcode::Isub | Opcode::Ior, _) => arg(0).min(arg(1)),
        (Opcode::Iand, _) => arg(0).max(arg(1)),
        (Opcode::Imul, _) => arg(0) + arg(1),
        (Opcode::Ishl, _) => match f.as_const(data.args[1]) {
            Some(c) => arg(0) + (c as u32 & (f.ty(v).scalar.bits() - 1)),
            None => arg(0),
        },
        (Opcode::Splat, _) => arg(0),
        _ => 0,
    }
}
