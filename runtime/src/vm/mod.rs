//! Compiled code and its faults: code memory, the registry of code for the signal handler, and the trampoline that enters
//! compiled code.
//!
//! - [`CodeMemory`] holds code. No address is both writable and executable.
//! - [`enter`] runs a piece of code. If an instruction of it raises SIGSEGV, SIGBUS, SIGILL or SIGFPE, the handler in [`sys`]
//!   recognises the pc by the `registry` and resumes after the call in [`enter`], which returns a [`RawFault`].
//! - Only frames of compiled code are skipped that way. Rust functions that compiled code calls have pcs of their own, and a
//!   fault in them is treated as in any other program.

mod code;
mod registry;
pub mod sys;

pub use code::{Code, CodeMemory};
#[cfg(test)]
use registry::lookup;
pub use sys::fiber::{Fiber, Suspender};
pub(crate) use sys::guarded;
#[cfg(test)]
use sys::init;
pub(crate) use sys::mend_stores_with;
pub use sys::sampler;
pub use sys::{Call, FloatMode, RawFault, ensure, enter, enter_all, enter_within, handle_signal};
pub(crate) use sys::{on_enough_stack, on_new_stack_for_compiler, on_stack_for_compiler};

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether an engine has been told that the embedder installs the handlers ([`crate::Signals::Embedder`]).
static EMBEDDERS: AtomicBool = AtomicBool::new(false);

/// From now on, memory installs no handlers by itself.
pub(crate) fn leave_to_embedder() {
    EMBEDDERS.store(true, Ordering::Relaxed);
}

/// Installs the handlers because a memory needs them, unless that is the embedder's task.
pub(crate) fn ensure_for_memory() -> Result<(), crate::Error> {
    if EMBEDDERS.load(Ordering::Relaxed) { Ok(()) } else { ensure() }
}

#[cfg(test)]
mod tests;
