//! Tests limits of steps: compiled code counts a warp's instructions as the interpreter does, however the kernel is divided into
//! regions, and stops at the same instruction.

use warpjit::launch_file::LaunchFile;
use warpjit::outcome::Status;
use warpjit::session::{Session, load_program};
use warpjit_runtime::{
    Access, Arg, Config, Engine, FaultKind, HostLevel, Isa, Launch, Program, Report, Tier,
};
use warpjit_tests::arrays::assembled;
use warpjit_tests::corpus::{self, Case};

/// More than any launch here takes, and more than regions are told of at once.
const NEVER: u64 = 1 << 40;

fn engine(tier: Tier, host: HostLevel) -> Engine {
    Engine::new(Config::default().tier(tier).host(host).threads(1)).unwrap()
}

/// A file's launch with a limit; whether its expectations hold, and the report.
fn run((file, program): (&mut LaunchFile, &Program), engine: &Engine, max_steps: u64) -> (Status, Report) {
    file.launch.max_steps = max_steps;
    let mut session = Session::with_program(file, engine, program.clone()).unwrap();
    let report = session.run().unwrap();
    (session.check(report.clone()).unwrap().status, report)
}

/// The project's own programs: kernels, not single instructions.
fn kernels() -> Vec<Case> {
    let of = |isa: &str| corpus::in_folder(&corpus::corpus().join(isa), isa).unwrap();
    ["tesla", "fermi", "gcn"].into_iter().flat_map(of).collect()
}

/// The interpreter first, then all that code may be cut for.
fn engines() -> Vec<(String, Engine)> {
    let engine = |tier, host, lockstep, chunk_groups| {
        let config =
            Config::default().tier(tier).host(host).lockstep(lockstep).chunk_groups(chunk_groups).threads(1);
        (
            format!("{tier:?} {host:?} lockstep {lockstep} chunk {chunk_groups:?}"),
            Engine::new(config).unwrap(),
        )
    };
    let mut list = vec![engine(Tier::Interp, HostLevel::Native, false, None)];
    list.push(engine(Tier::Interp, HostLevel::Avx2, true, None));
    for lockstep in [false, true] {
        list.push(engine(Tier::Jit, HostLevel::Native, lockstep, None));
        list.push(engine(Tier::Jit, HostLevel::Native, lockstep, Some(1)));
        list.push(engine(Tier::Jit, HostLevel::Avx2, lockstep, Some(0)));
        list.push(engine(Tier::Jit, HostLevel::Avx2, lockstep, None));
    }
    list
}

/// Instructions that store several words, between others: a limit finds each whole or not at all, however its words are cut apart.
#[test]
fn wide_stores_happen_whole_or_not_at_all() {
    let tesla = |width: &str, vector: &str| {
        (
            Isa::Tesla,
            "g84",
            format!(
                "cvt u32 $r0 u16 $r0l\nshl b32 $r1 $r0 0x4\nadd b32 $r1 b32 s[0x10] $r1\nmov b32 $r4 0x22\n\
                 mov b32 $r5 0x33\nmov b32 $r6 0x44\nmov b32 $r7 0x55\nst {width} g14[$r1] {vector}\n\
                 mov b32 $r4 0x66\nst b32 g14[$r1] $r4\nexit nop\n"
            ),
        )
    };
    let fermi = |width: &str, vector: &str| {
        (
            Isa::Fermi,
            "gf100",
            format!(
                "mov b32 $r0 $tidx\nshl b32 $r1 $r0 0x4\nadd b32 $r1 $r1 c0[0x20]\nmov b32 $r4 0x22\n\
                 mov b32 $r5 0x33\nmov b32 $r6 0x44\nmov b32 $r7 0x55\nst {width} wb g[$r1] {vector}\n\
                 mov b32 $r4 0x66\nst b32 wb g[$r1] $r4\nexit\n"
            ),
        )
    };
    let gcn = |chip: &'static str, store: &str| {
        (
            Isa::Gcn,
            chip,
            format!(
                "v_mbcnt_lo_u32_b32 v0, -1, 0\nv_mbcnt_hi_u32_b32 v0, -1, v0\nv_lshlrev_b32 v0, 4, v0\n\
                 v_mov_b32 v1, 0x10000\nv_add_u32 v0, v0, v1\nv_mov_b32 v1, 0\nv_mov_b32 v4, 0x22\n\
                 v_mov_b32 v5, 0x33\nv_mov_b32 v6, 0x44\nv_mov_b32 v7, 0x55\n{store}\nv_mov_b32 v4, 0x66\n\
                 flat_store_dword v[0:1], v4\ns_endpgm\n"
            ),
        )
    };
    let programs = [
        tesla("b64", "$r4d"),
        tesla("b128", "$r4q"),
        fermi("b64", "$r4d"),
        fermi("b128", "$r4q"),
        gcn("gfx900", "flat_store_dwordx2 v[0:1], v[4:5]"),
        gcn("gfx900", "global_store_dwordx4 v[0:1], v[4:7], off"),
        gcn("gfx900", "flat_store_dwordx3 v[0:1], v[4:6]"),
    ];
    let engines = engines();
    for (isa, chip, text) in programs {
        let program = assembled(&text, chip, 16, None);
        let lanes = program.image().function.lanes;
        let run = |engine: &Engine, max_steps: u64| {
            let memory = engine.memory().unwrap();
            memory.map(Some(0x10000), 4096, Access::ReadWrite).unwrap();
            let args = if isa == Isa::Gcn { Vec::new() } else { vec![Arg::u32(0x10000)] };
            let launch = Launch::default().grid([1; 3]).block([lanes, 1, 1]).args(args).max_steps(max_steps);
            let report = engine.run(&program, &memory, &launch).unwrap();
            let mut bytes = vec![0; 4096];
            memory.read(0x10000, &mut bytes).unwrap();
            let words = bytes.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
            (report.fault.map(|fault| (fault.kind, fault.pc)), words)
        };
        let mut states = Vec::new();
        for max_steps in 1..20 {
            let wanted: (_, Vec<u32>) = run(&engines[0].1, max_steps);
            for (kind, engine) in &engines[1..] {
                assert!(run(engine, max_steps) == wanted, "{max_steps} steps, {kind}:\n{text}");
            }
            // Every lane's words are those of the first.
            for lane in 0..lanes as usize {
                assert_eq!(wanted.1[4 * lane..][..4], wanted.1[..4], "{max_steps}:\n{text}");
            }
            if states.last() != Some(&wanted.1[..4].to_vec()) {
                states.push(wanted.1[..4].to_vec());
            }
        }
        // Nothing, all words of the wide store, the other one.
        assert_eq!(states.len(), 3, "{states:x?}\n{text}");
        assert!(states[0] == [0; 4] && states[1][..2] == [0x22, 0x33], "{states:x?}\n{text}");
    }
}

