//! Mapping in a space whose addresses are the host's: the system or the caller chooses where, and what was unmapped while somebody used
//! the space stays held until nobody does.

use super::Access;
use super::anywhere;
use super::edit::{Buffer, Edit, Kind};
use super::reservation::Backing;
use crate::Error;

impl Edit<'_> {
    /// Fresh memory. See [`super::Memory::map`].
    pub fn map_identity(&mut self, address: Option<u64>, bytes: u64, access: Access) -> Result<u64, Error> {
        let whole = bytes.checked_next_multiple_of(self.host_page());
        let whole =
            whole.ok_or_else(|| Error::Memory(format!("a buffer of {bytes:#x} bytes is too large")))?;
        let map = |at| anywhere::map(at, whole, access.rights());
        let at = self.take_addresses(address, whole, map)?;
        self.set_pages(at, at + whole, access.flags());
        self.state.buffers.insert(at, Buffer { bytes, access, kind: Kind::Own });
        Ok(at)
    }

    /// Pages of something else. See [`super::Memory::map_file`].
    pub fn map_backing_identity(
        &mut self,
        address: Option<u64>,
        bytes: u64,
        access: Access,
        backing: &Backing<'_>,
    ) -> Result<u64, Error> {
        let whole = bytes.checked_next_multiple_of(self.host_page());
        let whole =
            whole.ok_or_else(|| Error::Memory(format!("a mapping of {bytes:#x} bytes is too large")))?;
        let map = |at| anywhere::map_backing(at, whole, access.rights(), backing);
        let at = self.take_addresses(address, whole, map)?;
        self.set_pages(at, at + whole, access.flags());
        self.state.buffers.insert(at, Buffer { bytes, access, kind: Kind::Shared });
        Ok(at)
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
        let end = self.place_for(at, bytes)?;
        let held = self.held_within(at, end);
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
        self.forget_held(at, end);
        anywhere::relocate(pages, bytes, at).inspect_err(|_| {
            let _ = anywhere::unmap(pages, bytes);
        })?;
        Ok(at)
    }

    /// The ranges of these addresses that the space holds, in order.
    fn held_within(&self, at: u64, end: u64) -> Vec<(u64, u64)> {
        let within = |&(start, bytes): &(u64, u64)| (start.max(at), (start + bytes).min(end));
        let mut held: Vec<_> = self.state.left.iter().map(within).filter(|(from, to)| from < to).collect();
        held.sort_unstable();
        held
    }

    /// No longer holds these addresses.
    fn forget_held(&mut self, at: u64, end: u64) {
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
                // A failure would leak addresses, which harms nobody.
                let _ = anywhere::unmap(at, bytes);
            }
        }
    }
}
