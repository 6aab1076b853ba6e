//! Adds mappings to an *identity* memory, in which a guest address is the host's address of the same byte.
//!
//! If the embedder names no address, one is taken from a range that the memory has reserved ([`Own`]); compiled code finds that range as
//! it finds the window of other memories ([`super::rebase`]). If the embedder names an address outside of that range, a little memory is
//! reached by calls of the runtime; with more of it, compiled code asks before every access as long as it is there ([`super::permits`]).
//! Pages that are unmapped while a launch runs are kept until no launch uses the memory.

use super::buffer::{Buffer, Kind};
use super::edit::Edit;
use super::reservation::{Backing, HUGE_BYTES, Reservation, Rights};
use super::window_access::BANK;
use super::{Access, WINDOW_BYTES, anywhere, rebase};
use crate::{Error, MemoryError};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::Ordering;
use warpjit_backend::Context;

/// With no more bytes of buffers outside of the range, code asks the runtime for each access there, and has the quickest accesses to the
/// range. HIP's runtime registers one page of its own in each program.
pub(super) const LITTLE_ELSEWHERE: u64 = 1 << 16;

/// The range that a space of the host's own addresses hands out.
#[derive(Debug)]
pub(super) struct Own {
    reservation: Reservation,
    /// For compiled code: where it begins.
    bank: Box<[u8; rebase::BANK_BYTES]>,
}

impl Own {
    /// Reserves it, from `start` on if that is free; `None` if the host has no room.
    pub fn new(start: Option<u64>) -> Option<Own> {
        let reservation = start.map_or_else(Reservation::new, Reservation::from_start).ok()?;
        let start = reservation.base().expose_provenance() as u64;
        Some(Own { reservation, bank: rebase::bank_of(start) })
    }

    /// Its addresses.
    pub fn range(&self) -> Range<u64> {
        let start = self.reservation.base().addr() as u64;
        start..start + self.reservation.bytes()
    }

    /// All of it is free.
    pub fn free(&self) -> BTreeMap<u64, u64> {
        BTreeMap::from([(self.range().start, self.reservation.bytes())])
    }

    /// Whether some of these addresses are in it.
    pub fn touches(&self, at: u64, end: u64) -> bool {
        at < self.range().end && self.range().start < end
    }

    /// Whether all of them are.
    pub fn holds(&self, at: u64, end: u64) -> bool {
        self.range().start <= at && end <= self.range().end
    }

    /// For compiled code.
    pub fn show(&self, context: &mut Context) {
        context.global_base = self.reservation.base();
        context.window_high = !(self.reservation.bytes() - 1);
        context.near_guards = self.reservation.has_near_guards().into();
        context.rebase = self.range().start;
        context.const_banks[usize::from(BANK)] = self.bank.as_ptr();
    }
}

/// What is mapped.
enum What<'a> {
    Fresh,
    Backing(&'a Backing<'a>),
}

impl What<'_> {
    fn in_range(&self, own: &Own, at: u64, bytes: u64, rights: Rights) -> Result<(), Error> {
        let offset = at - own.range().start;
        match self {
            What::Fresh => own.reservation.map(offset, bytes, rights),
            What::Backing(backing) => own.reservation.map_backing(offset, bytes, rights, backing),
        }
    }

    fn elsewhere(&self, at: Option<u64>, bytes: u64, rights: Rights) -> Result<u64, Error> {
        match self {
            What::Fresh => anywhere::map(at, bytes, rights),
            What::Backing(backing) => anywhere::map_backing(at, bytes, rights, backing),
        }
    }
}

