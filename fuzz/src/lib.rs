//! Fuzzes everything that takes input: programs, containers, launch files, memory.
//!
//! ```sh
//! cargo run -p warpjit-fuzz -- --seconds 120        # fresh seeds, all targets
//! cargo run -p warpjit-fuzz -- --only words:0x1234  # one case again
//! ```
//!
//! A **target** makes a case from a seed and says what must hold for it. Most cases are guests: a program with its launch
//! ([`Guest`]). An **oracle** decides whether it holds. It runs the guest in the interpreter and in other ways and compares the
//! results, or it loads the guest and measures time and memory. A case that fails is a **finding**. A finding that is a guest is
//! minimised and saved as a launch file, which joins the corpus when the bug is fixed.
//!
//! Cases run in worker processes. The process that watches them also detects crashes and hangs, reports the case, and continues
//! with the next one.
//!
//! | module | what |
//! |---|---|
//! | [`targets`] | what is tried, a file each |
//! | [`guest`] | a program with its launch |
//! | [`oracle`] | compares the interpreter with the other ways to run a guest |
//! | [`minimize`] | makes a guest smaller while it still fails |
//! | [`save`] | writes findings as launch files |
//! | [`repeat`] | runs a saved launch file again |
//! | [`coverage`] | what a run has covered |
//! | [`worker`], [`watch`] | the processes |
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod coverage;
pub mod guest;
pub mod minimize;
pub mod oracle;
pub mod repeat;
pub mod save;
pub mod targets;
pub mod time_limit;
pub mod watch;
pub mod worker;

pub use guest::Guest;

use serde::{Deserialize, Serialize};

/// What does not hold of a case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// What it is, in a word: a finding of another kind is another finding.
    pub kind: String,
    /// What was seen.
    pub text: String,
    /// The case as a launch file and its files, by name, where it can be one.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Finding {
    /// One without files.
    pub fn new(kind: impl Into<String>, text: impl Into<String>) -> Finding {
        Finding { kind: kind.into(), text: text.into(), files: Vec::new() }
    }
}

/// The seed of the case with that number in a run.
pub fn case_seed(run: u64, number: u64) -> u64 {
    warpjit_tests::random::rng::SplitMix::new(run ^ number.wrapping_mul(0xd134_2543_de82_ef95)).bits()
}
