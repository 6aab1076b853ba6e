//! Profiles of launch files: joins the samples and counts of a run with the program's listing, for text, JSON and HTML.

mod html;
mod listing;
mod text;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use warpjit_runtime as runtime;
use warpjit_runtime::{AccessCounts, Direction};

pub use html::to_html;
pub use listing::{ListedLine, parse_listing};
pub use text::to_text;

/// A profile beside the listing of its program.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// What was run, and how.
    pub setting: Setting,
    /// Processor time of a run over all threads, in milliseconds.
    pub run_ms: f64,
    /// Shares of that time.
    pub time: Vec<TimePart>,
    /// What was counted.
    pub counted: Counted,
    /// The program.
    pub lines: Vec<Line>,
    /// Its blocks, as far as they were executed.
    pub blocks: Vec<Block>,
    /// Its memory accesses, as far as they were executed.
    pub accesses: Vec<Access>,
}

/// What was run, and how.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Setting {
    /// The launch file.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// Its instruction set.
    pub isa: String,
    /// Its chip.
    pub chip: String,
    /// The tier asked for.
    pub tier: String,
    /// Host threads.
    pub threads: usize,
    /// The processor.
    pub cpu: String,
    /// Runs that were sampled.
    pub runs: u64,
    /// Samples a second and thread.
    pub sample_rate: u32,
    /// Samples of all runs.
    pub samples: u64,
    /// Samples for which there was no room.
    pub lost_samples: u64,
    /// Why a thread could not be sampled, if so.
    pub not_sampled: Option<String>,
    /// Why code was left to the interpreter, if so.
    pub not_compiled: Option<String>,
}

/// A part of the time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimePart {
    /// A word for it.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// Its share of all.
    pub share: f64,
    /// In milliseconds of a run.
    pub ms: f64,
}

/// What the interpreter counted in a run of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counted {
    /// Blocks of the grid that it ran.
    pub blocks: u64,
    /// Whether these are all.
    pub complete: bool,
    /// Lanes of a warp.
    pub lanes: u32,
    /// Instructions of warps.
    pub warp_instructions: u64,
    /// Share of lanes active, of instructions that are about lanes.
    pub lanes_active: Option<f64>,
    /// Executions of memory accesses.
    pub accesses: u64,
    /// Share of them by the addresses of the lanes.
    pub shape: Shape,
}

/// What addresses of lanes are to each other, as shares of executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shape {
    /// Side by side: one vector.
    pub contiguous: f64,
    /// The same: one scalar.
    pub same: f64,
    /// Evenly apart: a gather.
    pub strided: f64,
    /// Anything: a gather.
    pub scattered: f64,
}

/// An instruction.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Guest address.
    pub pc: u64,
    /// Its words.
    pub words: String,
    /// As the listing has it.
    pub text: String,
    /// Milliseconds of a run.
    pub ms: f64,
    /// Share of all time.
    pub share: f64,
    /// Of it, in functions that compiled code calls for this instruction.
    pub helper_ms: f64,
    /// Of it, in the interpreter.
    pub interpreter_ms: f64,
    /// Executions by warps, as counted.
    pub executions: Option<u64>,
    /// Share of lanes active in them, where the instruction is about lanes.
    pub lanes_active: Option<f64>,
}

/// A block of instructions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Block {
    /// Address of the first.
    pub pc: u64,
    /// Address of the last.
    pub end_pc: u64,
    /// Executions by warps.
    pub executions: u64,
    /// Share of lanes active.
    pub lanes_active: Option<f64>,
    /// Share of the time.
    pub share: f64,
    /// The branch at its end, if lanes may go different ways there.
    pub branch: Option<Branch>,
}

/// A branch, leave or join with a condition.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Branch {
    /// Share of lanes for which the condition held.
    pub taken: f64,
    /// Share of executions after which lanes went different ways.
    pub parted: f64,
}

/// A memory access.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Access {
    /// Address of the instruction.
    pub pc: u64,
    /// The instruction.
    pub text: String,
    /// Address space.
    pub space: &'static str,
    /// `load`, `store` or `atomic`.
    pub direction: &'static str,
    /// Bytes of a lane; wider accesses are several.
    pub bytes: u8,
    /// Executions with an active lane.
    pub executions: u64,
    /// What the addresses were to each other.
    pub shape: Shape,
    /// Share of lanes active.
    pub lanes_active: f64,
    /// Stretches of 64 bytes touched by an execution.
    pub lines: f64,
    /// The same if the lanes' bytes lay side by side.
    pub ideal_lines: f64,
    /// Share of the time that the instruction takes.
    pub share: f64,
}

