//! Tests random memory instructions of GCN: LDS, GDS, flat and global memory, plain and typed buffers, and images with all kinds
//! of resources. After each program, registers, LDS and memory must be the same with the interpreter and with compiled code; and
//! also with memory mapped elsewhere in the address space, and with two parts of it not adjacent in host memory.
//!
//! `WARPJIT_RANDOM=N` runs N programs, `WARPJIT_SEED=S` runs the one of that seed alone.

use warpjit_frontend::Isa;
use warpjit_runtime::{Access, Config, Engine, HostLevel, Launch, Program, ProgramOptions, Report, Tier};
use warpjit_tests::engines::{GCN_WAYS, differing_register};
use warpjit_tests::gcn::memory::{BYTES, ELSEWHERE, LDS_BYTES, LOW, MemoryCase, VGPRS};
use warpjit_tests::random::seeds::{all_agree, seeds};

/// The program without what it fails without.
fn reduced(case: &MemoryCase) -> MemoryCase {
    let mut least = case.clone();
    for n in (0..case.words.len()).rev() {
        let mut less = least.clone();
        less.words.remove(n);
        if check(&less).is_err() {
            least = less;
        }
    }
    least
}

fn run(case: &MemoryCase, tier: Tier, host: HostLevel, groups: Option<u8>, start: u64) -> (Report, Vec<u8>) {
    let options = ProgramOptions::new(Isa::Gcn)
        .raw(true)
        .chip(Some(case.generation.into()))
        .registers(Some(VGPRS))
        .shared(Some(LDS_BYTES));
    let program = Program::load(&case.code(), &options).expect("random code is code");
    let launch = Launch::default()
        .grid([1; 3])
        .block([64, 1, 1])
        .registers(case.registers_for(start))
        .capture_registers(true)
        .capture_shared(true);
    // Lanes meet in memory: their order is that of the hardware only in lock step.
    let config = Config::default().tier(tier).host(host).chunk_groups(groups).threads(1).lockstep(true);
    let engine = Engine::new(config).expect("a config that exists");
    let memory = engine.memory().expect("there is address space");
    memory.map(Some(start), BYTES, Access::ReadWrite).expect("the address is free");
    memory.write(start, &case.memory).expect("it is mapped");
    let report = engine.run(&program, &memory, &launch).expect("the launch is right");
    let mut after = vec![0; BYTES as usize];
    memory.read(start, &mut after).expect("it is mapped");
    (report, after)
}

fn check(case: &MemoryCase) -> Result<f64, String> {
    let (wanted, memory) = run(case, Tier::Interp, HostLevel::Native, None, LOW);
    let elsewhere = ELSEWHERE[case.elsewhere];
    let ways = GCN_WAYS.map(|(host, groups)| (Tier::Jit, host, groups));
    let moved = [(Tier::Interp, HostLevel::Native, None)].into_iter().chain(ways);
    let ways = ways.into_iter().map(|way| (way, LOW)).chain(moved.map(|way| (way, elsewhere)));
    let mut compiled = 0.0;
    for ((tier, host, groups), start) in ways {
        let (got, after) = run(case, tier, host, groups, start);
        compiled = got.stats.jit_share;
        let way = format!("({tier:?}, {host:?}, groups {groups:?}, at {start:#x})\n{}", case.listing());
        let places = |report: &Report, start: u64| {
            let from_start = |address: u64| address.wrapping_sub(start);
            report.fault.as_ref().map(|f| (f.kind, f.pc, f.lane, f.address.map(from_start)))
        };
        if places(&wanted, LOW) != places(&got, start) {
            return Err(format!("{:?} and {:?} {way}", wanted.fault, got.fault));
        }
        if let Some(at) = (0..memory.len()).find(|&at| memory[at] != after[at]) {
            let (a, b) = (memory[at], after[at]);
            return Err(format!("memory at {at:#x}: {a:x} and {b:x} {way}"));
        }
        if wanted.fault.is_some() {
            // Lock step is for global memory: of LDS, some chunks of lanes may have done more than others.
            continue;
        }
        if let Some(at) = (0..wanted.shared.len()).find(|&at| wanted.shared[at] != got.shared[at]) {
            return Err(format!("LDS {at:#x} {way}"));
        }
        // The guest's own that hold no addresses; others carry values from block to block.
        let addresses = ["v2", "v3", "s4", "s5", "s16", "s17"];
        let own = |name: &str| name.starts_with(['s', 'v', 'm']) && !addresses.contains(&name);
        if let Some(difference) = differing_register(&wanted.registers, &got.registers, own) {
            return Err(format!("{difference} {way}"));
        }
    }
    Ok(compiled)
}

#[test]
fn memory_instructions_are_compiled_as_they_are_interpreted() {
    let seeds = seeds(0, 20);
    let count = seeds.end - seeds.start;
    let compiled = all_agree(seeds, |seed| {
        let case = MemoryCase::new(seed);
        check(&case).map_err(|_| check(&reduced(&case)).expect_err("it still fails"))
    });
    assert!(count < 20 || compiled > 0.1 * count as f64, "of {count} programs {compiled} were compiled");
}
