//! The passes that a region goes through before it is compiled.

use super::Region;
use crate::passes::{dce, gvn, pipeline};

/// Optimises a region's mask form.
pub fn optimize(region: &mut Region) {
    pipeline(&mut region.mask, &[gvn::run, dce::run]);
}
