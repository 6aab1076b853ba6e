//! Mutated launch files. Each must be refused with a reason, or run to an end.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use warpjit::launch_file::LaunchFile;
use warpjit::session::Session;
use warpjit_runtime::{CancelToken, Tier};
use warpjit_tests::corpus::{self, Case};
use warpjit_tests::random::rng::SplitMix;

use super::{Context, mutate};
use crate::Finding;
use crate::guest::{Rules, within};
use crate::oracle::Setting;
use crate::time_limit::TimeLimit;

/// A launch that runs longer than this is cancelled.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// Files that ask for more memory are right, and take the machine's.
const MOST_BYTES: u64 = 256 << 20;

/// The corpus.
static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let all = [corpus::tesla(), corpus::fermi(), corpus::gcn(), corpus::vp1()];
    all.into_iter().flat_map(Result::unwrap_or_default).collect()
});

/// Holds the launch file of a seed.
///
/// # Errors
///
/// What does not hold.
pub fn hold(seed: u64, context: &mut Context) -> Result<(), Box<Finding>> {
    let mut random = SplitMix::new(seed);
    let case = &CASES[random.below(CASES.len() as u64) as usize];
    let Ok(Ok(text)) = case.files.read(&case.launch).map(String::from_utf8) else { return Ok(()) };
    let text = mutate::text(&text, &mut random);
    let finding = |kind: &str, what: String| {
        // The code, under the name that the file has for it.
        let mut files = vec![("launch.toml".to_owned(), text.clone().into_bytes())];
        if let Ok(file) = case.load() {
            files.push((file.program.file.display().to_string(), file.program.code));
        }
        Box::new(Finding { kind: kind.into(), text: format!("{}: {what}", case.name), files })
    };
    let mut file = match LaunchFile::parse(&text, &*case.files, Path::new("launch.toml")) {
        Ok(file) => file,
        Err(error) => {
            context.coverage.count("launch files", "refused by what they say");
            // A message says where.
            return match error.line.is_some() || !error.key.is_empty() || !error.reason.is_empty() {
                true => Ok(()),
                false => Err(finding("message", "an error without a text".into())),
            };
        }
    };
    if file.buffers.iter().map(|buffer| buffer.bytes).sum::<u64>() > MOST_BYTES {
        context.coverage.count("launch files", "too large");
        return Ok(());
    }
    if file.launch.max_steps == 0 && random.one_in(2) {
        file.launch.max_steps = 5_000;
    }
    let tier = random.pick(&[Tier::Interp, Tier::Jit]);
    let setting = Setting { tier, ..Setting::random(&mut random, Rules::PLAIN) };
    let Some(engine) = context.engines.of(setting) else { return Ok(()) };
    let mut session = match Session::new(&file, engine) {
        Ok(session) => session,
        Err(_) => {
            context.coverage.count("launch files", "refused by their program");
            return Ok(());
        }
    };
    let cancel = CancelToken::new();
    session.set_cancel(cancel.clone());
    let started = std::time::Instant::now();
    let whole = TimeLimit::new(std::process::id(), TIME_LIMIT + Duration::from_secs(20));
    let report = within(TIME_LIMIT, cancel, || session.run());
    if whole.is_over() {
        return Err(finding("cancel", format!("took {:?} to stop ({setting})", started.elapsed())));
    }
    let end = match report {
        Err(_) => "refused by their launch".to_owned(),
        Ok(report) if report.cancelled => "cancelled".into(),
        Ok(report) => match session.check(report) {
            Ok(outcome) => outcome.status.as_str().into(),
            // Which registers a program has is known once it has run.
            Err(_) => "refused by what they expect".into(),
        },
    };
    context.coverage.count("launch files", end);
    Ok(())
}
