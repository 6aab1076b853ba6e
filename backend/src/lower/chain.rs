//! Code for a chain ([`crate::compile_chain`]): regions of a kernel, each with its loop over chunks, and between them what the driver
//! would do: look which exit the warp has taken, decide a branch by its condition in all lanes, check the next region's lane patterns, and
//! count.

use cranelift_codegen::ir::SourceLoc;
use warpjit_ir::regions::promote::FAULT_EXIT;
use warpjit_ir::{Slot, Terminator};

use super::Lower;
use crate::clif::{HostBlock, HostIntCC, I32, I64, V};
use crate::context::at;
use crate::error::Error;
use crate::options::{Link, LinkExit, Passage};
use crate::shape::SlotShape;

/// Where the host's function is in a chain.
pub(super) struct OfChain<'a> {
    links: &'a [Link<'a>],
    frame: V,
    /// Where links start.
    heads: Vec<HostBlock>,
    /// For the links that others fall back to: where their assumptions are checked first.
    arrivals: Vec<Option<HostBlock>>,
    /// The link that is written, and where its last chunk goes, with the exit there.
    number: usize,
    done: HostBlock,
    exit: V,
}

impl OfChain<'_> {
    /// The number of an exit of the link that is written; those of faults are told apart from other links'.
    pub fn exit(&self, exit: u64) -> u64 {
        let faults = u64::from(FAULT_EXIT)..=u64::from(u32::MAX);
        if faults.contains(&exit) { exit + u64::from(self.links[self.number].first_fault) } else { exit }
    }
}

