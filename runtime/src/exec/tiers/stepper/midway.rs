//! Runs regions that may wait for other warps ([`warpjit_ir::regions::Region::may_wait`]).
//!
//! A call of such a region runs on a stack of its own. When its fuel is spent, it is suspended wherever it is, and the warp's
//! slice ends. So the warps that it may be waiting for can run: other warps of the block, and other blocks. It may even wait for
//! later lanes of its own warp, which the call would run only after its current chunk. After a while these lanes get a call of
//! their own ([`Context::split`]).
//!
//! - A suspended call goes on, on whichever thread has the block then.
//! - Exits, ended lanes and conditions of a warp's calls are put together when all have ended. The call of the last chunk alone writes
//!   uniform slots; each call read them when it began.
//! - The number of stacks in a process is limited (`vm/sys/stacks.rs`). Without one, the interpreter runs the block: it can stop
//!   anywhere.
//! - Kernels with such regions neither run warps together nor have grid-row code: both run one warp to its end before the next.

use std::sync::Arc;

use warpjit_backend::Context;
use warpjit_ir::interp::Warp;

use super::{Rights, Step, Stepper};
use crate::exec::jit::{Compiled, RegionFlow};
use crate::exec::memory::View;
use crate::exec::tiers::calls::{Asked, FUEL, Poll, StopPoll};
use crate::memory::Permitted;
use crate::vm::Fiber;

/// Back edges that a call may take in one slice of its warp.
const TURN: i64 = 1 << 12;
/// Back edges after which the lanes after a call's chunk get a call of their own. Few loops run for so long, and few
/// wait for other lanes of their own warp.
const MOST_ALONE: u64 = 1 << 18;
/// Most finished calls whose stack and context a thread keeps for reuse.
const MOST_KEPT: usize = 8;

/// The stack and context of a call that can be suspended.
pub(super) struct LongCall {
    // Dropped first, because it points to the other fields.
    fiber: Fiber,
    context: Box<Context>,
    /// `context.user` points to it.
    _poll: Box<Poll<'static>>,
    /// Where code asks before accesses: the context has windows of its own.
    _permitted: Option<Permitted>,
}

// SAFETY: a call that is suspended is memory only (see `Fiber`). What context and poll name belongs to the launch and to the block
// that the call is one of, and goes with the block from thread to thread.
unsafe impl Send for LongCall {}

impl std::fmt::Debug for LongCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.fiber.fmt(f)
    }
}

/// A suspended run of a region by a warp.
#[derive(Debug)]
pub struct Midway {
    /// The calls that have not ended, in the order of their lanes.
    calls: Vec<LongCall>,
    /// Dropped after the calls, which run it.
    code: Arc<Compiled>,
    /// The combined result of the calls that have ended: the exit, the lanes whose threads ended, and the lanes where
    /// the condition holds.
    out: (u64, u64, u64),
    /// Back edges since the last call was made.
    turns: u64,
}

impl Midway {
    /// Adds the result of a call.
    fn add(&mut self, (exit, exited, cond): (u64, u64, u64)) {
        // A call whose lanes have all ended returns exit 0; all other calls return the same exit.
        self.out = (self.out.0.max(exit), self.out.1 | exited, self.out.2 | cond);
    }
}

impl LongCall {
    /// Makes one, with a copy of the context. `None` if no stack is left.
    fn new(context: &Context, rights: Rights<'_>) -> Option<LongCall> {
        let fiber = Fiber::new()?;
        // SAFETY: only the lifetime changes. A call is resumed by a `Stepper` of its launch only, for whose time plan
        // and memory are borrowed.
        let Rights { plan, memory } = unsafe { std::mem::transmute::<Rights<'_>, Rights<'static>>(rights) };
        let mut poll = Box::new(Poll { asked: Asked::Suspend(fiber.suspender()), memory, plan });
        let mut context = Box::new(context.clone());
        context.user = (&raw mut *poll).cast();
        let permitted = (!context.windows.is_null()).then(|| memory.begin_permits(&mut context));
        Some(LongCall { fiber, context, _poll: poll, _permitted: permitted })
    }

    /// Runs the call for a slice. Returns its result if it has ended, and the back edges taken.
    fn turn(&mut self) -> (Option<Result<u64, Box<crate::vm::RawFault>>>, u64) {
        self.context.fuel = TURN;
        let ended = self.fiber.resume();
        (ended, TURN.saturating_sub(self.context.fuel).unsigned_abs())
    }

