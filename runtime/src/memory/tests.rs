//! Tests of guest memory: mapping, rights, sharing of pages, accesses.

use super::reservation::HUGE_BYTES;
use super::tracked::write_to_clean;
use super::*;
use warpjit_ir::AtomicOp;

impl Memory {
    pub(super) fn borders(&self) -> usize {
        self.0.state.lock().borders
    }

    pub(super) fn add_borders(&self, more: isize) {
        let mut state = self.0.state.lock();
        state.borders = state.borders.strict_add_signed(more);
    }

    pub(super) fn page_flags(&self, address: u64) -> u8 {
        self.0.space.page_flags(address)
    }

    pub(super) fn retained_pages(&self) -> Vec<(u64, u64)> {
        self.edit(|edit| Ok(edit.retained_pages().map(|(pages, _)| pages).collect())).unwrap()
    }

    pub(super) fn retained_bytes(&self) -> u64 {
        self.0.state.lock().retained.bytes()
    }
}

fn memory() -> Memory {
    Memory::new().expect("reservation")
}

/// The system's mappings of a window's pages: first address, end, whether they can be read and written.
pub(super) fn mappings(memory: &Memory) -> Vec<(u64, u64, bool, bool)> {
    let base = memory.base() as u64;
    let window = base..base + memory.window_bytes();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut found = Vec::new();
    for line in maps.lines() {
        let (range, rest) = line.split_once(' ').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let [start, end] = [start, end].map(|at| u64::from_str_radix(at, 16).unwrap());
        if start < window.end && end > window.start {
            let guest = |at: u64| at.clamp(window.start, window.end) - base;
            found.push((guest(start), guest(end), rest.starts_with('r'), rest[1..].starts_with('w')));
        }
    }
    found
}

#[test]
fn maps_reads_and_writes() {
    let memory = memory();
    let a = memory.map(None, 100, Access::ReadWrite).unwrap();
    let b = memory.map(None, 10_000, Access::ReadOnly).unwrap();
    assert!(a >= FIRST_ADDRESS && a.is_multiple_of(PAGE_BYTES) && b.is_multiple_of(PAGE_BYTES));
    assert!(b >= a + 2 * PAGE_BYTES, "a page without rights stands between buffers");
    let data: Vec<u8> = (0..=255).cycle().take(9_990).collect();
    memory.write(b + 7, &data).unwrap();
    let mut out = vec![0; 9_990];
    memory.read(b + 7, &mut out).unwrap();
    assert_eq!(out, data);
    assert_eq!(memory.load(b + 8, 4).unwrap(), u64::from(u32::from_le_bytes([1, 2, 3, 4])));
    assert_eq!(memory.load(b + 7, 8).unwrap(), u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7]));
}

#[test]
fn guest_rights() {
    let memory = memory();
    let b = memory.map(Some(0x10_0000), 4096, Access::ReadOnly).unwrap();
    assert_eq!(memory.store(b, 4, 1), Err(Denied { address: b, store: true, mapped: true }));
    assert_eq!(memory.load(b + 4094, 4), Err(Denied { address: b + 4096, store: false, mapped: false }));
    assert_eq!(memory.load(b - 2, 4), Err(Denied { address: b - 2, store: false, mapped: false }));
    assert!(memory.update32(b, |old| old + 1).is_err());
    assert!(memory.load(u64::MAX - 3, 8).is_err());
    assert!([1, 2, 4, 8].iter().all(|&bytes| memory.load(u64::MAX, bytes).is_err()));
    assert!(memory.update32(u64::MAX, |old| old).is_err());
    assert!([4, 8].iter().all(|&bytes| memory.atomic(u64::MAX, bytes, AtomicOp::Add, 0, 0).is_err()));
    assert!(memory.load(WINDOW_BYTES - 4, 8).is_err());
    assert_eq!(memory.load(0, 4).unwrap_err().to_string(), "load from 0x0 is not mapped");
    assert_eq!(memory.store(b, 1, 0).unwrap_err().to_string(), "store to 0x100000 is read-only");
}

