//! Truncating multiply-adds and the loads between them, in three versions:
//!
//! - *quickly*: the truncated product, made of the rounded one. That is right as long as no product overflows or
//!   becomes tiny and no addend is zero, and whether it is shows in the sums, which are looked at all at once behind the last of them: of
//!   exponents from -63 to 64. A product that overflowed is the largest number or infinite, and leaves a sum of at least 2^103, or zero
//!   where the two cancel. One below 2^-126 is flushed, and of one below 2^-102 the error is not exact, so that the truncated product may
//!   be wrong in its last place: neither changes a sum of 2^-63 and more. Sums are no zeros as addends, as they have been looked at;
//!   others are tested with them.
//! - *carefully*, where that did not hold: with the rounded product wherever an addend is zero. Infinite sums, zeros and NaNs are right;
//!   looked at are addends below 2^-70 that are not zero, and products that are the largest number or infinite.
//! - *exactly*, where even that did not hold, in double precision.
//!
//! Lanes where no sum matters ([`crate::demanded_lanes`]) are not looked at. Loads of shared and const memory in between can be executed again,
//! since a block runs on one thread. The bounds of those whose addresses are known before are tested at the start, and where they do not
//! hold the exact version runs at once.

use std::ops::Range;

use foldhash::{HashMap, HashSet, HashSetExt};
use warpjit_ir::{Block, Imm, InstData, Opcode, Space, Value};

use super::{Kept, Known, Lower, Parts, arg};
use crate::affine::Form;
use crate::clif::{F32X4, HostFloatCC, HostIntCC, I8, I32X4, V};
use crate::code::FloatEnv;
use crate::error::Error;

/// What brings exponents from -63 to 64 to those whose upper bit is set.
const TO_MIDDLE: u64 = 64 << 23;
const UPPER_BIT: u64 = 1 << 30;
/// Addends other than zero from here on are right for the careful version: 2^-70.
const ADDENDS_FROM: u64 = 57 << 23;
/// The largest number.
const LARGEST: u64 = 0x7f7f_ffff;
const EXPONENT: u64 = 0x7f80_0000;

/// The version of a stretch of code that is being written, if not the exact one.
#[derive(Debug, Default)]
pub(super) struct FastMads {
    careful: bool,
    /// Sums and addends that will have been found to have middling exponents, so that they are not zero.
    in_middle: HashSet<Value>,
    /// By group: in bit 30 whether all of them have.
    middling: Vec<Option<V>>,
    /// By group, of the careful version: the least addend, twice as large, less one, so that zeros are above all others.
    least: Vec<Option<V>>,
    /// Likewise: lanes with a product that is too large.
    large: Vec<Option<V>>,
}

/// Instructions between two multiply-adds, other than loads, from which on they are apart: values must be kept for the exact
/// version, and other instructions are emitted twice.
const MOST_OTHERS: usize = 3;

/// Most multiply-adds of a stretch: where one of them is not right, all are done again.
const MOST_MADS: usize = 24;

/// What is known where the versions part: vectors that are good wherever their scalar is, and what is good in the block.
type Parting = (HashMap<Value, Parts>, Known);

impl FastMads {
    fn new(groups: usize, careful: bool) -> FastMads {
        let none = || vec![None; groups];
        FastMads { careful, in_middle: HashSet::new(), middling: none(), least: none(), large: none() }
    }
}

/// Places where each value is used: block and instruction, the terminator being behind all.
pub(super) type Uses = Vec<Vec<(Block, usize)>>;

impl Lower<'_, '_> {
    /// Whether an instruction is a multiply-add that has a fast version.
    fn is_fast_mad(&self, data: &InstData) -> bool {
        data.op == Opcode::FmadTrunc
            && self.fast_mads
            && data.args.len() == 3
            && data.result.is_some_and(|r| self.forms.of(r) == Form::Varying)
    }

    /// The end of the instructions from `start` on that are done in versions, if any are.
    pub(super) fn mad_versions_to(&self, block: Block, start: usize) -> Option<usize> {
        let insts = &self.f.block(block).insts;
        let first = self.f.inst(*insts.get(start)?);
        let mad = self.is_fast_mad(first);
        if !mad && !matches!(first.op, Opcode::Load) {
            return None;
        }
        let (mut end, mut others, mut mads) = (None, 0, 0);
        for (n, &inst) in insts.iter().enumerate().skip(start) {
            let data = self.f.inst(inst);
            let again = match (data.op, data.imm) {
                (Opcode::Load, Imm::Mem(mem)) => matches!(mem.space, Space::Shared | Space::Const(_)),
                (Opcode::CallPure | Opcode::ActiveMask, _) => false,
                (op, _) => op.is_pure() && !op.is_cross_lane(),
            };
            if !again || others > MOST_OTHERS || mads == MOST_MADS {
                break;
            }
            if self.is_fast_mad(data) {
                (end, others, mads) = (Some(n + 1), 0, mads + 1);
            } else if !matches!(data.op, Opcode::Load | Opcode::Bitcast | Opcode::Const) {
                others += 1;
            }
        }
        end
    }

