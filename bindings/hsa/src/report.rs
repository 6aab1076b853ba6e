//! What the library tells people: lines on standard error, and statistics.

use crate::copies;
use std::collections::HashSet;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use warpjit_card::kernels::{Kernels, Listed, milliseconds, write_statistics};
use warpjit_card::settings::{Settings, StatsTo};
use warpjit_runtime::Report;

/// Collects and tells.
#[derive(Debug)]
pub(crate) struct Reporter {
    name: &'static str,
    trace: bool,
    stats: Option<StatsTo>,
    said: Mutex<HashSet<String>>,
    kernels: Kernels,
    began: Instant,
    quiet: bool,
}

impl Reporter {
    /// One that has nothing to tell yet. `name`: of the device.
    pub fn new(name: &'static str, settings: &Settings) -> Reporter {
        Reporter {
            name,
            trace: settings.trace,
            stats: settings.stats.clone(),
            said: Mutex::default(),
            kernels: Kernels::default(),
            began: Instant::now(),
            quiet: settings.quiet,
        }
    }

    /// Writes a line to standard error. Where that cannot be written, nobody can be told.
    pub fn say(&self, what: &str) {
        if self.quiet {
            return;
        }
        let line = format!("warpjit: {}: {what}\n", self.name);
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    /// The same, the first time only.
    pub fn once(&self, what: &str) {
        if self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(what.to_owned()) {
            self.say(what);
        }
    }

    /// A line for who wants to follow everything.
    pub fn trace(&self, what: impl FnOnce() -> String) {
        if self.trace {
            self.say(&what());
        }
    }

    /// Whether dispatches are counted.
    pub fn counts(&self) -> bool {
        self.stats.is_some()
    }

    /// A dispatch has ended.
    pub fn dispatch(&self, kernel: &str, grid: [u32; 3], block: [u32; 3], report: &Report) {
        let stats = &report.stats;
        self.trace(|| {
            let ([x, y, z], [a, b, c]) = (grid, block);
            let (run, compile) = (milliseconds(stats.run), milliseconds(stats.compile));
            format!(
                "dispatch of {kernel}, grid {x} x {y} x {z}, block {a} x {b} x {c}: {run:.3} ms, compile {compile:.3} ms"
            )
        });
        if self.stats.is_some() {
            self.kernels.add(kernel.to_owned(), block, report);
        }
    }

    /// How long the program has run with HSA.
    pub fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// Writes the statistics, if they were asked for and something was run.
    pub fn finish(&self) {
        let kernels = self.kernels.listed();
        let Some(to) = self.stats.as_ref().filter(|_| !kernels.is_empty() || copies::counts().0 > 0) else {
            return;
        };
        let written = write_statistics(to, || self.table(&kernels), || self.json(&kernels));
        if let Err(error) = written {
            self.say(&error);
        }
    }

    fn table(&self, kernels: &Listed) -> String {
        let (copies, copied) = copies::counts();
        let totals = format!(
            "warpjit: {}: {} dispatches of {} kernels, {copies} copies of {:.3} MB\n\
             warpjit: dispatches took {:.3} ms, compilation {:.3} ms, the program {:.3} ms since it began with HSA\n",
            self.name,
            kernels.sum.count,
            kernels.len(),
            copied as f64 / 1e6,
            milliseconds(kernels.sum.run),
            milliseconds(kernels.sum.compile),
            milliseconds(self.began.elapsed()),
        );
        totals + &kernels.table()
    }

    fn json(&self, kernels: &Listed) -> String {
        let (copies, copied) = copies::counts();
        let object = serde_json::json!({
            "format": "warpjit-exec 1",
            "chip": self.name,
            "dispatches": kernels.sum.count,
            "copies": copies,
            "bytes_copied": copied,
            "run_ms": milliseconds(kernels.sum.run),
            "compile_ms": milliseconds(kernels.sum.compile),
            "program_ms": milliseconds(self.began.elapsed()),
            "kernels": kernels.json(),
        });
        format!("{object:#}\n")
    }
}
