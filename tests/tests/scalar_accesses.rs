//! Tests a wave's scalar accesses to memory that its lanes also store to. A scalar access happens once for all 64 lanes, in the
//! program's order, however many lanes compiled code runs at a time.
//!
//! The expected results are worked out here from the order of the instructions.

use warpjit_tests::gcn::one_wave::{SHOW, bytes, check, shown};

#[test]
fn lanes_store_to_what_has_been_loaded() {
    let text = "s_load_dword s8, s[0:1], 0x40
        s_waitcnt lgkmcnt(0)
        v_add_u32 v2, s8, v0
        buffer_store_dword v2, v1, s[4:7], 0 offen\n";
    check(&(text.to_owned() + SHOW), |n| if n < 64 { 1016 + n } else { shown(n, 1016) });
}

#[test]
fn one_lane_counts_in_place() {
    let text = "s_load_dword s8, s[0:1], 0x8
        s_waitcnt lgkmcnt(0)
        s_add_u32 s9, s8, 1
        v_mov_b32 v2, s9
        s_mov_b64 s[10:11], exec
        s_mov_b64 exec, 1
        buffer_store_dword v2, off, s[4:7], 0 offset:8
        s_mov_b64 exec, s[10:11]\n";
    check(&(text.to_owned() + SHOW), |n| if n == 2 { 1003 } else { shown(n, 1002) });
}

#[test]
fn a_scalar_store_to_what_has_been_loaded() {
    let text = "s_load_dwordx2 s[8:9], s[0:1], 0x5c
        s_waitcnt lgkmcnt(0)
        s_buffer_store_dwordx2 s[8:9], s[4:7], 0x60
        s_mov_b32 s8, s9\n";
    check(&(text.to_owned() + SHOW), |n| match n {
        24 => 1023,
        25 => 1024,
        _ => shown(n, 1024),
    });
}

#[test]
fn a_scalar_load_behind_stores_of_lanes() {
    let text = "v_add_u32 v2, 5, v0
        buffer_store_dword v2, v1, s[4:7], 0 offen
        s_waitcnt vmcnt(0)
        s_dcache_inv
        s_load_dword s8, s[0:1], 0xfc
        s_waitcnt lgkmcnt(0)\n";
    check(&(text.to_owned() + SHOW), |n| if n < 64 { 5 + n } else { shown(n, 68) });
}

#[test]
fn a_loop_that_loads_and_stores() {
    let text = "s_mov_b32 s9, 0
        L0:
        s_load_dword s8, s[0:1], 0x0
        s_waitcnt lgkmcnt(0)
        s_add_u32 s8, s8, 1
        v_mov_b32 v2, s8
        buffer_store_dword v2, v1, s[4:7], 0 offen
        s_waitcnt vmcnt(0)
        s_dcache_inv
        s_add_u32 s9, s9, 1
        s_cmp_lt_u32 s9, 4
        s_cbranch_scc1 L0\n";
    check(&(text.to_owned() + SHOW), |n| if n < 64 { 1004 } else { shown(n, 1004) });
}

#[test]
fn scalar_stores_have_their_place_among_those_of_lanes() {
    let both = |first: &str, second: &str| {
        format!("s_mov_b32 s9, 7\n v_mov_b32 v2, 9\n {first} s_waitcnt vmcnt(0) & lgkmcnt(0)\n {second}")
    };
    let scalar = "s_store_dword s9, s[0:1], 0x14\n";
    let lanes = "buffer_store_dword v2, v1, s[4:7], 0 offen\n";
    check(&both(scalar, lanes), |n| if n < 64 { 9 } else { 1000 + n });
    let last = |n| match n {
        5 => 7,
        0..64 => 9,
        _ => 1000 + n,
    };
    check(&both(lanes, scalar), last);
}

#[test]
fn all_lanes_go_the_way_that_the_loaded_word_says() {
    let text = "s_load_dword s8, s[0:1], 0xc
        s_waitcnt lgkmcnt(0)
        s_cmp_lg_u32 s8, 0x3eb
        s_cbranch_scc1 L0
        v_mov_b32 v2, 0
        buffer_store_dword v2, v1, s[4:7], 0 offen
        L0:\n";
    check(&(text.to_owned() + SHOW), |n| if n < 64 { 0 } else { shown(n, 1003) });
}

#[test]
fn lanes_count_in_what_has_been_loaded() {
    let text = "s_load_dword s8, s[0:1], 0x0
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v2, 1
        buffer_atomic_add v2, off, s[4:7], 0
        s_waitcnt vmcnt(0)\n";
    check(&(text.to_owned() + SHOW), |n| if n == 0 { 1064 } else { shown(n, 1000) });
}

#[test]
fn a_load_that_only_some_lanes_come_to() {
    let text = "s_mov_b32 s8, 3
        v_cmp_lt_u32 vcc, 39, v0
        s_and_saveexec_b64 s[10:11], vcc
        s_cbranch_execz L0
        s_load_dword s8, s[0:1], 0xa0
        s_waitcnt lgkmcnt(0)
        v_mov_b32 v2, s8
        buffer_store_dword v2, v1, s[4:7], 0 offen
        L0:
        s_mov_b64 exec, s[10:11]\n";
    check(&(text.to_owned() + SHOW), |n| if (40..64).contains(&n) { 1040 } else { shown(n, 1040) });
}

/// A wave loads by scalar instructions once, whatever EXEC is; lanes load and store where EXEC has them, atomics do both, and a lane
/// beyond the buffer (of 256 words) loads nothing.
#[test]
fn bytes_are_counted() {
    let text = "s_load_dwordx2 s[10:11], s[0:1], 0x0
        s_mov_b64 exec, 0xff
        s_load_dwordx8 s[12:19], s[0:1], 0x0
        s_waitcnt lgkmcnt(0)
        buffer_load_dwordx2 v[4:5], v1, s[4:7], 0 offen
        s_mov_b64 exec, 0xf
        s_waitcnt vmcnt(0)
        buffer_store_dwordx3 v[3:5], v1, s[4:7], 0 offen
        buffer_atomic_add v0, v1, s[4:7], 0 offen glc
        s_mov_b64 exec, -1
        buffer_load_ubyte v6, v1, s[4:7], 0 offen
        v_add_u32 v2, 0x380, v1
        buffer_load_dword v6, v2, s[4:7], 0 offen
        s_waitcnt vmcnt(0)";
    let loaded = 8 + 32 + 8 * 8 + 4 * 4 + 64 + 32 * 4;
    let stored = 4 * 12 + 4 * 4;
    assert!(bytes(text).iter().all(|bytes| *bytes == (loaded, stored)), "{:?}", bytes(text));
}
