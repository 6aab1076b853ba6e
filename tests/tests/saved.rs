//! Tests launches that are saved and continued: programs of the corpus and random ones, in pieces that run in different ways, each
//! in memory of its own; from one process to another; and loops that do not end by themselves.
//!
//! `waits.rs` does the same with kernels whose threads wait for each other, `runtime/src/saved/tests.rs` has bytes that are wrong.

use std::process::Command;
use std::time::Duration;

use warpjit::outcome::Status;
use warpjit::session::{Session, load_program};
use warpjit_frontend::Isa;
use warpjit_runtime::{
    Access, Arg, Config, Engine, Error, HostLevel, Launch, Memory, SaveToken, SavedLaunch, Tier,
};
use warpjit_tests::corpus::{self, Case};
use warpjit_tests::dialects::{ARGS, program};
use warpjit_tests::random::seeds::{all_agree, seeds};
use warpjit_tests::random::{self, Family, Loaded, Setting};

/// The engines that a launch goes through, again and again.
fn engines() -> Vec<Engine> {
    let jit = Config::default().tier(Tier::Jit).threads(1);
    let list = [
        jit.clone(),
        jit.clone().tier(Tier::Interp).threads(2),
        jit.clone().chunk_groups(Some(0)).threads(2),
        jit.clone().host(HostLevel::Sse41).chunk_groups(Some(1)),
        jit.clone().tier(Tier::Auto).hot_after(Some(0)).threads(2),
        jit.clone().host(HostLevel::Avx2).checked_memory(true),
        jit.clone().tier(Tier::Interp),
        jit.chunk_groups(Some(4)).threads(2),
    ];
    list.map(|config| Engine::new(config).unwrap()).into()
}

/// Times that a program is saved at most, each time after more regions.
const PIECES: usize = 8;

/// Runs a launch file in pieces; gives how often it was saved.
fn in_pieces(case: &Case, engines: &[Engine], first: usize) -> Result<usize, String> {
    let file = case.load().map_err(|e| e.to_string())?;
    if file.stage.is_some() {
        return Ok(0);
    }
    let program = load_program(&file).map_err(|e| format!("{e:#}"))?;
    let mut bytes: Option<Vec<u8>> = None;
    for piece in 0.. {
        let engine = &engines[(first + piece) % engines.len()];
        let mut session =
            Session::with_program(&file, engine, program.clone()).map_err(|e| format!("{e:#}"))?;
        if let Some(bytes) = &bytes {
            session.set_saved(bytes).map_err(|e| format!("piece {piece}: {e:#}"))?;
        }
        if piece < PIECES {
            session.set_save(SaveToken::after(2 + first as u64 % 3 + (1 << (2 * piece))));
        }
        let report = session.run().map_err(|e| format!("piece {piece}: {e:#}"))?;
        if let Some(saved) = &report.saved {
            bytes = Some(session.saved_bytes(saved).map_err(|e| format!("{e:#}"))?);
            continue;
        }
        let outcome = session.check(report).map_err(|e| format!("{e:#}"))?;
        return match outcome.status {
            Status::Ok => Ok(piece),
            _ => Err(format!("after {piece} pieces: {}", outcome.to_text(false))),
        };
    }
    unreachable!()
}

