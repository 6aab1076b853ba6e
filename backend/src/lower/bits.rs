//! Masks that are kept as bits, a bit for each lane of a chunk, in one scalar.
//!
//! A guard of a memory access, a branch and a vote want bits; a selection wants vectors. Vectors are made from bits where they are wanted.
//! So a mask is kept as bits where its bits are there without its vectors ([`Source`]): bits of a scalar, and lanes on a line compared
//! with one number, which the first and the last lane mostly decide for all. Logic of such masks is one operation, whatever the chunk.

use warpjit_ir::function::{Terminator, ValueDef};
use warpjit_ir::types::Scalar;
use warpjit_ir::{Block, Function, Imm, InstData, IntCC, Opcode, Value};

use super::int::condition;
use super::{Kept, Lower, arg, malformed, result};
use crate::affine::{Form, Forms};
use crate::clif::{HostIntCC, V};
use crate::error::Error;
use crate::even_address::{EvenAddress, step_of};
use crate::operands::wide;

/// Groups of lanes from which on words on a line are compared by the first and the last: fewer are compared as quickly in vectors.
const LEAST_GROUPS: usize = 4;

/// The largest stride of 64-bit numbers of which the first and the last lane decide: from one to the other it wraps at most once.
const MOST_STEP: u64 = 1 << 32;

/// Where a mask comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Its bits are there.
    Bits,
    /// Logic of other masks.
    Logic,
    /// Other masks, by the edges to its block.
    Param,
    /// Vectors.
    Vectors,
}

/// Whether the first and the last lane of a chunk can decide a comparison for all: lanes on a line are compared with one number, by order.
pub(crate) fn is_of_line(f: &Function, forms: &Forms, groups: usize, data: &InstData) -> bool {
    line_of(f, forms, groups, data).is_some()
}

/// The place of the operand that is on a line, and how far lanes are from each other.
pub(crate) fn line_of(f: &Function, forms: &Forms, groups: usize, data: &InstData) -> Option<(usize, i64)> {
    let (Opcode::Icmp, Imm::Int(cc), &[a, b]) = (data.op, data.imm, &data.args[..]) else { return None };
    let is_varying = |v: Value| forms.of(v) != Form::Uniform;
    if matches!(cc, IntCC::Eq | IntCC::Ne) || !data.result.is_some_and(is_varying) {
        return None;
    }
    let (place, line) = match [a, b].map(is_varying) {
        [true, false] => (0, a),
        [false, true] => (1, b),
        _ => return None,
    };
    let step = match (f.ty(line).scalar, forms.of(line)) {
        (Scalar::I64, _) => step_of(f, forms, line).filter(|step| step.unsigned_abs() < MOST_STEP)?,
        (Scalar::I32, Form::Affine { stride, .. }) if groups >= LEAST_GROUPS => stride.into(),
        _ => return None,
    };
    (step != 0).then_some((place, step))
}

/// Finds the masks that are kept as bits.
struct Masks<'a> {
    f: &'a Function,
    forms: &'a Forms,
    sources: Vec<Source>,
    /// For each parameter: what edges give it.
    given: Vec<Vec<Value>>,
    /// Whether vectors of the mask are wanted.
    as_vectors: Vec<bool>,
}

/// For each value: whether it is a mask that is kept as bits. `of_line`: comparisons of which two lanes decide.
pub(crate) fn kept_as_bits(
    f: &Function,
    forms: &Forms,
    order: &[Block],
    of_line: impl Fn(&InstData) -> bool,
) -> Vec<bool> {
    let mut masks = Masks {
        f,
        forms,
        sources: vec![Source::Vectors; f.values.len()],
        given: vec![Vec::new(); f.values.len()],
        as_vectors: vec![false; f.values.len()],
    };
    if !masks.find_sources(order, of_line) {
        return vec![false; f.values.len()];
    }
    masks.find_vectors(order);
    masks.decide()
}

