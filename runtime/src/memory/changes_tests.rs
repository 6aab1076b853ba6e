//! Tests changes of guest memory beside accesses and callbacks, and memory of the host in its forms.

#![allow(clippy::single_range_in_vec_init, reason = "lists of ranges are what is compared")]

use super::permits::Changes;
use super::reservation::{Rights, refusals};
use super::tests::mappings;
use super::tracked::write_to_clean;
use super::*;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex as Lock;
use std::sync::atomic::AtomicU64;

const PAGE: u64 = PAGE_BYTES;
const AT: u64 = 0x100_0000;

fn memory() -> Memory {
    Memory::new().unwrap()
}

/// A file in memory whose pages begin with 1, 2 and so on.
fn numbered_pages(count: u64) -> OwnedFd {
    let file = memfd_create("warpjit-test", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&file, count * PAGE).unwrap();
    for page in 0..count {
        rustix::io::pwrite(&file, &(page + 1).to_le_bytes(), page * PAGE).unwrap();
    }
    file
}

/// Host addresses, unmapped when dropped.
struct Host {
    start: *mut u8,
    bytes: usize,
}

impl Host {
    fn new(pages: u64) -> Host {
        let bytes = (pages * PAGE) as usize;
        // SAFETY: a new mapping.
        let start = unsafe {
            mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        };
        Host { start: start.unwrap().cast(), bytes }
    }

    /// Shows a page of a file in a page.
    fn show(&self, page: u64, file: &OwnedFd, of: u64) {
        let place = self.start.wrapping_add((page * PAGE) as usize).cast();
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: within the own mapping.
        unsafe { mmap(place, PAGE as usize, prot, MapFlags::SHARED | MapFlags::FIXED, file, of * PAGE) }
            .unwrap();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // SAFETY: made by `new`.
        unsafe { munmap(self.start.cast(), self.bytes) }.unwrap();
    }
}

#[test]
fn no_store_is_lost_when_memory_becomes_coarse() {
    let memory = memory();
    let buffers: Vec<u64> = (0..4000).map(|_| memory.map(None, 8, Access::ReadWrite).unwrap()).collect();
    let (lost, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for of in 0..2 {
            let (memory, buffers, lost, done) = (&memory, &buffers, &lost, &done);
            scope.spawn(move || {
                let own: Vec<u64> = buffers.iter().copied().skip(of).step_by(2).collect();
                for n in 1.. {
                    for &at in &own {
                        memory.store(at, 8, n).unwrap();
                    }
                    for &at in &own {
                        let found = memory.load(at, 8).unwrap();
                        lost.fetch_add(u64::from(found != n), Ordering::SeqCst);
                    }
                    if done.load(Ordering::SeqCst) {
                        break;
                    }
                }
            });
        }
        memory.add_borders(MOST_BORDERS as isize);
        // It may be refused as often as somebody is at work.
        while !memory.is_coarse() {
            let _ = memory.map(None, 8, Access::ReadWrite);
        }
        done.store(true, Ordering::SeqCst);
    });
    assert_eq!(lost.load(Ordering::SeqCst), 0);
}

#[test]
fn memory_becomes_coarse_only_while_nobody_uses_it() {
    let memory = memory();
    memory.map(Some(AT), 8, Access::ReadWrite).unwrap();
    memory.add_borders(MOST_BORDERS as isize);
    let held = memory.hold();
    assert!(memory.map(None, 8, Access::ReadWrite).is_err() && !memory.is_coarse());
    drop(held);
    memory.map(None, 8, Access::ReadWrite).unwrap();
    assert!(memory.is_coarse());
}

#[test]
fn host_memory_of_several_mappings() {
    let file = numbered_pages(4);
    let host = Host::new(4);
    // Neither in the file's order nor of one file's pages alone.
    let other = numbered_pages(9);
    [(0, &file, 2), (1, &file, 0), (2, &other, 8), (3, &file, 1)]
        .iter()
        .for_each(|&(page, file, of)| host.show(page, file, of));
    let memory = memory();
    // SAFETY: mapped until the memory is dropped.
    let at = unsafe { memory.map_host(None, host.start, 4 * PAGE, Access::ReadWrite) }.unwrap();
    let firsts: Vec<u64> = (0..4).map(|page| memory.load(at + page * PAGE, 8).unwrap()).collect();
    assert_eq!(firsts, [3, 1, 9, 2]);
    assert!(!memory.is_careful(), "second mappings of all");
    memory.store(at + 2 * PAGE, 8, 77).unwrap();
    let mut word = [0; 8];
    rustix::io::pread(&other, &mut word, 8 * PAGE).unwrap();
    assert_eq!(u64::from_le_bytes(word), 77);
    // So does an alias of it.
    let alias = memory.map_alias(None, at + PAGE, 2 * PAGE, Access::ReadWrite).unwrap();
    assert_eq!((memory.load(alias, 8).unwrap(), memory.load(alias + PAGE, 8).unwrap()), (1, 77));
}

