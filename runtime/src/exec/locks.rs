//! Locks on words of global memory, for all blocks of a launch: `ld lock` takes one, `st unlock` frees it.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard};

/// The words that are locked, in parts by address so that threads seldom wait for each other.
#[derive(Debug, Default)]
pub struct Locks {
    parts: [Mutex<HashSet<u64>>; 16],
}

impl Locks {
    /// The part that the word at `address` belongs to. Nothing panics while it is held.
    fn part(&self, address: u64) -> MutexGuard<'_, HashSet<u64>> {
        let part = &self.parts[(address / 4 % 16) as usize];
        part.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The words that are locked, in order.
    pub fn taken(&self) -> Vec<u64> {
        let mut all: Vec<u64> =
            (0..16).flat_map(|n| self.part(4 * n).iter().copied().collect::<Vec<_>>()).collect();
        all.sort_unstable();
        all
    }

    /// Tries to take the lock of a word; whether that worked.
    pub fn take(&self, address: u64) -> bool {
        self.part(address).insert(address & !3)
    }

    /// Runs `store` and frees the lock of a word: nobody has the lock before the store is done.
    pub fn free<T>(&self, address: u64, store: impl FnOnce() -> T) -> T {
        let mut part = self.part(address);
        let result = store();
        part.remove(&(address & !3));
        result
    }
}

#[cfg(test)]
mod tests {
    use super::Locks;

    #[test]
    fn a_lock_is_taken_once() {
        let locks = Locks::default();
        assert!(locks.take(0x1000));
        assert!(locks.take(0x1004));
        assert!(!locks.take(0x1000));
        assert_eq!(locks.free(0x1000, || 5), 5);
        assert!(locks.take(0x1000) && !locks.take(0x1004));
    }
}
