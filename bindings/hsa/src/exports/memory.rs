//! Pools, regions, allocations, copies, locked memory.

use super::agents::visit;
use super::{Given, answer, exports, list, put};
use crate::copies::{self, Box3, Work};
use crate::host;
use crate::info::{self, Agent};
use crate::memory::{Pool, TAG};
use crate::signal::Signal;
use crate::status::{Result, Status};
use crate::system::system;
use std::ffi::c_void;
use std::ptr;

/// A function that is called for each handle.
type Visit = Option<unsafe extern "C" fn(u64, *mut c_void) -> Status>;

fn pool(handle: u64) -> Result<Pool> {
    Pool::find(handle).ok_or(Status::INVALID_MEMORY_POOL)
}

fn region(handle: u64) -> Result<Pool> {
    Pool::find(handle).ok_or(Status::INVALID_REGION)
}

/// Signals that something waits for.
///
/// # Safety
/// HSA's rules for the list.
unsafe fn signals(count: u32, start: *const u64) -> Result<Vec<Signal>> {
    // SAFETY: as the caller promises.
    let all = unsafe { list(start, count as usize) }?;
    all.iter().map(|signal| Signal::find(*signal)).collect()
}

/// Checks agents.
///
/// # Safety
/// HSA's rules for the list.
unsafe fn check_agents(count: u32, start: *const u64) -> Result<()> {
    let system = system()?;
    // SAFETY: as the caller promises.
    for agent in unsafe { list(start, count as usize) }? {
        Agent::find(system, *agent)?;
    }
    Ok(())
}

/// `hsa_pitched_ptr_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Pitched {
    base: u64,
    pitch: usize,
    slice: usize,
}

/// `hsa_amd_pointer_info_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PointerInfo {
    size: u32,
    kind: u32,
    agent_base: u64,
    host_base: u64,
    bytes: usize,
    user_data: u64,
    owner: u64,
    flags: u32,
}

/// `hsa_amd_svm_attribute_pair_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SvmAttribute {
    /// Its number.
    pub attribute: u64,
    /// An agent, a truth value or a number, as the attribute has it.
    pub value: u64,
}

/// Where a line of a copy begins.
fn start(pitched: &Pitched, offset: [u32; 3]) -> Result<u64> {
    let [x, y, z] = offset.map(u64::from);
    let lines = y.checked_mul(pitched.pitch as u64);
    let layers = z.checked_mul(pitched.slice as u64);
    let sum =
        lines.zip(layers).and_then(|(lines, layers)| pitched.base.checked_add(lines)?.checked_add(layers));
    sum.and_then(|sum| sum.checked_add(x)).ok_or(Status::INVALID_ARGUMENT)
}

