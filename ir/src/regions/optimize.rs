//! The passes that a region goes through before it is compiled.

use super::Region;
use crate::function::Function;
use crate::passes::{
    canon, dce, demand, expand, floats, fold, gvn, lane_loops, licm, pairs, pipeline, simplify_cfg, uniform,
};

/// Optimises a region's mask form; for a generator that knows some functions by themselves (`PureFn::special`), or for one that does not.
pub fn optimize(region: &mut Region, special: bool) {
    pipeline(
        &mut region.mask,
        &[
            if special { expand::run_but_special } else { expand::run },
            uniform::run,
            fold::run,
            gvn::run,
            simplify_cfg::run,
            demand::run,
            pairs::run,
            uniform::run,
            fold::run,
            gvn::run,
            demand::run,
            pairs::run,
            fold::run,
            canon::run,
            gvn::run,
            licm::run,
            gvn::run,
            dce::run,
        ],
    );
}

/// Lets the last lanes of loops go on one after another ([`lane_loops`]), where the code generator knows how.
pub fn part_lanes(func: &mut Function) {
    if lane_loops::run(func) {
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
}

/// Optimises a region in SSA, before its branches become masks: whatever is gone here needs no mask and no blend.
pub fn optimize_ssa(func: &mut Function) {
    pipeline(func, &[fold::run, gvn::run, simplify_cfg::run, fold::run, dce::run]);
}
