//! Tests random vector instructions of GCN, with all their modifiers, in all modes: compiled code must do what the interpreter
//! does, bit for bit.
//!
//! `WARPJIT_RANDOM=N` runs N programs, `WARPJIT_SEED=S` runs the one of that seed alone.

use std::collections::BTreeMap;

use warpjit_frontend::Isa;
use warpjit_runtime::{Config, Engine, HostLevel, Launch, Memory, Program, ProgramOptions, Tier};
use warpjit_tests::engines::{GCN_WAYS, differing_register};
use warpjit_tests::gcn::vector::{REGISTERS, VectorCase};
use warpjit_tests::random::seeds::{all_agree, seeds};

fn run(
    case: &VectorCase,
    tier: Tier,
    host: HostLevel,
    groups: Option<u8>,
) -> (BTreeMap<String, Vec<u64>>, f64) {
    let options = ProgramOptions::new(Isa::Gcn)
        .raw(true)
        .chip(Some(case.generation.into()))
        .registers(Some(REGISTERS))
        .sgprs(Some(REGISTERS + 8));
    let program = Program::load(&case.code, &options).expect("random code is code");
    let launch = Launch::default()
        .grid([1; 3])
        .block([64, 1, 1])
        .registers(case.registers.clone())
        .capture_registers(true);
    let config = Config::default().tier(tier).host(host).chunk_groups(groups).threads(1);
    let engine = Engine::new(config).expect("a config that exists");
    let memory = Memory::new().expect("there is address space");
    let report = engine.run(&program, &memory, &launch).expect("the launch is right");
    assert!(report.fault.is_none(), "{:?}\n{}", report.fault, case.listing());
    (report.registers, report.stats.jit_share)
}

/// The share of compiled code.
fn check(case: &VectorCase) -> Result<f64, String> {
    let (wanted, _) = run(case, Tier::Interp, HostLevel::Native, None);
    let mut compiled = 0.0;
    for (host, groups) in GCN_WAYS {
        let (got, share) = run(case, Tier::Jit, host, groups);
        compiled = share;
        if let Some(difference) = differing_register(&wanted, &got, |_| true) {
            return Err(format!("{difference} ({host:?}, groups {groups:?})\n{}", case.listing()));
        }
    }
    Ok(compiled)
}

#[test]
fn vector_instructions_are_compiled_as_they_are_interpreted() {
    let seeds = seeds(0, 20);
    let count = seeds.end - seeds.start;
    let compiled = all_agree(seeds, |seed| check(&VectorCase::new(seed)));
    assert!(compiled > 0.5 * count as f64, "of {count} programs {compiled} were compiled");
}
