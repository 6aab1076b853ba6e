//! Limits the sizes of a kernel's regions, so that compiling all of them takes time in proportion to the kernel.
//!
//! A region starts wherever another one exits and contains the code after that, so the same code may be in many regions. In an
//! ordinary kernel it is in a few. But a kernel can be made in which most blocks start regions of hundreds of blocks each. So the
//! effort for regions at different entries is added up. Once it exceeds an allowance, which grows with the kernel, the regions of
//! further entries are made smaller, in the end single blocks. Regions at the same entry always have the same size.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::entities::Block;
use crate::function::Function;

/// Most nodes of a region.
const MAX_NODES: usize = 400;
/// Most instructions of the IR before optimisation: compile time grows faster than linearly.
pub(super) const MAX_INSTS: usize = 6000;
/// Instructions that take as long to compile as a node by itself.
const INSTS_OF_NODE: usize = 16;
/// Nodes looked at to find out where a region ends, in the time that it takes to compile one.
const LOOKS_OF_NODE: u64 = 64;

/// Effort for regions of full size that every kernel may take: eight of the largest. Ordinary kernels take less than one.
const LEAST: usize = 8 * (MAX_NODES + MAX_INSTS / INSTS_OF_NODE);
/// How often each block may be compiled before regions are made smaller.
const TIMES: usize = 4;
/// Regions are made smaller so many times, to a quarter each time; then they are single blocks.
const LEVELS: usize = 4;

/// How large a region may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Most nodes.
    pub nodes: usize,
    /// Most instructions; a first block with more of them is a region of its own.
    pub insts: usize,
}

impl Size {
    fn at(level: usize) -> Size {
        Size { nodes: MAX_NODES >> (2 * level), insts: MAX_INSTS >> (2 * level) }
    }
}

/// The sizes of a kernel's regions, by the block that they start at.
#[derive(Debug)]
pub(super) struct Sizes {
    allowance: usize,
    spent: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    effort: usize,
    levels: HashMap<Block, usize>,
}

impl Sizes {
    /// Nothing has been spent.
    pub(super) fn new(func: &Function) -> Sizes {
        let blocks = func.blocks.iter().map(|block| 1 + block.insts.len() / INSTS_OF_NODE).sum::<usize>();
        Sizes { allowance: LEAST + TIMES * blocks, spent: Mutex::default() }
    }

    fn spent(&self) -> std::sync::MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How large the regions may be that start at a block, and whether that is asked for the first time; the asker then says what the region
    /// took.
    pub(super) fn of(&self, entry: Block) -> (Size, bool) {
        let mut spent = self.spent();
        let now = (spent.effort / self.allowance).min(LEVELS);
        let mut first = false;
        let level = *spent.levels.entry(entry).or_insert_with(|| {
            first = true;
            now
        });
        (Size::at(level), first)
    }

    /// A region took so many looks at blocks, and has so many nodes and instructions.
    pub(super) fn spend(&self, looks: u64, nodes: usize, insts: usize) {
        let effort = (looks / LOOKS_OF_NODE) as usize + nodes + insts / INSTS_OF_NODE;
        let mut spent = self.spent();
        spent.effort = spent.effort.saturating_add(effort);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::Form;

    #[test]
    fn regions_become_smaller_but_never_again_larger() {
        let sizes = Sizes { allowance: 1000, spent: Mutex::default() };
        let full = Size { nodes: MAX_NODES, insts: MAX_INSTS };
        assert_eq!(sizes.of(Block(0)), (full, true));
        sizes.spend(64 * 99, 800, 1600);
        assert_eq!(sizes.of(Block(1)), (full, true));
        sizes.spend(0, 1, 0);
        assert_eq!(sizes.of(Block(2)).0, Size { nodes: 100, insts: 1500 });
        sizes.spend(0, 1_000_000, 0);
        assert_eq!(sizes.of(Block(3)), (Size { nodes: 1, insts: 23 }, true));
        // As they were first.
        assert_eq!(sizes.of(Block(1)), (full, false));
        assert_eq!(sizes.of(Block(2)), (Size { nodes: 100, insts: 1500 }, false));
    }

    #[test]
    fn larger_kernels_may_take_more() {
        let mut func = Function::new("f", Form::Spmd, 32);
        (0..1000).for_each(|_| _ = func.add_block(0));
        assert_eq!(Sizes::new(&func).allowance, LEAST + 4000);
    }
}
