//! `warpjit run`: runs a launch file and checks its expectations.

use anyhow::Context;
use warpjit::launch_file::{LaunchFile, read_plain};
use warpjit::outcome::{Outcome, Status};
use warpjit_runtime::{CancelToken, Engine, SaveToken};

use super::print::print;
use super::{first_run, interrupt, statistics};
use crate::args::RunArgs;

pub(super) fn run(args: &RunArgs) -> anyhow::Result<Status> {
    let options = &args.engine;
    let file = LaunchFile::load(&args.file)?;
    // The JSON object names instruction counts, so they are counted.
    let mut config = options.config();
    config.count |= options.json;
    let engine = Engine::new(config)?;
    let mut session = first_run::session(&file, &engine, options)?;
    if let Some(path) = &args.resume {
        let named = || path.display().to_string();
        let bytes = read_plain(path).with_context(named)?;
        session.set_saved(&bytes).with_context(named)?;
    }
    if let Some(regions) = args.stop_after {
        session.set_save(SaveToken::after(regions));
    }
    let cancel = CancelToken::new();
    session.set_cancel(cancel.clone());
    interrupt::cancels(cancel);
    let report = first_run::run(&mut session)?;
    if report.cancelled {
        let of = session.block_count();
        let text = format!("stopped: {} of {of} blocks done\n", report.stats.blocks);
        let outcome = Outcome::stopped(report);
        match options.json {
            true => print(&format!("{}\n", outcome.to_json(options.verbose)))?,
            false => print(&(text + &outcome.to_text(options.verbose)))?,
        }
        return Ok(Status::Interrupted);
    }
    if let (Some(saved), Some(path)) = (&report.saved, &args.state) {
        let bytes = session.saved_bytes(saved)?;
        std::fs::write(path, &bytes).with_context(|| path.display().to_string())?;
        let left = saved.blocks_left();
        print(&format!("stopped with {left} blocks left; {} bytes in {}\n", bytes.len(), path.display()))?;
        return Ok(Status::Ok);
    }
    let mut outcome = session.check(report)?;
    if options.verbose {
        statistics::complete(&mut outcome.stats, &file, options)?;
    }
    session.save(args.save.as_deref())?;
    if options.json {
        print(&format!("{}\n", outcome.to_json(options.verbose)))?;
    } else {
        print(&outcome.to_text(options.verbose))?;
    }
    Ok(outcome.status)
}
