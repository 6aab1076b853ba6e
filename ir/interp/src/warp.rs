//! The state of one warp: its frame, masks, divergence stack, current block and counters.

use super::{Code, Frame};
use warpjit_ir_core::abi::Builtin;
use warpjit_ir_core::entities::Block;
use warpjit_ir_core::function::{LeaveKind, PushKind, SlotInit};

/// Most entries of a divergence stack (docs/hardware/divergence.md).
pub const MAX_STACK: usize = 1024;

/// Kind of an entry of the divergence stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EntryKind {
    /// The waiting side of a divergent branch.
    Branch,
    /// Made by a push instruction or a call.
    Push(PushKind),
    /// Mask before `quadon`.
    Quad,
}

/// An entry of the divergence stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Kind.
    pub kind: EntryKind,
    /// Where its lanes continue; unused for [`EntryKind::Quad`].
    pub target: Block,
    /// Its lanes.
    pub mask: u64,
}

/// A warp: frame, masks, divergence stack, current block.
#[derive(Clone, Debug)]
pub struct Warp {
    /// Slots.
    pub frame: Frame,
    /// The block to execute next.
    pub block: Block,
    /// Active lanes.
    pub active: u64,
    /// Lanes that have ended, including those that never had a thread.
    pub exited: u64,
    /// Lanes that have left by a break and wait until its entry is popped; the following three for continue, return and
    /// longjmp.
    pub(super) broke: u64,
    pub(super) continued: u64,
    pub(super) returned: u64,
    pub(super) long: u64,
    /// All lanes.
    pub(super) all: u64,
    /// Divergence stack, the top last.
    pub stack: Vec<Entry>,
    /// Whether all lanes have left.
    pub ended: bool,
    /// Warp instructions executed.
    pub steps: u64,
    /// Thread instructions executed: each warp instruction times its active lanes.
    pub thread_steps: u64,
    /// If counted: the number of lanes of each instruction that has a lane mask, summed.
    pub lane_insts: u64,
    /// If counted: the number of lanes of the warp for each of these instructions, summed.
    pub lane_slots: u64,
    /// Values that are used across blocks, one row of lanes each.
    pub(super) cross: Vec<u64>,
}

impl Warp {
    /// A warp at the entry of `code`. The lanes of `launched` are active. `builtin` gives the launch values, also for
    /// the other lanes. Slots that hold an offset in a segment are zero; the caller writes them.
    pub fn new(code: &Code, launched: u64, builtin: impl FnMut(Builtin, u32) -> u32) -> Warp {
        let mut warp = Warp {
            frame: Frame::aligned(code.frame_bytes(), code.line_bytes),
            block: code.entry(),
            active: 0,
            exited: 0,
            broke: 0,
            continued: 0,
            returned: 0,
            long: 0,
            all: code.all_lanes(),
            stack: Vec::new(),
            ended: false,
            steps: 0,
            thread_steps: 0,
            lane_insts: 0,
            lane_slots: 0,
            cross: vec![0; code.cross_values()],
        };
        warp.start(code, launched, builtin);
        warp
    }

    /// Makes the warp as [`Warp::new`] would, keeping its storage; it must have been made for the same code.
    pub fn reset(&mut self, code: &Code, launched: u64, builtin: impl FnMut(Builtin, u32) -> u32) {
        self.frame.clear();
        self.cross.fill(0);
        self.stack.clear();
        self.start(code, launched, builtin);
    }

    /// Puts the warp at `block` with the lanes of `launched` active, as if it had run there from the entry; slots keep what
    /// they hold.
    pub fn restart(&mut self, block: Block, launched: u64) {
        self.stack.clear();
        self.block = block;
        self.active = launched & self.all;
        self.exited = self.all & !launched;
        (self.broke, self.continued, self.returned, self.long) = (0, 0, 0, 0);
        self.ended = self.active == 0;
        (self.steps, self.thread_steps, self.lane_insts, self.lane_slots) = (0, 0, 0, 0);
    }