#[test]
fn host_memory_that_is_shared_in_part() {
    let host = Host::new(2);
    host.show(0, &numbered_pages(3), 0);
    let memory = memory();
    // SAFETY: mapped until the memory is dropped.
    let at = unsafe { memory.map_host(None, host.start, 2 * PAGE, Access::ReadWrite) }.unwrap();
    // SAFETY: the second page of the mapping.
    unsafe { host.start.wrapping_add(PAGE as usize).cast::<u64>().write_volatile(5) };
    assert_eq!((memory.load(at, 8).unwrap(), memory.load(at + PAGE, 8).unwrap()), (1, 5));
    assert!(memory.is_careful(), "where it is");
}

#[test]
fn private_files_have_aliases() {
    let file = numbered_pages(2);
    let memory = memory();
    let at =
        memory.map_file(None, file.as_fd(), 0, 2 * PAGE, Access::ReadWrite, FileSharing::Private).unwrap();
    let alias = memory.map_alias(None, at + PAGE, PAGE, Access::ReadWrite).unwrap();
    assert_eq!(memory.load(alias, 8).unwrap(), 2);
    memory.store(alias, 8, 6).unwrap();
    assert_eq!(memory.load(at + PAGE, 8).unwrap(), 6);
}

#[test]
fn stores_to_clean_pages_go_on_without_room_for_mappings() {
    let memory = memory();
    memory.map(Some(AT), 8 * PAGE, Access::ReadWrite).unwrap();
    let all = AT..AT + 8 * PAGE;
    memory.take_dirty(all.clone()).unwrap();
    // The system refuses to divide the mapping, but takes all of it.
    let (stored, calls) = refusals::during(0..1, || memory.store(AT + 3 * PAGE, 8, 1));
    stored.unwrap();
    assert_eq!(calls, 2);
    assert_eq!(memory.take_dirty(all.clone()).unwrap(), std::slice::from_ref(&all));
    // What it refuses to make clean counts as written again; nothing is lost.
    memory.store(AT, 8, 1).unwrap();
    memory.store(AT + 4 * PAGE, 8, 1).unwrap();
    let (taken, _) = refusals::during(1..2, || memory.take_dirty(all.clone()));
    let pages = [AT..AT + PAGE, AT + 4 * PAGE..AT + 5 * PAGE];
    assert_eq!(taken.unwrap(), pages);
    assert_eq!(memory.take_dirty(all.clone()).unwrap(), [pages[1].clone()]);
    memory.store(AT + 4 * PAGE, 8, 2).unwrap();
    assert_eq!(memory.take_dirty(all).unwrap(), [pages[1].clone()]);
}

#[test]
fn only_what_is_mapped_is_looked_at_for_stores() {
    let memory = memory();
    let far = WINDOW_BYTES.min(memory.window_bytes()) - PAGE;
    for at in [AT, AT + 16, far] {
        memory.map(Some(at), 16, Access::ReadWrite).unwrap();
    }
    let pages = [AT..AT + PAGE, far..far + PAGE];
    assert_eq!(memory.take_dirty(0..far + PAGE).unwrap(), pages);
    assert_eq!(memory.take_dirty(0..far + PAGE).unwrap(), []);
    #[expect(clippy::reversed_empty_ranges, reason = "nothing is in it")]
    let nothing = 2 * PAGE..PAGE;
    assert_eq!(memory.take_dirty(nothing).unwrap(), []);
}

