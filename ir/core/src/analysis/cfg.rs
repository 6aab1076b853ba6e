//! The control-flow graph of a function: successors, predecessors and reverse postorder of its blocks.

use crate::entities::Block;
use crate::function::{Function, Terminator};
use crate::graph;

/// The control flow graph.
///
/// A pushed target counts as a successor of the push. An indirect branch may go to every block of
/// [`Function::block_at`]; that takes an edge for each, so kernels in SPMD form have `warpjit_ir_regions::flow` instead.
pub struct Cfg {
    /// Successors of each block, each once.
    pub succs: Vec<Vec<Block>>,
    /// Predecessors of each block, each once; unreachable ones included.
    pub preds: Vec<Vec<Block>>,
    /// Reachable blocks in reverse postorder, the entry first.
    pub rpo: Vec<Block>,
    /// Place of each block in `rpo`; nothing for an unreachable one.
    pub rpo_index: Vec<Option<u32>>,
}

impl Cfg {
    /// Computes the graph. Edges to blocks that do not exist are left out.
    pub fn new(func: &Function) -> Cfg {
        let count = func.blocks.len();
        let mut succs = vec![Vec::new(); count];
        for block in func.block_ids() {
            let out: &mut Vec<Block> = &mut succs[block.index()];
            match &func.block(block).term {
                Some(Terminator::BranchIndirect { .. }) => {
                    out.extend(func.block_at.values().filter(|to| to.index() < count));
                    out.sort_unstable();
                    out.dedup();
                }
                Some(term) => term.for_each_successor(|to| {
                    if to.index() < count && !out.contains(&to) {
                        out.push(to);
                    }
                }),
                None => {}
            }
        }
        let preds = graph::predecessors(&succs);
        let known = func.entry.index() < count;
        let rpo = if known { graph::reverse_postorder_first_near(&succs, func.entry) } else { Vec::new() };
        let mut rpo_index = vec![None; count];
        for (i, block) in rpo.iter().enumerate() {
            rpo_index[block.index()] = Some(i as u32);
        }
        Cfg { succs, preds, rpo, rpo_index }
    }

    /// The reachable blocks in reverse postorder, the entry first, in time that grows with the blocks whatever indirect branches there are.
    pub fn order(func: &Function) -> Vec<Block> {
        let (succs, indirect) = successors_by_hub(func);
        let mut order = graph::reverse_postorder_first_near(&succs, func.entry);
        order.retain(|&block| block != indirect);
        order
    }

    /// Whether some reachable edge leads back.
    pub fn has_loops(&self) -> bool {
        let place = |block: Block| self.rpo_index[block.index()];
        self.rpo.iter().any(|&from| self.succs[from.index()].iter().any(|&to| place(to) <= place(from)))
    }

    /// Whether the entry leads to the block.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.rpo_index[block.index()].is_some()
    }
}

/// Successors of each block of a valid function, with one node more, which is the second result: it stands for where
/// indirect branches lead. Else there would be an edge from each of them to each block.
pub(crate) fn successors_by_hub(func: &Function) -> (Vec<Vec<Block>>, Block) {
    let indirect = Block::new(func.blocks.len());
    let mut succs = vec![Vec::new(); func.blocks.len() + 1];
    succs[indirect.index()].extend(func.block_at.values());
    for block in func.block_ids() {
        match &func.block(block).term {
            Some(Terminator::BranchIndirect { .. }) => succs[block.index()].push(indirect),
            Some(term) => term.for_each_successor(|to| succs[block.index()].push(to)),
            None => {}
        }
    }
    (succs, indirect)
}
