//! The edges into each block, and with them what its parameters are given.

use crate::entities::{Block, Value};
use crate::function::{BlockCall, Function};

/// The edges with arguments that lead to each block.
pub struct Incoming<'a> {
    edges: Vec<Vec<&'a BlockCall>>,
}

impl<'a> Incoming<'a> {
    /// Collects the edges out of some blocks.
    pub fn new(func: &'a Function, from: impl IntoIterator<Item = Block>) -> Incoming<'a> {
        let mut edges = vec![Vec::new(); func.blocks.len()];
        for block in from {
            for call in func.block(block).term.iter().flat_map(|term| term.calls()) {
                edges[call.block.index()].push(call);
            }
        }
        Incoming { edges }
    }

    /// What the edges give a block's parameter with this number.
    pub fn arguments(&self, block: Block, param: u32) -> impl Iterator<Item = Value> {
        self.edges[block.index()].iter().filter_map(move |call| call.args.get(param as usize).copied())
    }
}
