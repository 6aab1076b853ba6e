//! Graph algorithms on successor lists: predecessors, orders, dominators, natural loops, components.
//!
//! They serve functions, whose nodes are blocks ([`crate::analysis`]), and the plans of regions, whose nodes are numbers
//! (`warpjit_ir_regions::explore`).

use crate::entities::Block;

/// A node of a graph: a number, or something with an index.
pub trait Node: Copy + Eq {
    /// Its index in tables.
    fn index(self) -> usize;
    /// The node with an index.
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
    let mut preds: Vec<Vec<N>> = vec![Vec::new(); succs.len()];
    for (n, list) in succs.iter().enumerate() {
        let n = N::of_index(n);
        for s in list {
            let list = &mut preds[s.index()];
            // Nodes are visited in order, so only the last entry can be equal.
            if list.last() != Some(&n) {
                list.push(n);
            }
        }
    }
    preds
}

/// Appends the nodes reachable from `root` that have not been seen, in postorder. `visit` returns the successors of a
/// node in the order in which they are visited.
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

/// The same, but visits the last successor first, so that a node's first successor directly follows it if possible.
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

/// Immediate dominators; `entry` is its own, unreachable nodes have none. Takes time in proportion to the edges and the logarithm of the
/// nodes, whatever the graph is: "Lengauer and Tarjan, A Fast Algorithm for Finding Dominators in a Flowgraph", 1979, the simple version.
pub fn immediate_dominators<N: Node>(succs: &[Vec<N>], entry: N) -> Vec<Option<N>> {
    DominatorSearch::new(succs, entry).run(succs)
}

/// No number.
const NONE: u32 = u32::MAX;

/// Nodes by their numbers in the order in which a search first comes to them. A *semidominator* is the least node from which a way leads
/// to a node through greater ones only.
struct DominatorSearch<N> {
    /// Number of each node, or [`NONE`].
    number: Vec<u32>,
    node: Vec<N>,
    /// From where the search has come.
    parent: Vec<u32>,
    semi: Vec<u32>,
    /// The forest of nodes that are done: the node above, and the one with the least semidominator on the way there.
    above: Vec<u32>,
    least: Vec<u32>,
}

impl<N: Node> DominatorSearch<N> {
    /// Numbers the nodes.
    fn new(succs: &[Vec<N>], entry: N) -> DominatorSearch<N> {
        let mut search = DominatorSearch {
            number: vec![NONE; succs.len()],
            node: Vec::new(),
            parent: Vec::new(),
            semi: Vec::new(),
            above: Vec::new(),
            least: Vec::new(),
        };
        search.reach(entry, 0);
        let mut path = vec![(entry, 0)];
        while let Some((node, next)) = path.last_mut() {
            let from = search.number[node.index()];
            match succs[node.index()].get(*next) {
                Some(&s) => {
                    *next += 1;
                    if search.number[s.index()] == NONE {
                        search.reach(s, from);
                        path.push((s, 0));
                    }
                }
                None => _ = path.pop(),
            }
        }
        search
    }

    fn reach(&mut self, node: N, from: u32) {
        let n = self.node.len() as u32;
        self.number[node.index()] = n;
        self.node.push(node);
        self.parent.push(from);
        self.semi.push(n);
        self.above.push(NONE);
        self.least.push(n);
    }

    /// The node with the least semidominator on the way up from a node to the root of its tree, without the root. Shortens the way.
    fn least_above(&mut self, n: u32, path: &mut Vec<u32>) -> u32 {
        let above = |this: &Self, n: u32| this.above[n as usize];
        if above(self, n) == NONE {
            return n;
        }
        let mut at = n;
        while above(self, above(self, at)) != NONE {
            path.push(at);
            at = above(self, at);
        }
        while let Some(n) = path.pop() {
            let up = above(self, n) as usize;
            if self.semi[self.least[up] as usize] < self.semi[self.least[n as usize] as usize] {
                self.least[n as usize] = self.least[up];
            }
            self.above[n as usize] = self.above[up];
        }
        self.least[n as usize]
    }

    fn run(mut self, succs: &[Vec<N>]) -> Vec<Option<N>> {
        let count = self.node.len();
        let mut preds: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (from, node) in self.node.iter().enumerate() {
            for s in &succs[node.index()] {
                preds[self.number[s.index()] as usize].push(from as u32);
            }
        }
        let mut dominator = vec![0; count];
        let mut of_semi: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut path = Vec::new();
        for n in (1..count).rev() {
            for &p in &preds[n] {
                let least = self.least_above(p, &mut path);
                self.semi[n] = self.semi[n].min(self.semi[least as usize]);
            }
            of_semi[self.semi[n] as usize].push(n as u32);
            let parent = self.parent[n];
            self.above[n] = parent;
            for v in std::mem::take(&mut of_semi[parent as usize]) {
                let least = self.least_above(v, &mut path);
                // Else the same as of `least`, which is not known yet.
                let known = self.semi[least as usize] == parent;
                dominator[v as usize] = if known { parent } else { least };
            }
        }
        let mut idom = vec![None; succs.len()];
        if let Some(entry) = self.node.first() {
            idom[entry.index()] = Some(*entry);
        }
        for n in 1..count {
            if dominator[n] != self.semi[n] {
                dominator[n] = dominator[dominator[n] as usize];
            }
            idom[self.node[n].index()] = Some(self.node[dominator[n] as usize]);
        }
        idom
    }
}

