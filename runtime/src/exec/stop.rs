//! What stops a launch from outside.

use crate::CancelToken;
use std::time::Instant;

/// What stops a launch besides its own token. Asked now and then while it runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stop<'a> {
    /// A token beside the launch's own.
    pub cancel: Option<&'a CancelToken>,
    /// When it stops at the latest.
    pub deadline: Option<Instant>,
}

impl Stop<'_> {
    /// Whether the launch is to stop.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.cancel.is_some_and(CancelToken::is_cancelled) || self.is_late()
    }

    /// Whether the deadline has passed.
    #[inline]
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}
