//! An ordered list of ranges of addresses that is cheap to copy: a copy shares all but the part that changes next.
//!
//! Accesses look ranges up without a lock, so a list never changes once it can be found: a change makes a new one. With thousands
//! of ranges a copy of all of them at each change would be slow.

use std::sync::Arc;

/// Most ranges of a part. A change copies one part, and a pointer for each of the others.
const MOST: usize = 128;

/// Something that stands for a range of addresses.
pub(super) trait Ranged: Clone {
    /// The first address.
    fn start(&self) -> u64;
    /// One past the last address.
    fn end(&self) -> u64;
}

/// Ranges that do not overlap, in order of their addresses.
#[derive(Debug, Clone)]
pub(super) struct Ranges<T> {
    /// None is empty.
    parts: Vec<Arc<Vec<T>>>,
}

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Ranges { parts: Vec::new() }
    }
}

impl<T: Ranged> Ranges<T> {
    /// The part in which a range that begins at an address is, or belongs.
    fn part_of(&self, start: u64) -> usize {
        self.parts.partition_point(|part| part[0].start() <= start).saturating_sub(1)
    }

    /// The range that an address is in.
    pub fn at(&self, address: u64) -> Option<&T> {
        let part = self.parts.get(self.part_of(address))?;
        let number = part.partition_point(|range| range.start() <= address).checked_sub(1)?;
        Some(&part[number]).filter(|range| address < range.end())
    }

    /// The first range that ends behind an address.
    pub fn from(&self, address: u64) -> Option<&T> {
        let first = self.part_of(address);
        self.parts.iter().skip(first).flat_map(|part| part.iter()).find(|range| range.end() > address)
    }

    /// All ranges, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.parts.iter().flat_map(|part| part.iter())
    }

    /// Adds a range that overlaps none; one that begins at the same address is replaced.
    pub fn insert(&mut self, new: T) {
        let number = self.part_of(new.start());
        let Some(part) = self.parts.get_mut(number) else {
            self.parts.push(Arc::new(vec![new]));
            return;
        };
        let part = Arc::make_mut(part);
        let at = part.partition_point(|range| range.start() < new.start());
        match part.get_mut(at).filter(|old| old.start() == new.start()) {
            Some(old) => *old = new,
            None => part.insert(at, new),
        }
        if part.len() > MOST {
            let rest = part.split_off(MOST / 2);
            self.parts.insert(number + 1, Arc::new(rest));
        }
    }

    /// Removes the range that begins at an address.
    pub fn remove(&mut self, start: u64) -> Option<T> {
        let number = self.part_of(start);
        let part = self.parts.get(number)?;
        let at = part.binary_search_by_key(&start, Ranged::start).ok()?;
        if part.len() == 1 {
            return self.parts.remove(number).first().cloned();
        }
        Some(Arc::make_mut(&mut self.parts[number]).remove(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Debug, PartialEq)]
    struct TestRange(u64, u64);

    impl Ranged for TestRange {
        fn start(&self) -> u64 {
            self.0
        }

        fn end(&self) -> u64 {
            self.1
        }
    }

    #[test]
    fn they_are_as_a_map_is() {
        let mut seed = 1u64;
        let mut random = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % limit
        };
        let (mut ranges, mut map) = (Ranges::default(), BTreeMap::new());
        for round in 0..20_000 {
            // First mostly more, then mostly less.
            let more = random(4) > u64::from(round > 10_000) * 2;
            let start = 10 * random(4000);
            if more {
                let new = TestRange(start, start + 1 + random(10));
                ranges.insert(new.clone());
                map.insert(start, new);
            } else {
                assert_eq!(ranges.remove(start), map.remove(&start));
            }
            let at = random(40_000);
            let found = map.range(..=at).next_back().map(|(_, range)| range).filter(|range| at < range.1);
            assert_eq!(ranges.at(at), found);
            assert_eq!(ranges.from(at), map.values().find(|range| range.1 > at));
        }
        assert!(ranges.iter().eq(map.values()));
    }

    #[test]
    fn a_change_copies_a_part() {
        let mut ranges = Ranges::default();
        (0..1000).for_each(|n| ranges.insert(TestRange(10 * n, 10 * n + 5)));
        let before = ranges.clone();
        ranges.insert(TestRange(5005, 5006));
        let same = before.parts.iter().filter(|part| ranges.parts.iter().any(|new| Arc::ptr_eq(part, new)));
        assert_eq!(same.count(), before.parts.len() - 1);
    }
}
