//! The barriers of a block, by the rules of docs/hardware/divergence.md.
//!
//! A barrier counts the warps that arrive. When as many have arrived as required, it opens: a new *generation* begins, with no
//! arrivals. A warp remembers the generation in which it arrived. It may wait in the same instruction or in a later one, and
//! waits until that generation is over. A warp that waits without having arrived waits for the end of the generation after the
//! last one it has seen.

use warpjit_ir::BarrierSpec;

/// A barrier's state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Barrier {
    /// How often it has opened.
    pub generation: u64,
    /// Arrivals in this generation, by warp: one that ends takes its own with it.
    pub arrivals: Vec<u32>,
    /// Arrivals required by the last barrier instruction; `None`: all living warps.
    pub required: Option<u32>,
    /// By warp: the last generation it arrived in or saw the end of.
    pub seen: Vec<u64>,
}

/// More generations than any barrier has, and more arrivals: sums of them do not overflow.
const MOST_GENERATIONS: u64 = 1 << 56;
const MOST_ARRIVALS: u64 = 1 << 24;

impl Barrier {
    /// Whether it can be one of a block of `warps` warps.
    pub fn is_sound(&self, warps: usize) -> bool {
        self.arrivals.len() == warps
            && self.seen.len() == warps
            && self.generation <= MOST_GENERATIONS
            && self.arrivals.iter().map(|&count| u64::from(count)).sum::<u64>() <= MOST_ARRIVALS
            && self.seen.iter().all(|&seen| seen <= self.generation)
    }

    fn open_if_full(&mut self, living: u32) {
        let arrived: u32 = self.arrivals.iter().sum();
        if arrived > 0 && arrived >= self.required.unwrap_or(living) {
            self.generation += 1;
            self.arrivals.fill(0);
        }
    }
}

/// All barriers of a block.
#[derive(Debug, Clone)]
pub struct Barriers {
    list: Vec<Barrier>,
    warps: usize,
}

impl Barriers {
    /// Barriers of a block of `warps` warps; nobody has arrived anywhere.
    pub fn new(warps: usize) -> Self {
        Barriers { list: Vec::new(), warps }
    }

    /// The barriers that have been used, by number.
    pub fn list(&self) -> &[Barrier] {
        &self.list
    }

    /// Replaces their state; each must be sound for the block.
    pub fn set(&mut self, list: &[Barrier]) {
        self.list = list.to_vec();
    }

    /// Forgets all arrivals.
    pub fn reset(&mut self) {
        for barrier in &mut self.list {
            barrier.generation = 0;
            barrier.arrivals.fill(0);
            barrier.seen.fill(0);
        }
    }

    fn get(&mut self, index: u8) -> &mut Barrier {
        let index = usize::from(index);
        if self.list.len() <= index {
            let arrivals = vec![0; self.warps];
            let seen = vec![0; self.warps];
            self.list.resize(index + 1, Barrier { generation: 0, arrivals, required: None, seen });
        }
        &mut self.list[index]
    }

    /// Executes a barrier instruction of a warp; `living` warps of the block (itself included) have not ended. Returns
    /// whether the warp must wait, until [`Barriers::passes`] says otherwise.
    pub fn execute(&mut self, warp: usize, spec: &BarrierSpec, living: u32) -> bool {
        let barrier = self.get(spec.index);
        barrier.required = spec.warps;
        if spec.arrive {
            barrier.seen[warp] = barrier.generation;
            barrier.arrivals[warp] += 1;
        }
        barrier.open_if_full(living);
        spec.wait && !self.passes(warp, spec.index)
    }

    /// Whether a warp that waits at a barrier may go on. If so, it counts as having passed.
    pub fn passes(&mut self, warp: usize, index: u8) -> bool {
        let barrier = self.get(index);
        let open = barrier.generation > barrier.seen[warp];
        if open {
            barrier.seen[warp] = barrier.generation;
        }
        open
    }

