//! Loops that go through registered memory and beyond its ends, with lanes in all ways that code generators tell apart. By then the sites
//! of their accesses have their windows open. What must fault, and where stores may have been, is computed here lane by lane.

mod identity_space;

use identity_space::own::Own;
use identity_space::{PAGE, Space, engines};
use std::collections::{HashMap, HashSet};
use warpjit_runtime::{Access, FaultKind, Launch, MemoryOptions};

/// Where a lane's access is from the address that all share, in v6, and the same in Rust.
type Pattern = (&'static str, fn(u64) -> u64);

const PATTERNS: [Pattern; 9] = [
    ("v_lshlrev_b32 v6, 2, v1", |lane| 4 * lane),
    ("v_sub_u32 v6, vcc, 63, v1\nv_lshlrev_b32 v6, 2, v6", |lane| 4 * (63 - lane)),
    ("v_lshlrev_b32 v6, 4, v1", |lane| 16 * lane),
    // Lie so, but code has to test it.
    ("v_lshlrev_b32 v6, 2, v1\nv_and_b32 v6, 0x1fffc, v6", |lane| 4 * lane),
    ("v_lshlrev_b32 v6, 4, v1\nv_and_b32 v6, 0x1fff0, v6", |lane| 16 * lane),
    // Sixteen lanes that lie so, and sixteen elsewhere.
    (
        "v_lshlrev_b32 v6, 2, v1\nv_and_b32 v7, 0x40, v6\nv_lshlrev_b32 v7, 3, v7\nv_or_b32 v6, v6, v7",
        |lane| (4 * lane) | (((4 * lane) & 0x40) << 3),
    ),
    ("v_bfrev_b32 v6, v1\nv_lshrrev_b32 v6, 24, v6", |lane| u64::from((lane as u32).reverse_bits() >> 24)),
    ("v_mov_b32 v6, 8", |_| 8),
    // Wraps in 32 bits.
    ("v_lshlrev_b32 v6, 2, v1\nv_add_u32 v6, vcc, 0xffffff80, v6", |lane| {
        u64::from(0xffff_ff80_u32.wrapping_add(4 * lane as u32))
    }),
];

/// Which lanes take part: in vcc, and the same in Rust. The others have addresses that lead nowhere.
type Mask = (&'static str, fn(u64) -> bool);

const MASKS: [Mask; 4] = [
    ("v_cmp_le_u32 vcc, 0, v1", |_| true),
    ("v_and_b32 v7, 5, v1\nv_cmp_ne_u32 vcc, 4, v7", |lane| lane & 5 != 4),
    ("v_cmp_le_u32 vcc, 32, v1", |lane| lane >= 32),
    ("v_cmp_eq_u32 vcc, 37, v1", |lane| lane == 37),
];

/// Accesses to v[2:3]: the code, bytes, and whether it stores.
const ACCESSES: [(&str, u64, bool); 5] = [
    ("flat_store_dword v[2:3], v1", 4, true),
    ("flat_load_dword v7, v[2:3]", 4, false),
    ("flat_store_dwordx4 v[2:3], v[8:11]", 16, true),
    ("flat_load_dwordx4 v[12:15], v[2:3]", 16, false),
    ("flat_load_ubyte v7, v[2:3]", 1, false),
];

/// The loop. Each turn computes addresses of what all share, or adds to the addresses of the turn before.
fn code((pattern, _): Pattern, (mask, _): Mask, access: &str, carries: bool) -> String {
    let address = "v_add_u32 v2, vcc, s0, v6
        v_mov_b32 v3, s1
        v_addc_u32 v3, vcc, 0, v3, vcc";
    let (before, within, behind) = match carries {
        true => (
            address,
            "",
            "v_mov_b32 v7, s9
            v_add_u32 v2, vcc, s8, v2
            v_addc_u32 v3, vcc, v7, v3, vcc",
        ),
        false => ("", address, "s_add_u32 s0, s0, s8\ns_addc_u32 s1, s1, s9"),
    };
    format!(
        "s_load_dwordx2 s[8:9], s[2:3], 0x0
        s_load_dword s6, s[2:3], 0x8
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v2, 0x7ffffff0
        v_mov_b32 v3, v2
        v_mov_b32 v8, v1
        v_mov_b32 v9, v1
        v_mov_b32 v10, v1
        v_mov_b32 v11, v1
        {mask}
        s_and_saveexec_b64 s[10:11], vcc
        {pattern}
        {before}
        again:
        {within}
        {access}
        s_waitcnt vmcnt(0) & lgkmcnt(0)
        {behind}
        s_sub_u32 s6, s6, 1
        s_cmp_lg_u32 s6, 0
        s_cbranch_scc1 again"
    )
}

/// Bytes that are stored to, with what may be there.
type Stored = HashMap<u64, HashSet<u8>>;

/// Bytes that may not be accessed, with a lane that does.
type Denied = HashSet<(u64, u32)>;

/// What a loop does: bytes that may be stored to, with the lanes that do so, and lanes with the bytes that they may not access.
fn expected(
    (start, delta, turns): (u64, u64, u64),
    ((_, offset), (_, takes_part)): (Pattern, Mask),
    bytes: u64,
    may: std::ops::Range<u64>,
) -> (Stored, Denied) {
    let (mut stored, mut bad) = (Stored::new(), Denied::new());
    for turn in 0..turns {
        for lane in (0..64).filter(|&lane| takes_part(lane)) {
            let at = start.wrapping_add(delta.wrapping_mul(turn)).wrapping_add(offset(lane));
            for byte in (0..bytes).map(|n| at.wrapping_add(n)) {
                if may.contains(&byte) {
                    // The lowest byte of a word has the lane's number.
                    let value = if byte.is_multiple_of(4) { lane as u8 } else { 0 };
                    stored.entry(byte).or_default().insert(value);
                } else {
                    bad.insert((byte, lane as u32));
                }
            }
        }
    }
    (stored, bad)
}

fn check_loops(patterns: &[Pattern], carries: bool) {
    let engines = engines();
    for (number, &pattern) in patterns.iter().enumerate() {
        for (kind, (access, bytes, store)) in ACCESSES.into_iter().enumerate() {
            // All lanes, and some.
            for mask in [MASKS[0], MASKS[1 + (number + kind) % 3]] {
                let text = code(pattern, mask, access, carries);
                let space = Space::new(&text);
                let own = Own::new();
                own.register(&space, 2..4, Access::ReadWrite);
                own.register(&space, 4..5, Access::ReadOnly);
                own.register(&space, 16..48, Access::ReadWrite);
                let (first, flags) = (own.page(2), own.page(16));
                let may = first..own.page(if store { 4 } else { 5 });
                let wraps = 0xffff_ff80;
                let loops = [
                    // Stays inside.
                    (first + 16, 64, 30),
                    (first + 1024, 0, 3),
                    // Over the end, over the beginning.
                    (first, 1040, 12),
                    (first + 2048, (-512_i64) as u64, 6),
                    // Far away in the second turn: in other signs, words and halves of the address space.
                    (first + 256, 1 << 63, 3),
                    (first + 256, 1 << 32, 2),
                    (first + 256, (-1_i64 << 32) as u64, 2),
                    (first + PAGE, 10 * PAGE, 2),
                    // Round the end of 64 bits, and where words wrap.
                    (u64::MAX - 127, 0, 1),
                    (first + 512 - wraps, 0, 2),
                    (first + 512 - wraps, 64, 3),
                ];
                for turns_of in loops {
                    let (stored, bad) = expected(turns_of, (pattern, mask), bytes, may.clone());
                    let (start, delta, turns) = turns_of;
                    space.fill(flags, [delta as u32, (delta >> 32) as u32, turns as u32].into_iter());
                    for engine in &engines {
                        own.fill(0..8, |_| 0x55);
                        let launch = Space::launch(1, start, flags);
                        let report = engine.run(&space.program, &space.memory, &launch).unwrap();
                        let what = || format!("{text}\n{turns_of:x?} of {first:#x}: {:?}", engine.config());
                        assert_eq!(report.stats.not_compiled, None, "{}", what());
                        assert_eq!(report.fault.is_some(), !bad.is_empty(), "{:?}, {}", report.fault, what());
                        if let Some(fault) = report.fault {
                            assert_eq!((fault.kind, fault.store), (FaultKind::Memory, store), "{}", what());
                            // Which of them depends on the chunk, since chunks run one after another.
                            let found = (fault.address.unwrap(), fault.lane);
                            assert!(bad.contains(&found), "{found:x?}, {}", what());
                        }
                        for (at, byte) in (own.page(0)..).zip(own.bytes(0..8)) {
                            let written = stored.get(&at).filter(|_| store);
                            let is_good = match written {
                                Some(lanes) => lanes.contains(&byte) || !bad.is_empty() && byte == 0x55,
                                None => byte == 0x55,
                            };
                            assert!(is_good, "{byte:#x} at {at:#x}, {}", what());
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn lanes_on_a_line() {
    check_loops(&PATTERNS[..3], false);
}

#[test]
fn lanes_that_are_tested() {
    check_loops(&PATTERNS[3..6], false);
}

#[test]
fn lanes_elsewhere() {
    check_loops(&PATTERNS[6..], false);
}

#[test]
fn addresses_that_are_carried() {
    check_loops(&[PATTERNS[0], PATTERNS[4], PATTERNS[6], PATTERNS[8]], true);
}

/// Rows of a block that are a page apart, more than a window is for at once, and whose addresses wrap in 32 bits from the third row on.
#[test]
fn rows_far_apart() {
    for (access, store) in [("flat_store_dword v[2:3], v0", true), ("flat_load_dword v8, v[2:3]", false)] {
        let source = format!(
            "v_cmp_le_u32 vcc, s3, v1
            s_and_saveexec_b64 s[10:11], vcc
            v_lshlrev_b32 v6, 2, v0
            v_lshlrev_b32 v7, 12, v1
            v_add_u32 v6, vcc, v6, v7
            v_add_u32 v6, vcc, s2, v6
            v_add_u32 v2, vcc, s0, v6
            v_mov_b32 v3, s1
            v_addc_u32 v3, vcc, 0, v3, vcc
            {access}
            s_endpgm"
        );
        let space = Space::of(&source, &MemoryOptions::new().identity(), 1);
        let own = Own::new();
        own.register(&space, 16..48, Access::ReadWrite);
        for engine in engines() {
            // Where the first row is, what is added in 32 bits, the first row that takes part, and the first bad lane.
            for (page, added, row, bad) in [
                (16, 0, 0, None),
                (20, 0, 2, None),
                (18, -8192_i32 as u32, 2, None),
                (8, -8192_i32 as u32, 2, Some(32)),
                (14, 0, 0, Some(0)),
                (14, 0, 2, None),
                (46, 0, 0, Some(32)),
                (15, -8192_i32 as u32, 2, Some(32)),
            ] {
                own.fill(0..64, |_| 0x55);
                let start = own.page(page);
                let user_data = vec![start as u32, (start >> 32) as u32, added, row];
                let launch = Launch::default().grid([1, 1, 1]).block([16, 4, 1]).user_data(user_data);
                let report = engine.run(&space.program, &space.memory, &launch).unwrap();
                let what = format!("{access} {page} {added:#x} {row}: {:?}", engine.config());
                assert_eq!(report.stats.not_compiled, None, "{what}");
                let fault = report.fault.map(|fault| (fault.kind, fault.lane, fault.store));
                assert_eq!(fault.is_some(), bad.is_some(), "{fault:?} {what}");
                if let Some((kind, lane, stores)) = fault {
                    // Chunks run one after another, and sixteen lanes are all in one row.
                    assert_eq!((kind, Some(lane), stores), (FaultKind::Memory, bad, store), "{what}");
                }
                for (at, byte) in (own.page(0)..).zip(own.bytes(0..64)) {
                    let offset = (at.wrapping_sub(start) as u32).wrapping_sub(added);
                    let (line, place) = (offset >> 12, offset & 0xfff);
                    let named = store && (row..4).contains(&line) && place < 64;
                    let registered = (own.page(16)..own.page(48)).contains(&at);
                    let value = if place % 4 == 0 { (place / 4) as u8 } else { 0 };
                    let is_good = match named && registered {
                        true => byte == value || bad.is_some() && byte == 0x55,
                        false => byte == 0x55,
                    };
                    assert!(is_good, "{byte:#x} at {at:#x}, {what}");
                }
            }
        }
    }
}
