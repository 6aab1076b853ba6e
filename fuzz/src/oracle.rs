//! Decides whether a guest ran right: the interpreter defines the result, and every other setting to run the guest must give the
//! same.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::time::Duration;

use warpjit_runtime::{Config, Engine, HostLevel, Program, Tier};
use warpjit_tests::random::rng::SplitMix;

use crate::guest::{Faults, Guest, Left, Rules};
use crate::{Finding, coverage::Coverage};

/// Longer than any case takes; a case that takes longer in one setting only is a finding.
pub const TIME_LIMIT: Duration = Duration::from_secs(20);

/// A setting to run a guest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Setting {
    /// The tier.
    pub tier: Tier,
    /// Groups of lanes in a chunk.
    pub groups: Option<u8>,
    /// Host threads.
    pub threads: usize,
    /// Host instructions.
    pub host: HostLevel,
    /// Checked accesses.
    pub checked: bool,
    /// Whether instructions are counted.
    pub count: bool,
    /// Lock step, as the guest wants it.
    pub lockstep: bool,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setting { tier, groups, threads, host, checked, count, lockstep } = self;
        let groups = groups.map_or("auto".into(), |n| n.to_string());
        write!(
            f,
            "{tier:?}, chunks of {groups}, {threads} threads, {host:?}, checked {checked}, count {count}, lockstep {lockstep}"
        )
    }
}

impl Setting {
    /// The interpreter.
    pub fn reference(lockstep: bool) -> Setting {
        Setting {
            tier: Tier::Interp,
            groups: None,
            threads: 1,
            host: HostLevel::Native,
            checked: true,
            count: true,
            lockstep,
        }
    }

    /// Any other for a guest of these rules.
    pub fn random(random: &mut SplitMix, rules: Rules) -> Setting {
        Setting {
            tier: if random.one_in(8) { Tier::Auto } else { Tier::Jit },
            groups: random.pick(&[
                Some(0),
                Some(0),
                Some(1),
                Some(2),
                Some(4),
                Some(8),
                Some(16),
                None,
                None,
                None,
            ]),
            threads: if random.one_in(6) { 2 } else { 1 },
            host: random.pick(&[HostLevel::Native, HostLevel::Avx2, HostLevel::Avx2, HostLevel::Sse41]),
            // Checked code tests the lanes of a chunk before one of them stores (docs/design.md, "Faults").
            checked: random.one_in(4) && !rules.after_fault,
            count: random.one_in(4),
            lockstep: rules.lockstep,
        }
    }

    fn config(self) -> Config {
        Config::default()
            .threads(self.threads)
            .tier(self.tier)
            .chunk_groups(self.groups)
            .checked_memory(self.checked)
            .lockstep(self.lockstep)
            .host(self.host)
            .count(self.count)
            // Code comes while the program runs, wherever it is then.
            .hot_after(Some(0))
    }
}

/// Engines, made where they are asked for first and kept.
#[derive(Default)]
pub struct Engines(HashMap<Setting, Engine>);

impl Engines {
    /// The engine of a setting; none where this host has not the instructions.
    pub fn of(&mut self, setting: Setting) -> Option<&Engine> {
        // Threads and what engines know of programs take memory.
        if self.0.len() > 64 {
            self.0.clear();
        }
        match self.0.entry(setting) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(place) => Some(place.insert(Engine::new(setting.config()).ok()?)),
        }
    }
}

