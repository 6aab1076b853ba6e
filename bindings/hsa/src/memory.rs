//! Memory that program and device share: pools, regions, what was allocated in them, and memory of the program that is locked.

use crate::status::{Result, Status};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use warpjit_runtime::{Access, Error, Memory, MemoryOptions};

/// Unit of allocations.
pub(crate) const PAGE: u64 = 4096;

/// The highest bits of an address, which the device ignores.
pub(crate) const TAG_BITS: u32 = 8;
/// The device's addresses of locked memory have this bit, so that they are other numbers than the program's: HIP keeps a table of both, and
/// cannot have one number in it twice.
pub(crate) const TAG: u64 = 1 << 56;

/// Where the memory begins that the library hands out, if the process has nothing there: below the global data share and the places of code
/// objects ([`crate::executable`]), which are in it. So long as nothing is locked, compiled code needs no table for its accesses.
const START: u64 = 0xe_0000_0000;

/// The space of program and device.
pub(crate) fn space() -> std::result::Result<Memory, Error> {
    Memory::with(&MemoryOptions::new().identity_from(START).ignore_high_bits(TAG_BITS))
}

/// An address of the device as the program has it.
pub(crate) fn without_tag(address: u64) -> u64 {
    address & (TAG - 1)
}

/// A pool. Regions are the same, seen by functions without `amd` in their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pool {
    /// The host's memory, fine-grained.
    HostFine,
    /// The same, for arguments of kernels.
    HostKernarg,
    /// The host's memory, coarse-grained.
    HostCoarse,
    /// The device's memory, coarse-grained.
    Device,
    /// LDS.
    Group,
}

/// HSA_AMD_MEMORY_POOL_GLOBAL_FLAG.
pub(crate) mod flag {
    pub const KERNARG: u32 = 1;
    pub const FINE: u32 = 2;
    pub const COARSE: u32 = 4;
}

/// The pools of the host's agent and of the device.
pub(crate) const HOST_POOLS: [Pool; 3] = [Pool::HostFine, Pool::HostKernarg, Pool::HostCoarse];
pub(crate) const DEVICE_POOLS: [Pool; 2] = [Pool::Device, Pool::Group];

impl Pool {
    const ALL: [Pool; 5] = [Pool::HostFine, Pool::HostKernarg, Pool::HostCoarse, Pool::Device, Pool::Group];
    /// Handles begin here, so that they are not other handles.
    const FIRST: u64 = 0x5000;

    /// What programs call it by.
    pub fn handle(self) -> u64 {
        Pool::FIRST + self as u64
    }

    /// By handle.
    pub fn find(handle: u64) -> Option<Pool> {
        Pool::ALL.into_iter().find(|pool| pool.handle() == handle)
    }

    /// Whether it is of the host's agent.
    pub fn is_host(self) -> bool {
        HOST_POOLS.contains(&self)
    }

    /// HSA_AMD_MEMORY_POOL_GLOBAL_FLAG.
    pub fn flags(self) -> u32 {
        match self {
            Pool::HostFine => flag::FINE,
            Pool::HostKernarg => flag::FINE | flag::KERNARG,
            Pool::HostCoarse | Pool::Device => flag::COARSE,
            Pool::Group => 0,
        }
    }

    /// `hsa_region_segment_t` and `hsa_amd_segment_t`.
    pub fn segment(self) -> u32 {
        const GROUP: u32 = 3;
        if self == Pool::Group { GROUP } else { 0 }
    }
}

/// Called when an allocation goes: with its address and a number of whoever wants to know, and what is to be called.
pub(crate) type Callback = (usize, Box<dyn FnOnce() + Send>);

/// What was allocated.
pub(crate) struct Allocation {
    pub bytes: u64,
    /// As many as were asked for.
    pub pool: Pool,
    pub user_data: u64,
    pub callbacks: Vec<Callback>,
}

/// Memory of the program that the device may access.
#[derive(Debug, Clone)]
struct Lock {
    bytes: u64,
    user_data: u64,
    count: u32,
    /// The runs of pages that hold it.
    runs: Vec<u64>,
}

/// Pages that are mapped for locks.
#[derive(Debug, Clone, Copy)]
struct Run {
    bytes: u64,
    /// Locks that need it.
    locks: u32,
}

#[derive(Default)]
struct State {
    allocations: BTreeMap<u64, Allocation>,
    locks: BTreeMap<u64, Lock>,
    runs: BTreeMap<u64, Run>,
    /// Bytes of allocations in the device's memory.
    device_bytes: u64,
}

/// What an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub start: u64,
    pub bytes: u64,
    /// `None`: it is locked memory of the program.
    pub pool: Option<Pool>,
    pub user_data: u64,
}

/// All memory that was allocated or locked.
pub(crate) struct Shared {
    pub memory: Memory,
    /// Bytes of the device's memory.
    pub device_limit: u64,
    state: Mutex<State>,
}

