//! A build without the cache of code on disk (cargo feature `cache`).

use super::Jit;
use crate::cache::CacheConfig;

impl Jit {
    /// Settings name no cache in this build.
    pub(super) fn load_from(&mut self, _: &CacheConfig) {}

    /// Whether code was made that the cache does not have: there is none.
    pub fn is_unsaved(&self) -> bool {
        false
    }

    /// Does nothing.
    pub fn save(&self) {}
}
