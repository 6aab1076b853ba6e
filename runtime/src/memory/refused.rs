//! Tests memory operations that the operating system refuses: no contents are lost, no rights are left over, and the operation
//! can be repeated.

use super::reservation::refusals;
use super::tests::mappings;
use super::*;

const WINDOW: u64 = 1 << 32;
/// In the window and a slab.
const ACROSS: u64 = WINDOW - 0x3000;
/// In two slabs.
const FAR: u64 = 9 * WINDOW - 0x1000;
const UPPER: u64 = 0xffff_8000_0000_0000;
/// Large enough to stay a mapping of its own.
const LARGE: u64 = 0x1000_0000;
const RETAINED: u64 = 5 * WINDOW;
const ALSO_RETAINED: u64 = 0x7000_0000;

/// Buffers that share pages, lie beside one another, and in several reserved ranges.
const BUFFERS: [(u64, u64, Access); 6] = [
    (0x20_0010, 0x20, Access::ReadWrite),
    (0x20_0040, 0x2000, Access::ReadWrite),
    (0x20_3000, 0x1800, Access::ReadOnly),
    (0x20_4900, 0x100, Access::ReadOnly),
    (LARGE, (1 << 26) + 0x1800, Access::ReadOnly),
    (ACROSS, 0x6000, Access::ReadWrite),
];

fn empty() -> Memory {
    Memory::with_window(Reservation::near(WINDOW).unwrap(), Form::default()).unwrap()
}

/// What a buffer holds at its begin and its end.
fn mark(address: u64) -> [u8; 8] {
    (address | 1).to_le_bytes()
}

fn filled() -> Memory {
    let memory = empty();
    for (address, bytes, access) in BUFFERS {
        memory.map(Some(address), bytes, access).unwrap();
        for at in [address, address + bytes - 8] {
            memory.write(at, &mark(address)).unwrap();
        }
    }
    for (at, access) in [(RETAINED, Access::ReadOnly), (ALSO_RETAINED, Access::ReadWrite)] {
        memory.edit(|edit| edit.map_retained(at, 16, access, &[5; 16])).unwrap();
    }
    for at in [RETAINED, ALSO_RETAINED] {
        memory.edit(|edit| edit.retain(at, vec![5; 16])).unwrap();
    }
    memory
}

