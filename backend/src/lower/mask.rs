//! Masks: selection, tests, conversion between vectors and bits.

use warpjit_ir::types::Scalar;
use warpjit_ir::{InstData, Opcode, Value};

use super::{Kept, Lower, Parts, arg, result, wide};
use crate::affine::Form;
use crate::clif::{HostIntCC, I8, I32, I32X4, I64, V, int_of};
use crate::code::FloatEnv;
use crate::error::Error;

impl Lower<'_, '_> {
    pub(super) fn mask(&mut self, data: &InstData) -> Result<(), Error> {
        let r = result(data)?;
        if self.options.single && matches!(data.op, Opcode::ActiveMask | Opcode::LaneBit) {
            let own = match data.op {
                Opcode::ActiveMask => self.e.imm(I8, 1),
                _ => {
                    let all = self.scalar(arg(data, 0)?)?;
                    let own = self.e.ushr(all, self.lane);
                    let own = self.e.ireduce(I8, own);
                    self.e.band_imm(own, 1)
                }
            };
            self.define_scalar(r, own);
            return Ok(());
        }
        if data.op == Opcode::ActiveMask {
            let parts = self.active.clone();
            self.define(r, Kept::Parts(parts));
            return Ok(());
        }
        if data.op == Opcode::LaneBit {
            let all = self.scalar(arg(data, 0)?)?;
            let own = self.e.ushr(all, self.lane);
            let own = self.bits_of_long(own);
            let parts = self.lanes_of_bits(own);
            self.define(r, Kept::Parts(parts));
            return Ok(());
        }
        // `any`: of the operand, within the second operand's lanes where there is one.
        let mask = arg(data, 0)?;
        let guard = data.args.get(1).copied();
        let s = match (self.is_uniform(mask), guard) {
            _ if matches!(self.kept(mask)?, Kept::Bits(_)) => {
                let mut bits = self.mask_bits(mask)?;
                if let Some(guard) = guard {
                    let guard = self.mask_bits(guard)?;
                    bits = self.e.band(bits, guard);
                }
                self.e.icmp_imm(HostIntCC::NotEqual, bits, 0)
            }
            (true, None) => self.scalar(mask)?,
            (true, Some(guard)) if self.options.single => {
                let (own, guard) = (self.scalar(mask)?, self.scalar(guard)?);
                self.e.band(own, guard)
            }
            _ => {
                let mut parts = self.parts(mask)?;
                if let Some(guard) = guard {
                    let guard = self.parts(guard)?;
                    parts = parts.iter().zip(guard.iter()).map(|(&a, &b)| self.e.band(a, b)).collect();
                }
                self.any(&parts)
            }
        };
        self.define_scalar(r, s);
        Ok(())
    }

    /// Whether any lane holds, i8.
    pub(super) fn any(&mut self, parts: &[V]) -> V {
        let all = parts.iter().copied().reduce(|a, b| self.e.bor(a, b)).expect("at least one group");
        self.e.vany_true(all)
    }

    pub(super) fn select(&mut self, data: &InstData) -> Result<Parts, Error> {
        let (c, a, b) = (arg(data, 0)?, arg(data, 1)?, arg(data, 2)?);
        let scalar = self.scalar_of(a);
        if self.is_uniform(c) {
            let c = self.scalar(c)?;
            return self.part_by_part(&[a, b], |l, x| Ok(l.e.select(c, x[0], x[1])));
        }
        if let Some(parts) = self.select_extreme(data)? {
            return Ok(parts);
        }
        let mut masks = self.parts(c)?;
        if wide(scalar) {
            masks = self.widen_mask(&masks);
        }
        let (a, b) = (self.parts(a)?, self.parts(b)?);
        Ok((0..masks.len())
            .map(|g| {
                if scalar == Scalar::I1 {
                    // Of masks the logic is as short and needs no mask in a fixed register.
                    let yes = self.e.band(masks[g], a[g]);
                    let no = self.e.band_not(b[g], masks[g]);
                    self.e.bor(yes, no)
                } else {
                    self.e.sel(masks[g], a[g], b[g])
                }
            })
            .collect())
    }

