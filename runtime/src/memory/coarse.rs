//! Fallback for address spaces with more buffers than the operating system allows mappings.
//!
//! In each reserved range ([`super::space`]), all pages from the first buffer to the last become one readable and writable
//! mapping. Only the page table then says which of them belong to a buffer. The others hold zeros and take no memory. The guest
//! sees no difference: the interpreter checks the page table anyway, and the engine switches to compiled code that does
//! ([`crate::Config::checked_memory`]).

use super::buffer::Buffer;
use super::edit::Edit;
use super::reservation::Rights;
use crate::{Error, MemoryError};
use std::sync::atomic::Ordering;

/// Buffers of at least this size keep mappings of their own. There can be only few of them, and most of their pages may
/// be untouched.
const LARGE_BYTES: u64 = 1 << 26;

impl Edit<'_> {
    /// Makes memory coarse. If the system refuses to change the pages' rights, everything stays as it was.
    pub(super) fn become_coarse(&mut self) -> Result<(), Error> {
        if self.state.coarse {
            return Ok(());
        }
        // Launches that run use code which relies on the system, and pages of something else stay mappings of their own.
        // Nobody makes an access meanwhile: it could be lost while contents are moved. Launches that begin afterwards find that memory is
        // coarse.
        let memory = self.memory;
        let alone = if self.has_others() { None } else { memory.0.space.alone() };
        let Some(_alone) = alone else {
            return Err(MemoryError::HostFull.into());
        };
        self.unlock()?;
        self.set_coarse(true);
        self.state.merged = false;
        self.give_back_others(&[])?;
        // If the system refuses this now, it is tried again when the next buffer is mapped.
        let _ = self.merge_alone();
        Ok(())
    }

    /// Says whether only the table of page rights tells what is mapped.
    fn set_coarse(&mut self, coarse: bool) {
        self.state.coarse = coarse;
        self.memory.0.coarse.store(coarse, Ordering::SeqCst);
    }

    /// Makes all mapped or retained pages readable and writable. This never needs additional mappings.
    fn unlock(&self) -> Result<(), Error> {
        let all = self
            .state
            .buffers
            .iter()
            .map(|(&at, buffer)| (self.covering(at, at + buffer.bytes), buffer.access));
        let all = all.chain(self.retained_pages());
        let mut done = Vec::new();
        for ((first, last), access) in all {
            done.push((first, last, access));
            if let Err(error) = self.space().protect(first, last - first, Rights::ReadWrite) {
                for (first, last, access) in done {
                    let _ = self.space().protect(first, last - first, access.rights());
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Adds pages to the large mappings.
    pub(super) fn open(&mut self, first: u64, last: u64) -> Result<(), Error> {
        self.merge()?;
        self.space().open(first, last)
    }

    /// Puts all buffers into the large mappings, if that is not done yet.
    fn merge(&mut self) -> Result<(), Error> {
        if self.state.merged {
            return Ok(());
        }
        let memory = self.memory;
        let Some(_alone) = memory.0.space.alone() else {
            return Err(MemoryError::LaunchesRun.into());
        };
        self.merge_alone()
    }

    /// Merges all buffers in a reserved range into one mapping, one buffer after another, each with the gap
    /// before it. So the number of mappings never grows. The contents of the current buffer are saved meanwhile. A
    /// failed merge can be repeated. Nobody uses the space, so no store is lost meanwhile.
    fn merge_alone(&mut self) -> Result<(), Error> {
        let covering = |(&at, buffer): (&u64, &Buffer)| self.covering(at, at + buffer.bytes);
        for (mut at, last) in self.state.buffers.iter().map(covering).collect::<Vec<_>>() {
            while at < last {
                let (first, end) = self.space().unopened(at, last);
                if end - first >= LARGE_BYTES {
                    self.space().adopt(first, end)?;
                } else if first < end {
                    let parts = self.written_parts(first, end)?;
                    self.space().open(first, end)?;
                    for (at, bytes) in parts {
                        self.memory.copy_in(at, &bytes).map_err(|source| MemoryError::Gone { source })?;
                    }
                }
                at = end;
            }
        }
        self.state.merged = true;
        Ok(())
    }

    /// The parts of some pages that are not all zero, with their contents.
    fn written_parts(&self, first: u64, last: u64) -> Result<Vec<(u64, Vec<u8>)>, Error> {
        let mut parts = Vec::new();
        for at in (first..last).step_by(self.host_page() as usize) {
            // A buffer that could not be unmapped may have lost its contents and rights.
            if self.page_flags(at) == 0 {
                continue;
            }
            let mut part = vec![0; self.host_page() as usize];
            self.memory.load_bytes(at, &mut part).map_err(|source| MemoryError::Gone { source })?;
            // Skip parts that are zero, so that untouched pages stay untouched.
            if part.iter().any(|&byte| byte != 0) {
                parts.push((at, part));
            }
        }
        Ok(parts)
    }

    /// Ends coarse mode, once there are no buffers.
    pub(super) fn become_fine(&mut self) -> Result<(), Error> {
        if self.state.coarse {
            self.give_back_others(&[])?;
            self.space().close()?;
            self.set_coarse(false);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::mappings;
    use super::super::{Access, MOST_BORDERS, Memory, WINDOW_BYTES};

    #[test]
    fn many_buffers_are_as_few_are() {
        let memory = Memory::new().unwrap();
        let mut addresses = Vec::new();
        // Across the end of the window, in two reserved ranges.
        let across = WINDOW_BYTES - 8;
        memory.map(Some(across), 16, Access::ReadWrite).unwrap();
        memory.write(across, &[7; 16]).unwrap();
        // More than a process may have mappings.
        for n in 0..70_000_u64 {
            let access = if n % 3 == 0 { Access::ReadOnly } else { Access::ReadWrite };
            let address = memory.map(None, 8, access).unwrap();
            memory.write(address, &n.to_le_bytes()).unwrap();
            addresses.push((address, access));
            // Each has two borders; the first that finds too many makes memory coarse.
            assert_eq!(memory.is_coarse(), 2 * n + 2 > MOST_BORDERS as u64, "{n}");
        }
        // The window's guards, both pages at its end, and what lies between.
        assert!(mappings(&memory).len() <= 4, "{:?}", mappings(&memory));
        for (n, &(address, access)) in (0..).zip(&addresses) {
            // One page for each, and one without rights behind it.
            assert_eq!(address, 0x1_0000 + 0x2000 * n);
            assert_eq!(memory.load(address, 8).unwrap(), n);
            assert_eq!(memory.store(address, 8, n).is_ok(), access == Access::ReadWrite);
            assert!(memory.load(address + 0x1000, 1).is_err());
        }
        // A place that becomes free is found, and holds zeros.
        memory.unmap(addresses[7].0).unwrap();
        assert!(memory.load(addresses[7].0, 1).is_err());
        assert_eq!(memory.map(None, 4096, Access::ReadWrite).unwrap(), addresses[7].0);
        assert_eq!(memory.load(addresses[7].0, 8).unwrap(), 0);
        // Beyond both ends, and in other reserved ranges.
        for at in [0x1000, 0x9_0000_0000, 0xffff_8000_0010_0000, 0x1234_ffff_f000] {
            memory.map(Some(at), 16, Access::ReadWrite).unwrap();
            memory.store(at, 8, 5).unwrap();
            assert_eq!(memory.load(at, 8).unwrap(), 5);
            assert!(memory.load(at + 0x1000, 1).is_err());
            memory.unmap(at).unwrap();
            assert!(memory.load(at, 1).is_err());
        }
        let mut bytes = [0; 16];
        memory.read(across, &mut bytes).unwrap();
        assert_eq!(bytes, [7; 16]);
        memory.unmap(across).unwrap();
        for &(address, _) in &addresses {
            memory.unmap(address).unwrap();
        }
        assert!(!memory.is_coarse() && memory.borders() == 0);
        let address = memory.map(None, 16, Access::ReadWrite).unwrap();
        assert_eq!((address, memory.load(address, 8).unwrap()), (0x1_0000, 0));
    }
}
