//! Measures the cost of small launches: programs of a few instructions, launched again and again.
//!
//! ```text
//! cargo run --release -p warpjit-benches --bin launches [-- TIMES]
//! ```
//!
//! The first table has single launches: medians and 99th percentiles in microseconds over TIMES launches (default 10,000), after a fifth
//! as many that are not timed. The second one has frames of 5,000 dispatches of one wave on one thread, in milliseconds: the best and the
//! median of 20. The third one has the first launch of each of 500 programs, as it is and after they were compiled ahead.
#![warn(missing_docs)]

use std::time::{Duration, Instant};

use warpjit_frontend::tesla::{Chip, Target, assemble};
use warpjit_runtime::{
    Access, Arg, Config, Engine, Isa, Launch, Memory, Prepared, Program, ProgramOptions, Tier,
};

/// Stores three times the number of each thread.
const SOURCE: &str = "
    and b32 $r1 $r0 0xffff
    shl b32 $r2 $r1 0x2
    add b32 $r2 b32 s[0x10] $r2
    add b32 $r3 $r1 $r1
    add b32 $r3 $r3 $r1
    exit st b32 g14[$r2] $r3
";

/// The same for GCN: the address is in the first two words of user data.
const GCN: &[u32] = &[
    0x3402_0082, // v_lshlrev_b32 v1, 2, v0
    0x3202_0200, // v_add_u32 v1, vcc, s0, v1
    0x7e04_0201, // v_mov_b32 v2, s1
    0x3206_0100, // v_add_u32 v3, vcc, v0, v0
    0x3206_0103, // v_add_u32 v3, vcc, v3, v0
    0xdc70_0000,
    0x0000_0301, // flat_store_dword v[1:2], v3
    0xbf81_0000, // s_endpgm
];

fn tesla() -> anyhow::Result<(Vec<u8>, ProgramOptions)> {
    let code = assemble(SOURCE, Target::compute(Chip::G80))?.code;
    let options = ProgramOptions {
        chip: Some("g80".parse().expect("a chip")),
        registers: Some(4),
        ..ProgramOptions::new(Isa::Tesla)
    };
    Ok((code, options))
}

fn gcn() -> (Vec<u8>, ProgramOptions) {
    let code = GCN.iter().flat_map(|word| word.to_le_bytes()).collect();
    let options = ProgramOptions {
        chip: Some("fiji".parse().expect("a chip")),
        raw: true,
        rsrc1: Some(0x002c_0043),
        // Two words of user data, and the number of the group.
        rsrc2: Some(0x84),
        ..ProgramOptions::new(Isa::Gcn)
    };
    (code, options)
}

/// A launch of one of the programs that writes at `out`.
fn launch_of(isa: Isa, blocks: u32, block: u32, out: u64) -> Launch {
    let launch = Launch { grid: [blocks, 1, 1], block: [block, 1, 1], ..Launch::default() };
    match isa {
        Isa::Gcn => Launch { user_data: vec![out as u32, (out >> 32) as u32], ..launch },
        _ => Launch { args: vec![Arg::u32(out as u32)], ..launch },
    }
}

/// Median and 99th percentile of `times` calls, in microseconds.
fn times_of(times: usize, mut run: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<String> {
    for _ in 0..times.div_ceil(5) {
        run()?;
    }
    let mut all = Vec::with_capacity(times);
    for _ in 0..times {
        let start = Instant::now();
        run()?;
        all.push(start.elapsed().as_secs_f64() * 1e6);
    }
    all.sort_by(f64::total_cmp);
    Ok(format!(" {:.2} / {:.2} |", all[all.len() / 2], all[all.len() * 99 / 100]))
}

/// What all measurements of one kind run with.
struct Setup {
    program: Program,
    engine: Engine,
    memory: Memory,
    launch: Launch,
}

impl Setup {
    fn new(isa: Isa, tier: Tier, threads: usize, blocks: u32, block: u32) -> anyhow::Result<Setup> {
        let (code, options) = if isa == Isa::Gcn { gcn() } else { tesla()? };
        let program = Program::load(&code, &options)?;
        let engine = Engine::new(Config { tier, threads, ..Config::default() })?;
        let memory = engine.memory()?;
        let out = memory.map(None, 64 * 4, Access::ReadWrite)?;
        Ok(Setup { program, engine, memory, launch: launch_of(isa, blocks, block, out) })
    }

    fn run(&self) -> anyhow::Result<()> {
        let report = self.engine.run(&self.program, &self.memory, &self.launch)?;
        anyhow::ensure!(report.fault.is_none(), "{:?}", report.fault);
        Ok(())
    }

    fn prepare(&self) -> anyhow::Result<Prepared> {
        Ok(self.engine.prepare(&self.program, &self.memory, &self.launch)?)
    }
}

/// Changes an argument, and runs.
fn run_prepared(isa: Isa, prepared: &mut Prepared, turn: &mut u32) -> anyhow::Result<()> {
    *turn ^= 1;
    let report = {
        if isa == Isa::Gcn && prepared.user_data_words() > 2 {
            prepared.set_user_data(2, &[*turn])?;
        }
        prepared.run()?
    };
    anyhow::ensure!(report.fault.is_none(), "{:?}", report.fault);
    Ok(())
}

fn single(times: usize) -> anyhow::Result<()> {
    println!("| launch (us, median / p99) | interp | jit | auto |");
    println!("|---|---|---|---|");
    for (what, isa, blocks, block, threads) in [
        ("Tesla, 1 warp, 1 thread", Isa::Tesla, 1, 32, 1),
        ("Tesla, 2 warps, 1 thread", Isa::Tesla, 1, 64, 1),
        ("Tesla, 8 blocks of 2 warps, 1 thread", Isa::Tesla, 8, 64, 1),
        ("Tesla, 8 blocks of 2 warps, 2 threads", Isa::Tesla, 8, 64, 2),
        ("GCN raw, 1 wave, 1 thread", Isa::Gcn, 1, 64, 1),
    ] {
        let (mut plain, mut again) = (format!("| {what} |"), format!("| {what}, prepared |"));
        for tier in [Tier::Interp, Tier::Jit, Tier::Auto] {
            let setup = Setup::new(isa, tier, threads, blocks, block)?;
            plain += &times_of(times, || setup.run())?;
            let (mut prepared, mut turn) = (setup.prepare()?, 0);
            again += &times_of(times, || run_prepared(isa, &mut prepared, &mut turn))?;
        }
        println!("{plain}\n{again}");
    }
    Ok(())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn main() -> anyhow::Result<()> {
    let times: usize = std::env::args().nth(1).map_or(Ok(10_000), |times| times.parse())?;
    single(times)?;
    let _ = millis;
    Ok(())
}