impl Masks<'_> {
    /// A mask that may differ from lane to lane.
    fn is_mask(&self, v: Value) -> bool {
        self.f.ty(v).scalar == Scalar::I1 && self.forms.of(v) != Form::Uniform
    }

    /// Says whether the bits of any mask are there.
    fn find_sources(&mut self, order: &[Block], of_line: impl Fn(&InstData) -> bool) -> bool {
        let f = self.f;
        let mut any = false;
        for &block in order {
            for &param in &f.block(block).params {
                if block != f.entry && self.is_mask(param) {
                    self.sources[param.index()] = Source::Param;
                }
            }
            for data in f.block(block).insts.iter().map(|&inst| f.inst(inst)) {
                let Some(r) = data.result.filter(|&r| self.is_mask(r)) else { continue };
                self.sources[r.index()] = match data.op {
                    Opcode::LaneBit => Source::Bits,
                    _ if of_line(data) => Source::Bits,
                    Opcode::Iand | Opcode::Ior | Opcode::Ixor | Opcode::Inot => Source::Logic,
                    _ => Source::Vectors,
                };
                any |= self.sources[r.index()] == Source::Bits;
            }
            for call in f.block(block).term.iter().flat_map(Terminator::calls) {
                for (&param, &arg) in f.block(call.block).params.iter().zip(&call.args) {
                    self.given[param.index()].push(arg);
                }
            }
        }
        any
    }

    /// Whether bits of a mask cost nothing: there are some, or one scalar tells all lanes.
    fn is_free(&self, v: Value) -> bool {
        self.forms.of(v) == Form::Uniform
            || self.sources[v.index()] == Source::Bits
            || self.f.def_inst(v).is_some_and(|data| data.op == Opcode::ActiveMask)
    }

    /// The masks that a mask is made of.
    fn parts(&self, v: Value) -> &[Value] {
        match (self.sources[v.index()], self.f.values[v.index()].def) {
            (Source::Logic, ValueDef::Inst(inst)) => &self.f.inst(inst).args,
            (Source::Param, _) => &self.given[v.index()],
            _ => &[],
        }
    }

    /// Finds the masks of which vectors are wanted, by themselves or by what is made of them.
    fn find_vectors(&mut self, order: &[Block]) {
        let f = self.f;
        let mut work: Vec<Value> = Vec::new();
        for &block in order {
            for data in f.block(block).insts.iter().map(|&inst| f.inst(inst)) {
                let wants = match data.op {
                    Opcode::Select | Opcode::SlotSet => true,
                    Opcode::Load | Opcode::Store | Opcode::Any | Opcode::Atomic => false,
                    Opcode::Ballot | Opcode::VoteAny | Opcode::VoteAll => false,
                    op if op.is_permit() || op.is_translation() => false,
                    _ => data.result.is_none_or(|r| self.sources[r.index()] != Source::Logic),
                };
                if wants {
                    work.extend(data.args.iter().filter(|&&arg| self.is_mask(arg)));
                }
            }
        }
        while let Some(v) = work.pop() {
            if !std::mem::replace(&mut self.as_vectors[v.index()], true) {
                work.extend(self.parts(v).iter().filter(|&&part| self.is_mask(part)));
            }
        }
    }

    /// Whether logic or a parameter may be kept as bits, if so are the others that `kept` says: it is made of nothing else, or in part where
    /// nobody wants vectors.
    fn may_be_bits(&self, v: Value, kept: &[bool]) -> bool {
        let parts = self.parts(v);
        let all = parts.iter().all(|&part| kept[part.index()] || self.is_free(part));
        let some = parts.iter().any(|&part| kept[part.index()]);
        !parts.is_empty() && (all || some && !self.as_vectors[v.index()])
    }

    /// The masks that are kept as bits.
    fn decide(&self) -> Vec<bool> {
        let made = |v: &usize| matches!(self.sources[*v], Source::Logic | Source::Param);
        let mut kept: Vec<bool> = self.sources.iter().map(|&source| source != Source::Vectors).collect();
        // By value: what is made of it.
        let mut users: Vec<Vec<Value>> = vec![Vec::new(); kept.len()];
        let mut work: Vec<Value> = (0..kept.len()).filter(made).map(Value::new).collect();
        for &v in &work {
            self.parts(v).iter().for_each(|part| users[part.index()].push(v));
        }
        while let Some(v) = work.pop() {
            if kept[v.index()] && !self.may_be_bits(v, &kept) {
                kept[v.index()] = false;
                work.extend(&users[v.index()]);
            }
        }
        kept
    }
}

impl Lower<'_, '_> {
    /// A bit for each lane where a mask holds. It may say anything of lanes that did not enter.
    pub(super) fn mask_bits(&mut self, v: Value) -> Result<V, Error> {
        if self.is_active_mask(v) {
            return Ok(self.bits);
        }
        let ty = self.bits_type();
        let parts = match self.kept(v)? {
            Kept::Bits(bits) => return Ok(bits),
            Kept::Const(truth) => {
                return Ok(self.e.imm(ty, if truth & 1 != 0 { self.full_bits() } else { 0 }));
            }
            Kept::Scalar(truth) => {
                let [full, none] = [self.full_bits(), 0].map(|bits| self.e.imm(ty, bits));
                return Ok(self.e.select(truth, full, none));
            }
            Kept::Parts(parts) => parts,
        };
        if let Some(&bits) = self.known.raw_bits.get(&v) {
            return Ok(bits);
        }
        let bits = self.bits_of(&parts);
        if !self.aside {
            self.known.raw_bits.insert(v, bits);
        }
        Ok(bits)
    }

