//! What the library tells people: lines on standard error, and statistics.

use crate::copies;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use warpjit_card::settings::{PROGRAM, Settings, StatsTo};
use warpjit_runtime::Report;

/// Collects and tells.
#[derive(Debug)]
pub(crate) struct Reporter {
    name: &'static str,
    trace: bool,
    stats: Option<StatsTo>,
    said: Mutex<HashSet<String>>,
    kernels: Mutex<BTreeMap<String, Kernel>>,
    began: Instant,
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

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl Kernel {
    fn lanes_active(&self) -> f64 {
        self.lanes as f64 / self.lane_slots.max(1) as f64
    }
}

impl Reporter {
    /// One that has nothing to tell yet. `name`: of the device.
    pub fn new(name: &'static str, settings: &Settings) -> Reporter {
        Reporter {
            name,
            trace: settings.trace,
            stats: settings.stats.clone(),
            said: Mutex::default(),
            kernels: Mutex::default(),
            began: Instant::now(),
        }
    }

    /// Writes a line to standard error. Where that cannot be written, nobody can be told.
    pub fn say(&self, what: &str) {
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
        if self.stats.is_none() {
            return;
        }
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = kernels.entry(kernel.to_owned()).or_default();
        kernel.dispatches += 1;
        kernel.groups += stats.blocks;
        kernel.run += stats.run;
        kernel.longest = kernel.longest.max(stats.run);
        kernel.compile += stats.compile + stats.compile_behind;
        kernel.instructions += stats.warp_instructions;
        kernel.lanes += stats.thread_instructions;
        kernel.lane_slots += stats.lane_slots;
        kernel.block = block;
        for (loaded, stored) in stats.traffic.values() {
            kernel.traffic.0 += loaded;
            kernel.traffic.1 += stored;
        }
    }

    /// Writes the statistics, if they were asked for and something was run.
    pub fn finish(&self) {
        let kernels = self.sorted();
        let Some(to) = self.stats.as_ref().filter(|_| !kernels.is_empty() || copies::counts().0 > 0) else {
            return;
        };
        match to {
            StatsTo::Stderr => {
                let _ = std::io::stderr().write_all(self.table(&kernels).as_bytes());
            }
            StatsTo::File(file) => {
                let own = std::process::id();
                let is_program = std::env::var(PROGRAM).ok().is_none_or(|number| number == own.to_string());
                // Children of the program do not overwrite what it writes.
                let file = if is_program { file.clone() } else { file.with_extension(format!("{own}.json")) };
                if let Err(error) = std::fs::write(&file, self.json(&kernels)) {
                    self.say(&format!("statistics cannot be written to {}: {error}", file.display()));
                }
            }
        }
    }

    /// Kernels, longest first.
    fn sorted(&self) -> Vec<(String, Kernel)> {
        let kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kernels: Vec<_> =
            kernels.iter().map(|(name, kernel)| (name.clone(), kernel.clone())).collect();
        kernels.sort_by(|(name, one), (other, two)| two.run.cmp(&one.run).then(name.cmp(other)));
        kernels
    }

    fn table(&self, kernels: &[(String, Kernel)]) -> String {
        let sum =
            |of: fn(&Kernel) -> Duration| kernels.iter().map(|(_, kernel)| of(kernel)).sum::<Duration>();
        let (run, compile) = (sum(|kernel| kernel.run), sum(|kernel| kernel.compile));
        let dispatches: u64 = kernels.iter().map(|(_, kernel)| kernel.dispatches).sum();
        let (copies, copied) = copies::counts();
        let mut out = format!(
            "warpjit: {}: {dispatches} dispatches of {} kernels, {copies} copies of {:.3} MB\n\
             warpjit: dispatches took {:.3} ms, compilation {:.3} ms, the program {:.3} ms since it began with HSA\n",
            self.name,
            kernels.len(),
            copied as f64 / 1e6,
            milliseconds(run),
            milliseconds(compile),
            milliseconds(self.began.elapsed()),
        );
        if kernels.is_empty() {
            return out;
        }
        out += "dispatches     time ms   share   compile ms  lanes  instructions      groups       block  kernel\n";
        for (name, kernel) in kernels {
            let share = kernel.run.as_secs_f64() / run.as_secs_f64().max(1e-9);
            let [x, y, z] = kernel.block;
            let _ = writeln!(
                out,
                "{:>10}  {:>10.3}  {:>5.1}%  {:>11.3}  {:>4.0}%  {:>12}  {:>10}  {:>10}  {name}",
                kernel.dispatches,
                milliseconds(kernel.run),
                100.0 * share,
                milliseconds(kernel.compile),
                100.0 * kernel.lanes_active(),
                kernel.instructions,
                kernel.groups,
                format!("{x}x{y}x{z}"),
            );
        }
        out
    }

    fn json(&self, kernels: &[(String, Kernel)]) -> String {
        let rows: Vec<_> = kernels
            .iter()
            .map(|(name, kernel)| {
                serde_json::json!({
                    "kernel": name,
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
        let (copies, copied) = copies::counts();
        let object = serde_json::json!({
            "format": "warpjit-exec 1",
            "chip": self.name,
            "dispatches": kernels.iter().map(|(_, kernel)| kernel.dispatches).sum::<u64>(),
            "copies": copies,
            "bytes_copied": copied,
            "program_ms": milliseconds(self.began.elapsed()),
            "kernels": rows,
        });
        format!("{object:#}\n")
    }
}
