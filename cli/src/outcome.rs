//! The outcome of a run: which expectations held, the exit status, and both as text and JSON.

use std::fmt::{self, Write};

use anyhow::bail;
use serde_json::{Value, json};
use warpjit_runtime::{Fault, Report, Stats};

use crate::compare::{Difference, Tolerance, compare, show, show_json};
use crate::launch_file::{Expect, ExpectBuffer, ExpectFault, ExpectRegister, LaunchFile};

/// How a run ended; the number is the command's exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Every expectation held.
    Ok = 0,
    /// One did not.
    Mismatch = 1,
    /// The file, the program or the command line is bad.
    Error = 2,
    /// The guest faulted and no expectation names that fault.
    Fault = 3,
    /// Ctrl-C ended it.
    Interrupted = 130,
}

impl Status {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Mismatch => "mismatch",
            Status::Error => "error",
            Status::Fault => "fault",
            Status::Interrupted => "interrupted",
        }
    }
}

/// An expectation that did not hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Mismatch {
    /// A buffer has other content.
    Buffer {
        /// The buffer's name.
        buffer: String,
        /// Where the comparison starts.
        offset: u64,
        /// The first difference.
        difference: Difference,
    },
    /// A register has another value.
    Register {
        /// Its name.
        register: String,
        /// The lane, or the component of a vector register.
        lane: usize,
        /// What it holds.
        got: u64,
        /// What was expected.
        wanted: u64,
    },
    /// The run did not end as expected.
    Fault {
        /// What was expected.
        wanted: ExpectFault,
        /// What happened.
        got: Option<Fault>,
    },
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// The fault that ended it, expected or not.
    pub fault: Option<Fault>,
    /// Inputs of a graphics stage that the program reads and the file does not give, by their addresses. They are 0.
    pub missing: Vec<u32>,
    /// Expectations that did not hold.
    pub mismatches: Vec<Mismatch>,
    /// Counts and times.
    pub stats: Stats,
}

impl Outcome {
    /// Holds a report against the expectations of `file`; `read` gives so many bytes at
    /// an offset of a buffer.
    pub fn check(
        file: &LaunchFile,
        report: Report,
        read: impl Fn(usize, u64, usize) -> anyhow::Result<Vec<u8>>,
    ) -> anyhow::Result<Outcome> {
        let Report { fault, stats, registers, .. } = report;
        let names_fault = |e: &Expect| match (e, &fault) {
            (Expect::Fault(wanted), Some(got)) => wanted.kind.as_str() == got.kind.name(),
            _ => false,
        };
        if fault.is_some() && !file.expects.iter().any(names_fault) {
            return Ok(Outcome {
                status: Status::Fault,
                fault,
                missing: Vec::new(),
                mismatches: Vec::new(),
                stats,
            });
        }
        let mut mismatches = Vec::new();
        for expect in &file.expects {
            mismatches.extend(match expect {
                Expect::Buffer(wanted) => {
                    let name = &file.buffers[wanted.buffer].name;
                    check_buffer(wanted, name, &read(wanted.buffer, wanted.offset, wanted.data.len())?)
                }
                Expect::Register(wanted) => {
                    let Some(got) = registers.get(&wanted.name) else {
                        bail!(
                            "{}: expect.register: the program has no register {:?}",
                            file.path.display(),
                            wanted.name
                        )
                    };
                    check_register(wanted, got)
                }
                Expect::Fault(wanted) => check_fault(wanted, fault.as_ref()),
            });
        }
        let status = if mismatches.is_empty() { Status::Ok } else { Status::Mismatch };
        Ok(Outcome { status, fault, missing: Vec::new(), mismatches, stats })
    }

    /// What a run did that was stopped. Nothing is compared.
    pub fn stopped(report: Report) -> Outcome {
        Outcome {
            status: Status::Interrupted,
            fault: report.fault,
            missing: Vec::new(),
            mismatches: Vec::new(),
            stats: report.stats,
        }
    }

    /// The result as JSON; `verbose` adds the statistics of `-v`.
    pub fn to_json(&self, verbose: bool) -> Value {
        let mut object = json!({
            "status": self.status.as_str(),
            "fault": self.fault.as_ref().map(fault_json),
            "mismatches": self.mismatches.iter().map(Mismatch::to_json).collect::<Vec<_>>(),
            "stats": stats_json(&self.stats, verbose),
        });
        if verbose && !self.missing.is_empty() {
            object["missing_inputs"] = json!(self.missing);
        }
        object
    }