impl Edit<'_> {
    /// Fresh memory. See [`super::Memory::map`].
    pub fn map_identity(&mut self, address: Option<u64>, bytes: u64, access: Access) -> Result<u64, Error> {
        self.map_own(address, bytes, access, &What::Fresh, Kind::Own)
    }

    /// Pages of something else. See [`super::Memory::map_file`].
    pub fn map_backing_identity(
        &mut self,
        address: Option<u64>,
        bytes: u64,
        access: Access,
        backing: &Backing<'_>,
    ) -> Result<u64, Error> {
        self.map_own(address, bytes, access, &What::Backing(backing), Kind::Shared)
    }

    fn map_own(
        &mut self,
        address: Option<u64>,
        bytes: u64,
        access: Access,
        what: &What<'_>,
        kind: Kind,
    ) -> Result<u64, Error> {
        let whole = bytes.checked_next_multiple_of(self.host_page());
        let whole = whole.ok_or(MemoryError::TooLarge { address, bytes, limit: WINDOW_BYTES })?;
        let at = match self.in_range(address, whole)? {
            Some(at) => {
                let own = self.memory.0.own.as_ref();
                let mapped = own.map_or(Ok(()), |own| what.in_range(own, at, whole, access.rights()));
                if let Err(error) = mapped {
                    // Nobody has seen it, so nobody is on the way there.
                    let _ = anywhere::hide(at, whole);
                    self.give_own(at, whole);
                    return Err(error);
                }
                at
            }
            None => {
                let map = |at| what.elsewhere(at, whole, access.rights());
                let at = self.take_addresses(address, whole, map)?;
                self.count_elsewhere(whole, true);
                at
            }
        };
        self.set_pages(at, at + whole, access.flags());
        self.state.buffers.insert(at, Buffer { bytes, access, kind });
        Ok(at)
    }

    /// There are so many more bytes of buffers outside of the range, or so many less.
    pub fn count_elsewhere(&mut self, bytes: u64, more: bool) {
        let count = &self.memory.0.elsewhere;
        if more {
            count.fetch_add(bytes, Ordering::SeqCst);
        } else {
            count.fetch_sub(bytes, Ordering::SeqCst);
        }
    }

    /// Whether a buffer was counted by [`Edit::count_elsewhere`].
    pub fn is_elsewhere(&self, at: u64, end: u64, kind: Kind) -> bool {
        let is_own = self.memory.0.own.as_ref().is_some_and(|own| own.holds(at, end));
        self.memory.0.form.is_identity && kind != Kind::Special && !is_own
    }

    /// Takes addresses of the range: those that are wanted, or free ones. `None`: they are, or have to be, elsewhere.
    fn in_range(&mut self, address: Option<u64>, bytes: u64) -> Result<Option<u64>, Error> {
        let Some(own) = &self.memory.0.own else { return Ok(None) };
        let Some(at) = address else {
            let found = self.find_own(bytes);
            if let Some(at) = found {
                self.take_own(at, at + bytes);
            }
            return Ok(found);
        };
        self.aligned("buffer", &[at])?;
        let end = self.end_of_new(at, bytes)?;
        if !own.touches(at, end) {
            return Ok(None);
        }
        if !own.holds(at, end) {
            return Err(MemoryError::PartlyHandedOut { address: at, end }.into());
        }
        // No buffer is there: what is not free is held, and its pages are the space's.
        self.forget_ranges(at, end);
        self.take_own(at, end);
        Ok(Some(at))
    }

    /// First fit, with one page without rights before and after each buffer.
    fn find_own(&self, bytes: u64) -> Option<u64> {
        let need = bytes.checked_add(self.host_page())?;
        let fit = |align: u64| {
            self.state.own_free.iter().find_map(|(&start, &free)| {
                let at = (start + self.host_page()).checked_next_multiple_of(align)?;
                (at.checked_add(need)? <= start + free).then_some(at)
            })
        };
        // Large buffers start where a huge page may start, if there is room.
        let huge = (bytes >= HUGE_BYTES as u64).then(|| fit(HUGE_BYTES as u64)).flatten();
        huge.or_else(|| fit(self.host_page()))
    }

    /// These addresses of the range are not free any more.
    fn take_own(&mut self, at: u64, end: u64) {
        let free = &mut self.state.own_free;
        let touched = free.range(..end).rev().take_while(|&(&start, &bytes)| start + bytes > at);
        let touched: Vec<(u64, u64)> = touched.map(|(&start, &bytes)| (start, bytes)).collect();
        for (start, bytes) in touched {
            free.remove(&start);
            for (from, to) in [(start, at.min(start + bytes)), (end.max(start), start + bytes)] {
                if from < to {
                    free.insert(from, to - from);
                }
            }
        }
    }

    /// These addresses of the range are free again.
    fn give_own(&mut self, mut at: u64, mut bytes: u64) {
        let free = &mut self.state.own_free;
        if let Some((&start, &before)) = free.range(..at).next_back()
            && start + before == at
        {
            free.remove(&start);
            (at, bytes) = (start, bytes + before);
        }
        if let Some(more) = free.remove(&(at + bytes)) {
            bytes += more;
        }
        free.insert(at, bytes);
    }

    /// Refuses what is not the space's own memory where the space hands out addresses.
    pub fn outside_own(&self, at: u64, bytes: u64) -> Result<(), Error> {
        match &self.memory.0.own {
            Some(own) if own.touches(at, at.saturating_add(bytes)) => {
                Err(MemoryError::HandedOut { address: at }.into())
            }
            _ => Ok(()),
        }
    }

    /// Calls `map` for an address of the host, or for one that the system chooses, and puts its pages where they are wanted if the space
    /// still holds some of these addresses.
    fn take_addresses(
        &mut self,
        address: Option<u64>,
        bytes: u64,
        map: impl Fn(Option<u64>) -> Result<u64, Error>,
    ) -> Result<u64, Error> {
        let Some(at) = address else { return map(None) };
        self.aligned("buffer", &[at])?;
        let end = self.end_of_new(at, bytes)?;
        let held = self.ranges_within(at, end);
        if held.is_empty() {
            return map(address);
        }
        // First what the space does not hold, so that the pages replace nothing of anybody else.
        let mut taken = Vec::new();
        let mut hold = |from: u64, to: u64| {
            if from < to {
                anywhere::hold(from, to - from)?;
                taken.push((from, to - from));
            }
            Ok(())
        };
        let mut from = at;
        let mut moved = held.iter().try_for_each(|&(start, behind)| {
            let gap = hold(from, start);
            from = behind;
            gap
        });
        moved = moved.and_then(|()| hold(from, end));
        let made = moved.and_then(|()| map(None));
        let pages = match made {
            Ok(pages) => pages,
            Err(error) => {
                // A failure would leak addresses, which harms nobody; here and below.
                for (start, bytes) in taken {
                    let _ = anywhere::unmap(start, bytes);
                }
                return Err(error);
            }
        };
        // If that fails, the system may have unmapped what was there, and given it to somebody else since: the space forgets it.
        self.forget_ranges(at, end);
        anywhere::relocate(pages, bytes, at).inspect_err(|_| {
            let _ = anywhere::unmap(pages, bytes);
        })?;
        Ok(at)
    }

    /// The ranges of these addresses that the space holds, in order.
    fn ranges_within(&self, at: u64, end: u64) -> Vec<(u64, u64)> {
        let within = |&(start, bytes): &(u64, u64)| (start.max(at), (start + bytes).min(end));
        let mut held: Vec<_> = self.state.left.iter().map(within).filter(|(from, to)| from < to).collect();
        held.sort_unstable();
        held
    }

    /// No longer holds these addresses.
    fn forget_ranges(&mut self, at: u64, end: u64) {
        self.state.left = std::mem::take(&mut self.state.left)
            .into_iter()
            .flat_map(|(start, bytes)| [(start, (start + bytes).min(at)), (start.max(end), start + bytes)])
            .filter(|(from, to)| from < to)
            .map(|(from, to)| (from, to - from))
            .collect();
    }

    /// Gives addresses of the host back, once no access can be on its way there.
    pub fn give_back_left(&mut self) {
        if !self.state.left.is_empty() && self.space().is_idle() {
            for (at, bytes) in std::mem::take(&mut self.state.left) {
                if self.memory.0.own.as_ref().is_some_and(|own| own.touches(at, at + bytes)) {
                    self.give_own(at, bytes);
                } else {
                    // A failure would leak addresses, which harms nobody.
                    let _ = anywhere::unmap(at, bytes);
                }
            }
        }
    }
}
