//! What is known of a program before its code is emitted: the bundles that it can reach, with what each does outside of the processor.

pub(super) mod graph;
pub(super) mod outside;
