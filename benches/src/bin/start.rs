//! Measures how soon a program runs: loaded, ready, first block done.
//!
//! ```text
//! cargo run --release -p warpjit-benches --bin start [-- LAUNCH.toml...]
//! ```
//!
//! Prints medians in microseconds, each over newly loaded programs, with one thread. `ready` is a launch of the program's first
//! block that is cancelled before the block begins: all the work between a loaded program and its first instruction. `cached`
//! uses the code of an earlier run on disk (in memory, as far as the system caches the file).
#![warn(missing_docs)]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use warpjit::launch_file::LaunchFile;
use warpjit::session::{Session, load_program};
use warpjit_benches::suite;
use warpjit_runtime::{CacheConfig, CancelToken, Config, Engine, Tier};

const RUNS: usize = 21;

fn median(mut run: impl FnMut() -> anyhow::Result<Duration>) -> anyhow::Result<f64> {
    let mut times = (0..RUNS).map(|_| run()).collect::<Result<Vec<_>, _>>()?;
    times.sort();
    Ok(times[RUNS / 2].as_secs_f64() * 1e6)
}

fn timed<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<Duration> {
    let start = Instant::now();
    black_box(work()?);
    Ok(start.elapsed())
}

fn main() -> anyhow::Result<()> {
    let mut files: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    if files.is_empty() {
        files = suite::entries()?.into_iter().map(|entry| entry.path).collect();
    }
    println!(
        "| kernel | instructions | load | ready, auto | ready, cached | first block, interp | auto | jit | jit, cached |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    let folder = std::env::temp_dir().join(format!("warpjit-start-{}", std::process::id()));
    for path in files {
        let file = LaunchFile::load(&path)?;
        let blocks = load_program(&file)?.image().function.blocks.iter().map(|b| b.guest_insts).sum::<u32>();
        let load = median(|| timed(|| load_program(&file)))?;
        let run = |tier, cached: bool, cancelled| {
            let cache = cached.then(|| CacheConfig::new(&folder));
            let engine = Engine::new(Config::default().tier(tier).cache(cache).threads(1))?;
            if cached {
                let mut session = Session::new(&file, &engine)?;
                session.set_blocks(0..1)?;
                session.run()?;
            }
            median(|| {
                let mut session = Session::new(&file, &engine)?;
                session.set_blocks(0..1)?;
                if cancelled {
                    let token = CancelToken::new();
                    token.cancel();
                    session.set_cancel(token);
                }
                timed(|| session.run())
            })
        };
        let (ready, ready_cached) = (run(Tier::Auto, false, true)?, run(Tier::Jit, true, true)?);
        let [interp, auto, jit] = [Tier::Interp, Tier::Auto, Tier::Jit].map(|tier| run(tier, false, false));
        let jit_cached = run(Tier::Jit, true, false)?;
        let name = path.parent().and_then(|folder| folder.file_name()).unwrap_or_default().to_string_lossy();
        println!(
            "| {name} | {blocks} | {load:.0} | {ready:.0} | {ready_cached:.0} | {:.0} | {:.0} | {:.0} | {jit_cached:.0} |",
            interp?, auto?, jit?
        );
    }
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}
