//! Sampling: coordinates, levels of detail, filters.

/// How an instruction samples.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sampler {}
