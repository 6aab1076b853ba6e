//! What the lifters of machines with threads and a divergence stack share (Tesla, Fermi).

mod emit;
mod flags;
mod graph;

pub(crate) use emit::{Carried, Emitter};
pub(crate) use flags::{Flags, above, condition, float_compare, quad_operands};
pub(crate) use graph::{Graph, Leads, Source};
