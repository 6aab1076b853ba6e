//! The exits of a phase of grid-row code ([`crate::BlockRow`]): which exits the code can take and how warps report theirs. Both
//! code generators use it.

use warpjit_ir::regions::promote::FAULT_EXIT;
use warpjit_ir::{Block, Function, Terminator};

use crate::context::{RowWarp, at};
use crate::error::Error;
use crate::options::{Phase, Successor};

/// Size of the entry of a warp in the list of a block's warps.
pub(crate) const WARP_BYTES: i64 = size_of::<RowWarp>() as i64;

/// Guest instructions of a warp after which grid-row code returns [`crate::SUSPENDED`] at a loop over phases, because
/// the block may wait for other blocks.
pub(crate) const PATIENCE: i32 = 1 << 20;

/// The value of [`crate::Context::common_exit`] for the first warp of a block.
pub(crate) const NO_EXIT: u64 = u32::MAX as u64;

/// An exit and its condition, encoded as in [`crate::Context::common_exit`].
pub(crate) fn number(exit: u32, condition: u32) -> u64 {
    u64::from(4 * exit + condition)
}

/// The exits of a phase.
#[derive(Clone, Default)]
pub(crate) struct PhaseExits {
    /// Guest instructions that a run of the phase is counted as; `None` if they are not counted, because all threads
    /// end with the only phase.
    pub insts: Option<u32>,
    /// The exits that the code may take, with their successors.
    pub list: Vec<(u32, Successor)>,
    /// Whether some threads may end while others continue.
    pub some_end: bool,
}

impl PhaseExits {
    /// The exits of a phase whose code has the blocks of `order`. `alone`: it is the only phase.
    pub fn new(f: &Function, order: &[Block], phase: &Phase<'_>, alone: bool) -> Result<PhaseExits, Error> {
        let (mut list, mut some_end): (Vec<(u32, Successor)>, _) = (Vec::new(), false);
        for &b in order {
            if let Terminator::Return { exit, exited, .. } = f.term(b)
                && *exit < FAULT_EXIT
            {
                let Some(&successor) = phase.successors.get(*exit as usize) else {
                    return Err(Error::Malformed(format!("no successor of exit {exit}")));
                };
                some_end |=
                    successor != Successor::Ended && exited.is_some_and(|lanes| f.as_const(lanes) != Some(0));
                if list.iter().all(|(known, _)| known != exit) {
                    list.push((*exit, successor));
                }
            }
        }
        list.sort_by_key(|(exit, _)| *exit);
        // If there are exits besides the end, the threads of only some chunks may end.
        some_end |= list.len() > 1 && list.iter().any(|(_, successor)| *successor == Successor::Ended);
        let plain = alone && phase.successors.iter().all(|successor| *successor == Successor::Ended);
        Ok(PhaseExits { insts: (!plain).then_some(phase.insts), list, some_end })
    }

    /// Whether this is the only phase and all threads end in it. Then the code does not record how warps left it.
    pub fn are_plain(&self) -> bool {
        self.insts.is_none()
    }

    /// Whether the exits' conditions (`at::COND`) or the ended threads must be recorded in the context.
    pub fn notes(&self, offset: i32) -> bool {
        match offset {
            at::COND => self.list.iter().any(|(_, successor)| matches!(successor, Successor::Branch { .. })),
            _ => self.some_end,
        }
    }

    /// Number of successors that warps may take, with both sides of a branch.
    pub fn count(&self) -> usize {
        self.list
            .iter()
            .map(|(_, successor)| if matches!(successor, Successor::Branch { .. }) { 2 } else { 1 })
            .sum()
    }

    /// The encoded exit, if there is only one and it has no condition.
    pub fn only(&self) -> Option<u64> {
        match self.list[..] {
            [(exit, Successor::Ended | Successor::Next(_))] => Some(number(exit, 0)),
            _ => None,
        }
    }
}
