//! Executes terminators: moves a warp to its next block and pushes and pops its divergence stack, by the rules of
//! docs/hardware/divergence.md.

use super::warp::{Entry, EntryKind, MAX_STACK, Warp};
use super::{Code, Fault, FaultKind, Flow};
use warpjit_ir_core::entities::{Block, Slot};
use warpjit_ir_core::exit::{ExitKind, terminator_cond};
use warpjit_ir_core::function::{GuestFault, LeaveKind, PushKind, Terminator};
use warpjit_ir_core::types::Scalar;

/// The stack rule that a terminator breaks.
struct BadStack;

impl Code {
    /// Executes the terminator of `warp`'s current block, whose body has run.
    ///
    /// `cond` are the lanes where its condition holds (of a branch, leave or Fermi join; all lanes if there is none). `addresses`
    /// are the lanes' targets of an indirect branch. Counts nothing. A fault leaves the warp at this block.
    pub fn finish(&self, warp: &mut Warp, cond: Option<u64>, addresses: Option<&[u64]>) -> Flow {
        let block = &self.blocks[warp.block.index()];
        let (stay, mask) = (warp.block, warp.active);
        let taken = self.taking(warp.block, mask, cond.unwrap_or(u64::MAX));
        let result = match &block.term {
            Terminator::Jump(to) => Ok(warp.go(to.block)),
            Terminator::Branch { taken: to, next, .. } => warp.branch(taken, to.block, next.block),
            Terminator::Push { kind, target, next } => {
                warp.push(EntryKind::Push(*kind), *target, mask).map(|()| warp.go(*next))
            }
            Terminator::Call { target, ret } => {
                warp.push(EntryKind::Push(PushKind::Call), *ret, mask).map(|()| warp.go(*target))
            }
            Terminator::Leave { kind, next, .. } => Ok(warp.leave(*kind, taken, *next, self.joins_at_target)),
            Terminator::Join { next, at_target, .. } => {
                if taken == mask {
                    let behind = |target: Block| match at_target {
                        true => target,
                        false => self.behind_join(stay, *next, target),
                    };
                    warp.join(behind, self.joins_at_target)
                } else {
                    warp.active &= !taken;
                    Ok(warp.go(*next))
                }
            }
            Terminator::QuadOn { next } => warp.push(EntryKind::Quad, *next, mask).map(|()| {
                warp.active = whole_quads(mask);
                warp.go(*next)
            }),
            Terminator::QuadPop { next } => match warp.stack.last() {
                Some(&Entry { kind: EntryKind::Quad, mask, .. }) => {
                    warp.stack.pop();
                    warp.active = mask & warp.running();
                    Ok(warp.go_or_unwind(*next, self.joins_at_target))
                }
                _ => Err(BadStack),
            },
            Terminator::Barrier { spec, next } => {
                warp.block = *next;
                Ok(Flow::Barrier(match spec.from {
                    None => *spec,
                    Some(slot) => spec.named_by(self.slot_word(warp, slot)),
                }))
            }
            Terminator::BranchIndirect { .. } => {
                let (mut seen, mut rest) = (Vec::new(), mask);
                let addresses = addresses.unwrap_or(&[]);
                while rest != 0 {
                    let lane = rest.trailing_zeros();
                    let address = addresses.get(lane as usize).copied().unwrap_or(u64::MAX);
                    let target = u32::try_from(address).ok().and_then(|a| self.block_at.get(&a));
                    let Some(&target) = target else {
                        return Flow::Fault(Fault {
                            lane,
                            address: Some(address),
                            ..self.fault(warp, FaultKind::Illegal)
                        });
                    };
                    let same = (lane..self.lanes as u32)
                        .filter(|&l| rest >> l & 1 != 0 && addresses.get(l as usize) == Some(&address))
                        .fold(0, |set, l| set | 1u64 << l);
                    seen.push((target, same));
                    rest &= !same;
                }
                warp.branch_indirect(&seen)
            }
            Terminator::Fault(fault) => {
                let kind = match fault {
                    GuestFault::Illegal => FaultKind::Illegal,
                    GuestFault::Trap => FaultKind::Trap,
                };
                return Flow::Fault(self.fault(warp, kind));
            }
            // These belong to mask form, which `run_mask_function` runs. A warp never reaches one.
            Terminator::BrAny { .. } | Terminator::BrIf { .. } | Terminator::Return { .. } => {
                return Flow::Fault(self.fault(warp, FaultKind::Illegal));
            }
        };
        result.unwrap_or_else(|BadStack| {
            // Restore the state before the instruction.
            (warp.block, warp.active) = (stay, mask);
            Flow::Fault(self.fault(warp, FaultKind::Stack))
        })
    }

    /// Of the active lanes, those in which the condition of a block's terminator holds. A condition that is the same in all lanes holds if
    /// it does in any: of a vote, a region gives the mask.
    pub fn taking(&self, block: Block, active: u64, cond: u64) -> u64 {
        match active & cond {
            0 => 0,
            _ if self.blocks[block.index()].same_cond => active,
            lanes => lanes,
        }
    }

