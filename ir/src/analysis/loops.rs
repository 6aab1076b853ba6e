//! Natural loops.

use super::{Cfg, Dominators};
use crate::entities::Block;

/// A natural loop. Loops with one header count as one.
pub struct Loop {
    /// The block that dominates the loop.
    pub header: Block,
    /// All blocks of the loop, inner loops included, in reverse postorder.
    pub blocks: Vec<Block>,
    /// Blocks of the loop that branch back to the header.
    pub latches: Vec<Block>,
    /// Index of the smallest loop around this one.
    pub parent: Option<usize>,
    /// 1 for an outermost loop.
    pub depth: u32,
}

/// All natural loops, outer ones before the loops they hold. Cycles with several entries are none.
pub struct Loops {
    /// The loops.
    pub loops: Vec<Loop>,
    /// Innermost loop of each block.
    pub innermost: Vec<Option<usize>>,
}

impl Loops {
    /// Finds the loops.
    pub fn new(cfg: &Cfg, dom: &Dominators) -> Loops {
        let mut loops: Vec<Loop> = Vec::new();
        let mut innermost: Vec<Option<usize>> = vec![None; cfg.succs.len()];
        // Headers in reverse postorder: an outer header stands before an inner one.
        for &header in &cfg.rpo {
            let latches: Vec<Block> = cfg.preds[header.index()]
                .iter()
                .copied()
                .filter(|&p| cfg.is_reachable(p) && dom.dominates(header, p))
                .collect();
            if latches.is_empty() {
                continue;
            }
            let mut inside = vec![false; cfg.succs.len()];
            inside[header.index()] = true;
            let mut work = latches.clone();
            while let Some(block) = work.pop() {
                if !std::mem::replace(&mut inside[block.index()], true) {
                    work.extend(cfg.preds[block.index()].iter().filter(|&&p| cfg.is_reachable(p)));
                }
            }
            let blocks: Vec<Block> = cfg.rpo.iter().copied().filter(|b| inside[b.index()]).collect();
            let parent = innermost[header.index()];
            let depth = parent.map_or(1, |p| loops[p].depth + 1);
            for &block in &blocks {
                innermost[block.index()] = Some(loops.len());
            }
            loops.push(Loop { header, blocks, latches, parent, depth });
        }
        Loops { loops, innermost }
    }

    /// How many loops are around the block.
    pub fn depth(&self, block: Block) -> u32 {
        self.innermost[block.index()].map_or(0, |l| self.loops[l].depth)
    }

    /// Whether loop `index` holds the block.
    pub fn contains(&self, index: usize, block: Block) -> bool {
        let mut at = self.innermost[block.index()];
        while let Some(l) = at {
            if l == index {
                return true;
            }
            at = self.loops[l].parent;
        }
        false
    }
}
