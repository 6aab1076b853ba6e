//! A worker process: runs cases one after the other and reports on its output, one line for each event.
//!
//! | line | meaning |
//! |---|---|
//! | `begin TARGET SEED` | the case that runs from now on |
//! | `found JSON` | a [`Finding`] of that case |
//! | `covered JSON` | a [`Coverage`](crate::coverage::Coverage): what was covered since the last such line |

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use warpjit_tests::random::rng::SplitMix;

use crate::targets::{Context, Target, pick};
use crate::{Finding, case_seed};

/// How often what is covered is said: a worker that dies has not lost more.
const SAY_EVERY: Duration = Duration::from_secs(3);

/// Which cases a worker runs.
#[derive(Clone, Debug)]
pub struct Work {
    /// The seed of the run.
    pub run: u64,
    /// The number of its first case.
    pub first: u64,
    /// From case to case.
    pub step: u64,
    /// No cases begin later than that.
    pub within: Duration,
    /// At most so many; 0: any number.
    pub cases: u64,
}

/// Where the last panic was, and its message.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Runs a case; a panic is a finding.
///
/// # Errors
///
/// What does not hold.
pub fn run_case(target: &Target, seed: u64, context: &mut Context) -> Result<(), Box<Finding>> {
    match catch_unwind(AssertUnwindSafe(|| target.run(seed, context))) {
        Ok(result) => result,
        Err(_) => {
            let text = PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let mut finding = Finding::new("panic", text);
            // The generator may be what panicked.
            if let Ok(Some(guest)) = catch_unwind(|| target.guest(seed)) {
                finding.files = crate::save::files(&guest, None, &finding.text);
            }
            Err(Box::new(finding))
        }
    }
}

/// Keeps messages of panics for findings.
pub fn keep_panics() {
    std::panic::set_hook(Box::new(|info| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
}

/// Does the work.
///
/// # Errors
///
/// Of the output.
pub fn work(work: &Work, targets: &[Target], out: &mut dyn Write) -> io::Result<()> {
    keep_panics();
    let started = Instant::now();
    let mut said = started;
    let mut context = Context::default();
    let mut number = work.first;
    let mut done = 0;
    while started.elapsed() < work.within && (work.cases == 0 || done < work.cases) {
        let seed = case_seed(work.run, number);
        let target = pick(targets, &mut SplitMix::new(!seed));
        writeln!(out, "begin {} {seed:#x}", target.name)?;
        out.flush()?;
        if let Err(finding) = run_case(target, seed, &mut context) {
            writeln!(out, "found {}", serde_json::to_string(&finding)?)?;
        }
        if said.elapsed() > SAY_EVERY {
            said = Instant::now();
            say(&mut context, out)?;
        }
        number = number.wrapping_add(work.step);
        done += 1;
    }
    say(&mut context, out)
}

fn say(context: &mut Context, out: &mut dyn Write) -> io::Result<()> {
    let coverage = std::mem::take(&mut context.coverage);
    writeln!(out, "covered {}", serde_json::to_string(&coverage)?)?;
    out.flush()
}
