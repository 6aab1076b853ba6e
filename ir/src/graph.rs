//! Orders, dominators and loops of graphs given as lists of successors: of regions' plans (nodes are numbers) and of functions
//! ([`crate::analysis`], nodes are blocks).

use crate::entities::Block;

/// What stands for a node.
pub trait Node: Copy + Eq {
    /// Its place in tables.
    fn index(self) -> usize;
    /// The node of a place.
    fn of_index(index: usize) -> Self;
}

impl Node for usize {
    fn index(self) -> usize {
        self
    }

    fn of_index(index: usize) -> usize {
        index
    }
}

impl Node for Block {
    fn index(self) -> usize {
        Block::index(self)
    }

    fn of_index(index: usize) -> Block {
        Block::new(index)
    }
}

/// Predecessor lists, each node once, of a graph given by its successor lists.
pub fn predecessors<N: Node>(succs: &[Vec<N>]) -> Vec<Vec<N>> {
    let mut preds = vec![Vec::new(); succs.len()];
    for (n, list) in succs.iter().enumerate() {
        for &s in list {
            let list: &mut Vec<N> = &mut preds[s.index()];
            if !list.contains(&N::of_index(n)) {
                list.push(N::of_index(n));
            }
        }
    }
    preds
}

/// Appends what `root` leads to and has not been seen, each node behind all it leads to. `visit` gives the successors of a node in
/// the order they are gone to.
fn postorder<N: Node>(root: N, seen: &mut [bool], order: &mut Vec<N>, visit: impl Fn(N, usize) -> Option<N>) {
    if std::mem::replace(&mut seen[root.index()], true) {
        return;
    }
    let mut path = vec![(root, 0)];
    while let Some((node, next)) = path.last_mut() {
        match visit(*node, *next) {
            Some(s) => {
                *next += 1;
                if !std::mem::replace(&mut seen[s.index()], true) {
                    path.push((s, 0));
                }
            }
            None => {
                order.push(*node);
                path.pop();
            }
        }
    }
}

/// Reverse postorder from `entry`, the first successors gone to first; nodes that cannot be reached are left out.
pub fn reverse_postorder<N: Node>(succs: &[Vec<N>], entry: N) -> Vec<N> {
    let mut order = Vec::with_capacity(succs.len());
    let mut seen = vec![false; succs.len()];
    postorder(entry, &mut seen, &mut order, |n, at| succs[n.index()].get(at).copied());
    order.reverse();
    order
}

/// The same with the last successors gone to first, so that the first one stands directly behind its node where it can.
pub fn reverse_postorder_first_near<N: Node>(succs: &[Vec<N>], entry: N) -> Vec<N> {
    let mut order = Vec::with_capacity(succs.len());
    let mut seen = vec![false; succs.len()];
    postorder(entry, &mut seen, &mut order, |n, at| succs[n.index()].iter().rev().nth(at).copied());
    order.reverse();
    order
}

/// Place of each node of a graph of `count` in an order; `usize::MAX` where it has none.
fn positions<N: Node>(order: &[N], count: usize) -> Vec<usize> {
    let mut position = vec![usize::MAX; count];
    for (at, n) in order.iter().enumerate() {
        position[n.index()] = at;
    }
    position
}

/// Immediate dominators; `entry` is its own, unreachable nodes have none.
pub fn immediate_dominators<N: Node>(succs: &[Vec<N>], entry: N) -> Vec<Option<N>> {
    immediate_dominators_in(&reverse_postorder(succs, entry), &predecessors(succs))
}

