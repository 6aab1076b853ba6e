//! Masks that are kept as bits of one general register ([`crate::lower::bits`]): lanes of 64 bits on a line compared with one number, which
//! the first and the last lane mostly decide for all, and logic of such masks.
//!
//! Masks of sixteen lanes are made of the bits where one is wanted. An access under such bits asks whether all lanes take part, and mostly
//! needs no masks.

use std::rc::Rc;

use iced_x86::Code;
use regalloc2::RegClass;
use warpjit_ir::{Block, Imm, InstData, IntCC, Opcode, Value};

use super::asm::{Mem, R, Src};
use super::code::Flags;
use super::int::{CMP, CMPU, condition};
use super::lower::{Kept, Lower};
use super::memory::Access;
use super::scalar::{AND, OR, XOR, by_condition};
use crate::error::Error;
use crate::even_address::{EvenAddress, address_only};
use crate::lower::bits::{kept_as_bits, line_of};
use crate::operands::{arg, malformed, result};

impl Lower<'_> {
    /// Finds the masks that are kept as bits, and the lines that nothing but their comparisons and addresses use.
    pub fn find_bit_masks(&mut self, order: &[Block]) {
        let insts = order.iter().flat_map(|&b| &self.f.block(b).insts).map(|&inst| self.f.inst(inst));
        let of_line = |data: &InstData| self.line_of_chunk(data).is_some();
        if !insts.clone().any(of_line) {
            return;
        }
        self.bit_masks = kept_as_bits(self.f, &self.forms, order, of_line);
        let by_line = |data: &InstData| {
            data.op == Opcode::Icmp && data.result.is_some_and(|r| self.bit_masks[r.index()])
        };
        self.address_only = address_only(self.f, &self.forms, true, &self.translated, by_line);
    }

    /// The place of the operand of a comparison that is on a line over all of the chunk, of 64 bits, if the other one is one number; and how
    /// far lanes are from each other. Sixteen lanes are compared as quickly in vectors.
    fn line_of_chunk(&self, data: &InstData) -> Option<(usize, i64)> {
        let (place, step) = line_of(self.f, &self.forms, 0, data).filter(|_| self.groups > 1)?;
        let (line, other) = (data.args[place], data.args[1 - place]);
        (self.is_one(other) && self.bytes_apart(line) == Some(16 * step)).then_some((place, step))
    }

    /// A bit for each lane where a mask holds; none behind the last lane. It may say anything of lanes that did not enter.
    pub fn mask_bits(&mut self, v: Value) -> Result<R, Error> {
        if self.is_active_mask(v) {
            return Ok(self.bits);
        }
        match self.kept(v)? {
            Kept::Bits(bits) => Ok(bits),
            Kept::Const(truth) => Ok(self.a.imm(true, if truth & 1 != 0 { self.full_bits() } else { 0 })),
            Kept::General(_) if self.is_one(v) => {
                let truth = self.general(v)?;
                Ok(self.bits_of_truth(truth))
            }
            _ => {
                let masks = self.masks(v)?;
                Ok(self.bits_of_masks(&masks))
            }
        }
    }

    /// The bits of a chunk all of whose lanes hold.
    fn full_bits(&self) -> u64 {
        u64::MAX >> (64 - self.lanes())
    }

    /// All bits or none.
    fn bits_of_truth(&mut self, truth: R) -> R {
        let all = self.a.g1r(true, (Code::Neg_rm32, Code::Neg_rm64), truth);
        if self.lanes() == 64 { all } else { self.a.low32(all) }
    }

    /// The bits of a mask that is kept so, if they are those of lanes that entered.
    pub fn bits_of_guard(&self, guard: Option<Value>) -> Option<R> {
        match &self.values[guard.filter(|_| self.all_enter())?.index()] {
            Some(Kept::Bits(bits)) => Some(*bits),
            _ => None,
        }
    }

    /// Makes the masks of a guard here, so that they are good behind, unless they are made of bits where they are wanted.
    pub fn make_guard(&mut self, guard: Option<Value>) -> Result<(), Error> {
        if self.bits_of_guard(guard).is_none() {
            self.guard(guard)?;
        }
        Ok(())
    }

    /// Compares bits with those of all lanes.
    pub fn compare_full(&mut self, bits: R) {
        self.a.cmp_imm(self.lanes() == 64, bits, -1);
    }

    /// A mask that is kept as bits.
    pub fn bit_mask(&mut self, data: &InstData) -> Result<(), Error> {
        let r = result(data)?;
        let bits = match data.op {
            Opcode::Icmp => self.compare_line(data)?,
            Opcode::Inot => {
                let bits = self.mask_bits(arg(data, 0)?)?;
                let not = self.a.g1r(true, (Code::Not_rm32, Code::Not_rm64), bits);
                if self.lanes() == 64 { not } else { self.a.low32(not) }
            }
            _ => {
                let (a, b) = (self.mask_bits(arg(data, 0)?)?, self.mask_bits(arg(data, 1)?)?);
                let code = match data.op {
                    Opcode::Iand => AND,
                    Opcode::Ior => OR,
                    Opcode::Ixor => XOR,
                    _ => return Err(malformed(data)),
                };
                self.a.g2(true, code, a, b)
            }
        };
        self.define(r, Kept::Bits(bits));
        Ok(())
    }

    /// Lanes on a line against one number. If neither the line nor its numbers wrap, all lanes between the first and the last are like both
    /// where these are alike. Else each lane is compared.
    fn compare_line(&mut self, data: &InstData) -> Result<R, Error> {
        let Imm::Int(cc) = data.imm else { return Err(malformed(data)) };
        let (place, step) = self.line_of_chunk(data).ok_or_else(|| malformed(data))?;
        let (line, other) = (arg(data, place)?, arg(data, 1 - place)?);
        let signed = matches!(cc, IntCC::Slt | IntCC::Sle | IntCC::Sgt | IntCC::Sge);
        let number = self.general(other)?;
        self.span_groups = self.groups - 1;
        let span = self.span(line)?;
        let first = span.first;
        let last = self.a.add_imm(true, first, step * (self.lanes() as i64 - 1));
        let turned = match (signed, step > 0) {
            (false, true) => IntCC::Ult,
            (false, false) => IntCC::Ugt,
            (true, true) => IntCC::Slt,
            (true, false) => IntCC::Sgt,
        };
        let is = |l: &mut Self, cc: IntCC, (a, b): (R, R)| {
            l.a.cmp(true, a, b);
            l.a.set_if(by_condition(cc).0)
        };
        let mut odd = is(self, turned, (last, first));
        if let Some(wraps) = span.wraps {
            odd = self.a.g2(true, OR, odd, wraps);
        }
        let [of_first, of_last] =
            [first, last].map(|x| is(self, cc, if place == 0 { (x, number) } else { (number, x) }));
        let differ = self.a.g2(false, XOR, of_first, of_last);
        let odd = self.a.g2(true, OR, odd, differ);
        let all = self.bits_of_truth(of_first);
        let (cold, end) = (self.a.cold_block(), self.a.block());
        self.a.test(true, odd, odd);
        self.a.branch(Flags::NotEqual, (cold, &[]), (end, &[all]));
        self.a.switch_to(cold);
        let each = self.aside(|l| {
            let numbers = l.a.splat(true, number);
            let (signed, code) = condition(if place == 0 { cc } else { cc.swapped() });
            let lanes = l.address_parts_of(line)?;
            let halves: Vec<R> = lanes
                .iter()
                .map(|&x| l.a.vcmp(if signed { CMP[1] } else { CMPU[1] }, x, Src::R(numbers), code))
                .collect();
            let masks = l.narrow(&halves);
            Ok::<_, Error>(l.bits_of_masks(&masks))
        })?;
        self.a.jump(end, &[each]);
        let bits = self.a.param(end, RegClass::Int);
        self.a.switch_to(end);
        Ok(bits)
    }

    /// As [`Lower::vectors`] in global memory, under the bits of a mask.
    pub fn vectors_by_bits(&mut self, x: &Access<'_>, places: &[Mem], bits: R) -> Result<Vec<R>, Error> {
        let guarded = self.note_guard(x.guard)?;
        self.make_values(x)?;
        let (full, part, end) = (self.a.block(), self.a.cold_block(), self.a.block());
        self.compare_full(bits);
        self.a.branch(Flags::Equal, (full, &[]), (part, &[]));
        self.a.switch_to(full);
        let loaded = self.vectors_at(x, places, None, true, guarded)?;
        self.a.jump(end, &loaded);
        self.a.switch_to(part);
        let loaded = self.aside(|l| {
            let masks: Rc<[R]> = l.guard(x.guard)?;
            let masks = if x.mem.bytes == 8 { l.widen(&masks) } else { masks.to_vec() };
            l.vectors_at(x, places, Some(&masks), true, guarded)
        })?;
        self.a.jump(end, &loaded);
        let params = loaded.iter().map(|_| self.a.param(end, RegClass::Float)).collect();
        self.a.switch_to(end);
        Ok(params)
    }
}
