//! What the card tells people: lines on standard error, and statistics.

use crate::chip::Chip;
use crate::dispatch::Dispatch;
use crate::fence::lock;
use crate::kernels::{Kernels, Listed, milliseconds, write_statistics};
use crate::settings::{Settings, StatsTo};
use std::collections::HashSet;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use warpjit_runtime::Report;

/// Collects and tells.
#[derive(Debug)]
pub(crate) struct Reporter {
    chip: &'static Chip,
    trace: bool,
    stats: Option<StatsTo>,
    said: Mutex<HashSet<String>>,
    kernels: Kernels,
    began: Instant,
    submissions: AtomicU64,
    copies: AtomicU64,
    copied: AtomicU64,
    draws: AtomicU64,
    draws_left_out: AtomicU64,
    quiet: bool,
    internal_errors: AtomicU64,
}

impl Reporter {
    /// One that has nothing to tell yet.
    pub fn new(settings: &Settings) -> Reporter {
        Reporter {
            chip: settings.chip,
            trace: settings.trace,
            stats: settings.stats.clone(),
            said: Mutex::default(),
            kernels: Kernels::default(),
            began: Instant::now(),
            submissions: AtomicU64::new(0),
            copies: AtomicU64::new(0),
            copied: AtomicU64::new(0),
            draws: AtomicU64::new(0),
            draws_left_out: AtomicU64::new(0),
            quiet: settings.quiet,
            internal_errors: AtomicU64::new(0),
        }
    }

    /// Writes a line to standard error. Where that cannot be written, nobody can be told.
    pub fn say(&self, what: &str) {
        if self.quiet {
            return;
        }
        // In one piece, so that lines of threads and programs do not mix.
        let line = format!("warpjit: {}: {what}\n", self.chip.name);
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    /// The same, the first time only.
    pub fn once(&self, what: &str) {
        if lock(&self.said).insert(what.to_owned()) {
            self.say(what);
        }
    }

    /// Something went wrong that is this crate's own fault.
    pub fn internal_error(&self, what: &str) {
        self.internal_errors.fetch_add(1, Relaxed);
        self.say(&format!("{what}: internal error"));
    }

    /// How often that was.
    pub fn internal_errors(&self) -> u64 {
        self.internal_errors.load(Relaxed)
    }

    /// Whether somebody wants to know what kernels are called and what they do.
    pub fn wants_kernels(&self) -> bool {
        self.trace || self.stats.is_some()
    }

    /// Whether dispatches are counted.
    pub fn counts(&self) -> bool {
        self.stats.is_some()
    }

    /// A submission with so many command buffers begins.
    pub fn submission(&self, ring: &str, number: u64, buffers: usize) {
        self.submissions.fetch_add(1, Relaxed);
        if self.trace {
            self.say(&format!("{ring}: submission {number}, command buffers {buffers}"));
        }
    }

    /// The processor copies or fills.
    pub fn count_copy(&self, bytes: u64) {
        self.copies.fetch_add(1, Relaxed);
        self.copied.fetch_add(bytes, Relaxed);
    }

    /// A draw was done, or left out: how many vertices and instances.
    pub fn count_draw(&self, is_done: bool, vertices: usize, instances: u32) {
        if self.trace {
            let end = if is_done { "" } else { ", left out" };
            self.say(&format!("draw of {vertices} vertices, {instances} times{end}"));
        }
        let count = if is_done { &self.draws } else { &self.draws_left_out };
        count.fetch_add(1, Relaxed);
    }

    /// A dispatch has ended.
    pub fn dispatch(&self, kernel: u64, dispatch: &Dispatch, report: &Report) {
        let stats = &report.stats;
        if self.trace {
            let ([x, y, z], [a, b, c]) = (dispatch.grid, dispatch.block);
            let (run, compile) = (milliseconds(stats.run), milliseconds(stats.compile));
            self.say(&format!(
                "dispatch of kernel {kernel:016x} at {:#x}, grid {x} x {y} x {z}, block {a} x {b} x {c}: {run:.3} ms, compile {compile:.3} ms",
                dispatch.code
            ));
        }
        if self.stats.is_none() {
            return;
        }
        self.kernels.add(format!("{kernel:016x}"), dispatch.block, report);
    }

    /// Time since the program opened the card.
    pub fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// Writes the statistics, if they were asked for and the card was used.
    pub fn finish(&self) {
        let submissions = self.submissions.load(Relaxed);
        let Some(to) = self.stats.as_ref().filter(|_| submissions > 0) else { return };
        let kernels = self.kernels.listed();
        let written = write_statistics(to, || self.table(&kernels), || self.json(&kernels));
        if let Err(error) = written {
            self.say(&error);
        }
    }

    fn table(&self, kernels: &Listed) -> String {
        let sum = &kernels.sum;
        let totals = format!(
            "warpjit: {}: {} submissions, {} dispatches of {} kernels, {} copies of {:.3} MB, {} draws, {} left out\n\
             warpjit: dispatches took {:.3} ms, compilation {:.3} ms, the program {:.3} ms since it opened the card\n",
            self.chip.name,
            self.submissions.load(Relaxed),
            sum.count,
            kernels.len(),
            self.copies.load(Relaxed),
            self.copied.load(Relaxed) as f64 / 1e6,
            self.draws.load(Relaxed),
            self.draws_left_out.load(Relaxed),
            milliseconds(sum.run),
            milliseconds(sum.compile),
            milliseconds(self.began.elapsed()),
        );
        totals + &kernels.table()
    }

    fn json(&self, kernels: &Listed) -> String {
        let sum = &kernels.sum;
        let object = serde_json::json!({
            "format": "warpjit-exec 1",
            "chip": self.chip.name,
            "submissions": self.submissions.load(Relaxed),
            "dispatches": sum.count,
            "copies": self.copies.load(Relaxed),
            "bytes_copied": self.copied.load(Relaxed),
            "draws": self.draws.load(Relaxed),
            "draws_left_out": self.draws_left_out.load(Relaxed),
            "run_ms": milliseconds(sum.run),
            "compile_ms": milliseconds(sum.compile),
            "program_ms": milliseconds(self.began.elapsed()),
            "kernels": kernels.json(),
        });
        format!("{object:#}\n")
    }
}
