//! Successors, predecessors, reverse postorder.

use crate::entities::Block;
use crate::function::{Function, Terminator};
use crate::graph;

/// The control flow graph.
///
/// A pushed target counts as a successor of the push. An indirect branch may go to every block of
/// [`Function::block_at`].
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
            let mut add = |to: Block| {
                if to.index() < count && !out.contains(&to) {
                    out.push(to);
                }
            };
            match &func.block(block).term {
                Some(Terminator::BranchIndirect { .. }) => func.block_at.values().copied().for_each(&mut add),
                Some(term) => term.for_each_successor(&mut add),
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

    /// Whether the entry leads to the block.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.rpo_index[block.index()].is_some()
    }
}