/// What a profile is made of.
pub struct Parts<'a> {
    /// What was run; the numbers of samples are filled in.
    pub setting: Setting,
    /// The listing.
    pub listing: &'a [ListedLine],
    /// Where all runs were.
    pub samples: &'a runtime::Samples,
    /// What was counted.
    pub counts: &'a runtime::Profile,
    /// Blocks of the grid that were counted.
    pub counted_blocks: u64,
    /// Whether these are all.
    pub complete: bool,
}

impl Profile {
    /// Puts the parts together.
    pub fn new(parts: Parts<'_>) -> Profile {
        let Parts { mut setting, listing, samples, counts, counted_blocks, complete } = parts;
        setting.samples = samples.total();
        setting.lost_samples = samples.lost;
        setting.not_sampled.clone_from(&samples.failed);
        let runs = setting.runs.max(1) as f64;
        let run_ms = ms(samples.busy) / runs;
        let per_sample = if setting.samples == 0 { 0.0 } else { run_ms / setting.samples as f64 };
        let mut profile = Profile {
            time: time_parts(samples, per_sample, run_ms),
            run_ms,
            counted: counted(counts, counted_blocks, complete),
            lines: lines(listing, samples, counts, per_sample, run_ms),
            blocks: Vec::new(),
            accesses: Vec::new(),
            setting,
        };
        profile.blocks = blocks(counts, &profile.lines);
        profile.accesses = counts
            .accesses
            .iter()
            .filter(|access| access.counts.executions() > 0)
            .map(|access| profile.access(access, counts.lanes))
            .collect();
        profile
    }

    fn line(&self, pc: u64) -> Option<&Line> {
        self.lines.binary_search_by_key(&pc, |line| line.pc).ok().map(|at| &self.lines[at])
    }

    fn access(&self, access: &runtime::AccessProfile, lanes: u32) -> Access {
        let counts = &access.counts;
        let executions = counts.executions().max(1) as f64;
        let line = self.line(access.pc);
        Access {
            pc: access.pc,
            text: line.map_or_else(String::new, |line| line.text.clone()),
            space: access.space,
            direction: match access.direction {
                Direction::Load => "load",
                Direction::Store => "store",
                Direction::Atomic => "atomic",
            },
            bytes: access.bytes,
            executions: counts.executions(),
            shape: Shape::new(counts),
            lanes_active: counts.lanes as f64 / (executions * f64::from(lanes.max(1))),
            lines: counts.lines as f64 / executions,
            ideal_lines: counts.ideal_lines as f64 / executions,
            share: line.map_or(0.0, |line| line.share),
        }
    }

    /// The lines that take most time, hottest first.
    pub fn hottest(&self, most: usize) -> Vec<&Line> {
        let mut lines: Vec<_> = self.lines.iter().filter(|line| line.ms > 0.0).collect();
        lines.sort_by(|a, b| b.ms.total_cmp(&a.ms).then(a.pc.cmp(&b.pc)));
        lines.truncate(most);
        lines
    }
}

impl Shape {
    fn new(counts: &AccessCounts) -> Shape {
        let all = counts.executions().max(1) as f64;
        Shape {
            contiguous: counts.contiguous as f64 / all,
            same: counts.same as f64 / all,
            strided: counts.strided as f64 / all,
            scattered: counts.scattered as f64 / all,
        }
    }