    fn known_now(&self) -> Parting {
        (self.hoisted.clone(), self.known.clone())
    }

    fn know(&mut self, parting: Parting) {
        (self.hoisted, self.known) = parting;
    }

    /// Emits instructions of a block in their versions.
    pub(super) fn mad_versions(&mut self, block: Block, range: Range<usize>) -> Result<(), Error> {
        let f = self.f;
        // All versions begin and end alike.
        self.turn_to(FloatEnv::FlushAll);
        let insts = &f.block(block).insts[range.clone()];
        let outside = |&(b, n): &(Block, usize)| b != block || !range.contains(&n);
        let results = insts.iter().filter_map(|&inst| self.f.inst(inst).result);
        let live: Vec<Value> = results
            .filter(|r| !self.address_only[r.index()] && self.uses[r.index()].iter().any(outside))
            .collect();

        // Bounds first.
        let mut inside: Vec<V> = Vec::new();
        for &inst in insts {
            let data = self.f.inst(inst);
            let (Opcode::Load, Imm::Mem(mem)) = (data.op, data.imm) else { continue };
            let address = arg(data, 0)?;
            let is_done = data.result.is_some_and(|r| self.preloaded.contains_key(&r));
            if is_done || self.values[address.index()].is_none() {
                continue;
            }
            if let Some(row) = self.in_row(address, mem)?
                && !row.always
                && !inside.contains(&row.inside)
            {
                inside.push(row.inside);
            }
        }
        let (careful, exact, end) = (self.e.cold_block(), self.e.cold_block(), self.e.block());
        let all_inside = inside.iter().copied().reduce(|a, b| self.e.band(a, b));
        if let Some(all_inside) = all_inside {
            let quick = self.e.block();
            self.e.brif(all_inside, (quick, &[]), (exact, &[]));
            self.e.switch_to(quick);
        }
        let before = self.known_now();

        self.inside = inside;
        // Registers of 512 bits make the allocator's moves, which are no VEX instructions, dearer: not worth it for a few.
        self.mads = Some(FastMads::new(self.groups, false));
        for &inst in insts {
            self.inst(inst)?;
        }
        let mads = self.mads.take().unwrap_or_default();
        let quick_values: Vec<Kept> = live.iter().map(|&v| self.kept(v)).collect::<Result<_, _>>()?;
        let quick_args: Vec<V> = quick_values.iter().flat_map(parts_of).collect();
        let sums = insts.iter().map(|&i| f.inst(i)).filter(|d| d.op == Opcode::FmadTrunc);
        let mask = self
            .wanted
            .as_ref()
            .and_then(|w| w.mask_covering(sums.filter_map(|d| d.result), block, range.end));
        let is_there = |m: &Value| self.values[m.index()].is_some() && !self.is_uniform(*m);
        let lanes = match mask.filter(is_there) {
            Some(mask) => Some(self.parts(mask)?),
            None => None,
        };
        let outside = self.outside_of_middle(&mads, lanes.as_ref());
        // The moves to the parameters of `end` are made once.
        let right = self.e.block();
        self.e.brif(outside, (careful, &[]), (right, &[]));
        self.e.switch_to(right);
        self.e.jump(end, &quick_args);

        for (version, is_careful) in [(careful, true), (exact, false)] {
            self.e.switch_to(version);
            self.know(before.clone());
            self.mads = is_careful.then(|| FastMads::new(self.groups, true));
            for &inst in insts {
                self.inst(inst)?;
            }
            self.inside.clear();
            let mut args = Vec::new();
            for (&v, quick) in live.iter().zip(&quick_values) {
                match (quick, self.kept(v)?) {
                    (Kept::Parts(_), _) => args.extend(self.parts(v)?.iter()),
                    (Kept::Scalar(_), _) => args.push(self.scalar(v)?),
                    (Kept::Bits(_), _) => args.push(self.mask_bits(v)?),
                    (Kept::Const(_), _) => {}
                }
            }
            match self.mads.take() {
                Some(mads) => {
                    let wrong = self.maybe_wrong(&mads, lanes.as_ref().unwrap_or(&self.active.clone()));
                    self.e.brif(wrong, (exact, &[]), (end, &args));
                }
                None => self.e.jump(end, &args),
            }
        }

        self.know(before);
        // What is not used behind is that of the exact version.
        for r in insts.iter().filter_map(|&inst| f.inst(inst).result) {
            self.values[r.index()].take_if(|kept| !matches!(kept, Kept::Const(_)));
        }
        let mut params: Vec<V> = Vec::new();
        for &a in &quick_args {
            let ty = self.e.ty(a);
            params.push(self.e.param(end, ty));
        }
        self.e.switch_to(end);
        let mut params = params.into_iter();
        for (&v, quick) in live.iter().zip(quick_values) {
            let merged = match &quick {
                Kept::Const(_) => quick,
                Kept::Scalar(_) => params.next().map_or(quick, Kept::Scalar),
                Kept::Bits(_) => params.next().map_or(quick, Kept::Bits),
                Kept::Parts(p) => Kept::Parts(params.by_ref().take(p.len()).collect()),
            };
            self.define(v, merged);
        }
        Ok(())
    }

