//! Runs every launch file of the corpus in every tier and setting.
//!
//! A test is one launch file in all of its runs:
//!
//! - the interpreter, with one thread and with two;
//! - compiled code lane by lane, by chunks of one, two, four and eight groups of four lanes, and of the compiler's choice; some
//!   of these with two threads, too;
//! - compiled code for SSE4.1, with checked memory and counting, and in lock step;
//! - mixed tiers: three launches, one after the other, the first in the interpreter while the code is compiled.
//!
//! Cases of the packed families, which are many and small, run in the interpreter and in an eighth of the other settings, which depends
//! on the case's name; `WARPJIT_ALL_CASES=1` runs them in all. Each family has enough cases for each setting.
//!
//! Runs that count must all have the same counts. `WARPJIT_TIER=interp` or `jit` leaves the other tier out, for work on one of
//! them.

use std::process::ExitCode;
use std::sync::LazyLock;

use libtest_mimic::{Arguments, Failed, Trial};
use warpjit::outcome::Status;
use warpjit::session::{Session, load_program};
use warpjit_frontend::Chip;
use warpjit_frontend::tesla::{Target, assemble, decode_word};
use warpjit_runtime::{Config, Engine, HostLevel, Tier};
use warpjit_tests::corpus::{self, Case};
use warpjit_tests::needs;

/// Families of many small cases: one for each instruction form, descriptor or program of one compiler.
const PACKED: [&str; 10] = [
    "fermi-graphics",
    "gcn-asm",
    "gcn-graphics",
    "gcn-images",
    "gcn-radv",
    "gcn-radv-graphics",
    "nouveau-graphics",
    "tesla-graphics",
    "tesla-op",
    "vp1-op",
];

/// A setting to run a launch file, and its engine.
struct Setting {
    name: String,
    engine: Engine,
}

/// All of them; the tests share the engines.
static SETTINGS: LazyLock<Result<Vec<Setting>, String>> = LazyLock::new(settings);

fn settings() -> Result<Vec<Setting>, String> {
    let only = std::env::var("WARPJIT_TIER").ok();
    let base = Config::default();
    let interp = base.clone().tier(Tier::Interp);
    let jit = base.clone().tier(Tier::Jit).chunk_groups(Some(2)).threads(1);
    let mut list = Vec::new();
    for threads in [1, 2] {
        // What is counted here is what compiled code must count.
        list.push(("interpreter", interp.clone().threads(threads).count(true)));
        // Threads and widths have little to do with each other.
        let widths: &[_] = if threads == 1 {
            &[Some(0), Some(1), Some(2), Some(4), Some(8), None]
        } else {
            &[Some(2), None]
        };
        for &chunk_groups in widths {
            list.push(("compiled", jit.clone().threads(threads).chunk_groups(chunk_groups)));
        }
    }
    list.push(("compiled for AVX2", jit.clone().host(HostLevel::Avx2).chunk_groups(None)));
    list.push(("compiled for SSE4.1", jit.clone().host(HostLevel::Sse41)));
    list.push(("compiled with checks and counts", jit.clone().checked_memory(true).count(true)));
    let counting = jit.clone().count(true).chunk_groups(None);
    list.push(("compiled for AVX2 with counts", counting.clone().host(HostLevel::Avx2)));
    list.push(("compiled with counts", counting));
    list.push(("compiled in lock step", jit.clone().lockstep(true)));
    let mixed = base.tier(Tier::Auto).hot_after(Some(0));
    list.push(("mixed with counts", mixed.clone().count(true).threads(1)));
    list.push(("mixed", mixed));
    let mut settings = Vec::new();
    for (name, config) in list {
        // What would be the same code as another setting is left out.
        let is_same = config.host == HostLevel::Avx2 || config.chunk_groups == Some(8);
        if is_same && !warpjit_backend::host_has_wide_vectors() {
            continue;
        }
        if only.as_deref().is_some_and(|only| (only == "interp") != (config.tier == Tier::Interp)) {
            continue;
        }
        let chunk = config.chunk_groups.map(|n| format!(", chunks of {n}")).unwrap_or_default();
        let name = format!("{name}, {} threads{chunk}", config.threads);
        let engine = Engine::new(config).map_err(|e| format!("{name}: {e}"))?;
        settings.push(Setting { name, engine });
    }
    Ok(settings)
}

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let mut cases = corpus::tesla().expect("the corpus is part of the repository");
    cases.extend(corpus::vp1().expect("the corpus is part of the repository"));
    cases.extend(corpus::gcn().expect("the corpus is part of the repository"));
    cases.extend(corpus::fermi().expect("the corpus is part of the repository"));
    cases.extend(corpus::graphics().expect("the corpus is part of the repository"));
    let mut trials: Vec<Trial> = Vec::new();
    let packed: Vec<_> = cases.iter().filter(|c| c.name.starts_with("tesla-op/")).cloned().collect();
    trials.push(Trial::test("listings of tesla-op", move || check_listings(&packed)));
    for case in cases {
        trials.push(Trial::test(case.name.clone(), move || run_all_ways(&case)));
    }
    for part in ["tesla", "fermi"].into_iter().filter(|part| corpus::third_party(part).is_none()) {
        let name = format!("third-party/{part}");
        trials.push(needs::trial(&name, None::<()>, corpus::THIRD_PARTY, |()| ()));
    }
    libtest_mimic::run(&args, trials).exit_code()
}

