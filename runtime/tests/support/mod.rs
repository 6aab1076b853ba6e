//! Launches kernels in the IR's text format on every tier, for the tests.

#![allow(dead_code, reason = "each test file uses a part")]

use std::process::{Command, ExitStatus};

use warpjit_ir::{Builtin, HeaderField, KernelAbi, ParamSpace, Space};
use warpjit_runtime::{
    Access, CodeMap, Config, Engine, Error, Fault, HostLevel, KernelImage, Launch, Memory, Program, Report,
    Tier,
};

/// Runs one test of this very binary in a process of its own, with a variable that says what it is to do there.
/// What it writes to its error output is shown.
pub fn child(test: &str, variable: &str, case: &str) -> ExitStatus {
    let exe = std::env::current_exe().expect("own path");
    let mut command = Command::new(exe);
    let output = command.args(["--exact", test, "--nocapture"]).env(variable, case).output().expect("child");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    output.status
}

/// A chip like a small Tesla.
pub fn abi() -> KernelAbi {
    let field = |offset, value| HeaderField { space: Space::Shared, offset, bytes: 2, value };
    KernelAbi {
        warp_lanes: 32,
        full_warps: false,
        header: vec![field(2, Builtin::Ntid(0)), field(12, Builtin::Ctaid(0)), field(14, Builtin::Ctaid(1))],
        params: ParamSpace { space: Space::Shared, offset: 16, max_bytes: 256, pointer_bytes: 4 },
        segments: Vec::new(),
        max_grid: [65535, 65535, 1],
        max_block: [512, 512, 64],
        max_threads: 512,
        max_registers: 128,
        max_shared_bytes: 16384,
        max_local_bytes: 16384,
        barriers: 16,
    }
}

/// The image of one kernel. `body` is what stands between the braces.
pub fn image(body: &str) -> KernelImage {
    let text = format!("function @test spmd lanes 32 {{\n{body}\n}}\n");
    let function =
        warpjit_ir::text::parse_function(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    KernelImage {
        name: "test".into(),
        function,
        abi: abi(),
        registers: 16,
        shared_bytes: 1024,
        local_bytes: 64,
        params: None,
        consts: vec![],
        compiler_bank: None,
        code: CodeMap::of_file(&[0xaa, 0xbb, 0xcc, 0xdd], 0x10),
        known_user_data: vec![],
        instruction_bytes: |_| 8,
        aliases: Vec::new(),
        stage: None,
    }
}

/// A program of one kernel. `body` is what stands between the braces.
pub fn program(body: &str) -> Program {
    Program::from_image(image(body)).unwrap_or_else(|error| panic!("{error}\n{body}"))
}

/// An engine on a tier.
pub fn engine(tier: Tier, threads: usize) -> Engine {
    Engine::new(Config::default().tier(tier).threads(threads)).expect("engine")
}

/// What everything runs with: tiers, thread counts, and chunks as of hosts without vectors of 512 bits.
pub fn settings() -> Vec<Config> {
    let config = |(tier, threads, chunk_groups)| {
        Config::default().tier(tier).threads(threads).chunk_groups(chunk_groups)
    };
    let plain =
        [(Tier::Interp, 1, None), (Tier::Interp, 3, None), (Tier::Jit, 1, None), (Tier::Jit, 3, None)];
    let narrow = [0, 1, 2, 4].map(|groups| (Tier::Jit, if groups == 2 { 3 } else { 1 }, Some(groups)));
    let avx2 = config((Tier::Jit, 1, None)).host(HostLevel::Avx2);
    plain.into_iter().chain(narrow).map(config).chain([avx2]).collect()
}

/// What tells one of the [`settings`] from others.
pub fn told(config: &Config) -> String {
    let Config { tier, threads, chunk_groups, host, .. } = config;
    format!("{tier:?}, {threads} threads, groups {chunk_groups:?}, {host:?}")
}

/// Launches with one buffer of `words` words at 0x10000 and gives the report and the buffer, which must
/// not depend on tier and threads.
pub fn run_all(body: &str, launch: &Launch, words: usize) -> (Report, Vec<u32>) {
    let program = program(body);
    let once = |config: &Config| {
        let engine = Engine::new(config.clone()).expect("engine");
        let (report, out) = run(&engine, &program, launch, words).expect("launch");
        assert_eq!(report.stats.not_compiled, None);
        (report, out)
    };
    let settings = settings();
    let (want, wanted) = once(&settings[0]);
    for config in &settings[1..] {
        let (report, out) = once(config);
        let with = told(config);
        assert_eq!(report.fault, want.fault, "fault with {with}");
        if want.fault.is_none() {
            assert_eq!(out, wanted, "memory with {with}");
            assert_eq!(report.registers, want.registers, "registers with {with}");
            assert_eq!(report.stats.blocks, want.stats.blocks, "blocks with {with}");
        }
    }
    (want, wanted)
}

/// Launches on one engine.
pub fn run(
    engine: &Engine,
    program: &Program,
    launch: &Launch,
    words: usize,
) -> Result<(Report, Vec<u32>), Error> {
    let memory = engine.memory()?;
    memory.map(Some(0x1_0000), words as u64 * 4, Access::ReadWrite)?;
    let report = engine.run(program, &memory, launch)?;
    Ok((report, words_of(&memory, words)))
}

/// The first words of the buffer at 0x10000.
pub fn words_of(memory: &Memory, words: usize) -> Vec<u32> {
    let mut bytes = vec![0; words * 4];
    memory.read(0x1_0000, &mut bytes).expect("mapped");
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

/// A launch of one-dimensional shape.
pub fn launch(blocks: u32, threads: u32) -> Launch {
    Launch::default().grid([blocks, 1, 1]).block([threads, 1, 1])
}

/// The fault of a launch on all tiers.
pub fn fault_of(body: &str, launch: &Launch) -> Fault {
    run_all(body, launch, 1024).0.fault.expect("a fault")
}
