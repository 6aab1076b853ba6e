//! Which lanes scalar code goes through ([`crate::Options::single`]).
//!
//! Between two cross-lane operations a wave has often few active lanes, or its code does nothing but change masks. So where the region
//! begins with a branch on a mask (`warpjit_ir::passes::entry_mask`) and what the lanes outside of it do is the same for all of them, only
//! the lanes of the mask are gone through, by its bits. The others are done before the first one, all at once: their masks in vectors,
//! the wave's scalars once.

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use warpjit_ir::function::Terminator;
use warpjit_ir::types::Scalar;
use warpjit_ir::{Block, Function, Imm, Inst, Opcode, Value};

use super::Lower;
use crate::clif::{HostBlock, HostIntCC, I32, I32X4, I64, V};
use crate::code::FloatEnv;
use crate::context::at;
use crate::error::Error;
use crate::operands::arg;

/// Lanes whose masks are done together, in vectors of four.
const TOGETHER: usize = 16;

/// Most operations on masks that are done for all lanes together.
const MOST_MASKS: usize = 24;

/// A region of which not all lanes need to be gone through.
#[derive(Clone, Debug)]
pub(super) struct LaneWalk {
    /// The lanes that are gone through, and where their code starts; if there are none, all is done together.
    lanes: Option<(Value, Block)>,
    /// What the others do.
    pub rest: Block,
    /// Instructions there and in the entry block whose results are the wave's.
    scalars: Vec<Inst>,
    /// Slots of masks that change in the other lanes, each with its new value.
    masks: Vec<(usize, Value)>,
    /// Slots of the wave that the others set.
    slots: Vec<Inst>,
    /// Slots that are set to a truth value in the lanes that are gone through, always to that one, and nowhere read: all is done together.
    ones: HashMap<usize, bool>,
    /// Instructions that are not needed in the code of one lane.
    spared: HashSet<Inst>,
    /// The exit of the others.
    exit: u32,
}

impl LaneWalk {
    /// How the lanes of a region in which all take part are gone through, if it is like that.
    pub fn of(f: &Function, order: &[Block]) -> Option<LaneWalk> {
        let entry = f.entry;
        let entered_again = order.iter().any(|&b| {
            let mut again = false;
            f.term(b).for_each_successor(|to| again |= to == entry);
            again
        });
        let (lanes, rest) = match f.term(entry) {
            Terminator::BrAny { mask, taken, next } if taken.args.is_empty() && next.args.is_empty() => {
                (Some((*mask, taken.block)), next.block)
            }
            Terminator::Return { .. } => (None, entry),
            _ => return None,
        };
        let entries = order.iter().map(|&b| {
            let mut count = 0;
            f.term(b).for_each_successor(|to| count += usize::from(to == rest));
            count
        });
        if entered_again || lanes.is_some_and(|(_, first)| first == rest) || entries.sum::<usize>() > 1 {
            return None;
        }
        let Terminator::Return { exit, exited, cond } = f.term(rest) else { return None };
        let nothing = |mask: &Option<Value>| mask.is_none_or(|v| f.as_const(v) == Some(0));
        if *exit >= warpjit_ir::regions::promote::FAULT_EXIT
            || !nothing(exited)
            || !f.block(rest).params.is_empty()
        {
            return None;
        }
        let mut walk = LaneWalk {
            lanes,
            rest,
            scalars: Vec::new(),
            masks: Vec::new(),
            slots: Vec::new(),
            ones: HashMap::new(),
            spared: HashSet::new(),
            exit: *exit,
        };
        let mut bits = Masks { f, known: HashMap::new(), set: Vec::new() };
        let blocks = if rest == entry { vec![entry] } else { vec![entry, rest] };
        for &inst in blocks.iter().flat_map(|&b| &f.block(b).insts) {
            walk.note(&mut bits, inst)?;
        }
        let is_known = |v: Value| bits.known.get(&v).copied().unwrap_or_default();
        // The condition of a branch behind the region holds in no lane outside of the mask.
        let fits =
            nothing(cond) && lanes.is_none_or(|(mask, _)| is_known(mask) && f.as_const(mask).is_none());
        if !fits || bits.known.values().filter(|&&mask| mask).count() > MOST_MASKS {
            return None;
        }
        if let Some((mask, _)) = lanes {
            let mut none = HashSet::new();
            none_of(f, mask, &mut none);
            walk.masks.retain(|&(slot, value)| f.as_const(value) != Some(0) || !none.contains(&slot));
            walk.spare(f, order);
        }
        Some(walk)
    }