/// Runs cases of the corpus in pieces. Some are so short that they end at once.
fn corpus_in_pieces(cases: Vec<Case>, least: usize) {
    let engines = engines();
    let (mut wrong, mut pieces) = (Vec::new(), 0);
    for (number, case) in cases.iter().enumerate() {
        match in_pieces(case, &engines, number) {
            Ok(saved) => pieces += saved,
            Err(error) => wrong.push(format!("{}: {error}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(pieces >= least, "saved {pieces} times only");
}

fn cases(found: std::io::Result<Vec<Case>>, folders: &[&str]) -> Vec<Case> {
    let of = |case: &Case| folders.iter().any(|folder| case.name.starts_with(folder));
    found.unwrap().into_iter().filter(of).collect()
}

#[test]
fn tesla_programs_run_in_pieces() {
    corpus_in_pieces(cases(corpus::tesla(), &["tesla/"]), 30);
}

#[test]
fn fermi_programs_run_in_pieces() {
    corpus_in_pieces(cases(corpus::fermi(), &["fermi/"]), 20);
}

/// Among them are programs with scratch and with calls.
#[test]
fn gcn_programs_run_in_pieces() {
    corpus_in_pieces(cases(corpus::gcn(), &["gcn/", "gcn-radv/"]), 100);
}

#[test]
fn random_programs_run_in_pieces() {
    let patience = Duration::from_secs(20);
    for family in [Family::Divergence, Family::Memory] {
        let pieces = all_agree(seeds(7000, 30), |seed| {
            let loaded = Loaded::new(&random::program(family, seed), seed);
            let (wanted, _) = loaded.run(Setting::REFERENCE, patience);
            if wanted.hangs {
                return Ok(0.0);
            }
            let (got, pieces) = loaded.run_in_pieces(seed..seed + 9, patience);
            match wanted.difference(&got) {
                Some(difference) => Err(format!("{family:?} in {pieces} pieces: {difference}")),
                None => Ok(pieces as f64),
            }
        });
        assert!(pieces > 15.0, "{family:?}: saved {pieces} times only");
    }
}

const OUT: u64 = 0x1_0000;

fn launch(isa: Isa, args: &[u32], blocks: u32, threads: u32) -> Launch {
    let mut all = [0; ARGS];
    all[..args.len()].copy_from_slice(args);
    let mut shared = vec![0; 512];
    if isa == Isa::Tesla {
        // The launch puts arguments there.
        let bytes: Vec<u8> = all.iter().flat_map(|arg| arg.to_le_bytes()).collect();
        shared[16..16 + bytes.len()].copy_from_slice(&bytes);
    }
    let (grid, block, args) = ([blocks, 1, 1], [threads, 1, 1], all.map(Arg::u32).to_vec());
    Launch::default().grid(grid).block(block).args(args).shared(shared)
}

/// Loops that go on until the host says so, or never: they wait, they count, or their lanes part. A launch stops in them.
#[test]
fn endless_loops_can_be_saved() {
    let loops = [
        "ldg r11 r8; leave 0 r31 r11",
        "ldg r11 r8; addi r15 r15 1; leave 0 r31 r11",
        "addi r15 r15 1; leave 0 r15 r31",
        "addi r15 r15 1; andi r16 r15 3; if r16 r1; addi r17 r17 1; endif; leave 0 r15 r31",
    ];
    for (number, turn) in loops.into_iter().enumerate() {
        let source = format!(
            "param r8 0; mov r31 0; mov r15 0; mov r17 0; while 0; {turn}; repeat 0; addi r8 r8 4; stg r8 r1; exit"
        );
        for isa in [Isa::Tesla, Isa::Fermi, Isa::Gcn] {
            let program = program(&source, isa, 512);
            let memory = Memory::new().unwrap();
            memory.map(Some(OUT), 4096, Access::ReadWrite).unwrap();
            let mut saved: Option<SavedLaunch> = None;
            for engine in &engines() {
                let token = SaveToken::new();
                let launch = launch(isa, &[OUT as u32], 3, 80).save(Some(token.clone()));
                let report = std::thread::scope(|scope| {
                    scope.spawn(|| {
                        std::thread::sleep(Duration::from_millis(5));
                        token.save();
                    });
                    match &saved {
                        None => engine.run(&program, &memory, &launch),
                        Some(saved) => engine.resume(&program, &memory, &launch, saved),
                    }
                });
                let state = report.unwrap().saved.expect("it does not end");
                assert_eq!(state.blocks_left(), 3);
                saved = Some(SavedLaunch::from_bytes(&state.to_bytes()).unwrap());
            }
            if number < 2 {
                memory.write(OUT, &[1]).unwrap();
                let engine = Engine::new(Config::default()).unwrap();
                let launch = launch(isa, &[OUT as u32], 3, 80);
                let report = engine.resume(&program, &memory, &launch, &saved.unwrap()).unwrap();
                assert!(report.fault.is_none() && report.saved.is_none() && !report.cancelled);
            }
        }
    }
}

/// Set in the process that continues: the file with the bytes.
const STATE: &str = "WARPJIT_TEST_STATE";

/// Each block's threads sum up by shared memory, with a barrier in each round.
const SUMS: &str = "param r8 0; mov r15 0; shl r10 r1 2; mov r11 0x100; add r10 r10 r11; sts r10 0 r1
    loop r12
    bar
    addi r13 r1 1; andi r13 r13 31; shl r13 r13 2; add r13 r13 r11; lds r14 r13 0
    bar
    add r15 r15 r14; add r15 r15 r4; sts r10 0 r15
    again r12 300
    bar
    shl r16 r4 7; shl r17 r1 2; add r16 r16 r17; add r8 r8 r16; stg r8 r15; exit";

fn sums(memory: &Memory) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    memory.read(OUT, &mut bytes).unwrap();
    bytes
}

#[test]
fn another_process_goes_on() {
    let isas = [("tesla", Isa::Tesla), ("fermi", Isa::Fermi), ("gcn", Isa::Gcn)];
    let launch = |isa| launch(isa, &[OUT as u32], 6, 32);
    if let Ok(state) = std::env::var(STATE) {
        let (name, path) = state.split_once(' ').unwrap();
        let isa = isas.iter().find(|isa| isa.0 == name).unwrap().1;
        let saved = SavedLaunch::from_bytes(&std::fs::read(path).unwrap()).unwrap();
        let memory = Memory::new().unwrap();
        saved.restore_memory(&memory).unwrap();
        let engine = Engine::new(Config::default().tier(Tier::Jit).threads(2)).unwrap();
        let report = engine.resume(&program(SUMS, isa, 512), &memory, &launch(isa), &saved).unwrap();
        assert!(report.fault.is_none() && report.stats.blocks == saved.blocks_left());
        std::fs::write(path, sums(&memory)).unwrap();
        return;
    }
    for (name, isa) in isas {
        let program = program(SUMS, isa, 512);
        let engine = Engine::new(Config::default().tier(Tier::Interp).threads(2)).unwrap();
        let memory = || {
            let memory = Memory::new().unwrap();
            memory.map(Some(OUT), 4096, Access::ReadWrite).unwrap();
            memory
        };
        let whole = memory();
        engine.run(&program, &whole, &launch(isa)).unwrap();
        let memory = memory();
        let stopped = launch(isa).save(Some(SaveToken::after(900)));
        let report = engine.run(&program, &memory, &stopped).unwrap();
        let saved = report.saved.expect("it is in the midst of it");
        let path = std::env::temp_dir().join(format!("warpjit-saved-{}-{name}", std::process::id()));
        std::fs::write(&path, saved.to_bytes_with(&memory).unwrap()).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "saved::another_process_goes_on"]);
        let output = child.env(STATE, format!("{name} {}", path.display())).output().unwrap();
        let got = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stdout));
        assert!(got == sums(&whole), "{name}: the other process comes to other sums");
    }
}

#[test]
fn what_cannot_be_saved_says_so() {
    let isa = Isa::Tesla;
    let (program, engine) = (program(SUMS, isa, 512), Engine::new(Config::default()).unwrap());
    let memory = Memory::new().unwrap();
    memory.map(Some(OUT), 4096, Access::ReadWrite).unwrap();
    // It is at its end before it is to be saved.
    let done = launch(isa, &[OUT as u32], 6, 32).save(Some(SaveToken::after(u64::MAX)));
    let report = engine.run(&program, &memory, &done).unwrap();
    assert!(report.saved.is_none() && report.stats.blocks == 6);
    // Numerics are part of what a launch computes.
    let stopped = done.clone().save(Some(SaveToken::after(9)));
    let saved = engine.run(&program, &memory, &stopped).unwrap().saved.unwrap();
    let fast = Config::default().numerics(warpjit_runtime::Numerics::Fast);
    let other = Engine::new(fast).unwrap().resume(&program, &memory, &done, &saved);
    assert!(matches!(other, Err(Error::State(_))));
}
