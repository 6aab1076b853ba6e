//! Conversion between element types.

use warpjit_ir::types::Scalar;
use warpjit_ir::{Imm, InstData, Opcode};

use super::{Lower, Parts, arg, malformed, result};
use crate::clif::{Emit, F32, F32X4, F64X2, HostIntCC, I32, I32X4, I64, V, element, vector};
use crate::code::FloatEnv;
use crate::error::Error;

impl Lower<'_, '_> {
    /// Vectors of a conversion.
    pub(super) fn convert(&mut self, data: &InstData) -> Result<Parts, Error> {
        let x = arg(data, 0)?;
        let (from, to) = (self.scalar_of(x), self.scalar_of(result(data)?));
        let parts = self.parts(x)?;
        let e = &mut self.e;
        Ok(match (data.op, from, to) {
            (Opcode::Bitcast, ..) => parts.iter().map(|&p| e.cast(p, vector(to))).collect(),
            (Opcode::Bmask, _, Scalar::I32) => parts,
            (Opcode::Bmask, ..) => self.widen_mask(&parts),
            (Opcode::Zext, ..) => parts.iter().flat_map(|&p| [e.uwiden_low(p), e.uwiden_high(p)]).collect(),
            (Opcode::Sext, ..) => parts.iter().flat_map(|&p| [e.swiden_low(p), e.swiden_high(p)]).collect(),
            (Opcode::Trunc, ..) => self.narrow_mask(&parts),
            (Opcode::FcvtToSint, Scalar::F32, Scalar::I32) => {
                parts.iter().map(|&p| e.fcvt_to_sint_sat(I32X4, p)).collect()
            }
            (Opcode::FcvtToUint, Scalar::F32, Scalar::I32) => {
                parts.iter().map(|&p| e.fcvt_to_uint_sat(I32X4, p)).collect()
            }
            (Opcode::FcvtFromSint, Scalar::I32, Scalar::F32) => {
                parts.iter().map(|&p| e.fcvt_from_sint(F32X4, p)).collect()
            }
            (Opcode::FcvtFromUint, Scalar::I32, Scalar::F32) => {
                parts.iter().map(|&p| e.fcvt_from_uint(F32X4, p)).collect()
            }
            (Opcode::FcvtFromSint, Scalar::I32, Scalar::F64) => parts
                .iter()
                .flat_map(|&p| {
                    let high = e.shuffle_words(I32X4, p, p, [2, 3, 2, 3]);
                    [p, high].map(|p| {
                        let w = e.swiden_low(p);
                        e.fcvt_from_sint(F64X2, w)
                    })
                })
                .collect(),
            (Opcode::FcvtFromUint, Scalar::I32, Scalar::F64) => parts
                .iter()
                .flat_map(|&p| {
                    let high = e.shuffle_words(I32X4, p, p, [2, 3, 2, 3]);
                    [p, high].map(|p| {
                        let w = e.uwiden_low(p);
                        e.fcvt_from_uint(F64X2, w)
                    })
                })
                .collect(),
            (Opcode::Fpromote, ..) => parts.iter().flat_map(|&p| self.promote_exact(p)).collect(),
            (Opcode::Fdemote, ..) => {
                let flush = data.imm == Imm::Ftz(true) && self.explicit_flush;
                let parts: Vec<V> =
                    if flush { parts.iter().map(|&p| e.flush_tiny(p)).collect() } else { parts.to_vec() };
                parts.chunks(2).map(|p| e.demote(p[0], p[1])).collect()
            }
            (Opcode::F16ToF32, ..) => parts.iter().map(|&p| e.half_to_float(p)).collect(),
            (Opcode::F32ToF16, ..) => parts.iter().map(|&p| e.float_to_half(p)).collect(),
            (Opcode::FcvtToSint | Opcode::FcvtToUint | Opcode::FcvtFromSint | Opcode::FcvtFromUint, ..) => {
                self.lane_by_lane(&[(parts, from)], to, |l, a| l.e.scalar_fcvt(data.op, a[0], to))
            }
            _ => return Err(malformed(data)),
        })
    }

