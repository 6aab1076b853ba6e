//! Tests of the lifter.

mod corpus;
mod random;
