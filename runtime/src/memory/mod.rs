//! Guest memory: one address space, and the buffers mapped in it.
//!
//! Guest addresses have 48 bits and are sign-extended. The addresses from 0 to [`Memory::window_bytes`] are the *window*.
//! Compiled code accesses it through [`Memory::base`] without a check, and an access to an unmapped page raises a signal. Code
//! for an address space with memory outside the window translates its addresses (`space`). Everything else uses accessors that
//! check the page table first and return [`Denied`]. Both see the same pages, so both tiers fault at the same accesses.
//!
//! A [`Memory`] is a handle: clones name the same space, and all threads and launches may use and change it at the same time.
//! Two kinds of state make that possible:
//! - what accesses look at (the page table, reservations) is read without a lock; a value that changes is replaced as a whole and
//!   kept until nobody uses the space (`space`);
//! - what changes look at (`State`: the list of buffers, free pages) is behind a lock. [`Edit`](edit::Edit) is the state while it
//!   is locked.
//!
//! A page may vanish while it is accessed. Compiled code then faults as anywhere else, and accesses from Rust are guarded
//! (`crate::vm::guarded`).
//!
//! Guest threads may race, so no Rust reference to guest memory exists.
//!
//! An operating system limits the number of mappings of a process, and each run of pages with equal rights is one. Beyond
//! [`MOST_BORDERS`] such runs, memory becomes *coarse* (`coarse`): it has a few large mappings that can be read and written, and
//! only the page table knows which pages exist. Then compiled code must check the page table too ([`Memory::is_coarse`]).

mod access;
mod anywhere;
mod buffer;
mod coarse;
mod dirty;
mod edit;
mod extras;
mod free_pages;
mod identity;
mod lease;
mod mapping;
mod options;
mod pages;
mod permits;
mod ranges;
pub(crate) mod rebase;
mod reservation;
mod reserved_range;
mod retained;
mod space;
mod special;
mod tracked;
mod update;
pub(crate) mod window;
pub mod window_access;

pub use access::Denied;
pub(crate) use lease::Leased;
pub use options::MemoryOptions;
pub use pages::{Access, PAGE_BYTES, PAGE_READ, PAGE_WRITE};
pub(crate) use permits::Permitted;
pub use reservation::{GUARD_BYTES, WINDOW_BYTES};
pub(crate) use retained::Lease;
pub use space::ADDRESS_BITS;
pub(crate) use space::InUse;
pub use special::{Device, FileSharing, PageFault, Pager, WriteWatch};

use crate::fork::Mutex;
use crate::{Error, MemoryError};
use edit::{Edit, State};
use identity::{LITTLE_ELSEWHERE, Own};
use options::Form;
use pages::{PAGE_SPECIAL, PAGE_WATCHED};
use permits::Changes;
use ranges::Ranged;
use reservation::Reservation;
use space::Space;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Addresses below are never handed out, so that a null pointer with a small offset faults.
const FIRST_ADDRESS: u64 = 0x1_0000;

/// Most places where a page has other rights than the page before it. Each is about one mapping of the operating
/// system. Linux allows 65,530 by default, for the whole process.
const MOST_BORDERS: usize = 1 << 15;

/// With so few, their number cannot be the reason why the system refuses a mapping.
const FEW_BORDERS: usize = 1 << 10;

/// A guest address space. Clones are handles of the same space, which ends with the last of them.
///
/// All methods may be called while launches run in the space. A launch that is running sees a change at its next access:
/// a page that is gone is a `memory` fault of the guest.
///
/// ```
/// use warpjit_runtime::{Access, Memory};
///
/// let memory = Memory::new()?;
/// let buffer = memory.map(None, 4096, Access::ReadWrite)?;
/// memory.write(buffer, &7_u32.to_le_bytes())?;
/// // The same bytes at a second address.
/// let mirror = memory.map_alias(None, buffer, 4096, Access::ReadOnly)?;
/// assert_eq!(memory.load(mirror, 4)?, 7);
/// memory.unmap(mirror)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Memory(Arc<Shared>);

