//! Compiled code and its faults: code memory, the registry that the signal handler reads, and the
//! trampoline that enters compiled code and comes back when it faults.
//!
//! The contract in short: [`CodeMemory`] holds code, never writable and executable at one address;
//! [`enter`] runs a piece of it; if an instruction of compiled code raises SIGSEGV, SIGBUS, SIGILL or
//! SIGFPE, the handler of [`sys`] recognises its pc by the `registry` and resumes behind the call in
//! [`enter`], which gives a [`RawFault`]. Only frames of compiled code are skipped: Rust functions that
//! compiled code calls have pcs of their own, and a fault there is the bug it would be without us.

mod code;
mod registry;
pub mod sys;

pub use code::{Code, CodeMemory};
pub use registry::lookup;
pub use sys::fiber::{Fiber, Suspender};
pub use sys::sampler;
pub use sys::{Call, FloatMode, RawFault, ensure, enter, enter_all, handle_signal, init};
pub(crate) use sys::{on_enough_stack, on_stack_for_compiler};

#[cfg(test)]
mod tests;
