//! What must hold of a region as a whole: loops, ordered accesses, votes, quads. What does not hold adds a stop, and the region is
//! explored again.

use super::{Explorer, Failure};
use crate::plan::{Node, NodeTerm, Plan};
use crate::split::{OrderedAccesses, looks_at_quad};
use crate::waiting::{Waiting, Waits};
use foldhash::{HashSet, HashSetExt};
use warpjit_ir_core::entities::{Block, Slot};
use warpjit_ir_core::exit::ExitKind;
use warpjit_ir_core::function::{Function, Imm, Terminator};
use warpjit_ir_core::graph::{self, DominatorTree};
use warpjit_ir_core::opcodes::{Opcode, Space};

impl Explorer<'_> {
    /// On Tesla, lanes that wait at a join execute the joining instruction again if others leave across it
    /// (docs/hardware/divergence.md, unwind). Checks that this makes no difference.
    pub(super) fn check_crossed_joins(&mut self) -> Result<(), Failure> {
        for (entry, block) in self.joined.clone() {
            let at_target = matches!(self.func.term(block), Terminator::Join { at_target: true, .. });
            if self.crossed.contains(&entry)
                && !at_target
                && (entry.target != block || !is_idempotent(self.func, block))
            {
                self.stops.term.insert(entry.pusher);
                // The push may itself be nested. If so, exploring fails there again and finds the outermost one.
                let of_pusher =
                    self.nodes.iter().zip(&self.places).filter(|(n, _)| n.block == Some(entry.pusher));
                let outer = of_pusher.filter_map(|(_, place)| (*place)?.1).next();
                self.stops.term.extend(outer.map(|outer| outer.pusher));
                return Err(Failure::Stop);
            }
        }
        Ok(())
    }

    /// Adds a stop for a node: at its outermost push, or at its own block.
    fn stop_of_node(&mut self, plan: &Plan, node: usize) -> Failure {
        let block = plan.nodes[node].block.expect("node with a body");
        let outer = self.places[node].and_then(|place| place.1);
        self.fail_at(block, outer.as_slice(), true)
    }

    /// Whether the relative stack of a node is empty.
    fn is_outermost(&self, node: usize) -> bool {
        self.places[node].is_some_and(|(depth, _)| depth == 0)
    }

    /// Checks loops: no irreducible graph, no stores to ordered memory, no loop that certainly waits. Returns whether a
    /// loop that stays may wait.
    pub(super) fn check_cycles(&mut self, plan: &Plan) -> Result<bool, Failure> {
        let succs = plan.successors();
        let loops = graph::natural_loops(&succs, 0);
        for component in graph::strongly_connected(&succs) {
            let cyclic = component.len() > 1 || succs[component[0]].contains(&component[0]);
            if !cyclic {
                continue;
            }
            if self.facts.mode.cut_loops && !self.facts.mode.counted {
                return Err(self.stop_before(plan, &component));
            }
            let mut apart = OrderedAccesses::default();
            for &n in component.iter().filter(|_| !self.facts.mode.across) {
                let Some(b) = plan.nodes[n].block else { continue };
                let together = self.facts.mode.whole && !self.to_end && self.is_outermost(n);
                if !together {
                    apart = apart.plus(OrderedAccesses::of_block(self.func, b, &self.facts.order));
                }
            }
            let ordered = apart.needs_all() || apart.conflicts_with(apart);
            if loops.is_none() || ordered {
                let nest = loops.iter().flat_map(|nest| &nest.loops);
                let nest: Vec<_> = nest.filter(|of| component.contains(&of.header)).collect();
                if loops.is_some() && self.may_end_at_entry(plan, &succs, &component, &nest) {
                    self.stops.back = true;
                    return Err(Failure::Stop);
                }
                return Err(self.stop_before(plan, &component));
            }
        }
        let mut may_wait = false;
        let waiting = Waiting { func: self.func, plan, succs: &succs };
        for of in loops.iter().flat_map(|nest| &nest.loops) {
            self.meter.step(1 + of.blocks.len() / 8)?;
            let waits = waiting.waits(of, !self.facts.mode.alone);
            match waits {
                Waits::Never => continue,
                Waits::Maybe if self.may_stay(plan, &succs, of, &waiting) => {
                    may_wait = true;
                    continue;
                }
                Waits::Maybe => {}
                Waits::Surely => self.facts.note_wait(plan.nodes[of.header].block),
            }
            return Err(self.stop_before(plan, &of.blocks));
        }
        Ok(may_wait)
    }

    /// Whether a region that starts inside a loop that it cannot hold may end where the loop comes back to its start: then it is
    /// one turn of the loop, instead of a single block. Not where chunks would leave the loop by different scalars.
    fn may_end_at_entry(
        &self,
        plan: &Plan,
        succs: &[Vec<usize>],
        component: &[usize],
        nest: &[&graph::Loop<usize>],
    ) -> bool {
        let waiting = Waiting { func: self.func, plan, succs };
        let keeps = |of: &&graph::Loop<usize>| {
            waiting.waits(of, !self.facts.mode.alone) != Waits::Surely
                && !waiting.leaves_by_scalar_memory(&of.blocks)
        };
        self.facts.mode.wave && !self.stops.back && component.contains(&0) && nest.iter().all(keeps)
    }

    /// Adds a stop where a loop is entered, at its node with the smallest relative stack.
    fn stop_before(&mut self, plan: &Plan, nodes: &[usize]) -> Failure {
        let node = nodes
            .iter()
            .copied()
            .min_by_key(|&n| (self.places[n].map_or(0, |place| place.0), n))
            .expect("not empty");
        let before = self.stops.clone();
        let failure = self.stop_of_node(plan, node);
        if before.term == self.stops.term && before.enter == self.stops.enter {
            return Failure::Impossible;
        }
        failure
    }

    /// Whether a loop that may wait can stay in the region. It cannot if it may wait for lanes of its own chunk that
    /// the hardware would run before the loop and compiled code runs after it.
    fn may_stay(
        &self,
        plan: &Plan,
        succs: &[Vec<usize>],
        of: &graph::Loop<usize>,
        waiting: &Waiting,
    ) -> bool {
        let mode = self.facts.mode;
        if self.facts.order.lockstep || mode.counted {
            return false;
        }
        if mode.wave {
            // A chunk of the whole wave keeps the program's order. Smaller chunks must not exit the loop by different
            // scalars.
            return mode.whole || !waiting.leaves_by_scalar_memory(&of.blocks);
        }
        // On the hardware, lanes that take the branch run first, and the others wait for them.
        let away = |&n: &usize| {
            let block = plan.nodes[n].block.map(|block| self.func.term(block));
            match (plan.nodes[n].term, block) {
                (NodeTerm::Branch(_, taken, _), Some(Terminator::Branch { cond, .. })) => {
                    !of.blocks.contains(&taken) && !self.func.ty(*cond).uniform
                }
                _ => false,
            }
        };
        if of.blocks.iter().any(away) {
            return false;
        }
        let order = graph::reverse_postorder(succs, 0);
        let mut position = vec![usize::MAX; succs.len()];
        order.iter().enumerate().for_each(|(at, &n)| position[n] = at);
        let dominators = DominatorTree::new(succs, &order);
        // The nodes before the loop and after it, ignoring back edges.
        let (mut before, mut behind) = (vec![false; succs.len()], vec![false; succs.len()]);
        behind[of.header] = true;
        for &n in &order {
            if behind[n] {
                succs[n].iter().filter(|&&s| position[s] > position[n]).for_each(|&s| behind[s] = true);
            }
        }
        before[of.header] = true;
        for &n in order.iter().rev() {
            before[n] |= succs[n].iter().any(|&s| position[s] > position[n] && before[s]);
        }
        let tells = |n: usize| {
            let insts = plan.nodes[n].block.into_iter().flat_map(|b| &self.func.block(b).insts);
            insts.map(|&i| self.func.inst(i)).any(|data| match (data.op, data.imm) {
                (Opcode::Store, Imm::Mem(m)) => m.space != Space::Local,
                (op, _) => op == Opcode::Atomic,
            })
        };
        order.iter().copied().filter(|&n| !of.blocks.contains(&n) && tells(n)).all(|n| {
            let joined = !self.to_end && self.is_outermost(n);
            before[n] || behind[n] && (joined || dominators.dominates(of.header, n))
        })
    }

    /// Checks that the paths of every vote taken by chunks meet again before the region exits. Others are left to an exit.
    pub(super) fn check_votes(&mut self, plan: &Plan) -> Result<(), Failure> {
        let succs = plan.successors();
        for (n, node) in plan.nodes.iter().enumerate() {
            let Some(block) = node.block else { continue };
            let Some(&meeting) = self.facts.votes.get(&block) else { continue };
            if matches!(node.term, NodeTerm::Exit(..)) {
                continue;
            }
            let meets = |node: &Node| match (node.block, node.term) {
                (Some(at), _) => at == meeting,
                (None, NodeTerm::Exit(exit, _)) => plan.exits[exit] == ExitKind::Enter(meeting),
                _ => false,
            };
            let (mut seen, mut work) = (HashSet::new(), vec![n]);
            let mut together = true;
            while let Some(at) = work.pop() {
                together &= matches!(plan.nodes[at].term, NodeTerm::Jump(_) | NodeTerm::Branch(..));
                work.extend(succs[at].iter().copied().filter(|&s| !meets(&plan.nodes[s]) && seen.insert(s)));
            }
            if together {
                continue;
            }
            if self.facts.votes_at_exit(block) {
                self.stops.term.insert(block);
            } else if block == self.entry {
                return Err(Failure::Impossible);
            } else {
                self.stops.enter.insert(block);
            }
            return Err(Failure::Stop);
        }
        Ok(())
    }

    /// Checks that all lanes that entered the region are together where one looks at others of its quad: then those that are not active did
    /// not enter, so that their registers are what they were. Lanes that end before the first instruction do not count: nobody gave their
    /// registers a value.
    pub(super) fn check_quads(&mut self, plan: &Plan) -> Result<(), Failure> {
        if self.facts.mode.wave {
            return Ok(());
        }
        let looks = |node: &Node| node.block.is_some_and(|block| looks_at_quad(self.func, block));
        let quads: Vec<usize> = (0..plan.nodes.len()).filter(|&n| looks(&plan.nodes[n])).collect();
        if quads.is_empty() {
            return Ok(());
        }
        let succs = plan.successors();
        // Nodes from which a thread ends; and those that lanes reach when some may have ended.
        let is_end = |n: usize| plan.nodes[n].term == NodeTerm::End;
        let ends_early = |n: &usize| {
            let starts = plan.nodes[*n].block.is_some_and(|block| self.func.block(block).guest_insts == 0);
            !starts && succs[*n].len() > 1 && succs[*n].iter().any(|&to| is_end(to))
        };
        let mut behind = vec![false; succs.len()];
        let mut work: Vec<usize> = (0..succs.len()).filter(ends_early).collect();
        while let Some(n) = work.pop() {
            for &to in &succs[n] {
                if !std::mem::replace(&mut behind[to], true) {
                    work.push(to);
                }
            }
        }
        for n in quads {
            let together = (!self.to_end || self.facts.mode.counted) && self.is_outermost(n) && !behind[n];
            if !together {
                if plan.nodes[n].block == Some(self.entry) {
                    return Err(Failure::Impossible);
                }
                return Err(self.stop_of_node(plan, n));
            }
        }
        Ok(())
    }

    /// Checks for conflicts between ordered accesses of different blocks.
    pub(super) fn check_hazards(&mut self, plan: &Plan) -> Result<(), Failure> {
        if self.facts.mode.across {
            return Ok(());
        }
        let mut sum = OrderedAccesses::default();
        let succs = plan.successors();
        let preds = graph::predecessors(&succs);
        let mut order: Vec<usize> = graph::reverse_postorder(&succs, 0);
        order.retain(|&n| plan.nodes[n].block.is_some());
        let joined: Vec<bool> = (0..plan.nodes.len()).map(|n| !self.to_end && self.is_outermost(n)).collect();
        // Nodes that lanes reach by one path only since all lanes were last convergent.
        let mut one_way = vec![false; plan.nodes.len()];
        let mut position = vec![0; plan.nodes.len()];
        for (at, &n) in order.iter().enumerate() {
            position[n] = at;
            one_way[n] = joined[n]
                || match preds[n][..] {
                    [] => true,
                    [p] => n != 0 && one_way[p],
                    _ => false,
                };
        }
        let dominators = DominatorTree::new(&succs, &graph::reverse_postorder(&succs, 0));
        let mut before: Vec<(usize, OrderedAccesses, bool)> = Vec::new();
        for n in order {
            let block = plan.nodes[n].block.expect("has a body");
            let own = OrderedAccesses::of_block(self.func, block, &self.facts.order);
            if own.is_empty() {
                continue;
            }
            // If lanes reach a store by several paths without reconverging, the hardware executes it once for each
            // path.
            let together = one_way[n];
            // If one chunk holds the whole warp, code keeps the order of two accesses if one dominates the other, or if
            // all lanes reconverge between them.
            let mut meeting = Some(n);
            while let Some(d) = meeting.filter(|&d| !joined[d]) {
                meeting = dominators.idom[d];
            }
            let ordered =
                |m: usize| meeting.is_some_and(|d| position[m] < position[d]) || dominators.dominates(m, n);
            let conflict = match self.facts.mode.whole {
                true => before.iter().any(|&(m, theirs, with)| {
                    theirs.conflicts_with(own) && !(with && together && ordered(m))
                }),
                false => sum.conflicts_with(own),
            };
            before.push((n, own, together));
            if n != 0 && (conflict || own.needs_all() && !together) {
                return Err(self.stop_of_node(plan, n));
            }
            sum = sum.plus(own);
        }
        Ok(())
    }
}

/// Whether running the block's body twice has the same effect as once.
fn is_idempotent(func: &Function, block: Block) -> bool {
    let mut read: HashSet<Slot> = HashSet::new();
    let insts = &func.block(block).insts;
    for &i in insts {
        if let (Opcode::SlotGet, Imm::Slot(s)) = (func.inst(i).op, func.inst(i).imm) {
            read.insert(s);
        }
    }
    insts.iter().all(|&i| match (func.inst(i).op, func.inst(i).imm) {
        (Opcode::SlotSet, Imm::Slot(s)) => !read.contains(&s),
        (op, _) => !op.has_effect() && op != Opcode::Load,
    })
}
