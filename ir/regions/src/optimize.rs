//! The pass pipelines of a region: in SSA, in mask form, and for the special versions that code generators ask for.

use super::{Region, full};
use crate::passes::schedule::HostModel;
use crate::passes::{
    advances, canon, conjunctions, demand, ends, entry_mask, floats, lane_loops, one_lane, pairs, pipeline,
    remaining, schedule, sink, usual, whole,
};
use warpjit_ir_core::entities::Block;
use warpjit_ir_core::function::Function;
use warpjit_ir_core::meter::{Meter, Stopped};
use warpjit_ir_core::passes::{Pass, classes, dce, expand, fold, gvn, licm, renumber, simplify_cfg, uniform};
use warpjit_ir_core::verify::verify;

/// Runs passes in order; the meter may stop the work between two of them.
fn run(func: &mut Function, passes: &[Pass], meter: &Meter) -> Result<(), Stopped> {
    Passes::new(meter).run(func, passes)
}

/// Passes over one function. One that has found nothing to do is left out until another one has changed something: it would find nothing
/// again. Nobody else changes the function in between.
struct Passes<'a> {
    meter: &'a Meter,
    /// How many have changed the function.
    changes: usize,
    /// Passes that have found nothing, each with the number of changes at that time.
    idle: Vec<(Pass, usize)>,
}