    /// Continues a warp after a lane region has taken `exit`. `exited` are the lanes whose threads
    /// have ended in the region, `cond` the lanes where the condition of the exit's terminator holds, if it has one.
    /// Counts nothing.
    pub fn finish_region(&self, warp: &mut Warp, exit: ExitKind, exited: u64, cond: Option<u64>) -> Flow {
        warp.exited |= exited & warp.active;
        warp.active &= !exited;
        if warp.active == 0 {
            return warp.unwind(self.joins_at_target);
        }
        match exit {
            ExitKind::Terminator(block) => {
                warp.block = block;
                let wanted = terminator_cond(&self.blocks[block.index()].term).is_some();
                self.finish(warp, cond.filter(|_| wanted), None)
            }
            ExitKind::Enter(block) => warp.go(block),
            // All lanes have ended, which is handled above.
            ExitKind::Ended => warp.unwind(self.joins_at_target),
        }
    }

    /// An i32 slot's value in the lowest active lane.
    fn slot_word(&self, warp: &Warp, slot: Slot) -> u32 {
        let lane = warp.first_lane();
        self.slot_layout(slot).map_or(0, |layout| {
            let lane = if layout.uniform { 0 } else { lane };
            warp.frame.read(4 * layout.word, Scalar::I32, lane) as u32
        })
    }

    /// A fault of the terminator of `warp`'s block.
    fn fault(&self, warp: &Warp, kind: FaultKind) -> Fault {
        let pc = self.blocks[warp.block.index()].term_pc;
        Fault { kind, pc, lane: warp.first_lane(), address: None, space: None, store: false }
    }
}

/// All four lanes of every quad that has one in the set.
fn whole_quads(mask: u64) -> u64 {
    const FIRST: u64 = 0x1111_1111_1111_1111;
    let any = (mask | mask >> 1 | mask >> 2 | mask >> 3) & FIRST;
    any * 15
}

impl Warp {
    fn go(&mut self, block: Block) -> Flow {
        self.block = block;
        Flow::Next
    }

    fn go_or_unwind(&mut self, block: Block, joins_at_target: bool) -> Flow {
        if self.active != 0 { self.go(block) } else { self.unwind(joins_at_target) }
    }

    fn push(&mut self, kind: EntryKind, target: Block, mask: u64) -> Result<(), BadStack> {
        if self.stack.len() >= MAX_STACK {
            return Err(BadStack);
        }
        self.stack.push(Entry { kind, target, mask });
        Ok(())
    }

    fn branch(&mut self, taken: u64, target: Block, next: Block) -> Result<Flow, BadStack> {
        let rest = self.active & !taken;
        if rest == 0 {
            return Ok(self.go(target));
        }
        if taken == 0 {
            return Ok(self.go(next));
        }
        self.push(EntryKind::Branch, next, rest)?;
        self.active = taken;
        Ok(self.go(target))
    }

    /// `sides` are the distinct targets with their lanes, in the order in which they run.
    fn branch_indirect(&mut self, sides: &[(Block, u64)]) -> Result<Flow, BadStack> {
        let Some((&(first, mask), waiting)) = sides.split_first() else { return Ok(Flow::Next) };
        if self.stack.len() + waiting.len() > MAX_STACK {
            return Err(BadStack);
        }
        for &(target, mask) in waiting.iter().rev() {
            self.push(EntryKind::Branch, target, mask)?;
        }
        self.active = mask;
        Ok(self.go(first))
    }

    fn leave(&mut self, kind: LeaveKind, lanes: u64, next: Block, joins_at_target: bool) -> Flow {
        match kind {
            LeaveKind::Break => self.broke |= lanes,
            LeaveKind::Continue => self.continued |= lanes,
            LeaveKind::Long => self.long |= lanes,
            LeaveKind::Exit => self.exited |= lanes,
            LeaveKind::Return => {
                let called = self.stack.iter().any(|e| e.kind == EntryKind::Push(PushKind::Call));
                if called {
                    self.returned |= lanes;
                } else {
                    self.exited |= lanes;
                }
            }
        }
        self.active &= !lanes;
        self.go_or_unwind(next, joins_at_target)
    }

    /// Executes a join at which all active lanes have arrived. After popping a join entry, lanes continue at `behind`
    /// of its target.
    fn join(&mut self, behind: impl Fn(Block) -> Block, joins_at_target: bool) -> Result<Flow, BadStack> {
        // Pop nothing before it is certain that the stack has the entries that the rule requires.
        let top =
            self.stack.iter().rposition(|e| e.kind != EntryKind::Branch || e.mask & self.running() != 0);
        let Some(top) = top else { return Err(BadStack) };
        let entry = self.stack[top];
        let target = match entry.kind {
            EntryKind::Branch => entry.target,
            EntryKind::Push(PushKind::Join) => behind(entry.target),
            _ => return Err(BadStack),
        };
        self.stack.truncate(top);
        self.active = entry.mask & self.running();
        Ok(self.go_or_unwind(target, joins_at_target))
    }

    /// With no active lane left, pops entries until some lanes can continue.
    fn unwind(&mut self, joins_at_target: bool) -> Flow {
        while let Some(entry) = self.stack.pop() {
            if let EntryKind::Push(kind) = entry.kind
                && let Some(leavers) = self.leavers(kind)
            {
                *leavers &= !entry.mask;
            }
            if entry.kind == EntryKind::Quad {
                continue;
            }
            self.active = entry.mask & self.running();
            if self.active != 0 {
                if entry.kind == EntryKind::Push(PushKind::Join) && !joins_at_target {
                    // Tesla: the join at the target pops it.
                    self.stack.push(entry);
                }
                return self.go(entry.target);
            }
        }
        self.ended = true;
        Flow::Ended
    }
}