/// Whether `a` dominates `b`, by the table of immediate dominators. Takes time in proportion to the tree's depth;
/// [`DominatorTree`] tells at once.
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

/// The dominator tree, which tells at once which nodes stand on every way to which.
#[derive(Clone, Debug)]
pub struct DominatorTree<N> {
    /// Immediate dominator of each node; `None` for the entry and for nodes that cannot be reached.
    pub idom: Vec<Option<N>>,
    /// Nodes that each node dominates immediately, in the order that the tree was made with.
    pub children: Vec<Vec<N>>,
    /// Numbers in a walk over the tree: a dominates b if a's interval holds b's.
    enter: Vec<u32>,
    leave: Vec<u32>,
}

impl<N: Node> DominatorTree<N> {
    /// The tree of a graph; children are in the order of `order`, which holds every node that can be reached, the entry first.
    pub fn new(succs: &[Vec<N>], order: &[N]) -> DominatorTree<N> {
        let count = succs.len();
        let mut tree = DominatorTree {
            idom: vec![None; count],
            children: vec![Vec::new(); count],
            enter: vec![NONE; count],
            leave: vec![0; count],
        };
        let Some(&entry) = order.first() else { return tree };
        tree.idom = immediate_dominators(succs, entry);
        tree.idom[entry.index()] = None;
        for &node in order {
            if let Some(up) = tree.idom[node.index()] {
                tree.children[up.index()].push(node);
            }
        }
        let mut clock = 0;
        let mut path = vec![(entry, 0)];
        tree.enter[entry.index()] = 0;
        while let Some((node, child)) = path.last_mut() {
            let node = *node;
            match tree.children[node.index()].get(*child) {
                Some(&down) => {
                    *child += 1;
                    clock += 1;
                    tree.enter[down.index()] = clock;
                    path.push((down, 0));
                }
                None => {
                    tree.leave[node.index()] = clock;
                    path.pop();
                }
            }
        }
        tree
    }

    /// Whether `a` stands on every way to `b`; a node dominates itself. False for nodes that cannot be reached.
    pub fn dominates(&self, a: N, b: N) -> bool {
        let (a, b) = (a.index(), b.index());
        self.enter[b] != NONE && self.enter[a] <= self.enter[b] && self.enter[b] <= self.leave[a]
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
    /// The innermost loop around this one.
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
            // A dominator comes before the nodes it dominates. Checking that first makes most queries cheap; otherwise
            // graphs without loops would take quadratic time.
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
    let tree = DominatorTree::new(succs, &order);
    let position = positions(&order, succs.len());
    let mut edges = order.iter().flat_map(|&from| succs[from.index()].iter().map(move |&to| (from, to)));
    let reducible =
        edges.all(|(from, to)| position[to.index()] > position[from.index()] || tree.dominates(to, from));
    reducible.then(|| LoopNest::of(&order, &preds, |a, b| tree.dominates(a, b)))
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

    /// By definition: without it no way leads from the entry there.
    fn dominated_by_definition(succs: &[Vec<usize>], by: usize, n: usize) -> bool {
        let (mut seen, mut work) = (vec![false; succs.len()], vec![0]);
        while let Some(at) = work.pop() {
            if at != by && !std::mem::replace(&mut seen[at], true) {
                work.extend(&succs[at]);
            }
        }
        !seen[n]
    }

    #[test]
    fn dominators_are_what_the_definition_says() {
        let mut seed = 1u32;
        let mut random = |limit: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as usize % limit
        };
        for _ in 0..300 {
            let count = 1 + random(14);
            let succs: Vec<Vec<usize>> =
                (0..count).map(|_| (0..random(4)).map(|_| random(count)).collect()).collect();
            let idom = immediate_dominators(&succs, 0);
            let reached = reverse_postorder(&succs, 0);
            let tree = DominatorTree::new(&succs, &reached);
            for n in 0..count {
                if !reached.contains(&n) {
                    assert_eq!(idom[n], None);
                    continue;
                }
                for by in (0..count).filter(|by| reached.contains(by)) {
                    let wanted = dominated_by_definition(&succs, by, n);
                    assert_eq!(dominates(&idom, by, n), wanted, "{succs:?}: {by} and {n}");
                    assert_eq!(tree.dominates(by, n), wanted, "{succs:?}: {by} and {n}");
                }
            }
        }
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
