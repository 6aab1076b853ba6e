//! What a space has beside plain memory: special ranges, watches, a pager.

use super::ranges::Ranged;
use super::space::Space;
use super::special::{self, OfPager, Watched, WriteWatch};
use std::sync::Arc;

impl Space {
    /// The special range that an address is in.
    pub fn special_at(&self, address: u64) -> Option<&special::SpecialRange> {
        self.outside().special.at(address)
    }

    /// The first special range that ends behind an address.
    pub fn special_from(&self, address: u64) -> Option<&special::SpecialRange> {
        self.outside().special.from(address)
    }

    /// Adds a special range.
    pub fn add_special(&self, special: special::SpecialRange) {
        let mut outside = self.outside().clone();
        outside.special.insert(special);
        self.change(outside);
    }

    /// The aliases of memory in a range: where they begin and end.
    pub fn aliases_of(&self, first: u64, last: u64) -> Vec<(u64, u64)> {
        let all = self.outside().special.iter().filter(|special| special.shows(first, last));
        all.map(|special| (special.start, special.end())).collect()
    }

    /// Removes the special range that begins at an address.
    pub fn remove_special(&self, start: u64) {
        let mut outside = self.outside().clone();
        outside.special.remove(start);
        self.change(outside);
    }

    /// Who watches a page.
    pub fn watched_at(&self, page: u64) -> Option<&Watched> {
        self.outside().watched.at(page)
    }

    /// Replaces what watches a range, by nothing if there is no watch.
    pub fn watch(&self, first: u64, last: u64, watch: Option<Arc<dyn WriteWatch>>) {
        let overlaps = |old: &Watched| old.start < last;
        if watch.is_none() && !self.outside().watched.from(first).is_some_and(overlaps) {
            return;
        }
        let mut outside = self.outside().clone();
        while let Some(old) = outside.watched.from(first).filter(|old| overlaps(old)).cloned() {
            outside.watched.remove(old.start);
            for (start, end) in [(old.start, old.end.min(first)), (old.start.max(last), old.end)] {
                if start < end {
                    outside.watched.insert(Watched { start, end, watch: old.watch.clone() });
                }
            }
        }
        if let Some(watch) = watch {
            outside.watched.insert(Watched { start: first, end: last, watch });
        }
        self.change(outside);
    }

    /// How many ranges are watched.
    #[cfg(test)]
    pub fn watched_count(&self) -> usize {
        self.outside().watched.iter().count()
    }

    /// The pager.
    pub fn pager(&self) -> Option<&OfPager> {
        self.outside().pager.as_ref()
    }

    /// Replaces the pager.
    pub fn set_pager(&self, pager: Option<OfPager>) {
        let mut outside = self.outside().clone();
        outside.pager = pager;
        self.change(outside);
    }
}
