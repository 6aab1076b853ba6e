//! The graph of a lane region ([`Plan`]): what exploring finds ([`super::explore`]), and what becomes a function ([`super::promote`]).

use foldhash::{HashMap, HashMapExt};
use warpjit_ir_core::entities::{Block, Value};
use warpjit_ir_core::exit::ExitKind;
use warpjit_ir_core::function::{Function, GuestFault};
use warpjit_ir_core::graph;

/// How a lane continues after a node. Numbers are nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeTerm {
    /// Continues at a node.
    Jump(usize),
    /// Continues at the first node if the condition holds, else at the second.
    Branch(Value, usize, usize),
    /// The same, if all lanes agree. Otherwise the region takes the exit with this index in [`Plan::exits`]; `None`:
    /// they always agree.
    Agree(Value, usize, usize, Option<usize>),
    /// Continues at the node if the condition holds in no lane, otherwise takes the exit.
    Unless(Value, usize, usize),
    /// Continues at the node if the steps left suffice for one pass through the region ([`Plan::steps`]), otherwise
    /// takes the exit.
    Limit(usize, usize),
    /// The thread ends.
    End,
    /// Takes the exit with this index in [`Plan::exits`], with the condition for its terminator.
    Exit(usize, Option<Value>),
    /// The guest faults.
    Fault(GuestFault),
}

impl NodeTerm {
    /// The nodes at which it may continue.
    fn targets_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        let targets = match self {
            NodeTerm::Jump(to) | NodeTerm::Unless(_, to, _) | NodeTerm::Limit(to, _) => [Some(to), None],
            NodeTerm::Branch(_, taken, next) | NodeTerm::Agree(_, taken, next, _) => {
                [Some(taken), Some(next)]
            }
            NodeTerm::End | NodeTerm::Exit(..) | NodeTerm::Fault(_) => [None, None],
        };
        targets.into_iter().flatten()
    }
}

/// A block together with the stack entries pushed since the region's start.
#[derive(Clone, Debug)]
pub struct Node {
    /// The block whose body runs; `None` for a node without a body.
    pub block: Option<Block>,
    /// What comes after it.
    pub term: NodeTerm,
}

/// A region's graph.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Nodes; the region starts at the first.
    pub nodes: Vec<Node>,
    /// Its exits; the first is [`ExitKind::Ended`].
    pub exits: Vec<ExitKind>,
    /// Whether one of its loops may wait for other warps.
    pub may_wait: bool,
}

impl Plan {
    /// Successor lists of the nodes.
    pub fn successors(&self) -> Vec<Vec<usize>> {
        let of = |node: &Node| {
            let mut list: Vec<usize> = node.term.clone().targets_mut().map(|to| *to).collect();
            list.dedup();
            list
        };
        self.nodes.iter().map(of).collect()
    }

    /// The most guest instructions on any path through the region that takes no back edge.
    pub fn steps(&self, func: &Function) -> u32 {
        let blocks = self.nodes.iter().filter_map(|node| node.block);
        blocks.fold(0, |sum, block| sum.saturating_add(func.block(block).guest_insts))
    }

    /// Puts a [`NodeTerm::Limit`] on every back edge; `None` for an irreducible graph.
    pub fn limit_loops(mut self) -> Option<Plan> {
        let loops = graph::natural_loops(&self.successors(), 0)?;
        let mut limits: HashMap<usize, usize> = HashMap::new();
        for n in 0..self.nodes.len() {
            let mut term = self.nodes[n].term;
            for to in term.targets_mut() {
                let header = *to;
                let leads_back =
                    |(l, of): (usize, &graph::Loop<usize>)| of.header == header && loops.is_in(l, n);
                if !loops.loops.iter().enumerate().any(leads_back) {
                    continue;
                }
                *to = *limits.entry(header).or_insert_with(|| {
                    let kind = ExitKind::Enter(self.nodes[header].block.expect("a loop's header has a body"));
                    let exit = self.exits.iter().position(|e| *e == kind).unwrap_or_else(|| {
                        self.exits.push(kind);
                        self.exits.len() - 1
                    });
                    self.nodes.push(Node { block: None, term: NodeTerm::Limit(header, exit) });
                    self.nodes.len() - 1
                });
            }
            self.nodes[n].term = term;
        }
        Some(self)
    }
}
