//! Prints the VP1 part of docs/performance.md: programs compiled, interpreted, and in plain Rust, with verified results.
//!
//! ```text
//! cargo run --release -p warpjit-benches --bin vp1 [-- RUNS]
//! ```
//!
//! Times are the minimum of all runs on the wall clock, after one run that compiles. With a program's name instead of a number,
//! it prints the program's source, for `warpjit asm --isa vp1`.
#![warn(missing_docs)]

use std::time::{Duration, Instant};

use anyhow::ensure;
use warpjit_benches::vp1::{Case, cases};
use warpjit_runtime::{Config, Tier};

/// How many times fewer rounds the interpreter runs.
const FEWER: u32 = 100;

fn main() -> anyhow::Result<()> {
    let argument = std::env::args().nth(1);
    if let Some(case) = cases(1).iter().find(|case| argument.as_deref() == Some(case.name)) {
        print!("{}", case.source);
        return Ok(());
    }
    let runs: usize = argument.map_or(Ok(5), |text| text.parse())?;
    println!(
        "| program | bundles a round | native, ns | JIT, ns | of native | JIT, million bundles/s | interpreter | JIT : interpreter | compile, ms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (case, small) in cases(1).iter().zip(cases(FEWER)) {
        let (jit, compile) = guest(case, Tier::Jit, runs)?;
        let (interp, _) = guest(&small, Tier::Interp, 1)?;
        let native =
            (0..runs).map(|_| timed(|| drop(std::hint::black_box(case.native())))).min().unwrap_or_default();
        let units = f64::from(case.rounds) * f64::from(case.unit.1);
        let each = |time: Duration| time.as_secs_f64() * 1e9 / units;
        let speed = |case: &Case, time: Duration| case.bundles() as f64 / time.as_secs_f64() / 1e6;
        println!(
            "| {} (a {}) | {} | {:.2} | {:.2} | {:.2} | {:.1} | {:.2} | {:.0} | {:.0} |",
            case.name,
            case.unit.0,
            case.bundles() / u64::from(case.rounds),
            each(native),
            each(jit),
            native.as_secs_f64() / jit.as_secs_f64(),
            speed(case, jit),
            speed(&small, interp),
            speed(case, jit) / speed(&small, interp),
            compile.as_secs_f64() * 1e3,
        );
    }
    Ok(())
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Best time of a program, and what its first run took beyond that.
fn guest(case: &Case, tier: Tier, runs: usize) -> anyhow::Result<(Duration, Duration)> {
    let mut machine = case.machine(&Config::default().tier(tier))?;
    let mut times = Vec::new();
    for _ in 0..=runs {
        case.reset(&mut machine)?;
        let start = Instant::now();
        case.run(&mut machine)?;
        times.push(start.elapsed());
        ensure!(case.holds(&machine), "{}: a wrong result", case.name);
    }
    let best = times.iter().skip(usize::from(runs > 0)).min().copied().unwrap_or_default();
    Ok((best, times[0].saturating_sub(best)))
}
