//! Finds the instructions that a program can reach and where its blocks begin, for Tesla and Fermi.

use std::collections::{BTreeMap, BTreeSet};

use warpjit_ir::{Block, Function, GuestFault, Meter, Stopped, Terminator};

use super::Emitter;

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

/// The reachable code.
pub(crate) struct Graph<I> {
    insts: BTreeMap<u32, I>,
    leaders: BTreeSet<u32>,
}

impl<I> Graph<I> {
    /// Follows the program from its entry.
    pub(crate) fn explore(
        source: &impl Source<Inst = I>,
        entry: u32,
        meter: &Meter,
    ) -> Result<Graph<I>, Stopped> {
        meter.stage("finding the code that can be reached")?;
        let mut graph = Graph { insts: BTreeMap::new(), leaders: BTreeSet::new() };
        let mut work = vec![entry];
        graph.leaders.insert(entry);
        let mut sets = BTreeSet::new();
        let mut behind = BTreeSet::new();
        while let Some(start) = work.pop() {
            let mut pc = start;
            while !graph.insts.contains_key(&pc) {
                meter.step(1)?;
                meter.hold(size_of::<I>() + 8)?;
                let Some(inst) = source.decode(pc) else {
                    // The fault needs a block of its own only where something leads to it.
                    graph.leaders.insert(pc);
                    break;
                };
                let leads = source.leads(&inst);
                graph.insts.insert(pc, inst);
                let mut lead = |to: u32| {
                    if graph.leaders.insert(to) {
                        work.push(to);
                    }
                };
                leads.target.into_iter().for_each(&mut lead);
                if let Some(set) = leads.set.filter(|&set| sets.insert(set)) {
                    let set = source.set(set);
                    meter.step(set.len())?;
                    set.into_iter().for_each(&mut lead);
                }
                if leads.ends {
                    if leads.block_behind {
                        behind.insert(leads.next);
                    } else if leads.goes_on {
                        lead(leads.next);
                    }
                    break;
                }
                pc = leads.next;
            }
        }
        graph.leaders.extend(behind);
        Ok(graph)
    }

    /// The instruction at an address, if there is one.
    pub(crate) fn inst(&self, pc: u32) -> Option<&I> {
        self.insts.get(&pc)
    }

    /// All instructions, in order.
    pub(crate) fn insts(&self) -> impl Iterator<Item = &I> + '_ {
        self.insts.values()
    }

    /// Adds a block for each leader, and before them the function's entry, which no branch leads to: the first
    /// instruction may be a loop's head.
    pub(crate) fn blocks(&self, func: &mut Function, entry: u32) -> Blocks {
        func.entry = func.add_block(entry);
        let blocks: BTreeMap<u32, Block> = self.leaders.iter().map(|&pc| (pc, func.add_block(pc))).collect();
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
