//! The passes that a region goes through before it is compiled.

use super::Region;
use crate::passes::{canon, dce, fold, gvn, licm, pipeline, simplify_cfg, uniform};

/// Optimises a region's mask form.
pub fn optimize(region: &mut Region) {
    pipeline(
        &mut region.mask,
        &[
            uniform::run,
            fold::run,
            gvn::run,
            simplify_cfg::run,
            uniform::run,
            fold::run,
            canon::run,
            gvn::run,
            licm::run,
            gvn::run,
            dce::run,
        ],
    );
}