    fn start(&mut self, code: &Code, launched: u64, mut builtin: impl FnMut(Builtin, u32) -> u32) {
        self.block = code.entry();
        self.active = launched & self.all;
        self.exited = self.all & !launched;
        (self.broke, self.continued, self.returned, self.long) = (0, 0, 0, 0);
        self.ended = self.active == 0;
        (self.steps, self.thread_steps, self.lane_insts, self.lane_slots) = (0, 0, 0, 0);
        for (layout, init) in code.initial_slots() {
            let mut value = |lane| match init {
                SlotInit::Zero | SlotInit::WarpOffset(_) => 0,
                SlotInit::Builtin(which) => builtin(which, lane).into(),
                SlotInit::Const(bits) => bits,
            };
            if matches!(init, SlotInit::Zero | SlotInit::WarpOffset(_)) {
                continue;
            }
            if layout.uniform {
                let bits = value(self.active.trailing_zeros() % 64);
                self.frame.write(layout.word * 4, layout.scalar, 0, bits);
                continue;
            }
            // Of all lanes: those that no thread has look like others to compiled code then.
            let mut lanes = self.all;
            while lanes != 0 {
                let lane = lanes.trailing_zeros();
                lanes &= lanes - 1;
                self.frame.write(layout.word * 4, layout.scalar, lane, value(lane));
            }
        }
    }

    /// Lanes that are in no state but running; those of them that are not active wait on the stack.
    pub fn running(&self) -> u64 {
        self.all & !(self.exited | self.broke | self.continued | self.returned | self.long)
    }

    /// The lowest active lane, 0 if there is none.
    pub fn first_lane(&self) -> u32 {
        if self.active == 0 { 0 } else { self.active.trailing_zeros() }
    }

    /// Counts `instructions` executed by the active lanes.
    pub fn count(&mut self, instructions: u64) {
        self.steps += instructions;
        self.thread_steps += instructions * u64::from(self.active.count_ones());
    }

    /// Counts that `instructions` were for the active lanes.
    pub fn count_lanes(&mut self, instructions: u64) {
        self.lane_insts = self.lane_insts.wrapping_add(instructions * u64::from(self.active.count_ones()));
        self.lane_slots = self.lane_slots.wrapping_add(instructions * u64::from(self.all.count_ones()));
    }

    /// What was counted of lanes since this was called last, modulo 2^64: one that faults may be taken back from what was counted before.
    pub fn take_lanes(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.lane_insts), std::mem::take(&mut self.lane_slots))
    }

    /// Counts one instruction of the active lanes less: it was counted where it began, and has faulted. `lanes`: so were its lanes.
    pub(super) fn take_back(&mut self, active: u64, lanes: bool) {
        let active = u64::from(active.count_ones());
        self.steps = self.steps.saturating_sub(1);
        self.thread_steps = self.thread_steps.saturating_sub(active);
        if lanes {
            // Who sums up may have taken it out already.
            self.lane_insts = self.lane_insts.wrapping_sub(active);
            self.lane_slots = self.lane_slots.wrapping_sub(self.all.count_ones().into());
        }
    }

    /// The lanes in the state that a push entry of `kind` collects; none for joins.
    pub(super) fn leavers(&mut self, kind: PushKind) -> Option<&mut u64> {
        match kind {
            PushKind::Join => None,
            PushKind::Break => Some(&mut self.broke),
            PushKind::Continue => Some(&mut self.continued),
            PushKind::Call => Some(&mut self.returned),
            PushKind::Long => Some(&mut self.long),
        }
    }

    /// Lanes in the state that `kind` of leaving puts them in.
    pub fn left(&self, kind: LeaveKind) -> u64 {
        match kind {
            LeaveKind::Break => self.broke,
            LeaveKind::Continue => self.continued,
            LeaveKind::Return => self.returned,
            LeaveKind::Long => self.long,
            LeaveKind::Exit => self.exited,
        }
    }
}