#[test]
fn stores_are_recorded_outside_the_window() {
    let memory = memory();
    // In two slabs, side by side.
    let border = 0x1234_0000_0000_u64;
    memory.map(Some(border - 2 * PAGE), 4 * PAGE, Access::ReadWrite).unwrap();
    let all = border - 2 * PAGE..border + 2 * PAGE;
    let taken = || memory.take_dirty(all.clone()).unwrap();
    assert_eq!(taken(), std::slice::from_ref(&all));
    assert_eq!(taken(), []);
    memory.store(border - 4, 8, 1).unwrap();
    assert_eq!(taken(), [border - PAGE..border + PAGE]);
    memory.mark_dirty(border..border + 1).unwrap();
    assert_eq!(taken(), [border..border + PAGE]);
}

#[test]
fn no_part_has_pages_of_others_and_of_the_space() {
    let reservation = Reservation::near(1 << 32).unwrap();
    let changes = Arc::new(Changes::new());
    let space = Space::new(reservation, 0, Some(AT + 2 * PAGE..AT + 4 * PAGE), changes).unwrap();
    let parts = |first: u64, last: u64| {
        let mut parts = Vec::new();
        space.each_tracked(first, last, |at, host, pages, tracked| {
            assert_eq!(host.addr() as u64, space.window().base().addr() as u64 + at);
            parts.push((at, at + pages.len() as u64 * PAGE_BYTES, tracked.is_some()));
        });
        parts
    };
    let (before, own, behind) = (AT, AT + 2 * PAGE, AT + 4 * PAGE);
    assert_eq!(parts(before, own), [(before, own, false)]);
    // Nothing is recorded yet: a store there is not the space's.
    assert!(!space.tracks_writes());
    let all = [(before, own, false), (own, behind, true), (behind, behind + PAGE, false)];
    assert_eq!(parts(before, behind + PAGE), all);
    assert_eq!(parts(own + PAGE, behind), [(own + PAGE, behind, true)]);
    assert_eq!(parts(behind, behind + PAGE), [(behind, behind + PAGE, false)]);
    // The handler takes stores to pages of the space only, whatever the table says of others.
    space.set_pages(before, behind + PAGE, PAGE_READ | PAGE_WRITE);
    space.map(before, behind + PAGE - before, Rights::Read).unwrap();
    let host = |at: u64| space.window().base().addr() + at as usize;
    assert!([before, own - 1, behind].iter().all(|&at| !write_to_clean(host(at))));
    assert!([own, behind - 1].iter().all(|&at| write_to_clean(host(at))));
}

/// Maps something when it is stored to.
struct Maps(Lock<Option<Memory>>, AtomicU64);

impl Device for Maps {
    fn load(&self, _: u64, _: u8) -> u64 {
        7
    }

    fn store(&self, offset: u64, bytes: u8, value: u64) {
        let memory = self.0.lock().unwrap();
        if offset.is_multiple_of(PAGE) {
            memory.as_ref().unwrap().map(None, 16, Access::ReadWrite).unwrap();
        }
        assert_eq!((offset < 2 * PAGE, bytes), (true, 1));
        self.1.fetch_add(value, Ordering::SeqCst);
    }
}

#[test]
fn devices_that_the_host_writes_may_use_the_memory() {
    let memory = memory();
    let device = Arc::new(Maps(Lock::new(Some(memory.clone())), AtomicU64::new(0)));
    // Between memory that the guest may only read.
    memory.map(Some(AT), PAGE, Access::ReadOnly).unwrap();
    memory.map_device(Some(AT + PAGE), 2 * PAGE, device.clone()).unwrap();
    memory.map(Some(AT + 3 * PAGE), PAGE, Access::ReadOnly).unwrap();
    memory.write(AT, &vec![1; 4 * PAGE as usize]).unwrap();
    assert_eq!(device.1.load(Ordering::SeqCst), 2 * PAGE);
    for at in [AT, AT + PAGE - 8, AT + 3 * PAGE, AT + 4 * PAGE - 8] {
        assert_eq!(memory.load(at, 8).unwrap(), 0x0101_0101_0101_0101);
    }
    assert!(memory.write(AT, &vec![2; 5 * PAGE as usize]).is_err());
    assert_eq!(memory.load(AT, 8).unwrap(), 0x0101_0101_0101_0101, "nothing of it is written");
    *device.0.lock().unwrap() = None;
}

