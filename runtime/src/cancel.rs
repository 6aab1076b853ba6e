//! How the embedder ends a launch early, or the loading of a program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Cancels a launch, or the loading of a program. Clones share one flag.
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    flag: Arc<AtomicBool>,
    /// What else cancels what has this token.
    more: Option<Arc<More>>,
}

/// See [`CancelToken::joined`].
#[derive(Debug)]
struct More {
    flag: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl CancelToken {
    /// A token that has not been used.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the launches that hold this token soon. If one is compiling, it stops at the latest when the current
    /// region is done.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// One that another token and a deadline cancel, too.
    pub(crate) fn joined(&self, other: &CancelToken, deadline: Option<Instant>) -> CancelToken {
        let more = Some(Arc::new(More { flag: other.flag.clone(), deadline }));
        CancelToken { flag: self.flag.clone(), more }
    }

    /// Makes it unused again, if nobody else has it; else one that is.
    pub(crate) fn renew(&mut self) {
        match Arc::get_mut(&mut self.flag) {
            Some(flag) => *flag.get_mut() = false,
            None => *self = CancelToken::new(),
        }
    }

    /// The flag that it sets.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.flag.clone()
    }

    /// Whether [`CancelToken::cancel`] has been called.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.more.as_ref().is_some_and(|more| more.is_due())
    }
}

impl More {
    fn is_due(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}
