//! What is known of a program before its code is emitted: the instructions that it can reach, and its blocks.

pub(super) mod graph;
