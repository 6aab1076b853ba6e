//! The code of each instruction, a file a unit of the processor; `mad`, `bus` and `pure` are parts of the vector and scalar units.

pub(super) mod address;
pub(super) mod branch;
pub(super) mod bus;
pub(super) mod mad;
pub(super) mod pure;
pub(super) mod scalar;
pub(super) mod vector;
