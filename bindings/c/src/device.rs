//! Devices, pagers and write watches: callbacks at accesses of guests.

use std::ffi::c_void;
use std::sync::Arc;

use warpjit_runtime::{Device, Memory, PageFault, Pager, WriteWatch};

use crate::callback::{User, warpjit_drop};
use crate::memory::{Space, wanted_address, warpjit_memory};
use crate::pointers::put_if;
use crate::status::{Failure, warpjit_status};
use crate::{entry, handle};

/// An update of a word that a device executes: gives the new value for the old one. It may be called any number of times until the
/// callback returns.
pub type warpjit_apply = Option<unsafe extern "C-unwind" fn(context: *mut c_void, old: u64) -> u64>;

/// A device in guest memory. Its functions are called by any thread that makes an access, by several at the same time, in any tier. A
/// lane's access is one call; lanes of a warp come in the order of their numbers. A scalar load or store of GCN is one call for the wave.
/// Wide accesses come as words of 4 or 8 bytes.
///
/// Another result than WARPJIT_OK ends the launch: the call that runs it returns WARPJIT_ERROR_CALLBACK.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct warpjit_device {
    /// Loads `bytes` (1, 2, 4 or 8) at an offset in the device. Bits of `*value` beyond so many bytes are ignored.
    pub load: Option<
        unsafe extern "C-unwind" fn(
            user: *mut c_void,
            offset: u64,
            bytes: u32,
            value: *mut u64,
        ) -> warpjit_status,
    >,
    /// Stores the low `bytes` of a value.
    pub store: Option<
        unsafe extern "C-unwind" fn(user: *mut c_void, offset: u64, bytes: u32, value: u64) -> warpjit_status,
    >,
    /// Executes an atomic on an aligned word of 4 or 8 bytes: replaces it by `apply(context, word)`, and gives what it was. NULL: a load
    /// and a store.
    pub update: Option<
        unsafe extern "C-unwind" fn(
            user: *mut c_void,
            offset: u64,
            bytes: u32,
            apply: warpjit_apply,
            context: *mut c_void,
            old: *mut u64,
        ) -> warpjit_status,
    >,
    /// Called when the device is unmapped and nothing uses it any more. May be NULL.
    pub drop: warpjit_drop,
    /// Passed to the functions.
    pub user: *mut c_void,
}

type Load = unsafe extern "C-unwind" fn(*mut c_void, u64, u32, *mut u64) -> warpjit_status;
type Store = unsafe extern "C-unwind" fn(*mut c_void, u64, u32, u64) -> warpjit_status;
type Update = unsafe extern "C-unwind" fn(
    *mut c_void,
    u64,
    u32,
    warpjit_apply,
    *mut c_void,
    *mut u64,
) -> warpjit_status;

struct OfDevice {
    load: Load,
    store: Store,
    update: Option<Update>,
    user: User,
}

/// Calls the closure that `context` is.
unsafe extern "C-unwind" fn apply(context: *mut c_void, old: u64) -> u64 {
    // SAFETY: `OfDevice::update` gives both to the callback, and the closure lives until that returns.
    let update = unsafe { &mut *context.cast::<&mut dyn FnMut(u64) -> u64>() };
    update(old)
}

impl Device for OfDevice {
    fn load(&self, offset: u64, bytes: u8) -> u64 {
        let mut value = 0;
        // SAFETY: a callback with its user pointer.
        self.user.call_checked("a device's load", |user| unsafe {
            (self.load)(user, offset, bytes.into(), &mut value)
        });
        value
    }

    fn store(&self, offset: u64, bytes: u8, value: u64) {
        // SAFETY: as above.
        self.user.call_checked("a device's store", |user| unsafe {
            (self.store)(user, offset, bytes.into(), value)
        });
    }

    fn update(&self, offset: u64, bytes: u8, mut update: &mut dyn FnMut(u64) -> u64) -> u64 {
        let Some(callback) = self.update else {
            let old = self.load(offset, bytes);
            self.store(offset, bytes, update(old));
            return old;
        };
        let mut old = 0;
        let context = (&raw mut update).cast();
        // SAFETY: as above; `context` lives as long as the call.
        self.user.call_checked("a device's update", |user| unsafe {
            callback(user, offset, bytes.into(), Some(apply), context, &mut old)
        });
        old
    }
}

