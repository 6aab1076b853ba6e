//! Warps that are at one block of the program run through its region one after another, as long as they take the same exit.

use warpjit_ir::Block;
use warpjit_ir::interp::{Flow, Warp};
use warpjit_ir::regions::explore::ExitKind;

use super::stride::{passed, room_of_all};
use super::{Hint, MOST_CREDIT, Stepper};
use crate::exec::jit::{KnownShapes, RegionFlow};
use crate::exec::memory::View;
use crate::exec::path_cache::PathCache;
use crate::exec::repeats::Repeats;
use crate::exec::tiers::calls::{Poll, StopPoll};
use crate::vm::Call;

impl Stepper<'_> {
    /// Whether it is worthwhile to run warps together ([`super::block`]).
    #[inline]
    pub fn may_run_convergent(&self) -> bool {
        self.credit > 0
    }

    /// The version of the start region that all these hints name, if they agree.
    pub fn common_version(&self, mut hints: impl Iterator<Item = Hint>) -> Option<u32> {
        let first = hints.next()?.version?;
        hints.all(|hint| hint.version == Some(first)).then_some(first)
    }

    /// This thread's index of a version of the start region.
    pub fn index_at_start(&self, version: u32) -> Option<usize> {
        let known = &self.entries[self.tiers.start.block.index()].versions;
        known.iter().position(|code| code.number() == version).filter(|&index| known[index].waits() == 0)
    }

    /// A version of the region at a block that fits all of the warps.
    pub fn index_for_all<'w>(
        &mut self,
        at: Block,
        warps: impl Iterator<Item = &'w Warp> + Clone,
        known: &KnownShapes,
    ) -> Option<usize> {
        let entry = &self.entries[at.index()];
        if entry.versions.iter().any(|code| code.waits() != 0) {
            // Such a region needs a stack for each warp.
            return None;
        }
        let jit = self.tiers.jit.as_ref()?;
        let lack_lanes = warps.clone().any(|warp| jit.lacks_lanes(warp));
        let fits = |index: usize| !lack_lanes && entry.versions[index].fits_all(warps.clone(), known);
        let found = (!entry.versions.is_empty() && fits(entry.last))
            .then_some(entry.last)
            .or_else(|| (0..entry.versions.len()).find(|&index| fits(index)));
        let cold = entry.versions.is_empty() && !entry.never;
        self.credit += match found {
            Some(_) => i32::from(self.credit < MOST_CREDIT),
            // If there is no code yet, that is no failure.
            None => -i32::from(!cold),
        };
        found
    }

    /// An empty list for [`Stepper::run_convergent`].
    pub fn take_calls(&mut self) -> Vec<Call> {
        self.calls.clear();
        std::mem::take(&mut self.calls)
    }

    /// Keeps the list's storage for reuse.
    pub fn keep_calls(&mut self, calls: Vec<Call>) {
        self.calls = calls;
    }

    /// Runs the region at a block for warps that are all there, one after another, while they take the same exit.
    /// Returns that exit if all took it; otherwise see [`Stepper::parted`].
    // Inline: arguments on the stack are written and read in pieces of different size, which costs more than the rest.
    #[inline(always)]
    pub fn run_convergent(
        &mut self,
        at: Block,
        index: usize,
        calls: &mut [Call],
        view: &mut View<'_>,
        stop_poll: &dyn StopPoll,
        repeats: &mut Repeats,
    ) -> Option<ExitKind> {
        let mut poll = Poll::new(stop_poll, view);
        self.prepare(view, &mut poll);
        let given = room_of_all(repeats, calls.len());
        self.context.chain_left = given;
        let entry = &self.entries[at.index()];
        let code = &entry.versions[index];
        self.ended = None;
        self.last_call = code.run_all(&mut self.context, calls, entry.expected, &mut self.ended);
        if code.is_chain() {
            let ran = given.wrapping_sub(self.context.chain_left).max(0) as u64 / (self.last_call as u64 + 1);
            self.chain_ran = Some(ran);
            passed(repeats, ran);
        }
        let all = self.last_call + 1 == calls.len() && self.ended.is_none();
        if all && calls.last().is_some_and(|call| call.result == entry.expected) {
            return code.exit(entry.expected);
        }
        None
    }

    /// After warps have diverged in [`Stepper::run_convergent`]: the last warp that ran, how its region ended, and the
    /// exit of the warps before it.
    pub fn parted(&mut self, at: Block, index: usize, calls: &[Call]) -> (usize, RegionFlow, u64) {
        let entry = &mut self.entries[at.index()];
        let call = calls.get(self.last_call);
        let expected = entry.expected;
        let code = &entry.versions[index];
        let flow = code.flow_of(&mut self.context, call, self.ended.take(), &self.rights);
        if let (RegionFlow::Exit(..), Some(call)) = (&flow, call) {
            entry.expected = call.result;
        }
        (self.last_call, flow, expected)
    }

    /// The paths that blocks take.
    pub fn path_cache(&mut self) -> &mut PathCache {
        &mut self.path_cache
    }

    /// The path-cache node for a version of the region at a block and the lane patterns known of its warps.
    pub fn path_node(&mut self, at: Block, index: usize, known: &KnownShapes) -> Option<u32> {
        let code = self.entries[at.index()].versions.get(index)?;
        self.path_cache.node(at, index, code, known)
    }

    /// Where an exit of a version leads.
    pub fn exit(&self, at: Block, index: usize, number: u64) -> Option<ExitKind> {
        self.entries[at.index()].versions.get(index)?.exit(number)
    }

    /// Continues a warp after its region in [`Stepper::run_convergent`]. `None`: it was stopped.
    pub fn resume(&mut self, warp: &mut Warp, outcome: RegionFlow) -> Option<Flow> {
        self.finish(warp, outcome)
    }

    /// Guest instructions that each warp's run of the region at a block, the last that ran, is counted as.
    pub fn insts(&self, at: Block) -> u64 {
        self.chain_ran.unwrap_or_else(|| self.tiers.code.guest_insts(at).into())
    }

    /// Takes over a chain that has been made since warps ran last, and asks for one where it pays.
    pub fn look_for_chain(&mut self) {
        self.look_at_chains(0);
    }

    /// Notes that so many warps have gone from the region at a block to another one.
    pub fn hop(&mut self, at: Block, index: usize, warps: usize) {
        let is_chain = self.entries[at.index()].versions.get(index).is_some_and(|code| code.is_chain());
        self.hops += if is_chain { 0 } else { warps as u64 };
    }

    /// Adds thread instructions of compiled code that no warp has counted.
    pub fn add_threads(&mut self, count: u64) {
        self.threads.1 += count;
    }
}