/// The space that handles name.
#[derive(Debug)]
struct Shared {
    space: Space,
    form: Form,
    /// Unit of the host's own protection, at least [`PAGE_BYTES`].
    host_page: u64,
    state: Mutex<State>,
    /// Whether there are too many mappings, so that only the page table says what is mapped.
    coarse: AtomicBool,
    /// Whether launches use code that looks each page up ([`MemoryOptions::careful`], or there are special pages).
    careful: AtomicBool,
    /// In a space whose addresses are the host's: bytes of buffers that are elsewhere than in the range that it hands out. Where there are
    /// some, code translates addresses; where there are many, it asks before each access ([`permits`]).
    elsewhere: AtomicU64,
    /// There: the range that it hands out.
    own: Option<Own>,
    /// Who must hear of changes.
    changes: Arc<Changes>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A space of the host's own addresses has no reservation that goes with it.
        if self.form.is_identity {
            let state = self.state.get_mut();
            let ours = state.buffers.iter().filter(|(_, buffer)| buffer.kind.is_ours());
            let ours = ours.map(|(&at, buffer)| (at, buffer.bytes.next_multiple_of(self.host_page)));
            for (at, bytes) in ours.chain(state.left.iter().copied()) {
                // What is in the range goes with it.
                if !self.own.as_ref().is_some_and(|own| own.touches(at, at + bytes)) {
                    let _ = anywhere::unmap(at, bytes);
                }
            }
        }
    }
}

impl Memory {
    /// Makes an empty address space of the usual form: 48-bit sign-extended addresses, with a window as large as the host
    /// allows.
    ///
    /// # Errors
    /// If the host has no addresses left. A space takes about a terabyte of them, but hardly any memory;
    /// [`MemoryOptions::size`] makes a smaller one.
    pub fn new() -> Result<Self, Error> {
        Self::with(&MemoryOptions::new())
    }

    /// Makes an empty address space of another form.
    ///
    /// # Errors
    /// As [`Memory::new`]; and if options contradict one another.
    pub fn with(options: &MemoryOptions) -> Result<Self, Error> {
        let (window, form) = options.make()?;
        Self::with_window(window, form)
    }

    /// Makes a space over a range of host addresses that the embedder has reserved, and maps and unmaps by itself. Guest
    /// address 0 is `base`; the guest may access what is accessible there, and anything else is a `memory` fault.
    /// Methods that map, unmap and protect are errors.
    ///
    /// # Safety
    /// Until the last handle is dropped, the host addresses from `base - GUARD_BYTES` to `base + bytes + GUARD_BYTES`
    /// ([`GUARD_BYTES`]) are the embedder's, and hold nothing but what the guest may access and pages without access.
    ///
    /// # Errors
    /// If `bytes` is not a power of two from 4 GiB to [`WINDOW_BYTES`], `base` is not at a page, or no process can have all of the
    /// addresses that must be the embedder's: they would include the first page, or end beyond 2^56.
    pub unsafe fn over(base: *mut u8, bytes: u64) -> Result<Self, Error> {
        let page = rustix::param::page_size();
        if !bytes.is_power_of_two() || !(1 << 32..=WINDOW_BYTES).contains(&bytes) {
            return Err(MemoryError::RangeSize { bytes, least: 1 << 32, most: WINDOW_BYTES }.into());
        }
        if !base.addr().is_multiple_of(page) {
            let (found, align) = (base.addr() as u64, page as u64);
            return Err(MemoryError::Unaligned { what: "a range's start", found, align }.into());
        }
        let start = base.addr() as u64;
        let is_possible = start >= GUARD_BYTES + page as u64
            && start.checked_add(bytes + GUARD_BYTES).is_some_and(|end| end <= HOST_BYTES);
        if !is_possible {
            return Err(MemoryError::RangePlace { start, bytes, guard: GUARD_BYTES }.into());
        }
        // SAFETY: as the caller promises.
        let window = unsafe { Reservation::of_embedder(base, bytes) };
        crate::vm::ensure_for_memory()?;
        Self::with_window(window, Form::embedder())
    }

    /// The same with this window.
    fn with_window(window: Reservation, form: Form) -> Result<Self, Error> {
        let host_page = (rustix::param::page_size() as u64).max(PAGE_BYTES);
        let flags = if form.is_embedders { PAGE_READ | PAGE_WRITE } else { 0 };
        let own = if form.is_identity { Own::new(form.own_start) } else { None };
        let mut state = State::new(host_page);
        state.own_free = own.as_ref().map_or_else(Default::default, Own::free);
        let is_apart = form.is_identity && own.is_none();
        // There may be memory of others outside what such a space hands out.
        let recordable = form.is_identity.then(|| own.as_ref().map_or(0..0, Own::range));
        let changes = Arc::new(Changes::new());
        Ok(Memory(Arc::new(Shared {
            space: Space::new(window, flags, recordable, changes.clone())?,
            changes,
            form,
            host_page,
            state: Mutex::new(state),
            coarse: AtomicBool::new(false),
            careful: AtomicBool::new(form.careful || form.is_small || is_apart),
            elsewhere: AtomicU64::new(0),
            own,
        })))
    }