/// The same by what is known of the graph: a reverse postorder and the predecessors. After Cooper, Harvey and Kennedy, "A Simple,
/// Fast Dominance Algorithm".
pub fn immediate_dominators_in<N: Node>(order: &[N], preds: &[Vec<N>]) -> Vec<Option<N>> {
    let position = positions(order, preds.len());
    let mut idom: Vec<Option<N>> = vec![None; preds.len()];
    let Some((&entry, others)) = order.split_first() else { return idom };
    idom[entry.index()] = Some(entry);
    let mut changed = true;
    while changed {
        changed = false;
        for &n in others {
            let mut new: Option<N> = None;
            for &p in preds[n.index()].iter().filter(|p| idom[p.index()].is_some()) {
                let Some(mut a) = new else {
                    new = Some(p);
                    continue;
                };
                let mut b = p;
                while a != b {
                    // Both have dominators: each step goes up a computed part of the tree.
                    if position[a.index()] > position[b.index()] {
                        a = idom[a.index()].unwrap_or(entry);
                    } else {
                        b = idom[b.index()].unwrap_or(entry);
                    }
                }
                new = Some(a);
            }
            if new.is_some() && idom[n.index()] != new {
                idom[n.index()] = new;
                changed = true;
            }
        }
    }
    idom
}

/// Whether `a` dominates `b`, by the table of immediate dominators.
pub fn dominates<N: Node>(idom: &[Option<N>], a: N, mut b: N) -> bool {
    loop {
        if a == b {
            return true;
        }
        match idom[b.index()] {
            Some(d) if d != b => b = d,
            _ => return false,
        }
    }
}

/// A natural loop. Loops with one header count as one.
#[derive(Debug, Clone)]
pub struct Loop<N> {
    /// The node that dominates the loop, where all iterations start.
    pub header: N,
    /// All nodes of the loop, inner loops included, in reverse postorder.
    pub blocks: Vec<N>,
    /// Nodes of the loop that lead back to the header.
    pub latches: Vec<N>,
    /// The innermost loop round this one.
    pub parent: Option<usize>,
    /// 1 for an outermost loop.
    pub depth: u32,
    contains: Vec<bool>,
}

/// The loop nest of a graph. Cycles with several entries are no loops.
#[derive(Debug, Clone)]
pub struct LoopNest<N> {
    /// All loops, outer ones before inner ones.
    pub loops: Vec<Loop<N>>,
    /// The innermost loop of each node.
    pub innermost: Vec<Option<usize>>,
}

impl<N: Node> LoopNest<N> {
    /// The loops of a graph by a reverse postorder, the predecessors and what dominates what.
    pub fn of(order: &[N], preds: &[Vec<N>], dominates: impl Fn(N, N) -> bool) -> LoopNest<N> {
        let position = positions(order, preds.len());
        let reachable = |p: &N| position[p.index()] != usize::MAX;
        let mut loops: Vec<Loop<N>> = Vec::new();
        let mut innermost: Vec<Option<usize>> = vec![None; preds.len()];
        // Headers in reverse postorder: an outer header stands before an inner one.
        for &header in order {
            let back = preds[header.index()].iter().copied();
            // What a node dominates stands behind it: few are asked for, or graphs without loops would take time by their square.
            let behind = |p: &N| reachable(p) && position[p.index()] >= position[header.index()];
            let latches: Vec<N> = back.filter(|p| behind(p) && dominates(header, *p)).collect();
            if latches.is_empty() {
                continue;
            }
            let mut contains = vec![false; preds.len()];
            contains[header.index()] = true;
            let mut work = latches.clone();
            while let Some(n) = work.pop() {
                if !std::mem::replace(&mut contains[n.index()], true) {
                    work.extend(preds[n.index()].iter().copied().filter(reachable));
                }
            }
            let blocks: Vec<N> = order.iter().copied().filter(|n| contains[n.index()]).collect();
            let parent = innermost[header.index()];
            let depth = parent.map_or(1, |p| loops[p].depth + 1);
            for n in &blocks {
                innermost[n.index()] = Some(loops.len());
            }
            loops.push(Loop { header, blocks, latches, parent, depth, contains });
        }
        LoopNest { loops, innermost }
    }

    /// Whether `node` is in loop `l`.
    pub fn is_in(&self, l: usize, node: N) -> bool {
        self.loops[l].contains[node.index()]
    }

    /// How many loops are around the node.
    pub fn depth(&self, node: N) -> u32 {
        self.innermost[node.index()].map_or(0, |l| self.loops[l].depth)
    }
}