impl<'a> Lower<'a, '_> {
    /// Begins the function: goes to the link that the context names.
    pub(super) fn begin_chain(&mut self, links: &'a [Link<'a>]) {
        let entry = self.e.block();
        self.context = self.e.param(entry, I64);
        let frame = self.e.param(entry, I64);
        let heads: Vec<HostBlock> = links.iter().map(|_| self.e.block()).collect();
        self.e.switch_to(entry);
        let zero = self.e.imm(I64, 0);
        self.e.store(zero, self.context, at::EXITED);
        self.e.store(zero, self.context, at::COND);
        let link = self.e.load(I32, self.context, at::LINK);
        self.e.jump_table(link, &heads);
        let arrivals = vec![None; links.len()];
        let exit = zero;
        self.of_chain = Some(OfChain { links, frame, done: heads[0], heads, arrivals, number: 0, exit });
    }

    /// A link.
    pub(super) fn link(&mut self, number: usize) -> Result<(), Error> {
        self.e.b.set_srcloc(SourceLoc::default());
        let done = self.e.block();
        let exit = self.e.param(done, I64);
        let Some(chain) = &mut self.of_chain else {
            return Err(Error::Malformed("a link of no chain".into()));
        };
        (chain.number, chain.done, chain.exit) = (number, done, exit);
        let (head, frame) = (chain.heads[number], chain.frame);
        self.e.switch_to(head);
        self.frame = frame;
        if self.returns().iter().any(|&(_, _, has_cond)| has_cond) {
            let zero = self.e.imm(I64, 0);
            self.e.store(zero, self.context, at::COND);
        }
        self.preload();
        self.chunks(self.options.all_enter, Some(done))
    }

    /// The exits that the link's code takes: number, whether threads may end there, whether it has a condition.
    fn returns(&self) -> Vec<(u32, bool, bool)> {
        let mut list: Vec<(u32, bool, bool)> = Vec::new();
        for &b in &self.blocks.order.blocks {
            if let Terminator::Return { exit, exited, cond } = self.f.term(b)
                && *exit < FAULT_EXIT
            {
                let ends = exited.is_some_and(|lanes| self.f.as_const(lanes) != Some(0));
                match list.iter_mut().find(|(known, ..)| known == exit) {
                    Some((_, some_end, has_cond)) => {
                        *some_end |= ends;
                        *has_cond |= cond.is_some();
                    }
                    None => list.push((*exit, ends, cond.is_some())),
                }
            }
        }
        list.sort_by_key(|(exit, ..)| *exit);
        list
    }

    /// What follows a link: where its last chunk goes.
    pub(super) fn end_link(&mut self) -> Result<(), Error> {
        let Some(chain) = &self.of_chain else { return Ok(()) };
        let (links, number, done, exit) = (chain.links, chain.number, chain.done, chain.exit);
        let link = &links[number];
        self.e.switch_to(done);
        let left = self.e.load(I64, self.context, at::CHAIN_LEFT);
        let left = self.e.iadd_imm(left, u64::from(link.insts).wrapping_neg());
        self.e.store(left, self.context, at::CHAIN_LEFT);
        let returns = self.returns();
        // The threads of only some chunks may end where there are other exits, too.
        let some_end = returns.iter().any(|&(_, ends, _)| ends) || returns.len() > 1 && returns[0].0 == 0;
        for (place, &(own, ..)) in returns.iter().enumerate() {
            let link_exit = link.exits.get(own as usize);
            let link_exit =
                link_exit.ok_or_else(|| Error::Malformed(format!("nothing said of exit {own}")))?;
            let other = (place + 1 < returns.len()).then(|| self.e.block());
            if let Some(other) = other {
                let this = self.e.block();
                let is_it = self.e.icmp_imm(HostIntCC::Equal, exit, u64::from(own));
                self.e.brif(is_it, (this, &[]), (other, &[]));
                self.e.switch_to(this);
            }
            if some_end && (link_exit.next.is_some() || link_exit.taken.is_some()) {
                let ended = self.e.load(I64, self.context, at::EXITED);
                let (leaves, none) = (self.e.cold_block(), self.e.block());
                self.e.brif(ended, (leaves, &[]), (none, &[]));
                self.e.switch_to(leaves);
                self.return_with(link_exit.exit);
                self.e.switch_to(none);
            }
            self.follow(link_exit, left);
            if let Some(other) = other {
                self.e.switch_to(other);
            }
        }
        if returns.is_empty() {
            // Every lane faults.
            self.return_with(0);
        }
        if number + 1 == links.len() {
            self.check_arrivals();
        }
        Ok(())
    }

    /// Returns from the function.
    fn return_with(&mut self, exit: u32) {
        let exit = self.e.imm(I64, exit.into());
        self.e.ret(exit);
    }

    /// Goes where an exit leads.
    fn follow(&mut self, link_exit: &'a LinkExit, left: V) {
        if !link_exit.branches {
            return self.pass(link_exit.next.as_ref(), link_exit.exit, left);
        }
        let active = self.e.load(I64, self.context, at::ACTIVE);
        let cond = self.e.load(I64, self.context, at::COND);
        let holds = self.e.band(active, cond);
        let (some, none) = (self.e.block(), self.e.block());
        self.e.brif(holds, (some, &[]), (none, &[]));
        self.e.switch_to(some);
        if !link_exit.any {
            let (all, part) = (self.e.block(), self.e.cold_block());
            let agree = self.e.icmp(HostIntCC::Equal, holds, active);
            self.e.brif(agree, (all, &[]), (part, &[]));
            self.e.switch_to(part);
            self.return_with(link_exit.exit);
            self.e.switch_to(all);
        }
        self.pass(link_exit.taken.as_ref(), link_exit.exit, left);
        self.e.switch_to(none);
        self.pass(link_exit.next.as_ref(), link_exit.exit, left);
    }

    /// Goes to the next link, if there is one and instructions are left.
    fn pass(&mut self, passage: Option<&'a Passage>, exit: u32, left: V) {
        let Some(Passage { to, checks }) = passage else { return self.return_with(exit) };
        let Some(chain) = &self.of_chain else { return };
        let (link, head) = (&chain.links[*to], chain.heads[*to]);
        let (spent, more) = (self.e.cold_block(), self.e.block());
        let is_spent = self.e.icmp_imm(HostIntCC::SignedLessThan, left, 0);
        self.e.brif(is_spent, (spent, &[]), (more, &[]));
        self.e.switch_to(spent);
        self.return_with(link.enter);
        self.e.switch_to(more);
        self.check_and_go(checks, head, link);
    }

    /// Goes to the head of a link if a warp's slots are as `checks` says, else to its other version, or back to the driver.
    fn check_and_go(&mut self, checks: &[(Slot, SlotShape)], head: HostBlock, link: &'a Link<'a>) {
        let frame = self.of_chain.as_ref().map_or(self.frame, |chain| chain.frame);
        let Some(odd) = self.mismatch(checks, frame) else { return self.e.jump(head, &[]) };
        let unfit = match link.otherwise {
            Some(other) => self.arrival(other),
            None => self.e.cold_block(),
        };
        self.e.brif(odd, (unfit, &[]), (head, &[]));
        if link.otherwise.is_none() {
            self.e.switch_to(unfit);
            self.return_with(link.enter);
        }
    }

    /// Where all assumptions of a link are checked.
    fn arrival(&mut self, link: usize) -> HostBlock {
        let known = self.of_chain.as_ref().and_then(|chain| chain.arrivals[link]);
        let block = known.unwrap_or_else(|| self.e.block());
        if let Some(chain) = &mut self.of_chain {
            chain.arrivals[link] = Some(block);
        }
        block
    }

    /// Writes the checks of links that others fall back to, at the end of the function.
    fn check_arrivals(&mut self) {
        let Some(chain) = &self.of_chain else { return };
        let (links, heads) = (chain.links, chain.heads.clone());
        let mut written = vec![false; links.len()];
        // A check may lead to another one.
        while let Some(number) = self.of_chain.as_ref().and_then(|chain| {
            (0..links.len()).find(|&number| chain.arrivals[number].is_some() && !written[number])
        }) {
            written[number] = true;
            let arrival = self.arrival(number);
            self.e.switch_to(arrival);
            self.check_and_go(&links[number].checks, heads[number], &links[number]);
        }
    }
}
