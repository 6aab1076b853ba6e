//! Drops instructions from a failing program as long as it still fails.

use std::time::{Duration, Instant};

use super::program::{Item, RandomProgram};

/// The smallest program found within `time` for which `fails` holds.
pub fn minimize(
    program: &RandomProgram,
    time: Duration,
    fails: &mut dyn FnMut(&RandomProgram) -> bool,
) -> RandomProgram {
    let start = Instant::now();
    let mut best = program.clone();
    let mut tries = vec![best.clone()];
    for (grid, block) in [([1, 1, 1], best.shape.block), ([1, 1, 1], [32, 1, 1]), ([1, 1, 1], [4, 1, 1])] {
        let mut smaller = best.clone();
        (smaller.shape.grid, smaller.shape.block) = (grid, block);
        tries.push(smaller);
    }
    for smaller in tries.drain(1..) {
        if fails(&smaller) {
            best = smaller;
        }
    }
    let mut step = (best.body.len() + best.functions.len()).next_power_of_two() / 2;
    while step > 0 {
        let mut changed = false;
        let mut at = 0;
        while at < best.body.len() + best.functions.len() {
            if start.elapsed() > time {
                return best;
            }
            let smaller = without(&best, at..at + step);
            if smaller.body.len() + smaller.functions.len() < best.body.len() + best.functions.len()
                && fails(&smaller)
            {
                best = smaller;
                changed = true;
            } else {
                at += step;
            }
        }
        if !changed || step > 1 {
            step /= 2;
        }
    }
    best
}

/// Labels stay: something may go there.
fn without(program: &RandomProgram, range: std::ops::Range<usize>) -> RandomProgram {
    let keep = |first: usize, items: &[Item]| {
        let kept = |(n, item): (usize, &Item)| {
            (matches!(item, Item::Label(_)) || !range.contains(&(first + n))).then_some(*item)
        };
        items.iter().enumerate().filter_map(kept).collect()
    };
    RandomProgram {
        body: keep(0, &program.body),
        functions: keep(program.body.len(), &program.functions),
        ..program.clone()
    }
}