    /// Runs `work` on the state, which no other thread changes meanwhile.
    fn edit<T>(&self, work: impl FnOnce(&mut Edit<'_>) -> Result<T, Error>) -> Result<T, Error> {
        if self.0.form.is_embedders {
            return Err(MemoryError::OfEmbedder.into());
        }
        let mut state = self.0.state.lock();
        let mut edit = Edit { memory: self, state: &mut state };
        let result = work(&mut edit);
        edit.give_back_left();
        let unused = self.0.space.take_unused();
        drop(state);
        drop(unused);
        result
    }

    /// The mapped buffers in order of address: (address, bytes, access that they were mapped with).
    pub fn buffers(&self) -> impl Iterator<Item = (u64, u64, Access)> + use<> {
        let state = self.0.state.lock();
        let all: Vec<_> =
            state.buffers.iter().map(|(&address, buffer)| (address, buffer.bytes, buffer.access)).collect();
        all.into_iter()
    }

    /// The same without devices.
    ///
    /// # Errors
    /// If only the embedder knows what is mapped.
    pub(crate) fn buffers_with_contents(&self) -> Result<Vec<(u64, u64, Access)>, Error> {
        self.edit(|edit| {
            let is_device = |at: u64| {
                edit.space().special_at(at).is_some_and(|special| special.start == at && special.is_device())
            };
            let all = edit.state.buffers.iter().filter(|&(&at, _)| !is_device(at));
            Ok(all.map(|(&at, buffer)| (at, buffer.bytes, buffer.access)).collect())
        })
    }

    /// Whether only the page table says what is mapped, so that compiled code must check it.
    pub fn is_coarse(&self) -> bool {
        self.0.coarse.load(Ordering::Relaxed)
    }

    /// Whether launches in this space use code that looks each page up in the page table. That is so where accesses need help: devices,
    /// pagers, write watches, private host memory, and small spaces. Such code is slower. A launch that is running when a space becomes
    /// careful goes on as it is: for it, special pages are not mapped. (Nor is, in a space of [`MemoryOptions::identity`], what was
    /// registered since, unless there was so much before that the launch asks for each access.)
    pub fn is_careful(&self) -> bool {
        self.0.careful.load(Ordering::Relaxed)
    }

    /// Whether more than a little memory is elsewhere than in the range that the space hands out.
    fn has_much_elsewhere(&self) -> bool {
        self.0.elsewhere.load(Ordering::Relaxed) > LITTLE_ELSEWHERE
    }

    /// Whether compiled code must check the page table.
    pub(crate) fn needs_checks(&self) -> bool {
        self.is_coarse() || self.is_careful()
    }

    /// Whether nothing but signals tells which pages there are.
    pub(crate) fn needs_signals(&self) -> bool {
        self.0.form.is_embedders
    }

    /// How many of the highest bits of an address the device ignores ([`MemoryOptions::ignore_high_bits`]).
    pub(crate) fn ignored_bits(&self) -> u32 {
        self.0.form.ignored_bits
    }

    /// Copies guest memory to the host. All of it must be mapped.
    ///
    /// # Errors
    /// [`Error::Memory`] with the first address that is not mapped.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Error> {
        let _used = self.use_it();
        let read = self.load_bytes(address, out);
        let bytes = out.len();
        read.map_err(|source| MemoryError::Copy { address, bytes, store: false, source }.into())
    }

