//! Tests GDS and GWS: data, barriers and semaphores that all workgroups of a launch share, whichever host thread runs them.

use warpjit_frontend::Isa;
use warpjit_frontend::gcn::{Generation, assemble};
use warpjit_runtime::{Access, Config, Engine, FaultKind, Launch, Program, ProgramOptions, Report, Tier};

const OUT: u64 = 0x10_0000;
const WORDS: usize = 4096;
/// Steps that a wave may wait: many, as the thread that it waits for may not run for a while.
const MOST_STEPS: u64 = 3_000_000;

/// The resource of the results, and nothing in M0's way.
const PROLOGUE: &str = "
    s_mov_b32 s4, 0x100000
    s_mov_b32 s5, 0
    s_mov_b32 s6, -1
    s_mov_b32 s7, 0x24fac
    s_mov_b32 m0, 0x1000
    v_mov_b32 v0, 0
    v_mov_b32 v1, 1
";

/// Runs a program on every generation that has its operations, on both tiers, with one thread and with two.
fn run(source: &str, generations: &[Generation], blocks: u32, check: impl Fn(&Report, &[u32])) {
    for &generation in generations {
        for (tier, threads) in [(Tier::Interp, 1), (Tier::Interp, 2), (Tier::Jit, 1), (Tier::Jit, 2)] {
            run_once(source, generation, blocks, Config::default().tier(tier).threads(threads), &check);
        }
    }
}

fn run_once(
    source: &str,
    generation: Generation,
    blocks: u32,
    config: Config,
    check: &impl Fn(&Report, &[u32]),
) {
    let code = assemble(&format!("{PROLOGUE}{source}"), generation).unwrap_or_else(|e| panic!("{e}")).code;
    let chip = Some(generation.into());
    let options = ProgramOptions::new(Isa::Gcn).raw(true).chip(chip);
    let program = Program::load(&code, &options).unwrap();
    let engine = Engine::new(config).unwrap();
    let memory = engine.memory().unwrap();
    memory.map(Some(OUT), 4 * WORDS as u64, Access::ReadWrite).unwrap();
    let launch = Launch::default().grid([blocks, 1, 1]).block([64, 1, 1]).max_steps(MOST_STEPS);
    // Every launch has a data share of its own.
    engine.run(&program, &memory, &launch).unwrap();
    memory.write(OUT, &[0; 4 * WORDS]).unwrap();
    let report = engine.run(&program, &memory, &launch).unwrap();
    let mut bytes = vec![0; 4 * WORDS];
    memory.read(OUT, &mut bytes).unwrap();
    let words: Vec<u32> = bytes.chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    check(&report, &words);
}

fn fine(report: &Report) {
    assert!(report.fault.is_none(), "{:?}", report.fault);
}

#[test]
fn each_lane_of_each_block_gets_a_ticket() {
    let source = "
        ds_add_rtn_u32 v2, v0, v1 gds
        s_waitcnt lgkmcnt(0)
        v_lshlrev_b32 v3, 2, v2
        v_mul_u32_u24 v6, 3, v2
        buffer_store_dword v6, v3, s[4:7], 0 offen
        s_endpgm
    ";
    run(source, &Generation::ALL, 24, |report, words| {
        fine(report);
        let want: Vec<u32> = (0..24 * 64).map(|n| 3 * n).collect();
        assert_eq!(words[..24 * 64], want);
        assert!(words[24 * 64..].iter().all(|&word| word == 0));
    });
}

#[test]
fn append_and_consume_count_lanes() {
    // Odd lanes of each wave append; the wave's place, plus the lane's among those of the wave, is stored there.
    let source = "
        s_mov_b32 s8, 0xaaaaaaaa
        s_mov_b32 s9, 0xaaaaaaaa
        s_mov_b64 exec, s[8:9]
        s_mov_b32 m0, 64
        ds_append v2 offset:16 gds
        s_waitcnt lgkmcnt(0)
        v_mbcnt_lo_u32_b32 v3, s8, 0
        v_mbcnt_hi_u32_b32 v3, s9, v3
        v_lshlrev_b32 v4, 2, v2
        v_lshlrev_b32 v5, 2, v3
        v_or_b32 v4, v4, v5
        buffer_store_dword v2, v4, s[4:7], 0 offen
        ds_consume v2 offset:128 gds
        s_waitcnt lgkmcnt(0)
        buffer_store_dword v2, v4, s[4:7], 0 offen offset:2048
        s_endpgm
    ";
    run(source, &Generation::ALL, 10, |report, words| {
        fine(report);
        let places: Vec<u32> = (0..320).map(|place| place / 32 * 32).collect();
        assert_eq!(words[..320], places);
        let mut taken: Vec<u32> = words[512..512 + 320].to_vec();
        taken.sort_unstable();
        let mut want: Vec<u32> = (0..10).flat_map(|n| [0u32.wrapping_sub(32 * n); 32]).collect();
        want.sort_unstable();
        assert_eq!(taken, want);
    });
}

