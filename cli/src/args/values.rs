//! The values that options take: names to choose from, numbers with bounds.

use std::ops::Range;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use warpjit_runtime::{HostLevel, Tier};

/// `--form`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// The program as read from the binary: one thread's view, before any optimisation.
    Spmd,
    /// The same parts with branches turned into masks of active lanes, as the code generator gets them.
    Mask,
    /// The parts that are compiled one by one, optimised.
    Regions,
    /// The input of the code generator Cranelift (with --launched only for --chunk 0, 1, 2 and 4).
    Clif,
    /// The host's machine code.
    Host,
}

/// `--numerics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NumericsName {
    /// The bits that the chip gives, where these are known.
    Exact,
    /// Faster; the bounds of the error are in docs/numerics.md.
    Fast,
}

/// `--tier`.
pub(super) fn tiers() -> impl TypedValueParser<Value = Tier> {
    names_of(Tier::ALL, Tier::name, Tier::summary)
}

/// `--host`.
pub(super) fn host_levels() -> impl TypedValueParser<Value = HostLevel> {
    names_of(HostLevel::ALL, HostLevel::name, HostLevel::summary)
}

/// Takes the names of some values, which the help lists with what it says of each.
fn names_of<T: Copy + Send + Sync + 'static>(
    all: [T; 3],
    name: fn(T) -> &'static str,
    summary: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let possible = all.map(|value| PossibleValue::new(name(value)).help(summary(value)));
    PossibleValuesParser::new(possible).try_map(move |given| {
        all.into_iter().find(|&value| name(value) == given).ok_or("is none of the possible values")
    })
}

pub(super) fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "must be a number of seconds from 0 to 86400".to_owned())
}

pub(super) fn parse_blocks(text: &str) -> Result<Range<u64>, String> {
    let range = text.split_once("..").and_then(|(a, b)| Some(a.trim().parse().ok()?..b.trim().parse().ok()?));
    range.filter(|r| r.start < r.end).ok_or_else(|| "must be A..B with A below B, such as 0..16".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_a_range() {
        assert_eq!(parse_blocks("3..5"), Ok(3..5));
        for bad in ["3", "5..3", "..", "a..b", "3..3"] {
            assert!(parse_blocks(bad).is_err(), "{bad}");
        }
    }
}
