//! Runs Fermi programs that are written in tests, in both tiers.

pub mod cubin;
pub mod random;
mod words;

use warpjit_frontend::fermi::{Chip, assemble};
use warpjit_runtime::{Access, Arg, Config, Engine, Isa, Launch, Memory, Program, ProgramOptions, Tier};

/// The engines that programs are run by.
fn engines() -> Vec<Engine> {
    let with = |tier, chunk_groups| Config::default().tier(tier).chunk_groups(chunk_groups).threads(1);
    [(Tier::Interp, None)]
        .into_iter()
        .chain([0, 1, 2, 4].map(|groups| (Tier::Jit, Some(groups))))
        .map(|(tier, groups)| with(tier, groups))
        .filter_map(|config| Engine::new(config).ok())
        .collect()
}

/// What a program is run with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The chip.
    pub chip: Chip,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks.
    pub blocks: u32,
    /// Bytes of local memory of a thread.
    pub local: u32,
    /// Contents of const banks.
    pub consts: Vec<(u32, Vec<u8>)>,
}

impl Default for Setup {
    fn default() -> Self {
        Setup { chip: Chip::Gf100, threads: 32, blocks: 1, local: 256, consts: Vec::new() }
    }
}

/// Code of a source text.
///
/// # Panics
///
/// If it does not assemble.
pub fn code(text: &str, chip: Chip) -> Vec<u8> {
    assemble(text, chip).unwrap_or_else(|error| panic!("{error}\n{text}")).code
}

/// Runs code whose parameter is a buffer of a word a thread, which begins as zero; gives the buffer, or the fault that ended it.
///
/// # Panics
///
/// If the engines disagree, or the program does not load.
pub fn outcome(code: &[u8], setup: &Setup) -> Result<Vec<u32>, String> {
    let options = ProgramOptions::new(Isa::Fermi)
        .raw(true)
        .chip(Some(setup.chip.into()))
        .registers(Some(32))
        .shared(Some(1024))
        .local(Some(setup.local));
    launched(&Program::load(code, &options).unwrap(), setup, || {
        warpjit_frontend::fermi::listing(code, 0, setup.chip)
    })
}

/// The same for a program that has been loaded; `listing` shows it where engines disagree.
///
/// # Panics
///
/// If the engines disagree, or refuse the launch.
pub fn launched(program: &Program, setup: &Setup, listing: impl Fn() -> String) -> Result<Vec<u32>, String> {
    let bytes = u64::from(setup.threads * setup.blocks) * 4;
    let results = engines().into_iter().map(|engine| {
        let memory: Memory = engine.memory().unwrap();
        let base = memory.map(None, bytes, Access::ReadWrite).unwrap();
        let launch = Launch::default()
            .grid([setup.blocks, 1, 1])
            .block([setup.threads, 1, 1])
            .args(vec![Arg::u32(base as u32)])
            .consts(setup.consts.clone())
            .max_steps(100_000);
        let report = engine.run(program, &memory, &launch).unwrap_or_else(|error| panic!("{error}"));
        if let Some(fault) = report.fault {
            return Err(format!("{:?} at {:#x}", fault.kind, fault.pc));
        }
        let mut data = vec![0; bytes as usize];
        memory.read(base, &mut data).unwrap();
        Ok(data
            .chunks_exact(4)
            .map(|word| word.iter().rev().fold(0, |all, &b| all << 8 | u32::from(b)))
            .collect())
    });
    let all: Vec<Result<Vec<u32>, String>> = results.collect();
    for other in &all[1..] {
        assert_eq!(*other, all[0], "{}", listing());
    }
    all.into_iter().next().expect("an engine")
}

/// [`outcome`] of a text without faults.
///
/// # Panics
///
/// If there is one.
pub fn run(text: &str, setup: &Setup) -> Vec<u32> {
    outcome(&code(text, setup.chip), setup).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
}

/// A program round a body: `$r0` is the thread's index in its block, `$r2` in the grid, `$r3` the address of its word; the end
/// stores `$r4` there.
pub fn whole(body: &str) -> String {
    format!(
        "long mov b32 $r0 $tidx\nlong mov b32 $r1 $ctaidx\nlong add $r2 (mul u32 $r1 u32 c0[0x8]) $r0\n\
         long add b32 $r3 (shl $r2 0x2) c0[0x20]\n{body}\nlong st b32 wb g[$r3] $r4\nlong exit\n"
    )
}

/// The address of a label of a text whose instructions are all long.
///
/// # Panics
///
/// If there is no such label.
pub fn address_of(text: &str, label: &str) -> u32 {
    let mut at = 0;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_suffix(':') {
            Some(name) if name == label => return at,
            Some(_) => {}
            None => at += 8,
        }
    }
    panic!("no label {label}\n{text}")
}
