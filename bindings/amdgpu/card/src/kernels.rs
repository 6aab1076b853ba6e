//! What statistics say of kernels: how often each was dispatched, and what that took. The card and HSA's library collect it alike.

use crate::fence::lock;
use crate::settings::{PROGRAM, StatsTo};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Mutex;
use std::time::Duration;
use warpjit_runtime::Report;

/// What is known of a kernel's dispatches, or of those of all kernels.
#[derive(Debug, Default, Clone)]
pub struct Dispatches {
    /// How many.
    pub count: u64,
    /// Workgroups.
    pub groups: u64,
    /// Time without compilation.
    pub run: Duration,
    /// Time of compilation, also beside the dispatches.
    pub compile: Duration,
    longest: Duration,
    instructions: u64,
    lanes: u64,
    lane_slots: u64,
    /// Bytes loaded from memory, and stored.
    traffic: (u64, u64),
    /// Size of the last one's workgroups.
    block: [u32; 3],
}

impl Dispatches {
    fn lanes_active(&self) -> f64 {
        self.lanes as f64 / self.lane_slots.max(1) as f64
    }

    fn add(&mut self, block: [u32; 3], report: &Report) {
        let stats = &report.stats;
        self.count += 1;
        self.groups += stats.blocks;
        self.run += stats.run;
        self.longest = self.longest.max(stats.run);
        self.compile += stats.compile + stats.compile_behind;
        self.instructions += stats.warp_instructions;
        self.lanes += stats.thread_instructions;
        self.lane_slots += stats.lane_slots;
        self.block = block;
        // Of LDS, a kernel's own, nothing is told.
        let (loaded, stored) = stats.traffic.get("global").copied().unwrap_or_default();
        self.traffic = (self.traffic.0 + loaded, self.traffic.1 + stored);
    }
}

/// Milliseconds of a time.
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The kernels that were dispatched, by name.
#[derive(Debug, Default)]
pub struct Kernels(Mutex<BTreeMap<String, Dispatches>>);

impl Kernels {
    /// A dispatch with workgroups of that size has ended.
    pub fn add(&self, kernel: String, block: [u32; 3], report: &Report) {
        lock(&self.0).entry(kernel).or_default().add(block, report);
    }

    /// What is known now.
    pub fn listed(&self) -> Listed {
        let mut kernels: Vec<_> =
            lock(&self.0).iter().map(|(name, kernel)| (name.clone(), kernel.clone())).collect();
        kernels.sort_by(|(name, one), (other, two)| two.run.cmp(&one.run).then(name.cmp(other)));
        let mut sum = Dispatches::default();
        for (_, kernel) in &kernels {
            sum.count += kernel.count;
            sum.groups += kernel.groups;
            sum.run += kernel.run;
            sum.compile += kernel.compile;
        }
        Listed { kernels, sum }
    }
}

/// The kernels that were dispatched, the longest first.
#[derive(Debug)]
pub struct Listed {
    kernels: Vec<(String, Dispatches)>,
    /// Of all kernels.
    pub sum: Dispatches,
}

impl Listed {
    /// How many kernels.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// Whether none was dispatched.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    /// A table with a row for each; empty if there is none.
    pub fn table(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut out = String::from(
            "dispatches     time ms   share   compile ms  lanes  instructions  bytes loaded  bytes stored      groups       block  kernel\n",
        );
        for (name, kernel) in &self.kernels {
            let share = kernel.run.as_secs_f64() / self.sum.run.as_secs_f64().max(1e-9);
            let [x, y, z] = kernel.block;
            let _ = writeln!(
                out,
                "{:>10}  {:>10.3}  {:>5.1}%  {:>11.3}  {:>4.0}%  {:>12}  {:>12}  {:>12}  {:>10}  {:>10}  {name}",
                kernel.count,
                milliseconds(kernel.run),
                100.0 * share,
                milliseconds(kernel.compile),
                100.0 * kernel.lanes_active(),
                kernel.instructions,
                kernel.traffic.0,
                kernel.traffic.1,
                kernel.groups,
                format!("{x}x{y}x{z}"),
            );
        }
        out
    }

    /// The same as JSON.
    pub fn json(&self) -> Vec<serde_json::Value> {
        let row = |(name, kernel): &(String, Dispatches)| {
            serde_json::json!({
                "kernel": name,
                "dispatches": kernel.count,
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
        };
        self.kernels.iter().map(row).collect()
    }
}

/// Writes statistics to where they are wanted: `table` to standard error, or `json` to a file. A child of the program gets a file with its
/// number in the name. Gives a line about what went wrong.
///
/// # Errors
/// The file cannot be written.
pub fn write_statistics(
    to: &StatsTo,
    table: impl FnOnce() -> String,
    json: impl FnOnce() -> String,
) -> Result<(), String> {
    let file = match to {
        StatsTo::Stderr => {
            // Where that cannot be written, nobody can be told.
            let _ = std::io::stderr().write_all(table().as_bytes());
            return Ok(());
        }
        StatsTo::File(file) => file,
    };
    let own = std::process::id();
    let is_program = std::env::var(PROGRAM).ok().is_none_or(|number| number == own.to_string());
    let file = if is_program { file.clone() } else { file.with_extension(format!("{own}.json")) };
    std::fs::write(&file, json())
        .map_err(|error| format!("statistics cannot be written to {}: {error}", file.display()))
}