    /// Whether a value of the quick version is not middling in one of these lanes (none: of all), i8.
    fn outside_of_middle(&mut self, mads: &FastMads, lanes: Option<&Parts>) -> V {
        let all = mads.middling.iter().enumerate().filter_map(|(g, &v)| Some((g, v?)));
        let outside: Vec<V> = match lanes {
            Some(lanes) => all.map(|(g, v)| self.e.band_not(lanes[g], v)).collect(),
            None => {
                let all = all.map(|(_, v)| v).reduce(|a, b| self.e.band(a, b));
                all.map(|v| self.e.bnot(v)).into_iter().collect()
            }
        };
        let Some(any) = outside.into_iter().reduce(|a, b| self.e.bor(a, b)) else {
            return self.e.imm(I8, 0);
        };
        let upper = self.e.band_imm(any, UPPER_BIT);
        self.e.vany_true(upper)
    }

    /// Whether the careful version may be wrong in one of these lanes, i8.
    fn maybe_wrong(&mut self, mads: &FastMads, lanes: &Parts) -> V {
        let from = self.e.imm(I32X4, 2 * ADDENDS_FROM - 1);
        let mut wrong = vec![self.e.imm(I32X4, 0)];
        for (g, (&least, &large)) in mads.least.iter().zip(&mads.large).enumerate() {
            let small = least.map(|least| self.e.icmp(HostIntCC::UnsignedLessThan, least, from));
            for part in small.into_iter().chain(large) {
                wrong.push(self.e.band(part, lanes[g]));
            }
        }
        self.any(&wrong)
    }

    /// A multiply-add of a version that is not the exact one.
    pub(super) fn fast_mad(&mut self, data: &InstData) -> Result<Parts, Error> {
        let (Some(mut mads), Some(result)) = (self.mads.take(), data.result) else {
            return Err(super::malformed(data));
        };
        let mut operands = Vec::new();
        for &a in &data.args {
            let a = self.before_canon(a);
            let parts = self.parts(a)?;
            let flush = self.explicit_flush;
            operands.push(parts.iter().map(|&p| if flush { self.e.flush(p) } else { p }).collect::<Vec<V>>());
        }
        let [a, b, c] = &operands[..] else { return Err(super::malformed(data)) };
        let addend = self.magnitude_of(data.args[2]);
        let constant = self.f.as_const(addend).map(|bits| bits & EXPONENT);
        if constant.is_none() && !mads.careful && mads.in_middle.insert(addend) {
            self.note_in_middle(&mut mads, c);
        }
        let products: Vec<[V; 2]> = a.iter().zip(b).map(|(&a, &b)| self.products(a, b)).collect();
        let mut sums = Vec::new();
        for (g, (&[rounded, cut], &c)) in products.iter().zip(c).enumerate() {
            // What is added to zero is flushed before: that shows in its sign.
            let rounded = if self.explicit_flush && mads.careful { self.e.flush(rounded) } else { rounded };
            let product = if constant == Some(0) { rounded } else { cut };
            let mut sum = self.e.fadd(product, c);
            if mads.careful {
                if constant.is_none() {
                    let zero = self.e.imm(F32X4, 0);
                    let zeros = self.e.fcmp(HostFloatCC::Equal, c, zero);
                    let of_rounded = self.e.fadd(rounded, c);
                    sum = self.e.sel(zeros, of_rounded, sum);
                }
                self.note_addend(&mut mads, g, c);
                self.note_product(&mut mads, g, product);
            }
            sums.push(sum);
        }
        if !mads.careful {
            self.note_in_middle(&mut mads, &sums);
            mads.in_middle.insert(result);
        }
        self.mads = Some(mads);
        let flush = self.explicit_flush;
        Ok(sums.iter().map(|&s| if flush { self.e.flush(s) } else { s }).collect())
    }

