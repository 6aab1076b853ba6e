//! Finds the bundles that a program can reach and the successors of each.
//!
//! A branch takes effect after the bundle that follows it, its delay slot (docs/hardware/vp1.md section 1). So a point of execution is a
//! [`Node`]: a bundle, and the branch that is pending after it. A branch taken in a delay slot makes its own branch pending while
//! the first one takes effect; the bundle at the first target is then the second branch's delay slot.
//!
//! A bundle may be the delay slot of any number of branches, so a program of `n` bundles could have `n²` nodes. Therefore only
//! the first few branches into a bundle get nodes of their own ([`MOST_PENDING`]). All others, and branches in the delay slot of
//! a `ret`, write their target to a register slot and share one node, which continues at the target in that slot, as a `ret`
//! does.

use std::collections::{BTreeSet, HashMap};

use warpjit_ir::{Meter, Stopped};

use crate::reachable::{After, Reachable, Source};
use crate::vp1::lift::analysis::outside::{Outside, outside_of};
use crate::vp1::lift::options::Options;
use crate::vp1::{Chip, Inst, Op, Unit, bundle_len, decode};

/// Codes are looked at up to this word address; what lies beyond does not exist.
pub(in crate::vp1::lift) const MAX_WORDS: u32 = (1 << 20) - 1;

/// Longest code, in words, whose every word is held to be a target that a `ret` may go to where nothing says more.
const MAX_RETURN_WORDS: u32 = 1 << 14;

/// Most branches that make nodes of their own for one bundle in their delay slot.
const MOST_PENDING: u8 = 8;

/// The branch whose delay slot a bundle is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Pending {
    /// None: the next bundle follows.
    None,
    /// To a word address.
    To(u32),
    /// To the address that has been noted ([`crate::vp1::lift::Slots::target`]): a `ret`, or a branch that shares its node.
    Return,
    /// The same, of a call in the delay slot of a `ret`: only behind the bundle is it known what the call returns to.
    LateCall,
}

impl Pending {
    /// Whether control goes to an address that has been noted.
    pub fn is_noted(self) -> bool {
        matches!(self, Pending::Return | Pending::LateCall)
    }
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
pub(in crate::vp1::lift) struct Bundle {
    pub(in crate::vp1::lift) address: Inst,
    pub(in crate::vp1::lift) scalar: Inst,
    pub(in crate::vp1::lift) vector: Inst,
    pub(in crate::vp1::lift) branch: Inst,
}

impl Bundle {
    /// What it does outside of the processor.
    pub(in crate::vp1::lift) fn outside(&self) -> impl Iterator<Item = Outside> {
        [self.address, self.scalar].into_iter().filter_map(outside_of)
    }
}

/// Where control goes: to a bundle, or to where a `ret` has noted, with what is pending behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::vp1::lift) struct Target {
    /// `None`: where the `ret` goes that is pending.
    pub(in crate::vp1::lift) pc: Option<u32>,
    pub(in crate::vp1::lift) pending: Pending,
}

/// What a branch writes to the slot of targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::vp1::lift) enum Note {
    /// Nothing: its node knows the target.
    Nothing,
    /// The return address.
    ReturnAddress,
    /// Its target.
    Target(u32),
}

/// A bundle that can be reached, with its ways on.
#[derive(Clone, Copy, Debug)]
pub(in crate::vp1::lift) struct Step {
    pub(in crate::vp1::lift) bundle: Bundle,
    /// Word address behind it.
    pub(in crate::vp1::lift) end: u32,
    /// Where control goes without a branch.
    pub(in crate::vp1::lift) next: Target,
    /// Where a branch in it leads.
    pub(in crate::vp1::lift) taken: Option<Target>,
    /// What such a branch notes.
    pub(in crate::vp1::lift) note: Note,
    /// What a call in it returns to, if that is known here.
    pub(in crate::vp1::lift) returns_to: Option<u32>,
}

/// The reachable code.
pub(in crate::vp1::lift) struct Graph {
    reach: Reachable<Node, Step>,
    /// Where control may go by a noted address.
    returns: BTreeSet<u32>,
    /// What may be pending there.
    pendings: Vec<Pending>,
}

