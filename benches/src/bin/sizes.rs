//! Measures how time and memory, from bytes to the first result, grow with the size of the code, for each shape of
//! `warpjit_tests::sizes`.
//!
//! ```text
//! cargo build --release -p warpjit
//! cargo run --release -p warpjit-benches --bin sizes -- [options]
//!     --command PATH   a warpjit to measure; may be given several times [target/release/warpjit]
//!     --tier NAME      interp, jit or auto; may be given several times [interp, jit]
//!     --least N        the smallest size [1000]
//!     --most N         the largest size [64000]
//!     --only TEXT      only shapes whose `family: name` contains the text
//!     --seconds S      a run that takes longer is ended [20]
//! ```
//!
//! Each cell of the table is the shorter of two runs of `warpjit run --no-cache` on a launch file, each a process of its own,
//! from its start to its end; with the process's peak resident memory. Each size is twice the one before. After a run that
//! exceeded `--seconds`, no larger size is tried.
#![warn(missing_docs)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use warpjit_tests::sizes::{Shape, shapes};

struct Options {
    commands: Vec<PathBuf>,
    tiers: Vec<String>,
    least: usize,
    most: usize,
    only: String,
    limit: Duration,
}

fn options() -> anyhow::Result<Options> {
    let mut options = Options {
        commands: Vec::new(),
        tiers: Vec::new(),
        least: 1000,
        most: 64_000,
        only: String::new(),
        limit: Duration::from_secs(20),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().with_context(|| format!("{word} wants a value"))?;
        match word.as_str() {
            "--command" => options.commands.push(value.into()),
            "--tier" => options.tiers.push(value),
            "--least" => options.least = value.parse()?,
            "--most" => options.most = value.parse()?,
            "--only" => options.only = value,
            "--seconds" => options.limit = Duration::from_secs_f64(value.parse()?),
            _ => bail!("unknown option {word}"),
        }
    }
    if options.commands.is_empty() {
        options.commands.push("target/release/warpjit".into());
    }
    if options.tiers.is_empty() {
        options.tiers = vec!["interp".into(), "jit".into()];
    }
    Ok(options)
}

/// What a process took.
#[derive(Clone, Copy)]
struct Taken {
    time: Duration,
    /// Largest resident memory in KiB, as last seen.
    memory: u64,
}

/// Largest resident memory of a process in KiB, while it runs.
fn resident(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Runs a launch file; `None` where that takes too long.
fn run(command: &Path, tier: &str, folder: &Path, limit: Duration) -> anyhow::Result<Option<Taken>> {
    let start = Instant::now();
    let mut child = Command::new(command)
        .args(["run", "--no-cache", "--threads", "1", "--tier", tier])
        .arg(folder.join("launch.toml"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| command.display().to_string())?;
    let mut memory = 0;
    let status = loop {
        memory = resident(child.id()).unwrap_or(0).max(memory);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let time = start.elapsed();
    let output = child.wait_with_output()?;
    ensure!(
        matches!(status.code(), Some(0 | 3)),
        "{} of {}: {}",
        command.display(),
        folder.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(Some(Taken { time, memory }))
}

/// A cell of the table: milliseconds and MiB.
fn cell(
    shape: &Shape,
    size: usize,
    command: &Path,
    tier: &str,
    limit: Duration,
) -> anyhow::Result<Option<String>> {
    let folder = std::env::temp_dir().join(format!("warpjit-sizes-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    (shape.make)(size).write_to(&folder)?;
    let mut least: Option<Taken> = None;
    let mut error = None;
    for _ in 0..2 {
        match run(command, tier, &folder, limit) {
            Ok(Some(taken)) if least.is_none_or(|least| taken.time < least.time) => least = Some(taken),
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(bad) => {
                error = Some(bad);
                break;
            }
        }
        if least.is_some_and(|least| least.time > Duration::from_secs(2)) {
            break;
        }
    }
    std::fs::remove_dir_all(&folder)?;
    if let Some(error) = error {
        eprintln!("{error:#}");
        return Ok(Some("error".into()));
    }
    Ok(least.map(|taken| {
        format!("{:.0} ms, {} MiB", taken.time.as_secs_f64() * 1e3, taken.memory.div_ceil(1024))
    }))
}

fn main() -> anyhow::Result<()> {
    let options = options()?;
    let sizes: Vec<usize> = std::iter::successors(Some(options.least), |size| Some(size * 2))
        .take_while(|&n| n <= options.most)
        .collect();
    let head: Vec<String> = sizes.iter().map(usize::to_string).collect();
    println!("| shape | tier | command | {} |", head.join(" | "));
    println!("|---|---|---|{}", "---|".repeat(sizes.len()));
    for shape in shapes() {
        let name = format!("{}: {}", shape.of, shape.name);
        if !name.contains(&options.only) {
            continue;
        }
        for tier in &options.tiers {
            for command in &options.commands {
                let mut cells = Vec::new();
                let mut ended = false;
                for &size in &sizes {
                    let found = if ended { None } else { cell(&shape, size, command, tier, options.limit)? };
                    ended |= found.is_none();
                    cells.push(found.unwrap_or_else(|| format!("> {} s", options.limit.as_secs())));
                }
                let command =
                    command.file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
                println!("| {name} | {tier} | {command} | {} |", cells.join(" | "));
            }
        }
    }
    Ok(())
}
