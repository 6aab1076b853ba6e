//! Lanes on a line that are not accessed at once, though mostly they are: the cold way of such an access.
//!
//! In wide chunks it is a loop over the lanes that take part, each of which computes its address from the first lane's. Written out for 64
//! lanes it would be most of a function's code.

use warpjit_ir::{InstData, MemAccess, Opcode, Value};

use super::memory::Access;
use super::{Lower, Parts};
use crate::affine::Form;
use crate::clif::{HostIntCC, I32, I32X4, I64, I64X2, V};
use crate::context::{FAULT_AT_PLACE, at};
use crate::error::Error;
use crate::even_address::{Clip, EvenAddress, is_line, without_ignored};
use crate::translate::describe;
use crate::trap::TrapLane;

/// Groups of lanes from which on there is a loop.
const LEAST_GROUPS: usize = 4;

impl<'a> Lower<'a, '_> {
    /// Vectors of an address plus an access's offset.
    pub(super) fn lane_parts(&mut self, address: Value, offset: u64) -> Result<Parts, Error> {
        let parts = self.address_parts_of(address)?;
        Ok(parts.iter().map(|&part| self.e.iadd_imm(part, offset)).collect())
    }

    /// Each lane's access by itself, with the translation of its address if it has one.
    pub(super) fn lanes_of_line(
        &mut self,
        x: &Access<'_>,
        (address, offset): (Value, u64),
        translation: Option<&InstData>,
    ) -> Result<Option<Parts>, Error> {
        if self.groups >= LEAST_GROUPS
            && !self.options.checked_memory
            && is_line(self.f, &self.forms, address)
        {
            return self.lanes_in_turn(x, (address, offset), translation);
        }
        let parts = self.lane_parts(address, offset)?;
        let places = match translation {
            Some(translation) => self.translated_lanes(translation, &parts)?,
            None => parts,
        };
        self.wide_lanes(x, &places)
    }

    /// The loop over the lanes that take part. What they store and load is in the context meanwhile.
    fn lanes_in_turn(
        &mut self,
        x: &Access<'_>,
        (address, offset): (Value, u64),
        translation: Option<&InstData>,
    ) -> Result<Option<Parts>, Error> {
        let mem = x.mem;
        let bits = self.guard_bits(x.guard)?;
        let left = self.bits_as_long(bits);
        let (ty, vector, shift) = if mem.bytes == 8 { (I64, I64X2, 3) } else { (I32, I32X4, 2) };
        let count = if mem.bytes == 8 { 2 * self.groups } else { self.groups };
        let before = match x.value {
            Some(v) => self.parts(v)?,
            // Lanes that take no part load zero, as elsewhere: code knows the bounds of what a narrow load gives, in all lanes.
            None => vec![self.e.imm(vector, 0); count].into(),
        };
        for (n, &part) in before.iter().enumerate() {
            self.e.store(part, self.context, at::LANE_VALUES + 16 * n as i32);
        }
        // Made here, so that it is good behind.
        let base = self.base(mem.space);
        let (head, body, end) = (self.e.block(), self.e.block(), self.e.block());
        let param = self.e.param(head, I64);
        self.e.jump(head, &[left]);
        self.e.switch_to(head);
        let left = param;
        self.e.brif(left, (body, &[]), (end, &[]));
        self.e.switch_to(body);
        self.e.store(left, self.context, at::SINGLE_LANES);
        let lane = self.e.ctz(left);
        let own = self.e.shl(lane, shift);
        let own = self.e.iadd(self.context, own);
        let mut place = self.address_in_lane(address, lane)?;
        place = self.e.iadd_imm(place, offset);
        if let Some(translation) = translation {
            place = self.translated_in_turn(translation, mem, (left, lane), place);
        }
        if let Some(bad) = self.bad_bits(place, mem) {
            let bad = self.e.icmp_imm(HostIntCC::NotEqual, bad, 0);
            let taking_part = self.bits_of_long(left);
            self.fault_if(x.data, mem, (bad, taking_part), |l, _| {
                l.note_fault(FAULT_AT_PLACE);
                place
            });
        }
        let there = if self.is_of_host(mem.space) { place } else { self.e.iadd(base, place) };
        if x.value.is_some() {
            let v = self.e.load(ty, own, at::LANE_VALUES);
            self.site(x.data, TrapLane::Single);
            self.store_scalar(mem.bytes, v, there, 0);
            self.at_site(None);
        } else {
            self.site(x.data, TrapLane::Single);
            let v = self.load_scalar(mem, there, 0);
            self.at_site(None);
            // A block of its own keeps the load from becoming an operand of what uses it, which is no site of a trap.
            let next = self.e.block();
            self.e.jump(next, &[]);
            self.e.switch_to(next);
            self.e.store(v, own, at::LANE_VALUES);
        }
        let less = self.e.iadd_imm(left, u64::MAX);
        let rest = self.e.band(left, less);
        self.e.jump(head, &[rest]);
        self.e.switch_to(end);
        if x.value.is_some() {
            return Ok(None);
        }
        let load = |n: usize| self.e.load(vector, self.context, at::LANE_VALUES + 16 * n as i32);
        Ok(Some((0..count).map(load).collect()))
    }

    /// Where the memory of the lowest of some lanes is, whose address is `one`: the runtime is asked for it where it is in no window.
    fn translated_in_turn(
        &mut self,
        translation: &InstData,
        mem: MemAccess,
        (left, lane): (V, V),
        one: V,
    ) -> V {
        let (beyond, inside) = self.window_place(one, mem.bytes.into());
        let (ask, found) = (self.e.cold_block(), self.e.block());
        let place = self.e.param(found, I64);
        self.e.brif(beyond, (ask, &[]), (found, &[inside]));
        self.e.switch_to(ask);
        let own = self.e.shl(lane, 3);
        let own = self.e.iadd(self.context, own);
        self.e.store(one, own, at::LANE_ADDRESSES);
        let lowest = self.e.ineg(left);
        let lowest = self.e.band(left, lowest);
        self.e.store(lowest, self.context, at::GUARD_LANES);
        let (access, alignment) = describe(mem, translation.op == Opcode::TranslateStore, self.f.lanes);
        for (word, place) in [(access, at::ACCESS), (alignment, at::ATOMIC)] {
            let word = self.e.imm(I32, word.into());
            self.e.store(word, self.context, place);
        }
        self.call_translate();
        self.fault_if_odd(translation, mem);
        let answer = self.e.load(I64, own, at::LANE_ADDRESSES);
        self.e.jump(found, &[answer]);
        self.e.switch_to(found);
        place
    }

    /// What a lane has of an address on a line.
    fn address_in_lane(&mut self, v: Value, lane: V) -> Result<V, Error> {
        if self.is_uniform(v) {
            return self.scalar(v);
        }
        let no_line = || Error::Malformed("a lane of no line".into());
        let f = self.f;
        let data = f.def_inst(v).ok_or_else(no_line)?;
        let count = |n: usize| f.as_const(data.args[n]).ok_or_else(no_line);
        Ok(match data.op {
            Opcode::Zext | Opcode::Sext => {
                let clip = Clip::of(f, &self.forms, data.args[0]);
                let word = clip.as_ref().map_or(data.args[0], |clip| clip.line);
                let mut one = self.scalar(word)?;
                if let Form::Affine { stride, .. } = self.forms.of(word) {
                    let lane = self.e.ireduce(I32, lane);
                    let stride = self.e.imm(I32, u64::from(stride as u32));
                    let more = self.e.imul(lane, stride);
                    one = self.e.iadd(one, more);
                }
                if let Some(clip) = clip {
                    let bound = self.scalar(clip.bound)?;
                    let less = match clip.op {
                        Opcode::Smin | Opcode::Smax => HostIntCC::SignedLessThan,
                        _ => HostIntCC::UnsignedLessThan,
                    };
                    let is_line = match clip.is_least() {
                        true => self.e.icmp(less, one, bound),
                        false => self.e.icmp(less, bound, one),
                    };
                    one = self.e.select(is_line, one, bound);
                }
                self.extend(data.op, one)
            }
            Opcode::Iadd | Opcode::Isub | Opcode::Ior | Opcode::Imul => {
                let (a, b) =
                    (self.address_in_lane(data.args[0], lane)?, self.address_in_lane(data.args[1], lane)?);
                match data.op {
                    Opcode::Iadd => self.e.iadd(a, b),
                    Opcode::Isub => self.e.isub(a, b),
                    Opcode::Ior => self.e.bor(a, b),
                    _ => self.e.imul(a, b),
                }
            }
            Opcode::Ishl => {
                let (a, count) = (self.address_in_lane(data.args[0], lane)?, count(1)?);
                self.e.shl(a, count as u32 & 63)
            }
            Opcode::Sshr => {
                let (whole, count) = without_ignored(f, data).ok_or_else(no_line)?;
                let a = self.address_in_lane(whole, lane)?;
                self.drop_ignored(a, count)
            }
            _ => return Err(no_line()),
        })
    }
}