    /// Finds what need not be done lane by lane in those that are gone through.
    fn spare(&mut self, f: &Function, order: &[Block]) {
        let gone_through: Vec<Block> = order.iter().copied().filter(|&b| b != self.rest).collect();
        let insts = || gone_through.iter().flat_map(|&b| f.block(b).insts.iter().copied());
        for &(slot, _) in self.masks.iter().filter(|&&(_, value)| f.as_const(value).is_some()) {
            let own = |inst: &Inst| matches!(f.inst(*inst).imm, Imm::Slot(of) if of.index() == slot);
            let truth = |inst: Inst| match (f.inst(inst).op, &f.inst(inst).args[..]) {
                (Opcode::SlotSet, &[value]) => f.as_const(value).map(|bits| bits & 1 != 0),
                _ => None,
            };
            let mut truths = insts().filter(own).map(truth);
            let Some(Some(first)) = truths.next() else { continue };
            let ends = |b: &Block| {
                !matches!(f.term(*b), Terminator::Return { .. }) || f.block(*b).insts.iter().any(own)
            };
            if truths.all(|other| other == Some(first)) && gone_through.iter().all(ends) {
                self.ones.insert(slot, first);
                self.spared.extend(insts().filter(own));
            }
        }
        // What only the masks are made of.
        let mut used: HashSet<Value> = HashSet::new();
        for &b in &gone_through {
            if b != f.entry {
                f.block(b)
                    .insts
                    .iter()
                    .filter(|i| !self.spared.contains(i))
                    .for_each(|&i| used.extend(&f.inst(i).args));
                f.term(b).for_each_use(|v| _ = used.insert(v));
            }
        }
        for &inst in f.block(f.entry).insts.iter().rev() {
            let data = f.inst(inst);
            match data.result {
                Some(r) if !used.contains(&r) && (data.op == Opcode::SlotGet || data.op.is_pure()) => {
                    self.spared.insert(inst);
                }
                _ => used.extend(&data.args),
            }
        }
    }

    /// Whether an instruction is not needed in the code of one lane.
    pub fn spares(&self, inst: Inst) -> bool {
        self.spared.contains(&inst)
    }

