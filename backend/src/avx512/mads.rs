//! Truncating multiply-adds, several at once, in three versions.
//!
//! The host rounds a product towards zero by itself, so `a * b` cut to 24 bits plus `c` is two instructions, as long as no product
//! overflows and none becomes too small that matters, and `c` is not zero: then the product is rounded (docs/hardware/tesla.md section 6).
//! A stretch of a block, from a multiply-add to another one, is written
//!
//! - *quickly*: all sums together tested for exponents from -63 to 64. A product that overflowed is the largest number and leaves a sum
//!   of at least 2^103, an infinite one, or zero where the two cancel; one below 2^-126, which the host flushes, cannot change a sum of
//!   2^-63 and more. Sums of the stretch are so no zeros as addends. Other addends are tested with the sums, or, where they are there
//!   long before but are not the same all through a loop, the product is the rounded one where they are zero.
//! - *carefully*, where that did not hold: with the rounded product wherever an addend is zero, and tested for what does go wrong: an
//!   addend other than zero that is below 2^-100, and a product that is the largest number. So infinities, NaNs, zeros and sums
//!   of any size are right.
//! - *exactly*, where even that did not hold, in double precision.
//!
//! Lanes where no result matters ([`crate::demanded_lanes`]) are not looked at. The quick version is executed in any case, so what does not
//! depend on a sum is taken from it; the others repeat what they need, which is cheaper than to keep it for them.

use std::ops::Range;
use std::rc::Rc;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use iced_x86::Code;
use warpjit_ir::function::ValueDef;
use warpjit_ir::{Block, Function, Imm, Inst, InstData, Opcode, Space, Value};

use super::asm::{R, Src, With};
use super::code::Flags;
use super::float::{ADD, MUL, SUB};
use super::int::{self, AND, LESS, NOT_LESS, TEST_NOT};
use super::lower::{Kept, Lower};
use super::rows::Bounds;
use crate::demanded_lanes::DemandedLanes;
use crate::error::Error;

/// Instructions between two multiply-adds, other than loads, from which on they are apart.
const MOST_OTHERS: usize = 16;

/// Most multiply-adds of a stretch: what they read must be there at its end.
const MOST_MADS: usize = 24;

const EXPONENT: u32 = 0x7f80_0000;
/// What brings exponents from -63 to 64 to those whose upper bit is set.
const TO_MIDDLE: u32 = 64 << 23;
const UPPER_BIT: u32 = 1 << 30;
/// Positive floats of those exponents: the first, and the first behind.
const LEAST_MIDDLING: u32 = 64 << 23;
const MOST_MIDDLING: u32 = 192 << 23;
/// Addends from here on cannot show that a product was flushed: 2^-100.
const ADDENDS_FROM: u32 = 27 << 23;
/// The largest number.
const LARGEST: u32 = 0x7f7f_ffff;

const INT_ADD: Code = int::ADD[0];
const INT_SUB: Code = int::SUB[0];
const INT_MINU: Code = int::UMIN[0];
const INT_CMPU: Code = int::CMPU[0];
const OR_MASKS: Code = Code::VEX_Korw_kr_kr_kr;
const AND_OF_THREE: u8 = 0x80;
/// Of two floats the one that is farther from zero, as a positive one; one that is no number is left out.
const LARGER_MAGNITUDE: (Code, u8) = (Code::EVEX_Vrangeps_zmm_k1z_zmm_zmmm512b32_imm8_sae, 0b1011);

/// A stretch that is being written.
pub(super) struct Stretch {
    careful: bool,
    /// Sums and addends that will have been found to have middling exponents, so that they are not zero.
    in_middle: HashSet<Value>,
    /// Those of them that will have been found to be positive, too.
    positive: HashSet<Value>,
    /// What a square is added to somewhere in the stretch: where that is positive and the sum not too large, so is it.
    below_squares: HashSet<Value>,
    /// Where an addend is zero.
    zeros: HashMap<R, R>,
    /// Products rounded towards zero, and whether a sum will have shown that one did not overflow.
    products: HashMap<(R, R), (R, bool)>,
    /// [`TO_MIDDLE`] in all lanes.
    to_middle: Option<R>,
    /// What is tested at the end, for each sixteen lanes, then for what is the same in all.
    tested: Vec<[Option<R>; 2]>,
}