/// Whether nothing of the process is in a page.
fn is_free(at: u64) -> bool {
    let place = std::ptr::without_provenance_mut(at as usize);
    let flags = MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE;
    // SAFETY: a new mapping that replaces none, and goes at once.
    unsafe {
        let mapped = mmap_anonymous(place, PAGE as usize, ProtFlags::empty(), flags);
        mapped.map(|place| munmap(place, PAGE as usize).unwrap()).is_ok()
    }
}

#[test]
fn addresses_of_the_host_stay_taken_while_somebody_may_be_on_the_way() {
    let memory = Memory::with(&MemoryOptions::new().identity()).unwrap();
    let at = memory.map(None, PAGE, Access::ReadWrite).unwrap();
    let held = memory.hold();
    memory.unmap(at).unwrap();
    assert!(memory.load(at, 4).is_err());
    assert!(!is_free(at));
    assert_eq!(memory.0.state.lock().left, [(at, PAGE)]);
    drop(held);
    memory.map(None, PAGE, Access::ReadWrite).unwrap();
    assert_eq!(memory.0.state.lock().left, []);
}

#[test]
fn addresses_of_the_host_that_stay_taken_can_be_mapped_again() {
    let memory = Memory::with(&MemoryOptions::new().identity()).unwrap();
    // The system puts nothing here by itself. Of eight pages the space keeps the first, the third and the fourth.
    let at = 0x2a00_0000_0000;
    memory.map(Some(at), PAGE, Access::ReadWrite).unwrap();
    memory.map(Some(at + 2 * PAGE), 2 * PAGE, Access::ReadWrite).unwrap();
    memory.write(at + 2 * PAGE, &[7; 2 * PAGE as usize]).unwrap();
    let held = memory.hold();
    memory.unmap(at).unwrap();
    memory.unmap(at + 2 * PAGE).unwrap();
    let left = || memory.0.state.lock().left.clone();
    assert_eq!(left(), [(at, PAGE), (at + 2 * PAGE, 2 * PAGE)]);

    // Part of it is somebody else's: nothing changes.
    let place = std::ptr::without_provenance_mut((at + 4 * PAGE) as usize);
    let flags = MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE;
    // SAFETY: a new mapping that replaces none.
    let theirs = unsafe { mmap_anonymous(place, PAGE as usize, ProtFlags::READ, flags) }.unwrap();
    assert!(memory.map(Some(at), 6 * PAGE, Access::ReadWrite).is_err());
    assert_eq!(left(), [(at, PAGE), (at + 2 * PAGE, 2 * PAGE)]);
    assert!(is_free(at + PAGE) && !is_free(at + 4 * PAGE) && is_free(at + 5 * PAGE));

    // Of what is held, and of what is free between, around a page that stays held.
    assert_eq!(memory.map(Some(at), 3 * PAGE, Access::ReadWrite).unwrap(), at);
    assert_eq!(left(), [(at + 3 * PAGE, PAGE)]);
    for page in 0..3 {
        assert_eq!(memory.load(at + page * PAGE, 8).unwrap(), 0, "fresh memory is zero");
        memory.store(at + page * PAGE, 8, page + 1).unwrap();
        assert_eq!(memory.load(at + page * PAGE, 8).unwrap(), page + 1);
    }
    assert!(memory.load(at + 3 * PAGE, 4).is_err());
    drop(held);
    memory.unmap(at).unwrap();
    assert_eq!(left(), []);
    // SAFETY: the test's own mapping.
    unsafe { munmap(theirs, PAGE as usize) }.unwrap();
    assert!((0..8).all(|page| is_free(at + page * PAGE)));
}

/// Notes pages.
#[derive(Default)]
struct Noted(Lock<Vec<u64>>);

impl WriteWatch for Noted {
    fn before_write(&self, page: u64) {
        self.0.lock().unwrap().push(page);
    }
}

#[test]
fn watches_go_with_their_pages() {
    let memory = memory();
    let watch = Arc::new(Noted::default());
    for _ in 0..3 {
        memory.map(Some(AT), 3 * PAGE, Access::ReadWrite).unwrap();
        memory.watch_writes(AT..AT + 3 * PAGE, Some(watch.clone())).unwrap();
        memory.watch_writes(AT + PAGE..AT + 2 * PAGE, None).unwrap();
        assert_eq!(memory.0.space.watched_count(), 2);
        memory.unmap(AT).unwrap();
        assert_eq!(memory.0.space.watched_count(), 0);
    }
    assert_eq!(Arc::strong_count(&watch), 1);
}

