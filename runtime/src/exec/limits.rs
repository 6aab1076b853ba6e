//! The limits of time and memory under which a kernel is compiled, and the token that cancels it.

use crate::{Budget, CancelToken};
use warpjit_ir::meter::{Meter, Task, Usage};

/// Limits for compiling, and a token that cancels it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits<'a> {
    /// For all regions of a kernel together.
    pub budget: Budget,
    /// The token of the launch that waits for the code.
    pub cancel: Option<&'a CancelToken>,
}

impl Limits<'_> {
    /// A meter for work that begins now; `before` has been spent already.
    pub fn meter(&self, before: Usage) -> Meter {
        let meter = Meter::new(Task::Compiling, self.budget, before);
        match self.cancel {
            Some(cancel) => meter.cancelled_by(cancel.flag()),
            None => meter,
        }
    }
}
