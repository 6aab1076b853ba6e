//! The values that options take: names to choose from, numbers with bounds.

use std::ops::Range;

use clap::ValueEnum;

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

/// `--tier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TierName {
    /// Interpret.
    Interp,
    /// Compile code before it runs for the first time.
    Jit,
    /// Interpret first, and compile in the background what runs often.
    Auto,
}

impl TierName {
    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        ["interp", "jit", "auto"][self as usize]
    }
}

/// `--numerics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NumericsName {
    /// The bits that the chip gives, where these are known.
    Exact,
    /// Faster; the bounds of the error are in docs/numerics.md.
    Fast,
}

/// `--host`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HostName {
    /// All that the processor has.
    Native,
    /// No AVX-512.
    Avx2,
    /// Nothing newer than SSE4.1.
    #[value(name = "sse4.1")]
    Sse41,
}

impl HostName {
    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        ["native", "avx2", "sse4.1"][self as usize]
    }
}

impl HostName {
    /// The code generator's name for it.
    pub fn level(self) -> warpjit_backend::HostLevel {
        match self {
            HostName::Native => warpjit_backend::HostLevel::Native,
            HostName::Avx2 => warpjit_backend::HostLevel::Avx2,
            HostName::Sse41 => warpjit_backend::HostLevel::Sse41,
        }
    }
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
