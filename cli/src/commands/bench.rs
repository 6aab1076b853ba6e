//! `warpjit bench`.

use serde_json::json;
use warpjit::launch_file::LaunchFile;
use warpjit::outcome::{Outcome, Status};
use warpjit::session::Session;
use warpjit_runtime::{Config, Engine};

use super::progress::Bar;
use super::{print, statistics};
use crate::args::{BenchArgs, EngineArgs};

/// The runs of one `bench`, in milliseconds.
struct Timing {
    runs_ms: Vec<f64>,
    median_ms: f64,
}

impl Timing {
    fn new(runs_ms: Vec<f64>) -> Timing {
        let mut sorted = runs_ms.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median_ms = match sorted.len() {
            0 => 0.0,
            n if n % 2 == 1 => sorted[middle],
            _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
        };
        Timing { runs_ms, median_ms }
    }
}

pub(super) fn bench(args: &BenchArgs) -> anyhow::Result<Status> {
    let options = &args.engine;
    let file = LaunchFile::load(&options.file)?;
    // Counting costs time, so a run of its own counts; the first timed run has the expectations
    // checked, and whatever run there is first compiles.
    let counted = if options.verbose || options.json {
        let engine = Engine::new(Config { count: true, ..options.config() })?;
        let mut session = Session::new(&file, &engine)?;
        let mut outcome = once(&mut session, options)?;
        if options.verbose {
            statistics::complete(&mut outcome.stats, &file, options)?;
        }
        if outcome.status != Status::Ok {
            return report(&outcome, &Timing::new(Vec::new()), options);
        }
        Some(outcome)
    } else {
        None
    };
    let engine = Engine::new(Config { count: false, ..options.config() })?;
    let mut session = Session::new(&file, &engine)?;
    let mut outcome = once(&mut session, options)?;
    let compile = outcome.stats.compile;
    let mut runs_ms = Vec::new();
    for _ in 0..args.runs {
        if outcome.status != Status::Ok {
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
    report(&outcome, &Timing::new(runs_ms), options)
}

/// The run that compiles.
fn once(session: &mut Session<'_>, options: &EngineArgs) -> anyhow::Result<Outcome> {
    if let Some(blocks) = &options.blocks {
        session.set_blocks(blocks.clone())?;
    }
    let bar = Bar::new();
    if let Some((_, progress)) = &bar {
        session.set_progress(progress.clone());
    }
    let report = session.run()?;
    drop(bar);
    session.clear_progress();
    session.check(report)
}

fn report(outcome: &Outcome, timing: &Timing, options: &EngineArgs) -> anyhow::Result<Status> {
    let (tier, threads) = (options.tier.as_str(), options.thread_count());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle() {
        assert_eq!(Timing::new(vec![3.0, 1.0, 2.0]).median_ms, 2.0);
        assert_eq!(Timing::new(vec![4.0, 1.0, 2.0, 3.0]).median_ms, 2.5);
        assert_eq!(Timing::new(Vec::new()).median_ms, 0.0);
    }
}
