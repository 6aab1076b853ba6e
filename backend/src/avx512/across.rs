//! Operations across lanes, where a chunk is the whole warp.

use iced_x86::Code;
use warpjit_ir::{Imm, InstData, Opcode};

use super::asm::{R, Src};
use super::int::TEST;
use super::lower::{Kept, Lower};
use crate::affine::Form;
use crate::error::Error;
use crate::operands::{self, arg, malformed, result, wide};

impl Lower<'_> {
    pub fn across(&mut self, data: &InstData) -> Result<(), Error> {
        match data.op {
            Opcode::Shuffle => return self.shuffle(data),
            Opcode::QuadLane => return self.quad_lane(data),
            _ => {}
        }
        let r = result(data)?;
        let mask = arg(data, 0)?;
        let s = match data.op {
            Opcode::Ballot => self.guard_bits(Some(mask))?,
            Opcode::VoteAny => {
                match self.bits_of_guard(Some(mask)) {
                    Some(bits) => self.a.test(true, bits, bits),
                    None => {
                        let masks = self.guard(Some(mask))?;
                        self.test_any(&masks);
                    }
                }
                self.a.set_if(Code::Setne_rm8)
            }
            _ if self.bits_of_guard(Some(mask)).is_some() => {
                let bits = self.mask_bits(mask)?;
                self.compare_full(bits);
                self.a.set_if(Code::Sete_rm8)
            }
            _ => {
                // No active lane where it does not hold.
                let masks = self.masks(mask)?;
                let active = self.active.clone();
                let left: Vec<R> = masks
                    .iter()
                    .zip(active.iter())
                    .map(|(&m, &a)| self.a.k3(Code::VEX_Kandnw_kr_kr_kr, m, a))
                    .collect();
                self.test_any(&left);
                self.a.set_if(Code::Sete_rm8)
            }
        };
        if self.forms.of(r) == Form::Varying {
            // A result that is varying by type is one scalar as well.
            return match data.op {
                Opcode::Ballot => {
                    let splat = self.a.splat(true, s);
                    let count = self.part_count(warpjit_ir::types::Scalar::I64);
                    self.define_parts(r, vec![splat; count]);
                    Ok(())
                }
                _ => {
                    let all = self.a.g1r(false, (Code::Neg_rm32, Code::Neg_rm64), s);
                    let k = self.a.k_of(all);
                    self.define_parts(r, vec![k; self.groups]);
                    Ok(())
                }
            };
        }
        self.define(r, Kept::General([s].into()));
        Ok(())
    }

    /// The value in one lane of the own quad.
    fn quad_lane(&mut self, data: &InstData) -> Result<(), Error> {
        let (r, x) = (result(data)?, arg(data, 0)?);
        let Imm::Bits(lane) = data.imm else { return Err(malformed(data)) };
        let pick = (lane & 3) as u8 * 0x55;
        let code = match wide(self.scalar_of(x)) {
            true => Code::EVEX_Vpermq_zmm_k1z_zmmm512b64_imm8,
            false => Code::EVEX_Vpshufd_zmm_k1z_zmmm512b32_imm8,
        };
        let parts = self.regs(x)?;
        let parts = parts.iter().map(|&p| self.a.v2i(code, p, pick)).collect();
        self.define_vectors(r, parts);
        Ok(())
    }

    /// Each lane's element of an index, or one element for all.
    fn shuffle(&mut self, data: &InstData) -> Result<(), Error> {
        let (r, value, index) = operands::shuffle(self.f, data)?;
        if self.is_one(value) {
            let kept = self.kept(value)?;
            if self.forms.of(r) == Form::Varying {
                let parts = self.regs(value)?;
                self.define(r, Kept::Parts(parts));
            } else {
                self.define(r, kept);
            }
            return Ok(());
        }
        let parts = self.regs(value)?;
        if let (Some(lane), true) = (self.f.as_const(index), self.forms.of(r) != Form::Varying) {
            let lane = lane as usize % self.lanes();
            let part = parts[lane / 16];
            let first = match lane % 16 {
                0 => part,
                n => {
                    let index = self.a.constant(false, n as u64);
                    self.a.v3(Code::EVEX_Vpermd_zmm_k1z_zmm_zmmm512b32, index, Src::R(part))
                }
            };
            self.define_vectors(r, vec![first]);
            return Ok(());
        }
        let one = self.is_one(index);
        let index = self.regs(index)?;
        let count = if one { 1 } else { index.len() };
        let mut moved: Vec<R> = index[..count].iter().map(|&i| self.permute(&parts, i)).collect();
        if one {
            moved = vec![moved[0]; self.groups];
        }
        self.define_vectors(r, moved);
        Ok(())
    }

    /// The words of a chunk that a vector of indices, modulo the lanes, picks.
    fn permute(&mut self, parts: &[R], index: R) -> R {
        const TWO: Code = Code::EVEX_Vpermt2d_zmm_k1z_zmm_zmmm512b32;
        match *parts {
            [a] => self.a.v3(Code::EVEX_Vpermd_zmm_k1z_zmm_zmmm512b32, index, Src::R(a)),
            [a, b] => self.a.v4(TWO, a, index, Src::R(b)),
            _ => {
                let low = self.a.v4(TWO, parts[0], index, Src::R(parts[1]));
                let high = self.a.v4(TWO, parts[2], index, Src::R(parts[3]));
                let upper = self.a.vtest(TEST[0], index, Src::C32(32));
                self.blend(false, upper, Src::R(high), low)
            }
        }
    }
}
