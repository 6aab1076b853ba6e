//! Operations across lanes, where a chunk is the whole warp, and operations on quads.

use warpjit_ir::{Imm, InstData, Opcode};

use super::{Kept, LANES_BYTES, Lower, Parts, arg, operands, result};
use crate::affine::Form;
use crate::clif::{HostIntCC, I32, I32X4, I64, V, element, vector};
use crate::error::Error;

impl Lower<'_, '_> {
    pub(super) fn across(&mut self, data: &InstData) -> Result<(), Error> {
        if data.op == Opcode::Shuffle {
            return self.shuffle(data);
        }
        let r = result(data)?;
        let mask = arg(data, 0)?;
        // The active lanes where the mask holds.
        let bits = self.guard_bits(Some(mask))?;
        let s = match data.op {
            Opcode::Ballot => self.bits_as_long(bits),
            Opcode::VoteAny => self.e.icmp_imm(HostIntCC::NotEqual, bits, 0),
            _ => self.e.icmp(HostIntCC::Equal, bits, self.bits),
        };
        self.define_scalar(r, s);
        Ok(())
    }

    /// In each lane, the value of one lane of its quad.
    pub(super) fn quad_lane(&mut self, data: &InstData) -> Result<(), Error> {
        let (r, value) = (result(data)?, arg(data, 0)?);
        let Imm::Bits(lane @ 0..4) = data.imm else { return Err(operands::malformed(data)) };
        if self.is_uniform(value) {
            let kept = self.kept(value)?;
            self.define(r, kept);
            return Ok(());
        }
        let lane = lane as usize;
        let scalar = self.scalar_of(value);
        let parts = self.parts(value)?;
        // A part of 32-bit values is a quad, two of 64-bit values are.
        let wide = operands::wide(scalar);
        let parts: Parts = (0..parts.len())
            .map(|n| {
                let (part, at) = if wide { (n / 2 * 2 + lane / 2, lane % 2) } else { (n, lane) };
                let element = self.e.extract(parts[part], at);
                self.e.splat(vector(scalar), element)
            })
            .collect();
        self.define(r, Kept::Parts(parts));
        Ok(())
    }

    /// Each lane's element of an index, or one element for all.
    fn shuffle(&mut self, data: &InstData) -> Result<(), Error> {
        let (r, value, index) = operands::shuffle(self.f, data)?;
        if self.is_uniform(value) {
            let kept = self.kept(value)?;
            self.define(r, kept);
            return Ok(());
        }
        let ty = element(self.scalar_of(value));
        let parts = self.parts(value)?;
        if self.is_uniform(index) {
            let s = match self.f.as_const(index) {
                Some(lane) => {
                    let lane = lane as usize % self.lanes();
                    self.e.extract(parts[lane / 4], lane % 4)
                }
                None => {
                    let lane = self.scalar(index)?;
                    let lane = self.e.band_imm(lane, self.lanes() as u64 - 1);
                    let wide = self.dynamic_lane(&parts, lane);
                    let word = self.e.ireduce(I32, wide);
                    self.e.cast(word, ty)
                }
            };
            let s = self.e.cast(s, ty);
            // A result that is varying by type is one scalar as well.
            if self.forms.of(r) == Form::Varying {
                let splat = self.e.splat(vector(self.scalar_of(value)), s);
                self.define(r, Kept::Parts(vec![splat; self.groups].into()));
            } else {
                self.define_scalar(r, s);
            }
            return Ok(());
        }
        let small = self.lanes() == 16 && self.known().get(value).possible() <= 0xff;
        let index = self.parts(index)?;
        let parts = if small {
            let index: Vec<V> = index.iter().map(|&lanes| self.e.band_imm(lanes, 15)).collect();
            let (bytes, index) = (self.bytes_of(&parts), self.bytes_of(&index));
            let moved = self.e.swizzle(bytes, index);
            self.words_of_bytes(moved, false)
        } else {
            self.shuffle_words_of(&parts, &index)
        };
        let ty = vector(self.scalar_of(value));
        let parts: Parts = parts.iter().map(|&p| self.e.cast(p, ty)).collect();
        self.define(r, Kept::Parts(parts));
        Ok(())
    }

    /// Sixteen words below 256 as bytes.
    pub(super) fn bytes_of(&mut self, words: &[V]) -> V {
        let low = self.e.snarrow(words[0], words[1]);
        let high = self.e.snarrow(words[2], words[3]);
        self.e.unarrow(low, high)
    }

    /// Sixteen bytes as words.
    pub(super) fn words_of_bytes(&mut self, bytes: V, signed: bool) -> Vec<V> {
        let e = &mut self.e;
        if signed {
            let halves = [e.swiden_low(bytes), e.swiden_high(bytes)];
            halves.into_iter().flat_map(|half| [e.swiden_low(half), e.swiden_high(half)]).collect()
        } else {
            let halves = [e.uwiden_low(bytes), e.uwiden_high(bytes)];
            halves.into_iter().flat_map(|half| [e.uwiden_low(half), e.uwiden_high(half)]).collect()
        }
    }

    /// Through memory, a lane at a time.
    fn shuffle_words_of(&mut self, parts: &[V], index: &[V]) -> Vec<V> {
        let slot = match self.lane_buffer {
            Some(slot) => slot,
            None => self.stack_slot(LANES_BYTES),
        };
        self.lane_buffer = Some(slot);
        let buffer = self.e.stack_addr(slot);
        for (g, &p) in parts.iter().enumerate() {
            self.e.store(p, buffer, 16 * g as i32);
        }
        let mut out = Vec::new();
        for &lanes in index {
            let lanes = self.e.band_imm(lanes, self.lanes() as u64 - 1);
            let offsets = self.e.shl(lanes, 2);
            let mut all = None;
            for lane in 0..4 {
                let offset = self.e.extract(offsets, lane);
                let offset = self.e.uextend(I64, offset);
                let place = self.e.iadd(buffer, offset);
                let word = self.e.load(I32, place, 0);
                all = Some(match all {
                    None => self.e.scalar_to_vector(I32X4, word),
                    Some(v) => self.e.insert(v, word, lane),
                });
            }
            out.extend(all);
        }
        out
    }
}