    /// Notes what an instruction does in the other lanes; `None` if that differs from lane to lane.
    fn note(&mut self, bits: &mut Masks<'_>, inst: Inst) -> Option<()> {
        let f = bits.f;
        let data = f.inst(inst);
        let args_are = |known: &dyn Fn(Value) -> bool| data.args.iter().all(|&v| known(v));
        let is_uniform = |v: Value| f.ty(v).uniform;
        match (data.op, data.imm, data.result) {
            (Opcode::SlotSet, Imm::Slot(slot), _) => {
                let ty = f.slots.get(slot.index())?.ty;
                let &[value] = &data.args[..] else { return None };
                match () {
                    _ if ty.uniform => {
                        let is_scalar = is_uniform(value) && bits.is_scalar(value);
                        is_scalar.then(|| self.slots.push(inst))?;
                    }
                    _ if ty.scalar == Scalar::I1 && bits.is_known(value) => {
                        self.masks.retain(|&(set, _)| set != slot.index());
                        self.masks.push((slot.index(), value));
                    }
                    _ => return None,
                }
                bits.set.push(slot.index());
            }
            (Opcode::Const, ..) => self.scalars.push(inst),
            (Opcode::SlotGet, Imm::Slot(slot), Some(r)) => {
                // A slot is set once all are read.
                let scalar = f.ty(r).scalar;
                if bits.set.contains(&slot.index()) {
                    return None;
                }
                match is_uniform(r) {
                    true => self.note_scalar(bits, inst, r),
                    false if scalar == Scalar::I1 => _ = bits.known.insert(r, true),
                    // Nothing that is read of other slots is used by what is done together.
                    false => {}
                }
            }
            (op, _, Some(r)) if is_uniform(r) => {
                let is_scalar = op.is_pure() && !op.differs_by_lane() && args_are(&|v| bits.is_scalar(v));
                is_scalar.then(|| self.note_scalar(bits, inst, r))?;
            }
            (Opcode::LaneBit, _, Some(r)) if args_are(&|v| bits.is_scalar(v)) => {
                bits.known.insert(r, true);
            }
            (Opcode::Splat, _, Some(r))
                if f.ty(r).scalar == Scalar::I1 && args_are(&|v| bits.is_scalar(v)) =>
            {
                bits.known.insert(r, true);
            }
            (Opcode::Iand | Opcode::Ior | Opcode::Ixor | Opcode::Inot | Opcode::Select, _, Some(r))
                if f.ty(r).scalar == Scalar::I1 && args_are(&|v| bits.is_known(v)) =>
            {
                bits.known.insert(r, true);
            }
            (op, _, Some(_)) if op.is_pure() => {}
            _ => return None,
        }
        Some(())
    }

    fn note_scalar(&mut self, bits: &mut Masks<'_>, inst: Inst, r: Value) {
        self.scalars.push(inst);
        bits.known.insert(r, false);
    }
}

/// Slots of which no lane is in the mask that they hold, if none is in this one.
fn none_of(f: &Function, mask: Value, none: &mut HashSet<usize>) {
    let Some(data) = f.def_inst(mask) else { return };
    match (data.op, data.imm) {
        (Opcode::SlotGet, Imm::Slot(slot)) => _ = none.insert(slot.index()),
        (Opcode::Ior, _) => data.args.iter().for_each(|&arg| none_of(f, arg, none)),
        _ => {}
    }
}

/// What is known of values while a region is looked at.
struct Masks<'a> {
    f: &'a Function,
    /// Values that can be made for all lanes together: masks (true) and scalars of the wave.
    known: HashMap<Value, bool>,
    /// Slots that were set.
    set: Vec<usize>,
}

impl Masks<'_> {
    fn is_scalar(&self, v: Value) -> bool {
        self.f.as_const(v).is_some() || self.known.get(&v) == Some(&false)
    }

    /// Whether it is a mask or a truth value of the wave that is known.
    fn is_known(&self, v: Value) -> bool {
        self.f.ty(v).scalar == Scalar::I1 && (self.f.as_const(v).is_some() || self.known.contains_key(&v))
    }
}

/// Vectors of [`TOGETHER`] lanes.
type Lanes = [V; TOGETHER / 4];

impl Lower<'_, '_> {
    /// How the region's lanes are gone through, if not all of them need to be.
    pub(super) fn lane_walk(&self) -> Option<LaneWalk> {
        let options = self.options;
        let may =
            options.single && self.all_enter && !options.count && !options.may_wait && !self.asks_once();
        let fits = self.of_row.is_none() && self.f.lanes.is_multiple_of(TOGETHER as u32);
        if may && fits { LaneWalk::of(self.f, &self.blocks.order.blocks) } else { None }
    }