    /// The result as text, of one line or more.
    pub fn to_text(&self, verbose: bool) -> String {
        let mut text = String::new();
        for mismatch in &self.mismatches {
            let _ = writeln!(text, "mismatch: {mismatch}");
        }
        if let Some(fault) = &self.fault {
            let expected = if self.status == Status::Fault { "" } else { "expected " };
            let _ = writeln!(text, "{expected}{fault}");
        }
        if self.status == Status::Ok {
            let _ = write!(text, "ok: ");
        }
        let _ = writeln!(text, "{}", summary(&self.stats, verbose));
        if let Some(reason) = &self.stats.not_compiled {
            let _ = writeln!(text, "left to the interpreter: {reason}");
        }
        if verbose {
            for address in &self.missing {
                let _ = writeln!(text, "input {address:#x} is read and no [[input]] gives it: it is 0");
            }
            text += &statistics(&self.stats);
        }
        text
    }
}

fn check_buffer(wanted: &ExpectBuffer, name: &str, got: &[u8]) -> Option<Mismatch> {
    let tolerance = Tolerance { max_ulp: wanted.max_ulp, max_abs: wanted.max_abs };
    let difference = compare(got, &wanted.data, wanted.unit, tolerance)?;
    Some(Mismatch::Buffer { buffer: name.to_owned(), offset: wanted.offset, difference })
}

/// One value stands for all lanes; lanes beyond a list are not compared.
fn check_register(wanted: &ExpectRegister, got: &[u64]) -> Option<Mismatch> {
    let one = wanted.values.len() == 1;
    let pairs = got.iter().enumerate().filter_map(|(lane, &got)| {
        let wanted = wanted.values.get(if one { 0 } else { lane })?;
        Some((lane, got, *wanted))
    });
    let missing =
        wanted.values.iter().enumerate().skip(got.len()).map(|(lane, &wanted)| (lane, !wanted, wanted));
    let (lane, got, wanted_value) = pairs.chain(missing).find(|(_, got, wanted)| got != wanted)?;
    Some(Mismatch::Register { register: wanted.name.clone(), lane, got, wanted: wanted_value })
}

fn check_fault(wanted: &ExpectFault, got: Option<&Fault>) -> Option<Mismatch> {
    let holds = got.is_some_and(|got| {
        wanted.kind.as_str() == got.kind.name()
            && wanted.pc.is_none_or(|pc| pc == got.pc)
            && wanted.lane.is_none_or(|lane| lane == got.lane)
            && wanted.slot.is_none_or(|slot| Some(slot) == got.slot)
    });
    (!holds).then(|| Mismatch::Fault { wanted: wanted.clone(), got: got.cloned() })
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Buffer { buffer, offset, difference: d } => {
                let byte = offset + (d.index * d.unit.bytes()) as u64;
                write!(
                    f,
                    "buffer {buffer:?} element {} ({} at byte {byte:#x}): got {}, wanted {}; {} of {} differ",
                    d.index,
                    d.unit.as_str(),
                    show(d.got, d.unit),
                    show(d.wanted, d.unit),
                    d.count,
                    d.of
                )
            }
            Mismatch::Register { register, lane, got, wanted } => {
                write!(f, "register {register} lane {lane}: got {got:#x}, wanted {wanted:#x}")
            }
            Mismatch::Fault { wanted, got } => {
                write!(f, "fault: got ")?;
                match got {
                    None => write!(f, "none")?,
                    Some(got) => write!(f, "{} at pc {:#x} lane {}", got.kind.name(), got.pc, got.lane)?,
                }
                if let Some(slot) = got.as_ref().and_then(|got| got.slot) {
                    write!(f, " slot {slot}")?;
                }
                write!(f, ", wanted {}", wanted.kind.as_str())?;
                if let Some(pc) = wanted.pc {
                    write!(f, " at pc {pc:#x}")?;
                }
                if let Some(lane) = wanted.lane {
                    write!(f, " lane {lane}")?;
                }
                if let Some(slot) = wanted.slot {
                    write!(f, " slot {slot}")?;
                }
                Ok(())
            }
        }
    }
}

impl Mismatch {
    fn to_json(&self) -> Value {
        match self {
            Mismatch::Buffer { buffer, offset, difference: d } => json!({
                "buffer": buffer,
                "index": d.index,
                "offset": offset + (d.index * d.unit.bytes()) as u64,
                "type": d.unit.as_str(),
                "got": show_json(d.got, d.unit),
                "wanted": show_json(d.wanted, d.unit),
                "got_bits": d.got,
                "wanted_bits": d.wanted,
                "differing": d.count,
                "compared": d.of,
            }),
            Mismatch::Register { register, lane, got, wanted } => {
                json!({ "register": register, "lane": lane, "got": got, "wanted": wanted })
            }
            Mismatch::Fault { wanted, got } => json!({
                "fault": wanted.kind.as_str(),
                "pc": wanted.pc,
                "lane": wanted.lane,
                "got": got.as_ref().map(fault_json),
            }),
        }
    }
}