impl<'a> Passes<'a> {
    fn new(meter: &'a Meter) -> Passes<'a> {
        Passes { meter, changes: 0, idle: Vec::new() }
    }

    /// Runs passes in order; the meter may stop the work between two of them.
    fn run(&mut self, func: &mut Function, passes: &[Pass]) -> Result<(), Stopped> {
        for &pass in passes {
            let known = self.idle.iter().position(|&(idle, _)| std::ptr::fn_addr_eq(idle, pass));
            if known.is_some_and(|known| self.idle[known].1 == self.changes) {
                continue;
            }
            self.meter.step(1 + func.insts.len() / 16)?;
            if pipeline(func, &[pass]) {
                self.changes += 1;
                continue;
            }
            match known {
                Some(known) => self.idle[known].1 = self.changes,
                None => self.idle.push((pass, self.changes)),
            }
        }
        // Nobody remembers numbers from before.
        pipeline(func, &[renumber::run]);
        Ok(())
    }
}

/// Finds constants, uniform and equal values. In this order: a uniform type lets `fold` use scalar rules, and folded operands are equal to
/// more others.
const SIMPLIFY: [Pass; 3] = [uniform::run, fold::run, gvn::run];

/// Rounds of [`one_lane`]. Branches that the first one decides tell the second one more truth values. A third finds next to nothing.
const ONE_LANE_ROUNDS: usize = 2;

/// Optimises a region's mask form, without limits. See [`optimize_within`].
pub fn optimize(region: &mut Region, special: bool) {
    optimize_within(region, special, &Meter::unlimited()).expect("there are no limits");
}

/// Optimises a region's mask form. `special`: the code generator implements some pure functions itself
/// (`PureFn::special`), so they are not expanded.
///
/// # Errors
/// When the meter's budget is used up or the work is cancelled.
pub fn optimize_within(region: &mut Region, special: bool, meter: &Meter) -> Result<(), Stopped> {
    let mut passes = Passes::new(meter);
    let mask = &mut region.mask;
    begin(mask, special, &mut passes)?;
    // Before `pairs`: joining two words of floats for a store is done before a loop's exit, where it makes their NaN bits visible to
    // `canon`.
    passes.run(mask, &[classes::run, canon::run, pairs::run])?;
    // `demand` has left operands in place of selects, and `pairs` has made operations of 64 bits: both give new constants and equal values.
    passes.run(mask, &SIMPLIFY)?;
    // Again, since equal masks are one value now: more masks imply another. `remaining` asks the same, of masks that `demand` has left.
    // Then words are joined whose selects are gone.
    passes.run(mask, &[demand::run, remaining::run, pairs::run])?;
    // Again, for the operations that those three have made.
    passes.run(mask, &[fold::run, classes::run, canon::run, gvn::run])?;
    // In front of a loop, what has moved there may equal what was there. Joined words that advance are taken apart before.
    passes.run(mask, &[advances::run, licm::run, gvn::run, dce::run])?;
    // Counted regions may exit at loop heads and store registers there.
    if region.counted {
        passes.run(mask, &[sink::run])?;
    }
    if ends::run(mask) {
        passes.changes += 1;
        // On one side of the new branches masks are what they were before the loop, on the other they are empty.
        passes.run(mask, &[fold::run, simplify_cfg::run, gvn::run, dce::run])?;
    }
    Ok(())
}

/// What regions go through first, but those for one lane.
fn begin(mask: &mut Function, special: bool, passes: &mut Passes<'_>) -> Result<(), Stopped> {
    passes.meter.stage("optimising it")?;
    // Calls of pure functions become operations, which all later passes see.
    passes.run(mask, &[if special { expand::run_but_special } else { expand::run }])?;
    passes.run(mask, &SIMPLIFY)?;
    // Branches that are decided go, and with them edges to parameters; then selects that are seen only where their condition holds.
    passes.run(mask, &[simplify_cfg::run, demand::run])
}

/// Serialises the last lanes of loops ([`lane_loops`]), for code generators that support it. `few` says for each loop how many lanes count
/// as few. Returns whether there are any such loops.
pub fn serialize_lanes(func: &mut Function, few: impl Fn(&Function, Block) -> u32) -> bool {
    let parted = lane_loops::run(func, few);
    if parted {
        // The copy runs one lane: its masks are constants, and most of its blocks fall together.
        pipeline(func, &[fold::run, simplify_cfg::run, dce::run]);
        // Parameters become floats, so their casts go, and loads may leave the loop.
        pipeline(func, &[floats::run, fold::run, gvn::run, licm::run, dce::run, lane_loops::sink_casts]);
    }
    parted
}

/// Optimises a region's mask form for chunks of a single lane ([`mod@one_lane`]), in place of [`optimize_within`]: most of what that does is
/// about masks, which are known here.
///
/// # Errors
/// When the meter's budget is used up or the work is cancelled.
pub fn optimize_one_lane(region: &mut Region, special: bool, meter: &Meter) -> Result<(), Stopped> {
    let mut passes = Passes::new(meter);
    let func = &mut region.mask;
    meter.stage("taking its lanes one by one")?;
    // What a lane's mask is when it enters is told first; each version then has it as a constant.
    passes.run(func, &[uniform::run, gvn::run, fold::run_once, entry_mask::run])?;
    for _ in 0..ONE_LANE_ROUNDS {
        let before = passes.changes;
        passes.run(func, &[one_lane::run])?;
        if passes.changes == before {
            break;
        }
        // Known truth values decide branches; blocks then follow one another, and `gvn` finds equal values in them.
        passes.run(func, &[fold::run_once, gvn::run, demand::run, simplify_cfg::run, dce::run])?;
    }
    // Without the mask most stores of slots change nothing, and what they stored is not computed.
    passes.run(func, &[entry_mask::drop_unchanged, dce::run, simplify_cfg::run])?;
    // Calls become operations late: most of one version's are gone.
    meter.stage("optimising it")?;
    passes.run(func, &[if special { expand::run_but_special } else { expand::run }])?;
    passes.run(func, &[fold::run_once, gvn::run])?;
    // Words are joined whose selects are gone; as in [`optimize_within`], after `canon`.
    passes.run(func, &[classes::run, canon::run, pairs::run, fold::run])?;
    passes.run(func, &[licm::run, gvn::run, dce::run])
}

/// Lets chunks leave an optimised region early in which no lane has the wave's mask. Not for chunks of whole warps.
///
/// # Errors
/// When the meter's budget is used up or the work is cancelled.
pub fn skip_empty(func: &mut Function, meter: &Meter) -> Result<(), Stopped> {
    if !entry_mask::skip_empty(func) {
        return Ok(());
    }
    run(func, &[fold::run, simplify_cfg::run, gvn::run, fold::run, simplify_cfg::run, dce::run], meter)?;
    run(func, &[entry_mask::drop_unchanged, dce::run, simplify_cfg::run], meter)
}

/// Versions accesses of an optimised region for the usual case ([`mod@usual`]). `all_enter`: all lanes enter the region. Not for chunks of one
/// lane.
pub fn usual_accesses(region: &mut Region, all_enter: bool) {
    if usual::run(&mut region.mask) {
        if all_enter {
            full::all_enter(&mut region.mask);
        }
        pipeline(&mut region.mask, &[fold::run, gvn::run, dce::run, renumber::run]);
    }
}

/// Adds full-mask versions to an optimised region and schedules it, for code generators that profit from that.
/// `all_enter`: all lanes enter the region.
pub fn versions(region: &mut Region, all_enter: bool, host: &HostModel) {
    if whole::run(&mut region.mask) {
        if all_enter {
            full::all_enter(&mut region.mask);
        }
        // In the full version masks are constants. `conjunctions` orders the conditions of the other: then equal ones are found.
        pipeline(
            &mut region.mask,
            &[fold::run, gvn::run, conjunctions::run, gvn::run, simplify_cfg::run, dce::run],
        );
    } else {
        pipeline(&mut region.mask, &[conjunctions::run, gvn::run, dce::run]);
    }
    schedule::run(&mut region.mask, host);
    debug_assert_eq!(verify(&region.mask).map_err(|error| error.to_string()), Ok(()));
}

/// Optimises a region in SSA, before its branches become masks. What is removed here needs no mask and no blend. `one_lane`: no branch
/// becomes a mask, and [`optimize_one_lane`] does what is left out.
pub fn optimize_ssa(func: &mut Function, one_lane: bool, meter: &Meter) -> Result<(), Stopped> {
    // Each block of the kernel has made its constants and addresses anew: equal ones go first, and parameters with one argument.
    run(func, &[gvn::run, simplify_cfg::run], meter)?;
    if !one_lane {
        run(func, &[fold::run, simplify_cfg::run], meter)?;
    }
    run(func, &[dce::run], meter)
}
