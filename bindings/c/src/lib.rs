//! The C library of warpjit. `include/warpjit.h` is generated from this crate (`tests/header.rs`); its comments are the ones here, so they
//! are written for C programmers. The rules that all calls share stand in `header.txt`, the header's first comment.
//!
//! - Every exported function runs inside of [`entry!`](entry), which turns errors and panics into a status. Nothing unwinds into C.
//! - What C holds are not pointers but numbers of entries in a table (`handle`). So handles that were freed, or that are of another
//!   kind, are found and refused.
//! - Callbacks come in as function pointers with a user pointer (`callback`). Their ABI is `C-unwind`, so that a callback which panics
//!   ends the call with an error.
//!
//! # Safety
//!
//! All exported functions are `unsafe` for the same reasons, so they do not repeat them: pointers are null, where that is allowed, or valid
//! for the access that the function's comment names; texts end with a zero byte; function pointers have the type that is declared, and
//! may be called from any thread with the user pointer that came with them.
#![warn(missing_docs)]
#![allow(non_camel_case_types, reason = "the names are those of the header")]
#![allow(clippy::missing_safety_doc, reason = "one text for all, above and in the header")]

pub mod batch;
mod callback;
pub mod code;
pub mod config;
pub mod device;
pub mod engine;
mod handle;
pub mod launch;
pub mod memory;
mod pointers;
pub mod prepared;
pub mod program;
pub mod program_cache;
pub mod queue;
pub mod report;
pub mod saved;
pub mod stage;
pub mod status;
pub mod text;
pub mod textures;
pub mod version;
#[cfg(feature = "vp1")]
pub mod vp1;
pub mod words;

pub use handle::warpjit_free;
