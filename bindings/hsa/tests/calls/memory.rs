//! Memory, copies, answers about agents and pools.

use crate::support::{Buffer, DEVICE, HOST, Signal, call, start, status};
use std::ffi::{CStr, c_char, c_void};
use warpjit_hsa::exports::*;
use warpjit_hsa::memory::Pool;
use warpjit_hsa::status::Status;

unsafe extern "C" fn collect(handle: u64, list: *mut c_void) -> Status {
    // SAFETY: the caller's list.
    unsafe { &mut *list.cast::<Vec<u64>>() }.push(handle);
    Status::SUCCESS
}

unsafe extern "C" fn first(handle: u64, list: *mut c_void) -> Status {
    // SAFETY: the caller's list.
    unsafe { &mut *list.cast::<Vec<u64>>() }.push(handle);
    Status::INFO_BREAK
}

#[test]
fn agents_and_pools() {
    start();
    let mut agents: Vec<u64> = Vec::new();
    call!(hsa_iterate_agents(Some(collect), (&raw mut agents).cast()));
    assert_eq!(agents, [HOST, DEVICE]);
    let broken = status!(hsa_iterate_agents(Some(first), (&raw mut agents).cast()));
    assert_eq!((broken, agents.len()), (Status::INFO_BREAK, 3));
    let mut name = [0_u8; 64];
    call!(hsa_agent_get_info(DEVICE, 0, name.as_mut_ptr().cast()));
    assert_eq!(CStr::from_bytes_until_nul(&name).unwrap(), c"gfx900");
    let mut isas: Vec<u64> = Vec::new();
    call!(hsa_agent_iterate_isas(DEVICE, Some(collect), (&raw mut isas).cast()));
    let mut length = 0_u32;
    call!(hsa_isa_get_info_alt(isas[0], 0, (&raw mut length).cast()));
    let mut text = vec![0_u8; length as usize];
    call!(hsa_isa_get_info_alt(isas[0], 1, text.as_mut_ptr().cast()));
    assert_eq!(CStr::from_bytes_with_nul(&text).unwrap(), c"amdgcn-amd-amdhsa--gfx900:xnack-");
    let mut pools: Vec<u64> = Vec::new();
    call!(hsa_amd_agent_iterate_memory_pools(HOST, Some(collect), (&raw mut pools).cast()));
    let flags: Vec<u32> = pools
        .iter()
        .map(|pool| {
            let mut flags = 0_u32;
            call!(hsa_amd_memory_pool_get_info(*pool, 1, (&raw mut flags).cast()));
            flags
        })
        .collect();
    assert_eq!(flags, [2, 3, 4]);
    let mut value = 0_u64;
    let place: *mut c_void = (&raw mut value).cast();
    assert_eq!(status!(hsa_agent_get_info(5, 0, place)), Status::INVALID_AGENT);
    assert_eq!(status!(hsa_agent_get_info(DEVICE, 0x7777, place)), Status::INVALID_ARGUMENT);
    assert_eq!(status!(hsa_agent_get_info(DEVICE, 0, std::ptr::null_mut())), Status::INVALID_ARGUMENT);
    assert_eq!(status!(hsa_amd_memory_pool_get_info(5, 0, place)), Status::INVALID_MEMORY_POOL);
    assert_eq!(status!(hsa_region_get_info(5, 0, place)), Status::INVALID_REGION);
    let mut text: *const c_char = std::ptr::null();
    assert_eq!(status!(hsa_status_string(Status(3), &raw mut text)), Status::INVALID_ARGUMENT);
    // The extension tables hold as many functions as fit.
    let mut table = [1_usize; 4];
    call!(hsa_system_get_major_extension_table(0x201, 1, 24, table.as_mut_ptr().cast()));
    assert!(table[..3].iter().all(|function| *function > 1) && table[3] == 1);
}

