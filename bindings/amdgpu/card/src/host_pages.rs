//! Memory of the program that the card uses (USERPTR).
//!
//! The card's addresses can only be pages of the card's file, and the program's pages are its own. So such a buffer object has pages of the
//! file like others, and what the one side has changed is copied to the other: before a submission runs, and before its fence is signalled.
//! So what the program writes counts for what it submits afterwards, and it sees what the card has written when it has waited for the
//! fence. What it writes while a submission waits for its event is not seen by that submission, as it would be with a card. Bytes that
//! nobody has changed are not written, as other data of the program stands in the same pages.

use crate::fence::lock;
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Bytes that are compared at a time.
const COMPARED_BYTES: usize = 4096;

/// All of one open node.
#[derive(Debug, Default)]
pub(crate) struct HostPages {
    all: Mutex<BTreeMap<u32, Pages>>,
    count: AtomicUsize,
}

#[derive(Debug)]
struct Pages {
    /// The program's address.
    address: u64,
    /// Where in the card's file.
    offset: u64,
    /// What both sides had when they were last compared.
    agreed: Vec<u8>,
    /// Whether what the card writes stays its own.
    is_read_only: bool,
    /// The program's memory.
    memory: Arc<File>,
}

/// Where a buffer object's pages are.
pub(crate) struct PinnedPages {
    /// The program's address.
    pub address: u64,
    /// Where in the card's file.
    pub offset: u64,
    pub bytes: u64,
    /// Whether the card only reads them.
    pub is_read_only: bool,
}

/// Which side has changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// The program.
    Program,
    /// The card.
    Card,
}

impl HostPages {
    /// Adds the pages of a buffer object, which must be new. `open`: the program's memory.
    pub fn add(
        &self,
        handle: u32,
        open: impl FnOnce() -> Result<File, Errno>,
        place: PinnedPages,
    ) -> Result<(), Errno> {
        let PinnedPages { address, offset, bytes, is_read_only } = place;
        let bytes = usize::try_from(bytes).map_err(|_| Errno::NOMEM)?;
        let mut agreed = Vec::new();
        agreed.try_reserve_exact(bytes).map_err(|_| Errno::NOMEM)?;
        agreed.resize(bytes, 0);
        let mut all = lock(&self.all);
        let memory = match all.values().next() {
            Some(other) => other.memory.clone(),
            None => Arc::new(open()?),
        };
        let pages = Pages { address, offset, agreed, is_read_only, memory };
        all.insert(handle, pages);
        self.count.store(all.len(), Ordering::Release);
        Ok(())
    }

    /// Whether all pages of a buffer object can be read.
    ///
    /// # Errors
    /// EFAULT if not.
    pub fn validate(&self, handle: u32) -> Result<(), Errno> {
        let all = lock(&self.all);
        let pages = all.get(&handle).ok_or(Errno::NOENT)?;
        let is_there = |at: usize| pages.memory.read_exact_at(&mut [0], pages.address + at as u64).is_ok();
        if (0..pages.agreed.len()).step_by(COMPARED_BYTES).all(is_there) { Ok(()) } else { Err(Errno::FAULT) }
    }

    /// Whether a buffer object is of such pages.
    pub fn contains(&self, handle: u32) -> bool {
        lock(&self.all).contains_key(&handle)
    }

    /// Forgets a buffer object.
    pub fn remove(&self, handle: u32) {
        let mut all = lock(&self.all);
        all.remove(&handle);
        self.count.store(all.len(), Ordering::Release);
    }

    /// Copies what the one side has changed to the other.
    pub fn copy(&self, file: BorrowedFd<'_>, from: From) {
        if self.count.load(Ordering::Acquire) > 0 {
            lock(&self.all).values_mut().for_each(|pages| pages.copy(file, from));
        }
    }
}

