//! The reachable code of Tesla and Fermi, and its blocks in the IR. In: what a family says of its instructions ([`Source`]). Out: a
//! [`Graph`], and for each leader a block, which [`Emitter::blocks`] fills.

use std::collections::{BTreeMap, BTreeSet};

use warpjit_ir::{Block, Function, GuestFault, Meter, Stopped, Terminator};

use super::Emitter;
use crate::reachable::{self, After, Reachable};

/// Where an instruction leads.
#[derive(Debug, Default)]
pub(crate) struct Leads {
    /// The address after it.
    pub(crate) next: u32,
    /// The address that it names.
    pub(crate) target: Option<u32>,
    /// It may lead to any of a set of addresses ([`Source::set`]).
    pub(crate) set: Option<TargetSet>,
    /// A block ends after it.
    pub(crate) ends: bool,
    /// Execution can continue at the address after it.
    pub(crate) goes_on: bool,
    /// It cannot, but a block is needed there: of code in memory, what is behind the end of a program is not the program's.
    pub(crate) block_behind: bool,
}

/// A set of targets that several computed branches share. Each set is determined once, however many branches use it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum TargetSet {
    /// Everywhere that an instruction begins.
    Anywhere,
    /// The addresses in a constant bank.
    OfBank(u8),
}

/// Code that can be followed.
pub(crate) trait Source {
    /// An instruction.
    type Inst;

    /// The instruction at an address, if the hardware would find one there.
    fn decode(&self, pc: u32) -> Option<Self::Inst>;

    /// Where it leads.
    fn leads(&self, inst: &Self::Inst) -> Leads;

    /// The addresses of a set, in order.
    fn set(&self, set: TargetSet) -> Vec<u32>;
}

/// What has been asked of a source.
struct Followed<'a, S> {
    source: &'a S,
    meter: &'a Meter,
    /// Sets that are leaders already.
    sets: BTreeSet<TargetSet>,
    /// Blocks that are needed behind the ends of programs.
    behind: Vec<u32>,
}

impl<S: Source> reachable::Source<u32> for Followed<'_, S> {
    type Inst = S::Inst;

    fn decode(&mut self, pc: u32) -> Option<S::Inst> {
        self.source.decode(pc)
    }

    fn leads(&mut self, _: u32, inst: &S::Inst, leaders: &mut Vec<u32>) -> Result<After<u32>, Stopped> {
        let leads = self.source.leads(inst);
        leaders.extend(leads.target);
        if let Some(set) = leads.set.filter(|&set| self.sets.insert(set)) {
            let set = self.source.set(set);
            self.meter.step(set.len())?;
            leaders.extend(set);
        }
        if !leads.ends {
            return Ok(After::Next(leads.next));
        }
        if leads.block_behind {
            self.behind.push(leads.next);
        } else if leads.goes_on {
            leaders.push(leads.next);
        }
        Ok(After::Ends)
    }
}

/// The reachable code.
pub(crate) struct Graph<I>(Reachable<u32, I>);

impl<I> Graph<I> {
    /// Follows the program from its entry.
    pub(crate) fn explore(
        source: &impl Source<Inst = I>,
        entry: u32,
        meter: &Meter,
    ) -> Result<Graph<I>, Stopped> {
        meter.stage("finding the code that can be reached")?;
        let mut followed = Followed { source, meter, sets: BTreeSet::new(), behind: Vec::new() };
        let mut reach = Reachable::new();
        reach.lead(entry);
        reach.follow(&mut followed, meter)?;
        followed.behind.into_iter().for_each(|pc| reach.lead_only(pc));
        Ok(Graph(reach))
    }

    /// The instruction at an address, if there is one.
    pub(crate) fn inst(&self, pc: u32) -> Option<&I> {
        self.0.inst(pc)
    }

    /// All instructions, in order.
    pub(crate) fn insts(&self) -> impl Iterator<Item = &I> + '_ {
        self.0.insts()
    }

    /// Adds a block for each leader, and before them the function's entry, which no branch leads to: the first
    /// instruction may be a loop's head.
    pub(crate) fn blocks(&self, func: &mut Function, entry: u32) -> Blocks {
        func.entry = func.add_block(entry);
        let blocks: BTreeMap<u32, Block> = self.0.leaders().map(|pc| (pc, func.add_block(pc))).collect();
        func.block_at.clone_from(&blocks);
        Blocks(blocks)
    }
}

/// The blocks of a program by the addresses where they begin.
pub(crate) struct Blocks(BTreeMap<u32, Block>);

impl Blocks {
    /// The block that begins at an address.
    pub(crate) fn at(&self, pc: u32) -> Option<Block> {
        self.0.get(&pc).copied()
    }

    /// The block behind an instruction that ends one. The graph has made it a leader.
    pub(crate) fn behind(&self, next_pc: u32) -> Block {
        self.at(next_pc).unwrap_or(Block(0))
    }
}

impl<O> Emitter<'_, O> {
    /// Emits all blocks, each up to the next one or to its last instruction. `each` emits an instruction and gives the address
    /// behind it.
    pub(crate) fn blocks<I>(
        &mut self,
        graph: &Graph<I>,
        blocks: &Blocks,
        meter: &Meter,
        mut each: impl FnMut(&mut Self, &I) -> u32,
    ) -> Result<(), Stopped> {
        meter.stage("lifting")?;
        let mut held = 0;
        for (&start, &block) in &blocks.0 {
            self.start(block);
            let mut pc = start;
            loop {
                meter.step(1)?;
                self.at(pc);
                let Some(inst) = graph.inst(pc) else {
                    self.count();
                    self.terminate(Terminator::Fault(GuestFault::Illegal));
                    break;
                };
                pc = each(self, inst);
                if self.is_done() {
                    break;
                }
                if let Some(next) = blocks.at(pc) {
                    self.terminate(Terminator::Jump(next.into()));
                    break;
                }
            }
            let bytes = self.b.func.bytes();
            meter.hold(bytes - held)?;
            held = bytes;
        }
        Ok(())
    }
}
