//! What the lifters of Tesla and Fermi share. Both are SIMT machines: threads of a warp diverge, and a divergence stack
//! reconverges them.

mod convert;
mod emit;
mod flags;
mod graph;
mod lanes;
pub(crate) mod lift_input;
mod lock;
pub(crate) mod stage;
pub(crate) mod texture;

pub use convert::{Form, Kind};
pub(crate) use emit::{Carried, Emitter, Simt};
pub(crate) use flags::{Flags, above, condition, float_compare};
pub(crate) use graph::{Blocks, Graph, Leads, Source, TargetSet};
