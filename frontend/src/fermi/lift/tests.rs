//! Tests of the lifter.

mod edges;