#[test]
fn copies() {
    let (from, to) = (Buffer::with(&[7; 1 << 20]), Buffer::new(Pool::HostFine, 1 << 20));
    let (wait, done) = (Signal::new(1), Signal::new(1));
    call!(hsa_amd_memory_async_copy(to.0.cast(), HOST, from.0.cast(), DEVICE, 1 << 20, 1, &wait.0, done.0));
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!((done.value(), to.get()[9]), (1, 0));
    hsa_signal_store_relaxed(wait.0, 0);
    done.wait();
    assert_eq!(to.get(), from.get());
    let mut times = [0; 2];
    call!(hsa_amd_profiling_get_async_copy_time(done.0, &raw mut times));
    assert!(times[1] >= times[0] && times[0] > 0);
    call!(hsa_amd_memory_fill(to.0.cast(), 0x0102_0304, 4));
    assert_eq!(to.words()[..5], [0x0102_0304, 0x0102_0304, 0x0102_0304, 0x0102_0304, 0x0707_0707]);
    let null = std::ptr::null_mut();
    let refused = |to, from, agent, done| {
        status!(hsa_amd_memory_async_copy(to, agent, from, DEVICE, 4, 0, std::ptr::null(), done))
    };
    let place: *mut c_void = to.0.cast();
    assert_eq!(refused(null, place, HOST, done.0), Status::INVALID_ARGUMENT);
    assert_eq!(refused(place, place, 5, done.0), Status::INVALID_AGENT);
    assert_eq!(refused(place, place, HOST, 5), Status::INVALID_SIGNAL);
    let wild = (1_usize << 60) as *mut c_void;
    assert_eq!(status!(hsa_memory_copy(place, wild, 4)), Status::INVALID_ARGUMENT);
}

/// `hsa_pitched_ptr_t`.
#[repr(C)]
struct Pitched(*mut u8, usize, usize);

#[test]
fn rectangles() {
    let source: Vec<u8> = (0..=255).collect();
    let (from, to) = (Buffer::with(&source), Buffer::new(Pool::Device, 256));
    let done = Signal::new(1);
    let (to_place, from_place) = (Pitched(to.0, 8, 64), Pitched(from.0, 16, 128));
    let (to_offset, from_offset, range) = ([1, 2, 0], [4, 1, 0], [3, 2, 2]);
    let copy = |range: &[u32; 3], done: u64| {
        status!(hsa_amd_memory_async_copy_rect(
            (&raw const to_place).cast(),
            &to_offset,
            (&raw const from_place).cast(),
            &from_offset,
            range,
            DEVICE,
            3,
            0,
            std::ptr::null(),
            done
        ))
    };
    assert_eq!(copy(&range, done.0), Status::SUCCESS);
    done.wait();
    let mut expected = vec![0; 256];
    for (layer, line, byte) in (0..12).map(|n| (n / 6, n / 3 % 2, n % 3)) {
        expected[layer * 64 + (line + 2) * 8 + byte + 1] = source[layer * 128 + (line + 1) * 16 + byte + 4];
    }
    assert_eq!(to.get(), expected);
    assert_eq!(copy(&[9, 2, 1], done.0), Status::INVALID_ARGUMENT);
}

/// `hsa_amd_pointer_info_t`.
#[repr(C)]
#[derive(Default)]
struct PointerInfo {
    size: u32,
    kind: u32,
    agent_base: u64,
    host_base: u64,
    bytes: usize,
    user_data: u64,
    owner: u64,
    flags: u32,
}

#[test]
fn pointers_and_locks() {
    let buffer = Buffer::new(Pool::Device, 100);
    let info = |address: u64| {
        let mut info = PointerInfo { size: size_of::<PointerInfo>() as u32, ..PointerInfo::default() };
        let place = std::ptr::with_exposed_provenance::<c_void>(address as usize);
        let null = (std::ptr::null_mut(), std::ptr::null_mut());
        call!(hsa_amd_pointer_info(place, (&raw mut info).cast(), None, null.0, null.1));
        info
    };
    let found = info(buffer.address() + 50);
    assert_eq!((found.kind, found.agent_base, found.bytes), (1, buffer.address(), 100));
    assert_eq!((found.owner, found.flags), (DEVICE, 4));
    let mut own = vec![3_u8; 20_000];
    let place: *mut c_void = own.as_mut_ptr().cast();
    let address = place.expose_provenance() as u64;
    assert_eq!(info(address).kind, 0);
    let mut seen = std::ptr::null_mut();
    let (agents, pool) = (std::ptr::null(), Pool::HostFine.handle());
    call!(hsa_amd_memory_lock_to_pool(place, own.len(), agents, 0, pool, 0, &raw mut seen));
    // The device's address is another number, and both are known.
    assert_ne!(seen, place);
    assert_eq!(info(seen.addr() as u64).host_base, address);
    assert_eq!((info(address + 9).kind, info(address + 9).owner), (2, HOST));
    call!(hsa_amd_memory_unlock(place));
    assert_eq!(status!(hsa_amd_memory_unlock(place)), Status::INVALID_ARGUMENT);
    assert_eq!(
        status!(hsa_amd_memory_pool_allocate(Pool::Device.handle(), 1 << 40, 0, &raw mut seen)),
        Status::OUT_OF_RESOURCES
    );
    assert_eq!(
        status!(hsa_amd_memory_pool_allocate(Pool::Group.handle(), 16, 0, &raw mut seen)),
        Status::INVALID_ALLOCATION
    );
}

