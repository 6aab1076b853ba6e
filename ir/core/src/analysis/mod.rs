//! Analyses of a function that the passes, the verifier and the code generators share.
//!
//! Each is computed from a function as it is now and not updated: after a change to the function, compute it again.

mod bits;
mod cfg;
mod classes;
mod dominators;
mod flushed;
mod incoming;
mod loops;
mod slot_bounds;
mod uses;

pub use bits::{Bits, KnownBits};
pub use cfg::Cfg;
pub(crate) use cfg::successors_by_hub;
pub use classes::{Classes, FloatClasses};
pub use dominators::Dominators;
pub use flushed::is_flushed;
pub use incoming::Incoming;
pub use loops::{Loop, Loops};
pub use slot_bounds::keep_proven_bounds;
pub use uses::Uses;