    /// The active lanes after the chunk that the call is in; `chunk` is the number of lanes of a chunk.
    fn lanes_behind(&self, chunk: u32) -> u64 {
        let behind = u64::MAX.checked_shl(self.context.chunk_lane.saturating_add(chunk));
        if self.context.split != 0 { 0 } else { self.context.active & behind.unwrap_or(0) }
    }
}

impl Stepper<'_> {
    /// Takes a kept stack and context, or makes new ones.
    fn long_call(&mut self) -> Option<LongCall> {
        self.long_calls.pop().or_else(|| LongCall::new(&self.context, self.rights))
    }

    /// Keeps a stack and context for reuse.
    fn keep_long_call(&mut self, call: LongCall) {
        if self.long_calls.len() < MOST_KEPT {
            self.long_calls.push(call);
        }
    }

    /// Starts a region that may wait.
    pub(super) fn begin(
        &mut self,
        warp: &mut Warp,
        version: usize,
        midway: &mut Option<Box<Midway>>,
        view: &mut View<'_>,
    ) -> Step {
        // If no stack is left, the interpreter runs the block, because it can stop anywhere.
        let Some(mut call) = self.long_call() else { return Step::Flow(self.interpret(warp, view)) };
        let code = &self.entries[warp.block.index()].versions[version];
        let context = &mut *call.context;
        (context.shared_base, context.shared_bytes) = view.shared.raw();
        (context.local_base, context.local_bytes) = view.local.raw();
        let lanes = warp.active;
        code.begin(&mut call.fiber, context, warp, lanes);
        let (ended, turns) = call.turn();
        let Some(result) = ended else {
            let code = code.clone();
            *midway = Some(Box::new(Midway { calls: vec![call], code, out: (0, 0, 0), turns }));
            self.took(warp, turns);
            return Step::Suspended;
        };
        let flow = match code.came_out(result, &mut call.context, &self.rights) {
            Ok((exit, exited, cond)) => code.exit(exit).map(|kind| RegionFlow::Exit(kind, exited, cond)),
            Err(flow) => Some(flow),
        };
        self.took(warp, turns);
        self.keep_long_call(call);
        self.end(warp, flow)
    }

    /// Resumes a suspended region.
    pub(super) fn go_on(
        &mut self,
        warp: &mut Warp,
        mut begun: Box<Midway>,
        midway: &mut Option<Box<Midway>>,
        stop_poll: &dyn StopPoll,
    ) -> Step {
        if stop_poll.stop() {
            return Step::Stopped;
        }
        let mut number = 0;
        while let Some(call) = begun.calls.get_mut(number) {
            let (ended, turns) = call.turn();
            begun.turns += turns;
            self.took(warp, turns);
            let Some(result) = ended else {
                number += 1;
                continue;
            };
            let mut call = begun.calls.remove(number);
            let out = begun.code.came_out(result, &mut call.context, &self.rights);
            self.keep_long_call(call);
            match out {
                Ok(out) => begun.add(out),
                Err(flow) => return self.end(warp, Some(flow)),
            }
        }
        let Some(last) = begun.calls.last_mut() else {
            let (exit, exited, cond) = begun.out;
            let flow = begun.code.exit(exit).map(|kind| RegionFlow::Exit(kind, exited, cond));
            return self.end(warp, flow);
        };
        let behind = last.lanes_behind(begun.code.waits());
        if behind != 0
            && begun.turns >= MOST_ALONE
            && let Some(mut call) = self.long_call()
        {
            last.context.split = 1;
            call.context.shared_base = last.context.shared_base;
            call.context.shared_bytes = last.context.shared_bytes;
            (call.context.local_base, call.context.local_bytes) =
                (last.context.local_base, last.context.local_bytes);
            // What devices have answered until here. Behind that, both calls ask.
            call.context.scalar_answers.clone_from(&last.context.scalar_answers);
            begun.code.begin(&mut call.fiber, &mut call.context, warp, behind);
            begun.calls.push(call);
            begun.turns = 0;
        }
        *midway = Some(begun);
        Step::Suspended
    }

    /// Adds a region's back edges to the counts that limit the slices of warps and blocks.
    fn took(&mut self, warp: &mut Warp, turns: u64) {
        if !self.counts {
            warp.steps += turns;
        }
        self.threads.1 += turns * u64::from(warp.active.count_ones());
    }

    /// Continues after a region has ended.
    fn end(&mut self, warp: &mut Warp, flow: Option<RegionFlow>) -> Step {
        // Its back edges have been counted already.
        self.context.fuel = FUEL;
        self.chain_ran = None;
        let flow = flow.and_then(|flow| self.finish(warp, flow));
        flow.map_or(Step::Stopped, Step::Flow)
    }
}
