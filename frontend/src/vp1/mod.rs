//! NVIDIA video processor 1.

pub mod front_end;
