//! Where compiled code hands a warp back to the driver: the exits of a lane region, and what the driver needs to go on from there.
//!
//! Lane regions have these exits, and the interpreter continues a warp from one. So both agree on what an exit means.

use crate::entities::{Block, Value};
use crate::function::Terminator;

/// An exit of a region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExitKind {
    /// All lanes' threads have ended.
    Ended,
    /// The block's body has run; the driver executes its terminator next.
    Terminator(Block),
    /// The driver enters this block next.
    Enter(Block),
}

/// The condition that the driver needs to execute a terminator.
pub fn terminator_cond(term: &Terminator) -> Option<Value> {
    match term {
        Terminator::Branch { cond, .. } => Some(*cond),
        Terminator::Leave { cond, .. } | Terminator::Join { cond, .. } => *cond,
        _ => None,
    }
}