    /// What a float is but for its sign and which NaN it is.
    fn magnitude_of(&self, v: Value) -> Value {
        let v = self.before_canon(v);
        match self.f.def_inst(v) {
            Some(data) if data.op == Opcode::Fneg => data.args.first().map_or(v, |&a| self.magnitude_of(a)),
            _ => v,
        }
    }

    /// Adds vectors to [`FastMads::middling`].
    fn note_in_middle(&mut self, mads: &mut FastMads, vectors: &[V]) {
        let to_middle = self.e.imm(I32X4, TO_MIDDLE);
        for (all, &v) in mads.middling.iter_mut().zip(vectors) {
            let bits = self.e.cast(v, I32X4);
            let moved = self.e.iadd(bits, to_middle);
            *all = Some(all.map_or(moved, |all| self.e.band(all, moved)));
        }
    }

    /// Adds a vector to [`FastMads::least`].
    fn note_addend(&mut self, mads: &mut FastMads, group: usize, addend: V) {
        let bits = self.e.cast(addend, I32X4);
        let twice = self.e.iadd(bits, bits);
        let above = self.e.iadd_imm(twice, u64::from(u32::MAX));
        let least = &mut mads.least[group];
        *least = Some(least.map_or(above, |least| self.e.umin(least, above)));
    }

    /// Adds a vector to [`FastMads::large`].
    fn note_product(&mut self, mads: &mut FastMads, group: usize, product: V) {
        let (magnitude, largest) = (self.e.fabs(product), self.e.imm(F32X4, LARGEST));
        let too_large = self.e.fcmp(HostFloatCC::LessThanOrEqual, largest, magnitude);
        let large = &mut mads.large[group];
        *large = Some(large.map_or(too_large, |large| self.e.bor(large, too_large)));
    }

    /// a * b rounded to nearest, and truncated.
    fn products(&mut self, a: V, b: V) -> [V; 2] {
        let rounded = self.e.fmul(a, b);
        [rounded, self.cut_by_error(a, b, rounded)]
    }

    /// a * b truncated: the rounded product, one unit less if its error, which a fused multiply-add gives exactly, has
    /// the other sign. (The error times the product has a sign that says so, plus zero also where there is no error.)
    fn cut_by_error(&mut self, a: V, b: V, product: V) -> V {
        let e = &mut self.e;
        let minus = e.fneg(product);
        let error = e.fma(a, b, minus);
        let zero = e.imm(F32X4, 0);
        let both = e.fma(error, product, zero);
        let both = e.cast(both, I32X4);
        let step = e.sar(both, 31);
        let bits = e.cast(product, I32X4);
        let cut = e.iadd(bits, step);
        e.cast(cut, F32X4)
    }
}

/// The host's values of a value.
fn parts_of(kept: &Kept) -> Vec<V> {
    match kept {
        Kept::Const(_) => Vec::new(),
        Kept::Scalar(s) | Kept::Bits(s) => vec![*s],
        Kept::Parts(p) => p.to_vec(),
    }
}

/// Uses of all values of the blocks of `order`. What is made where it is used needs its operands there.
pub(super) fn uses(f: &warpjit_ir::Function, order: &[Block], address_only: &[bool]) -> Uses {
    let mut uses = vec![Vec::new(); f.values.len()];
    for &block in order.iter().rev() {
        let insts = &f.block(block).insts;
        f.term(block).for_each_use(|v| uses[v.index()].push((block, insts.len())));
        for (n, &inst) in insts.iter().enumerate().rev() {
            let data = f.inst(inst);
            // So does what a canonical NaN makes no difference to.
            let passes = |r: &Value| address_only[r.index()] || data.op == Opcode::Fcanon;
            let of_result = data.result.filter(passes);
            let mut places: Vec<(Block, usize)> =
                of_result.map_or_else(Vec::new, |r| uses[r.index()].clone());
            places.push((block, n));
            data.args.iter().for_each(|a| uses[a.index()].extend(&places));
        }
    }
    uses
}
