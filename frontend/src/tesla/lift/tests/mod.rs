//! Tests of Tesla's lifter: small programs, lifted and run in the interpreter.

mod corpus;
mod edges;
mod random;
mod stage;
mod topics;
