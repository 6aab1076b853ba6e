//! Where values are: constants, general registers, vectors, masks, and from one to the other.

use std::rc::Rc;

use iced_x86::Code;
use warpjit_ir::Value;
use warpjit_ir::types::Scalar;

use super::asm::{R, Src};
use super::lower::{Kept, Lower, spread};
use crate::affine::Form;
use crate::error::Error;
use crate::operands::wide;

impl Lower<'_> {
    /// A uniform value, or the first lane's of an affine one, in a general register; a float's bits: that of `group`.
    pub fn general(&mut self, v: Value) -> Result<R, Error> {
        let scalar = self.scalar_of(v);
        let pick = |all: &[R], n: usize| all[n.min(all.len() - 1)];
        let group = self.group;
        Ok(match self.kept(v)? {
            Kept::Const(bits) => self.a.imm(wide(scalar), bits),
            Kept::General(r) => {
                let further = if r.len() == 1 { self.further(v, group) } else { 0 };
                let first = pick(&r, group);
                self.a.add_imm(wide(scalar), first, i64::from(further))
            }
            Kept::Splat(r) if wide(scalar) => self.a.first64(pick(&r, group)),
            Kept::Splat(r) => self.a.first32(pick(&r, group)),
            Kept::Bits(bits) => {
                let own = self.bits_of_group(bits, group);
                self.a.g2i(false, super::scalar::AND_IMM, own, 1)
            }
            Kept::Parts(p) => match scalar {
                Scalar::I1 => {
                    let bits = self.a.bits_of(pick(&p, group));
                    self.a.g2i(false, (Code::And_rm32_imm32, Code::And_rm64_imm32), bits, 1)
                }
                s if wide(s) => self.a.first64(pick(&p, 2 * group)),
                _ => self.a.first32(pick(&p, group)),
            },
        })
    }

    /// What each lane of an affine value has more than the one before; 0 of all others.
    pub fn stride_of(&self, v: Value) -> i32 {
        match self.forms.of(v) {
            Form::Affine { stride, .. } | Form::Affine16 { stride } => stride,
            _ => 0,
        }
    }

    /// The vectors of a value that is no mask, as last operands.
    pub fn srcs(&mut self, v: Value) -> Result<Vec<Src>, Error> {
        let scalar = self.scalar_of(v);
        let count = self.part_count(scalar);
        if let Kept::Const(bits) = self.kept(v)? {
            let src = if wide(scalar) { Src::C64(bits) } else { Src::C32(bits as u32) };
            return Ok(vec![src; count]);
        }
        Ok(self.regs(v)?.iter().map(|&r| Src::R(r)).collect())
    }

    /// The vectors of a value that is no mask.
    pub fn regs(&mut self, v: Value) -> Result<Rc<[R]>, Error> {
        let scalar = self.scalar_of(v);
        let count = self.part_count(scalar);
        match self.kept(v)? {
            Kept::Parts(p) => Ok(p),
            Kept::Bits(_) => Err(Error::Malformed("a mask as a vector".into())),
            Kept::Splat(r) => Ok(spread(&r, count)),
            Kept::Const(bits) => {
                if let Some(p) = self.known.splats.get(&v) {
                    return Ok(p.clone());
                }
                let r = self.a.constant(wide(scalar), bits);
                let parts: Rc<[R]> = vec![r; count].into();
                if !self.aside {
                    self.known.splats.insert(v, parts.clone());
                }
                Ok(parts)
            }
            Kept::General(r) => self.cached(v, |l| l.vectors_of(&r, v, scalar)),
        }
    }

    /// The masks of a truth value.
    pub fn masks(&mut self, v: Value) -> Result<Rc<[R]>, Error> {
        let count = self.groups;
        match self.kept(v)? {
            Kept::Parts(p) => Ok(p),
            Kept::Const(bits) => {
                let k = self.a.k_const(bits & 1 != 0);
                Ok(vec![k; count].into())
            }
            Kept::Bits(bits) => self.cached(v, |l| l.masks_of_bits(bits)),
            Kept::Splat(_) => Err(Error::Malformed("a float as a mask".into())),
            Kept::General(r) => self.cached(v, |l| {
                let masks: Vec<R> = r.iter().map(|&r| l.mask_of_truth(r)).collect();
                spread(&masks, count)
            }),
        }
    }

    pub fn cached(&mut self, v: Value, make: impl FnOnce(&mut Self) -> Rc<[R]>) -> Result<Rc<[R]>, Error> {
        if let Some(p) = self.hoisted.get(&v).or_else(|| self.known.splats.get(&v)) {
            return Ok(p.clone());
        }
        let parts = make(self);
        if !self.aside {
            self.known.splats.insert(v, parts.clone());
        }
        Ok(parts)
    }

    /// All lanes or none by a truth value.
    pub fn mask_of_truth(&mut self, r: R) -> R {
        let all = self.a.g1r(false, (Code::Neg_rm32, Code::Neg_rm64), r);
        self.a.k_of(all)
    }

    /// Vectors of a uniform or affine value in general registers.
    pub fn vectors_of(&mut self, scalars: &[R], v: Value, scalar: Scalar) -> Rc<[R]> {
        let count = self.part_count(scalar);
        let stride = self.stride_of(v);
        let low16 = matches!(self.forms.of(v), Form::Affine16 { .. });
        let splats: Vec<R> = scalars.iter().map(|&r| self.a.splat(wide(scalar), r)).collect();
        // One scalar of all lanes, in which each sixteen begin further on.
        let one = splats.len() == 1;
        let groups = if one && self.further(v, 1) != 0 { self.groups } else { splats.len() };
        let vectors: Vec<R> = (0..groups)
            .map(|g| {
                let further = if one { self.further(v, g) } else { 0 };
                let x = self.ramp(splats[g.min(splats.len() - 1)], stride, further as u32);
                if low16 {
                    self.a.v3(Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, x, Src::C32(0xffff))
                } else {
                    x
                }
            })
            .collect();
        spread(&vectors, count)
    }

    /// `x` plus so much for each of sixteen lanes.
    pub fn ramp(&mut self, x: R, stride: i32, offset: u32) -> R {
        let words = std::array::from_fn(|l| (stride as u32).wrapping_mul(l as u32).wrapping_add(offset));
        if words == [0; 16] {
            return x;
        }
        let entry = self.a.words(&words);
        self.a.v3(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, x, Src::Pool(entry))
    }

    pub fn define(&mut self, v: Value, kept: Kept) {
        if self.hoist[v.index()]
            && let Kept::General(r) = &kept
        {
            let scalar = self.scalar_of(v);
            let parts = if scalar == Scalar::I1 {
                let masks: Vec<R> = r.iter().map(|&r| self.mask_of_truth(r)).collect();
                spread(&masks, self.groups)
            } else {
                self.vectors_of(r, v, scalar)
            };
            self.hoisted.insert(v, parts);
        }
        self.values[v.index()] = Some(kept);
    }

    /// A parameter of a block.
    pub fn set_param(&mut self, v: Value, kept: Kept) {
        self.values[v.index()] = Some(kept);
    }

    pub fn define_parts(&mut self, v: Value, parts: Vec<R>) {
        self.define(v, Kept::Parts(parts.into()));
    }

    /// Defines a value that is kept as scalars by what is in general registers.
    pub fn define_general(&mut self, v: Value, scalars: Vec<R>) {
        let scalar = self.scalar_of(v);
        if matches!(scalar, Scalar::F32 | Scalar::F64) {
            let splats = scalars.into_iter().map(|r| self.a.splat(wide(scalar), r)).collect();
            self.define(v, Kept::Splat(splats));
        } else {
            self.define(v, Kept::General(scalars.into()));
        }
    }

    /// Defines a value by vectors that are the same in all lanes where it is kept as a scalar.
    pub fn define_vectors(&mut self, v: Value, parts: Vec<R>) {
        let scalar = self.scalar_of(v);
        if self.forms.of(v) == Form::Varying {
            return self.define_parts(v, parts);
        }
        let step = if wide(scalar) { 2 } else { 1 };
        let firsts: Vec<R> = parts.iter().copied().step_by(step).take(self.scalars(v)).collect();
        match scalar {
            Scalar::F32 | Scalar::F64 => self.define(v, Kept::Splat(firsts.into())),
            Scalar::I1 => {
                let ones = firsts
                    .into_iter()
                    .map(|k| {
                        let bits = self.a.bits_of(k);
                        self.a.g2i(false, (Code::And_rm32_imm32, Code::And_rm64_imm32), bits, 1)
                    })
                    .collect();
                self.define(v, Kept::General(ones));
            }
            _ => {
                let words = firsts
                    .into_iter()
                    .map(|p| if wide(scalar) { self.a.first64(p) } else { self.a.first32(p) })
                    .collect();
                self.define(v, Kept::General(words));
            }
        }
    }
}
