//! What the card tells people: lines on standard error, and statistics.

use crate::chip::Chip;
use crate::dispatch::Dispatch;
use crate::fence::lock;
use crate::settings::{PROGRAM, Settings, StatsTo};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
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
    kernels: Mutex<BTreeMap<u64, Kernel>>,
    began: Instant,
    submissions: AtomicU64,
    copies: AtomicU64,
    copied: AtomicU64,
    draws: AtomicU64,
    draws_left_out: AtomicU64,
    quiet: bool,
    internal_errors: AtomicU64,
}

/// What is known of a kernel's dispatches.
#[derive(Debug, Default, Clone)]
struct Kernel {
    dispatches: u64,
    groups: u64,
    run: Duration,
    longest: Duration,
    compile: Duration,
    instructions: u64,
    lanes: u64,
    lane_slots: u64,
    traffic: (u64, u64),
    block: [u32; 3],
}

impl Kernel {
    fn lanes_active(&self) -> f64 {
        self.lanes as f64 / (self.lane_slots.max(1)) as f64
    }
}

impl Reporter {
    /// One that has nothing to tell yet.
    pub fn new(settings: &Settings) -> Reporter {
        Reporter {
            chip: settings.chip,
            trace: settings.trace,
            stats: settings.stats.clone(),
            said: Mutex::default(),
            kernels: Mutex::default(),
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
        let mut kernels = lock(&self.kernels);
        let kernel = kernels.entry(kernel).or_default();
        kernel.dispatches += 1;
        kernel.groups += stats.blocks;
        kernel.run += stats.run;
        kernel.longest = kernel.longest.max(stats.run);
        kernel.compile += stats.compile + stats.compile_behind;
        kernel.instructions += stats.warp_instructions;
        kernel.lanes += stats.thread_instructions;
        kernel.lane_slots += stats.lane_slots;
        kernel.block = dispatch.block;
        for (loaded, stored) in stats.traffic.values() {
            kernel.traffic.0 += loaded;
            kernel.traffic.1 += stored;
        }
    }

    /// Writes the statistics, if they were asked for and the card was used.
    pub fn finish(&self) {
        let submissions = self.submissions.load(Relaxed);
        let Some(to) = self.stats.as_ref().filter(|_| submissions > 0) else { return };
        match to {
            StatsTo::Stderr => {
                let _ = std::io::stderr().write_all(self.table().as_bytes());
            }
            StatsTo::File(file) => {
                let own = std::process::id();
                let is_program = std::env::var(PROGRAM).ok().is_none_or(|number| number == own.to_string());
                // Children of the program do not overwrite what it writes.
                let file = if is_program { file.clone() } else { file.with_extension(format!("{own}.json")) };
                if let Err(error) = std::fs::write(&file, self.json()) {
                    self.say(&format!("statistics cannot be written to {}: {error}", file.display()));
                }
            }
        }
    }

    /// Kernels, longest first, with the sum of all.
    fn sorted(&self) -> (Vec<(u64, Kernel)>, Kernel) {
        let mut kernels: Vec<(u64, Kernel)> =
            lock(&self.kernels).iter().map(|(id, kernel)| (*id, kernel.clone())).collect();
        kernels.sort_by_key(|(id, kernel)| (std::cmp::Reverse(kernel.run), *id));
        let mut sum = Kernel::default();
        for (_, kernel) in &kernels {
            sum.dispatches += kernel.dispatches;
            sum.groups += kernel.groups;
            sum.run += kernel.run;
            sum.compile += kernel.compile;
            sum.instructions += kernel.instructions;
            sum.lanes += kernel.lanes;
            sum.lane_slots += kernel.lane_slots;
        }
        (kernels, sum)
    }

    fn table(&self) -> String {
        let (kernels, sum) = self.sorted();
        let mut out = format!(
            "warpjit: {}: {} submissions, {} dispatches of {} kernels, {} copies of {:.3} MB, {} draws, {} left out\n\
             warpjit: dispatches took {:.3} ms, compilation {:.3} ms, the program {:.3} ms since it opened the card\n",
            self.chip.name,
            self.submissions.load(Relaxed),
            sum.dispatches,
            kernels.len(),
            self.copies.load(Relaxed),
            self.copied.load(Relaxed) as f64 / 1e6,
            self.draws.load(Relaxed),
            self.draws_left_out.load(Relaxed),
            milliseconds(sum.run),
            milliseconds(sum.compile),
            milliseconds(self.began.elapsed()),
        );
        if kernels.is_empty() {
            return out;
        }
        out += "kernel            dispatches     time ms   share   compile ms  lanes  instructions      groups  block\n";
        for (id, kernel) in &kernels {
            let share = kernel.run.as_secs_f64() / sum.run.as_secs_f64().max(1e-9);
            let [x, y, z] = kernel.block;
            let _ = writeln!(
                out,
                "{id:016x}  {:>10}  {:>10.3}  {:>5.1}%  {:>11.3}  {:>4.0}%  {:>12}  {:>10}  {x}x{y}x{z}",
                kernel.dispatches,
                milliseconds(kernel.run),
                100.0 * share,
                milliseconds(kernel.compile),
                100.0 * kernel.lanes_active(),
                kernel.instructions,
                kernel.groups,
            );
        }
        out
    }

    fn json(&self) -> String {
        let (kernels, sum) = self.sorted();
        let rows: Vec<_> = kernels
            .iter()
            .map(|(id, kernel)| {
                serde_json::json!({
                    "kernel": format!("{id:016x}"),
                    "dispatches": kernel.dispatches,
                    "groups": kernel.groups,
                    "block": kernel.block,
                    "run_ms": milliseconds(kernel.run),
                    "longest_ms": milliseconds(kernel.longest),
                    "compile_ms": milliseconds(kernel.compile),
                    "lanes_active": kernel.lanes_active(),
                    "wave_instructions": kernel.instructions,
                    "thread_instructions": kernel.lanes,
                    "bytes_loaded": kernel.traffic.0,
                    "bytes_stored": kernel.traffic.1,
                })
            })
            .collect();
        let object = serde_json::json!({
            "format": "warpjit-exec 1",
            "chip": self.chip.name,
            "submissions": self.submissions.load(Relaxed),
            "dispatches": sum.dispatches,
            "copies": self.copies.load(Relaxed),
            "bytes_copied": self.copied.load(Relaxed),
            "draws": self.draws.load(Relaxed),
            "draws_left_out": self.draws_left_out.load(Relaxed),
            "run_ms": milliseconds(sum.run),
            "compile_ms": milliseconds(sum.compile),
            "program_ms": milliseconds(self.began.elapsed()),
            "kernels": rows,
        });
        format!("{object:#}\n")
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
