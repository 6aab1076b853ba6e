//! Tests a wave's scalar accesses to memory that its lanes also store to. A scalar access happens once for all 64 lanes, in the
//! program's order, however many lanes compiled code runs at a time.
//!
//! The expected results are worked out here from the order of the instructions.

use warpjit_frontend::gcn::{Generation, assemble};
use warpjit_runtime::{Access, Config, Engine, HostLevel, Isa, Launch, Program, ProgramOptions, Tier};

const DATA: u64 = 0x10_0000;
const WORDS: usize = 256;

/// All ways to run.
fn ways() -> Vec<Config> {
    let base = |tier| Config::default().tier(tier).threads(1);
    let mut ways = vec![base(Tier::Interp), base(Tier::Jit), base(Tier::Auto).hot_after(Some(0))];
    for host in [HostLevel::Native, HostLevel::Avx2, HostLevel::Sse41] {
        for chunk_groups in [0, 1, 2, 4] {
            for lockstep in [false, true] {
                ways.push(base(Tier::Jit).host(host).chunk_groups(Some(chunk_groups)).lockstep(lockstep));
            }
        }
    }
    ways
}

/// Runs one wave of code for GFX9 in every way; `s[0:1]` is the address of the data, word `n` of which is `1000 + n`,
/// `s[4:7]` a resource of it, `v0` the lane's number, `v1` four times that. `expected` says what a word holds at the
/// end.
#[track_caller]
fn check(text: &str, expected: impl Fn(u32) -> u32) {
    let setup = "s_mov_b32 s4, s0
        s_mov_b32 s5, s1
        s_movk_i32 s6, 0x400
        s_mov_b32 s7, 0x27fac
        v_lshlrev_b32 v1, 2, v0\n";
    let source = format!("{setup}{text}\ns_endpgm\n");
    let code = assemble(&source, Generation::Gfx9).unwrap_or_else(|error| panic!("{error}\n{source}")).code;
    let options = ProgramOptions::new(Isa::Gcn)
        .raw(true)
        .chip(Some(Generation::Gfx9.into()))
        .rsrc1(Some(3 | 6 << 6))
        .rsrc2(Some(2 << 1));
    let program = Program::load(&code, &options).expect("valid code");
    let launch = Launch::default().grid([1, 1, 1]).block([64, 1, 1]).user_data(vec![DATA as u32, 0]);
    let before: Vec<u8> = (0..WORDS as u32).flat_map(|n| (1000 + n).to_le_bytes()).collect();
    for config in ways() {
        let name = format!("{config:?}");
        let engine = Engine::new(config).expect("an engine");
        let memory = engine.memory().expect("memory");
        memory.map(Some(DATA), before.len() as u64, Access::ReadWrite).expect("mapped");
        memory.write(DATA, &before).expect("writable");
        let report = engine.run(&program, &memory, &launch).unwrap_or_else(|error| panic!("{error}: {name}"));
        assert!(report.fault.is_none(), "{:?}: {name}", report.fault);
        let mut after = vec![0; before.len()];
        memory.read(DATA, &mut after).expect("readable");
        for (n, word) in after.chunks_exact(4).enumerate() {
            let word = u32::from_le_bytes(word.try_into().expect("four bytes"));
            assert_eq!(word, expected(n as u32), "word {n}, {name}\n{text}");
        }
    }
}

/// Every lane stores `s8` behind the 64 words that programs change.
const SHOW: &str = "v_mov_b32 v3, s8
    buffer_store_dword v3, v1, s[4:7], 0 offen offset:256\n";

/// What a word holds that only [`SHOW`] has stored to.
fn shown(n: u32, value: u32) -> u32 {
    if (64..128).contains(&n) { value } else { 1000 + n }
}

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
