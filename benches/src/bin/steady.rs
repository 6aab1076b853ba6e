//! Tests for leaks: loads, runs and drops programs again and again in one process.
//!
//! ```text
//! cargo run --release -p warpjit-benches --bin steady [-- TIMES]
//! ```
//!
//! Prints resident memory, mapped code, threads and open files as it goes, for each tier and setting, and fails if they grow.
//! With the cache enabled, its folder is removed now and then, so that code is loaded as well as stored.
#![warn(missing_docs)]

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, ensure};
use warpjit::launch_file::LaunchFile;
use warpjit::session::Session;
use warpjit_benches::suite;
use warpjit_runtime::{CacheConfig, Config, Engine, Tier};

/// What the process holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    resident_kib: u64,
    code_kib: u64,
    maps: usize,
    threads: usize,
    files: usize,
}

fn held() -> anyhow::Result<Held> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let field = |name: &str| -> anyhow::Result<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).context("a field of status")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    };
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    // Nothing else is executable and has no name.
    let code = maps.lines().filter(|line| line.contains("r-xp") && line.split_whitespace().count() == 5);
    let bytes = code.filter_map(|line| {
        let (from, to) = line.split_once(' ')?.0.split_once('-')?;
        Some(u64::from_str_radix(to, 16).ok()? - u64::from_str_radix(from, 16).ok()?)
    });
    Ok(Held {
        resident_kib: field("VmRSS:")?,
        code_kib: bytes.sum::<u64>() / 1024,
        maps: maps.lines().count(),
        threads: field("Threads:")? as usize,
        files: std::fs::read_dir("/proc/self/fd")?.count(),
    })
}

fn main() -> anyhow::Result<()> {
    let times: u32 = std::env::args().nth(1).map_or(Ok(10_000), |text| text.parse())?;
    let names = ["mandelbrot", "saxpy", "aes", "sgemm"];
    let entries = suite::entries()?.into_iter().filter(|entry| names.contains(&entry.name.as_str()));
    let files: Vec<LaunchFile> = entries.map(|entry| entry.launch_file()).collect::<Result<_, _>>()?;
    let folder: PathBuf = std::env::temp_dir().join(format!("warpjit-steady-{}", std::process::id()));
    println!(
        "| tier | cache | programs | resident, KiB | code, KiB | mappings | threads | files | seconds |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|");
    for (tier, cached) in [(Tier::Auto, false), (Tier::Auto, true), (Tier::Jit, false), (Tier::Jit, true)] {
        let config = Config::default()
            .tier(tier)
            .threads(2)
            .hot_after(Some(0))
            .cache(cached.then(|| CacheConfig::new(&folder)));
        let engine = Engine::new(config)?;
        let start = Instant::now();
        let mut first = None;
        for number in 0..=times {
            if number % (times / 10).max(1) == 0 {
                engine.wait_for_compiler();
                let now = held()?;
                ensure!(now.code_kib == 0, "code of programs that are gone");
                println!(
                    "| {tier:?} | {} | {number} | {} | {} | {} | {} | {} | {:.1} |",
                    if cached { "yes" } else { "no" },
                    now.resident_kib,
                    now.code_kib,
                    now.maps,
                    now.threads,
                    now.files,
                    start.elapsed().as_secs_f64()
                );
                // The first tenth fills pools and caches.
                if number > 0 {
                    let before = *first.get_or_insert(now);
                    ensure!(now.resident_kib < before.resident_kib + 16 * 1024, "resident memory grows");
                    ensure!(now.threads <= before.threads && now.files <= before.files, "something leaks");
                }
            }
            if number % 100 == 50 {
                let _ = std::fs::remove_dir_all(&folder);
            }
            let file = &files[number as usize % files.len()];
            let mut session = Session::new(file, &engine)?;
            session.set_blocks(0..2)?;
            session.run()?;
            if number == 0 && tier == Tier::Jit {
                ensure!(held()?.code_kib > 0, "code is mapped while there is a program");
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}