#[test]
fn last_bytes_of_the_space() {
    let memory = memory();
    let at = memory.map(Some(WINDOW_BYTES - 4096), 4096, Access::ReadWrite).unwrap();
    memory.store(at + 4088, 8, 0x1122_3344_5566_7788).unwrap();
    assert_eq!(memory.load(at + 4092, 4).unwrap(), 0x1122_3344);
    assert_eq!(memory.load(at + 4092, 8).unwrap_err().address, WINDOW_BYTES);
}

#[test]
fn refuses_bad_buffers() {
    let memory = memory();
    let text = |result: Result<u64, Error>| result.unwrap_err().to_string();
    assert_eq!(
        text(memory.map(None, 0, Access::ReadWrite)),
        "guest memory: a buffer needs at least one byte"
    );
    assert_eq!(
        text(memory.map(Some(0x7fff_ffff_f000), 0x1001, Access::ReadWrite)),
        "guest memory: buffer of 0x1001 bytes at 0x7ffffffff000 does not lie in sign-extended addresses of 48 bits \
         (the last 64 KiB of these cannot be mapped)"
    );
    assert!(text(memory.map(Some(u64::MAX), 2, Access::ReadWrite)).contains("does not lie"));
    assert_eq!(
        text(memory.map(None, 1 << 32, Access::ReadWrite)),
        "guest memory: no room for a buffer of 0x100000000 bytes in 32-bit addresses"
    );
    assert!(text(memory.map(None, u64::MAX, Access::ReadWrite)).contains("no room"));
    assert_eq!(
        text(memory.map(Some(1 << 41), 1 << 46, Access::ReadWrite)),
        "guest memory: buffer of 0x400000000000 bytes at 0x20000000000 is too large: 0x10000000000 is the most"
    );
    assert!(!memory.needs_translation());
    memory.map(Some(0x20_0000), 0x1000, Access::ReadWrite).unwrap();
    assert_eq!(
        text(memory.map(Some(0x1f_fff0), 0x11, Access::ReadWrite)),
        "guest memory: buffer at 0x1ffff0..0x200001 overlaps the one at 0x200000..0x201000"
    );
    assert_eq!(memory.unmap(4).unwrap_err().to_string(), "guest memory: no buffer begins at 0x4");
    assert_eq!(
        memory.read(0x20_0ff0, &mut [0; 32]).unwrap_err().to_string(),
        "guest memory: read of 32 bytes at 0x200ff0: load from 0x201000 is not mapped"
    );
    assert!(memory.write(0x1f_ffff, &[1, 2]).is_err());
}

#[test]
fn buffers_share_a_page() {
    let memory = memory();
    let a = memory.map(Some(0x30_0010), 0x20, Access::ReadWrite).unwrap();
    memory.store(0x30_0040, 4, 7).unwrap();
    memory.write(a, &[9; 0x20]).unwrap();
    // A neighbour starts with zeros and leaves the first one alone.
    let b = memory.map(Some(0x30_0040), 0x2000, Access::ReadWrite).unwrap();
    assert_eq!(memory.load(b, 4).unwrap(), 0);
    assert_eq!(memory.load(a, 1).unwrap(), 9);
    memory.store(b + 0x1ff0, 4, 5).unwrap();
    assert!(
        memory.map(Some(0x30_0000), 8, Access::ReadOnly).unwrap_err().to_string().contains("other access")
    );
    memory.unmap(a).unwrap();
    assert_eq!(memory.load(b + 0x1ff0, 4).unwrap(), 5);
    assert!(memory.load(0x30_0010, 1).is_ok(), "the page is still there for the other");
    memory.unmap(b).unwrap();
    assert!(memory.load(b, 1).is_err());
    assert_eq!(memory.buffers().count(), 0);
    // Contents do not survive.
    let b = memory.map(Some(0x30_0040), 0x2000, Access::ReadWrite).unwrap();
    assert_eq!(memory.load(b + 0x1ff0, 4).unwrap(), 0);
}

