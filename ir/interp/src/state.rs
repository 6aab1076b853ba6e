//! The state of a warp between two blocks as plain data, to be written down and put back into another warp of the same kernel.
//!
//! Slots are not part of it: they are in the frame, whose layout is the caller's business.

use super::Code;
use super::warp::{Entry, EntryKind, MAX_STACK, Warp};
use warpjit_ir_core::entities::Block;

/// All of a warp but its slots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WarpState {
    /// The block to execute next.
    pub block: Block,
    /// Active lanes.
    pub active: u64,
    /// Lanes that have ended, including those that never had a thread.
    pub exited: u64,
    /// Lanes that have left by a break, a continue, a return and a longjmp, and wait until its entry is popped.
    pub left: [u64; 4],
    /// The divergence stack, the top last.
    pub stack: Vec<Entry>,
    /// Whether all lanes have left.
    pub ended: bool,
    /// Warp instructions executed.
    pub steps: u64,
    /// Thread instructions executed.
    pub thread_steps: u64,
}

/// Counts beyond this are no counts: nobody can have executed so many instructions, and sums of them would overflow.
pub const MOST_STEPS: u64 = 1 << 56;

impl WarpState {
    /// Why this cannot be the state of a warp of a kernel of `blocks` blocks, with `all` lanes.
    ///
    /// A state that passes can be executed: it names blocks that exist and lanes that exist. Lanes may be in several states:
    /// between `quadon` and `quadpop`, lanes run that have ended or left.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, blocks: usize, all: u64) -> Result<(), &'static str> {
        let of_stack = self.stack.iter().map(|entry| entry.mask);
        let lanes = self.left.into_iter().chain([self.active, self.exited]).chain(of_stack);
        if lanes.fold(0, |sum, lanes| sum | lanes) & !all != 0 {
            return Err("a lane does not exist");
        }
        if self.block.index() >= blocks || self.stack.iter().any(|entry| entry.target.index() >= blocks) {
            return Err("a block does not exist");
        }
        if self.stack.len() > MAX_STACK {
            return Err("the divergence stack is too deep");
        }
        if self.ended != (self.active == 0) {
            return Err("a warp that runs has no lanes, or one that has ended has some");
        }
        if self.steps > MOST_STEPS || self.thread_steps > MOST_STEPS {
            return Err("a count is too large");
        }
        Ok(())
    }
}

impl Warp {
    /// The state of a warp that is between two blocks.
    pub fn state(&self) -> WarpState {
        WarpState {
            block: self.block,
            active: if self.ended { 0 } else { self.active },
            exited: self.exited,
            left: [self.broke, self.continued, self.returned, self.long],
            stack: self.stack.clone(),
            ended: self.ended,
            steps: self.steps,
            thread_steps: self.thread_steps,
        }
    }

    /// Puts a state, which must have passed [`WarpState::check`], into a warp of the same kernel. Slots keep what they hold.
    pub fn set_state(&mut self, state: &WarpState) {
        self.block = state.block;
        self.active = state.active;
        self.exited = state.exited;
        [self.broke, self.continued, self.returned, self.long] = state.left;
        self.stack.clone_from(&state.stack);
        self.ended = state.ended;
        (self.steps, self.thread_steps) = (state.steps, state.thread_steps);
        (self.lane_insts, self.lane_slots) = (0, 0);
    }
}

impl Code {
    /// Whether values, and not only slots, are passed from block to block. Frontends make no such code.
    pub fn passes_values(&self) -> bool {
        self.cross_values() != 0
    }
}

impl EntryKind {
    /// Every kind, in an order that does not change: an index in it stands for the kind in saved states.
    pub const ALL: [EntryKind; 7] = {
        use warpjit_ir_core::function::PushKind::{Break, Call, Continue, Join, Long};
        [
            EntryKind::Branch,
            EntryKind::Quad,
            EntryKind::Push(Join),
            EntryKind::Push(Break),
            EntryKind::Push(Continue),
            EntryKind::Push(Call),
            EntryKind::Push(Long),
        ]
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpjit_ir_core::function::PushKind;

    fn state() -> WarpState {
        WarpState {
            block: Block(2),
            active: 0b0011,
            exited: 0b0100,
            left: [0b1000, 0, 0, 0],
            stack: vec![Entry { kind: EntryKind::Push(PushKind::Break), target: Block(1), mask: 0b1011 }],
            ended: false,
            steps: 7,
            thread_steps: 20,
        }
    }

    #[test]
    fn a_state_names_what_exists() {
        let check = |change: fn(&mut WarpState)| {
            let mut state = state();
            change(&mut state);
            state.check(3, 0b1111)
        };
        assert_eq!(check(|_| ()), Ok(()));
        assert_eq!(check(|s| s.block = Block(3)), Err("a block does not exist"));
        assert_eq!(check(|s| s.stack[0].target = Block(9)), Err("a block does not exist"));
        assert_eq!(check(|s| s.exited |= 1), Ok(()));
        assert_eq!(check(|s| s.left[3] |= 1 << 4), Err("a lane does not exist"));
        assert_eq!(check(|s| s.active |= 1 << 40), Err("a lane does not exist"));
        assert_eq!(check(|s| s.stack[0].mask = u64::MAX), Err("a lane does not exist"));
        assert_eq!(
            check(|s| s.stack = vec![s.stack[0]; MAX_STACK + 1]),
            Err("the divergence stack is too deep")
        );
        assert!(check(|s| s.active = 0).is_err() && check(|s| s.ended = true).is_err());
        assert_eq!(check(|s| s.steps = u64::MAX), Err("a count is too large"));
    }

    #[test]
    fn every_kind_is_there_once() {
        for (at, kind) in EntryKind::ALL.iter().enumerate() {
            assert_eq!(EntryKind::ALL.iter().position(|other| other == kind), Some(at));
        }
    }
}
