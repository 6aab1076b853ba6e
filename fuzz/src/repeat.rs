//! Runs a saved launch file again, in many settings.

use std::path::Path;

use anyhow::Context as _;
use warpjit::launch_file::{LaunchFile, read_plain};
use warpjit::outcome::Status;
use warpjit::session::Session;
use warpjit_tests::random::rng::SplitMix;

use crate::guest::Rules;
use crate::oracle::{Engines, Setting};

/// Runs a launch file in the interpreter and in `settings` other settings; gives what does not hold, a line each.
///
/// # Errors
///
/// Where it cannot be read or launched.
pub fn repeat(path: &Path, settings: u64) -> anyhow::Result<Vec<String>> {
    let text = read_plain(path).with_context(|| path.display().to_string())?;
    let lockstep = String::from_utf8_lossy(&text).contains("run with --lockstep");
    let file = LaunchFile::load(path)?;
    let mut engines = Engines::default();
    let mut random = SplitMix::new(1);
    let mut wrong = Vec::new();
    // A saved launch file may expect what is in memory behind a fault.
    let rules = Rules { lockstep, after_fault: lockstep, ..Rules::PLAIN };
    let others = (0..settings).map(|_| Setting::random(&mut random, rules));
    for setting in std::iter::once(Setting::reference(lockstep)).chain(others) {
        let Some(engine) = engines.of(setting) else { continue };
        let mut session = Session::new(&file, engine)?;
        let report = session.run()?;
        let outcome = session.check(report)?;
        if outcome.status != Status::Ok {
            wrong.push(format!("{setting}: {}", outcome.to_text(false).trim_end()));
        }
    }
    Ok(wrong)
}
