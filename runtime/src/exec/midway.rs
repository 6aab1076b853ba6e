//! Regions that may wait for other warps ([`warpjit_ir::regions::Region::may_wait`]).
//!
//! A call of such a region runs on a stack of its own. When its fuel is spent it is put aside in its midst, wherever that is, and the warp's turn ends; so
//! whoever it may wait for has a turn, too: other warps of the block, other blocks, and at last other lanes of the same warp, which the call would
//! have run behind its own. Those get a call of their own then ([`Context::split`]).

use std::sync::Arc;

use warpjit_backend::Context;
use warpjit_ir::interp::Warp;

use super::{Asked, FUEL, Patience, Poll, Step, Stepper};
use crate::Memory;
use crate::exec::jit::{Compiled, RegionFlow};
use crate::exec::memory::View;
use crate::vm::Fiber;

/// Back edges that a call may take in a turn of its warp.
const TURN: i64 = 1 << 12;
/// Back edges after which the lanes behind a call's chunk have a turn. Few loops wait for other lanes of their own warp, and go on for so long.
const MOST_ALONE: u64 = 1 << 18;
/// Calls that a thread keeps the means for when they have ended.
const MOST_KEPT: usize = 8;

/// The means for a call that can be put aside.
pub(super) struct LongCall {
    // Goes first: it names the others.
    fiber: Fiber,
    context: Box<Context>,
    /// What `context.user` names.
    _poll: Box<Poll<'static>>,
}

// SAFETY: a call that is suspended is memory only (see `Fiber`). What context and poll name belongs to the launch and to the block
// that the call is one of, and goes with the block from thread to thread.
unsafe impl Send for LongCall {}

impl std::fmt::Debug for LongCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.fiber.fmt(f)
    }
}

/// A region that a warp is in the midst of.
#[derive(Debug)]
pub struct Midway {
    /// Those that have not ended, in the order of their lanes.
    calls: Vec<LongCall>,
    /// Goes after the calls, which run it.
    code: Arc<Compiled>,
    /// How the others have come out, together: the exit, lanes that have ended, and the condition.
    out: (u64, u64, u64),
    /// Back edges since the last call was made.
    turns: u64,
}

impl Midway {
    /// Adds how a call has come out.
    fn add(&mut self, (exit, exited, cond): (u64, u64, u64)) {
        // Where all lanes of a call have ended it says 0; the others agree.
        self.out = (self.out.0.max(exit), self.out.1 | exited, self.out.2 | cond);
    }
}

impl LongCall {
    /// For code that runs in a context like that one; none where there is no stack.
    fn new(context: &Context, memory: &Memory) -> Option<LongCall> {
        let fiber = Fiber::new()?;
        // SAFETY: only the lifetime changes. A call is resumed by a `Stepper` of its launch only, for whose time the memory is borrowed.
        let memory = unsafe { std::mem::transmute::<&Memory, &'static Memory>(memory) };
        let mut poll = Box::new(Poll { asked: Asked::Suspend(fiber.suspender()), memory });
        let mut context = Box::new(context.clone());
        context.user = (&raw mut *poll).cast();
        Some(LongCall { fiber, context, _poll: poll })
    }

    /// Runs it for a turn; gives how it has ended if it has, and back edges taken.
    fn turn(&mut self) -> (Option<Result<u64, Box<crate::vm::RawFault>>>, u64) {
        self.context.fuel = TURN;
        let ended = self.fiber.resume();
        (ended, TURN.saturating_sub(self.context.fuel).unsigned_abs())
    }

    /// Active lanes behind the chunk of so many lanes that it is in.
    fn lanes_behind(&self, chunk: u32) -> u64 {
        let behind = u64::MAX.checked_shl(self.context.chunk_lane.saturating_add(chunk));
        if self.context.split != 0 { 0 } else { self.context.active & behind.unwrap_or(0) }
    }
}

impl Stepper<'_> {
    /// The means for a call.
    fn long_call(&mut self) -> Option<LongCall> {
        self.long_calls.pop().or_else(|| LongCall::new(&self.context, self.rights.memory))
    }

    /// Keeps the means for another call.
    fn keep_long_call(&mut self, call: LongCall) {
        if self.long_calls.len() < MOST_KEPT {
            self.long_calls.push(call);
        }
    }

    /// Begins a region that may wait.
    pub(super) fn begin(
        &mut self,
        warp: &mut Warp,
        version: usize,
        midway: &mut Option<Box<Midway>>,
        view: &mut View<'_>,
    ) -> Step {
        // Where there is no stack left the interpreter goes on: it can stop anywhere.
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

    /// Goes on with a region that a warp is in the midst of.
    pub(super) fn go_on(
        &mut self,
        warp: &mut Warp,
        mut begun: Box<Midway>,
        midway: &mut Option<Box<Midway>>,
        patience: &dyn Patience,
    ) -> Step {
        if patience.stop() {
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
            begun.code.begin(&mut call.fiber, &mut call.context, warp, behind);
            begun.calls.push(call);
            begun.turns = 0;
        }
        *midway = Some(begun);
        Step::Suspended
    }

    /// Counts back edges that a region has taken, for the turns of warps and blocks and for what tiers have done.
    fn took(&mut self, warp: &mut Warp, turns: u64) {
        if !self.counts {
            warp.steps += turns;
        }
        self.threads.1 += turns * u64::from(warp.active.count_ones());
    }

    /// Goes on behind a region.
    fn end(&mut self, warp: &mut Warp, flow: Option<RegionFlow>) -> Step {
        // What its loops took has been counted.
        self.context.fuel = FUEL;
        let flow = flow.and_then(|flow| self.finish(warp, flow));
        flow.map_or(Step::Stopped, Step::Flow)
    }
}