    /// Does what the lanes do that are not gone through. Goes to `done` with the exit if there are no others; otherwise gives these,
    /// i64, and the exit so far.
    pub(super) fn rest_of_lanes(
        &mut self,
        walk: &LaneWalk,
        done: HostBlock,
    ) -> Result<Option<(V, V)>, Error> {
        for &inst in &walk.scalars {
            self.inst(inst)?;
        }
        self.turn_to(FloatEnv::FlushAll);
        let lanes = match walk.lanes {
            None if walk.masks.is_empty() => None,
            _ => Some(self.masks_together(walk)?),
        };
        let exit = self.e.imm(I64, walk.exit.into());
        let Some(lanes) = lanes.filter(|_| walk.lanes.is_some()) else {
            self.set_scalars(walk)?;
            self.e.jump(done, &[exit]);
            return Ok(None);
        };
        let (some, none) = (self.e.block(), self.e.block());
        self.e.brif(lanes, (some, &[]), (none, &[]));
        self.e.switch_to(none);
        self.set_scalars(walk)?;
        self.e.jump(done, &[exit]);
        self.e.switch_to(some);
        let all = self.e.imm(I64, u64::MAX >> (64 - self.f.lanes));
        let is_all = self.e.icmp(HostIntCC::Equal, lanes, all);
        let zero = self.e.imm(I64, 0);
        let exit = self.e.select(is_all, zero, exit);
        Ok(Some((lanes, exit)))
    }

    /// Sets the wave's slots as the last of the other lanes does.
    fn set_scalars(&mut self, walk: &LaneWalk) -> Result<(), Error> {
        self.known.uniform_base = Some(self.frame);
        for &inst in &walk.slots {
            self.inst(inst)?;
        }
        self.forget_block();
        Ok(())
    }

    /// Sets the masks of the lanes that are not gone through; gives the bits of those that are, i64.
    fn masks_together(&mut self, walk: &LaneWalk) -> Result<V, Error> {
        let (head, done) = (self.e.block(), self.e.block());
        let (first, so_far) = (self.e.param(head, I64), self.e.param(head, I64));
        let zero = self.e.imm(I64, 0);
        self.e.jump(head, &[zero, zero]);
        self.e.switch_to(head);
        let offset = self.e.shl(first, 2);
        let place = self.e.iadd(self.frame, offset);
        let mut made = HashMap::new();
        let mask =
            walk.lanes.map(|(mask, _)| self.mask_together(&mut made, mask, place, first)).transpose()?;
        let mut values = Vec::with_capacity(walk.masks.len());
        for &(slot, value) in &walk.masks {
            values.push((slot, self.mask_together(&mut made, value, place, first)?));
        }
        for (slot, value) in values {
            let offset = self.slot_offsets[slot] as i32;
            for (n, &new) in value.iter().enumerate() {
                let at = offset + 16 * n as i32;
                let new = match (mask, walk.ones.get(&slot)) {
                    // Of what is set in all lanes nothing is kept.
                    (Some(mask), Some(&own)) => {
                        let own = self.e.imm(I32X4, u64::from(u32::MAX) * u64::from(own));
                        self.e.sel(mask[n], own, new)
                    }
                    (Some(mask), None) => {
                        let old = self.e.load(I32X4, place, at);
                        self.e.sel(mask[n], old, new)
                    }
                    (None, _) => new,
                };
                self.e.store(new, place, at);
            }
        }
        let bits = match mask {
            None => so_far,
            Some([a, b, c, d]) => {
                let (low, high) = (self.e.snarrow(a, b), self.e.snarrow(c, d));
                let bytes = self.e.snarrow(low, high);
                let own = self.e.vhigh_bits(I32, bytes);
                let own = self.e.uextend(I64, own);
                let own = self.e.ishl(own, first);
                self.e.bor(so_far, own)
            }
        };
        let next = self.e.iadd_imm(first, TOGETHER as u64);
        let more = self.e.icmp_imm(HostIntCC::UnsignedLessThan, next, self.f.lanes.into());
        self.e.brif(more, (head, &[next, bits]), (done, &[]));
        self.e.switch_to(done);
        Ok(bits)
    }