    /// A selection between scalars.
    pub(super) fn select_scalar(&mut self, data: &InstData, [c, a, b]: [V; 3]) -> V {
        let ty = self.e.ty(a);
        let test = data.args.first().and_then(|&c| self.f.def_inst(c));
        let by_floats = test.is_some_and(|test| test.op == Opcode::Fcmp);
        if self.env == FloatEnv::Default && !self.turns || int_of(ty) == ty || !by_floats {
            return self.e.select(c, a, b);
        }
        // By a comparison of both it would become the host's minimum or maximum, which flushes denormals.
        let (x, y) = (self.e.cast(a, int_of(ty)), self.e.cast(b, int_of(ty)));
        let r = self.e.select(c, x, y);
        self.e.cast(r, ty)
    }

    /// Masks of words as masks of double words.
    pub(super) fn widen_mask(&mut self, masks: &[V]) -> Parts {
        masks.iter().flat_map(|&m| [self.e.swiden_low(m), self.e.swiden_high(m)]).collect()
    }

    /// Masks of double words as masks of words.
    pub(super) fn narrow_mask(&mut self, masks: &[V]) -> Parts {
        masks.chunks(2).map(|m| self.e.shuffle_words(I32X4, m[0], m[1], [0, 2, 4, 6])).collect()
    }

    /// A bit for each lane of the chunk, as [`Lower::bits_type`] says.
    pub(super) fn bits_of(&mut self, masks: &[V]) -> V {
        let words: Vec<V> = masks.chunks(8).map(|masks| self.bits_of_word(masks)).collect();
        match words[..] {
            [low, high] => {
                let [low, high] = [low, high].map(|word| self.e.uextend(I64, word));
                let high = self.e.shl(high, 32);
                self.e.bor(low, high)
            }
            _ => words[0],
        }
    }

    /// Of up to 32 lanes.
    fn bits_of_word(&mut self, masks: &[V]) -> V {
        let mut all = None;
        for (g, &m) in masks.iter().enumerate() {
            let bits = self.e.vhigh_bits(I32, m);
            let bits = if g == 0 { bits } else { self.e.shl(bits, 4 * g as u32) };
            all = Some(all.map_or(bits, |a| self.e.bor(a, bits)));
        }
        all.expect("at least one group")
    }

    /// The lanes of the chunk whose bits (the first lane's lowest, as [`Lower::bits_type`] says) are set.
    pub(super) fn lanes_of_bits(&mut self, bits: V) -> Parts {
        let words = match self.bits_type() {
            I64 => {
                let high = self.e.shr(bits, 32);
                vec![self.e.ireduce(I32, bits), self.e.ireduce(I32, high)]
            }
            _ => vec![bits],
        };
        let splats: Vec<V> = words.iter().map(|&word| self.e.splat(I32X4, word)).collect();
        (0..self.groups)
            .map(|g| {
                let lane_bits =
                    self.e.lanes(I32X4, &std::array::from_fn::<u64, 4, _>(|l| 1 << (4 * (g % 8) + l)));
                let own = self.e.band(splats[g / 8], lane_bits);
                self.e.icmp(HostIntCC::Equal, own, lane_bits)
            })
            .collect()
    }

    /// A bit for each lane of the chunk where the mask value holds; without one, where the chunk's entry mask does.
    pub(super) fn guard_bits(&mut self, guard: Option<Value>) -> Result<V, Error> {
        let of_some = |&g: &Value| !self.is_active_mask(g) && self.f.as_const(g) != Some(1);
        let Some(guard) = guard.filter(of_some) else { return Ok(self.bits) };
        if let Some(&bits) = self.known.mask_bits.get(&guard) {
            return Ok(bits);
        }
        let bits = match self.forms.of(guard) {
            _ if self.options.single => {
                let s = self.scalar(guard)?;
                self.truth_word(s)
            }
            Form::Uniform => {
                let s = self.scalar(guard)?;
                let none = self.e.imm(self.bits_type(), 0);
                self.e.select(s, self.bits, none)
            }
            _ => {
                let bits = self.mask_bits(guard)?;
                // A guard may say nothing of lanes that did not enter.
                if self.all_enter { bits } else { self.e.band(bits, self.bits) }
            }
        };
        if !self.aside {
            self.known.mask_bits.insert(guard, bits);
        }
        Ok(bits)
    }

    /// The guard as vectors.
    pub(super) fn guard_parts(&mut self, guard: Option<Value>) -> Result<Parts, Error> {
        match guard {
            Some(g) => self.parts(g),
            None => Ok(self.active.clone()),
        }
    }
}