/// A program's code, and what has been found out in following it.
struct Program<'a> {
    code: &'a Code,
    resumable: bool,
    slots: DelaySlots,
    /// [`Graph::returns`] and [`Graph::pendings`].
    returns: BTreeSet<u32>,
    pendings: Vec<Pending>,
}

impl Source<Node> for Program<'_> {
    type Inst = Step;

    fn decode(&mut self, node: Node) -> Option<Step> {
        let mut step = self.code.step(node)?;
        self.slots.settle(&mut step);
        Some(step)
    }

    fn leads(&mut self, node: Node, step: &Step, leaders: &mut Vec<Node>) -> Result<After<Node>, Stopped> {
        if self.resumable && !node.resumed && step.bundle.outside().next().is_some() {
            leaders.push(Node { resumed: true, ..node });
        }
        let late = (node.pending == Pending::LateCall).then_some(step.end);
        let noted = match step.note {
            Note::Target(target) => Some(target),
            _ => None,
        };
        for pc in step.returns_to.into_iter().chain(late).chain(noted) {
            if self.returns.insert(pc) {
                leaders.extend(self.pendings.iter().map(|&pending| Node { pc, pending, resumed: false }));
            }
        }
        for Target { pc, pending } in step.targets() {
            match pc {
                Some(pc) => leaders.push(Node { pc, pending, resumed: false }),
                None if !self.pendings.contains(&pending) => {
                    self.pendings.push(pending);
                    leaders.extend(self.returns.iter().map(|&pc| Node { pc, pending, resumed: false }));
                }
                None => {}
            }
        }
        // What is pending differs from bundle to bundle, so each has a block of its own.
        Ok(After::Ends)
    }
}

/// Nodes that branches have made for bundles in their delay slots.
#[derive(Default)]
struct DelaySlots {
    /// How many there are for each bundle.
    counts: HashMap<u32, u8>,
    known: BTreeSet<(u32, u32)>,
    /// Whether branches share a node for want of one.
    any_share: bool,
}

impl DelaySlots {
    /// Lets a branch to a known target have a node of its own, or share one.
    fn settle(&mut self, step: &mut Step) {
        let Some(Target { pc: Some(pc), pending: Pending::To(target) }) = step.taken else { return };
        if self.known.contains(&(pc, target)) {
            return;
        }
        let count = self.counts.entry(pc).or_insert(0);
        if *count == MOST_PENDING {
            step.taken = Some(Target { pc: Some(pc), pending: Pending::Return });
            step.note = Note::Target(target);
            self.any_share = true;
        } else {
            *count += 1;
            self.known.insert((pc, target));
        }
    }
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
            Pending::To(target) => Some(target),
            Pending::Return | Pending::LateCall => None,
        };
        let branch = bundle.branch;
        let call = branch.op() == Op::Branch && branch.word & 1 << 26 != 0;
        let returns_to = next.filter(|_| call).map(|slot| slot.wrapping_add(self.len(slot)));
        let target = match branch.op() {
            Op::BranchAbs => Some((branch.word & 0xffff) << 2),
            Op::Branch => {
                // 15 signed bits, groups of four words.
                let groups = (branch.word << 8) as i32 >> 17;
                Some((branch.pc & !3).wrapping_add((groups as u32).wrapping_mul(4)))
            }
            _ => None,
        };
        let (pending, note) = match target {
            Some(target) if next.is_some() => (Some(Pending::To(target)), Note::Nothing),
            Some(target) if call => (Some(Pending::LateCall), Note::Target(target)),
            Some(target) => (Some(Pending::Return), Note::Target(target)),
            None if branch.op() == Op::Return => (Some(Pending::Return), Note::ReturnAddress),
            None => (None, Note::Nothing),
        };
        let taken = pending.map(|pending| Target { pc: next, pending });
        let next = Target { pc: next, pending: Pending::None };
        Some(Step { bundle, end, next, taken, note, returns_to })
    }
}