/// One lane of each wave; s8 is the number of the wave, in the order of their arrival. Wave 0 prepares barrier 0 for `blocks` waves
/// and lets the others go.
fn arrive(blocks: u32) -> String {
    format!(
        "
        s_mov_b64 exec, 1
        ds_add_rtn_u32 v2, v0, v1 gds
        s_waitcnt lgkmcnt(0)
        v_readfirstlane_b32 s8, v2
        v_mov_b32 v4, {}
        s_mov_b32 m0, 0x1000
        s_cmp_eq_u32 s8, 0
        s_cbranch_scc0 others
        ds_gws_init v4 offset:3 gds
        ds_gws_sema_br v4 offset:1 gds
        s_branch all
    others:
        ds_gws_sema_p offset:1 gds
    all:
        ",
        blocks - 1
    )
}

#[test]
fn barriers_of_all_blocks() {
    // Twice: who comes out has to find all that came in.
    let source = arrive(9)
        + "
        v_mov_b32 v5, 16
        ds_add_u32 v5, v1 gds
        ds_gws_barrier v4 offset:3 gds
        ds_read_b32 v6, v5 gds
        ds_add_u32 v5, v1 offset:4 gds
        ds_gws_barrier v4 offset:3 gds
        ds_read_b32 v7, v5 offset:4 gds
        s_waitcnt lgkmcnt(0)
        v_lshlrev_b32 v3, 3, v2
        buffer_store_dword v6, v3, s[4:7], 0 offen
        buffer_store_dword v7, v3, s[4:7], 0 offen offset:4
        s_endpgm
    ";
    run(&source, &Generation::ALL, 9, |report, words| {
        fine(report);
        assert!(words[..18].iter().all(|&word| word == 9), "{:?}", &words[..18]);
    });
}

#[test]
fn a_semaphore_keeps_others_out() {
    // The word at 32 is read, and written later: without a lock two would write the same number. Each number is stored once, at its place.
    let source = "
        s_mov_b64 exec, 1
        ds_add_rtn_u32 v2, v0, v1 gds
        s_waitcnt lgkmcnt(0)
        v_readfirstlane_b32 s8, v2
        s_cmp_eq_u32 s8, 0
        s_cbranch_scc0 others
        ds_gws_sema_v offset:2 gds
    others:
        s_mov_b32 s10, 20
        v_mov_b32 v5, 32
    again:
        ds_gws_sema_p offset:2 gds
        ds_read_b32 v6, v5 gds
        s_waitcnt lgkmcnt(0)
        v_lshlrev_b32 v3, 2, v6
        v_mad_u32_u24 v6, v6, 1, v1
        ds_write_b32 v5, v6 gds
        ds_gws_sema_v offset:2 gds
        buffer_store_dword v6, v3, s[4:7], 0 offen
        s_sub_u32 s10, s10, 1
        s_cmp_lg_u32 s10, 0
        s_cbranch_scc1 again
        s_endpgm
    ";
    run(source, &Generation::ALL, 6, |report, words| {
        fine(report);
        assert_eq!(words[..120], (1..=120).collect::<Vec<u32>>());
    });
}

#[test]
fn waiters_are_released() {
    // With one thread the first blocks wait, and the last one finds them waiting.
    let source = "
        s_mov_b64 exec, 1
        ds_add_rtn_u32 v2, v0, v1 gds
        s_waitcnt lgkmcnt(0)
        v_readfirstlane_b32 s8, v2
        s_cmp_eq_u32 s8, 4
        s_cbranch_scc0 others
        ds_gws_sema_release_all offset:60 gds
        s_branch all
    others:
        ds_gws_sema_p offset:60 gds
    all:
        v_lshlrev_b32 v3, 2, v2
        buffer_store_dword v1, v3, s[4:7], 0 offen
        s_endpgm
    ";
    for generation in [Generation::Gfx7, Generation::Gfx8, Generation::Gfx9] {
        for tier in [Tier::Interp, Tier::Jit] {
            let config = Config::default().tier(tier).threads(1);
            run_once(source, generation, 5, config, &|report: &Report, words: &[u32]| {
                fine(report);
                assert_eq!(words[..6], [1, 1, 1, 1, 1, 0]);
            });
        }
    }
}

#[test]
fn a_barrier_that_too_few_reach_is_a_timeout() {
    let source = "
        v_mov_b32 v4, 1
        ds_gws_init v4 gds
        ds_gws_barrier v4 gds
        s_endpgm
    ";
    run(source, &[Generation::Gfx8], 1, |report, _| {
        let fault = report.fault.as_ref().expect("it waits for ever");
        assert_eq!(fault.kind, FaultKind::Timeout);
    });
}

/// Blocks of two waves, of which the first thread of each meets the others' twice in each round, as grid-wide barriers of HIP do. s2
/// is the block, v0 the thread. Each block has a word at 0 and one at 64; GWS barrier 3 is for the blocks.
const ROUNDS_OF_A_GRID: &str = "
    s_mov_b32 s4, 0x100000
    s_mov_b32 s5, 0
    s_mov_b32 s6, -1
    s_mov_b32 s7, 0x24fac
    s_mov_b32 m0, 0x1000
    v_mov_b32 v8, 11
    s_mov_b64 s[20:21], exec
    v_cmp_eq_u32 s[22:23], 0, v0
    s_mov_b64 exec, s[22:23]
    s_cbranch_execz ready
    v_mov_b32 v1, 0
    v_mov_b32 v2, 1
    ds_add_rtn_u32 v3, v1, v2 gds
    s_waitcnt lgkmcnt(0)
    v_readfirstlane_b32 s8, v3
    s_cmp_eq_u32 s8, 0
    s_cbranch_scc0 others
    ds_gws_init v8 offset:3 gds
    ds_gws_sema_br v8 offset:1 gds
    s_branch ready
