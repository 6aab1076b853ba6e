//! Measures the cost of a small launch: programs of a few instructions, launched again and again.
//!
//! ```text
//! cargo run --release -p warpjit-benches --bin launches [-- TIMES]
//! ```
//!
//! Prints medians and 99th percentiles in microseconds over TIMES launches (default 10,000), after a fifth as many that are not
//! timed.
#![warn(missing_docs)]

use std::time::Instant;

use warpjit_frontend::tesla::{Chip, Target, assemble};
use warpjit_runtime::{Access, Arg, Config, Engine, Isa, Launch, Program, ProgramOptions, Tier};

/// Stores three times the number of each thread.
const SOURCE: &str = "
    and b32 $r1 $r0 0xffff
    shl b32 $r2 $r1 0x2
    add b32 $r2 b32 s[0x10] $r2
    add b32 $r3 $r1 $r1
    add b32 $r3 $r3 $r1
    exit st b32 g14[$r2] $r3
";

fn main() -> anyhow::Result<()> {
    let times: usize = std::env::args().nth(1).map_or(Ok(10_000), |times| times.parse())?;
    let code = assemble(SOURCE, Target::compute(Chip::G80))?.code;
    let options = ProgramOptions {
        chip: Some("g80".parse().expect("a chip")),
        registers: Some(4),
        ..ProgramOptions::new(Isa::Tesla)
    };
    println!("| launch | interp | jit | auto |");
    println!("|---|---|---|---|");
    for (what, blocks, block, threads) in [
        ("1 warp, 1 thread", 1, 32, 1),
        ("2 warps, 1 thread", 1, 64, 1),
        ("8 blocks of 2 warps, 1 thread", 8, 64, 1),
        ("8 blocks of 2 warps, 2 threads", 8, 64, 2),
    ] {
        let mut row = format!("| {what} |");
        for tier in [Tier::Interp, Tier::Jit, Tier::Auto] {
            let program = Program::load(&code, &options)?;
            let engine = Engine::new(Config { tier, threads, ..Config::default() })?;
            let memory = engine.memory()?;
            let out = memory.map(None, 64 * 4, Access::ReadWrite)?;
            let launch = Launch {
                grid: [blocks, 1, 1],
                block: [block, 1, 1],
                args: vec![Arg::u32(out as u32)],
                ..Launch::default()
            };
            let run = || -> anyhow::Result<f64> {
                let start = Instant::now();
                let report = engine.run(&program, &memory, &launch)?;
                let time = start.elapsed();
                anyhow::ensure!(report.fault.is_none(), "{:?}", report.fault);
                Ok(time.as_secs_f64() * 1e6)
            };
            for _ in 0..times.div_ceil(5) {
                run()?;
            }
            let mut all = (0..times).map(|_| run()).collect::<anyhow::Result<Vec<f64>>>()?;
            all.sort_by(f64::total_cmp);
            row += &format!(" {:.2} / {:.2} |", all[all.len() / 2], all[all.len() * 99 / 100]);
        }
        println!("{row}");
    }
    Ok(())
}