/// Copies the description of a device.
///
/// # Safety
/// `device` is null or can be read.
pub(crate) unsafe fn device(device: *const warpjit_device) -> Result<Arc<dyn Device>, Failure> {
    if device.is_null() {
        return Err(Failure::argument("the device is NULL"));
    }
    // SAFETY: not null, and the caller's promise.
    let device = unsafe { *device };
    let (Some(load), Some(store)) = (device.load, device.store) else {
        return Err(Failure::argument("a device needs functions for loads and stores"));
    };
    Ok(Arc::new(OfDevice { load, store, update: device.update, user: User::new(device.user, device.drop) }))
}

/// Mends accesses to pages that are not mapped, or that may not be written: maps or unprotects the page that holds `address`. `store`: the
/// access is a store or an atomic. `is_mapped`: the page is mapped, and only the store is not allowed.
///
/// true: the access is tried again. false: it is a fault of the guest. Several threads may call it at the same time, also for one page.
pub type warpjit_pager = Option<
    unsafe extern "C-unwind" fn(user: *mut c_void, address: u64, store: bool, is_mapped: bool) -> bool,
>;

struct OfPager {
    fault: unsafe extern "C-unwind" fn(*mut c_void, u64, bool, bool) -> bool,
    user: User,
}

impl Pager for OfPager {
    fn page_fault(&self, _memory: &Memory, fault: &PageFault) -> bool {
        // SAFETY: a callback with its user pointer.
        self.user.call("the pager", |user| unsafe {
            (self.fault)(user, fault.address, fault.store, fault.is_mapped)
        })
    }
}

/// Lets a device answer accesses to a range: each load and store of a guest calls it, with the offset in the range. Address and size are
/// multiples of the host's page size. The space is careful from then on. The structure is copied. Its `drop` is not called if this call
/// fails because the structure is unusable; if it fails later, it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_map_device(
    memory: *const warpjit_memory,
    address: u64,
    bytes: u64,
    callbacks: *const warpjit_device,
    mapped: *mut u64,
) -> warpjit_status {
    entry!({
        let device = device(callbacks)?;
        let memory = handle::get::<Space>(memory)?;
        put_if(mapped, memory.0.map_device(wanted_address(address), bytes, device)?)
    })
}

/// Lets a function mend accesses of guests before they become faults. `pager` NULL: nobody does. The memory is careful from then on
/// (warpjit_memory_is_careful). `drop` is called when the pager is not needed any more, also if this call fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_set_pager(
    memory: *const warpjit_memory,
    pager: warpjit_pager,
    user: *mut c_void,
    drop: warpjit_drop,
) -> warpjit_status {
    entry!({
        let user = User::new(user, drop);
        let memory = handle::get::<Space>(memory)?;
        memory.0.set_pager(pager.map(|fault| Arc::new(OfPager { fault, user }) as Arc<dyn Pager>))?;
    })
}

/// Hears of the first store of guests to a page of a watched range; `page` is the address of its first byte. The store is done after it has
/// returned.
pub type warpjit_write_watch = Option<unsafe extern "C-unwind" fn(user: *mut c_void, page: u64)>;

struct OfWatch {
    before_write: unsafe extern "C-unwind" fn(*mut c_void, u64),
    user: User,
}

impl WriteWatch for OfWatch {
    fn before_write(&self, page: u64) {
        // SAFETY: a callback with its user pointer.
        self.user.call("a write watch", |user| unsafe { (self.before_write)(user, page) });
    }
}

/// Calls a function before the first store of a guest to each page of the range from `start` to `end`, all of which is mapped; both are at
/// pages. A later call for the same range watches its pages anew. `watch` NULL: they are not watched any more. The memory is careful from
/// then on. `drop` is called when the function is not needed any more, also if this call fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_memory_watch_writes(
    memory: *const warpjit_memory,
    start: u64,
    end: u64,
    watch: warpjit_write_watch,
    user: *mut c_void,
    drop: warpjit_drop,
) -> warpjit_status {
    entry!({
        let user = User::new(user, drop);
        let memory = handle::get::<Space>(memory)?;
        let watch = watch.map(|before_write| Arc::new(OfWatch { before_write, user }) as Arc<dyn WriteWatch>);
        memory.0.watch_writes(start..end, watch)?
    })
}
