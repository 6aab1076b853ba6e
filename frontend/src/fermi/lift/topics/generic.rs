//! Lifts generic addresses: global memory with two windows through which shared and local memory are reached (docs/hardware/fermi.md
//! section 3).

use warpjit_ir::{IntCC, MemAccess, Scalar, Space, Value};

use super::memory::part;
use crate::fermi::abi::{LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES};
use crate::fermi::lift::emit::Emit;

/// Where the lanes access memory.
pub(in crate::fermi::lift) struct GenericAddress {
    /// The full address.
    pub(in crate::fermi::lift) address: Value,
    /// The offset in a window.
    pub(in crate::fermi::lift) inside: Value,
    /// Lanes whose address is in the window to shared memory; `local`: in the window to local memory; `global`: in neither.
    pub(in crate::fermi::lift) shared: Value,
    pub(in crate::fermi::lift) local: Value,
    pub(in crate::fermi::lift) global: Value,
}

/// Determines which window each lane's address is in.
pub(in crate::fermi::lift) fn resolve(e: &mut Emit<'_>, address: Value, offset: i32) -> GenericAddress {
    let wide = e.b.func.ty(address).scalar == Scalar::I64;
    let (address, low, in_reach) = if wide {
        let offset = e.b.i64(i64::from(offset) as u64);
        let address = e.b.iadd(address, offset);
        let (low, high) = (e.low(address), e.high(address));
        let none = e.b.i32(0);
        let below = e.b.icmp(IntCC::Eq, high, none);
        (address, low, Some(below))
    } else {
        let offset = e.b.i32(offset as u32);
        let address = e.b.iadd(address, offset);
        (address, address, None)
    };
    let window = e.and_const(low, !(WINDOW_BYTES - 1));
    let inside = e.and_const(low, WINDOW_BYTES - 1);
    let [shared, local] = [SHARED_WINDOW, LOCAL_WINDOW].map(|base| {
        let base = e.b.i32(base);
        let holds = e.b.icmp(IntCC::Eq, window, base);
        match in_reach {
            Some(below) => e.b.iand(below, holds),
            None => holds,
        }
    });
    let either = e.b.ior(shared, local);
    let global = e.b.inot(either);
    GenericAddress { address, inside, shared, local, global }
}

/// `mask` under the guard.
pub(in crate::fermi::lift) fn guarded(e: &mut Emit<'_>, mask: Value) -> Value {
    match e.guard {
        Some(guard) => e.b.iand(guard, mask),
        None => mask,
    }
}

impl GenericAddress {
    /// Where lanes access: the space, their address in it, and which lanes.
    pub(in crate::fermi::lift) fn cases(&self) -> [(Space, Value, Value); 3] {
        [
            (Space::Global(0), self.address, self.global),
            (Space::Shared, self.inside, self.shared),
            (Space::Local, self.inside, self.local),
        ]
    }

    /// Loads word `n`.
    pub(in crate::fermi::lift) fn load(&self, e: &mut Emit<'_>, mem: MemAccess, n: u8) -> Value {
        let mut value = None;
        for (space, address, mask) in self.cases() {
            let guard = guarded(e, mask);
            let there = e.b.load(part(within(mem, space), n), address, Some(guard));
            value = Some(match value {
                None => there,
                Some(value) => e.b.select(mask, there, value),
            });
        }
        value.unwrap_or_else(|| e.b.i32(0))
    }

    /// Stores word `n` under the guard.
    pub(in crate::fermi::lift) fn store(&self, e: &mut Emit<'_>, mem: MemAccess, n: u8, value: Value) {
        for (space, address, mask) in self.cases() {
            let guard = guarded(e, mask);
            e.b.store(part(within(mem, space), n), address, value, Some(guard));
        }
    }
}

/// The access `mem`, but to memory space `space`.
pub(in crate::fermi::lift) fn within(mem: MemAccess, space: Space) -> MemAccess {
    MemAccess { space, far: !matches!(space, Space::Global(_)), ..mem }
}
