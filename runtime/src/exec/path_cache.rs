//! A cache of the paths that blocks take when their warps run together.
//!
//! The blocks of a kernel mostly follow the same path: the same regions, the same exits, the same lane patterns of slots. So a
//! thread remembers each path it has found, with the assumptions that are still to be checked before each region.

use super::jit::{Compiled, KnownShapes, Needed};
use warpjit_ir::Block;
use warpjit_ir::interp::Warp;

/// Successors of one exit: after a jump or barrier, after a branch that all lanes take, after one that no lane takes.
pub const SUCCESSORS: usize = 3;

/// Most nodes that a thread remembers.
const MAX_NODES: usize = 512;

/// A node of a path: a region that warps run together, with what is known of them before and after it.
#[derive(Debug)]
struct Node {
    at: Block,
    /// The version of the region's code.
    index: usize,
    before: KnownShapes,
    after: KnownShapes,
    /// The code's assumptions that are not known to hold.
    checks: Vec<Needed>,
    successors: [Option<u32>; SUCCESSORS],
}

/// The paths that a thread knows.
#[derive(Debug, Default)]
pub struct PathCache {
    nodes: Vec<Node>,
}

impl PathCache {
    /// The node for a version of the region at a block and the lane patterns known of its warps. `None` if there are
    /// too many nodes.
    pub fn node(&mut self, at: Block, index: usize, code: &Compiled, known: &KnownShapes) -> Option<u32> {
        let same = |node: &Node| node.at == at && node.index == index && node.before == *known;
        if let Some(found) = self.nodes.iter().position(same) {
            return u32::try_from(found).ok();
        }
        if self.nodes.len() >= MAX_NODES {
            return None;
        }
        let mut after = known.clone();
        after.learn(code);
        after.after(code);
        let checks = code.needed(known);
        self.nodes.push(Node {
            at,
            index,
            before: known.clone(),
            after,
            checks,
            successors: [None; SUCCESSORS],
        });
        u32::try_from(self.nodes.len() - 1).ok()
    }

    /// Records the node that follows another one by successor `successor`.
    pub fn link(&mut self, from: u32, successor: usize, to: u32) {
        if let Some(node) = self.nodes.get_mut(from as usize) {
            node.successors[successor] = Some(to);
        }
    }

    /// The node that follows by successor `successor`, if known and if the warps pass its checks, with its block and version.
    #[inline]
    pub fn follow<'w>(
        &self,
        from: u32,
        successor: usize,
        mut warps: impl Iterator<Item = &'w Warp>,
    ) -> Option<(u32, Block, usize)> {
        let to = self.nodes.get(from as usize)?.successors[successor]?;
        let node = self.nodes.get(to as usize)?;
        let fits = node.checks.is_empty() || warps.all(|warp| node.checks.iter().all(|c| c.holds(warp)));
        fits.then_some((to, node.at, node.index))
    }

    /// The lane patterns known after a node's region.
    pub fn known_behind(&self, node: u32) -> KnownShapes {
        self.nodes.get(node as usize).map(|node| node.after.clone()).unwrap_or_default()
    }
}
