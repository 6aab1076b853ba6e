//! Truncating multiply-adds and the loads between them, twice: a fast version that tells in the end whether it holds, and
//! an exact one for when it does not.
//!
//! The fast version takes the truncated product from the host, or makes it of the rounded one. Both are right as long as
//! nothing overflows or becomes tiny, and that is looked up in the sums, all at once behind the last of them:
//! - A product that overflowed is the largest number or infinite. A finite addend leaves a sum of at least 2^103, or
//!   zero where the two cancel; so a sum below 2^100 that is not zero had no such product.
//! - A product below 2^-126, flushed or truncated wrongly, matters to the sum only if the addend is below 2^-100; then the sum is
//!   below 2^-96. (Of a rounded product the error is exact from 2^-102 up, and wrong by one unit in the
//!   last place below: that cannot be seen in sums from 2^-70 up.)
//!
//! A zero addend asks for the rounded product. Sums of the fast version are no such addends, as they have been looked at.
//!
//! Loads of shared and const memory in between can be executed again, since a block runs on one thread. The bounds of those
//! whose addresses are known before are tested at the start, and where they do not hold the exact version runs at once.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use warpjit_ir::{Block, Imm, Inst, InstData, Opcode, Space, Value};

use super::{Kept, Known, Lower, Parts, arg};
use crate::Error;
use crate::affine::Form;
use crate::clif::{F32X4, HostFloatCC, HostIntCC, I32X4, I64X2, V};
use crate::embedded;

/// Exponents that sums have for sure to be right: from, and below.
const SUMS_BELOW: u32 = 127 + 100;

/// Where one version of a stretch of code is.
#[derive(Debug, Default)]
pub(super) struct FastMads {
    /// Results whose magnitude will be tested.
    tested: HashSet<Value>,
    /// The sums, for a closer look.
    sums: Vec<V>,
    /// By group: the greatest of the sums' bits, without signs, from the start of the range on.
    greatest: Vec<Option<V>>,
    /// Addends from outside may be zero.
    blends: bool,
    /// The host rounds products towards zero.
    to_zero: bool,
    /// Masks of zero addends.
    zeros: HashMap<Value, Parts>,
    /// Addends that must not be zero.
    addends: Vec<V>,
}

/// Instructions between two multiply-adds, other than loads, from which on they are apart: values must be kept for the exact
/// version, and other instructions are emitted twice.
const MOST_OTHERS: usize = 3;

/// Multiply-adds of a range for each addend from outside, from which on such an addend may be zero; in shorter ranges that is
/// a case for the exact version.
const LONG_CHAIN: usize = 4;

/// Most sums that get a closer look in case.
const MOST_SUMS: usize = 8;

/// What is known where the versions part: vectors that are good wherever their scalar is, and what is good in the block.
type Parting = (HashMap<Value, Parts>, Known);

