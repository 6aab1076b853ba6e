//! The pass pipelines of a region: in SSA, in mask form, and for the special versions that code generators ask for.

use super::{Region, full};
use crate::passes::schedule::HostModel;
use crate::passes::{
    canon, conjunctions, demand, ends, entry_mask, floats, lane_loops, one_lane, pairs, pipeline, remaining,
    schedule, sink, whole,
};
use warpjit_ir_core::entities::Block;
use warpjit_ir_core::function::Function;
use warpjit_ir_core::meter::{Meter, Stopped};
use warpjit_ir_core::passes::{Pass, classes, dce, expand, fold, gvn, licm, simplify_cfg, uniform};
use warpjit_ir_core::verify::verify;

/// Runs passes in order; the meter may stop the work between two of them.
fn run(func: &mut Function, passes: &[Pass], meter: &Meter) -> Result<(), Stopped> {
    for pass in passes {
        meter.step(1 + func.insts.len() / 16)?;
        pipeline(func, &[*pass]);
    }
    Ok(())
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
    meter.stage("optimising it")?;
    let mask = &mut region.mask;
    // Calls of pure functions become operations, which all later passes see.
    run(mask, &[if special { expand::run_but_special } else { expand::run }], meter)?;
    run(mask, &SIMPLIFY, meter)?;
    // Branches that are decided go, and with them edges to parameters; then selects that are seen only where their condition holds.
    run(mask, &[simplify_cfg::run, demand::run], meter)?;
    // Before `pairs`: joining two words of floats for a store is done before a loop's exit, where it makes their NaN bits visible to
    // `canon`.
    run(mask, &[classes::run, canon::run, pairs::run], meter)?;
    // `demand` has left operands in place of selects, and `pairs` has made operations of 64 bits: both give new constants and equal values.
    run(mask, &SIMPLIFY, meter)?;
    // Again, since equal masks are one value now: more masks imply another. `remaining` asks the same, of masks that `demand` has left.
    // Then words are joined whose selects are gone.
    run(mask, &[demand::run, remaining::run, pairs::run], meter)?;
    // Again, for the operations that those three have made.
    run(mask, &[fold::run, classes::run, canon::run, gvn::run], meter)?;
    // In front of a loop, what has moved there may equal what was there.
    run(mask, &[licm::run, gvn::run, dce::run], meter)?;
    // Counted regions may exit at loop heads and store registers there.
    if region.counted {
        sink::run(&mut region.mask);
    }
    if ends::run(&mut region.mask) {
        // On one side of the new branches masks are what they were before the loop, on the other they are empty.
        run(&mut region.mask, &[fold::run, simplify_cfg::run, gvn::run, dce::run], meter)?;
    }
    Ok(())
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

/// Specialises an optimised region for chunks of a single lane ([`mod@one_lane`]).
///
/// # Errors
/// When the meter's budget is used up or the work is cancelled.
pub fn one_lane(func: &mut Function, meter: &Meter) -> Result<(), Stopped> {
    meter.stage("taking its lanes one by one")?;
    // What a lane's mask is when it enters is told first; each version then has it as a constant.
    run(func, &[entry_mask::run], meter)?;
    for _ in 0..ONE_LANE_ROUNDS {
        run(func, &[one_lane::run], meter)?;
        // Known truth values decide branches; blocks then follow one another, and `gvn` finds equal values in them, of which comparisons
        // are decided again.
        run(func, &[fold::run, simplify_cfg::run, gvn::run, fold::run, simplify_cfg::run, dce::run], meter)?;
    }
    // Without the mask most stores of slots change nothing, and what they stored is not computed.
    run(func, &[entry_mask::drop_unchanged, dce::run, simplify_cfg::run], meter)?;
    run(func, &[licm::run, gvn::run, dce::run], meter)
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

/// Optimises a region in SSA, before its branches become masks. What is removed here needs no mask and no blend.
pub fn optimize_ssa(func: &mut Function, meter: &Meter) -> Result<(), Stopped> {
    // The second `fold`: parameters with one argument are gone.
    run(func, &[fold::run, gvn::run, simplify_cfg::run, fold::run, dce::run], meter)
}
