//! The host memory of a guest address space: the window, and what lies outside it.
//!
//! The *window* is one large [`Reservation`] for the guest addresses from 0 on; compiled code reaches it by adding a constant.
//! Guest addresses have 48 bits, more than a host can reserve. So memory outside the window is reserved when a buffer is mapped
//! there:
//!
//! - the *upper window* is as large as the window and stands for the addresses from `0xffff800000000000` on, where drivers of GCN
//!   1.4 have their memory. Code for such a space ([`warpjit_ir::passes::translate`]) reaches it by adding another constant;
//! - anywhere else a *slab* of 4 GiB stands for the 4 GiB of guest addresses around the buffer. Compiled code asks the runtime
//!   where it is.
//!
//! The window exists as long as the space. The others come and go while launches and other threads access memory, so what is
//! outside the window is a value that never changes ([`Outside`]): a change makes a new one, and the old one is kept until
//! nobody uses the space ([`Space::use_it`]).

use super::pages::PAGE_BYTES;
use super::permits::Changes;
use super::ranges::Ranges;
use super::reservation::{Backing, Reservation, Rights};
use super::reserved_range::{LEAST_TABLE_BYTES, ReservedRange};
use super::special::{self, OfPager, Watched};
use super::tracked::Tracked;
use crate::{Error, MemoryError};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bits of a guest address. Higher bits repeat the highest one.
pub const ADDRESS_BITS: u32 = 48;
/// Where the upper half of the guest addresses begins.
pub const UPPER: u64 = 0xffff_8000_0000_0000;
/// Guest addresses of a slab.
const SLAB_BYTES: u64 = 1 << 32;

/// Whether an address is correctly sign-extended from [`ADDRESS_BITS`].
fn is_canonical(address: u64) -> bool {
    let unused = 64 - ADDRESS_BITS;
    ((address << unused) as i64 >> unused) as u64 == address
}

/// A range of guest addresses that is contiguous on the host.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostRange {
    /// Where the host finds it.
    pub pointer: *mut u8,
    /// Its size.
    pub bytes: u64,
}

fn nothing_at(address: u64) -> Error {
    MemoryError::NoAddress { address }.into()
}

/// What is reserved outside the window, and what is special ([`super::special`]). Never changed once it is made.
#[derive(Debug, Clone, Default)]
pub(super) struct Outside {
    upper: Option<Arc<ReservedRange>>,
    /// Slabs by their first guest address. None is empty.
    slabs: BTreeMap<u64, Arc<ReservedRange>>,
    pub special: Ranges<special::SpecialRange>,
    pub watched: Ranges<Watched>,
    pub pager: Option<OfPager>,
}

impl Outside {
    fn range(&self, address: u64) -> Option<&Arc<ReservedRange>> {
        match self.upper.as_ref().filter(|upper| upper.holds(address)) {
            Some(upper) => Some(upper),
            None => self.slabs.get(&(address & !(SLAB_BYTES - 1))),
        }
    }

    /// Whether nothing is reserved.
    fn is_empty(&self) -> bool {
        self.upper.is_none() && self.slabs.is_empty()
    }
}

/// All host memory of a guest address space.
///
/// Methods that change what is reserved or mapped are called by one thread at a time ([`super::Memory`] holds a lock). All others
/// may be called at any time.
#[derive(Debug)]
pub(super) struct Space {
    window: ReservedRange,
    /// Flags that every page of the window has.
    flags: u8,
    /// Never null.
    outside: AtomicPtr<Outside>,
    /// Earlier values of `outside` that somebody may still use.
    #[expect(clippy::vec_box, reason = "who still uses one has a pointer to it")]
    retired: Mutex<Vec<Box<Outside>>>,
    /// Launches and host threads that use the space now, and [`ALONE`].
    users: AtomicUsize,
    /// Who must hear of changes of the page table.
    changes: Arc<Changes>,
}