exports! {
    fn hsa_amd_agent_iterate_memory_pools(agent: u64, function: Visit, data: *mut c_void) {
        let agent = Agent::find(system()?, agent)?;
        // SAFETY: HSA's rules for the function.
        unsafe { visit(agent.pools().iter().map(|pool| pool.handle()), function, data) }
    }

    fn hsa_amd_memory_pool_get_info(handle: u64, attribute: u32, value: *mut c_void) {
        let system = system()?;
        let bytes = info::pool(system, pool(handle)?, attribute)?;
        // SAFETY: the place has room for what was asked for.
        unsafe { answer(value, &bytes) }
    }

    fn hsa_amd_agent_memory_pool_get_info(agent: u64, handle: u64, attribute: u32, value: *mut c_void) {
        let agent = Agent::find(system()?, agent)?;
        let bytes = info::agent_pool(agent, pool(handle)?, attribute)?;
        // SAFETY: the place has room for what was asked for.
        unsafe { answer(value, &bytes) }
    }

    fn hsa_amd_memory_pool_allocate(handle: u64, bytes: usize, _flags: u32, address: *mut *mut c_void) {
        let system = system()?;
        let pool = pool(handle)?;
        if address.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let found = system.shared.allocate(pool, bytes as u64)?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(address, ptr::with_exposed_provenance_mut(found as usize)) }
    }

    fn hsa_amd_memory_pool_free(address: *mut c_void) {
        let system = system()?;
        if address.is_null() { Ok(()) } else { system.shared.free(address.addr() as u64) }
    }

    fn hsa_agent_iterate_regions(agent: u64, function: Visit, data: *mut c_void) {
        let agent = Agent::find(system()?, agent)?;
        // SAFETY: HSA's rules for the function.
        unsafe { visit(agent.pools().iter().map(|pool| pool.handle()), function, data) }
    }

    fn hsa_region_get_info(handle: u64, attribute: u32, value: *mut c_void) {
        let system = system()?;
        let bytes = info::region(system, region(handle)?, attribute)?;
        // SAFETY: the place has room for what was asked for.
        unsafe { answer(value, &bytes) }
    }

    fn hsa_memory_allocate(handle: u64, bytes: usize, address: *mut *mut c_void) {
        let system = system()?;
        let region = region(handle)?;
        if bytes == 0 || address.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let found = system.shared.allocate(region, bytes as u64)?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(address, ptr::with_exposed_provenance_mut(found as usize)) }
    }

    fn hsa_memory_free(address: *mut c_void) {
        let system = system()?;
        if address.is_null() { Ok(()) } else { system.shared.free(address.addr() as u64) }
    }

    fn hsa_memory_copy(to: *mut c_void, from: *const c_void, bytes: usize) {
        system()?;
        if to.is_null() || from.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        copies::copy_now(to.expose_provenance() as u64, from.expose_provenance() as u64, bytes as u64)
    }

    fn hsa_memory_assign_agent(address: *mut c_void, agent: u64, access: u32) {
        Agent::find(system()?, agent)?;
        if address.is_null() || !(1..=3).contains(&access) { Err(Status::INVALID_ARGUMENT) } else { Ok(()) }
    }

    fn hsa_memory_register(address: *mut c_void, bytes: usize) {
        // Only agents of the full profile could access it then.
        system()?;
        if address.is_null() && bytes != 0 { Err(Status::INVALID_ARGUMENT) } else { Ok(()) }
    }

    fn hsa_memory_deregister(_address: *mut c_void, _bytes: usize) {
        system().map(|_| ())
    }

    fn hsa_amd_memory_async_copy(
        to: *mut c_void,
        to_agent: u64,
        from: *const c_void,
        from_agent: u64,
        bytes: usize,
        count: u32,
        after: *const u64,
        done: u64,
    ) {
        let system = system()?;
        if to.is_null() || from.is_null() || (count > 0) == after.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        Agent::find(system, to_agent)?;
        Agent::find(system, from_agent)?;
        // SAFETY: HSA's rules for the list.
        let after = unsafe { signals(count, after) }?;
        let done = Signal::find(done)?;
        let (to, from) = (to.expose_provenance() as u64, from.expose_provenance() as u64);
        copies::submit(Work::Copy { to, from, bytes: bytes as u64 }, after, Some(done))
    }

    fn hsa_amd_memory_async_copy_rect(
        to: *const Pitched,
        to_offset: *const [u32; 3],
        from: *const Pitched,
        from_offset: *const [u32; 3],
        range: *const [u32; 3],
        agent: u64,
        direction: u32,
        count: u32,
        after: *const u64,
        done: u64,
    ) {
        let system = system()?;
        if Agent::find(system, agent)? == Agent::Host {
            return Err(Status::INVALID_AGENT);
        }
        // SAFETY: HSA's rules for what the pointers lead to; null is refused.
        let (to, to_offset, from, from_offset, range, after) = unsafe {
            (
                list(to, 1)?[0],
                list(to_offset, 1)?[0],
                list(from, 1)?[0],
                list(from_offset, 1)?[0],
                list(range, 1)?[0],
                signals(count, after)?,
            )
        };
        let [width, height, depth] = range.map(u64::from);
        // The device's engine has pitches of dwords.
        let pitched = |place: &Pitched, offset: [u32; 3]| {
            let lines = place.pitch as u64 >= width + u64::from(offset[0]) || height <= 1;
            let layers = depth <= 1 || place.slice as u64 >= place.pitch as u64 * height;
            place.base != 0 && lines && layers
        };
        if direction > 3 || !pitched(&to, to_offset) || !pitched(&from, from_offset) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let done = Signal::find(done)?;
        let lines = Box3 {
            to: start(&to, to_offset)?,
            from: start(&from, from_offset)?,
            size: [width, height, depth],
            to_pitch: [to.pitch as u64, to.slice as u64],
            from_pitch: [from.pitch as u64, from.slice as u64],
        };
        copies::submit(Work::Lines(lines), after, Some(done))
    }

    fn hsa_amd_memory_fill(address: *mut c_void, value: u32, count: usize) {
        system()?;
        if address.is_null() || count == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        host::fill(address.expose_provenance() as u64, value, count as u64)
    }

    fn hsa_amd_agents_allow_access(count: u32, agents: *const u64, flags: *const u32, address: *const c_void) {
        let system = system()?;
        if count == 0 || !flags.is_null() || address.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: HSA's rules for the list.
        unsafe { check_agents(count, agents) }?;
        // All may access what was allocated.
        system.shared.find(address.addr() as u64).map(|_| ()).ok_or(Status::INVALID_ARGUMENT)
    }

    fn hsa_amd_memory_pool_can_migrate(from: u64, to: u64, result: *mut bool) {
        system()?;
        pool(from)?;
        pool(to)?;
        // SAFETY: HSA's rules for the place.
        unsafe { put(result, false) }
    }

    fn hsa_amd_memory_migrate(_address: *const c_void, to: u64, _flags: u32) {
        system()?;
        pool(to)?;
        Err(Status::INVALID_ARGUMENT)
    }

    fn hsa_amd_memory_lock(address: *mut c_void, bytes: usize, agents: *const u64, count: i32, found: *mut *mut c_void) {
        // SAFETY: HSA's rules for the list and the places.
        unsafe { lock(address, bytes, agents, count, found) }
    }

    fn hsa_amd_memory_lock_to_pool(
        address: *mut c_void,
        bytes: usize,
        agents: *const u64,
        count: i32,
        handle: u64,
        flags: u32,
        found: *mut *mut c_void,
    ) {
        if !pool(handle)?.is_host() {
            return Err(Status::INVALID_MEMORY_POOL);
        }
        if flags != 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: HSA's rules for the list and the places.
        unsafe { lock(address, bytes, agents, count, found) }
    }

    fn hsa_amd_memory_unlock(address: *mut c_void) {
        system()?.shared.unlock(address.addr() as u64)
    }

    fn hsa_amd_pointer_info(
        address: *const c_void,
        info: *mut PointerInfo,
        allocate: Option<unsafe extern "C" fn(usize) -> *mut c_void>,
        count: *mut u32,
        accessible: *mut *mut u64,
    ) {
        let system = system()?;
        if info.is_null() || !info.is_aligned() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: HSA's rules for the structure: its first field says how much of it there is.
        let room = unsafe { (*info).size } as usize;
        let found = system.shared.find(address.addr() as u64);
        /// Types: unknown, allocated, locked.
        const ALLOCATED: u32 = 1;
        const LOCKED: u32 = 2;
        let all = match found {
            None => PointerInfo { size: 0, kind: 0, agent_base: 0, host_base: 0, bytes: 0, user_data: 0, owner: 0, flags: 0 },
            Some(found) => PointerInfo {
                size: 0,
                kind: if found.pool.is_some() { ALLOCATED } else { LOCKED },
                agent_base: found.start | if found.pool.is_none() { TAG } else { 0 },
                host_base: found.start,
                bytes: found.bytes as usize,
                user_data: found.user_data,
                owner: match found.pool {
                    Some(Pool::Device) => Agent::Device.handle(),
                    _ => Agent::Host.handle(),
                },
                flags: found.pool.unwrap_or(Pool::HostFine).flags(),
            },
        };
        let size = room.min(size_of::<PointerInfo>());
        let all = PointerInfo { size: size as u32, ..all };
        // SAFETY: the structure has `room` bytes.
        unsafe { ptr::copy_nonoverlapping((&raw const all).cast::<u8>(), info.cast::<u8>(), size) };
        let Some(allocate) = allocate.filter(|_| !count.is_null() && !accessible.is_null()) else { return Ok(()) };
        let agents: Vec<u64> = match found {
            Some(_) => Agent::all(system).into_iter().map(Agent::handle).collect(),
            None => Vec::new(),
        };
        // SAFETY: HSA's rule for the function: it gives room for so many bytes, or null.
        let list = unsafe { allocate(agents.len().max(1) * size_of::<u64>()) }.cast::<u64>();
        if list.is_null() {
            return Err(Status::OUT_OF_RESOURCES);
        }
        // SAFETY: as above; HSA's rules for the places.
        unsafe {
            ptr::copy_nonoverlapping(agents.as_ptr(), list, agents.len());
            put(count, agents.len() as u32)?;
            put(accessible, list)
        }
    }

    fn hsa_amd_pointer_info_set_userdata(address: *const c_void, data: *mut c_void) {
        let system = system()?;
        if address.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        system.shared.set_user_data(address.addr() as u64, data.expose_provenance() as u64)
    }

    fn hsa_amd_register_deallocation_callback(
        address: *mut c_void,
        callback: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
        data: *mut c_void,
    ) {
        let system = system()?;
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        let (place, data) = (Given(address), Given(data));
        // SAFETY: HSA's rule for the function: it may be called with these when the allocation goes.
        let call = Box::new(move || unsafe { callback(place.get(), data.get()) });
        system.shared.on_free(address.addr() as u64, callback as usize, call)
    }

    fn hsa_amd_deregister_deallocation_callback(
        address: *mut c_void,
        callback: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    ) {
        let system = system()?;
        let callback = callback.ok_or(Status::INVALID_ARGUMENT)?;
        system.shared.not_on_free(address.addr() as u64, callback as usize)
    }

    fn hsa_amd_coherency_get_type(agent: u64, kind: *mut u32) {
        if Agent::find(system()?, agent)? == Agent::Host {
            return Err(Status::INVALID_AGENT);
        }
        // Always coherent.
        // SAFETY: HSA's rules for the place.
        unsafe { put(kind, 0) }
    }

    fn hsa_amd_coherency_set_type(agent: u64, kind: u32) {
        if Agent::find(system()?, agent)? == Agent::Host {
            return Err(Status::INVALID_AGENT);
        }
        if kind > 1 { Err(Status::INVALID_ARGUMENT) } else { Ok(()) }
    }

    fn hsa_amd_interop_map_buffer(
        count: u32,
        agents: *const u64,
        _file: i32,
        flags: u32,
        bytes: *mut usize,
        address: *mut *mut c_void,
        _metadata_bytes: *mut usize,
        _metadata: *mut *const c_void,
    ) {
        system()?;
        // SAFETY: HSA's rules for the list.
        unsafe { check_agents(count, agents) }?;
        if flags != 0 || bytes.is_null() || address.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // There is no graphics driver whose buffers could be shared.
        Err(Status::INVALID_ARGUMENT)
    }

    fn hsa_amd_interop_unmap_buffer(address: *mut c_void) {
        system()?;
        if address.is_null() { Ok(()) } else { Err(Status::INVALID_ARGUMENT) }
    }

    fn hsa_amd_ipc_memory_create(address: *mut c_void, bytes: usize, handle: *mut c_void) {
        let system = system()?;
        let start = address.addr() as u64;
        let is_allocation = system.shared.find(start).is_some_and(|found| {
            found.pool.is_some() && found.start == start && found.bytes == bytes as u64
        });
        if handle.is_null() || !is_allocation {
            return Err(Status::INVALID_ARGUMENT);
        }
        // Memory of this process is no other's.
        Err(Status::OUT_OF_RESOURCES)
    }

    fn hsa_amd_ipc_memory_attach(
        _handle: *const c_void,
        _bytes: usize,
        _count: u32,
        _agents: *const u64,
        _address: *mut *mut c_void,
    ) {
        system()?;
        Err(Status::INVALID_ARGUMENT)
    }

    fn hsa_amd_ipc_memory_detach(_address: *mut c_void) {
        system()?;
        Err(Status::INVALID_ARGUMENT)
    }

    fn hsa_amd_svm_attributes_set(_address: *mut c_void, bytes: usize, list_start: *mut SvmAttribute, count: usize) {
        system()?;
        // SAFETY: HSA's rules for the list.
        let attributes = unsafe { list(list_start, count) }?;
        // Where memory is, and who may access it, can only be asked.
        let can_be_set = |number: u64| matches!(number, 0..=4 | 6 | 0x200..=0x202);
        if bytes == 0 || !attributes.iter().all(|pair| can_be_set(pair.attribute)) {
            return Err(Status::INVALID_ARGUMENT);
        }
        // The system has said that it has no SVM.
        Err(Status::ERROR)
    }

    fn hsa_amd_svm_attributes_get(_address: *mut c_void, bytes: usize, list_start: *mut SvmAttribute, count: usize) {
        system()?;
        // SAFETY: HSA's rules for the list.
        let attributes = unsafe { list(list_start, count) }?;
        let can_be_asked = |number: u64| matches!(number, 0..=6 | 0x203);
        if bytes == 0 || !attributes.iter().all(|pair| can_be_asked(pair.attribute)) {
            return Err(Status::INVALID_ARGUMENT);
        }
        Err(Status::ERROR)
    }

    fn hsa_amd_svm_prefetch_async(
        _address: *mut c_void,
        _bytes: usize,
        agent: u64,
        count: u32,
        after: *const u64,
        done: u64,
    ) {
        Agent::find(system()?, agent)?;
        // SAFETY: HSA's rules for the list.
        let after = unsafe { signals(count, after) }?;
        // All memory is where it is used.
        copies::submit(Work::Nothing, after, Signal::find_any(done)?)
    }
}

/// # Safety
/// HSA's rules for `hsa_amd_memory_lock`.
unsafe fn lock(
    address: *mut c_void,
    bytes: usize,
    agents: *const u64,
    count: i32,
    found: *mut *mut c_void,
) -> Result<()> {
    let system = system()?;
    if bytes == 0 || address.is_null() || found.is_null() || (count < 0) || (agents.is_null() != (count == 0))
    {
        return Err(Status::INVALID_ARGUMENT);
    }
    // SAFETY: as the caller promises.
    unsafe { check_agents(count as u32, agents) }?;
    let own = system.shared.lock(address.expose_provenance() as u64, bytes as u64)?;
    // SAFETY: as the caller promises.
    unsafe { put(found, std::ptr::with_exposed_provenance_mut(own as usize)) }
}
