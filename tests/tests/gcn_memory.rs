//! Tests random memory instructions of GCN: LDS, GDS, flat and global memory, plain and typed buffers, and images with all kinds
//! of resources. After each program, registers, LDS and memory must be the same with the interpreter and with compiled code; and
//! also with memory mapped elsewhere in the address space, and with two parts of it not adjacent in host memory.
//!
//! `WARPJIT_RANDOM=N` runs N programs, `WARPJIT_SEED=S` runs the one of that seed alone.

use warpjit_frontend::Isa;
use warpjit_frontend::gcn::{Generation, assemble};
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

/// One block stores pairs of dwords, each the other's complement; another one looks at them meanwhile. A pair is seen whole, also where the
/// address may be in LDS or scratch for all that the code tells.
#[test]
fn pairs_of_dwords_are_seen_whole() {
    const PLACE: u64 = 0x10_0000;
    // s2 is the block.
    let source = "
        v_mov_b32 v1, 0x100000
        v_mov_b32 v2, 0
        v_mov_b32 v3, 0x100100
        v_mov_b32 v4, 0
        v_mov_b32 v8, 0
        s_mov_b64 exec, 1
        s_movk_i32 s3, 20000
        s_cmp_eq_u32 s2, 0
        s_cbranch_scc0 look
    again:
        v_mov_b32 v5, s3
        v_not_b32 v6, v5
        flat_store_dwordx2 v[1:2], v[5:6]
        s_sub_u32 s3, s3, 1
        s_cmp_lg_u32 s3, 0
        s_cbranch_scc1 again
        s_endpgm
    look:
        flat_load_dwordx2 v[5:6], v[1:2] glc
        s_waitcnt vmcnt(0) lgkmcnt(0)
        v_xor_b32 v7, v5, v6
        v_not_b32 v7, v7
        v_or_b32 v8, v8, v7
        s_sub_u32 s3, s3, 1
        s_cmp_lg_u32 s3, 0
        s_cbranch_scc1 look
        flat_store_dword v[3:4], v8
        s_endpgm
    ";
    let code = assemble(source, Generation::Gfx9).unwrap_or_else(|error| panic!("{error}")).code;
    let options = ProgramOptions::new(Isa::Gcn).raw(true).chip(Some(Generation::Gfx9.into()));
    let program =
        Program::load(&code, &options.rsrc1(Some(3 << 6 | 2)).rsrc2(Some(2 << 1 | 1 << 7))).unwrap();
    for (tier, host) in
        [(Tier::Interp, HostLevel::Native), (Tier::Jit, HostLevel::Native), (Tier::Jit, HostLevel::Avx2)]
    {
        let engine = Engine::new(Config::default().tier(tier).host(host).threads(2)).unwrap();
        let memory = engine.memory().unwrap();
        memory.map(Some(PLACE), 4096, Access::ReadWrite).unwrap();
        memory.write(PLACE, &[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]).unwrap();
        memory.write(PLACE + 0x100, &[9; 4]).unwrap();
        let launch = Launch::default().grid([2, 1, 1]).block([64, 1, 1]);
        let report = engine.run(&program, &memory, &launch).unwrap();
        assert!(report.fault.is_none(), "{:?}", report.fault);
        let mut torn = [9; 4];
        memory.read(PLACE + 0x100, &mut torn).unwrap();
        assert_eq!(torn, [0; 4], "{tier:?} {host:?}");
    }
}
