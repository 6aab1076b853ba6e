//! Orders, dominators and loops of small graphs given as adjacency lists.

/// Predecessor lists of a graph given by its successor lists.
pub fn predecessors(succs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut preds = vec![Vec::new(); succs.len()];
    for (n, list) in succs.iter().enumerate() {
        for &s in list {
            if !preds[s].contains(&n) {
                preds[s].push(n);
            }
        }
    }
    preds
}

/// Reverse postorder from `entry`; nodes that cannot be reached are left out.
pub fn reverse_postorder(succs: &[Vec<usize>], entry: usize) -> Vec<usize> {
    let mut order = Vec::with_capacity(succs.len());
    let mut seen = vec![false; succs.len()];
    let mut stack = vec![(entry, 0)];
    seen[entry] = true;
    while let Some((n, i)) = stack.pop() {
        if let Some(&s) = succs[n].get(i) {
            stack.push((n, i + 1));
            if !seen[s] {
                seen[s] = true;
                stack.push((s, 0));
            }
        } else {
            order.push(n);
        }
    }
    order.reverse();
    order
}

/// Immediate dominators (Cooper, Harvey, Kennedy); `entry` is its own, unreachable nodes have none.
pub fn immediate_dominators(succs: &[Vec<usize>], entry: usize) -> Vec<Option<usize>> {
    let order = reverse_postorder(succs, entry);
    let preds = predecessors(succs);
    let mut position = vec![usize::MAX; succs.len()];
    for (i, &n) in order.iter().enumerate() {
        position[n] = i;
    }
    let mut idom: Vec<Option<usize>> = vec![None; succs.len()];
    idom[entry] = Some(entry);
    let mut changed = true;
    while changed {
        changed = false;
        for &n in order.iter().skip(1) {
            let mut new: Option<usize> = None;
            for &p in &preds[n] {
                if idom[p].is_none() {
                    continue;
                }
                new = Some(match new {
                    None => p,
                    Some(mut a) => {
                        let mut b = p;
                        while a != b {
                            while position[a] > position[b] {
                                a = idom[a].expect("processed");
                            }
                            while position[b] > position[a] {
                                b = idom[b].expect("processed");
                            }
                        }
                        a
                    }
                });
            }
            if new.is_some() && idom[n] != new {
                idom[n] = new;
                changed = true;
            }
        }
    }
    idom
}

/// Whether `a` dominates `b`, by the table of immediate dominators.
pub fn dominates(idom: &[Option<usize>], a: usize, mut b: usize) -> bool {
    loop {
        if a == b {
            return true;
        }
        match idom[b] {
            Some(d) if d != b => b = d,
            _ => return false,
        }
    }
}

/// A natural loop.
#[derive(Debug, Clone)]
pub struct Loop {
    /// The block that all iterations start at.
    pub header: usize,
    /// Members, the header and those of inner loops included; one flag a node.
    pub contains: Vec<bool>,
    /// The innermost loop round this one.
    pub parent: Option<usize>,
}

/// The loop nest of a graph.
#[derive(Debug, Clone)]
pub struct LoopNest {
    /// All loops, outer ones before inner ones.
    pub loops: Vec<Loop>,
    /// The innermost loop of each node.
    pub innermost: Vec<Option<usize>>,
}

impl LoopNest {
    /// Whether `node` is in loop `l`.
    pub fn is_in(&self, l: usize, node: usize) -> bool {
        self.loops[l].contains[node]
    }
}

/// Natural loops of a reducible graph; `None` when the graph is irreducible.
pub fn natural_loops(succs: &[Vec<usize>], entry: usize) -> Option<LoopNest> {
    let n = succs.len();
    let order = reverse_postorder(succs, entry);
    let mut position = vec![usize::MAX; n];
    for (i, &b) in order.iter().enumerate() {
        position[b] = i;
    }
    let idom = immediate_dominators(succs, entry);
    let preds = predecessors(succs);
    let mut by_header: Vec<Option<Vec<bool>>> = vec![None; n];
    for &b in &order {
        for &s in &succs[b] {
            if position[s] > position[b] {
                continue;
            }
            if !dominates(&idom, s, b) {
                return None;
            }
            let members = by_header[s].get_or_insert_with(|| {
                let mut m = vec![false; n];
                m[s] = true;
                m
            });
            let mut work = vec![b];
            while let Some(x) = work.pop() {
                if !members[x] {
                    members[x] = true;
                    work.extend(preds[x].iter().copied().filter(|&p| position[p] != usize::MAX));
                }
            }
        }
    }
    // In order of the headers' positions an outer loop comes before those inside it.
    let mut loops: Vec<Loop> = Vec::new();
    let mut innermost = vec![None; n];
    for &h in &order {
        if let Some(contains) = by_header[h].take() {
            let index = loops.len();
            let parent = innermost[h];
            for (b, inside) in contains.iter().enumerate() {
                if *inside {
                    innermost[b] = Some(index);
                }
            }
            loops.push(Loop { header: h, contains, parent });
        }
    }
    Some(LoopNest { loops, innermost })
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
    let n = succs.len();
    let mut finished = Vec::with_capacity(n);
    let mut seen = vec![false; n];
    for root in 0..n {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        let mut stack = vec![(root, 0)];
        while let Some((b, i)) = stack.pop() {
            if let Some(&s) = succs[b].get(i) {
                stack.push((b, i + 1));
                if !seen[s] {
                    seen[s] = true;
                    stack.push((s, 0));
                }
            } else {
                finished.push(b);
            }
        }
    }
    let preds = predecessors(succs);
    let mut done = vec![false; n];
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