/// What went wrong in which setting.
fn run_all_ways(case: &Case) -> Result<(), Failed> {
    let file = case.load()?;
    let program = load_program(&file).map_err(|e| format!("{e:#}"))?;
    let mut wrong = Vec::new();
    let mut counted = None;
    // VP1 runs one warp, whole.
    let alone = case.name.starts_with("vp1");
    let family = case.name.split('/').next().unwrap_or_default();
    let some = PACKED.contains(&family) && std::env::var_os("WARPJIT_ALL_CASES").is_none();
    let number: usize = case.name.bytes().map(usize::from).sum();
    for (n, setting) in SETTINGS.as_ref().map_err(Clone::clone)?.iter().enumerate() {
        if some && n > 0 && !(n + number).is_multiple_of(8) {
            continue;
        }
        let config = setting.engine.config();
        if alone && (config.threads == 2 || matches!(config.chunk_groups, Some(0 | 1 | 4))) {
            continue;
        }
        // Fragments of several primitives exchange the word of a pixel: what each finds is in the order of primitives with one thread only
        // (no GPU promises it).
        if config.thread_count() > 1 && case.name.starts_with("gcn-radv-graphics/writes/") {
            continue;
        }
        let mut run = || -> anyhow::Result<Option<String>> {
            let mut session = Session::with_program(&file, &setting.engine, program.clone())?;
            let mut report = session.run()?;
            if config.tier == Tier::Auto {
                for _ in 0..2 {
                    let outcome = session.check(report)?;
                    if outcome.status != Status::Ok {
                        return Ok(Some(outcome.to_text(false)));
                    }
                    setting.engine.wait_for_compiler();
                    session.restore()?;
                    report = session.run()?;
                }
            }
            if let (true, Some(reason)) = (alone, &report.stats.not_compiled) {
                return Ok(Some(format!("not compiled: {reason}\n")));
            }
            let outcome = session.check(report)?;
            // Where warps race for a lock, how often they try is chance; where they race to exchange a word, only threads of the host race.
            let chance =
                case.name.contains("lock") || config.thread_count() > 1 && case.name.contains("radv/atomics");
            if setting.engine.config().count && !chance && outcome.fault.is_none() {
                let stats = &outcome.stats;
                let counts = (
                    stats.warp_instructions,
                    stats.thread_instructions,
                    stats.lane_slots,
                    stats.traffic.clone(),
                );
                let wanted = counted.get_or_insert_with(|| counts.clone());
                if !stats.counted || counts != *wanted {
                    let text = format!(
                        "warp and thread instructions, lanes of them, bytes: {counts:?}, not {wanted:?}\n"
                    );
                    return Ok(Some(text));
                }
            }
            Ok((outcome.status != Status::Ok).then(|| outcome.to_text(false)))
        };
        match run() {
            Ok(None) => {}
            Ok(Some(text)) => wrong.push(format!("{}: {text}", setting.name)),
            Err(error) => wrong.push(format!("{}: {error:#}", setting.name)),
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("").into()) }
}

/// The first line of each packed launch file lists the instructions it is about: they must decode
/// to that text and assemble to those words.
fn check_listings(cases: &[Case]) -> Result<(), Failed> {
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in cases {
        let text = case.files.read(&case.launch)?;
        let text = String::from_utf8(text)?;
        let first = text.lines().next().unwrap_or_default();
        let Some((_, listing)) = first.split_once(": ") else { continue };
        let Some(Chip::Tesla(chip)) = case.load()?.program.chip else { return Err("no Tesla chip".into()) };
        let target = Target::compute(chip);
        // Some describe the kernel in words instead.
        for line in listing.split(" | ").filter(|l| l.get(8..10) == Some(": ")) {
            count += 1;
            if let Err(reason) = check_line(line, target) {
                wrong.push(format!("{}: {line}: {reason}", case.name));
            }
        }
    }
    if count < 800 {
        wrong.push(format!("only {count} lines were found"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// A line is `address: word [word] text`.
fn check_line(line: &str, target: Target) -> Result<(), String> {
    let word = |text: &str| u64::from_str_radix(text.trim(), 16).ok();
    let words = line.get(10..18).and_then(word).zip(line.get(19..27));
    let Some((low, high)) = words else { return Err("is not a line of a listing".into()) };
    let raw = low | word(high).unwrap_or(0) << 32;
    let pc = line.get(..8).and_then(word).unwrap_or(0) as u32;
    let wanted = line[27..].trim();
    let inst = decode_word(raw, pc, target).map_err(|e| e.to_string())?;
    if inst.to_string() != wanted {
        return Err(format!("is listed as {inst}"));
    }
    let long = if inst.len == 8 { "long " } else { "" };
    let assembly = assemble(&format!("{long}{wanted}\n"), target).map_err(|e| e.to_string())?;
    let canonical = &inst.canonical().to_le_bytes()[..usize::from(inst.len)];
    if assembly.code != canonical {
        return Err(format!("is assembled to {:02x?}", assembly.code));
    }
    Ok(())
}
