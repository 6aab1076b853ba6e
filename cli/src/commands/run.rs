//! `warpjit run`.

use warpjit::launch_file::LaunchFile;
use warpjit::outcome::Status;
use warpjit::session::Session;
use warpjit_runtime::{Config, Engine};

use super::progress::Bar;
use super::{print, statistics};
use crate::args::RunArgs;

pub(super) fn run(args: &RunArgs) -> anyhow::Result<Status> {
    let options = &args.engine;
    let file = LaunchFile::load(&args.file)?;
    // The JSON object names instruction counts, so they are counted.
    let config = Config { count: options.verbose || options.json, ..options.config() };
    let engine = Engine::new(config)?;
    let mut session = Session::new(&file, &engine)?;
    if let Some(blocks) = &options.blocks {
        session.set_blocks(blocks.clone())?;
    }
    let bar = Bar::new();
    if let Some((_, progress)) = &bar {
        session.set_progress(progress.clone());
    }
    let report = session.run()?;
    drop(bar);
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
