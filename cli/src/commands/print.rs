//! Writes what a command says.

use std::io::Write;

use anyhow::Context;

/// Writes to standard output; a closed pipe is an error like any other.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("writing to standard output")
}
