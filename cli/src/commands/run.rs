//! `warpjit run`: runs a launch file and checks its expectations.

use warpjit::launch_file::LaunchFile;
use warpjit::outcome::Status;
use warpjit_runtime::{Config, Engine};

use super::{first_run, print, statistics};
use crate::args::RunArgs;

pub(super) fn run(args: &RunArgs) -> anyhow::Result<Status> {
    let options = &args.engine;
    let file = LaunchFile::load(&args.file)?;
    // The JSON object names instruction counts, so they are counted.
    let config = options.config();
    let config = Config { count: config.count || options.json, ..config };
    let engine = Engine::new(config)?;
    let mut session = first_run::session(&file, &engine, options)?;
    let report = first_run::run(&mut session)?;
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