    /// A conversion of one scalar.
    pub(super) fn convert_scalar(&mut self, data: &InstData, args: &[V]) -> Result<V, Error> {
        let x = *args.first().ok_or_else(|| malformed(data))?;
        let to = self.scalar_of(result(data)?);
        Ok(match data.op {
            Opcode::Bitcast => self.e.cast(x, element(to)),
            Opcode::Bmask => {
                let word = self.e.uextend(element(to), x);
                self.e.ineg(word)
            }
            Opcode::Zext => self.e.uextend(I64, x),
            Opcode::Sext => self.e.sextend(I64, x),
            Opcode::Trunc => self.e.ireduce(I32, x),
            Opcode::Fpromote if self.env == FloatEnv::Default => self.e.fpromote(element(to), x),
            Opcode::Fpromote => self.through_vector(&[x], |l, v| Ok(l.promote_exact(v[0])[0]))?,
            Opcode::Fdemote => {
                let flush = data.imm == Imm::Ftz(true) && self.explicit_flush;
                let x = if flush { self.e.flush_tiny(x) } else { x };
                self.e.fdemote(F32, x)
            }
            Opcode::F16ToF32 => self.through_vector(&[x], |l, v| Ok(l.e.half_to_float(v[0])))?,
            Opcode::F32ToF16 => self.through_vector(&[x], |l, v| Ok(l.e.float_to_half(v[0])))?,
            Opcode::FcvtToSint | Opcode::FcvtToUint | Opcode::FcvtFromSint | Opcode::FcvtFromUint => {
                self.e.scalar_fcvt(data.op, x, to)
            }
            _ => return Err(malformed(data)),
        })
    }
}

impl Emit<'_> {
    fn scalar_fcvt(&mut self, op: Opcode, x: V, to: Scalar) -> V {
        let ty = element(to);
        match op {
            Opcode::FcvtToSint => self.fcvt_to_sint_sat(ty, x),
            Opcode::FcvtToUint => self.fcvt_to_uint_sat(ty, x),
            Opcode::FcvtFromSint => self.fcvt_from_sint(ty, x),
            _ => self.fcvt_from_uint(ty, x),
        }
    }

    /// Four binary16 in the low halves of words.
    fn half_to_float(&mut self, x: V) -> V {
        let bits = self.band_imm(x, 0x7fff);
        let sign = self.band_imm(x, 0x8000);
        let sign = self.shl(sign, 16);
        let moved = self.shl(bits, 13);
        // Exponent bias 15 to 127; infinity and NaN to the largest exponent by as much again.
        let normal = self.iadd_imm(moved, 112 << 23);
        let special = self.icmp_imm(HostIntCC::SignedGreaterThan, bits, 0x7bff);
        let extra = self.band_imm(special, 112 << 23);
        let normal = self.iadd(normal, extra);
        // Denormals are integers times 2^-24, normal as f32.
        let integer = self.fcvt_from_sint(F32X4, bits);
        let unit = self.imm(F32X4, (127 - 24) << 23);
        let small = self.fmul(integer, unit);
        let small = self.cast(small, I32X4);
        let limit = self.imm(I32X4, 0x400);
        let denormal = self.icmp(HostIntCC::SignedLessThan, bits, limit);
        let magnitude = self.sel(denormal, small, normal);
        let r = self.bor(magnitude, sign);
        self.cast(r, F32X4)
    }

    /// Four f32 to binary16 in the low halves of words, nearest even.
    fn float_to_half(&mut self, x: V) -> V {
        let bits = self.cast(x, I32X4);
        let sign = self.shr(bits, 16);
        let sign = self.band_imm(sign, 0x8000);
        let magnitude = self.band_imm(bits, 0x7fff_ffff);
        // Normal: exponent bias 127 to 15, half of the last place added, one less where that is even.
        let odd = self.shr(magnitude, 13);
        let odd = self.band_imm(odd, 1);
        let rounded = self.iadd_imm(magnitude, (0xfff_u64).wrapping_sub(112 << 23) & 0xffff_ffff);
        let rounded = self.iadd(rounded, odd);
        let normal = self.shr(rounded, 13);
        // Denormal: adding 1/2, whose last place is 2^-24, makes the host round.
        let float = self.cast(magnitude, F32X4);
        let half = self.imm(F32X4, 0x3f00_0000);
        let sum = self.fadd(float, half);
        let sum = self.cast(sum, I32X4);
        let small = self.iadd_imm(sum, 0u64.wrapping_sub(0x3f00_0000) & 0xffff_ffff);
        let first_normal = self.imm(I32X4, 0x3880_0000);
        let denormal = self.icmp(HostIntCC::SignedLessThan, magnitude, first_normal);
        let r = self.sel(denormal, small, normal);
        let infinity = self.imm(I32X4, 0x7c00);
        let large = self.icmp_imm(HostIntCC::SignedGreaterThan, magnitude, 0x477f_efff);
        let r = self.sel(large, infinity, r);
        let nan_bits = self.imm(I32X4, 0x7e00);
        let nan = self.icmp_imm(HostIntCC::SignedGreaterThan, magnitude, 0x7f80_0000);
        let r = self.sel(nan, nan_bits, r);
        self.bor(r, sign)
    }
}
