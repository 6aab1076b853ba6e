//! Conversion between element types.

use iced_x86::Code;
use warpjit_ir::types::Scalar;
use warpjit_ir::{Imm, InstData, Opcode};

use super::asm::{A, R, Src, With};
use super::code::Size;
use super::float::{CMP, UNORDERED};
use super::int::{AND, OR, TEST, TEST_NOT};
use super::lower::Lower;
use crate::code::FloatEnv;
use crate::error::Error;
use crate::operands::{arg, malformed, result, wide};

use Scalar::{F32, F64, I32, I64};

/// Conversions of the host: sizes, and the instruction.
const CONVERSIONS: &[(Opcode, Scalar, Scalar, Code)] = &[
    (Opcode::FcvtToSint, F32, I32, Code::EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae),
    (Opcode::FcvtToUint, F32, I32, Code::EVEX_Vcvttps2udq_zmm_k1z_zmmm512b32_sae),
    (Opcode::FcvtToSint, F32, I64, Code::EVEX_Vcvttps2qq_zmm_k1z_ymmm256b32_sae),
    (Opcode::FcvtToUint, F32, I64, Code::EVEX_Vcvttps2uqq_zmm_k1z_ymmm256b32_sae),
    (Opcode::FcvtToSint, F64, I32, Code::EVEX_Vcvttpd2dq_ymm_k1z_zmmm512b64_sae),
    (Opcode::FcvtToUint, F64, I32, Code::EVEX_Vcvttpd2udq_ymm_k1z_zmmm512b64_sae),
    (Opcode::FcvtToSint, F64, I64, Code::EVEX_Vcvttpd2qq_zmm_k1z_zmmm512b64_sae),
    (Opcode::FcvtToUint, F64, I64, Code::EVEX_Vcvttpd2uqq_zmm_k1z_zmmm512b64_sae),
    (Opcode::FcvtFromSint, I32, F32, Code::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er),
    (Opcode::FcvtFromUint, I32, F32, Code::EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er),
    (Opcode::FcvtFromSint, I64, F32, Code::EVEX_Vcvtqq2ps_ymm_k1z_zmmm512b64_er),
    (Opcode::FcvtFromUint, I64, F32, Code::EVEX_Vcvtuqq2ps_ymm_k1z_zmmm512b64_er),
    (Opcode::FcvtFromSint, I32, F64, Code::EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er),
    (Opcode::FcvtFromUint, I32, F64, Code::EVEX_Vcvtudq2pd_zmm_k1z_ymmm256b32_er),
    (Opcode::FcvtFromSint, I64, F64, Code::EVEX_Vcvtqq2pd_zmm_k1z_zmmm512b64_er),
    (Opcode::FcvtFromUint, I64, F64, Code::EVEX_Vcvtuqq2pd_zmm_k1z_zmmm512b64_er),
];

