//! Runs a warp through one region after the other: most regions only lead to another one, and then the driver, which looks after
//! barriers, ends and time slices, has nothing to do between them. Comes in: how a region has ended. Goes out: where the warp
//! goes on, if that is certain and nothing else is to be done first.

use warpjit_ir::interp::Warp;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::{Block, Terminator};

use super::Stepper;
use crate::exec::jit::{Chain, Compiled};
use crate::exec::path_cache::PathCache;
use crate::exec::repeats::Repeats;
use crate::vm::sampler::{self, Activity};

/// Instructions in a chain that count as one step of a time slice.
const INSTS_OF_STEP: u64 = 16;
/// Hops that a thread counts for itself, unless the configuration says when regions are joined.
pub(super) const OWN_HOPS: u64 = 256;

/// How long a warp runs through regions.
pub struct Until<'a> {
    /// The count of its instructions at which its time slice ends.
    pub steps: u64,
    /// Counts the regions.
    pub repeats: &'a mut Repeats,
}

/// Instructions that so many warps may run in a chain until it is looked whether they wait.
#[inline]
pub(super) fn room_of_all(repeats: &Repeats, warps: usize) -> i64 {
    (u64::from(repeats.room()) * INSTS_OF_STEP * warps as u64) as i64
}

/// Counts instructions that were run in a chain.
#[inline]
pub(super) fn passed(repeats: &mut Repeats, insts: u64) {
    repeats.passed((insts / INSTS_OF_STEP).min(u64::from(u32::MAX)) as u32);
}

impl Until<'_> {
    /// How many instructions a warp may run in a chain that has run `steps` so far.
    #[inline]
    fn room(&self, steps: u64) -> i64 {
        room_of_all(self.repeats, 1).min(self.steps.saturating_sub(steps) as i64)
    }

    /// Counts instructions that were run in a chain.
    #[inline]
    pub(super) fn passed(&mut self, insts: u64) {
        passed(self.repeats, insts);
    }

    /// Whether it goes on to the next region, which is counted then.
    #[inline]
    pub(super) fn goes_on(&mut self, steps: u64) -> bool {
        steps < self.steps && self.repeats.pass()
    }
}

impl Stepper<'_> {
    /// Takes over a chain that has been made since, and counts hops; joins regions if that pays.
    #[inline]
    pub(super) fn look_at_chains(&mut self, hops: u64) {
        self.hops += hops;
        if let Some(jit) = &self.tiers.jit
            && self.strides
            && let Some(chain) = jit.new_chain(&mut self.chain)
        {
            self.take_chain(&chain);
        }
        if self.hops >= self.own_hops {
            self.tell_hops();
        }
    }

    #[cold]
    fn take_chain(&mut self, chain: &Chain) {
        for (at, link) in chain.links() {
            let Some(entry) = self.entries.get_mut(at.index()) else { continue };
            entry.never = false;
            match entry.versions.iter_mut().find(|code| code.number() == link.number()) {
                Some(code) => *code = link.clone(),
                None => entry.versions.push(link.clone()),
            }
        }
        // It knows other exits, and what single regions leave as it was.
        self.path_cache = PathCache::default();
        self.entries.iter_mut().for_each(|entry| entry.expected = 0);
    }

    #[cold]
    fn tell_hops(&mut self) {
        let hops = std::mem::take(&mut self.hops);
        let Some(jit) = self.tiers.jit.as_ref().filter(|jit| self.strides && jit.hopped(hops)) else {
            return;
        };
        sampler::set_activity(Activity::Compiler);
        jit.join(self.tiers.behind.then_some(self.background), self.cancel);
        sampler::set_activity(Activity::Runtime);
    }

    /// What a chain may run, in `calls` calls: as long as `until` says.
    #[inline]
    pub(super) fn give_chain(&mut self, until: Option<&Until<'_>>, steps: u64) -> i64 {
        let given = until.map_or(0, |until| until.room(steps));
        self.context.chain_left = given;
        given
    }

    /// Notes how much of what was given a chain has run, in each of so many calls.
    #[inline]
    pub(super) fn take_chain_back(&mut self, is_chain: bool, given: i64, calls: u64) -> u64 {
        let ran = given.wrapping_sub(self.context.chain_left).max(0) as u64 / calls.max(1);
        self.chain_ran = is_chain.then_some(ran);
        ran
    }

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
        let lacks_lanes = self.tiers.jit.as_ref().is_some_and(|jit| jit.lacks_lanes(warp));
        let may = !entry.never && code.waits() == 0 && !self.surely_waits(at) && !lacks_lanes;
        (may && code.fits(warp)).then_some(entry.last)
    }
}