#[test]
fn only_pages_of_neighbours_are_cleared() {
    let memory = memory();
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap().to_owned();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let (start, bytes) = (0x30_0040, 1 << 33);
    let end = start + bytes;
    // Neighbours on both sides, which have written into the pages that they share with it.
    memory.map(Some(0x30_0010), 0x20, Access::ReadWrite).unwrap();
    memory.map(Some(end + 0x10), 0x20, Access::ReadWrite).unwrap();
    for at in [start, 0x30_0ff8, end & !0xfff, end - 8] {
        memory.store(at, 8, u64::MAX).unwrap();
    }
    let before = resident();
    memory.map(Some(start), bytes, Access::ReadWrite).unwrap();
    for at in [start, 0x30_0ff8, 0x30_1000, start + (bytes >> 1), end & !0xfff, end - 8] {
        assert_eq!(memory.load(at, 8).unwrap(), 0, "{at:#x}");
    }
    // Not eight gigabytes, byte by byte; the table of rights is a few megabytes.
    assert!(resident() < before + (64 << 10));
}

#[test]
fn room_is_reused() {
    let memory = memory();
    let a = memory.map(None, 4096, Access::ReadWrite).unwrap();
    let b = memory.map(None, 4096, Access::ReadWrite).unwrap();
    memory.unmap(a).unwrap();
    assert_eq!(memory.map(None, 4096, Access::ReadWrite).unwrap(), a);
    assert!(memory.map(None, 4097, Access::ReadWrite).unwrap() > b);
}

#[test]
fn low_addresses_are_never_handed_out() {
    let memory = memory();
    for (at, bytes) in [(0, 0x2_0000), (0x1000, 0x2000), (0x3000, 0x10_0000), (0xf000, 0x1000)] {
        memory.map(Some(at), bytes, Access::ReadWrite).unwrap();
        memory.unmap(at).unwrap();
        assert_eq!(memory.map(None, 4096, Access::ReadWrite).unwrap(), FIRST_ADDRESS);
        memory.unmap(FIRST_ADDRESS).unwrap();
    }
}

#[test]
fn large_buffers_begin_where_huge_pages_may() {
    let memory = memory();
    let huge = HUGE_BYTES as u64;
    let small = memory.map(None, 4096, Access::ReadWrite).unwrap();
    let large = memory.map(None, huge + 1, Access::ReadWrite).unwrap();
    let next = memory.map(None, huge, Access::ReadOnly).unwrap();
    assert_eq!((small, large, next), (FIRST_ADDRESS, huge, 3 * huge));
    // Small ones still go where there is room.
    assert_eq!(memory.map(None, 4096, Access::ReadWrite).unwrap(), FIRST_ADDRESS + 2 * memory.0.host_page);
    // Where no multiple is left, any page will do.
    let end = 1 << 32;
    for at in (5 * huge..end).step_by(HUGE_BYTES) {
        memory.map(Some(at), 4096, Access::ReadWrite).unwrap();
    }
    memory.unmap(end - huge).unwrap();
    let last = memory.map(None, 2 * huge - 4 * memory.0.host_page, Access::ReadWrite).unwrap();
    assert_eq!(last, end - 2 * huge + 2 * memory.0.host_page);
}

#[test]
fn updates_are_atomic() {
    let memory = memory();
    let at = memory.map(None, 16, Access::ReadWrite).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    memory.update32(at, |old| old + 1).unwrap();
                    memory.atomic(at + 8, 8, AtomicOp::Add, 1 << 32, 0).unwrap();
                }
            });
        }
    });
    assert_eq!(memory.load(at, 4).unwrap(), 4000);
    assert_eq!(memory.load(at + 8, 8).unwrap(), 4000 << 32);
}

/// Places all over the address space: both ends of both halves, and on both sides of multiples of 4 GiB and of the window's end.
const FAR: [u64; 7] = [
    0xffff_8000_0000_0000,
    0xffff_8000_0010_0000,
    0x7fff_ffff_0000,
    0xffff_ffff_fffe_0000,
    WINDOW_BYTES - 0x1000,
    0xffff_9000_ffff_f000,
    0x1234_ffff_f000,
];

