//! The library behind the `warpjit` command, which runs GPU machine code on the CPU.
//!
//! It holds what tests and other tools share with the command: reading launch files, running them, comparing results, writing
//! pictures.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod compare;
pub mod launch_file;
pub mod outcome;
pub mod picture;
pub mod profile;
pub mod session;
pub mod stage;
pub mod suite;