/// Bit of `users`: nobody may begin to use the space.
const ALONE: usize = 1 << (usize::BITS - 1);

/// While one exists, nothing that the space has reserved is given back.
#[derive(Debug)]
pub(crate) struct InUse<'a>(&'a AtomicUsize);

/// While one exists, nobody uses the space: who wants to waits.
#[derive(Debug)]
pub(super) struct Alone<'a>(&'a AtomicUsize);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.fetch_and(!ALONE, Ordering::Release);
    }
}

impl Drop for InUse<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw`, and nobody uses the space any more.
        drop(unsafe { Box::from_raw(*self.outside.get_mut()) });
    }
}

impl Space {
    /// A space with this window, and no slabs. All pages of the window have these flags. `recordable`: where its pages are the space's own,
    /// if not everywhere.
    pub fn new(
        window: Reservation,
        flags: u8,
        recordable: Option<Range<u64>>,
        changes: Arc<Changes>,
    ) -> Result<Space, Error> {
        let mut window = ReservedRange::new(0, window)?;
        if let Some(recordable) = recordable {
            window.recordable = recordable;
        }
        Ok(Space {
            window,
            flags,
            outside: AtomicPtr::new(Box::into_raw(Box::default())),
            retired: Mutex::default(),
            users: AtomicUsize::new(0),
            changes,
        })
    }

    /// Keeps what is reserved now until the result is dropped.
    #[inline]
    pub fn use_it(&self) -> InUse<'_> {
        // Sequentially consistent with `change`: either that sees this user, or this user sees what it has made.
        if self.users.fetch_add(1, Ordering::SeqCst) & ALONE != 0 {
            self.wait_to_use();
        }
        // What is looked up from now on is not older than what a change that has not seen this user found. (On x86-64 the addition
        // is enough.)
        #[cfg(not(target_arch = "x86_64"))]
        std::sync::atomic::fence(Ordering::SeqCst);
        InUse(&self.users)
    }

    /// Waits until the owner who changes the space is not alone any more, for a user that has been counted.
    #[cold]
    fn wait_to_use(&self) {
        while self.users.load(Ordering::SeqCst) & ALONE != 0 {
            std::thread::yield_now();
        }
    }

    /// Keeps others from using the space until the result is dropped; `None` if somebody uses it now. For its owner, who changes it and
    /// holds the lock; what it does meanwhile must not use the space.
    pub fn alone(&self) -> Option<Alone<'_>> {
        let was = self.users.compare_exchange(0, ALONE, Ordering::SeqCst, Ordering::SeqCst);
        was.is_ok().then_some(Alone(&self.users))
    }

    /// The same, without a borrow: [`Space::end_use`] ends it.
    pub fn begin_use(&self) {
        std::mem::forget(self.use_it());
    }

    /// Ends what [`Space::begin_use`] began.
    pub fn end_use(&self) {
        drop(InUse(&self.users));
    }

    /// Whether nobody uses the space now, except its owner who changes it.
    pub fn is_idle(&self) -> bool {
        // While the owner is alone, who has been counted waits.
        let users = self.users.load(Ordering::SeqCst);
        users == 0 || users & ALONE != 0
    }

    pub(super) fn outside(&self) -> &Outside {
        // SAFETY: never null; what it names is freed when `take_unused` finds no users, and by `drop`. Callers are users, or change the
        // space themselves.
        unsafe { &*self.outside.load(Ordering::SeqCst) }
    }

    /// Replaces what is reserved outside the window. What it replaces is dropped by [`Space::take_unused`].
    pub(super) fn change(&self, new: Outside) {
        let old = self.outside.swap(Box::into_raw(Box::new(new)), Ordering::SeqCst);
        let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: made by `Box::into_raw`, and no longer to be found.
        retired.push(unsafe { Box::from_raw(old) });
    }

    /// What was replaced and nobody uses any more. The owner who changes the space takes it; to drop it may call functions of the embedder,
    /// so no lock may be held.
    pub fn take_unused(&self) -> impl Sized + use<> {
        let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_idle() { std::mem::take(&mut *retired) } else { Vec::new() }
    }

    /// Whether stores to some pages are being recorded.
    pub fn tracks_writes(&self) -> bool {
        let outside = self.outside();
        let others = outside.upper.iter().chain(outside.slabs.values()).map(|range| &**range);
        std::iter::once(&self.window).chain(others).any(|range| range.tracked.get().is_some())
    }

    /// Calls a function for each part of a range of whole pages that is reserved, with its first address, its
    /// host address, its entries of the page table, and what records stores to it; `None` where nothing may.
    pub fn each_tracked(
        &self,
        first: u64,
        last: u64,
        mut work: impl FnMut(u64, *mut u8, &[AtomicU8], Option<&'static Tracked>),
    ) {
        let mut at = first;
        while at < last {
            let Some(range) = self.range(at) else {
                at = (at & !(SLAB_BYTES - 1)).saturating_add(SLAB_BYTES);
                continue;
            };
            let offset = at - range.start;
            let Range { start, end } = range.recordable;
            // No part has pages of both kinds.
            let is_own = (start..end).contains(&offset);
            let border = if is_own { end } else { start };
            let rest = if border > offset { border - offset } else { u64::MAX };
            let bytes = range.rest(at).min(last - at).min(rest);
            let page = (offset / PAGE_BYTES) as usize;
            let pages = &range.pages[page..page + (bytes / PAGE_BYTES) as usize];
            work(at, range.pointer(at), pages, is_own.then(|| range.record()));
            at += bytes;
        }
    }

    /// Size of the window; of a small one, that of its page table's addresses.
    pub fn window_bytes(&self) -> u64 {
        self.window.reservation.bytes().max(LEAST_TABLE_BYTES)
    }

    /// The window.
    pub fn window(&self) -> &Reservation {
        &self.window.reservation
    }

    /// Rights of the window's pages.
    pub fn window_pages(&self) -> &[AtomicU8] {
        &self.window.pages
    }

    /// The host address of the upper window's start, while there is memory in it.
    pub fn upper_base(&self) -> Option<*mut u8> {
        self.outside().upper.as_ref().map(|range| range.reservation.base())
    }

    /// The guest address of what is so far from the window's start on the host, if a slab or a special range shows it and neither window
    /// does.
    pub fn named(&self, base: usize, distance: u64) -> Option<u64> {
        let outside = self.outside();
        if self.window.holds(distance) || outside.upper.as_ref().is_some_and(|upper| upper.holds(distance)) {
            return None;
        }
        let host = base.wrapping_add(distance as usize);
        let in_slab = |slab: &Arc<ReservedRange>| {
            let inside = host.wrapping_sub(slab.reservation.base().addr()) as u64;
            (inside < slab.reservation.bytes()).then(|| slab.start + inside)
        };
        let slab = outside.slabs.values().find_map(in_slab);
        slab.or_else(|| outside.special.iter().find_map(|special| special.shown_at(host)))
    }

    /// Whether there is memory outside the window.
    pub fn exceeds_window(&self) -> bool {
        !self.outside().is_empty()
    }

    /// Whether all addresses of a range are valid guest addresses. The last 64 KiB are excluded, so that the page after
    /// a range always has an address, for any host page size.
    pub fn exists(&self, start: u64, end: u64) -> bool {
        const LEFT_OUT: u64 = 0x1_0000;
        if start >= end || end > u64::MAX - LEFT_OUT + 1 {
            return false;
        }
        let last = end - 1;
        is_canonical(start) && is_canonical(last) && (start ^ last) >> 63 == 0
    }

    /// Fast path for an access within one page of the window: the page's rights and the host pointer.
    #[inline]
    pub fn window_page(&self, address: u64, bytes: u8) -> Option<(u8, *mut u8)> {
        let page = self.window.pages.get((address / PAGE_BYTES) as usize)?;
        if address % PAGE_BYTES + u64::from(bytes) > PAGE_BYTES {
            return None;
        }
        // The window begins at address 0.
        Some((
            page.load(Ordering::Relaxed) | self.flags,
            self.window.reservation.base().wrapping_add(address as usize),
        ))
    }

    #[inline]
    fn range(&self, address: u64) -> Option<&ReservedRange> {
        if self.window.holds(address) {
            return Some(&self.window);
        }
        self.outside().range(address).map(|range| &**range)
    }

    /// The host pointer for a guest address, and the bytes from there to the end of its reserved range. `None` if
    /// nothing is reserved there.
    #[inline]
    pub fn host_range(&self, address: u64) -> Option<HostRange> {
        let range = self.range(address)?;
        Some(HostRange { pointer: range.pointer(address), bytes: range.rest(address) })
    }

    /// The rights of the page at an address.
    #[inline]
    pub fn page_flags(&self, address: u64) -> u8 {
        self.range(address).map_or(0, |range| range.page(address).load(Ordering::Relaxed))
    }

    /// Sets the rights of the pages of a range that is aligned to pages and reserved.
    pub fn set_pages(&self, first: u64, last: u64, flags: u8) {
        self.change_pages(first, last, |page| page.store(flags, Ordering::Relaxed));
    }

    /// Calls a function for the entry of each page of a range that is aligned to pages and reserved.
    pub fn change_pages(&self, first: u64, last: u64, change: impl Fn(&AtomicU8)) {
        let mut at = first;
        while at < last {
            let Some(range) = self.range(at) else {
                debug_assert!(false, "pages at {at:#x} that nothing is reserved for");
                return;
            };
            let end = at + range.rest(at).min(last - at);
            let all = || (at..end).step_by(PAGE_BYTES as usize).for_each(|page| change(range.page(page)));
            match range.tracked.get() {
                Some(tracked) => tracked.locked(all),
                None => all(),
            }
            at = end;
        }
        self.changes.note();
    }

    /// Reserves the host memory that a range of valid addresses needs outside the window.
    pub fn reserve(&self, first: u64, last: u64) -> Result<(), Error> {
        let mut at = first;
        while at < last {
            if self.range(at).is_none() {
                self.reserve_around(at)?;
            }
            at = at.saturating_add(self.host_range(at).map_or(PAGE_BYTES, |here| here.bytes));
        }
        Ok(())
    }

    fn reserve_around(&self, address: u64) -> Result<(), Error> {
        let mut outside = self.outside().clone();
        // If the host has no room for an upper window, slabs are used.
        let bytes = self.window.reservation.bytes();
        if address.wrapping_sub(UPPER) < bytes
            && !outside.slabs.range(UPPER..=UPPER + (bytes - 1)).any(|_| true)
            && let Ok(reservation) = Reservation::like(&self.window.reservation)
        {
            outside.upper = Some(Arc::new(ReservedRange::new(UPPER, reservation)?));
        } else {
            let start = address & !(SLAB_BYTES - 1);
            outside.slabs.insert(start, Arc::new(ReservedRange::new(start, Reservation::slab(SLAB_BYTES)?)?));
        }
        self.change(outside);
        Ok(())
    }

    /// Releases reservations outside the window that overlap a range and in which `is_used` finds nothing. They stay while
    /// somebody uses the space, because launches that run know where they are.
    pub fn release(&self, first: u64, last: u64, is_used: impl Fn(u64, u64) -> bool) {
        let outside = self.outside();
        if outside.is_empty() || !self.is_idle() {
            return;
        }
        let touched = first & !(SLAB_BYTES - 1)..last;
        let empty: Vec<u64> = outside
            .slabs
            .range(touched)
            .map(|(&start, _)| start)
            .filter(|&start| !is_used(start, start + (SLAB_BYTES - 1)))
            .collect();
        let is_empty = |upper: &Arc<ReservedRange>| !is_used(UPPER, UPPER + (upper.reservation.bytes() - 1));
        let drops_upper = outside.upper.as_ref().is_some_and(is_empty);
        if empty.is_empty() && !drops_upper {
            return;
        }
        let mut outside = outside.clone();
        outside.slabs.retain(|start, _| !empty.contains(start));
        if drops_upper {
            outside.upper = None;
        }
        self.change(outside);
    }

    /// Calls a function for each part of a range, with its reservation and the offset and bytes in it.
    fn each(
        &self,
        start: u64,
        bytes: u64,
        mut work: impl FnMut(&Reservation, u64, u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut at = start;
        while at < start + bytes {
            let range = self.range(at).ok_or_else(|| nothing_at(at))?;
            let part = range.rest(at).min(start + bytes - at);
            work(&range.reservation, at - range.start, part)?;
            at += part;
        }
        Ok(())
    }

    /// Maps fresh zeroed pages with `rights` at a reserved range that is aligned to host pages. `Rights::None` returns
    /// the pages to the system.
    pub fn map(&self, start: u64, bytes: u64, rights: Rights) -> Result<(), Error> {
        self.each(start, bytes, |reservation, offset, bytes| reservation.map(offset, bytes, rights))
    }

    /// Maps pages of something else at a reserved range that is aligned to host pages: `backing` from byte `from` on.
    pub fn map_backing(
        &self,
        start: u64,
        bytes: u64,
        rights: Rights,
        backing: &Backing<'_>,
    ) -> Result<(), Error> {
        let mut done = 0;
        self.each(start, bytes, |reservation, offset, bytes| {
            reservation.map_backing(offset, bytes, rights, &backing.from(done))?;
            done += bytes;
            Ok(())
        })
    }

    /// Adds a reserved range that is aligned to host pages to the large mappings, one in each reserved range. New
    /// pages are zero, readable and writable, and take memory only when written. Pages that a mapping has already keep
    /// their contents.
    pub fn open(&self, first: u64, last: u64) -> Result<(), Error> {
        let mut at = first;
        while at < last {
            let range = self.range(at).ok_or_else(|| nothing_at(at))?;
            let part = range.rest(at).min(last - at);
            let offset = at - range.start;
            range.open(offset, offset + part)?;
            at += part;
        }
        Ok(())
    }

    /// Looks at the part of a range that is in the same reserved range as its start. Returns where that part is
    /// not opened yet, and its end.
    pub fn unopened(&self, first: u64, last: u64) -> (u64, u64) {
        let Some(range) = self.range(first) else { return (last, last) };
        let end = first + range.rest(first).min(last - first);
        let opened = range.opened().map_or(0, |(_, opened)| opened);
        (first.max(range.start + opened).min(end), end)
    }

    /// Counts mapped pages in one reserved range as opened, where [`Space::open`] would map fresh ones. They must
    /// be readable and writable.
    pub fn adopt(&self, first: u64, last: u64) -> Result<(), Error> {
        let range = self.range(first).ok_or_else(|| nothing_at(first))?;
        let offset = first - range.start;
        range.adopt(offset, offset + (last - first))
    }

    /// Returns all pages to the system.
    pub fn close(&self) -> Result<(), Error> {
        let outside = self.outside();
        self.window.close()?;
        outside.upper.iter().chain(outside.slabs.values()).try_for_each(|range| range.close())
    }

    /// Discards the contents of opened pages, which are zero from then on.
    pub fn forget(&self, start: u64, bytes: u64) -> Result<(), Error> {
        self.each(start, bytes, Reservation::forget)
    }

    /// Changes the rights of mapped pages.
    pub fn protect(&self, start: u64, bytes: u64, rights: Rights) -> Result<(), Error> {
        self.each(start, bytes, |reservation, offset, bytes| reservation.protect(offset, bytes, rights))
    }
}