    /// Whether nobody has arrived at a barrier and all of these warps have seen its last generation end: then it is as
    /// before if all warps arrive and pass.
    pub fn is_even(&self, index: u8, mut warps: impl Iterator<Item = usize>) -> bool {
        self.list.get(usize::from(index)).is_none_or(|barrier| {
            barrier.arrivals.iter().all(|&count| count == 0)
                && warps.all(|warp| barrier.seen.get(warp) == Some(&barrier.generation))
        })
    }

    /// A warp has ended; `living` others live.
    pub fn warp_ended(&mut self, warp: usize, living: u32) {
        for barrier in &mut self.list {
            barrier.arrivals[warp] = 0;
            barrier.open_if_full(living);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(arrive: bool, wait: bool, warps: Option<u32>) -> BarrierSpec {
        BarrierSpec { index: 3, arrive, wait, warps, from: None }
    }

    #[test]
    fn all_warps_meet() {
        let mut barriers = Barriers::new(3);
        let sync = bar(true, true, None);
        for _ in 0..3 {
            assert!(barriers.execute(0, &sync, 3));
            assert!(barriers.execute(2, &sync, 3));
            assert!(!barriers.passes(0, 3));
            assert!(!barriers.execute(1, &sync, 3));
            assert!(barriers.passes(0, 3) && barriers.passes(2, 3));
        }
    }

    #[test]
    fn a_fast_warp_does_not_pass_twice() {
        let mut barriers = Barriers::new(2);
        let sync = bar(true, true, None);
        assert!(barriers.execute(0, &sync, 2));
        assert!(!barriers.execute(1, &sync, 2));
        // Warp 1 comes round again before warp 0 has gone on.
        assert!(barriers.execute(1, &sync, 2));
        assert!(barriers.passes(0, 3));
        assert!(!barriers.passes(1, 3));
        assert!(!barriers.execute(0, &sync, 2));
        assert!(barriers.passes(1, 3));
    }

    #[test]
    fn ended_warps_do_not_count() {
        let mut barriers = Barriers::new(3);
        let sync = bar(true, true, None);
        assert!(barriers.execute(0, &sync, 3));
        assert!(barriers.execute(1, &sync, 3));
        barriers.warp_ended(2, 2);
        assert!(barriers.passes(0, 3) && barriers.passes(1, 3));
        // An arrival goes with its warp.
        assert!(!barriers.execute(1, &bar(true, false, Some(2)), 2));
        barriers.warp_ended(1, 1);
        assert!(barriers.execute(0, &bar(true, true, Some(2)), 1));
    }

    #[test]
    fn counts_name_how_many() {
        let mut barriers = Barriers::new(4);
        let two = bar(true, true, Some(2));
        assert!(barriers.execute(0, &two, 4));
        assert!(!barriers.execute(1, &two, 4));
        assert!(barriers.passes(0, 3));
        assert!(barriers.execute(0, &bar(true, true, Some(9)), 4), "more than there are: nobody passes");
    }

    #[test]
    fn arrive_and_wait_apart() {
        // Producer arrives, consumer meets it.
        let mut barriers = Barriers::new(2);
        assert!(!barriers.execute(0, &bar(true, false, None), 2));
        assert!(!barriers.execute(1, &bar(true, true, None), 2));
        // Split: both arrive, both wait later.
        assert!(!barriers.execute(0, &bar(true, false, None), 2));
        assert!(barriers.execute(0, &bar(false, true, None), 2));
        assert!(!barriers.execute(1, &bar(true, false, None), 2));
        assert!(barriers.passes(0, 3));
        assert!(!barriers.execute(1, &bar(false, true, None), 2));
        // Waiting alone opens nothing.
        assert!(barriers.execute(0, &bar(false, true, None), 2));
        assert!(barriers.execute(1, &bar(false, true, None), 2));
        assert!(!barriers.passes(0, 3) && !barriers.passes(1, 3));
    }
}
