//! What the ISAs whose text form is envydis's have in common.

mod types;

pub use types::{AtomOp, LogicOp, QuadLane, QuadOp, Rounding, Type};