/// How what two runs left differs.
pub fn difference(guest: &Guest, wanted: &Left, got: &Left) -> Option<(&'static str, String)> {
    let rules = guest.rules;
    let (a, b) = (&wanted.report, &got.report);
    if a.cancelled != b.cancelled {
        return Some(("hang", format!("ended by the time limit: {} and {}", a.cancelled, b.cancelled)));
    }
    if a.cancelled {
        return None;
    }
    let fault = |left: &Left| left.report.fault.as_ref().map_or("none".into(), |f| format!("{f} ({f:?})"));
    let alike = match (&a.fault, &b.fault, rules.faults) {
        (Some(_), Some(_), Faults::Any) => true,
        (Some(a), Some(b), Faults::OfInstruction) if a.pc != b.pc => true,
        (Some(a), Some(b), Faults::ByChunks) if a.pc < b.pc => a.lane > b.lane,
        (a, b, _) => a == b,
    };
    if !alike {
        return Some(("fault", format!("fault {}\n  and {}", fault(wanted), fault(got))));
    }
    // What both have counted is the same; of a launch that faults or races every run may execute other instructions.
    let counts = |left: &Left| {
        let stats = &left.report.stats;
        (stats.warp_instructions, stats.thread_instructions, stats.lane_slots)
    };
    if a.stats.counted && b.stats.counted && a.fault.is_none() && !rules.racy && counts(wanted) != counts(got)
    {
        let text = format!("{:?} and {:?}", counts(wanted), counts(got));
        return Some(("counts", format!("warp and thread instructions, lanes of them: {text}")));
    }
    // Where another instruction faulted, other lanes had done other things.
    if rules.racy || a.fault.is_some() && (!rules.after_fault || a.fault != b.fault) {
        return None;
    }
    for ((buffer, a), b) in guest.buffers.iter().zip(&wanted.buffers).zip(&got.buffers) {
        if let Some(at) = (0..a.len()).find(|&at| a[at] != b[at]) {
            let text = format!("memory at {:#x} ({} {at:#x})", buffer.address + at as u64, buffer.name);
            return Some(("memory", format!("{text}: {:#04x} and {:#04x}", a[at], b[at])));
        }
    }
    if a.fault.is_some() {
        return None;
    }
    if rules.shared
        && let Some(at) = (0..a.shared.len()).find(|&at| a.shared[at] != b.shared[at])
    {
        return Some((
            "shared",
            format!("shared memory at {at:#x}: {:#x} and {:#x}", a.shared[at], b.shared[at]),
        ));
    }
    if rules.registers {
        for (name, values) in a.registers.iter().filter(|(name, _)| is_guests(name)) {
            let other = &b.registers[name];
            if let Some(lane) = (0..values.len()).find(|&lane| values[lane] != other[lane]) {
                return Some((
                    "register",
                    format!("{name} in lane {lane}: {:#x} and {:#x}", values[lane], other[lane]),
                ));
            }
        }
    }
    None
}

/// Whether a register is the guest's own; others carry values from block to block.
fn is_guests(name: &str) -> bool {
    let numbered = name
        .strip_prefix(['s', 'v', 'r', 'm', 'a', 'c', 'x', 'l', 'p'])
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
    numbered || ["vcc_lo", "vcc_hi", "vx", "va"].contains(&name)
}

/// Runs a guest in the interpreter.
///
/// # Errors
///
/// Why it cannot be run: such a guest is no case.
pub fn reference(guest: &Guest, engines: &mut Engines) -> Result<(Program, Left), String> {
    let program = guest.load().map_err(|error| error.to_string())?;
    let engine = engines.of(Setting::reference(guest.rules.lockstep)).ok_or("there is no interpreter")?;
    let left = guest.run(&program, engine, TIME_LIMIT).map_err(|error| error.to_string())?;
    Ok((program, left))
}

/// What a guest does in `setting` that it does not in the interpreter.
pub fn differs(guest: &Guest, setting: Setting, engines: &mut Engines) -> Option<(&'static str, String)> {
    let (program, wanted) = reference(guest, engines).ok()?;
    let got = guest.run(&program, engines.of(setting)?, TIME_LIMIT);
    match got {
        Ok(got) => difference(guest, &wanted, &got),
        Err(error) => Some(("refused", format!("runs in the interpreter, else: {error}"))),
    }
}

/// Runs a guest in the interpreter and in some other settings.
///
/// # Errors
///
/// What differs, with the guest made small, as a launch file.
pub fn hold(
    guest: &Guest,
    random: &mut SplitMix,
    engines: &mut Engines,
    coverage: &mut Coverage,
) -> Result<(), Box<Finding>> {
    let (program, wanted) = match reference(guest, engines) {
        Ok(run) => run,
        Err(reason) => {
            coverage.refused(guest.chip.isa(), &reason);
            return Ok(());
        }
    };
    coverage.guest(guest, &wanted);
    let settings: u64 = if wanted.report.cancelled { 0 } else { 1 + random.below(3) };
    for _ in 0..settings {
        let setting = Setting::random(random, guest.rules);
        let Some(engine) = engines.of(setting) else { continue };
        let found = match guest.run(&program, engine, TIME_LIMIT) {
            Ok(got) => {
                coverage.setting(setting, &got);
                difference(guest, &wanted, &got)
            }
            Err(error) => Some(("refused", format!("runs in the interpreter, else: {error}"))),
        };
        let Some((kind, text)) = found else { continue };
        let small = crate::minimize::minimize(guest, Duration::from_secs(40), |guest| {
            differs(guest, setting, engines).is_some_and(|(of, _)| of == kind)
        });
        let last = differs(&small, setting, engines).map_or_else(|| text.clone(), |(_, text)| text);
        let text = format!("{setting}\n{text}\nmade smaller: {last}\n{}", small.listing());
        let left = reference(&small, engines).ok().map(|(_, left)| left);
        let files = crate::save::files(&small, left.as_ref(), &text);
        return Err(Box::new(Finding { kind: kind.into(), text, files }));
    }
    Ok(())
}
