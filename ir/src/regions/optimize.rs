//! The pass pipelines of a region: in SSA, in mask form, and for the special versions that code generators ask for.

use super::{Region, full};
use crate::function::Function;
use crate::meter::{Meter, Stopped};
use crate::passes::{
    Pass, canon, classes, conjunctions, dce, demand, ends, entry_mask, expand, floats, fold, gvn, lane_loops,
    licm, one_lane, pairs, pipeline, remaining, schedule, simplify_cfg, sink, uniform, whole,
};

/// Runs passes in order; the meter may stop the work between two of them.
fn run(func: &mut Function, passes: &[Pass], meter: &Meter) -> Result<(), Stopped> {
    for pass in passes {
        meter.step(1 + func.insts.len() / 16)?;
        pipeline(func, &[*pass]);
    }
    Ok(())
}

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
    run(
        &mut region.mask,
        &[
            if special { expand::run_but_special } else { expand::run },
            uniform::run,
            fold::run,
            gvn::run,
            simplify_cfg::run,
            demand::run,
            classes::run,
            // Joining two words of floats for a store is done before a loop's exit, where it makes their NaN bits
            // visible.
            canon::run,
            pairs::run,
            uniform::run,
            fold::run,
            gvn::run,
            demand::run,
            remaining::run,
            pairs::run,
            fold::run,
            classes::run,
            canon::run,
            gvn::run,
            licm::run,
            gvn::run,
            dce::run,
        ],
        meter,
    )?;
    // Counted regions may exit at loop heads and store registers there.
    if region.counted {
        sink::run(&mut region.mask);
    }
    if ends::run(&mut region.mask) {
        run(&mut region.mask, &[fold::run, simplify_cfg::run, gvn::run, dce::run], meter)?;
    }
    Ok(())
}

/// Serialises the last lanes of loops ([`lane_loops`]), for code generators that support it. Returns whether there are
/// any such loops.
pub fn part_lanes(func: &mut Function) -> bool {
    let parted = lane_loops::run(func);
    if parted {
        pipeline(
            func,
            &[
                fold::run,
                simplify_cfg::run,
                dce::run,
                floats::run,
                fold::run,
                gvn::run,
                licm::run,
                dce::run,
                lane_loops::sink_casts,
            ],
        );
    }
    parted
}

/// Specialises an optimised region for chunks of a single lane ([`mod@one_lane`]).
///
/// # Errors
/// When the meter's budget is used up or the work is cancelled.
pub fn one_lane(func: &mut Function, meter: &Meter) -> Result<(), Stopped> {
    meter.stage("taking its lanes one by one")?;
    run(func, &[entry_mask::run], meter)?;
    for _ in 0..2 {
        run(
            func,
            &[one_lane::run, fold::run, simplify_cfg::run, gvn::run, fold::run, simplify_cfg::run, dce::run],
            meter,
        )?;
    }
    run(func, &[entry_mask::drop_unchanged, dce::run, simplify_cfg::run], meter)?;
    run(func, &[licm::run, gvn::run, dce::run], meter)
}

/// Adds full-mask versions to an optimised region and schedules it, for code generators that profit from that.
/// `all_enter`: all lanes enter the region.
pub fn versions(region: &mut Region, all_enter: bool) {
    if whole::run(&mut region.mask) {
        if all_enter {
            full::all_enter(&mut region.mask);
        }
        pipeline(
            &mut region.mask,
            &[fold::run, gvn::run, conjunctions::run, gvn::run, simplify_cfg::run, dce::run],
        );
    } else {
        pipeline(&mut region.mask, &[conjunctions::run, gvn::run, dce::run]);
    }
    pipeline(&mut region.mask, &[schedule::run]);
}

/// Optimises a region in SSA, before its branches become masks. What is removed here needs no mask and no blend.
pub fn optimize_ssa(func: &mut Function, meter: &Meter) -> Result<(), Stopped> {
    run(func, &[fold::run, gvn::run, simplify_cfg::run, fold::run, dce::run], meter)
}
