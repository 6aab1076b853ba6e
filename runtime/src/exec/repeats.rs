//! Finds waiting warps at run time. If a warp comes back to a basic block in the state in which it was there before, it will do the same
//! again until another warp, another block or the host changes memory: it waits.
//!
//! Most waiting loops are found when they are compiled ([`super::tiers::Stepper::surely_waits`]). That needs a region that holds the whole
//! loop. A loop with a cross-lane operation, or with a branch on which all lanes must agree, is spread over several regions.
//!
//! Looks cost as much as a few steps. So the first is at the 64th step of a slice, later ones are farther and farther apart, and in the
//! next slice they begin later if this one's were in vain.

use warpjit_ir::Block;
use warpjit_ir::interp::Warp;

/// Steps within which a loop that is looked for comes back.
const LONGEST: u32 = 256;

/// When it is first looked in a time slice whether a warp waits. Soon where it has waited; later each time that looks were in vain.
#[derive(Debug, Clone, Copy)]
pub struct FirstLook(u32);

impl FirstLook {
    /// Of a warp that may wait.
    const SOONEST: u32 = 64;
    /// Of a warp that has not waited for long.
    const LATEST: u32 = 1024;

    /// The step of the time slice.
    pub fn step(self) -> u32 {
        self.0
    }

    /// Notes that a time slice has ended in which the warp did not wait.
    pub fn after(&mut self, slice: &Repeats) {
        if slice.steps >= self.0 {
            self.0 = (2 * self.0).min(Self::LATEST);
        }
    }
}

impl Default for FirstLook {
    fn default() -> FirstLook {
        FirstLook(FirstLook::SOONEST)
    }
}

/// What is known of the steps of a warp, or of warps that run together, in a time slice.
pub struct Repeats {
    steps: u32,
    /// The step at which it is looked next. Looks are twice as far apart each time: they cost as much as a few steps.
    next: u32,
    /// A block, and a digest of the warps when they were there.
    seen: Option<(Block, u64)>,
    /// The step at which that is given up.
    until: u32,
}

impl Repeats {
    /// Looks at the step `first` for the first time.
    pub fn new(first: u32) -> Repeats {
        Repeats { steps: 0, next: first, seen: None, until: 0 }
    }

    /// Counts a step that has led to a block. Whether the warps have been there and were the same. An error only ends a time slice early.
    #[inline]
    pub fn step<'w, W: Iterator<Item = &'w Warp>>(&mut self, at: Block, warps: impl FnOnce() -> W) -> bool {
        self.steps += 1;
        self.steps >= self.next && self.look(at, warps)
    }

    /// Counts a step if none is to be looked at there. Else nothing is counted: [`Repeats::step`] does.
    #[inline]
    pub fn pass(&mut self) -> bool {
        let may = self.steps + 1 < self.next;
        self.steps += u32::from(may);
        may
    }

    /// How many steps may pass before the next look.
    #[inline]
    pub fn room(&self) -> u32 {
        self.next.saturating_sub(self.steps + 1)
    }

    /// Counts steps that have passed without being looked at, as far as there is room for them.
    #[inline]
    pub fn passed(&mut self, steps: u32) {
        self.steps += steps.min(self.room());
    }

    #[cold]
    fn look<'w, W: Iterator<Item = &'w Warp>>(&mut self, at: Block, warps: impl FnOnce() -> W) -> bool {
        match self.seen {
            None => {
                self.seen = Some((at, digest(warps())));
                self.until = self.steps + LONGEST;
                return false;
            }
            Some((block, _)) if block != at && self.steps < self.until => return false,
            Some((block, before)) if block == at && digest(warps()) == before => return true,
            Some(_) => {}
        }
        self.seen = None;
        self.next = 2 * self.steps;
        false
    }
}

/// Of masks and all slots.
fn digest<'w>(warps: impl Iterator<Item = &'w Warp>) -> u64 {
    const LANES: usize = 8;
    let mut sums = [0_u64; LANES];
    for warp in warps {
        let (whole, rest) = warp.frame.words().as_chunks::<{ 2 * LANES }>();
        for words in whole {
            for (sum, pair) in sums.iter_mut().zip(words.as_chunks().0) {
                let [low, high] = *pair;
                *sum = sum.wrapping_mul(3).wrapping_add(u64::from(low) | u64::from(high) << 32);
            }
        }
        let rest = rest.iter().fold(0_u64, |sum, word| sum.wrapping_mul(3).wrapping_add((*word).into()));
        sums[0] = sums[0].wrapping_mul(5).wrapping_add(rest ^ warp.active.rotate_left(17) ^ warp.exited);
    }
    sums.into_iter().fold(0, |sum, own| sum.rotate_left(7).wrapping_mul(5) ^ own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter::once;
    use warpjit_ir::interp::Code;

    fn warp() -> Warp {
        let text = "function @f spmd lanes 32 {\n    slot s0: i32 tid = tid.x\nblock0 at 0x0 insts 1:\n    leave.exit -> block0\n}\n";
        let function = warpjit_ir::text::parse_function(text, &[]).unwrap_or_else(|error| panic!("{error}"));
        Warp::new(&Code::new(&function).unwrap(), u64::MAX, |_, _| 0)
    }

    #[test]
    fn the_same_again_is_found_and_another_state_is_not() {
        let mut warp = warp();
        let loop_of = |length: u32, changes: bool, warp: &mut Warp| {
            let mut repeats = Repeats::new(64);
            (0..5000).find(|&step| {
                if changes && step % length == 0 {
                    warp.frame.words_mut()[3] += 1;
                }
                repeats.step(Block(step % length), || once(&*warp))
            })
        };
        for length in [1, 2, 7, 200] {
            assert_eq!(loop_of(length, false, &mut warp), Some(63 + length), "{length}");
            assert_eq!(loop_of(length, true, &mut warp), None, "{length}");
        }
        // Longer than is looked for.
        assert_eq!(loop_of(300, false, &mut warp), None);
    }
}
