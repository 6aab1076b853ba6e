//! The `warpjit-fuzz` command: starts workers, or repeats single cases.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use clap::Parser;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use warpjit_fuzz::targets::{self, Context, Target};
use warpjit_fuzz::watch::{Found, TIME_LIMIT, crashes, watch};
use warpjit_fuzz::worker::{Work, keep_panics, run_case, work};
use warpjit_fuzz::{Finding, minimize, repeat, save};

/// What containers take is counted.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// How many ways a saved launch file is run in.
const REPEAT_SETTINGS: u64 = 40;

/// Tries random programs, containers, launch files and memory on warpjit.
#[derive(Parser)]
#[command(version, about)]
struct Args {
    /// How long to go on
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// At most so many cases for each job; 0: any number
    #[arg(long, default_value_t = 0)]
    cases: u64,
    /// The run's seed: the same cases again. Without it a fresh one
    #[arg(long, value_parser = seed)]
    seed: Option<u64>,
    /// Worker processes; 0: one a processor
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    jobs: u16,
    /// Only these targets (see --list)
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// Where findings are saved, a folder each
    #[arg(long, value_name = "FOLDER", default_value = "target/fuzz-findings")]
    save: PathBuf,
    /// Runs one case again, in this process
    #[arg(long, value_name = "TARGET:SEED")]
    only: Option<String>,
    /// Runs a saved launch file in many ways
    #[arg(long, value_name = "FILE")]
    repeat: Option<PathBuf>,
    /// Lists the targets
    #[arg(long)]
    list: bool,
    /// A worker: its first case, and how far apart its cases are
    #[arg(long, hide = true, num_args = 2)]
    worker: Option<Vec<u64>>,
}

fn seed(text: &str) -> Result<u64, String> {
    let number = text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16));
    number.map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.list {
        for target in targets::ALL {
            println!("{:<14} {:>3} %  {}", target.name, target.share, target.about);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(path) = &args.repeat {
        let wrong = repeat::repeat(path, REPEAT_SETTINGS)?;
        wrong.iter().for_each(|line| println!("{line}"));
        return Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if let Some(case) = &args.only {
        return only(case, &args.save);
    }
    let mut chosen: Vec<Target> = Vec::new();
    for name in &args.targets {
        let known = || targets::ALL.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
        let found = targets::named(name);
        chosen.push(*found.with_context(|| format!("{name:?} is no target; there are {}", known()))?);
    }
    if chosen.is_empty() {
        chosen = targets::ALL.to_vec();
    }
    let run = args.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let within = Duration::from_secs(args.seconds);
    if let Some([first, step]) = args.worker.as_deref() {
        let cases = Work { run, first: *first, step: *step, within, cases: args.cases };
        work(&cases, &chosen, &mut std::io::stdout().lock())?;
        return Ok(ExitCode::SUCCESS);
    }
    all(args, run, within)
}

/// Runs workers until the time is over.
fn all(args: &Args, run: u64, within: Duration) -> anyhow::Result<ExitCode> {
    let jobs = match args.jobs {
        0 => std::thread::available_parallelism().map_or(1, |count| count.get()),
        jobs => jobs.into(),
    };
    // Before there is a finding to lose.
    std::fs::create_dir_all(&args.save).with_context(|| args.save.display().to_string())?;
    println!("seed {run:#x}, {jobs} jobs, {} seconds", args.seconds);
    let program = std::env::current_exe()?;
    let started = Instant::now();
    let command = |number: usize, done: u64| {
        let left = within.checked_sub(started.elapsed()).unwrap_or_default().as_secs_f64().ceil() as u64;
        let cases = args.cases.saturating_sub(done);
        if left == 0 && within.as_secs() > 0 || args.cases > 0 && cases == 0 {
            return None;
        }
        let mut command = Command::new(&program);
        command.args(["--seed", &format!("{run:#x}"), "--seconds", &left.to_string()]);
        command.args(["--cases", &cases.to_string()]);
        let first = number as u64 + done * jobs as u64;
        command.args(["--worker", &first.to_string(), &jobs.to_string()]);
        command.args(args.targets.iter().flat_map(|name| ["--target", name]));
        Some(command)
    };
    let mut failed = Ok(());
    let seen = watch(jobs, TIME_LIMIT, command, |found| {
        if let Err(error) = tell(found, &args.save, &program) {
            failed = Err(error);
        }
    })?;
    failed?;
    println!("{} cases in {} seconds", seen.cases, started.elapsed().as_secs());
    print!("{}", seen.coverage.text());
    if seen.cases == 0 {
        bail!("no case was run");
    }
    println!("{} findings", seen.found.len());
    Ok(if seen.found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints a finding and saves it. What crashes or hangs a process is made smaller by processes that may.
fn tell(found: &Found, folder: &Path, program: &Path) -> anyhow::Result<()> {
    let Found { target, seed, finding } = found;
    let mut finding = finding.clone();
    if matches!(finding.kind.as_str(), "crash" | "hang")
        && let Some(guest) = targets::named(target).and_then(|target| target.guest(*seed))
    {
        let trial = folder.join("trial");
        let dies = |guest: &warpjit_fuzz::Guest| {
            let files = save::files(guest, None, "");
            let finding = Finding { kind: String::new(), text: String::new(), files };
            let Ok(place) = save::write(folder, "trial", &finding) else { return false };
            let mut command = Command::new(program);
            crashes(command.arg("--repeat").arg(place.join("launch.toml")), Duration::from_secs(30))
        };
        let guest =
            if dies(&guest) { minimize::minimize(&guest, Duration::from_secs(120), dies) } else { guest };
        finding.files = save::files(&guest, None, &finding.text);
        finding.text += &format!("\n{}", guest.listing());
        let _ = std::fs::remove_dir_all(trial);
    }
    println!("found: {} in --only {target}:{seed:#x}", finding.kind);
    for line in finding.text.lines().take(40) {
        println!("  {line}");
    }
    let place = save::write(folder, &format!("{target}-{seed:x}"), &finding)
        .with_context(|| folder.display().to_string())?;
    println!("saved in {}", place.display());
    std::io::stdout().flush()?;
    Ok(())
}

/// One case in this process.
fn only(case: &str, folder: &Path) -> anyhow::Result<ExitCode> {
    let (name, text) = case.split_once(':').context("a case is TARGET:SEED")?;
    let target = targets::named(name).with_context(|| format!("{name:?} is no target (see --list)"))?;
    let seed = seed(text).map_err(|error| anyhow!("{text:?} is no seed: {error}"))?;
    keep_panics();
    let mut context = Context::default();
    match run_case(target, seed, &mut context) {
        Ok(()) => {
            print!("{}", context.coverage.text());
            println!("nothing found");
            Ok(ExitCode::SUCCESS)
        }
        Err(finding) => {
            let program = std::env::current_exe()?;
            tell(&Found { target: name.into(), seed, finding: *finding }, folder, &program)?;
            Ok(ExitCode::FAILURE)
        }
    }
}
