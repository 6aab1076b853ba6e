use super::*;
use warpjit_ir::AtomicOp;

fn memory() -> Memory {
    Memory::new().expect("reservation")
}

#[test]
fn maps_reads_and_writes() {
    let mut memory = memory();
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
    let mut memory = memory();
    let b = memory.map(Some(0x10_0000), 4096, Access::ReadOnly).unwrap();
    assert_eq!(memory.store(b, 4, 1), Err(Denied { address: b, store: true, mapped: true }));
    assert_eq!(memory.load(b + 4094, 4), Err(Denied { address: b + 4096, store: false, mapped: false }));
    assert_eq!(memory.load(b - 2, 4), Err(Denied { address: b - 2, store: false, mapped: false }));
    assert!(memory.update32(b, |old| old + 1).is_err());
    assert!(memory.load(u64::MAX - 3, 8).is_err());
    assert!([1, 2, 4, 8].iter().all(|&bytes| memory.load(u64::MAX, bytes).is_err()));
    assert!(memory.update32(u64::MAX, |old| old).is_err());
    assert!([4, 8].iter().all(|&bytes| memory.atomic(u64::MAX, bytes, AtomicOp::Add, 0, 0).is_err()));
    assert!(memory.load(SPACE_BYTES - 4, 8).is_err());
    assert_eq!(memory.load(0, 4).unwrap_err().to_string(), "load from 0x0 is not mapped");
    assert_eq!(memory.store(b, 1, 0).unwrap_err().to_string(), "store to 0x100000 is read-only");
}

#[test]
fn last_bytes_of_the_space() {
    let mut memory = memory();
    let at = memory.map(Some(SPACE_BYTES - 4096), 4096, Access::ReadWrite).unwrap();
    memory.store(at + 4088, 8, 0x1122_3344_5566_7788).unwrap();
    assert_eq!(memory.load(at + 4092, 4).unwrap(), 0x1122_3344);
    assert_eq!(memory.load(at + 4092, 8).unwrap_err().address, SPACE_BYTES);
}

#[test]
fn refuses_bad_buffers() {
    let mut memory = memory();
    let text = |result: Result<u64, Error>| result.unwrap_err().to_string();
    assert_eq!(
        text(memory.map(None, 0, Access::ReadWrite)),
        "guest memory: a buffer needs at least one byte"
    );
    assert_eq!(
        text(memory.map(Some(0xff_ffff_f000), 0x1001, Access::ReadWrite)),
        "guest memory: buffer of 0x1001 bytes at 0xfffffff000 does not fit in 40-bit addresses"
    );
    assert!(text(memory.map(Some(u64::MAX), 2, Access::ReadWrite)).contains("does not fit"));
    assert_eq!(
        text(memory.map(None, 1 << 32, Access::ReadWrite)),
        "guest memory: no room for a buffer of 0x100000000 bytes in 32-bit addresses"
    );
    assert!(text(memory.map(None, u64::MAX, Access::ReadWrite)).contains("no room"));
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
    let mut memory = memory();
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
fn room_is_reused() {
    let mut memory = memory();
    let a = memory.map(None, 4096, Access::ReadWrite).unwrap();
    let b = memory.map(None, 4096, Access::ReadWrite).unwrap();
    memory.unmap(a).unwrap();
    assert_eq!(memory.map(None, 4096, Access::ReadWrite).unwrap(), a);
    assert!(memory.map(None, 4097, Access::ReadWrite).unwrap() > b);
}

#[test]
fn large_buffers_begin_where_huge_pages_may() {
    let mut memory = memory();
    let huge = HUGE_BYTES as u64;
    let small = memory.map(None, 4096, Access::ReadWrite).unwrap();
    let large = memory.map(None, huge + 1, Access::ReadWrite).unwrap();
    let next = memory.map(None, huge, Access::ReadOnly).unwrap();
    assert_eq!((small, large, next), (FIRST_ADDRESS, huge, 3 * huge));
    // Small ones still go where there is room.
    assert_eq!(memory.map(None, 4096, Access::ReadWrite).unwrap(), FIRST_ADDRESS + 2 * memory.host_page);
    // Where no multiple is left, any page will do.
    let end = 1 << 32;
    for at in (5 * huge..end).step_by(HUGE_BYTES) {
        memory.map(Some(at), 4096, Access::ReadWrite).unwrap();
    }
    memory.unmap(end - huge).unwrap();
    let last = memory.map(None, 2 * huge - 4 * memory.host_page, Access::ReadWrite).unwrap();
    assert_eq!(last, end - 2 * huge + 2 * memory.host_page);
}

#[test]
fn updates_are_atomic() {
    let mut memory = memory();
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
