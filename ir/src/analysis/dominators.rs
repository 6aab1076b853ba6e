//! The dominator tree.

use super::Cfg;
use crate::entities::Block;
use crate::graph;

/// Which blocks stand on every path to which.
pub struct Dominators {
    /// Immediate dominator of each block; nothing for the entry and for unreachable blocks.
    pub idom: Vec<Option<Block>>,
    /// Blocks that each block dominates immediately, in reverse postorder.
    pub children: Vec<Vec<Block>>,
    /// Places in a walk over the tree: a dominates b if a's interval holds b's.
    enter: Vec<u32>,
    leave: Vec<u32>,
}

impl Dominators {
    /// Computes the tree.
    pub fn new(cfg: &Cfg) -> Dominators {
        let count = cfg.succs.len();
        let mut idom = graph::immediate_dominators_in(&cfg.rpo, &cfg.preds);
        let mut children = vec![Vec::new(); count];
        let mut enter = vec![u32::MAX; count];
        let mut leave = vec![0; count];
        let Some(&entry) = cfg.rpo.first() else {
            return Dominators { idom, children, enter, leave };
        };
        idom[entry.index()] = None;
        for &block in &cfg.rpo {
            if let Some(up) = idom[block.index()] {
                children[up.index()].push(block);
            }
        }
        let mut clock = 0;
        let mut path = vec![(entry, 0)];
        enter[entry.index()] = 0;
        while let Some((block, child)) = path.last_mut() {
            let block = *block;
            match children[block.index()].get(*child) {
                Some(&down) => {
                    *child += 1;
                    clock += 1;
                    enter[down.index()] = clock;
                    path.push((down, 0));
                }
                None => {
                    leave[block.index()] = clock;
                    path.pop();
                }
            }
        }
        Dominators { idom, children, enter, leave }
    }

    /// Whether `a` stands on every path to `b`; a block dominates itself. False for unreachable blocks.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        let (a, b) = (a.index(), b.index());
        self.enter[b] != u32::MAX && self.enter[a] <= self.enter[b] && self.enter[b] <= self.leave[a]
    }
}
