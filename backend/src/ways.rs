//! The exits of a phase of grid-row code ([`crate::BlockRow`]): which exits the code can take and how warps report theirs. Both
//! code generators use it.

use warpjit_ir::regions::promote::FAULT_EXIT;
use warpjit_ir::{Block, Function, Terminator};

use crate::Error;
use crate::context::{RowWarp, at};
use crate::options::{Piece, Way};

/// From one warp of a block to the next.
pub(crate) const WARP_BYTES: i64 = size_of::<RowWarp>() as i64;

/// Guest instructions of a warp after which other blocks may go on first, where a block takes a loop over pieces: it may wait for them.
pub(crate) const PATIENCE: i32 = 1 << 20;

/// What the first warp finds in place of how those before it came out.
pub(crate) const NO_WAY: u64 = u32::MAX as u64;

/// A way as [`crate::Context::way`] has it.
pub(crate) fn number(exit: u32, condition: u32) -> u64 {
    u64::from(4 * exit + condition)
}

/// The ways out of a piece.
#[derive(Clone, Default)]
pub(crate) struct Ways {
    /// Guest instructions that the piece counts for, where they are counted: not where it is all there is.
    pub insts: Option<u32>,
    /// By exit that the code may come out at.
    pub list: Vec<(u32, Way)>,
    /// Whether threads may end while others go on.
    pub some_end: bool,
}

impl Ways {
    /// Those of a piece whose code has the blocks of `order`; `alone`: there is no other.
    pub fn new(f: &Function, order: &[Block], piece: &Piece<'_>, alone: bool) -> Result<Ways, Error> {
        let (mut list, mut some_end): (Vec<(u32, Way)>, _) = (Vec::new(), false);
        for &b in order {
            if let Terminator::Return { exit, exited, .. } = f.term(b)
                && *exit < FAULT_EXIT
            {
                let Some(&way) = piece.ways.get(*exit as usize) else {
                    return Err(Error::Malformed(format!("no way behind exit {exit}")));
                };
                some_end |= way != Way::Ended && exited.is_some_and(|lanes| f.as_const(lanes) != Some(0));
                if list.iter().all(|(known, _)| known != exit) {
                    list.push((*exit, way));
                }
            }
        }
        list.sort_by_key(|(exit, _)| *exit);
        // With others that go on, the threads of some chunks may end.
        some_end |= list.len() > 1 && list.iter().any(|(_, way)| *way == Way::Ended);
        let plain = alone && piece.ways.iter().all(|way| *way == Way::Ended);
        Ok(Ways { insts: (!plain).then_some(piece.insts), list, some_end })
    }

    /// Whether all threads end here, and there is no other piece: then nothing is said of how blocks came out.
    pub fn are_plain(&self) -> bool {
        self.insts.is_none()
    }

    /// Whether the exits' conditions, or threads that have ended, are to be noted.
    pub fn notes(&self, offset: i32) -> bool {
        match offset {
            at::COND => self.list.iter().any(|(_, way)| matches!(way, Way::Branch { .. })),
            _ => self.some_end,
        }
    }

    /// How many ways warps may take.
    pub fn count(&self) -> usize {
        self.list.iter().map(|(_, way)| if matches!(way, Way::Branch { .. }) { 2 } else { 1 }).sum()
    }

    /// The only way, unless there are others or it depends on a condition.
    pub fn only(&self) -> Option<u64> {
        match self.list[..] {
            [(exit, Way::Ended | Way::Next(_))] => Some(number(exit, 0)),
            _ => None,
        }
    }
}