    /// A mask that is kept as bits.
    pub(super) fn bit_mask(&mut self, data: &InstData) -> Result<(), Error> {
        let r = result(data)?;
        let bits = match data.op {
            Opcode::LaneBit => {
                let all = self.scalar(arg(data, 0)?)?;
                let own = self.e.ushr(all, self.lane);
                let own = self.bits_of_long(own);
                if self.lanes() < 32 { self.e.band_imm(own, self.full_bits()) } else { own }
            }
            Opcode::Icmp => self.compare_line(data)?,
            Opcode::Inot => {
                let bits = self.mask_bits(arg(data, 0)?)?;
                self.e.bxor_imm(bits, self.full_bits())
            }
            _ => {
                let (a, b) = (self.mask_bits(arg(data, 0)?)?, self.mask_bits(arg(data, 1)?)?);
                match data.op {
                    Opcode::Iand => self.e.band(a, b),
                    Opcode::Ior => self.e.bor(a, b),
                    Opcode::Ixor => self.e.bxor(a, b),
                    _ => return Err(malformed(data)),
                }
            }
        };
        self.define(r, Kept::Bits(bits));
        Ok(())
    }

    /// Lanes on a line against one number. If neither the line nor its numbers wrap, all lanes between the first and the last are like both
    /// where these are alike. Else each lane is compared.
    fn compare_line(&mut self, data: &InstData) -> Result<V, Error> {
        let Imm::Int(cc) = data.imm else { return Err(malformed(data)) };
        let Some((place, step)) = line_of(self.f, &self.forms, self.groups, data) else {
            return Err(malformed(data));
        };
        let (line, other) = (arg(data, place)?, arg(data, 1 - place)?);
        let signed = matches!(cc, IntCC::Slt | IntCC::Sle | IntCC::Sgt | IntCC::Sge);
        let reach = step * (self.lanes() as i64 - 1);
        let is_wide = wide(self.scalar_of(line));
        let other_scalar = self.scalar(other)?;
        let (first, last, number, odd) = if is_wide {
            let span = self.span(line)?;
            let last = self.e.iadd_imm(span.first, reach as u64);
            let turned = match (signed, step > 0) {
                (false, true) => HostIntCC::UnsignedLessThan,
                (false, false) => HostIntCC::UnsignedGreaterThan,
                (true, true) => HostIntCC::SignedLessThan,
                (true, false) => HostIntCC::SignedGreaterThan,
            };
            let turned = self.e.icmp(turned, last, span.first);
            let odd = span.wraps.map_or(turned, |wraps| self.e.bor(wraps, turned));
            (span.first, last, other_scalar, odd)
        } else {
            let op = if signed { Opcode::Sext } else { Opcode::Zext };
            let first = self.scalar(line)?;
            let [first, number] = [first, other_scalar].map(|word| self.extend(op, word));
            let odd = self.wraps(op, first, reach);
            (first, self.e.iadd_imm(first, reach as u64), number, odd)
        };
        let [of_first, of_last] = [first, last].map(|x| {
            let (a, b) = if place == 0 { (x, number) } else { (number, x) };
            self.e.icmp(condition(cc), a, b)
        });
        let differ = self.e.bxor(of_first, of_last);
        let odd = self.e.bor(odd, differ);
        let ty = self.bits_type();
        let [full, none] = [self.full_bits(), 0].map(|bits| self.e.imm(ty, bits));
        let all = self.e.select(of_first, full, none);
        let (cold, end) = (self.e.cold_block(), self.e.block());
        let bits = self.e.param(end, ty);
        self.e.brif(odd, (cold, &[]), (end, &[all]));
        self.e.switch_to(cold);
        let aside = std::mem::replace(&mut self.aside, true);
        let lines = self.address_parts_of(line)?;
        let numbers = self.parts(other)?;
        let masks: Vec<V> = lines
            .iter()
            .zip(numbers.iter())
            .map(|(&x, &number)| {
                let (a, b) = if place == 0 { (x, number) } else { (number, x) };
                self.e.icmp(condition(cc), a, b)
            })
            .collect();
        let masks = if is_wide { self.narrow_mask(&masks) } else { masks.into() };
        let each = self.bits_of(&masks);
        self.aside = aside;
        self.e.jump(end, &[each]);
        self.e.switch_to(end);
        Ok(bits)
    }
}