/// What hsa_ext_amd.h says of memory and signals for other processes, which there are none of.
#[test]
fn other_processes() {
    let memory = Buffer::new(Pool::Device, 8192);
    let (place, null) = (memory.0.cast::<c_void>(), std::ptr::null_mut());
    let mut words = [0_u32; 8];
    let handle: *mut c_void = words.as_mut_ptr().cast();
    let create = |place, bytes, handle| status!(hsa_amd_ipc_memory_create(place, bytes, handle));
    assert_eq!(create(place, 8192, handle), Status::OUT_OF_RESOURCES);
    // Not the whole allocation, none at all, no handle.
    assert_eq!(create(place, 4096, handle), Status::INVALID_ARGUMENT);
    assert_eq!(create(place.wrapping_byte_add(4096), 4096, handle), Status::INVALID_ARGUMENT);
    assert_eq!(create(handle, 32, handle), Status::INVALID_ARGUMENT);
    assert_eq!(create(place, 8192, null), Status::INVALID_ARGUMENT);
    let mut found = null;
    let attached = status!(hsa_amd_ipc_memory_attach(handle, 8192, 0, std::ptr::null(), &raw mut found));
    assert_eq!((attached, found), (Status::INVALID_ARGUMENT, null));
    assert_eq!(status!(hsa_amd_ipc_memory_detach(place)), Status::INVALID_ARGUMENT);

    let (signal, mut other) = (Signal::new(1), 0);
    let made = status!(hsa_amd_signal_create(1, 0, std::ptr::null(), 2, &raw mut other));
    assert_eq!((made, other), (Status::OUT_OF_RESOURCES, 0));
    assert_eq!(
        status!(hsa_amd_signal_create(1, 0, std::ptr::null(), 4, &raw mut other)),
        Status::INVALID_ARGUMENT
    );
    for signal in [signal.0, 0] {
        assert_eq!(status!(hsa_amd_ipc_signal_create(signal, handle)), Status::INVALID_ARGUMENT);
    }
    assert_eq!(status!(hsa_amd_ipc_signal_attach(handle, &raw mut other)), Status::INVALID_ARGUMENT);
}

/// Memory of the program that nobody registered: the system says that the device cannot have it, and its attributes are an error.
#[test]
fn shared_virtual_memory() {
    start();
    for question in [0x201, 0x202] {
        let mut answer = true;
        call!(hsa_system_get_info(question, (&raw mut answer).cast()));
        assert!(!answer);
    }
    let mut own = vec![0_u8; 8192];
    let place: *mut c_void = own.as_mut_ptr().cast();
    let set = |bytes, attribute| {
        let mut pair = SvmAttribute { attribute, value: DEVICE };
        status!(hsa_amd_svm_attributes_set(place, bytes, &raw mut pair, 1))
    };
    let get = |bytes, attribute| {
        let mut pair = SvmAttribute { attribute, value: DEVICE };
        status!(hsa_amd_svm_attributes_get(place, bytes, &raw mut pair, 1))
    };
    for (attribute, can_be_set, can_be_asked) in [
        (0, true, true),
        (4, true, true),
        (5, false, true),
        (6, true, true),
        (7, false, false),
        (0x200, true, false),
        (0x202, true, false),
        (0x203, false, true),
        (0x204, false, false),
    ] {
        let wanted = |can: bool| if can { Status::ERROR } else { Status::INVALID_ARGUMENT };
        assert_eq!((set(8192, attribute), get(8192, attribute)), (wanted(can_be_set), wanted(can_be_asked)));
        assert_eq!(
            (set(0, attribute), get(0, attribute)),
            (Status::INVALID_ARGUMENT, Status::INVALID_ARGUMENT)
        );
    }
    // There is nothing to move; whoever waits for it goes on.
    let (before, done) = (Signal::new(1), Signal::new(1));
    call!(hsa_amd_svm_prefetch_async(place, 8192, DEVICE, 1, &before.0, done.0));
    std::thread::sleep(std::time::Duration::from_millis(5));
    assert_eq!(done.value(), 1);
    hsa_signal_store_relaxed(before.0, 0);
    done.wait();
    assert_eq!(
        status!(hsa_amd_svm_prefetch_async(place, 8192, 5, 0, std::ptr::null(), done.0)),
        Status::INVALID_AGENT
    );
}