fn fault_json(fault: &Fault) -> Value {
    let mut object = json!({
        "kind": fault.kind.name(),
        "pc": fault.pc,
        "block": fault.block,
        "warp": fault.warp,
        "lane": fault.lane,
    });
    if let Some(address) = fault.address {
        object["address"] = json!(address);
        object["access"] = json!(if fault.store { "store" } else { "load" });
        object["space"] = json!(fault.space);
    }
    if let Some(slot) = fault.slot {
        object["slot"] = json!(slot);
    }
    if let Some(reason) = fault.reason {
        object["reason"] = json!(reason);
    }
    if !fault.bytes.is_empty() {
        let hex: String = fault.bytes.iter().map(|b| format!("{b:02x}")).collect();
        object["bytes"] = json!(hex);
    }
    object
}

fn stats_json(stats: &Stats, verbose: bool) -> Value {
    let mut object = json!({
        "blocks": stats.blocks,
        "warps": stats.warps,
        "compile_ms": stats.compile.as_secs_f64() * 1e3,
        "run_ms": stats.run.as_secs_f64() * 1e3,
    });
    if stats.counted {
        object["warp_instructions"] = json!(stats.warp_instructions);
        object["thread_instructions"] = json!(stats.thread_instructions);
    }
    if verbose {
        object["groups"] = json!(stats.groups);
        object["efficiency"] = json!(efficiency(stats));
        object["jit_share"] = json!(stats.jit_share);
        object["tiers"] = json!({ "interp": stats.tiers.interpreted, "jit": stats.tiers.compiled });
        object["cached_regions"] = json!(stats.cached_regions);
        object["not_compiled"] = json!(stats.not_compiled);
        object["compile_behind_ms"] = json!(stats.compile_behind.as_secs_f64() * 1e3);
        let traffic = stats.traffic.iter().map(|(space, (loaded, stored))| {
            ((*space).to_owned(), json!({ "loaded_bytes": loaded, "stored_bytes": stored }))
        });
        object["traffic"] = Value::Object(traffic.collect());
    }
    object
}

/// Active lanes per lane slot, of the instructions that ran.
fn efficiency(stats: &Stats) -> Option<f64> {
    (stats.lane_slots > 0).then(|| stats.thread_instructions as f64 / stats.lane_slots as f64)
}

/// Instructions are counted for `-v` only.
fn summary(stats: &Stats, counted: bool) -> String {
    let mut text = format!("{} blocks, {} warps", stats.blocks, stats.warps);
    if counted {
        let _ = write!(text, ", {} warp instructions", stats.warp_instructions);
    }
    let ms = |d: std::time::Duration| d.as_secs_f64() * 1e3;
    let _ = write!(text, " in {:.3} ms (compile {:.3} ms)", ms(stats.run), ms(stats.compile));
    text
}

/// The table of `-v`.
fn statistics(stats: &Stats) -> String {
    let mut text = String::from("instructions by group (warps):\n");
    let all: u64 = stats.groups.values().sum();
    for (group, count) in &stats.groups {
        let share = if all == 0 { 0.0 } else { *count as f64 * 100.0 / all as f64 };
        let _ = writeln!(text, "  {group:<10} {count:>14} {share:>5.1}%");
    }
    let _ = writeln!(text, "thread instructions: {}", stats.thread_instructions);
    if let Some(efficiency) = efficiency(stats) {
        let _ = writeln!(text, "divergence efficiency: {:.1}% of lanes active", efficiency * 100.0);
    }
    let shares = stats.tiers;
    let _ = writeln!(
        text,
        "tiers: {:.1}% interpreted, {:.1}% compiled code; compiled in the background: {:.3} ms; regions from the cache: {}",
        shares.interpreted * 100.0,
        shares.compiled * 100.0,
        stats.compile_behind.as_secs_f64() * 1e3,
        stats.cached_regions
    );
    text += "memory traffic (bytes):\n";
    for (space, (loaded, stored)) in &stats.traffic {
        let _ = writeln!(text, "  {space:<10} {loaded:>14} loaded {stored:>14} stored");
    }
    text
}
