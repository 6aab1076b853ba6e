//! Folding rules for loads, stores, atomics and slot writes: drops guards that are constant or protect nothing, and computations
//! of address or value bits that are not used.

use super::{Act, Folder};
use crate::function::{Args, Imm, InstData};
use crate::opcodes::{MemAccess, Opcode, Space};

impl Folder<'_> {
    pub(super) fn memory(&mut self, data: &InstData) -> Option<Act> {
        let same = |args| Some(Act::Now(data.op, args, data.imm));
        // Guards that are constant.
        let values = match data.op {
            Opcode::DenyLoad | Opcode::DenyStore if self.c(data.args[1]) == Some(0) => {
                return Some(Act::Gone);
            }
            Opcode::Store
            | Opcode::DenyLoad
            | Opcode::DenyStore
            | Opcode::TranslateStore
            | Opcode::PermitStore => 2,
            Opcode::Atomic => data.atomic_operands(),
            _ => 1,
        };
        if let Some(&guard) = data.args.get(values)
            && let Some(holds) = self.c(guard)
        {
            return match (holds, data.op) {
                (0, Opcode::Load | Opcode::Atomic) => Some(Act::Const(0)),
                (0, op) if op.is_translation() => Some(Act::Const(0)),
                (0, _) => Some(Act::Gone),
                _ => same(Args::from_slice(&data.args[..values])),
            };
        }
        let Imm::Mem(mem) = data.imm else { return None };
        // Drop the guard of a load that cannot fault. Inactive lanes then load values that nothing uses.
        if data.op == Opcode::Load && data.args.len() > 1 && self.cannot_fault(data, mem) {
            return same(Args::from_slice(&data.args[..1]));
        }
        let stores = matches!(data.op, Opcode::Store | Opcode::TranslateStore | Opcode::PermitStore);
        if stores && mem.bytes < 4 {
            let demanded = (1u64 << (u32::from(mem.bytes) * 8)) - 1;
            if let Some(x) = self.demand(data.args[1], demanded) {
                let mut args = data.args.clone();
                args[1] = x;
                return same(args);
            }
        }
        // Addresses outside global memory wrap at 2^16, except far ones.
        if !matches!(mem.space, Space::Global(_))
            && !mem.far
            && let Some(x) = self.demand(data.args[0], 0xffff)
        {
            let mut args = data.args.clone();
            args[0] = x;
            return same(args);
        }
        None
    }

    /// Whether a load cannot fault: every address of its space can be read, and the alignment is proved.
    fn cannot_fault(&self, data: &InstData, mem: MemAccess) -> bool {
        if matches!(mem.space, Space::Global(_)) || !mem.align.is_power_of_two() {
            return false;
        }
        let low = u64::from(mem.align) - 1;
        let offset = u64::from((mem.offset as u32).wrapping_sub(u32::from(mem.align_offset)));
        let bits = self.bits(data.args[0]);
        (bits.zeros | bits.ones) & low == low && bits.ones.wrapping_add(offset) & low == 0
    }
}
