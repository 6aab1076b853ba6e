//! Launches guest programs: memory, scheduling, faults, tiers.

mod error;
mod memory;
pub mod vm;

pub use error::Error;
pub use memory::{Access, Denied, Memory, PAGE_BYTES, PAGE_READ, PAGE_WRITE, SPACE_BYTES};