others:
    ds_gws_sema_p offset:1 gds
ready:
    s_mov_b64 exec, s[20:21]
    s_barrier
    s_mov_b32 s9, 0
    s_sub_u32 s10, s2, 1
    s_cmp_eq_u32 s2, 0
    s_cselect_b32 s10, 11, s10
    s_lshl_b32 s11, s2, 2
    s_lshl_b32 s12, s10, 2
again:
    s_and_saveexec_b64 s[16:17], s[22:23]
    s_cbranch_execz read
    v_mov_b32 v1, s11
    v_mov_b32 v2, s12
    v_mov_b32 v5, s9
    buffer_load_dword v3, v1, s[4:7], 0 offen
    buffer_load_dword v4, v2, s[4:7], 0 offen
    s_waitcnt vmcnt(0)
    v_mad_u32_u24 v3, v3, 3, v4
    v_mad_u32_u24 v3, v3, 1, v5
    buffer_store_dword v3, v1, s[4:7], 0 offen offset:64
    s_waitcnt vmcnt(0)
read:
    s_mov_b64 exec, s[16:17]
    s_barrier
    s_and_saveexec_b64 s[16:17], s[22:23]
    s_cbranch_execz met
    ds_gws_barrier v8 offset:3 gds
met:
    s_mov_b64 exec, s[16:17]
    s_barrier
    s_and_saveexec_b64 s[16:17], s[22:23]
    s_cbranch_execz written
    buffer_load_dword v3, v1, s[4:7], 0 offen offset:64
    s_waitcnt vmcnt(0)
    buffer_store_dword v3, v1, s[4:7], 0 offen
    s_waitcnt vmcnt(0)
written:
    s_mov_b64 exec, s[16:17]
    s_barrier
    s_and_saveexec_b64 s[16:17], s[22:23]
    s_cbranch_execz left
    ds_gws_barrier v8 offset:3 gds
left:
    s_mov_b64 exec, s[16:17]
    s_barrier
    s_add_u32 s9, s9, 1
    s_cmp_eq_u32 s9, 8
    s_cbranch_scc0 again
    s_endpgm
";

#[test]
fn a_grid_meets_again_and_again() {
    const BLOCKS: usize = 12;
    let mut want: Vec<u32> = (1..=BLOCKS as u32).collect();
    let first: Vec<u8> = want.iter().flat_map(|word| word.to_le_bytes()).collect();
    for round in 0..8 {
        want = (0..BLOCKS).map(|at| want[at] * 3 + want[(at + BLOCKS - 1) % BLOCKS] + round).collect();
    }
    for generation in Generation::ALL {
        let code = assemble(ROUNDS_OF_A_GRID, generation).unwrap_or_else(|e| panic!("{e}")).code;
        // Twelve vector registers, 32 scalar ones, two of them user data; the workgroup's x.
        let options = ProgramOptions::new(Isa::Gcn).raw(true).chip(Some(generation.into()));
        let options = options.rsrc1(Some(3 << 6 | 2)).rsrc2(Some(2 << 1 | 1 << 7));
        let program = Program::load(&code, &options).unwrap();
        for tier in [Tier::Interp, Tier::Jit, Tier::Auto] {
            for threads in [1, 2, 4] {
                let engine = Engine::new(Config::default().tier(tier).threads(threads)).unwrap();
                let memory = engine.memory().unwrap();
                memory.map(Some(OUT), 4096, Access::ReadWrite).unwrap();
                let launch = Launch::default().grid([BLOCKS as u32, 1, 1]).block([128, 1, 1]);
                let mut prepared = engine.prepare(&program, &memory, &launch).unwrap();
                // Again, as a launch that is repeated reuses much.
                for _ in 0..2 {
                    memory.write(OUT, &first).unwrap();
                    let report = prepared.run().unwrap();
                    fine(&report);
                    let mut bytes = [0; 4 * BLOCKS];
                    memory.read(OUT, &mut bytes).unwrap();
                    let got: Vec<u32> =
                        bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
                    assert_eq!(got, want, "{generation:?} {tier:?} {threads}");
                    // Who waits lets others run: with one thread, each of a block's two warps looks twice before that, for a time slice
                    // each, or three times where regions are joined: a chain is left wherever it is then. In tier `auto` code may come
                    // in the midst of a look.
                    let most = if threads == 1 { BLOCKS as u64 * 2 * 3 * 65_536 } else { u64::MAX };
                    let took = report.stats.warp_instructions;
                    assert!(took <= most, "{generation:?} {tier:?} {threads}: {took} instructions");
                }
            }
        }
    }
}
