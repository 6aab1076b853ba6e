//! Which bundles a program can reach, and what comes behind each.
//!
//! A branch takes effect behind the bundle after it, its delay slot (facts/vp1.md section 1). So where execution stands
//! is a [`Node`]: a bundle, and what is pending behind it. A branch that is taken in a delay slot makes its own branch
//! pending while the first one takes effect: then the bundle at the first target is the second branch's delay slot.

use std::collections::{BTreeMap, BTreeSet};

use super::{Options, Outside, outside_of};
use crate::vp1::{Chip, Inst, Op, Unit, bundle_len, decode};

/// Codes are looked at up to this word address; what lies beyond does not exist.
pub(super) const MAX_WORDS: u32 = (1 << 20) - 1;

/// Longest code, in words, whose every word is held to be a place that a `ret` may go to where nothing says more.
const MAX_RETURN_WORDS: u32 = 1 << 14;

/// The branch whose delay slot a bundle is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Pending {
    /// None: the next bundle follows.
    None,
    /// To a word address.
    To(u32),
    /// A call whose delay slot is where a `ret` goes, so that only there it is known what it returns to.
    Call(u32),
    /// A `ret`: to the address that it has noted.
    Return,
}

/// Where execution stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node {
    /// Word address of the bundle.
    pub pc: u32,
    /// What takes effect behind it.
    pub pending: Pending,
    /// Whether what the bundle does outside of the processor is done already.
    pub resumed: bool,
}

impl Node {
    /// A bundle that is no delay slot.
    pub fn at(pc: u32) -> Node {
        Node { pc, pending: Pending::None, resumed: false }
    }
}

/// The instructions of a bundle; what a bundle does not have is its unit's no-op.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bundle {
    pub(super) address: Inst,
    pub(super) scalar: Inst,
    pub(super) vector: Inst,
    pub(super) branch: Inst,
}

impl Bundle {
    /// What it does outside of the processor.
    pub(super) fn outside(&self) -> impl Iterator<Item = Outside> {
        [self.address, self.scalar].into_iter().filter_map(outside_of)
    }
}

/// Where control goes: to a bundle, or to where a `ret` has noted, with what is pending behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// `None`: where the `ret` goes that is pending.
    pub(super) pc: Option<u32>,
    pub(super) pending: Pending,
}

/// A bundle that can be reached, with its ways on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) bundle: Bundle,
    /// Word address behind it.
    pub(super) end: u32,
    /// Where control goes without a branch.
    pub(super) next: Place,
    /// Where a branch in it leads.
    pub(super) taken: Option<Place>,
    /// What a call in it returns to, if that is known here.
    pub(super) returns_to: Option<u32>,
}

/// The reachable code.
pub(super) struct Graph {
    steps: BTreeMap<Node, Option<Step>>,
    /// Where a `ret` may go.
    returns: BTreeSet<u32>,
    /// What may be pending where a `ret` goes, but nothing.
    pendings: Vec<Pending>,
}

struct Code {
    words: Vec<u32>,
    chip: Chip,
}

impl Code {
    fn word(&self, pc: u32) -> Option<u32> {
        self.words.get(pc as usize).copied()
    }

    fn len(&self, pc: u32) -> u32 {
        bundle_len(pc, |pc| self.word(pc))
    }

    fn bundle(&self, pc: u32) -> Option<(Bundle, u32)> {
        let len = self.len(pc);
        let mut insts = [Unit::Address, Unit::Scalar, Unit::Vector, Unit::Branch]
            .map(|unit| decode(unit.no_op(), pc, self.chip));
        for at in pc..pc + len {
            let inst = decode(self.word(at)?, at, self.chip);
            insts[Unit::of(inst.word) as usize] = inst;
        }
        let [address, scalar, vector, branch] = insts;
        (len != 0).then_some((Bundle { address, scalar, vector, branch }, pc + len))
    }

    fn step(&self, node: Node) -> Option<Step> {
        let (bundle, end) = self.bundle(node.pc)?;
        let next = match node.pending {
            Pending::None => Some(end),
            Pending::To(target) | Pending::Call(target) => Some(target),
            Pending::Return => None,
        };
        let branch = bundle.branch;
        let call = branch.op() == Op::Branch && branch.word & 1 << 26 != 0;
        let returns_to = next.filter(|_| call).map(|slot| slot.wrapping_add(self.len(slot)));
        let pending = match branch.op() {
            Op::Branch | Op::BranchAbs => {
                let target = if branch.op() == Op::BranchAbs {
                    (branch.word & 0xffff) << 2
                } else {
                    // 15 signed bits, groups of four words.
                    let groups = (branch.word << 8) as i32 >> 17;
                    (branch.pc & !3).wrapping_add((groups as u32).wrapping_mul(4))
                };
                let late = call && returns_to.is_none();
                Some(if late { Pending::Call(target) } else { Pending::To(target) })
            }
            Op::Return => Some(Pending::Return),
            _ => None,
        };
        let taken = pending.map(|pending| Place { pc: next, pending });
        let next = Place { pc: next, pending: Pending::None };
        Some(Step { bundle, end, next, taken, returns_to })
    }
}