impl Shared {
    /// Nothing is allocated.
    pub fn new(memory: Memory, device_limit: u64) -> Shared {
        Shared { memory, device_limit, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of the device's memory that are allocated.
    #[cfg(test)]
    pub fn device_bytes(&self) -> u64 {
        self.state().device_bytes
    }

    /// Allocates zeroed memory.
    pub fn allocate(&self, pool: Pool, bytes: u64) -> Result<u64> {
        if pool == Pool::Group {
            return Err(Status::INVALID_ALLOCATION);
        }
        if bytes == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let whole = bytes.checked_next_multiple_of(PAGE).ok_or(Status::INVALID_ALLOCATION)?;
        let mut state = self.state();
        if pool == Pool::Device && whole > self.device_limit.saturating_sub(state.device_bytes) {
            return Err(Status::OUT_OF_RESOURCES);
        }
        if whole > 4 * self.device_limit {
            return Err(Status::INVALID_ALLOCATION);
        }
        let address =
            self.memory.map(None, whole, Access::ReadWrite).map_err(|_| Status::OUT_OF_RESOURCES)?;
        if pool == Pool::Device {
            state.device_bytes += whole;
        }
        state.allocations.insert(address, Allocation { bytes, pool, user_data: 0, callbacks: Vec::new() });
        Ok(address)
    }

    /// Frees what begins at an address.
    pub fn free(&self, address: u64) -> Result<()> {
        let allocation = {
            let mut state = self.state();
            let allocation = state.allocations.remove(&address).ok_or(Status::INVALID_ALLOCATION)?;
            if allocation.pool == Pool::Device {
                state.device_bytes -= allocation.bytes.next_multiple_of(PAGE);
            }
            allocation
        };
        for (_, callback) in allocation.callbacks {
            callback();
        }
        self.memory.unmap(address).map_err(|_| Status::RESOURCE_FREE)
    }

    /// Adds a function that is called when an allocation goes. `kind`: its number.
    pub fn on_free(&self, address: u64, kind: usize, callback: Box<dyn FnOnce() + Send>) -> Result<()> {
        let mut state = self.state();
        let allocation = state.containing(address).ok_or(Status::INVALID_ARGUMENT)?;
        allocation.callbacks.push((kind, callback));
        Ok(())
    }

    /// Removes it.
    pub fn not_on_free(&self, address: u64, kind: usize) -> Result<()> {
        let mut state = self.state();
        let allocation = state.containing(address).ok_or(Status::INVALID_ARGUMENT)?;
        let at = allocation.callbacks.iter().position(|(other, _)| *other == kind);
        let at = at.ok_or(Status::INVALID_ARGUMENT)?;
        drop(allocation.callbacks.remove(at));
        Ok(())
    }

    /// Lets the device access memory of the program. Memory that was allocated here can be accessed already.
    ///
    /// Gives the address that the device has it at.
    pub fn lock(&self, address: u64, bytes: u64) -> Result<u64> {
        if address == 0 || bytes == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let end = address.checked_add(bytes).ok_or(Status::INVALID_ARGUMENT)?;
        let mut state = self.state();
        if state.allocation(address).is_some() {
            return Ok(address);
        }
        if let Some(lock) = state.locks.get_mut(&address).filter(|lock| lock.bytes >= bytes) {
            lock.count += 1;
            return Ok(address | TAG);
        }
        let (first, last) = (address / PAGE * PAGE, end.next_multiple_of(PAGE));
        let mut runs = Vec::new();
        let mut at = first;
        while at < last {
            // A run that holds the page, or the next one behind it.
            let holding = state.runs.range(..=at).next_back().map(|(start, run)| (*start, *run));
            if let Some((start, run)) = holding.filter(|(start, run)| at < start + run.bytes) {
                runs.push(start);
                at = start + run.bytes;
                continue;
            }
            let next = state.runs.range(at..).next().map_or(last, |(start, _)| *start).min(last);
            if crate::host::map(&self.memory, at, next - at).is_err() {
                state.release(&self.memory, &runs, false);
                return Err(Status::OUT_OF_RESOURCES);
            }
            state.runs.insert(at, Run { bytes: next - at, locks: 0 });
            runs.push(at);
            at = next;
        }
        for run in &runs {
            if let Some(run) = state.runs.get_mut(run) {
                run.locks += 1;
            }
        }
        let lock = Lock { bytes, user_data: 0, count: 1, runs };
        if let Some(before) = state.locks.insert(address, lock) {
            // A shorter one that began there: the longer one is unlocked as often.
            if let Some(lock) = state.locks.get_mut(&address) {
                lock.count += before.count;
            }
            state.release(&self.memory, &before.runs, true);
        }
        Ok(address | TAG)
    }

    /// Ends that.
    pub fn unlock(&self, address: u64) -> Result<()> {
        let mut state = self.state();
        if state.allocation(address).is_some() {
            return Ok(());
        }
        let lock = state.locks.get_mut(&address).ok_or(Status::INVALID_ARGUMENT)?;
        lock.count -= 1;
        if lock.count == 0 {
            let runs = std::mem::take(&mut lock.runs);
            state.locks.remove(&address);
            state.release(&self.memory, &runs, true);
        }
        Ok(())
    }

    /// What an address belongs to.
    pub fn find(&self, address: u64) -> Option<Found> {
        let address = without_tag(address);
        let state = self.state();
        if let Some((start, allocation)) = state.allocation(address) {
            let Allocation { bytes, pool, user_data, .. } = *allocation;
            return Some(Found { start, bytes, pool: Some(pool), user_data });
        }
        let (start, lock) = state.lock(address)?;
        Some(Found { start, bytes: lock.bytes, pool: None, user_data: lock.user_data })
    }

    /// Where what was allocated begins, and each run of locked memory.
    pub fn ranges(&self) -> HashSet<u64> {
        let state = self.state();
        state.allocations.keys().chain(state.runs.keys()).copied().collect()
    }

    /// Keeps a number with what an address belongs to.
    pub fn set_user_data(&self, address: u64, user_data: u64) -> Result<()> {
        let address = without_tag(address);
        let mut state = self.state();
        if let Some(allocation) = state.containing(address) {
            allocation.user_data = user_data;
            return Ok(());
        }
        let start = state.lock(address).map(|(start, _)| start).ok_or(Status::INVALID_ARGUMENT)?;
        if let Some(lock) = state.locks.get_mut(&start) {
            lock.user_data = user_data;
        }
        Ok(())
    }
}

impl State {
    fn allocation(&self, address: u64) -> Option<(u64, &Allocation)> {
        let (start, allocation) = self.allocations.range(..=address).next_back()?;
        (address - start < allocation.bytes).then_some((*start, allocation))
    }

    fn containing(&mut self, address: u64) -> Option<&mut Allocation> {
        let (start, allocation) = self.allocations.range_mut(..=address).next_back()?;
        (address - start < allocation.bytes).then_some(allocation)
    }

    fn lock(&self, address: u64) -> Option<(u64, &Lock)> {
        // Locks may lie over each other: the last that begins before counts, or any other that holds the address.
        let mut before = self.locks.range(..=address).rev();
        before.find(|(start, lock)| address - **start < lock.bytes).map(|(start, lock)| (*start, lock))
    }

    /// Takes locks back from runs; those that nobody needs are unmapped. `counted`: the lock was counted in them.
    fn release(&mut self, memory: &Memory, runs: &[u64], counted: bool) {
        for start in runs {
            let Some(run) = self.runs.get_mut(start) else { continue };
            run.locks -= u32::from(counted && run.locks > 0);
            if run.locks == 0 {
                self.runs.remove(start);
                // It was mapped; what cannot be unmapped stays with the device.
                let _ = memory.unmap(*start);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> Shared {
        Shared::new(space().unwrap(), 64 << 20)
    }

    #[test]
    fn allocations() {
        let shared = shared();
        let first = shared.allocate(Pool::Device, 100).unwrap();
        assert_eq!(shared.device_bytes(), PAGE);
        shared.memory.write(first, &[7; 100]).unwrap();
        let found = shared.find(first + 99).unwrap();
        assert_eq!((found.start, found.bytes, found.pool), (first, 100, Some(Pool::Device)));
        assert_eq!(shared.find(first + 100), None);
        shared.set_user_data(first + 1, 5).unwrap();
        assert_eq!(shared.find(first).unwrap().user_data, 5);
        assert_eq!(shared.allocate(Pool::Device, 65 << 20), Err(Status::OUT_OF_RESOURCES));
        assert_eq!(shared.allocate(Pool::Device, u64::MAX), Err(Status::INVALID_ALLOCATION));
        assert_eq!(shared.allocate(Pool::Group, 64), Err(Status::INVALID_ALLOCATION));
        assert_eq!(shared.free(first + 8), Err(Status::INVALID_ALLOCATION));
        shared.free(first).unwrap();
        assert_eq!(shared.free(first), Err(Status::INVALID_ALLOCATION));
        assert!(shared.memory.read(first, &mut [0]).is_err());
    }

    /// Locks that share pages: each page stays until the last lock of its run goes.
    #[test]
    fn locks() {
        let shared = shared();
        let pages = vec![1_u8; 8 * PAGE as usize];
        let base = (pages.as_ptr() as u64).next_multiple_of(PAGE);
        let can = |at: u64| shared.memory.read(at, &mut [0]).is_ok();
        shared.lock(base + 100, 50).unwrap();
        shared.lock(base + 200, 3 * PAGE).unwrap();
        assert!(can(base) && can(base + 3 * PAGE) && !can(base + 4 * PAGE));
        shared.lock(base + 100, 50).unwrap();
        shared.unlock(base + 100).unwrap();
        assert_eq!(shared.find(base + 120).unwrap().start, base + 100);
        shared.unlock(base + 100).unwrap();
        assert!(can(base), "the second lock needs the first page, too");
        assert_eq!(shared.unlock(base + 100), Err(Status::INVALID_ARGUMENT));
        shared.unlock(base + 200).unwrap();
        assert!(!can(base) && !can(base + PAGE));
        assert_eq!(shared.lock(0, 5), Err(Status::INVALID_ARGUMENT));
        assert_eq!(shared.lock(base, u64::MAX), Err(Status::INVALID_ARGUMENT));
    }
}
