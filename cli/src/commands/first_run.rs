//! Prepares a launch file as the options say, and does its first run, with a progress bar.

use std::sync::mpsc;
use std::time::Duration;

use warpjit::launch_file::LaunchFile;
use warpjit::session::Session;
use warpjit_runtime::{CancelToken, Engine, Report};

use super::progress::Bar;
use crate::args::EngineArgs;

/// A session of the blocks that are asked for.
pub(super) fn session<'a>(
    file: &'a LaunchFile,
    engine: &'a Engine,
    options: &EngineArgs,
) -> anyhow::Result<Session<'a>> {
    let mut session = Session::new(file, engine)?;
    if let Some(blocks) = &options.blocks {
        session.set_blocks(blocks.clone())?;
    }
    Ok(session)
}

/// Runs with a bar; later runs have none.
pub(super) fn run(session: &mut Session<'_>) -> anyhow::Result<Report> {
    let bar = Bar::new();
    if let Some((_, progress)) = &bar {
        session.set_progress(progress.clone());
    }
    let report = session.run()?;
    drop(bar);
    session.clear_progress();
    Ok(report)
}

/// Runs with a progress bar, and stops after `seconds`.
pub(super) fn run_for(session: &mut Session<'_>, seconds: f64) -> anyhow::Result<Report> {
    let cancel = CancelToken::new();
    session.set_cancel(cancel.clone());
    let limit = Duration::from_secs_f64(seconds);
    let (done, wait) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if wait.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                cancel.cancel();
            }
        });
        let report = run(session);
        drop(done);
        report
    })
}

/// Runs until code is compiled: what the first run has asked for, and what the code made of that asks for in turn.
pub(super) fn finish_compiling(session: &mut Session<'_>, engine: &Engine) -> anyhow::Result<()> {
    for _ in 0..2 {
        engine.wait_for_compiler();
        session.restore()?;
        session.run()?;
    }
    engine.wait_for_compiler();
    Ok(())
}
