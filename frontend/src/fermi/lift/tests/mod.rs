//! Tests of Fermi's lifter: small programs, lifted and run in the interpreter.

mod edges;
mod stage;
mod topics;
