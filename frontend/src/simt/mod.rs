//! What the lifters of machines with threads and a divergence stack share (Tesla, Fermi).

mod convert;
mod emit;
mod flags;
mod float;
mod graph;
mod lanes;
mod lock;

pub use convert::{Form, Kind};
pub(crate) use emit::{Carried, Emitter};
pub(crate) use flags::{Flags, above, condition, float_compare};
pub(crate) use graph::{Blocks, Graph, Leads, Source, TargetSet};
