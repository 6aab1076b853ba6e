//! Tests of the lifter.
