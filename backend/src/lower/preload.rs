//! Loads that give every chunk the same, done once for all chunks.
//!
//! Launch parameters lie in shared memory at constant addresses. Where a region stores nothing there, they are loaded before
//! the first chunk, with one test of bounds for all. Memory within the bounds is there, so it does not matter whether a
//! chunk comes to the load.

use warpjit_ir::{Imm, InstData, MemAccess, Opcode, Space, Value};

use super::Lower;
use crate::Error;
use crate::affine::Form;
use crate::clif::{HostIntCC, HostType, I32, I64, V};
use crate::context::at;

/// Most values that are kept over the chunks; they compete for registers.
const MOST: usize = 12;

/// Addresses further apart than this are not tested together.
const REACH: u64 = 256;

/// A load from a constant address.
struct Load {
    result: Value,
    mem: MemAccess,
    place: u64,
}

impl Load {
    fn ty(&self) -> HostType {
        if self.mem.bytes == 8 { I64 } else { I32 }
    }

    fn end(&self) -> u64 {
        self.place + u64::from(self.mem.bytes)
    }
}

impl Lower<'_, '_> {
    /// Emits the loads before the first chunk.
    pub(super) fn preload(&mut self) -> Result<(), Error> {
        if self.f.lanes as usize <= self.lanes() {
            return Ok(());
        }
        let mut loads = Vec::new();
        for &block in &self.blocks.order.blocks {
            for &inst in &self.f.block(block).insts {
                let data = self.f.inst(inst);
                match (data.op, data.imm) {
                    (Opcode::Store, Imm::Mem(mem)) | (_, Imm::Atomic(mem, _))
                        if mem.space == Space::Shared =>
                    {
                        return Ok(());
                    }
                    (Opcode::Load, Imm::Mem(mem)) if mem.space == Space::Shared => {
                        loads.extend(self.constant_load(data, mem));
                    }
                    _ => {}
                }
            }
        }
        let Some(first) = loads.iter().map(|load| load.place).min() else { return Ok(()) };
        loads.retain(|load| load.end() <= first + REACH);
        loads.truncate(MOST);
        let end = loads.iter().map(Load::end).max().unwrap_or(first);

        let base = self.e.load(I64, self.context, at::SHARED_BASE);
        let size = self.e.load(I32, self.context, at::SHARED_BYTES);
        let last = self.e.imm(I32, end);
        let inside = self.e.icmp(HostIntCC::UnsignedLessThanOrEqual, last, size);
        let (quick, slow, merged) = (self.e.block(), self.e.cold_block(), self.e.block());
        let params: Vec<V> = loads.iter().map(|load| self.e.param(merged, load.ty())).collect();
        self.e.brif(inside, (quick, &[]), (slow, &[]));
        self.e.switch_to(quick);
        let values: Vec<V> = loads.iter().map(|load| self.load_shared(base, load)).collect();
        self.e.jump(merged, &values);
        self.e.switch_to(slow);
        let mut values = Vec::new();
        for load in &loads {
            let (there, next) = (self.e.block(), self.e.block());
            let value = self.e.param(next, load.ty());
            let last = self.e.imm(I32, load.end());
            let inside = self.e.icmp(HostIntCC::UnsignedLessThanOrEqual, last, size);
            let zero = self.e.imm(load.ty(), 0);
            self.e.brif(inside, (there, &[]), (next, &[zero]));
            self.e.switch_to(there);
            let loaded = self.load_shared(base, load);
            self.e.jump(next, &[loaded]);
            self.e.switch_to(next);
            values.push(value);
        }
        self.e.jump(merged, &values);
        self.e.switch_to(merged);
        self.preloaded.extend(loads.iter().map(|load| load.result).zip(params));
        Ok(())
    }

    /// A load that can be done before the first chunk.
    fn constant_load(&self, data: &InstData, mem: MemAccess) -> Option<Load> {
        let (&address, result) = (data.args.first()?, data.result?);
        let place = (self.f.as_const(address)? as u32).wrapping_add(mem.offset as u32) & 0xffff;
        let aligned = mem.align <= 1
            || place.wrapping_sub(u32::from(mem.align_offset)) & (u32::from(mem.align) - 1) == 0;
        let known = matches!(mem.bytes, 1 | 2 | 4 | 8) && aligned && self.forms.of(result) == Form::Uniform;
        known.then_some(Load { result, mem, place: u64::from(place) })
    }

    fn load_shared(&mut self, base: V, load: &Load) -> V {
        match load.mem.bytes {
            4 | 8 => self.e.load(load.ty(), base, load.place as i32),
            n => self.e.load_narrow(n, load.mem.signed, base, load.place as i32, false),
        }
    }
}