#[test]
fn memory_anywhere_in_the_space() {
    let memory = memory();
    for at in FAR {
        let before = memory.needs_translation();
        assert_eq!(memory.map(Some(at), 0x2000, Access::ReadWrite).unwrap(), at);
        assert!(memory.needs_translation());
        // A word across the page in the middle, which is across host memory where that ends.
        let data: Vec<u8> = (0..=255).cycle().take(0x2000).collect();
        memory.write(at, &data).unwrap();
        let mut out = vec![0; 0x2000];
        memory.read(at, &mut out).unwrap();
        assert_eq!(out, data);
        let wanted = u64::from_le_bytes([0xfd, 0xfe, 0xff, 0, 1, 2, 3, 4]);
        assert_eq!(memory.load(at + 0xffd, 8).unwrap(), wanted, "{at:#x}");
        memory.store(at + 0xffe, 4, 0x4433_2211).unwrap();
        assert_eq!(memory.load(at + 0xffc, 8).unwrap(), 0x0302_4433_2211_fdfc);
        assert_eq!(memory.atomic(at + 0x1000, 4, AtomicOp::Add, 1, 0).unwrap(), 0x0302_4433);
        assert_eq!(memory.load(at + 0x1000, 4).unwrap(), 0x0302_4434);
        assert_eq!(memory.load(at + 0x1ffd, 4).unwrap_err().address, at + 0x2000);
        assert_eq!(memory.load(at.wrapping_sub(1), 1).unwrap_err().address, at.wrapping_sub(1));
        memory.unmap(at).unwrap();
        assert!(memory.load(at + 0xff0, 1).is_err());
        assert_eq!(memory.needs_translation(), before);
    }
}

#[test]
fn translations() {
    let memory = memory();
    let bounce = std::sync::atomic::AtomicU64::new(0);
    for at in FAR {
        memory.map(Some(at), 0x2000, Access::ReadWrite).unwrap();
        // In one reserved range: the address itself.
        memory.store(at + 0x10, 4, 0x1234_5678).unwrap();
        assert!(memory.host_address(at + 0x10, 4, false).unwrap().is_some());
        memory.store(at + 0x10, 4, 0x9abc_def0).unwrap();
        // In two reserved ranges, or in one: a load finds the value all the same.
        memory.store(at + 0xffe, 4, 0x5566_7788).unwrap();
        memory.host_address(at + 0xffe, 4, false).unwrap();
        memory.answer(at + 0xffe, 4, None, &bounce).unwrap();
        assert_eq!(bounce.load(std::sync::atomic::Ordering::Relaxed), 0x5566_7788);
        memory.answer(at + 0xffe, 4, Some(0x1122_3344), &bounce).unwrap();
        assert_eq!(memory.load(at + 0xffe, 4).unwrap(), 0x1122_3344);
        assert!(memory.host_address(at + 0x1ffe, 4, false).is_err());
        memory.unmap(at).unwrap();
        memory.map(Some(at), 0x2000, Access::ReadOnly).unwrap();
        assert!(memory.host_address(at, 4, true).is_err());
        assert!(memory.host_address(at, 4, false).is_ok());
        memory.unmap(at).unwrap();
    }
}

#[test]
fn addresses_that_do_not_exist() {
    let memory = memory();
    for (at, bytes) in [
        (0x8000_0000_0000, 1),
        (0x7fff_ffff_f000, 0x1001),
        (0xffff_7fff_ffff_ffff, 1),
        (0xffff_7fff_ffff_f000, 0x2000),
        (0xffff_ffff_ffff_0000, 1),
        (u64::MAX, 1),
        (0x1000_0000_0000_0000, 4096),
    ] {
        let error = memory.map(Some(at), bytes, Access::ReadWrite).unwrap_err().to_string();
        assert!(error.contains("sign-extended addresses of 48 bits"), "{at:#x}: {error}");
        assert!(memory.load(at, 1).is_err());
    }
    assert!(!memory.needs_translation());
}

#[test]
fn a_store_that_others_have_mended_first_is_tried_again_each_time() {
    let memory = memory();
    let at = memory.map(None, 4096, Access::ReadWrite).unwrap();
    let host = memory.base().addr() + at as usize;
    memory.take_dirty(at..at + 4096).unwrap();
    for _ in 0..20 {
        // The first makes the page writable; the others find that done.
        assert!(write_to_clean(host));
    }
    memory.store(at, 4, 1).unwrap();
    assert_eq!(memory.take_dirty(at..at + 4096).unwrap().len(), 1);
    memory.unmap(at).unwrap();
    assert!(!write_to_clean(host));
}
