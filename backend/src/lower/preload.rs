//! Loads that give every chunk the same, done once for all chunks.
//!
//! Launch parameters lie in shared memory or in const banks, at constant addresses. Where a region stores nothing
//! there, they are loaded before the first chunk, of shared memory with one test of bounds for all. Memory within the
//! bounds is there, so it does not matter whether a chunk comes to the load. In code for rows of blocks, so are slots
//! that hold the same in all warps.

use warpjit_ir::{Imm, InstData, MemAccess, Opcode, Space, Value};

use super::Lower;
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
    /// Emits the loads before the first chunk, in code for rows before the first warp.
    pub(super) fn preload(&mut self) {
        if self.of_row.is_none() && self.f.lanes as usize <= self.lanes() {
            return;
        }
        let mut shared: Vec<Load> = Vec::new();
        let mut writes_shared = false;
        let mut others = Vec::new();
        let f = self.f;
        let insts = self.blocks.order.blocks.iter().flat_map(|&block| &f.block(block).insts);
        for data in insts.map(|&inst| f.inst(inst)) {
            match (data.op, data.imm) {
                (Opcode::Load, Imm::Mem(mem)) if mem.space == Space::Shared => {
                    shared.extend(self.constant_load(data, mem));
                }
                (Opcode::Store, Imm::Mem(mem)) | (_, Imm::Atomic(mem, _)) if mem.space == Space::Shared => {
                    writes_shared = true;
                }
                (Opcode::Load, Imm::Mem(MemAccess { space: Space::Const(_), .. })) | (Opcode::SlotGet, _) => {
                    others.push(data)
                }
                _ => {}
            }
        }
        if !writes_shared {
            self.preload_shared(shared);
        }
        for data in others {
            if self.preloaded.len() >= MOST {
                break;
            }
            let loaded = match (data.imm, data.result) {
                (Imm::Mem(mem), _) => self.preload_const(data, mem),
                (Imm::Slot(slot), Some(r)) => self.same_slot(r, slot.index()).map(|v| (r, v)),
                _ => None,
            };
            self.preloaded.extend(loaded);
        }
    }

    /// A load from a const bank: they all have their 64 KiB.
    fn preload_const(&mut self, data: &InstData, mem: MemAccess) -> Option<(Value, V)> {
        let load = self.constant_load(data, mem).filter(|load| load.end() <= 0x1_0000)?;
        let base = self.base(mem.space);
        Some((load.result, self.load_at(base, &load)))
    }

    fn preload_shared(&mut self, mut loads: Vec<Load>) {
        let Some(first) = loads.iter().map(|load| load.place).min() else { return };
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
        let values: Vec<V> = loads.iter().map(|load| self.load_at(base, load)).collect();
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
            let loaded = self.load_at(base, load);
            self.e.jump(next, &[loaded]);
            self.e.switch_to(next);
            values.push(value);
        }
        self.e.jump(merged, &values);
        self.e.switch_to(merged);
        self.preloaded.extend(loads.iter().map(|load| load.result).zip(params));
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

    fn load_at(&mut self, base: V, load: &Load) -> V {
        match load.mem.bytes {
            4 | 8 => self.e.load(load.ty(), base, load.place as i32),
            n => self.e.load_narrow(n, load.mem.signed, base, load.place as i32, false),
        }
    }
}
