//! Interprets functions in mask form. Tests compare the result with compiled code and with the interpreter's run of SPMD form.

use super::{Code, Fault, FaultKind, Frame, Scratch, WarpMemory};
use warpjit_ir_core::function::{Form, Terminator};

/// How a mask-form function ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaskExit {
    /// Number of the exit.
    pub exit: u32,
    /// Lanes whose thread has ended.
    pub exited: u64,
    /// Condition for the exit's terminator.
    pub cond: Option<u64>,
}

/// Runs a mask-form function for all lanes at once, as one chunk as wide as the warp; `entry_mask` is what `active` gives.
///
/// Stops with a `Timeout` fault after [`Scratch::max_steps`] blocks, unless that is 0. A function in SPMD form is the
/// `Illegal` fault at its first terminator that is not of mask form.
pub fn run_mask_function(
    code: &Code,
    scratch: &mut Scratch,
    frame: &mut Frame,
    entry_mask: u64,
    memory: &mut dyn WarpMemory,
) -> Result<MaskExit, Fault> {
    let mut cross = vec![0; code.cross_values()];
    let all = code.all_lanes();
    let lane = if entry_mask == 0 { 0 } else { entry_mask.trailing_zeros() };
    let fault = |kind, pc| Fault { kind, pc, lane, address: None, space: None, store: false };
    let mut at = code.entry();
    let mut left = scratch.max_steps;
    loop {
        let block = &code.blocks[at.index()];
        if scratch.max_steps != 0 {
            if left == 0 {
                return Err(fault(FaultKind::Timeout, block.pc));
            }
            left -= 1;
        }
        let [cond, exited] =
            code.run_mask_body(block, scratch, entry_mask & all, frame, &mut cross, memory)?;
        let first = match &block.term {
            Terminator::Jump(_) => true,
            Terminator::BrAny { .. } => cond.unwrap_or(0) != 0,
            // The condition is uniform: lane 0 speaks for all.
            Terminator::BrIf { .. } => cond.unwrap_or(0) & 1 != 0,
            Terminator::Return { exit, .. } if code.form == Form::Mask => {
                return Ok(MaskExit { exit: *exit, exited: exited.unwrap_or(0), cond });
            }
            _ => return Err(fault(FaultKind::Illegal, block.term_pc)),
        };
        let (side, to) = match &block.term {
            Terminator::Jump(to) => (0, to),
            Terminator::BrAny { taken, .. } | Terminator::BrIf { taken, .. } if first => (0, taken),
            Terminator::BrAny { next, .. } | Terminator::BrIf { next, .. } => (1, next),
            _ => return Err(fault(FaultKind::Illegal, block.term_pc)),
        };
        code.copy_edge(scratch, &mut cross, &block.edges[side], all);
        at = to.block;
    }
}