    /// Copies from the host to guest memory, whether guest code may write there or not.
    /// All of it must be mapped.
    ///
    /// Pages that the guest may only read are writable for that moment, for all threads.
    ///
    /// # Errors
    /// [`Error::Memory`] with the first address that is not mapped.
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), Error> {
        let bytes = data.len();
        let told = |source: Denied| Error::from(MemoryError::Copy { address, bytes, store: true, source });
        let used = self.use_it();
        // Most memory can be written as it is.
        if self.store_bytes(address, data).is_ok() {
            return Ok(());
        }
        let checked = self.check(address, data.len() as u64, PAGE_READ);
        drop(used);
        let end = checked.map_err(told)?;
        let start = end - data.len() as u64;
        let mut at = start;
        while at < end {
            let used = self.use_it();
            let (is_device, stop) = self.backing_at(at, end);
            let part = |stop: u64| &data[(at - start) as usize..(stop - start) as usize];
            // Devices are functions of the embedder: no lock is held.
            if is_device {
                self.store_bytes(at, part(stop)).map_err(told)?;
                at = stop;
                continue;
            }
            drop(used);
            // What follows may have to change how memory is mapped. Nobody else changes it meanwhile.
            at = self.edit(|edit| {
                // What is mapped may have changed in between.
                let (is_device, stop) = self.backing_at(at, stop);
                if is_device {
                    return Ok(at);
                }
                self.check(at, stop - at, PAGE_READ).map_err(told)?;
                edit.unprotected(at, stop, |_| self.copy_in(at, part(stop)))?.map_err(told)?;
                Ok(stop)
            })?;
        }
        Ok(())
    }

    /// Whether a device is at an address, and where that ends, `end` at the latest.
    fn backing_at(&self, address: u64, end: u64) -> (bool, u64) {
        let mut at = address;
        while let Some(special) = self.0.space.special_from(at).filter(|special| special.start < end) {
            if special.is_device() {
                let here = special.start <= address;
                return (here, if here { Ranged::end(special).min(end) } else { special.start });
            }
            at = Ranged::end(special);
        }
        (false, end)
    }

    /// Marks the space as in use: what it has reserved stays until the result is dropped.
    #[inline]
    pub(crate) fn use_it(&self) -> InUse<'_> {
        self.0.space.use_it()
    }

    /// Keeps what a launch relies on in place, for a launch that outlives a call.
    pub(crate) fn hold(&self) -> Pinned {
        self.0.space.begin_use();
        Pinned(self.clone())
    }

    /// Size of the window: [`WINDOW_BYTES`], or a smaller power of two if the host has no room for it or the options say so.
    pub fn window_bytes(&self) -> u64 {
        self.0.space.window_bytes()
    }

    /// Whether compiled code must translate 64-bit addresses, because there is memory outside the window, or may be
    /// during a launch.
    pub(crate) fn needs_translation(&self) -> bool {
        // It may be replaced meanwhile.
        let _used = self.use_it();
        if self.0.form.is_identity {
            return self.needs_checks() || self.0.elsewhere.load(Ordering::Relaxed) > 0;
        }
        self.0.space.exceeds_window()
            || self.window_bytes() < WINDOW_BYTES && self.0.form.limit.is_none()
            || self.is_careful()
            || self.ignored_bits() > 0
    }

    /// The host address of the upper window's start, if there is an upper window. The caller uses the space.
    pub(crate) fn upper_base(&self) -> Option<*mut u8> {
        self.0.space.upper_base()
    }

    /// Whether guest addresses are the host's.
    pub(crate) fn is_identity(&self) -> bool {
        self.0.form.is_identity
    }

    /// Lets code find what a space of the host's own addresses hands out, relative to where that begins ([`rebase`]).
    /// `translates`: code asks for what is elsewhere.
    pub(crate) fn rebase(&self, context: &mut warpjit_backend::Context, translates: bool) {
        // Without a range, every address is beyond the address space.
        context.window_high = u64::MAX;
        if let Some(own) = &self.0.own {
            own.show(context);
        }
        context.global_high = if translates { 0 } else { context.window_high };
    }

    /// The guest address of what is so far from [`Memory::base`] on the host, if it is in neither window. The caller uses the space.
    pub(crate) fn named(&self, base: usize, distance: u64) -> Option<u64> {
        self.0.space.named(base, distance)
    }

    /// Whether a guest address plus a 32-bit index may reach other memory of the host.
    pub fn has_near_guards(&self) -> bool {
        self.0.space.window().has_near_guards()
    }

    /// The host address of guest address 0, for compiled code.
    pub fn base(&self) -> *mut u8 {
        self.0.space.window().base()
    }

    /// The window's page table, for compiled code that checks addresses: one byte ([`PAGE_READ`], [`PAGE_WRITE`]) for
    /// each [`PAGE_BYTES`], then two more without rights.
    pub fn page_table(&self) -> *const u8 {
        self.0.space.window_pages().as_ptr().cast()
    }
}

/// Addresses that processes have at most, on any host.
const HOST_BYTES: u64 = 1 << 56;

/// A memory that a launch uses ([`Memory::hold`]).
#[derive(Debug)]
pub(crate) struct Pinned(Memory);

impl Drop for Pinned {
    fn drop(&mut self) {
        self.0.0.space.end_use();
    }
}

#[cfg(test)]
mod changes_tests;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod tests;
