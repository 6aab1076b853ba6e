//! The `warpjit` command.
fn main() {}