/// What stretches ask of the function.
pub(super) struct Facts<'a> {
    wanted: DemandedLanes<'a>,
    /// By value, its last use in its block; `usize::MAX` for the terminator's and those of other blocks.
    last_use: Vec<usize>,
    /// By value, the block that makes it.
    block_of: Vec<Option<Block>>,
    /// By block, loops around it.
    depth: Vec<u32>,
}

impl Facts<'_> {
    /// Whether an instruction outside of the innermost loop around a block makes a value, other than a load.
    fn is_outside(&self, f: &Function, v: Value, block: Block) -> bool {
        let own = match f.values[v.index()].def {
            ValueDef::Param(b, _) => Some(b),
            ValueDef::Inst(_) => self.block_of[v.index()],
        };
        let load = f.def_inst(v).is_some_and(|data| data.op == Opcode::Load);
        !load && own.is_some_and(|own| self.depth[own.index()] < self.depth[block.index()])
    }
}

/// What a stretch's other versions do.
#[derive(Default)]
struct Plan {
    again: Vec<Inst>,
    /// Results that depend on a sum.
    depend: HashSet<Value>,
    /// Those of them that are used behind.
    live: Vec<Value>,
}

impl<'a> Lower<'a> {
    fn mad_facts(&mut self) -> Rc<Facts<'a>> {
        if let Some(facts) = &self.mad_facts {
            return facts.clone();
        }
        let f = self.f;
        let mut last_use = vec![0; f.values.len()];
        let mut block_of = vec![None; f.values.len()];
        for &b in &self.blocks.order.blocks {
            for &inst in &f.block(b).insts {
                f.inst(inst).result.iter().for_each(|r| block_of[r.index()] = Some(b));
            }
        }
        // Uses come behind definitions, so those of what is made where it is used, or looked through, are known by then.
        let passes = |data: &InstData, r: Value| {
            self.address_only[r.index()] || self.fused[r.index()] || same_magnitude(data.op)
        };
        for &b in self.blocks.order.blocks.iter().rev() {
            f.term(b).for_each_use(|v| last_use[v.index()] = usize::MAX);
            for (n, &inst) in f.block(b).insts.iter().enumerate().rev() {
                let data = f.inst(inst);
                let at = match data.result {
                    Some(r) if passes(data, r) => n.max(last_use[r.index()]),
                    _ => n,
                };
                for a in &data.args {
                    let at = if block_of[a.index()] == Some(b) { at } else { usize::MAX };
                    last_use[a.index()] = last_use[a.index()].max(at);
                }
            }
        }
        let mut depth = vec![0; f.blocks.len()];
        for (&b, loops) in self.blocks.order.blocks.iter().zip(self.blocks.order.loop_depths(f)) {
            depth[b.index()] = loops;
        }
        let wanted = DemandedLanes::new(f, &self.blocks.order.blocks);
        let facts = Rc::new(Facts { wanted, last_use, block_of, depth });
        self.mad_facts = Some(facts.clone());
        facts
    }
}

