//! Tests of the lifter.

mod corpus;
