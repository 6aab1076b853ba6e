//! Reads from the environment which seeds a random test runs.

use std::ops::Range;

/// A number in the environment.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The one in `WARPJIT_SEED`, or as many from `start` on as `WARPJIT_RANDOM` says, else the usual ones.
pub fn seeds(start: u64, usual: u64) -> Range<u64> {
    match number("WARPJIT_SEED") {
        Some(seed) => seed..seed + 1,
        None => start..start + number("WARPJIT_RANDOM").unwrap_or(usual),
    }
}

/// Checks the programs of some seeds, each giving the share of it that compiled code ran, until too many fail; gives the sum.
///
/// # Panics
///
/// With all failures, if there are any.
pub fn all_agree(seeds: Range<u64>, check: impl Fn(u64) -> Result<f64, String>) -> f64 {
    let (mut failures, mut compiled) = (Vec::new(), 0.0);
    for seed in seeds {
        match check(seed) {
            Ok(share) => compiled += share,
            Err(text) => failures.push(format!("seed {seed}: {text}")),
        }
        if failures.len() > 2 {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    compiled
}
