//! Tests of the lifter.

mod corpus;
mod edges;
mod random;