    /// A mask in the lanes from `first` (i64) on; `place`: of `first` in the slot at offset 0.
    fn mask_together(
        &mut self,
        made: &mut HashMap<Value, Lanes>,
        v: Value,
        place: V,
        first: V,
    ) -> Result<Lanes, Error> {
        if let Some(&known) = made.get(&v) {
            return Ok(known);
        }
        let f = self.f;
        let truth = f.as_const(v).map(|bits| u64::from(bits & 1 != 0).wrapping_neg());
        let lanes = match (truth, f.def_inst(v)) {
            (Some(bits), _) => [self.e.imm(I32X4, bits & u64::from(u32::MAX)); TOGETHER / 4],
            (None, Some(_)) if f.ty(v).uniform => {
                let s = self.scalar(v)?;
                let word = self.e.uextend(I32, s);
                let word = self.e.ineg(word);
                [self.e.splat(I32X4, word); TOGETHER / 4]
            }
            (None, Some(data)) => {
                let data = data.clone();
                match (data.op, data.imm) {
                    (Opcode::SlotGet, Imm::Slot(slot)) => {
                        let offset = self.slot_offsets[slot.index()] as i32;
                        std::array::from_fn(|n| self.e.load(I32X4, place, offset + 16 * n as i32))
                    }
                    (Opcode::Splat, _) => self.mask_together(made, arg(&data, 0)?, place, first)?,
                    (Opcode::LaneBit, _) => {
                        let all = self.scalar(arg(&data, 0)?)?;
                        let own = self.e.ushr(all, first);
                        let own = self.e.ireduce(I32, own);
                        let splat = self.e.splat(I32X4, own);
                        std::array::from_fn(|n| {
                            let bits = std::array::from_fn::<u64, 4, _>(|l| 1 << (4 * n + l));
                            let bits = self.e.lanes(I32X4, &bits);
                            let own = self.e.band(splat, bits);
                            self.e.icmp(HostIntCC::Equal, own, bits)
                        })
                    }
                    (op, _) => {
                        let mut args = Vec::with_capacity(data.args.len());
                        for &a in &data.args {
                            args.push(self.mask_together(made, a, place, first)?);
                        }
                        std::array::from_fn(|n| match (op, &args[..]) {
                            (Opcode::Iand, [a, b]) => self.e.band(a[n], b[n]),
                            (Opcode::Ior, [a, b]) => self.e.bor(a[n], b[n]),
                            (Opcode::Ixor, [a, b]) => self.e.bxor(a[n], b[n]),
                            (Opcode::Inot, [a]) => self.e.bnot(a[n]),
                            (_, [c, a, b]) => self.e.sel(c[n], a[n], b[n]),
                            _ => unreachable!("`LaneWalk::note` knows no other"),
                        })
                    }
                }
            }
            (None, None) => return Err(Error::Malformed(format!("{v} is no mask of the entry block"))),
        };
        made.insert(v, lanes);
        Ok(lanes)
    }

    /// Writes the head of the loop over lanes by bits: `rest` (i64) are those that are left, not 0. Gives those left behind this one.
    pub(super) fn next_lane(&mut self, rest: V) -> V {
        self.lane = self.e.ctz(rest);
        let less = self.e.iadd_imm(rest, u64::MAX);
        self.e.band(rest, less)
    }

    /// The block where a lane's code goes on that is gone through, if the entry block's branch is decided.
    pub(super) fn walked_to(&self, b: Block) -> Option<Block> {
        let (_, first) = self.walk.as_ref()?.lanes?;
        (b == self.f.entry).then_some(first)
    }

    /// The lanes that enter, i64.
    pub(super) fn lanes_that_enter(&mut self) -> V {
        match self.all_enter {
            true => self.e.imm(I64, u64::MAX >> (64 - self.f.lanes)),
            false => self.e.load(I64, self.context, at::ACTIVE),
        }
    }
}