/// Natural loops of a reducible graph; `None` when the graph is irreducible.
pub fn natural_loops<N: Node>(succs: &[Vec<N>], entry: N) -> Option<LoopNest<N>> {
    let (order, preds) = (reverse_postorder(succs, entry), predecessors(succs));
    let idom = immediate_dominators_in(&order, &preds);
    let position = positions(&order, succs.len());
    let mut edges = order.iter().flat_map(|&from| succs[from.index()].iter().map(move |&to| (from, to)));
    let reducible =
        edges.all(|(from, to)| position[to.index()] > position[from.index()] || dominates(&idom, to, from));
    reducible.then(|| LoopNest::of(&order, &preds, |a, b| dominates(&idom, a, b)))
}

/// Post-dominators: immediate dominators of the reversed graph with a virtual exit (index `succs.len()`) that
/// every node without successors leads to. Nodes that cannot reach an exit have none.
pub fn post_dominators(succs: &[Vec<usize>]) -> Vec<Option<usize>> {
    let exit = succs.len();
    let mut reversed = vec![Vec::new(); exit + 1];
    for (n, list) in succs.iter().enumerate() {
        if list.is_empty() {
            reversed[exit].push(n);
        }
        for &s in list {
            reversed[s].push(n);
        }
    }
    immediate_dominators(&reversed, exit)
}

/// Nodes that lie on a cycle.
pub fn on_cycle(succs: &[Vec<usize>]) -> Vec<bool> {
    strongly_connected(succs).into_iter().fold(vec![false; succs.len()], |mut flags, component| {
        let cyclic = component.len() > 1 || succs[component[0]].contains(&component[0]);
        component.into_iter().for_each(|n| flags[n] = cyclic);
        flags
    })
}

/// Strongly connected components (Kosaraju).
pub fn strongly_connected(succs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut finished = Vec::with_capacity(succs.len());
    let mut seen = vec![false; succs.len()];
    for root in 0..succs.len() {
        postorder(root, &mut seen, &mut finished, |n, at| succs[n].get(at).copied());
    }
    let preds = predecessors(succs);
    let mut done = vec![false; succs.len()];
    let mut components = Vec::new();
    for &root in finished.iter().rev() {
        if done[root] {
            continue;
        }
        done[root] = true;
        let mut component = Vec::new();
        let mut work = vec![root];
        while let Some(b) = work.pop() {
            component.push(b);
            for &p in &preds[b] {
                if !done[p] {
                    done[p] = true;
                    work.push(p);
                }
            }
        }
        components.push(component);
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diamond_in_a_loop() {
        // 0 -> 1 -> {2, 3} -> 4 -> {1, 5}
        let g = vec![vec![1], vec![2, 3], vec![4], vec![4], vec![1, 5], vec![]];
        let idom = immediate_dominators(&g, 0);
        assert_eq!(idom, [Some(0), Some(0), Some(1), Some(1), Some(1), Some(4)]);
        let nest = natural_loops(&g, 0).expect("reducible");
        assert_eq!(nest.loops.len(), 1);
        assert_eq!(nest.loops[0].header, 1);
        assert_eq!(nest.innermost, [None, Some(0), Some(0), Some(0), Some(0), None]);
        let pdom = post_dominators(&g);
        assert_eq!(pdom[1], Some(4));
        assert_eq!(pdom[2], Some(4));
        assert_eq!(on_cycle(&g), [false, true, true, true, true, false]);
    }

    #[test]
    fn two_entries_into_a_cycle_are_irreducible() {
        let g = vec![vec![1, 2], vec![2], vec![1]];
        assert!(natural_loops(&g, 0).is_none());
    }

    #[test]
    fn nested_loops_know_their_parents() {
        // 0 -> 1 -> 2 -> {2, 3}; 3 -> {1, 4}
        let g = vec![vec![1], vec![2], vec![2, 3], vec![1, 4], vec![]];
        let nest = natural_loops(&g, 0).expect("reducible");
        assert_eq!(nest.loops.len(), 2);
        assert_eq!(nest.loops[1].parent, Some(0));
        assert_eq!(nest.innermost[2], Some(1));
    }
}
