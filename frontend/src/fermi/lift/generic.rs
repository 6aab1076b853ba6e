//! Generic addresses: g[] with windows to shared and local memory (facts/fermi.md section 3).

use warpjit_ir::{IntCC, MemAccess, Scalar, Space, Value};

use super::emit::Emit;
use super::memory::part;
use crate::fermi::abi::{LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES};

/// Where the lanes access memory.
pub(super) struct Place {
    /// The full address.
    pub(super) address: Value,
    /// The offset in a window.
    pub(super) inside: Value,
    /// Lanes in the window to shared memory, in that to local memory, in none of them.
    pub(super) shared: Value,
    pub(super) local: Value,
    pub(super) global: Value,
}

/// Tells the lanes apart.
pub(super) fn place(e: &mut Emit<'_>, address: Value, offset: i32) -> Place {
    let wide = e.b.func.ty(address).scalar == Scalar::I64;
    let (address, low, in_reach) = if wide {
        let offset = e.b.i64(i64::from(offset) as u64);
        let address = e.b.iadd(address, offset);
        let (low, high) = e.words_of(address);
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
    Place { address, inside, shared, local, global }
}

/// `mask` under the guard.
pub(super) fn guarded(e: &mut Emit<'_>, mask: Value) -> Value {
    match e.guard {
        Some(guard) => e.b.iand(guard, mask),
        None => mask,
    }
}

impl Place {
    /// The lanes of `mask` whose offset in the window is one that memory behind it has.
    fn reachable(&self, e: &mut Emit<'_>, mask: Value) -> Value {
        let limit = e.b.i32(0x1_0000);
        let there = e.b.icmp(IntCC::Ult, self.inside, limit);
        e.b.iand(mask, there)
    }

    /// Loads word `n`.
    pub(super) fn load(&self, e: &mut Emit<'_>, mem: MemAccess, n: u8) -> Value {
        let guard = guarded(e, self.global);
        let mut value = e.b.load(part(mem, n), self.address, Some(guard));
        for (space, mask) in [(Space::Shared, self.shared), (Space::Local, self.local)] {
            let access = MemAccess { space, align: 1, ..mem };
            let there = e.b.load(part(access, n), self.inside, None);
            let reachable = self.reachable(e, mask);
            let none = e.b.i32(0);
            let there = e.b.select(reachable, there, none);
            value = e.b.select(mask, there, value);
        }
        value
    }

    /// Stores word `n` under the guard.
    pub(super) fn store(&self, e: &mut Emit<'_>, mem: MemAccess, n: u8, value: Value) {
        let guard = guarded(e, self.global);
        e.b.store(part(mem, n), self.address, value, Some(guard));
        for (space, mask) in [(Space::Shared, self.shared), (Space::Local, self.local)] {
            let access = MemAccess { space, align: 1, ..mem };
            let reachable = self.reachable(e, mask);
            let guard = guarded(e, reachable);
            e.b.store(part(access, n), self.inside, value, Some(guard));
        }
    }
}