impl Lower<'_> {
    /// Each narrow vector's halves through an instruction that makes a wide one.
    fn widened(&mut self, x: &[R], mut f: impl FnMut(&mut Self, R) -> R) -> Vec<R> {
        let mut out = Vec::new();
        for &x in x {
            out.push(f(self, x));
            let high = self.a.high_half(x);
            out.push(f(self, high));
        }
        out
    }

    /// Each pair of wide vectors through an instruction that makes half a narrow one.
    fn narrowed(&mut self, x: &[R], mut f: impl FnMut(&mut Self, R) -> R) -> Vec<R> {
        x.chunks(2)
            .map(|pair| {
                let low = f(self, pair[0]);
                match pair.get(1) {
                    Some(&high) => {
                        let high = f(self, high);
                        self.a.join_halves(low, high)
                    }
                    None => low,
                }
            })
            .collect()
    }

    /// Vectors of a conversion.
    pub fn convert(&mut self, data: &InstData) -> Result<Vec<R>, Error> {
        let x = arg(data, 0)?;
        let (from, to) = (self.scalar_of(x), self.scalar_of(result(data)?));
        if data.op == Opcode::Bmask {
            let masks = self.masks(x)?;
            let (code, masks) = match to {
                I64 => (Code::EVEX_Vpmovm2q_zmm_kr, self.widen(&masks)),
                _ => (Code::EVEX_Vpmovm2d_zmm_kr, masks.to_vec()),
            };
            return Ok(masks.iter().map(|&k| self.lanes_of_mask(code, k)).collect());
        }
        let parts = self.regs(x)?;
        Ok(match data.op {
            Opcode::Bitcast => parts.to_vec(),
            Opcode::Zext => self.widened(&parts, |l, h| {
                l.a.v2(Code::EVEX_Vpmovzxdq_zmm_k1z_ymmm256, Src::R(h), Size::Z, Size::Y)
            }),
            Opcode::Sext => self.widened(&parts, |l, h| {
                l.a.v2(Code::EVEX_Vpmovsxdq_zmm_k1z_ymmm256, Src::R(h), Size::Z, Size::Y)
            }),
            Opcode::Trunc => self.narrowed(&parts, |l, h| {
                let d = l.a.zmm();
                let args = [A::Def(d, Size::Y), A::Use(h, Size::Z)];
                l.a.put(Code::EVEX_Vpmovqd_ymmm256_k1z_zmm, &args, With::default());
                d
            }),
            Opcode::Fpromote => self.widened(&parts, |l, h| l.promote_exact(h)),
            Opcode::Fdemote => {
                let flush = data.imm == Imm::Ftz(true) && self.explicit_flush;
                self.narrowed(&parts, |l, h| {
                    let h = if flush { l.flush_tiny(h) } else { h };
                    l.a.v2(Code::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er, Src::R(h), Size::Y, Size::Z)
                })
            }
            Opcode::F16ToF32 => parts
                .iter()
                .map(|&x| {
                    let d = self.a.zmm();
                    let args = [A::Def(d, Size::Y), A::Use(x, Size::Z)];
                    self.a.put(Code::EVEX_Vpmovdw_ymmm256_k1z_zmm, &args, With::default());
                    self.a.v2(Code::EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae, Src::R(d), Size::Z, Size::Y)
                })
                .collect(),
            Opcode::F32ToF16 => parts.iter().map(|&x| self.half_of(x)).collect(),
            op => {
                let row = CONVERSIONS.iter().find(|c| (c.0, c.1, c.2) == (op, from, to));
                let &(.., code) = row.ok_or_else(|| malformed(data))?;
                let one = |l: &mut Self, x: R| l.one_conversion(op, from, to, code, x);
                match (wide(from), wide(to)) {
                    (false, true) => self.widened(&parts, one),
                    (true, false) => self.narrowed(&parts, one),
                    _ => parts.iter().map(|&x| one(self, x)).collect(),
                }
            }
        })
    }

    pub fn lanes_of_mask(&mut self, code: Code, k: R) -> R {
        let d = self.a.zmm();
        self.a.put(code, &[A::Def(d, Size::Z), A::Use(k, Size::K)], With::default());
        d
    }

    fn one_conversion(&mut self, op: Opcode, from: Scalar, to: Scalar, code: Code, x: R) -> R {
        let size = |own: Scalar, other: Scalar| if wide(other) && !wide(own) { Size::Y } else { Size::Z };
        let (to_size, from_size) = (size(to, from), size(from, to));
        let w = usize::from(wide(from));
        match op {
            Opcode::FcvtToUint => {
                // Of NaN and a number the second: zero for NaNs and what is below it. What is too large gives all ones by itself.
                let zero = self.a.constant(false, 0);
                let code_max = [
                    Code::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae,
                    Code::EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae,
                ];
                let x = self.a.v3(code_max[w], x, Src::R(zero));
                self.a.v2(code, Src::R(x), to_size, from_size)
            }
            Opcode::FcvtToSint => {
                // What is out of range, and NaN, gives the least integer; of those the large and the NaNs are wrong. Masks of
                // sources are masks of results: both have as many elements.
                let r = self.a.v2(code, Src::R(x), to_size, from_size);
                let limit: u64 = match (from, to) {
                    (F32, I32) => 0x4f00_0000,
                    (F32, _) => 0x5f00_0000,
                    (_, I32) => 0x41e0_0000_0000_0000,
                    _ => 0x43e0_0000_0000_0000,
                };
                let large = self.a.vcmp(CMP[w], x, super::float::all(w, limit), 13);
                let nan = self.a.vcmp(CMP[w], x, Src::R(x), UNORDERED);
                let zero = self.a.constant(false, 0);
                if wide(to) {
                    let r = self.blend(true, large, Src::C64(i64::MAX as u64), r);
                    self.blend(true, nan, Src::R(zero), r)
                } else {
                    let r = self.blend(false, large, Src::C32(i32::MAX as u32), r);
                    self.blend(false, nan, Src::R(zero), r)
                }
            }
            _ => self.a.v2(code, Src::R(x), to_size, from_size),
        }
    }

    /// Half a vector of f32 as f64, denormals kept in any environment.
    fn promote_exact(&mut self, x: R) -> R {
        let plain = self.a.v2(Code::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae, Src::R(x), Size::Z, Size::Y);
        if self.env == FloatEnv::Default {
            return plain;
        }
        // What the host took for zeros: their fractions, as integers, times 2^-149.
        let small = self.a.vtest(TEST_NOT[0], x, Src::C32(0x7f80_0000));
        let some = self.a.vtest(TEST[0], x, Src::C32(0x007f_ffff));
        let denormal = self.a.k3(Code::VEX_Kandw_kr_kr_kr, small, some);
        let fraction = self.a.v3(AND[0], x, Src::C32(0x007f_ffff));
        let value = self.a.v2(Code::EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er, Src::R(fraction), Size::Z, Size::Y);
        let unit = Src::C64((1023 - 149) << 52);
        let value = self.a.v3(Code::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er, value, unit);
        // The zero has the sign.
        self.a.v3m(OR[1], denormal, plain, plain, Src::R(value))
    }

    /// binary16 of f32 in the low halves of words; a NaN is 0x7e00 with its sign.
    fn half_of(&mut self, x: R) -> R {
        let nan = self.a.vcmp(CMP[0], x, Src::R(x), UNORDERED);
        let sign = self.a.v3(AND[0], x, Src::C32(0x8000_0000));
        let x = self.a.v3m(OR[0], nan, x, sign, Src::C32(0x7fc0_0000));
        let d = self.a.zmm();
        let args = [A::Def(d, Size::Y), A::Use(x, Size::Z), A::I8(0)];
        self.a.put(Code::EVEX_Vcvtps2ph_ymmm256_k1z_zmm_imm8_sae, &args, With::default());
        self.a.v2(Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256, Src::R(d), Size::Z, Size::Y)
    }
}
