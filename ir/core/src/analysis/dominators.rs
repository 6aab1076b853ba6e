//! The dominator tree of a function's blocks.

use super::Cfg;
use crate::entities::Block;
use crate::graph::DominatorTree;

/// Which blocks stand on every path to which.
pub type Dominators = DominatorTree<Block>;

impl Dominators {
    /// Computes the tree.
    pub fn of(cfg: &Cfg) -> Dominators {
        DominatorTree::new(&cfg.succs, &cfg.rpo)
    }
}