type Step = (&'static str, fn(&Memory) -> Result<(), Error>);

const STEPS: [Step; 12] = [
    ("map in two slabs", |memory| memory.map(Some(FAR), 0x2000, Access::ReadWrite).map(|_| ())),
    ("map in the upper window", |memory| memory.map(Some(UPPER), 16, Access::ReadWrite).map(|_| ())),
    ("map beside a neighbour", |memory| memory.map(Some(0x20_4a00), 0x2000, Access::ReadOnly).map(|_| ())),
    ("map over what is retained", |memory| memory.map(Some(ALSO_RETAINED), 1, Access::ReadOnly).map(|_| ())),
    ("map where something is retained", |memory| {
        memory.map(Some(RETAINED + WINDOW / 2), 16, Access::ReadWrite).map(|_| ())
    }),
    ("unmap from two reserved ranges", |memory| memory.unmap(ACROSS)),
    ("unmap shared pages", |memory| memory.unmap(0x20_0040)),
    ("unmap a large one", |memory| memory.unmap(LARGE)),
    ("write", |memory| memory.write(0x20_3100, &[9; 0x1000])),
    ("map what is retained", |memory| {
        memory.edit(|edit| edit.map_retained(RETAINED, 16, Access::ReadOnly, &[5; 16]))
    }),
    ("map what is retained in another way", |memory| {
        memory.edit(|edit| edit.map_retained(RETAINED, 9, Access::ReadWrite, &[6; 9]))
    }),
    ("give back what is retained", |memory| memory.edit(|edit| edit.give_back_others(&[]))),
];

fn buffers(memory: &Memory) -> Vec<(u64, u64, Access)> {
    memory.buffers().collect()
}

/// Every buffer holds what it should, and nothing else can be accessed. `may_be_gone`: a buffer all of which may have been lost.
fn look(memory: &Memory, may_be_gone: Option<u64>, told: &str) {
    for (address, bytes, access) in buffers(memory) {
        if may_be_gone == Some(address) {
            let _ = memory.read(address, &mut [0; 8]);
        } else if BUFFERS.contains(&(address, bytes, access)) {
            for at in [address, address + bytes - 8] {
                let mut found = [0; 8];
                memory.read(at, &mut found).unwrap_or_else(|error| panic!("{told}: {error}"));
                assert_eq!(found, mark(address), "{told}: {at:#x} of {address:#x}");
            }
        }
        if access == Access::ReadOnly {
            assert!(memory.store(address, 1, 0).is_err(), "{told}");
        }
    }
}

/// The host has the rights in the window that the table of pages tells, and no others.
fn look_at_rights(memory: &Memory, told: &str) {
    let retained = memory.retained_pages();
    for (first, last, reads, writes) in mappings(memory) {
        for at in (first..last).step_by(PAGE_BYTES as usize) {
            if retained.iter().any(|&(start, end)| (start..end).contains(&at)) {
                continue;
            }
            let flags = memory.page_flags(at);
            assert_eq!(reads, flags & PAGE_READ != 0, "{told}: {at:#x}");
            assert_eq!(writes, flags & PAGE_WRITE != 0, "{told}: {at:#x}");
        }
    }
}

/// Takes all away; then the memory is as a new one.
fn clear(memory: &Memory, told: &str) {
    for (address, ..) in buffers(memory) {
        memory.unmap(address).unwrap_or_else(|error| panic!("{told}: {error}"));
    }
    memory.edit(|edit| edit.give_back_others(&[])).unwrap();
    assert!(!memory.is_coarse() && !memory.0.space.exceeds_window() && memory.borders() == 0, "{told}");
    assert!(mappings(memory).iter().all(|&(_, _, reads, writes)| !reads && !writes), "{told}");
    let bytes = (WINDOW - FIRST_ADDRESS - memory.0.host_page) & !0xf_ffff;
    assert!(memory.edit(|edit| edit.find_free(bytes)).is_ok(), "{told}");
    for (address, bytes, access) in BUFFERS {
        memory.map(Some(address), bytes, access).unwrap();
        assert_eq!(memory.load(address, 8).unwrap(), 0, "{told}");
    }
}

/// As if there were so many buffers that a refusal could come from their number.
const MANY: isize = FEW_BORDERS as isize;

#[test]
fn one_call_after_the_other() {
    for (name, step) in STEPS {
        for (is_once, has_many) in [(true, false), (true, true), (false, false), (false, true)] {
            for number in 0.. {
                let told = format!("{name}, call {number} is refused, once: {is_once}, many: {has_many}");
                let memory = filled();
                let before = buffers(&memory);
                memory.add_borders(if has_many { MANY } else { 0 });
                let refused = number..if is_once { number + 1 } else { u32::MAX };
                let (result, calls) = refusals::during(refused, || step(&memory));
                let unmapped = match name {
                    "unmap from two reserved ranges" => Some(ACROSS),
                    "unmap shared pages" => Some(0x20_0040),
                    "unmap a large one" => Some(LARGE),
                    _ => None,
                };
                let may_be_gone = unmapped.filter(|_| !is_once);
                look(&memory, may_be_gone, &told);
                if is_once && !memory.is_coarse() {
                    look_at_rights(&memory, &told);
                }
                if is_once && has_many && name == "map where something is retained" {
                    assert!(result.is_ok(), "{told}: {result:?}");
                }
                if result.is_err() {
                    assert_eq!(buffers(&memory), before, "{told}");
                    for at in [FAR, FAR + 0x1000, UPPER] {
                        assert!(memory.0.space.host_range(at).is_none(), "{told}: {at:#x} is still reserved");
                    }
                    // Memory that cannot be fine can be coarse.
                    assert!(!is_once || !name.starts_with("unmap"), "{told}: {result:?}");
                    step(&memory).unwrap_or_else(|error| panic!("{told}: again: {error}"));
                }
                look(&memory, None, &told);
                memory.add_borders(if has_many { -MANY } else { 0 });
                clear(&memory, &told);
                if number > calls {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_buffer_that_is_refused_leaves_nothing() {
    for at in [FAR, UPPER, ACROSS] {
        for number in 0.. {
            let memory = empty();
            let map = || memory.map(Some(at), 0x6000, Access::ReadWrite);
            let (result, calls) = refusals::during(number..number + 1, map);
            if number >= calls {
                assert_eq!(result.unwrap(), at);
                break;
            }
            // Without an upper window slabs will do.
            if result.is_err() {
                assert!(!memory.0.space.exceeds_window() && !memory.is_coarse(), "{at:#x}, call {number}");
                look_at_rights(&memory, "nothing");
                memory.map(Some(at), 0x6000, Access::ReadWrite).unwrap();
            }
        }
    }
}
