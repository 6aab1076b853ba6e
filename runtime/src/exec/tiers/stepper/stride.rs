//! Runs a warp through one region after the other: most regions only lead to another one, and then the driver, which looks after
//! barriers, ends and time slices, has nothing to do between them. Comes in: how a region has ended. Goes out: where the warp
//! goes on, if that is certain and nothing else is to be done first.

use warpjit_ir::interp::Warp;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::{Block, Terminator};

use super::Stepper;
use crate::exec::jit::Compiled;
use crate::exec::repeats::Repeats;

/// How long a warp runs through regions.
pub struct Until<'a> {
    /// The count of its instructions at which its time slice ends.
    pub steps: u64,
    /// Counts the regions.
    pub repeats: &'a mut Repeats,
}

impl Until<'_> {
    /// Whether it goes on to the next region, which is counted then.
    #[inline]
    pub(super) fn goes_on(&mut self, steps: u64) -> bool {
        steps < self.steps && self.repeats.pass()
    }
}

impl Stepper<'_> {
    /// Where a warp goes on that has come out of a region, if no lane has ended, all agree, and the driver has nothing to do.
    #[inline]
    pub(super) fn onward(&self, code: &Compiled, exit: u64, warp: &Warp) -> Option<Block> {
        if !self.strides || self.context.exited != 0 {
            return None;
        }
        let block = match code.exit(exit)? {
            ExitKind::Enter(block) => return Some(block),
            ExitKind::Terminator(block) => block,
            ExitKind::Ended => return None,
        };
        match self.tiers.kernel.func.term(block) {
            Terminator::Jump(to) => Some(to.block),
            Terminator::Branch { taken, next, .. } => {
                match self.tiers.code.taking(block, warp.active, self.context.cond) {
                    0 => Some(next.block),
                    all if all == warp.active => Some(taken.block),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Counts the region that a warp has run and moves it on.
    #[inline]
    pub(super) fn go_to(&mut self, next: Block, warp: &mut Warp) {
        let before = warp.thread_steps;
        self.count(warp.block, None, warp);
        self.threads.1 += warp.thread_steps.wrapping_sub(before);
        self.last = warp.block;
        warp.block = next;
    }

    /// The version of the region at a block that ran last there, if it fits the warp and may run as it is.
    #[inline]
    pub(super) fn ready_at(&self, at: Block, warp: &Warp) -> Option<usize> {
        let entry = &self.entries[at.index()];
        let code = entry.versions.get(entry.last)?;
        let may = !entry.never && code.waits() == 0 && !self.surely_waits(at);
        (may && code.fits(warp)).then_some(entry.last)
    }
}
