//! `warpjit bench`: times the runs of a launch file.

use anyhow::bail;
use serde_json::json;
use warpjit::launch_file::LaunchFile;
use warpjit::outcome::{Outcome, Status};
use warpjit::session::Session;
use warpjit::suite::Timing;
use warpjit_runtime::{Engine, Tier};

use super::print::print;
use super::{first_run, statistics, suite};
use crate::args::{BenchArgs, EngineArgs, NumericsName};

pub(super) fn bench(args: &BenchArgs) -> anyhow::Result<Status> {
    let options = &args.engine;
    let path = match (&args.suite, &args.file) {
        (Some(folder), _) => return suite::suite(args, folder),
        (None, Some(path)) => path,
        (None, None) => bail!("name a launch file, or a folder with --suite"),
    };
    let file = LaunchFile::load(path)?;
    let counting = match (options.verbose, options.json) {
        (true, _) => Counting::All,
        (false, true) => Counting::Threads,
        (false, false) => Counting::Nothing,
    };
    let (outcome, timing) = measure(&file, args, counting)?;
    report(&outcome, &timing, options)
}

/// What is counted besides being timed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counting {
    /// Blocks and warps.
    Nothing,
    /// Instructions, by the tier that is timed.
    Threads,
    /// What only the interpreter counts, too.
    All,
}

/// Times a launch file; the timing has no runs where one was not as expected.
pub(super) fn measure(
    file: &LaunchFile,
    args: &BenchArgs,
    counting: Counting,
) -> anyhow::Result<(Outcome, Timing)> {
    let options = &args.engine;
    // Approximate numerics are timed even where results are not those expected, which is said.
    let fast = options.numerics == NumericsName::Fast;
    let stops = |outcome: &Outcome| match outcome.status {
        Status::Ok => false,
        Status::Mismatch => !fast,
        _ => true,
    };
    // Counting costs time, so a run of its own counts; the first timed run has the expectations
    // checked, and whatever run there is first compiles.
    let counted = if counting == Counting::Nothing {
        None
    } else {
        // Compiled code counts, too, but not all.
        let exact = counting == Counting::Threads;
        let engine = Engine::new(options.config().count(exact))?;
        let mut session = first_run::session(file, &engine, options)?;
        let mut outcome = once(&mut session)?;
        if counting == Counting::All {
            statistics::complete(&mut outcome.stats, file, options)?;
        }
        if stops(&outcome) {
            return Ok((outcome, Timing::default()));
        }
        Some(outcome)
    };
    let engine = Engine::new(options.config().count(false))?;
    let mut session = first_run::session(file, &engine, options)?;
    let mut outcome = once(&mut session)?;
    let compile = outcome.stats.compile;
    if options.tier == Tier::Auto && !stops(&outcome) {
        // Compiling is excluded, wherever it is done.
        first_run::finish_compiling(&mut session, &engine)?;
    }
    let mut runs_ms = Vec::new();
    for _ in 0..args.runs {
        if stops(&outcome) {
            break;
        }
        session.restore()?;
        let report = session.run()?;
        runs_ms.push(report.stats.run.as_secs_f64() * 1e3);
        outcome = session.check(report)?;
    }
    let run = outcome.stats.run;
    if let Some(counted) = counted {
        outcome.stats = counted.stats;
        outcome.stats.run = run;
    }
    outcome.stats.compile = compile;
    Ok((outcome, Timing::new(runs_ms)))
}

/// The run that compiles.
fn once(session: &mut Session<'_>) -> anyhow::Result<Outcome> {
    let report = first_run::run(session)?;
    session.check(report)
}

fn report(outcome: &Outcome, timing: &Timing, options: &EngineArgs) -> anyhow::Result<Status> {
    let (tier, threads) = (options.tier.name(), options.thread_count());
    if options.json {
        let mut object = outcome.to_json(options.verbose);
        object["runs_ms"] = json!(timing.runs_ms);
        object["median_ms"] = json!(timing.median_ms);
        object["tier"] = json!(tier);
        object["threads"] = json!(threads);
        print(&format!("{object}\n"))?;
    } else {
        let mut text = outcome.to_text(options.verbose);
        if !timing.runs_ms.is_empty() {
            let runs: Vec<_> = timing.runs_ms.iter().map(|ms| format!("{ms:.3}")).collect();
            text += &format!(
                "median {:.3} ms of {} runs ({}), tier {tier}, {threads} threads\n",
                timing.median_ms,
                runs.len(),
                runs.join(", ")
            );
        }
        print(&text)?;
    }
    Ok(outcome.status)
}
