//! Which instructions a program can reach, and where its blocks begin.

use std::collections::{BTreeMap, BTreeSet};

/// Where an instruction leads.
#[derive(Debug, Default)]
pub(crate) struct Leads {
    /// The address behind it.
    pub(crate) next: u32,
    /// Addresses that it names.
    pub(crate) targets: Vec<u32>,
    /// It may lead to any instruction.
    pub(crate) anywhere: bool,
    /// A block ends behind it.
    pub(crate) ends: bool,
    /// Execution can go on behind it.
    pub(crate) goes_on: bool,
}

/// Code that can be followed.
pub(crate) trait Source {
    /// An instruction.
    type Inst;

    /// The instruction at an address, if the hardware would find one there.
    fn decode(&self, pc: u32) -> Option<Self::Inst>;

    /// Where it leads.
    fn leads(&self, inst: &Self::Inst) -> Leads;

    /// Everywhere that an instruction begins.
    fn starts(&self) -> Vec<u32>;
}

/// The reachable code.
pub(crate) struct Graph<I> {
    insts: BTreeMap<u32, I>,
    leaders: BTreeSet<u32>,
}

impl<I> Graph<I> {
    /// Follows the program from its entry.
    pub(crate) fn explore(source: &impl Source<Inst = I>, entry: u32) -> Graph<I> {
        let mut graph = Graph { insts: BTreeMap::new(), leaders: BTreeSet::new() };
        let mut work = vec![entry];
        graph.leaders.insert(entry);
        let mut anywhere = false;
        while let Some(start) = work.pop() {
            let mut pc = start;
            while !graph.insts.contains_key(&pc) {
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
                leads.targets.iter().copied().for_each(&mut lead);
                if leads.anywhere && !anywhere {
                    anywhere = true;
                    source.starts().into_iter().for_each(&mut lead);
                }
                if leads.ends {
                    if leads.goes_on {
                        lead(leads.next);
                    }
                    break;
                }
                pc = leads.next;
            }
        }
        graph
    }

    /// The instruction at an address, if there is one.
    pub(crate) fn inst(&self, pc: u32) -> Option<&I> {
        self.insts.get(&pc)
    }

    /// All instructions, in order.
    pub(crate) fn insts(&self) -> impl Iterator<Item = &I> + '_ {
        self.insts.values()
    }

    /// Where blocks begin, in order.
    pub(crate) fn leaders(&self) -> impl Iterator<Item = u32> + '_ {
        self.leaders.iter().copied()
    }
}