#[test]
fn what_is_watched_and_clean_can_be_written() {
    let memory = memory();
    let watch = Arc::new(Noted::default());
    memory.map(Some(AT), 4 * PAGE, Access::ReadWrite).unwrap();
    let all = AT..AT + 4 * PAGE;
    memory.take_dirty(all.clone()).unwrap();
    memory.store(AT + 3 * PAGE, 4, 1).unwrap();
    memory.watch_writes(all.clone(), Some(watch.clone())).unwrap();
    // A page that was written before it was watched.
    assert_eq!(memory.take_dirty(all.clone()).unwrap(), [AT + 3 * PAGE..AT + 4 * PAGE]);
    // The host's copies are no guest's stores, but they are stores.
    memory.write(AT, &[1; 16]).unwrap();
    assert_eq!(*watch.0.lock().unwrap(), []);
    memory.store(AT + PAGE, 4, 1).unwrap();
    assert_eq!(*watch.0.lock().unwrap(), [AT + PAGE]);
    assert_eq!(memory.take_dirty(all).unwrap(), [AT..AT + 2 * PAGE]);
}

#[test]
fn ignored_bits_are_ignored_everywhere() {
    let memory = Memory::with(&MemoryOptions::new().ignore_high_bits(32)).unwrap();
    // At an address that no access can name, and at the one that is seen instead.
    let (hidden, seen) = (0x1_0000_0000 + AT, AT);
    for at in [hidden, seen] {
        memory.map(Some(at), PAGE, Access::ReadWrite).unwrap();
    }
    memory.store(hidden, 8, 2).unwrap();
    assert_eq!(memory.load(hidden, 8).unwrap(), 2);
    assert_eq!(memory.load(seen, 8).unwrap(), 2);
    // Also where pages must be made writable first.
    memory.protect(seen..seen + PAGE, Access::ReadOnly).unwrap();
    memory.write(0xabcd_0000_0000_0000 | seen, &[9; 8]).unwrap();
    assert_eq!(memory.load(seen, 1).unwrap(), 9);
}

/// Mends nothing.
struct Mends;

impl Pager for Mends {
    fn page_fault(&self, _: &Memory, _: &PageFault) -> bool {
        false
    }
}

#[test]
fn a_range_of_the_embedder_has_no_pager() {
    let bytes = 1 << 32;
    let whole = bytes as usize + 2 * GUARD_BYTES as usize;
    // SAFETY: a new mapping.
    let start = unsafe {
        mmap_anonymous(
            std::ptr::null_mut(),
            whole,
            ProtFlags::empty(),
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        )
    }
    .unwrap();
    let base = start.wrapping_byte_add(GUARD_BYTES as usize).cast();
    // SAFETY: reserved, with its guards, until the memory is dropped.
    let memory = unsafe { Memory::over(base, bytes) }.unwrap();
    assert!(memory.set_pager(Some(Arc::new(Mends))).is_err());
    drop(memory);
    // SAFETY: as above; nobody uses it any more.
    unsafe { munmap(start, whole) }.unwrap();
}

#[test]
fn neighbours_of_pages_with_other_rights() {
    let memory = memory();
    memory.map(Some(AT), 2 * PAGE + 16, Access::ReadWrite).unwrap();
    memory.protect(AT + 2 * PAGE..AT + 3 * PAGE, Access::ReadOnly).unwrap();
    for access in [Access::ReadWrite, Access::ReadOnly] {
        assert!(memory.map(Some(AT + 2 * PAGE + 32), 2 * PAGE, access).is_err(), "{access:?}");
    }
    // The table of page rights says what the host allows.
    for (first, last, reads, writes) in mappings(&memory) {
        for at in (first..last).step_by(PAGE as usize).filter(|at| (AT..AT + 6 * PAGE).contains(at)) {
            let flags = memory.page_flags(at);
            assert_eq!((reads, writes), (flags & PAGE_READ != 0, flags & PAGE_WRITE != 0), "{at:#x}");
        }
    }
    memory.protect(AT + 2 * PAGE..AT + 3 * PAGE, Access::ReadWrite).unwrap();
    memory.map(Some(AT + 2 * PAGE + 32), 2 * PAGE, Access::ReadWrite).unwrap();
}
