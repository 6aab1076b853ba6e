//! Finds the image instructions that may come behind a store of the same wave.
//!
//! A wave's store is seen by all its lanes once the program has waited for it. Compiled code runs parts of a wave one after the other, so a
//! call of the image device keeps the order of the program where something may have been stored before it.

use std::collections::BTreeSet;

use super::graph::Graph;
use crate::gcn::rows::Property;
use crate::gcn::table::meaning;
use crate::gcn::{Format, Inst};

/// Addresses of image instructions that a store can reach.
pub(in crate::gcn::lift) fn behind_stores(graph: &Graph) -> BTreeSet<u32> {
    // Blocks that begin behind a store.
    let mut behind: BTreeSet<u32> = BTreeSet::new();
    let mut work: Vec<u32> = Vec::new();
    for (_, node) in graph.nodes() {
        if node.insts.iter().any(stores) {
            if node.indirect {
                work.extend(graph.nodes().map(|(start, _)| start));
            }
            work.extend(&node.successors);
        }
    }
    while let Some(start) = work.pop() {
        if !behind.insert(start) {
            continue;
        }
        let Some(node) = graph.node(start) else { continue };
        if node.indirect {
            work.extend(graph.nodes().map(|(start, _)| start));
        }
        work.extend(&node.successors);
    }
    let mut found = BTreeSet::new();
    for (start, node) in graph.nodes() {
        let mut stored = behind.contains(&start);
        for inst in &node.insts {
            if stored && inst.format == Format::Mimg {
                found.insert(inst.pc as u32);
            }
            stored |= stores(inst);
        }
    }
    found
}

/// Whether an instruction may store to global memory.
fn stores(inst: &Inst) -> bool {
    let row = meaning(inst.op);
    inst.format != Format::Ds && (row.has(Property::Store) || row.has(Property::Atomic))
}
