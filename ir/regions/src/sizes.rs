//! Limits the sizes of a kernel's regions, so that compiling all of them takes time in proportion to the kernel.
//!
//! A region starts wherever another one exits and contains the code after that, so the same code may be in many regions. In an
//! ordinary kernel it is in a few. But a kernel can be made in which most blocks start regions of hundreds of blocks each. So the
//! effort for regions at different entries is added up. Once it exceeds an allowance, which grows with the kernel, the regions of
//! further entries are made smaller, in the end single blocks. Regions at the same entry always have the same size.

use std::sync::{Mutex, PoisonError};

use foldhash::HashMap;
use warpjit_ir_core::entities::Block;
use warpjit_ir_core::function::Function;

/// Most nodes of a region.
const MAX_NODES: usize = 400;
/// Most instructions of the IR before optimisation: compile time grows faster than linearly.
pub(super) const MAX_INSTS: usize = 6000;
/// Number of instructions that take as long to compile as an empty node.
const INSTS_OF_NODE: usize = 16;
/// Number of nodes that exploring visits in the time that it takes to compile one.
const LOOKS_OF_NODE: u64 = 64;

/// Effort that every kernel may spend on regions of full size: eight of the largest regions. Ordinary kernels need less
/// than one.
const LEAST: usize = 8 * (MAX_NODES + MAX_INSTS / INSTS_OF_NODE);
/// How often each block may be compiled, on average, before regions are made smaller.
const TIMES: usize = 4;
/// Number of size reductions, each to a quarter. After these, regions are single blocks.
const LEVELS: usize = 4;

/// Size limits of a region.
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
    effort: Mutex<Effort>,
}

#[derive(Debug, Default)]
struct Effort {
    effort: usize,
    levels: HashMap<Block, usize>,
}

impl Sizes {
    /// Nothing has been spent.
    pub(super) fn new(func: &Function) -> Sizes {
        let blocks = func.blocks.iter().map(|block| 1 + block.insts.len() / INSTS_OF_NODE).sum::<usize>();
        Sizes { allowance: LEAST + TIMES * blocks, effort: Mutex::default() }
    }

    fn effort(&self) -> std::sync::MutexGuard<'_, Effort> {
        self.effort.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The size limit of the region at a block, and whether this is the first request. After the first one, the caller
    /// reports the effort with [`Sizes::spend`].
    pub(super) fn of(&self, entry: Block) -> (Size, bool) {
        let mut spent = self.effort();
        let now = (spent.effort / self.allowance).min(LEVELS);
        let mut first = false;
        let level = *spent.levels.entry(entry).or_insert_with(|| {
            first = true;
            now
        });
        (Size::at(level), first)
    }

    /// Adds the effort of a region: blocks visited while exploring, nodes, and instructions.
    pub(super) fn spend(&self, looks: u64, nodes: usize, insts: usize) {
        let effort = (looks / LOOKS_OF_NODE) as usize + nodes + insts / INSTS_OF_NODE;
        let mut spent = self.effort();
        spent.effort = spent.effort.saturating_add(effort);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpjit_ir_core::function::Form;

    #[test]
    fn regions_become_smaller_but_never_again_larger() {
        let sizes = Sizes { allowance: 1000, effort: Mutex::default() };
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