impl FastMads {
    /// The least exponent that sums have for sure to be right.
    fn sums_from(&self) -> u32 {
        if self.to_zero { 127 - 96 } else { 127 - 70 }
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

    /// The end of the instructions from `start` on that are done in two versions, if any are.
    pub(super) fn two_versions_to(&self, block: Block, start: usize) -> Option<usize> {
        let insts = &self.f.block(block).insts;
        let first = self.f.inst(*insts.get(start)?);
        let mad = self.is_fast_mad(first);
        if !mad && !matches!(first.op, Opcode::Load) {
            return None;
        }
        let (mut end, mut others) = (None, 0);
        for (n, &inst) in insts.iter().enumerate().skip(start) {
            let data = self.f.inst(inst);
            let again = match (data.op, data.imm) {
                (Opcode::Load, Imm::Mem(mem)) => matches!(mem.space, Space::Shared | Space::Const(_)),
                (Opcode::CallPure | Opcode::ActiveMask, _) => false,
                (op, _) => op.is_pure() && !op.is_cross_lane(),
            };
            if !again || others > MOST_OTHERS {
                break;
            }
            if self.is_fast_mad(data) {
                (end, others) = (Some(n + 1), 0);
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

    /// Emits instructions of a block in two versions.
    pub(super) fn two_versions(&mut self, block: Block, range: Range<usize>) -> Result<(), Error> {
        let insts = self.f.block(block).insts[range.clone()].to_vec();
        let outside = |&(b, n): &(Block, usize)| b != block || !range.contains(&n);
        let results = insts.iter().filter_map(|&inst| self.f.inst(inst).result);
        let live: Vec<Value> = results
            .filter(|r| !self.address_only[r.index()] && self.uses[r.index()].iter().any(outside))
            .collect();

        // Bounds first.
        let mut inside: Vec<V> = Vec::new();
        for &inst in &insts {
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
        let (exact, end) = (self.e.cold_block(), self.e.block());
        let all_inside = inside.iter().copied().reduce(|a, b| self.e.band(a, b));
        if let Some(all_inside) = all_inside {
            let fast = self.e.block();
            self.e.brif(all_inside, (fast, &[]), (exact, &[]));
            self.e.switch_to(fast);
        }
        let before = self.known_now();

        self.inside = inside;
        let blends = self.has_long_chains(&insts);
        // Registers of 512 bits make the allocator's moves, which are no VEX instructions, dearer: not worth it for a few.
        let to_zero = blends && self.e.host.rounded_products;
        let greatest = vec![None; self.groups];
        self.mads = Some(FastMads { greatest, blends, to_zero, ..FastMads::default() });
        for &inst in &insts {
            self.inst(inst)?;
        }
        self.inside.clear();
        let mads = self.mads.take().unwrap_or_default();
        let fast_values: Vec<Kept> = live.iter().map(|&v| self.kept(v)).collect::<Result<_, _>>()?;
        let fast_args: Vec<V> = fast_values.iter().flat_map(parts_of).collect();
        let suspicious = self.suspicious(&mads);
        // The moves to the parameters of `end` are made once.
        let right = self.e.block();
        if mads.sums.len() <= MOST_SUMS {
            let look = self.e.cold_block();
            self.e.brif(suspicious, (look, &[]), (right, &[]));
            self.e.switch_to(look);
            let wrong = self.maybe_wrong(&mads);
            self.e.brif(wrong, (exact, &[]), (right, &[]));
        } else {
            self.e.brif(suspicious, (exact, &[]), (right, &[]));
        }
        self.e.switch_to(right);
        self.e.jump(end, &fast_args);

        self.e.switch_to(exact);
        self.know(before);
        let before = self.known_now();
        for &inst in &insts {
            self.inst(inst)?;
        }
        let mut exact_args = Vec::new();
        for (&v, fast) in live.iter().zip(&fast_values) {
            match (fast, self.kept(v)?) {
                (Kept::Parts(_), _) => exact_args.extend(self.parts(v)?.iter()),
                (Kept::Scalar(_), _) => exact_args.push(self.scalar(v)?),
                (Kept::Const(_), _) => {}
            }
        }
        self.e.jump(end, &exact_args);

        self.know(before);
        let mut params: Vec<V> = Vec::new();
        for &a in &fast_args {
            let ty = self.e.ty(a);
            params.push(self.e.param(end, ty));
        }
        self.e.switch_to(end);
        let mut params = params.into_iter();
        for (&v, fast) in live.iter().zip(fast_values) {
            let merged = match &fast {
                Kept::Const(_) => fast,
                Kept::Scalar(_) => params.next().map_or(fast, Kept::Scalar),
                Kept::Parts(p) => Kept::Parts(params.by_ref().take(p.len()).collect()),
            };
            self.define(v, merged);
        }
        Ok(())
    }

    /// Whether the fast version may be wrong, i8.
    fn suspicious(&mut self, mads: &FastMads) -> V {
        let greatest: Vec<V> = mads.greatest.iter().copied().flatten().collect();
        let length = (SUMS_BELOW - mads.sums_from()) << 24;
        let last = self.e.imm(I32X4, u64::from((length - 1).wrapping_add(0x8000_0000)));
        let over: Vec<V> = match greatest.iter().copied().reduce(|a, b| self.e.smax(a, b)) {
            Some(all) => vec![self.e.icmp(HostIntCC::SignedGreaterThan, all, last)],
            None => vec![self.e.imm(I32X4, 0)],
        };
        self.any(&over)
    }

    /// The same for each sum by itself. Lanes that did not enter do not count. Sums that are not finite are right where
    /// products are rounded towards zero, as an infinite one had an infinite operand then.
    fn maybe_wrong(&mut self, mads: &FastMads) -> V {
        let from = self.e.imm(F32X4, u64::from(mads.sums_from() << 23));
        let below = self.e.imm(F32X4, u64::from(SUMS_BELOW << 23));
        let infinite = self.e.imm(F32X4, 0x7f80_0000);
        let mut wrong = Vec::new();
        let zero = self.e.imm(F32X4, 0);
        for (n, &addend) in mads.addends.iter().enumerate() {
            let zeros = self.e.fcmp(HostFloatCC::Equal, addend, zero);
            wrong.push(self.e.band(zeros, self.active[n % self.groups]));
        }
        for (n, &sum) in mads.sums.iter().enumerate() {
            let magnitude = self.e.fabs(sum);
            let small = self.e.fcmp(HostFloatCC::LessThan, magnitude, from);
            let large = self.e.fcmp(HostFloatCC::LessThanOrEqual, below, magnitude);
            let finite = self.e.fcmp(HostFloatCC::LessThan, magnitude, infinite);
            let large = if mads.to_zero { self.e.band(large, finite) } else { large };
            let either = self.e.bor(small, large);
            wrong.push(self.e.band(either, self.active[n % self.groups]));
        }
        self.any(&wrong)
    }

    /// A multiply-add of the fast version.
    pub(super) fn fast_mad(&mut self, data: &InstData) -> Result<Parts, Error> {
        let (args, result) = (data.args.clone(), data.result);
        let mut operands = Vec::new();
        for &a in &args {
            let a = self.before_canon(a);
            let parts = self.parts(a)?;
            let flush = self.explicit_flush;
            operands.push(parts.iter().map(|&p| if flush { self.e.flush(p) } else { p }).collect::<Vec<V>>());
        }
        let [a, b, c] = &operands[..] else { return Err(super::malformed(data)) };
        let addend = self.before_canon(args[2]);
        let zeros = self.zero_addends(addend, c);
        let (to_zero, from) = self.mads.as_ref().map_or((false, 0), |m| (m.to_zero, m.sums_from()));
        let mut sums = Vec::new();
        let mut products = Vec::new();
        for (g, (&a, &b)) in a.iter().zip(b).enumerate() {
            let truncated = if to_zero {
                let truncated = self.product_to_zero(a, b);
                match &zeros {
                    Some(zeros) => {
                        let rounded = self.e.fmul(a, b);
                        self.e.sel(zeros[g], rounded, truncated)
                    }
                    None => truncated,
                }
            } else {
                self.product_by_error(a, b, zeros.as_ref().map(|zeros| zeros[g]))
            };
            products.push(truncated);
        }
        for (&product, &c) in products.iter().zip(c) {
            sums.push(self.e.fadd(product, c));
        }
        let to_start = u64::from(0x8000_0000 - (from << 24));
        self.note_magnitudes(&sums, to_start);
        if let Some(mads) = &mut self.mads {
            mads.sums.extend(&sums);
            mads.tested.extend(result);
        }
        let flush = self.explicit_flush;
        Ok(sums.iter().map(|&s| if flush { self.e.flush(s) } else { s }).collect())
    }

    /// Adds to [`FastMads::greatest`] the bits of vectors without signs, moved by `offset`.
    fn note_magnitudes(&mut self, vectors: &[V], offset: u64) {
        let offset = self.e.imm(I32X4, offset);
        for (g, &v) in vectors.iter().enumerate() {
            let bits = self.e.cast(v, I32X4);
            let double = self.e.iadd(bits, bits);
            let moved = self.e.iadd(double, offset);
            let so_far = self.mads.as_ref().and_then(|m| m.greatest[g]);
            let greatest = so_far.map_or(moved, |so_far| self.e.smax(so_far, moved));
            if let Some(mads) = &mut self.mads {
                mads.greatest[g] = Some(greatest);
            }
        }
    }

    /// Whether most multiply-adds of a range have another's sum as addend.
    fn has_long_chains(&self, insts: &[Inst]) -> bool {
        let mads = || insts.iter().map(|&i| self.f.inst(i)).filter(|data| self.is_fast_mad(data));
        let sums: HashSet<Value> = mads().filter_map(|data| data.result).collect();
        let from_outside = mads().filter(|data| !sums.contains(&self.before_canon(data.args[2]))).count();
        mads().count() >= LONG_CHAIN * from_outside.max(1)
    }

    /// Where the addend is zero; `None` where it cannot be, or must not.
    fn zero_addends(&mut self, addend: Value, parts: &[V]) -> Option<Parts> {
        // The sign plays no part.
        let mut v = addend;
        while let Some(data) = self.f.def_inst(v)
            && data.op == Opcode::Fneg
            && let Some(&a) = data.args.first()
        {
            v = a;
        }
        let mads = self.mads.as_ref()?;
        if mads.tested.contains(&v) || self.f.as_const(v).is_some_and(|bits| bits & 0x7f80_0000 != 0) {
            return None;
        }
        if let Some(known) = mads.zeros.get(&v) {
            return (!known.is_empty()).then(|| known.clone());
        }
        if !mads.blends {
            // Zeros and denormals become the largest of all; so do some very large numbers.
            self.note_magnitudes(parts, 0x7f00_0000);
            if let Some(mads) = &mut self.mads {
                mads.addends.extend(parts);
                mads.zeros.insert(v, [].into());
            }
            return None;
        }
        let zero = self.e.imm(F32X4, 0);
        let zeros: Parts = parts.iter().map(|&c| self.e.fcmp(HostFloatCC::Equal, c, zero)).collect();
        if let Some(mads) = &mut self.mads {
            mads.zeros.insert(v, zeros.clone());
        }
        Some(zeros)
    }

    /// a * b rounded towards zero, by an instruction of the host.
    fn product_to_zero(&mut self, a: V, b: V) -> V {
        let (a, b) = (self.e.cast(a, I64X2), self.e.cast(b, I64X2));
        self.e.b.set_srcloc(embedded::mark(self.marks));
        self.marks += 1;
        let product = self.e.imul(a, b);
        self.at_site(None);
        self.e.cast(product, F32X4)
    }

    /// a * b truncated: the rounded product, one unit less if its error, which a fused multiply-add gives exactly, has
    /// the other sign. (The error times the product has a sign that says so, plus zero also where there is no error.)
    fn product_by_error(&mut self, a: V, b: V, zero_addends: Option<V>) -> V {
        let e = &mut self.e;
        let product = e.fmul(a, b);
        let minus = e.fneg(product);
        let error = e.fma(a, b, minus);
        let zero = e.imm(F32X4, 0);
        let both = e.fma(error, product, zero);
        let both = e.cast(both, I32X4);
        let step = e.sar(both, 31);
        let bits = e.cast(product, I32X4);
        let cut = e.iadd(bits, step);
        let cut = match zero_addends {
            Some(zeros) => e.sel(zeros, bits, cut),
            None => cut,
        };
        e.cast(cut, F32X4)
    }
}

/// The host's values of a value.
fn parts_of(kept: &Kept) -> Vec<V> {
    match kept {
        Kept::Const(_) => Vec::new(),
        Kept::Scalar(s) => vec![*s],
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
