//! Random guest programs that both tiers must run alike.
//!
//! [`program`] makes the program of a seed. [`check`] runs it in the interpreter and as compiled code with several settings, and
//! reports how the results differ, with the smallest program that still shows it.

mod alu;
pub mod encodings;
mod generator;
mod memory;
mod minimize;
mod program;
pub mod rng;
mod run;
pub mod seeds;
pub mod tesla;

use std::fmt::Write;
use std::time::Duration;

use warpjit_runtime::Tier;

pub use generator::{Family, program};
pub use program::{Item, RandomProgram, Shape};
pub use run::{Effect, Loaded, Setting};

/// Longer than any program takes, on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// What a program showed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Compiled code ran in all runs that were to use it.
    pub compiled: bool,
    /// Share of instructions that compiled code ran, in the run where it was least.
    pub share: f64,
    /// The program faulted.
    pub faulted: bool,
    /// The program was no use: it ran for too long.
    pub hung: bool,
}

/// Runs the program of a seed in the interpreter and in `settings` other settings.
///
/// # Errors
///
/// A description of the first difference.
pub fn check(family: Family, seed: u64, settings: u64) -> Result<Seen, String> {
    let program = program(family, seed);
    debug_assert!(run::fits(&program.shape));
    let loaded = Loaded::new(&program, seed);
    let (wanted, _) = loaded.run(Setting::REFERENCE, TIME_LIMIT);
    if wanted.hangs {
        return Ok(Seen { hung: true, ..Seen::default() });
    }
    let mut least: f64 = 1.0;
    for n in 0..settings {
        let setting = Setting::rotate(seed.wrapping_mul(settings).wrapping_add(n));
        let (got, share) = loaded.run(setting, TIME_LIMIT);
        if setting.tier == Tier::Jit {
            least = least.min(share);
        }
        if let Some(difference) = wanted.difference(&got) {
            return Err(describe(family, seed, setting, &program, &difference));
        }
    }
    Ok(Seen { compiled: least > 0.0, share: least, faulted: wanted.fault.is_some(), hung: false })
}

fn describe(
    family: Family,
    seed: u64,
    setting: Setting,
    program: &RandomProgram,
    difference: &str,
) -> String {
    let patience = Duration::from_secs(2);
    let mut last = difference.to_owned();
    let mut fails = |program: &RandomProgram| {
        let loaded = Loaded::new(program, seed);
        let (wanted, _) = loaded.run(Setting::REFERENCE, patience);
        let same_kind = |d: &String| d.split(' ').next() == difference.split(' ').next();
        let found = if wanted.hangs {
            None
        } else {
            wanted.difference(&loaded.run(setting, patience).0).filter(same_kind)
        };
        last = found.clone().unwrap_or_else(|| last.clone());
        found.is_some()
    };
    let small = minimize::minimize(program, Duration::from_secs(60), &mut fails);
    let mut text = String::new();
    let _ = writeln!(text, "{family:?} seed {seed}: the interpreter, and {setting}:\n{difference}");
    let _ = writeln!(text, "minimised:\n{small}\n{last}");
    text
}
