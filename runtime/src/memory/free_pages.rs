//! Finds addresses for buffers whose address the runtime chooses: the lowest free range that is long enough.
//!
//! A search through the list of buffers would take time in proportion to their number. Instead, one bit for each page of the
//! 32-bit space says whether the page is taken. For each span of pages three numbers are kept: free pages at its start, at its
//! end, and in its longest free run. So a search looks at a bounded number of spans.

/// Pages of a span, for which the numbers are kept.
const SPAN: u64 = 1024;
const WORDS: usize = (SPAN / 64) as usize;

/// Free pages of a span: at its start, at its end, and in its longest run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Free {
    first: u16,
    last: u16,
    most: u16,
}

/// Which pages are taken.
#[derive(Debug)]
pub(super) struct FreePages {
    /// A bit for each page, set where it is taken.
    taken: Vec<u64>,
    spans: Vec<Free>,
}

impl FreePages {
    /// `pages` free pages, a multiple of [`SPAN`].
    pub(super) fn new(pages: u64) -> FreePages {
        let all = Free { first: SPAN as u16, last: SPAN as u16, most: SPAN as u16 };
        FreePages { taken: vec![0; (pages / 64) as usize], spans: vec![all; (pages / SPAN) as usize] }
    }

    fn pages(&self) -> u64 {
        64 * self.taken.len() as u64
    }

    /// Marks the pages in `first..end` as taken or free. Ignores pages that do not exist.
    pub(super) fn set(&mut self, first: u64, end: u64, taken: bool) {
        let end = end.min(self.pages());
        let mut page = first;
        while page < end {
            let next = (page / 64 + 1) * 64;
            let bits = u64::MAX << (page % 64) & u64::MAX >> (next - next.min(end));
            let word = &mut self.taken[(page / 64) as usize];
            *word = if taken { *word | bits } else { *word & !bits };
            page = next;
        }
        if first < end {
            for span in first / SPAN..=(end - 1) / SPAN {
                self.spans[span as usize] = self.free_of(span);
            }
        }
    }

    /// Whether a page is taken.
    #[cfg(test)]
    fn is_taken(&self, page: u64) -> bool {
        self.taken[(page / 64) as usize] >> (page % 64) & 1 != 0
    }

    /// The runs of free pages in a span, as first page and end.
    fn runs(&self, span: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let end = (span + 1) * SPAN;
        let mut page = span * SPAN;
        std::iter::from_fn(move || {
            page = self.next(page, end, false);
            let first = page;
            page = self.next(page, end, true);
            (first < end).then_some((first, page))
        })
    }

    /// The next page from `page` on that is taken or free, or `end`.
    fn next(&self, mut page: u64, end: u64, taken: bool) -> u64 {
        while page < end {
            let word = self.taken[(page / 64) as usize];
            let bits = if taken { word } else { !word } >> (page % 64);
            if bits != 0 {
                return page + u64::from(bits.trailing_zeros());
            }
            page = (page / 64 + 1) * 64;
        }
        end
    }

    fn free_of(&self, span: u64) -> Free {
        debug_assert_eq!(WORDS as u64 * 64, SPAN);
        let (start, end) = (span * SPAN, (span + 1) * SPAN);
        let mut free = Free { first: 0, last: 0, most: 0 };
        for (from, to) in self.runs(span) {
            let count = (to - from) as u16;
            free.most = free.most.max(count);
            if from == start {
                free.first = count;
            }
            if to == end {
                free.last = count;
            }
        }
        free
    }

    /// The first page, a multiple of `align`, from which on `count` pages are free.
    pub(super) fn find(&self, count: u64, align: u64) -> Option<u64> {
        let fits = |first: u64, end: u64| {
            let first = first.next_multiple_of(align);
            (first + count <= end).then_some(first)
        };
        // Start of a free run that continues in the next span.
        let mut open = 0;
        for (span, free) in (0..).zip(&self.spans) {
            let (start, end) = (span * SPAN, (span + 1) * SPAN);
            if u64::from(free.most) == SPAN {
                if let Some(found) = fits(open, end) {
                    return Some(found);
                }
                continue;
            }
            if let Some(found) = fits(open, start + u64::from(free.first)) {
                return Some(found);
            }
            if u64::from(free.most) >= count
                && let Some(found) = self.runs(span).find_map(|(from, to)| fits(from, to))
            {
                return Some(found);
            }
            open = end - u64::from(free.last);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Page by page.
    fn find_plainly(free: &FreePages, count: u64, align: u64) -> Option<u64> {
        (0..free.pages()).step_by(align as usize).find(|&first| {
            first + count <= free.pages() && (first..first + count).all(|page| !free.is_taken(page))
        })
    }

    #[test]
    fn the_first_room_is_found() {
        let mut seed = 1u64;
        let mut random = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % limit
        };
        for _ in 0..20 {
            let mut free = FreePages::new(4 * SPAN);
            assert_eq!(free.find(4 * SPAN, 1), Some(0));
            assert_eq!(free.find(4 * SPAN + 1, 1), None);
            for round in 0..200 {
                let most = if round % 5 == 0 { 2000 } else { 40 };
                let (first, count) = (random(free.pages()), 1 + random(most));
                free.set(first, first + count, random(3) != 0);
                let (count, align) = (1 + random(most), 1 << random(6));
                assert_eq!(free.find(count, align), find_plainly(&free, count, align), "{count} {align}");
            }
        }
    }
}
