//! Loads, stores and writes of slots: guards that are constant, bits of stored values and addresses that nobody needs, alignment that is known.

use super::{Act, Folder};
use crate::function::{Imm, InstData};
use crate::opcodes::{Opcode, Space};
use crate::passes::load_cannot_fault;

impl Folder<'_> {
    pub(super) fn memory(&mut self, data: &InstData) -> Option<Act> {
        let same = |args| Some(Act::Now(data.op, args, data.imm));
        // A guard that always holds, or never.
        let values = if data.op == Opcode::Store { 2 } else { 1 };
        if let Some(&guard) = data.args.get(values)
            && let Some(holds) = self.c(guard)
        {
            return match (holds, data.op) {
                (0, Opcode::Load) => Some(Act::Const(0)),
                (0, _) => Some(Act::Gone),
                _ => same(data.args[..values].to_vec()),
            };
        }
        let Imm::Mem(mem) = data.imm else { return None };
        // Without its guard the load reads what nobody asks for, and cannot fault.
        if data.op == Opcode::Load && data.args.len() > 1 && load_cannot_fault(self.func, data) {
            return same(data.args[..1].to_vec());
        }
        if data.op == Opcode::Store && mem.bytes < 4 {
            let demanded = (1u64 << (u32::from(mem.bytes) * 8)) - 1;
            if let Some(x) = self.demand(data.args[1], demanded) {
                let mut args = data.args.clone();
                args[1] = x;
                return same(args);
            }
        }
        // Addresses outside global memory are taken modulo 2^16.
        if !matches!(mem.space, Space::Global(_))
            && let Some(x) = self.demand(data.args[0], 0xffff)
        {
            let mut args = data.args.clone();
            args[0] = x;
            return same(args);
        }
        // Nothing to check where the address is a multiple for sure.
        let start = mem.offset as u32 as u64;
        let low = u64::from(mem.align).wrapping_sub(1);
        let offset = start.wrapping_sub(u64::from(mem.align_offset));
        if mem.align > 1 && mem.align.is_power_of_two() {
            let bits = self.bits(data.args[0]);
            let known = (bits.zeros | bits.ones) & low == low;
            if known && bits.ones.wrapping_add(offset) & low == 0 {
                let mut mem = mem;
                (mem.align, mem.align_offset) = (1, 0);
                return Some(Act::Now(data.op, data.args.clone(), Imm::Mem(mem)));
            }
        }
        None
    }
}
