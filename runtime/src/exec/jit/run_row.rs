//! Runs grid-row code ([`super::rows`]): enters it with the warps of a block, and says how it ended.
//!
//! When warps have diverged, or one has faulted, it makes the warps' frames complete, so that each can go on by itself from where it is
//! ([`Parted`]).

use warpjit_backend::{self as backend, Context, RowWarp};
use warpjit_ir::Block;
use warpjit_ir::regions::explore::ExitKind;

use super::rows::{Firsts, RowNeeds};
use super::{Compiled, RegionFlow};
use crate::exec::memory::Rights;
use crate::vm;

impl Compiled {
    /// Whether it is grid-row code that copies initial shared memory for each block.
    pub fn copies_shared(&self) -> bool {
        self.facts.row.as_ref().is_some_and(|row| row.copies_shared)
    }

    /// Whether it is grid-row code that does not count instructions, because all its blocks execute the same number.
    pub fn is_plain_row(&self) -> bool {
        self.facts.row.as_ref().is_some_and(RowNeeds::is_plain)
    }

    /// Runs a grid row. The context holds everything but the warps; its memory must be the launch's.
    pub fn run_row(&self, context: &mut Context, warps: &mut [RowWarp], rights: &Rights<'_>) -> RowFlow {
        let range = warps.as_mut_ptr_range();
        (context.exited, context.cond) = (0, 0);
        (context.insts, context.row_insts, context.phase) = (0, 0, 0);
        context.pures = self.facts.pures.as_ptr();
        context.tables = self.tables.as_ptr();
        context.warp = range.start;
        context.warps_end = range.end;
        let Some(row) = self.facts.row.as_ref().filter(|_| !warps.is_empty()) else {
            // Rejects other code, which would take the list of warps for a frame. A block has at least one warp.
            return RowFlow::Stopped;
        };
        // SAFETY: the code was made by the backend for rows of this kernel's blocks; the context's pointers are to memory that lives
        // through the call, `warps` among it, which names frames of this kernel; what it calls does not unwind.
        let result = unsafe {
            vm::enter(self.code.start(), (&raw mut *context).cast(), range.start.cast(), self.facts.mode)
        };
        let done = match result {
            Ok(backend::PARTED) => Some(context.exit),
            _ => None,
        };
        if !row.is_plain() && !matches!(result, Ok(0)) {
            if matches!(result, Ok(backend::SUSPENDED)) {
                // All warps are at the start of the phase.
                context.warp = range.start;
            }
            self.spread_firsts(row, context, warps, done);
        }
        let phase = row.phases.get(context.phase as usize).unwrap_or(&row.phases[0]);
        let exit = |number: u64| phase.exits.get(usize::try_from(number).ok()?).copied();
        let flow = match result {
            Ok(backend::UNFIT) => None,
            Ok(0) => return RowFlow::Done,
            Ok(backend::STOPPED) => return RowFlow::Stopped,
            Ok(backend::SUSPENDED) => return RowFlow::Suspended(phase.at),
            Ok(backend::PARTED) => match exit(context.exit) {
                Some(kind) => Some(RegionFlow::Exit(kind, context.exited, context.cond)),
                None => return RowFlow::Stopped,
            },
            Ok(result) => Some(self.outcome(result, &phase.faults, context, rights)),
            Err(raw) => Some(self.signal(&raw, context, rights)),
        };
        let before = match context.common_exit {
            _ if row.is_plain() => Some((ExitKind::Ended, None)),
            common => {
                let holds = [None, Some(true), Some(false), None][common as usize % 4];
                exit(u64::from(common) / 4).map(|kind| (kind, holds))
            }
        };
        RowFlow::Parted(Parted { at: phase.at, before, flow })
    }

    /// Fills in the compact slots in all frames after grid-row code has returned. Warps before the context's current
    /// one have finished the phase, those after it have not begun. `done` is the exit of the current one, if it has
    /// finished.
    fn spread_firsts(&self, row: &RowNeeds, context: &Context, warps: &mut [RowWarp], done: Option<u64>) {
        let Some(phase) = row.phases.get(context.phase as usize) else { return };
        // If several phases may follow, a slot may be compact in only one of them.
        let behind = |exit: u64| -> Vec<Firsts> {
            let next = usize::try_from(exit).ok().and_then(|exit| phase.next.get(exit));
            let next = next.into_iter().flatten().filter_map(|&to| row.phases.get(to as usize));
            next.flat_map(|to| &to.firsts).copied().collect()
        };
        let before = behind(u64::from(context.common_exit) / 4);
        let own = done.map_or_else(|| phase.firsts.clone(), behind);
        for warp in warps {
            let at = match std::ptr::from_ref::<RowWarp>(warp) {
                at if at < context.warp => &before,
                at if at == context.warp => &own,
                _ => &phase.firsts,
            };
            let Some(last) = at.iter().map(|firsts| firsts.word).max() else { continue };
            // SAFETY: the frame is one of this kernel's, which has room for all lanes of each of its slots, and nobody else looks at it.
            let frame =
                unsafe { std::slice::from_raw_parts_mut(warp.frame.cast::<u32>(), last + self.lanes) };
            at.iter().for_each(|firsts| firsts.spread(frame, self.lanes));
        }
    }
}

/// How a run of grid-row code ended.
#[derive(Debug)]
pub enum RowFlow {
    /// All blocks have ended.
    Done,
    /// Somebody asked to stop.
    Stopped,
    /// A block has run for long. All its warps are at this block of code.
    Suspended(Block),
    /// The warps of a block have diverged, or one has faulted.
    Parted(Parted),
}

/// Where the warps of a block have diverged.
#[derive(Debug)]
pub struct Parted {
    /// The block of code where the phase starts.
    pub at: Block,
    /// How the warps before [`Context::warp`] left the phase: the exit, and whether its condition held in all lanes or
    /// none.
    pub before: Option<(ExitKind, Option<bool>)>,
    /// How that warp left the phase; `None` if it has not run.
    pub flow: Option<RegionFlow>,
}
