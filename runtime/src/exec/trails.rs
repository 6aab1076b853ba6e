//! A cache of the paths that blocks take when their warps run together.
//!
//! The blocks of a kernel mostly follow the same path: the same regions, the same exits, the same lane patterns of slots. So a
//! thread remembers each path it has found, with the assumptions that are still to be checked before each region.

use super::jit::{Compiled, KnownShapes, Needed};
use warpjit_ir::Block;
use warpjit_ir::interp::Warp;

/// Successors of one exit: after a jump or barrier, after a branch that all lanes take, after one that no lane takes.
pub const WAYS: usize = 3;

/// Most nodes that a thread remembers.
const MOST_STOPS: usize = 512;

/// A node of a path: a region that warps run together, with what is known of them before and after it.
#[derive(Debug)]
struct Stop {
    at: Block,
    /// The version of the region's code.
    place: usize,
    before: KnownShapes,
    after: KnownShapes,
    /// The code's assumptions that are not known to hold.
    checks: Vec<Needed>,
    ways: [Option<u32>; WAYS],
}

/// The paths that a thread knows.
#[derive(Debug, Default)]
pub struct Trails {
    stops: Vec<Stop>,
}

impl Trails {
    /// The node for a version of the region at a block and the lane patterns known of its warps. `None` if there are
    /// too many nodes.
    pub fn stop(&mut self, at: Block, place: usize, code: &Compiled, known: &KnownShapes) -> Option<u32> {
        let same = |stop: &Stop| stop.at == at && stop.place == place && stop.before == *known;
        if let Some(found) = self.stops.iter().position(same) {
            return u32::try_from(found).ok();
        }
        if self.stops.len() >= MOST_STOPS {
            return None;
        }
        let mut after = known.clone();
        after.learn(code);
        after.after(code);
        let checks = code.needed(known);
        self.stops.push(Stop { at, place, before: known.clone(), after, checks, ways: [None; WAYS] });
        u32::try_from(self.stops.len() - 1).ok()
    }

    /// Records the node that follows another one by successor `way`.
    pub fn link(&mut self, from: u32, way: usize, to: u32) {
        if let Some(stop) = self.stops.get_mut(from as usize) {
            stop.ways[way] = Some(to);
        }
    }

    /// The node that follows by successor `way`, if known and if the warps pass its checks, with its block and version.
    #[inline]
    pub fn follow<'w>(
        &self,
        from: u32,
        way: usize,
        mut warps: impl Iterator<Item = &'w Warp>,
    ) -> Option<(u32, Block, usize)> {
        let to = self.stops.get(from as usize)?.ways[way]?;
        let stop = self.stops.get(to as usize)?;
        let fits = stop.checks.is_empty() || warps.all(|warp| stop.checks.iter().all(|c| c.holds(warp)));
        fits.then_some((to, stop.at, stop.place))
    }

    /// The lane patterns known after a node's region.
    pub fn known_behind(&self, stop: u32) -> KnownShapes {
        self.stops.get(stop as usize).map(|stop| stop.after.clone()).unwrap_or_default()
    }
}
