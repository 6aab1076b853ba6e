//! The control-flow graph of a kernel in SPMD form, for any content of the divergence stack.
//!
//! A leave may go to every target pushed for its kind, lanes waiting at a join may resume at every join target, and an indirect
//! branch may go to every block of [`Function::block_at`]. With one edge for each pair, `n` leaves and `n` pushes would have `n²`
//! edges. So the graph has *hubs*, nodes without code: all leaves of a kind lead to one hub, and the hub leads to all targets.

use warpjit_ir_core::entities::Block;
use warpjit_ir_core::function::{Function, PushKind, Terminator};

/// A node without code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hub {
    /// Lanes that leave by an entry of this kind, or that resume at its target.
    Leave(PushKind),
    /// Indirect branches.
    Indirect,
}

const HUBS: [Hub; 6] = [
    Hub::Leave(PushKind::Join),
    Hub::Leave(PushKind::Break),
    Hub::Leave(PushKind::Continue),
    Hub::Leave(PushKind::Call),
    Hub::Leave(PushKind::Long),
    Hub::Indirect,
];

impl Hub {
    fn index(self) -> usize {
        match self {
            Hub::Leave(kind) => kind as usize,
            Hub::Indirect => HUBS.len() - 1,
        }
    }
}

/// The graph. Nodes below [`Flow::blocks`] are blocks, by number; the others are hubs.
#[derive(Clone, Debug)]
pub struct Flow {
    blocks: usize,
    /// For each node: the start of its successors in `targets`; then the end of the last ones.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Flow {
    /// The graph of a kernel.
    pub fn new(func: &Function) -> Flow {
        let blocks = func.blocks.len();
        let hub = |hub: Hub| (blocks + hub.index()) as u32;
        let mut lists: [Vec<u32>; HUBS.len()] = Default::default();
        for b in func.block_ids() {
            let (kind, target) = match func.term(b) {
                Terminator::Push { kind, target, .. } => (*kind, *target),
                Terminator::Call { ret, .. } => (PushKind::Call, *ret),
                _ => continue,
            };
            let list = &mut lists[Hub::Leave(kind).index()];
            list.push(target.0);
            if kind == PushKind::Join {
                // Where lanes continue that pop this entry at another of Tesla's joins. The join that the entry names
                // has an edge of its own.
                let named = func.block(target);
                let behind = func.term(target).behind_target(named.pc, named.term_pc);
                list.extend(behind.map(|behind| behind.0));
            }
        }
        if func.blocks.iter().any(|data| matches!(data.term, Some(Terminator::BranchIndirect { .. }))) {
            lists[Hub::Indirect.index()].extend(func.block_at.values().map(|block| block.0));
        }
        let mut flow = Flow { blocks, starts: vec![0], targets: Vec::with_capacity(2 * blocks) };
        for b in func.block_ids() {
            let out = &mut flow.targets;
            match func.term(b) {
                // The target of a push is reached by the leave or join, not from here.
                Terminator::Push { next, .. } => out.push(next.0),
                Terminator::Call { target, .. } => out.push(target.0),
                Terminator::Leave { kind, cond, next } => {
                    out.extend(cond.map(|_| next.0));
                    out.extend(kind.entry().map(|kind| hub(Hub::Leave(kind))));
                }
                Terminator::Join { next, .. } => {
                    out.push(next.0);
                    out.push(hub(Hub::Leave(PushKind::Join)));
                }
                Terminator::BranchIndirect { .. } => out.push(hub(Hub::Indirect)),
                other => other.for_each_successor(|s| out.push(s.0)),
            }
            flow.starts.push(flow.targets.len() as u32);
        }
        for mut list in lists {
            list.sort_unstable();
            list.dedup();
            flow.targets.extend(list);
            flow.starts.push(flow.targets.len() as u32);
        }
        flow
    }

    /// Nodes that are blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// All nodes, hubs included.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Successors of a node.
    pub fn successors(&self, node: usize) -> &[u32] {
        &self.targets[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// Predecessors of each node. A node may be listed twice.
    pub fn predecessors(&self) -> Predecessors {
        let nodes = self.nodes();
        let mut starts = vec![0; nodes + 1];
        self.targets.iter().for_each(|&to| starts[to as usize + 1] += 1);
        for n in 0..nodes {
            starts[n + 1] += starts[n];
        }
        let mut sources = vec![0; self.targets.len()];
        let mut next = starts.clone();
        for node in 0..nodes {
            for &to in self.successors(node) {
                let place = &mut next[to as usize];
                sources[*place as usize] = node as u32;
                *place += 1;
            }
        }
        Predecessors { starts, sources }
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> usize {
        4 * (self.starts.len() + self.targets.len())
    }

    /// The blocks that may follow a block, directly or through a hub.
    pub fn behind(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        let direct = self.successors(block.index()).iter().copied();
        direct.flat_map(move |to| {
            let hub = to as usize >= self.blocks;
            let through = if hub { self.successors(to as usize) } else { &[] };
            (!hub).then_some(to).into_iter().chain(through.iter().copied()).map(Block)
        })
    }
}

/// Predecessors of the nodes of a [`Flow`].
#[derive(Clone, Debug)]
pub struct Predecessors {
    starts: Vec<u32>,
    sources: Vec<u32>,
}

impl Predecessors {
    /// The predecessors of a node.
    pub fn of(&self, node: usize) -> &[u32] {
        &self.sources[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::random::random_kernel;
    use super::*;

    /// The edges by definition, one by one.
    fn behind(func: &Function, b: Block) -> BTreeSet<Block> {
        let mut targets: Vec<(PushKind, Block)> = Vec::new();
        for b in func.block_ids() {
            match func.term(b) {
                Terminator::Push { kind, target, .. } => targets.push((*kind, *target)),
                Terminator::Call { ret, .. } => targets.push((PushKind::Call, *ret)),
                _ => {}
            }
        }
        let of = |kind: PushKind| targets.iter().filter(move |t| t.0 == kind).map(|t| t.1);
        let mut list = BTreeSet::new();
        match func.term(b) {
            Terminator::Push { next, .. } => _ = list.insert(*next),
            Terminator::Call { target, .. } => _ = list.insert(*target),
            Terminator::Leave { kind, cond, next } => {
                list.extend(cond.map(|_| *next));
                list.extend(kind.entry().into_iter().flat_map(of));
            }
            Terminator::Join { next, .. } => {
                list.insert(*next);
                let resumed = of(PushKind::Join);
                list.extend(resumed.flat_map(|target| [target, func.behind_join(b, *next, target)]));
            }
            Terminator::BranchIndirect { .. } => list.extend(func.block_at.values()),
            other => other.for_each_successor(|s| _ = list.insert(s)),
        }
        list
    }

    #[test]
    fn hubs_lead_where_pairs_would() {
        let mut hubs = 0;
        for seed in 0..200 {
            let func = random_kernel(seed);
            let flow = Flow::new(&func);
            let preds = flow.predecessors();
            for b in func.block_ids() {
                let found: BTreeSet<Block> = flow.behind(b).collect();
                assert_eq!(found, behind(&func, b), "seed {seed}, {b}:\n{func}");
                for &to in flow.successors(b.index()) {
                    hubs += usize::from(to as usize >= flow.blocks());
                    assert!(preds.of(to as usize).contains(&b.0));
                }
            }
        }
        assert!(hubs > 1000, "{hubs}");
    }
}