    /// Names, shares and meanings, in the order of what they cost.
    pub fn parts(&self) -> [(&'static str, f64, &'static str); 4] {
        [
            ("same", self.same, "one address: a scalar access"),
            ("contiguous", self.contiguous, "side by side: a vector access"),
            ("strided", self.strided, "evenly apart: a gather"),
            ("scattered", self.scattered, "anywhere: a gather"),
        ]
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn time_parts(samples: &runtime::Samples, per_sample: f64, run_ms: f64) -> Vec<TimePart> {
    let sum = |of: &BTreeMap<u64, u64>| of.values().sum::<u64>() as f64;
    let parts = [
        ("compiled", "compiled code of guest instructions", sum(&samples.compiled)),
        ("helpers", "functions that compiled code calls", sum(&samples.helpers)),
        ("between", "compiled code between instructions: registers in and out", samples.between as f64),
        // An empty sum of floats is -0.
        ("interpreter", "the interpreter", samples.interpreted.values().fold(0.0, std::ops::Add::add)),
        ("compiler", "compiling", samples.compiling as f64),
        ("runtime", "scheduling, setting warps up, entering code", samples.runtime as f64),
    ];
    let share = |ms: f64| if run_ms > 0.0 { ms / run_ms } else { 0.0 };
    parts
        .map(|(name, what, count)| {
            let ms = count * per_sample;
            TimePart { name, what, share: share(ms), ms }
        })
        .into()
}

fn counted(counts: &runtime::Profile, blocks: u64, complete: bool) -> Counted {
    let mut of_accesses = AccessCounts::default();
    for access in &counts.accesses {
        of_accesses.add(&access.counts);
    }
    let about_lanes = || counts.instructions.values().filter_map(|i| Some((i.executions, i.lanes?)));
    let slots = about_lanes().map(|i| i.0).sum::<u64>() as f64 * f64::from(counts.lanes);
    Counted {
        blocks,
        complete,
        lanes: counts.lanes,
        warp_instructions: counts.blocks.iter().map(|b| b.executions * u64::from(b.instructions)).sum(),
        lanes_active: (slots > 0.0).then(|| about_lanes().map(|i| i.1).sum::<u64>() as f64 / slots),
        accesses: of_accesses.executions(),
        shape: Shape::new(&of_accesses),
    }
}

fn lines(
    listing: &[ListedLine],
    samples: &runtime::Samples,
    counts: &runtime::Profile,
    per_sample: f64,
    run_ms: f64,
) -> Vec<Line> {
    let mut lines: Vec<Line> = listing
        .iter()
        .map(|listed| {
            let of = |map: &BTreeMap<u64, u64>| map.get(&listed.pc).copied().unwrap_or(0) as f64 * per_sample;
            let helper_ms = of(&samples.helpers);
            let interpreter_ms = samples.interpreted.get(&listed.pc).copied().unwrap_or(0.0) * per_sample;
            let ms = of(&samples.compiled) + helper_ms + interpreter_ms;
            let known = counts.instructions.get(&listed.pc);
            let slots = known.map_or(0.0, |i| i.executions as f64 * f64::from(counts.lanes));
            Line {
                pc: listed.pc,
                words: listed.words.clone(),
                text: listed.text.clone(),
                ms,
                share: if run_ms > 0.0 { ms / run_ms } else { 0.0 },
                helper_ms,
                interpreter_ms,
                executions: known.map(|i| i.executions),
                lanes_active: known.and_then(|i| i.lanes).filter(|_| slots > 0.0).map(|l| l as f64 / slots),
            }
        })
        .collect();
    lines.sort_by_key(|line| line.pc);
    lines
}

/// Blocks in the order of the program; those that a front end makes of one instruction are one.
fn blocks(counts: &runtime::Profile, lines: &[Line]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for seen in &counts.blocks {
        let inside = |line: &&Line| (seen.pc..=seen.term_pc.max(seen.pc)).contains(&line.pc);
        let about_lanes: Vec<_> = lines
            .iter()
            .filter(inside)
            .filter_map(|line| Some((line.lanes_active?, line.executions?)))
            .collect();
        let executions: f64 = about_lanes.iter().map(|&(_, n)| n as f64).sum();
        let active: f64 = about_lanes.iter().map(|&(active, n)| active * n as f64).sum();
        let branch = seen.taken.map(|taken| Branch {
            taken: taken as f64 / seen.lanes.max(1) as f64,
            parted: seen.parted as f64 / seen.executions as f64,
        });
        let block = Block {
            pc: seen.pc,
            end_pc: seen.term_pc.max(seen.pc),
            executions: seen.executions,
            lanes_active: (executions > 0.0).then(|| active / executions),
            share: lines.iter().filter(inside).map(|line| line.share).sum(),
            branch,
        };
        match blocks.last_mut() {
            Some(last) if last.pc == block.pc => {
                last.end_pc = last.end_pc.max(block.end_pc);
                last.executions = last.executions.max(block.executions);
                last.branch = block.branch.or(last.branch);
                last.share = last.share.max(block.share);
            }
            _ => blocks.push(block),
        }
    }
    blocks
}