/// Where a limit ends a warp, memory holds what the interpreter leaves, whatever code was cut for.
#[test]
fn memory_is_what_the_interpreter_leaves() {
    let engines = engines();
    let (wanted, others) = engines.split_first().unwrap();
    let (mut limited, mut stored) = (0, 0);
    let asm = corpus::in_archive(&corpus::corpus().join("gcn-asm.tar.gz"), "gcn-asm").unwrap();
    for case in kernels().into_iter().step_by(3).chain(asm.into_iter().step_by(19)) {
        let mut file = case.load().unwrap();
        let program = load_program(&file).unwrap();
        // One warp: others would have run or not.
        file.launch.grid = [1; 3];
        let lanes = program.image().function.lanes;
        while file.launch.block.iter().product::<u32>() > lanes {
            let longest = file.launch.block.iter_mut().max().unwrap();
            *longest = longest.div_ceil(2);
        }
        let mut run = |engine: &Engine, max_steps: u64| {
            file.launch.max_steps = max_steps;
            let mut session = Session::with_program(&file, engine, program.clone()).unwrap();
            let fault = session.run().unwrap().fault.map(|f| (f.kind, f.pc, f.lane));
            let read = |n: usize| session.read(n, 0, file.buffers[n].bytes as usize).unwrap();
            (fault, (0..file.buffers.len()).map(read).collect::<Vec<_>>())
        };
        let (_, mut before) = run(&wanted.1, 1);
        for max_steps in (1..40).chain([100, 333, 1000]) {
            let (fault, content) = run(&wanted.1, max_steps);
            stored += u32::from(content != before);
            for (kind, engine) in others {
                let got = run(engine, max_steps);
                assert_eq!(got.0, fault, "{} with {max_steps}, {kind}", case.name);
                assert!(got.1 == content, "{} with {max_steps}, {kind}", case.name);
            }
            before = content;
            match fault {
                Some((FaultKind::Timeout, ..)) => limited += 1,
                _ => break,
            }
        }
    }
    assert!(limited > 1000 && stored > 30, "{limited} limits, {stored} of them behind a store");
}

#[test]
fn compiled_code_counts_what_the_interpreter_counts() {
    counts_as_the_interpreter(HostLevel::Native);
}

#[test]
fn so_does_code_without_vectors_of_512_bits() {
    counts_as_the_interpreter(HostLevel::Avx2);
}

fn counts_as_the_interpreter(host: HostLevel) {
    let (interp, jit) = (engine(Tier::Interp, host), engine(Tier::Jit, host));
    let (mut limited, mut skipped) = (0, 0);
    for case in kernels() {
        let mut file = case.load().unwrap();
        let program = load_program(&file).unwrap();
        let (_, wanted) = run((&mut file, &program), &interp, NEVER);
        if wanted.fault.is_some() || wanted.stats.warp_instructions > 60_000 {
            skipped += 1;
            continue;
        }
        assert_eq!(run((&mut file, &program), &jit, NEVER).0, Status::Ok, "{}", case.name);
        // A limit that is not reached, but that the code without its data does not exclude.
        let each = wanted.stats.warp_instructions / wanted.stats.warps.max(1);
        let near = |factor: u64| each * factor / 2 + 1;
        let enough =
            (2..64).map(near).find(|&n| run((&mut file, &program), &interp, n).1.fault.is_none()).unwrap();
        let (status, got) = run((&mut file, &program), &jit, enough);
        assert_eq!(status, Status::Ok, "{} with {enough}", case.name);
        let counts = |report: &Report| {
            let stats = &report.stats;
            (stats.warp_instructions, stats.thread_instructions, stats.traffic.clone())
        };
        assert_eq!(counts(&got), counts(&wanted), "{} with {enough}", case.name);
        // Somewhere within, so that warps end in loops, behind barriers and on ways of a few lanes.
        for max_steps in [1, each / 5, each / 2, each - each / 7, each, each + 1] {
            let (_, wanted) = run((&mut file, &program), &interp, max_steps.max(1));
            let (_, got) = run((&mut file, &program), &jit, max_steps.max(1));
            let place =
                |report: &Report| report.fault.as_ref().map(|f| (f.kind, f.pc, f.block, f.warp, f.lane));
            assert_eq!(place(&got), place(&wanted), "{} with {max_steps}", case.name);
            limited += u32::from(got.fault.is_some_and(|fault| fault.kind == FaultKind::Timeout));
        }
    }
    assert!(limited > 300 && skipped < 40, "{limited} limited, {skipped} skipped");
}