/// Whether a branch that is in `step` is always taken, never, or as a condition says.
pub(in crate::vp1::lift) fn condition(branch: Inst) -> Option<bool> {
    if branch.op() != Op::Branch {
        return Some(true);
    }
    let negated = branch.word & 1 << 25 != 0;
    match branch.word >> 5 & 15 {
        // Bits of $c that are always 0, and the one that is always 1 (docs/hardware/vp1.md section 2).
        11 | 12 | 14 => Some(negated),
        15 => Some(!negated),
        _ => None,
    }
}

impl Step {
    /// Where it may lead.
    fn targets(&self) -> impl Iterator<Item = Target> {
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
        self.returns_to.is_some() || matches!(self.taken, Some(Target { pending: Pending::LateCall, .. }))
    }
}

impl Graph {
    /// Follows the program from its entries.
    pub(in crate::vp1::lift) fn explore(
        code: &[u8],
        options: &Options<'_>,
        meter: &Meter,
    ) -> Result<Graph, Stopped> {
        meter.stage("finding the code that can be reached")?;
        let (words, _) = code.as_chunks::<4>();
        let words: Vec<u32> = words.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let mut code = Code { words, chip: options.chip };
        code.words.truncate(MAX_WORDS as usize);
        let entries: Vec<Node> =
            options.more_entries.iter().chain([&options.entry]).map(|&pc| Node::at(pc)).collect();
        let mut returns = BTreeSet::new();
        if returns_anywhere(&code, &entries, meter)? {
            let words = code.words.len() as u32;
            returns.extend((0..words).step_by(if words <= MAX_RETURN_WORDS { 1 } else { 4 }));
        }
        let mut program = Program {
            code: &code,
            resumable: options.resumable,
            slots: DelaySlots::default(),
            returns,
            pendings: Vec::new(),
        };
        let mut reach = Reachable::new();
        entries.into_iter().for_each(|node| reach.lead(node));
        reach.follow(&mut program, meter)?;
        Ok(Graph { reach, returns: program.returns, pendings: program.pendings })
    }

    /// What can be reached.
    pub(in crate::vp1::lift) fn nodes(&self) -> impl Iterator<Item = Node> + '_ {
        self.reach.leaders()
    }

    /// The bundle of a node; `None` behind the end of the code.
    pub(in crate::vp1::lift) fn step(&self, node: Node) -> Option<&Step> {
        self.reach.inst(node)
    }

    /// What a noted address has more than four times the bundle's own, where `pending` is what is pending there.
    pub(in crate::vp1::lift) fn return_space(pending: Pending) -> u32 {
        match pending {
            Pending::None | Pending::To(_) => 0,
            Pending::Return => 1 << 22 | 0x8000_0000,
            Pending::LateCall => 2 << 22 | 0x8000_0000,
        }
    }

    /// The nodes that are found by noted addresses.
    pub(in crate::vp1::lift) fn addresses(&self) -> impl Iterator<Item = (u32, Node)> + '_ {
        let nodes = self
            .returns
            .iter()
            .flat_map(|&pc| self.pendings.iter().map(move |&pending| Node { pc, pending, resumed: false }));
        nodes.map(|node| (Graph::return_space(node.pending).wrapping_add(node.pc.wrapping_mul(4)), node))
    }
}

/// Whether a `ret` can be reached before any call, so that it goes wherever `$uc0` says at the start, or behind
/// an instruction that writes `$uc0`.
fn returns_anywhere(code: &Code, entries: &[Node], meter: &Meter) -> Result<bool, Stopped> {
    let mut slots = DelaySlots::default();
    let mut seen = BTreeSet::new();
    let mut work: Vec<(Node, bool)> = entries.iter().map(|&node| (node, true)).collect();
    while let Some((node, anything)) = work.pop() {
        if !seen.insert((node, anything)) {
            continue;
        }
        meter.step(1)?;
        let Some(mut step) = code.step(node) else { continue };
        slots.settle(&mut step);
        let is_return = step.bundle.branch.op() == Op::Return;
        // Where shared nodes lead is not followed.
        if is_return && anything || slots.any_share {
            return Ok(true);
        }
        for target in step.targets() {
            let called = step.is_call() && Some(target) == step.taken;
            let anything = (anything || step.forgets_return()) && !called;
            if let Some(pc) = target.pc {
                work.push((Node { pc, pending: target.pending, resumed: false }, anything));
            }
        }
    }
    Ok(false)
}