/// Whether a branch that is in `step` is always taken, never, or as a condition says.
pub(super) fn condition(branch: Inst) -> Option<bool> {
    if branch.op() != Op::Branch {
        return Some(true);
    }
    let negated = branch.word & 1 << 25 != 0;
    match branch.word >> 5 & 15 {
        // Bits of $c that are always 0, and the one that is always 1 (facts section 2).
        11 | 12 | 14 => Some(negated),
        15 => Some(!negated),
        _ => None,
    }
}

impl Step {
    /// Where it may lead.
    fn places(&self) -> impl Iterator<Item = Place> {
        let branch = self.bundle.branch;
        let always = self.taken.map_or(Some(false), |_| condition(branch));
        let ends = branch.op() == Op::Exit;
        // Behind an exit execution may be resumed.
        let next = (ends || always != Some(true)).then_some(self.next);
        next.into_iter().chain(self.taken.filter(|_| always != Some(false)))
    }

    /// Whether `$uc0` may be anything behind it.
    fn forgets_return(&self) -> bool {
        let scalar = self.bundle.scalar;
        scalar.op() == Op::MovTo && scalar.word >> 3 & 31 == 0x0a && scalar.word >> 19 & 31 == 0
    }

    fn is_call(&self) -> bool {
        self.returns_to.is_some() || matches!(self.taken, Some(Place { pending: Pending::Call(_), .. }))
    }
}

impl Graph {
    /// Follows the program from its entries.
    pub(super) fn explore(code: &[u8], options: &Options<'_>) -> Graph {
        let (words, _) = code.as_chunks::<4>();
        let words: Vec<u32> = words.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let mut code = Code { words, chip: options.chip };
        code.words.truncate(MAX_WORDS as usize);
        let mut graph = Graph { steps: BTreeMap::new(), returns: BTreeSet::new(), pendings: Vec::new() };
        let mut work: Vec<Node> =
            options.more_entries.iter().chain([&options.entry]).map(|&pc| Node::at(pc)).collect();
        if graph.returns_anywhere(&code, &work) {
            graph.returns = if code.words.len() as u32 <= MAX_RETURN_WORDS {
                (0..code.words.len() as u32).collect()
            } else {
                (0..code.words.len() as u32).step_by(4).collect()
            };
        }
        loop {
            while let Some(node) = work.pop() {
                if graph.steps.contains_key(&node) {
                    continue;
                }
                let step = code.step(node);
                graph.steps.insert(node, step);
                let Some(step) = step else { continue };
                if options.resumable && !node.resumed && step.bundle.outside().next().is_some() {
                    work.push(Node { resumed: true, ..node });
                }
                graph.returns.extend(step.returns_to);
                if matches!(node.pending, Pending::Call(_)) {
                    graph.returns.insert(step.end);
                }
                for Place { pc, pending } in step.places() {
                    match pc {
                        Some(pc) => work.push(Node { pc, pending, resumed: false }),
                        None if !graph.pendings.contains(&pending) => graph.pendings.push(pending),
                        None => {}
                    }
                }
            }
            // A place that is only now known to be returned to.
            let pendings = &graph.pendings;
            let places = graph
                .returns
                .iter()
                .flat_map(|&pc| pendings.iter().map(move |&pending| Node { pc, pending, resumed: false }));
            work.extend(places.filter(|node| !graph.steps.contains_key(node)));
            if work.is_empty() {
                return graph;
            }
        }
    }

    /// Whether a `ret` can be reached before any call, so that it goes wherever `$uc0` says at the start, or behind
    /// an instruction that writes `$uc0`.
    fn returns_anywhere(&self, code: &Code, entries: &[Node]) -> bool {
        let mut seen = BTreeSet::new();
        let mut work: Vec<(Node, bool)> = entries.iter().map(|&node| (node, true)).collect();
        while let Some((node, anything)) = work.pop() {
            if !seen.insert((node, anything)) {
                continue;
            }
            let Some(step) = code.step(node) else { continue };
            let is_return = step.bundle.branch.op() == Op::Return;
            if is_return && anything {
                return true;
            }
            for place in step.places() {
                let called = step.is_call() && Some(place) == step.taken;
                let anything = (anything || step.forgets_return()) && !called;
                if let Some(pc) = place.pc {
                    work.push((Node { pc, pending: place.pending, resumed: false }, anything));
                }
            }
        }
        false
    }

    /// What can be reached.
    pub(super) fn nodes(&self) -> impl Iterator<Item = Node> + '_ {
        self.steps.keys().copied()
    }

    /// The bundle of a node; `None` behind the end of the code.
    pub(super) fn step(&self, node: Node) -> Option<&Step> {
        self.steps.get(&node)?.as_ref()
    }

    /// The address by which a `ret` finds the bundles it may go to, less four times the bundle's own, where `pending`
    /// is what is pending there.
    pub(super) fn return_space(&self, pending: Pending) -> u32 {
        let others = self.pendings.iter().filter(|&&other| other != Pending::None);
        let index = others.into_iter().position(|&other| other == pending);
        index.map_or(0, |index| ((index as u32 + 1) << 22) | 0x8000_0000)
    }

    /// The nodes that a `ret` finds by address.
    pub(super) fn addresses(&self) -> impl Iterator<Item = (u32, Node)> + '_ {
        let places = self
            .returns
            .iter()
            .flat_map(|&pc| self.pendings.iter().map(move |&pending| Node { pc, pending, resumed: false }));
        places.map(|node| (self.return_space(node.pending).wrapping_add(node.pc.wrapping_mul(4)), node))
    }
}
