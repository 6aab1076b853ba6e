//! Finds the instructions that a program can reach and where its blocks begin: one explorer for all instruction sets.
//!
//! In: a [`Source`], which decodes the instruction at an address and says where it leads, and the addresses to begin at
//! ([`Reachable::lead`]). Out: a [`Reachable`] of instructions and *leaders*, the addresses where blocks begin. An instruction set may find
//! more leaders later, from what it learns of the code, and follow those ([`Reachable::follow`]).
//!
//! An address (`At`) is whatever tells two points of execution from each other. For VP1 that is a bundle and what is pending there.

use std::collections::{BTreeMap, BTreeSet};

use warpjit_ir::{Meter, Stopped};

/// How execution goes on after an instruction.
pub(crate) enum After<At> {
    /// At this address, in the same block.
    Next(At),
    /// A block ends.
    Ends,
}

/// Code that can be followed.
pub(crate) trait Source<At> {
    /// An instruction.
    type Inst;

    /// The instruction at an address, if the hardware would find one there.
    fn decode(&mut self, at: At) -> Option<Self::Inst>;

    /// Adds to `leaders` the addresses of blocks that it leads to. Says how execution goes on.
    fn leads(&mut self, at: At, inst: &Self::Inst, leaders: &mut Vec<At>) -> Result<After<At>, Stopped>;
}

/// The code that has been found to be reachable.
pub(crate) struct Reachable<At, I> {
    /// Instructions, each with the number of the run of code that it was decoded in.
    insts: BTreeMap<At, (I, usize)>,
    /// The leaders of each run. Runs may overlap where something leads into the middle of an instruction.
    runs: Vec<BTreeSet<At>>,
    leaders: BTreeSet<At>,
    /// Leaders whose code has not been decoded yet.
    work: Vec<At>,
    /// Leaders whose block ends earlier than before, since something leads into it.
    shortened: BTreeSet<At>,
}

impl<At: Copy + Ord, I> Reachable<At, I> {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Reachable {
            insts: BTreeMap::new(),
            runs: Vec::new(),
            leaders: BTreeSet::new(),
            work: Vec::new(),
            shortened: BTreeSet::new(),
        }
    }

    /// A block begins at an address.
    pub(crate) fn lead(&mut self, at: At) {
        if !self.leaders.insert(at) {
            return;
        }
        match self.insts.get(&at) {
            None => self.work.push(at),
            Some(&(_, run)) => {
                // The block that it is in ends there now, and leads there.
                let run = &mut self.runs[run];
                self.shortened.extend(run.range(..at).next_back());
                run.insert(at);
            }
        }
    }

    /// A block begins at an address, whose code is not followed.
    pub(crate) fn lead_only(&mut self, at: At) {
        self.leaders.insert(at);
    }

    /// Decodes what leaders begin, and what that leads to.
    pub(crate) fn follow(
        &mut self,
        source: &mut impl Source<At, Inst = I>,
        meter: &Meter,
    ) -> Result<(), Stopped> {
        let mut leaders = Vec::new();
        while let Some(start) = self.work.pop() {
            if self.insts.contains_key(&start) {
                continue;
            }
            let mut at = start;
            let run = self.runs.len();
            self.runs.push(BTreeSet::new());
            loop {
                if self.insts.contains_key(&at) {
                    // What was decoded before goes on from here: an instruction is in one run only.
                    self.lead(at);
                    break;
                }
                meter.step(1)?;
                let Some(inst) = source.decode(at) else {
                    // The fault needs a block of its own only where something leads to it.
                    self.lead_only(at);
                    break;
                };
                meter.hold(size_of::<(At, I, usize)>())?;
                let after = source.leads(at, &inst, &mut leaders)?;
                self.insts.insert(at, (inst, run));
                if self.leaders.contains(&at) {
                    self.runs[run].insert(at);
                }
                leaders.drain(..).for_each(|at| self.lead(at));
                match after {
                    After::Next(next) => at = next,
                    After::Ends => break,
                }
            }
        }
        Ok(())
    }

    /// The instruction at an address, if there is one that can be reached.
    pub(crate) fn inst(&self, at: At) -> Option<&I> {
        self.insts.get(&at).map(|(inst, _)| inst)
    }

    /// All instructions, in order.
    pub(crate) fn insts(&self) -> impl Iterator<Item = &I> + '_ {
        self.insts.values().map(|(inst, _)| inst)
    }

    /// Where blocks begin, in order.
    pub(crate) fn leaders(&self) -> impl Iterator<Item = At> + '_ {
        self.leaders.iter().copied()
    }

    /// Whether a block begins at an address.
    pub(crate) fn is_leader(&self, at: At) -> bool {
        self.leaders.contains(&at)
    }

    /// A leader whose block has become shorter since it was asked for last.
    pub(crate) fn take_shortened(&mut self) -> Option<At> {
        self.shortened.pop_first()
    }
}
