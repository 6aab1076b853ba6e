//! How the embedder asks a launch to stop, so that it can be saved.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Asks launches that hold it ([`crate::Launch::save`]) to stop so that they can be saved. Clones share one state.
///
/// A launch stops when each of its warps is at the end of a block or region of code, and [`crate::Report::saved`] has its state.
/// It stays asked: continue with another token.
#[derive(Debug, Clone)]
pub struct SaveToken(Arc<AtomicU64>);

/// Nobody has asked.
const NEVER: u64 = u64::MAX;

impl Default for SaveToken {
    fn default() -> Self {
        SaveToken::new()
    }
}

impl SaveToken {
    /// A token that has not been used.
    pub fn new() -> Self {
        SaveToken(Arc::new(AtomicU64::new(NEVER)))
    }

    /// A token that asks by itself when warps have run so many blocks or regions of code, at least one. With one thread and
    /// without [`crate::Tier::Auto`], a launch stops at the same place each time.
    pub fn after(regions: u64) -> Self {
        SaveToken(Arc::new(AtomicU64::new(regions.clamp(1, NEVER - 1))))
    }

    /// Asks the launches that hold this token to stop soon. One that has ended meanwhile has nothing to save.
    pub fn save(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether launches have been asked to stop.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Counts a region.
    pub(crate) fn count(&self) {
        let less = |left: u64| (left != NEVER && left != 0).then(|| left - 1);
        if self.0.load(Ordering::Relaxed) != NEVER {
            // Fails if there is nothing to count.
            let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }
}