impl Lower<'_> {
    /// Whether an instruction may stand between multiply-adds: executed again it gives the same.
    fn is_repeatable(&self, data: &InstData) -> bool {
        match (data.op, data.imm) {
            (Opcode::Load, Imm::Mem(mem)) => matches!(mem.space, Space::Shared | Space::Const(_)),
            (Opcode::CallPure, _) => data.special().is_some(),
            (Opcode::ActiveMask, _) => false,
            (op, _) => op.is_pure(),
        }
    }

    /// The place behind the last multiply-add that belongs to a stretch, of instructions before `end`.
    fn last_mad(&self, block: Block, start: usize, end: usize) -> Option<usize> {
        let insts = &self.f.block(block).insts;
        let (mut behind, mut others, mut mads) = (None, 0, 0);
        for (n, &inst) in insts.iter().enumerate().take(end).skip(start) {
            let data = self.f.inst(inst);
            let starts_rows = || self.bounds == Bounds::Tested && self.row_stretch(block, n).is_some();
            if data.op == Opcode::FmadTrunc {
                (behind, others, mads) = (Some(n + 1), 0, mads + 1);
            } else if !matches!(data.op, Opcode::Load | Opcode::Bitcast | Opcode::Const) {
                others += 1;
            }
            let load = data.op == Opcode::Load;
            if !self.is_repeatable(data) || others > MOST_OTHERS || mads == MOST_MADS || load && starts_rows()
            {
                break;
            }
        }
        behind
    }

    /// The place behind what multiply-adds come soon behind a place.
    pub fn mads_behind(&self, block: Block, place: usize) -> usize {
        if self.explicit_flush {
            return place;
        }
        let mut place = place;
        let insts = &self.f.block(block).insts;
        let mut others = 0;
        for (n, &inst) in insts.iter().enumerate().skip(place) {
            let data = self.f.inst(inst);
            match data.op {
                Opcode::FmadTrunc => (place, others) = (n + 1, 0),
                Opcode::Bitcast | Opcode::Const => {}
                _ => others += 1,
            }
            if others > MOST_OTHERS || !self.is_repeatable(data) || data.op == Opcode::Load {
                break;
            }
        }
        place
    }

    /// Writes an instruction, or a stretch that starts with it and ends before `end`; gives the place behind.
    pub fn mads_or_inst(&mut self, block: Block, start: usize, end: usize) -> Result<usize, Error> {
        let inst = self.f.block(block).insts[start];
        let first = self.f.inst(inst).op == Opcode::FmadTrunc;
        if !first || self.explicit_flush || self.bounds == Bounds::Outside {
            self.inst(inst)?;
            return Ok(start + 1);
        }
        let behind = self.last_mad(block, start, end).unwrap_or(start + 1);
        self.mad_versions(block, start..behind)?;
        Ok(behind)
    }

    fn plan(&self, facts: &Facts<'_>, insts: &[Inst], behind: usize) -> Plan {
        let mut plan = Plan::default();
        for &inst in insts {
            let data = self.f.inst(inst);
            let depends = data.op == Opcode::FmadTrunc || data.args.iter().any(|a| plan.depend.contains(a));
            plan.depend.extend(data.result.filter(|_| depends));
        }
        let mut needed: HashSet<Value> = HashSet::new();
        for &inst in insts.iter().rev() {
            let data = self.f.inst(inst);
            if let Some(r) = data.result.filter(|r| plan.depend.contains(r) || needed.contains(r)) {
                plan.again.push(inst);
                needed.extend(&data.args);
                if plan.depend.contains(&r) && facts.last_use[r.index()] >= behind {
                    plan.live.push(r);
                }
            }
        }
        plan.again.reverse();
        plan
    }

    /// Writes a stretch in its versions.
    fn mad_versions(&mut self, block: Block, range: Range<usize>) -> Result<(), Error> {
        let f = self.f;
        let insts = &f.block(block).insts[range.clone()];
        let facts = self.mad_facts();
        let plan = self.plan(&facts, insts, range.end);
        let known = self.known_now();

        let below_squares = insts.iter().filter_map(|&inst| self.below_square(inst)).collect();
        self.mads = Some(Stretch { below_squares, ..Stretch::new(self.groups, false) });
        insts.iter().try_for_each(|&inst| self.inst(inst))?;
        let sums =
            plan.depend.iter().copied().filter(|&v| f.def_inst(v).is_some_and(|d| d.op == Opcode::FmadTrunc));
        let mask =
            facts.wanted.mask_covering(sums, block, range.end).filter(|m| self.values[m.index()].is_some());
        let lanes = match mask {
            Some(mask) => self.masks(mask)?,
            None => self.active.clone(),
        };
        let after = self.known_now();
        let results = plan.again.iter().filter_map(|&i| f.inst(i).result);
        let quick: Vec<(Value, Option<Kept>)> =
            results.map(|v| (v, self.values[v.index()].clone())).collect();
        let mut shape = Vec::new();
        for &v in &plan.live {
            // What is not made anywhere is made where it is used.
            if let Some(kept) = self.values[v.index()].clone() {
                shape.push((v, kept));
            }
        }
        let args: Vec<R> = shape.iter().flat_map(|(_, kept)| kept.registers()).collect();
        let (careful, slow, end) = (self.a.cold_block(), self.a.cold_block(), self.a.block());
        self.test_stretch(&lanes);
        self.a.branch(Flags::NotEqual, (careful, &[]), (end, &args));

        for (version, careful) in [(careful, true), (slow, false)] {
            self.a.switch_to(version);
            self.restore(&known);
            self.mads = careful.then(|| Stretch::new(self.groups, true));
            plan.again.iter().try_for_each(|&inst| self.inst(inst))?;
            let mut own = Vec::new();
            for (v, _) in &shape {
                own.extend(self.kept(*v)?.registers());
            }
            if !own.iter().map(|r| r.class()).eq(args.iter().map(|r| r.class())) {
                return Err(Error::Codegen("versions that leave different values".into()));
            }
            if careful {
                self.test_stretch(&lanes);
                self.a.branch(Flags::NotEqual, (slow, &[]), (end, &own));
            } else {
                self.a.jump(end, &own);
            }
        }

        self.a.switch_to(end);
        self.restore(&after);
        for (v, kept) in quick {
            self.values[v.index()] = kept;
        }
        for v in &plan.depend {
            self.values[v.index()] = None;
            self.hoisted.remove(v);
            self.known.splats.remove(v);
            self.known.guards.remove(v);
            self.known.mask_bits.remove(v);
        }
        for (v, kept) in shape {
            let kept = self.params_like(end, &kept);
            self.define(v, kept);
        }
        Ok(())
    }

    /// Clears ZF if a version may be wrong in some of these lanes.
    fn test_stretch(&mut self, lanes: &[R]) {
        let Some(stretch) = self.mads.take() else { return };
        let mut wrong = Vec::new();
        for (n, tested) in stretch.tested.into_iter().enumerate() {
            let lanes = lanes.get(n).copied();
            let compare = |l: &mut Self, x: R, with: u32, condition: u8| match lanes {
                Some(k) => l.a.vcmpm(INT_CMPU, k, x, Src::C32(with), condition),
                None => l.a.vcmp(INT_CMPU, x, Src::C32(with), condition),
            };
            match (stretch.careful, tested) {
                (false, [Some(all), waiting]) => {
                    let all = waiting.map_or(all, |w| self.a.v3(AND[0], all, Src::R(w)));
                    wrong.push(match lanes {
                        Some(k) => self.a.vtestm(TEST_NOT[0], k, all, Src::C32(UPPER_BIT)),
                        None => self.a.vtest(TEST_NOT[0], all, Src::C32(UPPER_BIT)),
                    });
                }
                (true, [least, largest]) => {
                    wrong.extend(least.map(|x| compare(self, x, (ADDENDS_FROM << 1) - 1, LESS)));
                    wrong.extend(largest.map(|x| compare(self, x, LARGEST, NOT_LESS)));
                }
                (false, _) => {}
            }
        }
        while let [a, b, _, ..] = wrong[..] {
            let both = self.a.k3(OR_MASKS, a, b);
            wrong.splice(..2, [both]);
        }
        match wrong[..] {
            [a, b] => self.a.kortest(a, b),
            [a] => self.a.kortest(a, a),
            _ => {}
        }
    }

    /// The truncating multiply-add, as the stretch that it is in wants it.
    pub fn multiply_add(&mut self, data: &InstData, args: &[Value], flush: bool) -> Result<Vec<R>, Error> {
        let (&[a, b, c], Some(result)) = (args, data.result) else {
            return Err(crate::operands::malformed(data));
        };
        let (a, b) = if self.f.as_const(a).is_some() { (b, a) } else { (a, b) };
        let (x, y) = (self.regs(a)?, self.regs(b)?);
        // The addend's opposite is subtracted.
        let opposite = match self.f.def_inst(c) {
            Some(neg) if neg.op == Opcode::Fneg && self.mads.is_some() => {
                let v = neg.args.first().map(|&v| self.before_canon(v));
                v.filter(|v| matches!(self.values[v.index()], Some(Kept::Parts(_) | Kept::Splat(_))))
            }
            _ => None,
        };
        let z = self.regs(opposite.unwrap_or(c))?;
        let add = if opposite.is_some() { SUB[0] } else { ADD[0] };
        let Some(mut stretch) = self.mads.take() else {
            let mut out = Vec::new();
            for ((&a, &b), &c) in x.iter().zip(y.iter()).zip(z.iter()) {
                let [a, b, c] = [a, b, c].map(|r| if flush { self.flush(0, r) } else { r });
                out.push(self.exact_multiply_add(a, b, c, flush));
            }
            return Ok(out);
        };
        let addend = self.magnitude_of(c);
        let constant = self.f.as_const(addend).map(|bits| bits as u32);
        // A zero of the stretch's own, or one that has just been made, is for the careful version: the look would delay the sum. So is
        // one that is the same all through a loop: its test moves out, and few programs add nothing in each round.
        let facts = self.mad_facts();
        let outside = facts.is_outside(self.f, addend, self.blocks.current);
        let early = self.is_early(addend) && !outside;
        let rounds = stretch.careful || !stretch.in_middle.contains(&addend) && early;
        // The sign plays no part in what is zero.
        let plain = match self.values[addend.index()] {
            Some(Kept::Parts(_) | Kept::Splat(_)) => self.regs(addend)?,
            _ => z.clone(),
        };
        let note = !rounds && constant.is_none() && stretch.in_middle.insert(addend);
        let one = self.is_one(result);
        // A positive number plus a square is not below it. What is the same all through a loop is looked at in front of it.
        let same_sign = opposite.is_none() && addend == self.but_for_canon(c);
        let positive = match constant {
            Some(bits) => (LEAST_MIDDLING..MOST_MIDDLING).contains(&bits),
            None => !rounds && (outside || stretch.positive.contains(&addend)),
        };
        let above = !stretch.careful && a == b && same_sign && positive;
        let note_sign = above && constant.is_none() && stretch.positive.insert(addend);
        if above {
            stretch.positive.insert(result);
        }
        let covered = above && stretch.below_squares.contains(&result);
        let mut all_tested = true;
        let mut out = Vec::new();
        // What is the same in all lanes is computed for sixteen of them, though an operand may be there for more.
        for n in 0..self.groups {
            let (a, b, c) = (x[n], Src::R(y[n]), z[n]);
            let place = if one { stretch.tested.len() - 1 } else { n };
            let to_zero = With { to_zero: true, ..With::default() };
            let mut safe = false;
            let mut both = None;
            let product = match constant {
                Some(bits) if bits & EXPONENT == 0 => self.a.v3(MUL[0], a, b),
                _ => {
                    let known = stretch.products.get(&(x[n], y[n])).copied();
                    let (cut, was_safe) = known.unwrap_or_else(|| (self.a.v3w(MUL[0], a, b, to_zero), false));
                    safe = was_safe;
                    stretch.products.insert((x[n], y[n]), (cut, true));
                    if constant.is_none() && stretch.careful {
                        // An addend that has just been made waits for as little as can be: both sums are made.
                        both = Some((self.zeros(&mut stretch, plain[n]), self.a.v3(MUL[0], a, b)));
                        cut
                    } else if constant.is_none() && rounds {
                        let zero = self.zeros(&mut stretch, plain[n]);
                        self.a.v3m(MUL[0], zero, cut, a, b)
                    } else {
                        cut
                    }
                }
            };
            let mut sum = self.a.v3(add, product, Src::R(c));
            if let Some((zero, rounded)) = both {
                sum = self.a.v3m(add, zero, sum, rounded, Src::R(c));
            }
            if stretch.careful {
                self.note_addend(&mut stretch, place, c);
                self.note_product(&mut stretch, place, product);
            } else {
                if note || note_sign {
                    let moved = self.moved_to_middle(&mut stretch, plain[n]);
                    let moved = if note_sign { self.where_positive(moved, plain[n]) } else { moved };
                    self.note_in_middle(&mut stretch, place, moved);
                }
                // Of a product that is all right and a middling addend.
                let sure = safe && !rounds && constant.is_none();
                if !sure && !covered {
                    let moved = self.moved_to_middle(&mut stretch, sum);
                    self.note_in_middle(&mut stretch, place, moved);
                }
                all_tested &= !sure || covered;
            }
            out.push(sum);
        }
        if all_tested {
            stretch.in_middle.insert(result);
        }
        self.mads = Some(stretch);
        Ok(out)
    }

    /// Whether a value is there long before the block's sums, so that it may well be looked at before one is made.
    fn is_early(&self, v: Value) -> bool {
        match self.f.values[v.index()].def {
            ValueDef::Inst(i) => {
                self.f.inst(i).op == Opcode::Load || !self.f.block(self.blocks.current).insts.contains(&i)
            }
            ValueDef::Param(b, _) => b != self.blocks.current,
        }
    }

    /// What a multiply-add adds a square to.
    fn below_square(&self, inst: Inst) -> Option<Value> {
        let data = self.f.inst(inst);
        let &[a, b, c] = &data.args[..] else { return None };
        let square = data.op == Opcode::FmadTrunc && self.before_canon(a) == self.before_canon(b);
        square.then(|| self.but_for_canon(c))
    }

    /// Whether the stretch that is being written will have found a value to have a middling exponent; with `any_sign`, it may be negative.
    pub fn is_middling(&self, v: Value, any_sign: bool) -> bool {
        self.mads.as_ref().is_some_and(|stretch| {
            let positive = stretch.positive.contains(&self.but_for_canon(v));
            !stretch.careful && (positive || any_sign && stretch.in_middle.contains(&self.magnitude_of(v)))
        })
    }

    /// What a float is but for its type and what its NaNs are.
    fn but_for_canon(&self, v: Value) -> Value {
        match self.f.def_inst(v) {
            Some(data) if matches!(data.op, Opcode::Fcanon | Opcode::Bitcast) => {
                data.args.first().map_or(v, |&a| self.but_for_canon(a))
            }
            _ => v,
        }
    }

    /// What a float is but for its sign, its type and what its NaNs are.
    fn magnitude_of(&self, v: Value) -> Value {
        match self.f.def_inst(v) {
            Some(data) if same_magnitude(data.op) => data.args.first().map_or(v, |&a| self.magnitude_of(a)),
            _ => v,
        }
    }

    /// A float whose exponent from -63 to 64 has become one with an upper bit.
    fn moved_to_middle(&mut self, stretch: &mut Stretch, x: R) -> R {
        let to_middle = *stretch.to_middle.get_or_insert_with(|| self.a.constant(false, TO_MIDDLE.into()));
        self.a.v3(INT_ADD, x, Src::R(to_middle))
    }

    /// Without that bit where `x` has a sign.
    fn where_positive(&mut self, moved: R, x: R) -> R {
        let sign = self.a.v2i(int::SAR_BY[0], x, 1);
        self.a.v3(int::ANDN[0], sign, Src::R(moved))
    }

    fn note_in_middle(&mut self, stretch: &mut Stretch, place: usize, moved: R) {
        let tested = &mut stretch.tested[place];
        *tested = match *tested {
            [None, _] => [Some(moved), None],
            [all, None] => [all, Some(moved)],
            [Some(all), Some(waiting)] => {
                [Some(self.a.ternary(AND_OF_THREE, all, waiting, Src::R(moved))), None]
            }
        };
    }

    /// Where an addend is zero.
    fn zeros(&mut self, stretch: &mut Stretch, addend: R) -> R {
        *stretch.zeros.entry(addend).or_insert_with(|| self.a.vtest(TEST_NOT[0], addend, Src::C32(EXPONENT)))
    }

    /// The least addend, twice as large, which leaves no sign, and less one: a zero is above all others then.
    fn note_addend(&mut self, stretch: &mut Stretch, place: usize, addend: R) {
        let twice = self.a.v3(INT_ADD, addend, Src::R(addend));
        let above = self.a.v3(INT_SUB, twice, Src::C32(1));
        let least = &mut stretch.tested[place][0];
        *least = Some(least.map_or(above, |so_far| self.a.v3(INT_MINU, so_far, Src::R(above))));
    }

    /// The largest product without its sign. (An infinite one hides that another is the largest number, so it counts as such.)
    fn note_product(&mut self, stretch: &mut Stretch, place: usize, product: R) {
        let largest = &mut stretch.tested[place][1];
        let so_far = largest.unwrap_or_else(|| self.a.constant(false, 0));
        *largest = Some(self.a.v3i(LARGER_MAGNITUDE.0, so_far, product, LARGER_MAGNITUDE.1));
    }
}

/// Operations that change nothing but a sign, a type, or which NaN it is.
fn same_magnitude(op: Opcode) -> bool {
    matches!(op, Opcode::Fcanon | Opcode::Fneg | Opcode::Fabs | Opcode::Bitcast)
}

impl Stretch {
    fn new(groups: usize, careful: bool) -> Stretch {
        Stretch {
            careful,
            in_middle: HashSet::new(),
            positive: HashSet::new(),
            below_squares: HashSet::new(),
            zeros: HashMap::new(),
            products: HashMap::new(),
            to_middle: None,
            tested: vec![[None; 2]; groups + 1],
        }
    }
}
