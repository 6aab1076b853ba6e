//! Tests random programs of GCN's scalar unit among vector code: SCC, VCC, M0, EXEC, pairs, `s_movrel`, the index mode, calls,
//! forks, hardware registers, scalar memory. The interpreter and compiled code must do what a direct model of the instructions
//! does.
//!
//! `WARPJIT_RANDOM=N` runs N programs, `WARPJIT_SEED=S` runs the one of that seed alone.

use warpjit_frontend::gcn::Generation;
use warpjit_tests::gcn::scalar::ScalarCase;
use warpjit_tests::gcn::{self, Arg, Ins, Item, State};
use warpjit_tests::random::seeds::{all_agree, seeds};

#[test]
fn scalar_programs_do_what_the_model_does() {
    let seeds = seeds(0, 80);
    let count = seeds.end - seeds.start;
    let compiled = all_agree(seeds, |seed| {
        let case = ScalarCase::new(seed);
        case.check().map_err(|_| case.reduced())
    });
    assert!(count < 20 || compiled > 0.3 * count as f64, "of {count} programs {compiled} were compiled");
}

/// The model knows the right answers where the notes have examples (docs/hardware/gcn.md section 5).
#[test]
fn the_model_itself() {
    let run = |name: &str, kinds: &'static str, a: u32, b: u32| {
        let args = [vec![Arg::S(10)], vec![Arg::S(8), Arg::S(9)]].concat();
        let count = kinds.len() - 1;
        let ins = Ins {
            name: name.into(),
            kinds,
            args: args[..count].to_vec(),
            constant: 0,
            suffix: String::new(),
        };
        let program = gcn::Program { items: vec![Item::Ins(ins), Item::End] };
        let mut state = State { s: vec![0; 128], v: vec![], scc: true, mode: 0, memory: vec![], records: 0 };
        (state.s[8], state.s[9]) = (a, b);
        gcn::run(&program, Generation::Gfx9, &mut state).expect("it ends");
        (state.s[10], state.scc)
    };
    assert_eq!(run("s_absdiff_i32", "1=11", 0x7fff_ffff, 0x8000_0000), (1, true));
    assert_eq!(run("s_abs_i32", "1=1", 0x8000_0000, 0), (0x8000_0000, true));
    assert_eq!(run("s_flbit_i32", "1=1", u32::MAX, 0), (u32::MAX, true));
    assert_eq!(run("s_flbit_i32", "1=1", 0xffff_0000, 0), (16, true));
    assert_eq!(run("s_bfe_i32", "1=11", 0x8000_0000, 64 << 16 | 31), (u32::MAX, true));
    assert_eq!(run("s_bfe_u32", "1=11", 0x1234_5678, 8), (0, false));
    assert_eq!(run("s_bfm_b32", "1=11", 4, 36), (0xf0, true));
    assert_eq!(run("s_subb_u32", "1=11", 5, 4), (0, false));
    assert_eq!(run("s_wqm_b32", "1=1", 0x0210_0008, 0), (0x0ff0_000f, true));
    assert_eq!(run("s_quadmask_b32", "1=1", 0x0210_0008, 0), (0x61, true));
}