impl Pages {
    fn copy(&mut self, file: BorrowedFd<'_>, from: From) {
        if from == From::Card && self.is_read_only {
            return;
        }
        let mut now = [0; COMPARED_BYTES];
        for (index, agreed) in self.agreed.chunks_mut(COMPARED_BYTES).enumerate() {
            let at = (index * COMPARED_BYTES) as u64;
            let (address, offset) = (self.address + at, self.offset + at);
            let now = &mut now[..agreed.len()];
            let is_read = match from {
                From::Program => self.memory.read_exact_at(now, address).is_ok(),
                From::Card => {
                    matches!(rustix::io::pread(file, &mut *now, offset), Ok(read) if read == now.len())
                }
            };
            // The program may have unmapped the page: then there is nothing to copy.
            if !is_read || now == agreed {
                continue;
            }
            for (place, changed) in differences(now, agreed) {
                let place = place as u64;
                // As above.
                let _ = match from {
                    From::Program => rustix::io::pwrite(file, changed, offset + place).map(|_| ()),
                    From::Card => {
                        self.memory.write_all_at(changed, address + place).map_err(|_| Errno::FAULT)
                    }
                };
            }
            agreed.copy_from_slice(now);
        }
    }
}

/// The runs of bytes that are others than before, and where they begin.
fn differences<'a>(now: &'a [u8], before: &'a [u8]) -> impl Iterator<Item = (usize, &'a [u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = at + (at..now.len()).position(|index| now[index] != before[index])?;
        at = (from..now.len()).find(|&index| now[index] == before[index]).unwrap_or(now.len());
        Some((from, &now[from..at]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;

    #[test]
    fn runs_of_changes() {
        let of = |now: &'static [u8], before: &'static [u8]| differences(now, before).collect::<Vec<_>>();
        assert!(of(b"", b"").is_empty() && of(b"abc", b"abc").is_empty());
        assert_eq!(of(b"Abcde", b"abcde"), [(0, &b"A"[..])]);
        assert_eq!(of(b"aBCdE", b"abcde"), [(1, &b"BC"[..]), (4, b"E")]);
    }

    /// Both sides change other bytes of a page at the same time, and neither loses any.
    #[test]
    fn both_sides_see_what_the_other_writes() {
        let file = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, 0x4000).unwrap();
        let card = |at: u64| {
            let mut byte = [0];
            rustix::io::pread(&file, &mut byte, at).unwrap();
            byte[0]
        };
        let memory: Vec<std::sync::atomic::AtomicU8> = (0..0x2000).map(|_| 0.into()).collect();
        let set = |at: usize, value: u8| memory[at].store(value, Ordering::Relaxed);
        let get = |at: usize| memory[at].load(Ordering::Relaxed);
        let own = || File::options().read(true).write(true).open("/proc/self/mem").map_err(|_| Errno::INVAL);
        let pages = HostPages::default();
        set(5, 7);
        set(0x1fff, 8);
        let place =
            |address, bytes, is_read_only| PinnedPages { address, offset: 0x1000, bytes, is_read_only };
        let address = memory.as_ptr().expose_provenance() as u64;
        pages.add(1, own, place(address, 0x2000, false)).unwrap();
        assert_eq!(pages.validate(1), Ok(()));
        pages.copy(file.as_fd(), From::Program);
        assert_eq!([card(0x1005), card(0x1006), card(0x2fff)], [7, 0, 8]);
        // The card changes a byte, and before that is copied the program another.
        rustix::io::pwrite(&file, &[9], 0x1006).unwrap();
        set(7, 10);
        pages.copy(file.as_fd(), From::Program);
        assert_eq!([card(0x1006), card(0x1007), get(6)], [9, 10, 0]);
        set(8, 11);
        pages.copy(file.as_fd(), From::Card);
        assert_eq!([get(5), get(6), get(7), get(8)], [7, 9, 10, 11]);
        pages.copy(file.as_fd(), From::Program);
        assert_eq!(card(0x1008), 11);
        pages.remove(1);
        set(5, 1);
        pages.copy(file.as_fd(), From::Program);
        assert_eq!(card(0x1005), 7);
        // What the card writes stays its own.
        pages.add(3, own, place(address, 0x1000, true)).unwrap();
        pages.copy(file.as_fd(), From::Program);
        rustix::io::pwrite(&file, &[12], 0x1009).unwrap();
        pages.copy(file.as_fd(), From::Card);
        assert_eq!([card(0x1005), card(0x1009), get(9)], [1, 12, 0]);
        pages.remove(3);
        set(5, 7);
        rustix::io::pwrite(&file, &[7], 0x1005).unwrap();
        // Nothing is mapped there.
        pages.add(2, own, place(0x1000, 0x1000, false)).unwrap();
        assert_eq!(pages.validate(2), Err(Errno::FAULT));
        pages.copy(file.as_fd(), From::Program);
        pages.copy(file.as_fd(), From::Card);
        assert_eq!(card(0x1005), 7);
    }
}
