//! Which way blocks go whose warps run together.
//!
//! Blocks of a kernel mostly take the same way: from a region by an exit to the next one, and what is known of the registers' shapes
//! then is the same each time. So a way that was found once is kept, with what is left to be looked at in the registers before each step.

use super::jit::{Compiled, KnownShapes, Needed};
use warpjit_ir::Block;
use warpjit_ir::interp::Warp;

/// Ways on from one exit: a jump or barrier, a branch that all lanes take, one that none takes.
pub const WAYS: usize = 3;

/// Most steps that a thread remembers.
const MOST_STOPS: usize = 512;

/// Where warps stand together, and what they run there.
#[derive(Debug)]
struct Stop {
    at: Block,
    /// The version of the region's code.
    place: usize,
    before: KnownShapes,
    after: KnownShapes,
    /// What the code assumes and nobody knows yet.
    checks: Vec<Needed>,
    ways: [Option<u32>; WAYS],
}

/// The ways that a thread knows.
#[derive(Debug, Default)]
pub struct Trails {
    stops: Vec<Stop>,
}

impl Trails {
    /// A version of the code at a block, run by warps of which so much is known. `None` where there are too many of them.
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

    /// Notes where a way leads.
    pub fn link(&mut self, from: u32, way: usize, to: u32) {
        if let Some(stop) = self.stops.get_mut(from as usize) {
            stop.ways[way] = Some(to);
        }
    }

    /// Where a way leads, if it is known and the warps have what the code there assumes: the stop, its block and version.
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

    /// What is known of the registers behind a stop.
    pub fn known_behind(&self, stop: u32) -> KnownShapes {
        self.stops.get(stop as usize).map(|stop| stop.after.clone()).unwrap_or_default()
    }
}
