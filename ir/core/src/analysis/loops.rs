//! The natural loops of a function and how they nest.

use super::{Cfg, Dominators};
use crate::entities::Block;
use crate::graph;

/// A natural loop.
pub type Loop = graph::Loop<Block>;

/// All natural loops, outer ones before the loops they hold.
pub type Loops = graph::LoopNest<Block>;

impl Loops {
    /// Finds the loops.
    pub fn new(cfg: &Cfg, dom: &Dominators) -> Loops {
        Loops::of(&cfg.rpo, &cfg.preds, |a, b| dom.dominates(a, b))
    }
}
