//! Runs GPU machine code on the CPU: the library behind the `warpjit` command.
//!
//! The command itself is thin. What tests and other tools share with it is here: reading launch
//! files, running them, comparing results, writing pictures.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod compare;
pub mod launch_file;
pub mod outcome;
pub mod picture;
pub mod profile;
pub mod session;
pub mod suite;
