//! The order in which blocks are laid out: topological, with the blocks of a loop side by side.

use warpjit_ir_core::graph::{self, LoopNest};

/// What is laid out at one level of loops: a block, or a loop with what is in it.
pub enum Item {
    Block(usize),
    Loop(usize, Vec<Item>),
}

/// Blocks and loops directly in `level`, in topological order.
pub fn order_level(
    succs: &[Vec<usize>],
    nest: &LoopNest<usize>,
    reachable: &[bool],
    level: Option<usize>,
    entry: usize,
) -> Vec<Item> {
    // The block's representative at this level: itself, or the child loop that contains it.
    let child_of = |n: usize| -> Option<usize> {
        let mut l = nest.innermost[n];
        while let Some(x) = l {
            if nest.loops[x].parent == level {
                return Some(x);
            }
            l = nest.loops[x].parent;
        }
        None
    };
    let inside = |n: usize| reachable[n] && level.is_none_or(|l| nest.is_in(l, n));
    let node_of = |n: usize| {
        if nest.innermost[n] == level { n } else { nest.loops[child_of(n).expect("inner loop")].header }
    };
    let mut collapsed = vec![Vec::new(); succs.len()];
    for n in (0..succs.len()).filter(|&n| inside(n)) {
        let from = node_of(n);
        for &s in &succs[n] {
            if inside(s) && !(level.is_some() && s == entry) && node_of(s) != from {
                collapsed[from].push(node_of(s));
            }
        }
    }
    graph::reverse_postorder(&collapsed, entry)
        .into_iter()
        .map(|n| {
            if nest.innermost[n] == level {
                Item::Block(n)
            } else {
                let l = child_of(n).expect("inner loop");
                Item::Loop(l, order_level(succs, nest, reachable, Some(l), nest.loops[l].header))
            }
        })
        .collect()
}
