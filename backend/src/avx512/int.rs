//! Integer arithmetic, comparison and logic on vectors and masks.

use iced_x86::Code;
use warpjit_ir::types::Scalar;
use warpjit_ir::{Imm, InstData, IntCC, Opcode, Value};

use super::asm::{R, Src};
use super::lower::Lower;
use crate::affine::Form;
use crate::error::Error;
use crate::operands::{arg, malformed, wide};

pub(super) const ADD: [Code; 2] =
    [Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64];
pub(super) const SUB: [Code; 2] =
    [Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64];
pub(super) const MUL: [Code; 2] =
    [Code::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64];
pub(super) const AND: [Code; 2] =
    [Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64];
pub(super) const OR: [Code; 2] =
    [Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vporq_zmm_k1z_zmm_zmmm512b64];
pub(super) const XOR: [Code; 2] =
    [Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64];
const SHL: [Code; 2] = [Code::EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64];
const SHR: [Code; 2] = [Code::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64];
const SAR: [Code; 2] = [Code::EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64];
const ROL: [Code; 2] = [Code::EVEX_Vprolvd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vprolvq_zmm_k1z_zmm_zmmm512b64];
pub(super) const SHL_BY: [Code; 2] =
    [Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, Code::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8];
pub(super) const SHR_BY: [Code; 2] =
    [Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, Code::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8];
pub(super) const SAR_BY: [Code; 2] =
    [Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8, Code::EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8];
const ROL_BY: [Code; 2] =
    [Code::EVEX_Vprold_zmm_k1z_zmmm512b32_imm8, Code::EVEX_Vprolq_zmm_k1z_zmmm512b64_imm8];
pub(super) const UMIN: [Code; 2] =
    [Code::EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpminuq_zmm_k1z_zmm_zmmm512b64];
const UMAX: [Code; 2] =
    [Code::EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64];
pub(super) const SMIN: [Code; 2] =
    [Code::EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64];
pub(super) const SMAX: [Code; 2] =
    [Code::EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64];
const POPCNT: [Code; 2] = [Code::EVEX_Vpopcntd_zmm_k1z_zmmm512b32, Code::EVEX_Vpopcntq_zmm_k1z_zmmm512b64];
const LZCNT: [Code; 2] = [Code::EVEX_Vplzcntd_zmm_k1z_zmmm512b32, Code::EVEX_Vplzcntq_zmm_k1z_zmmm512b64];
pub(super) const CMP: [Code; 2] =
    [Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, Code::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8];
/// Conditions of comparisons.
pub(super) const LESS: u8 = 1;
pub(super) const NOT_EQUAL: u8 = 4;
pub(super) const NOT_LESS: u8 = 5;
pub(super) const GREATER: u8 = 6;
pub(super) const CMPU: [Code; 2] =
    [Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, Code::EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8];
pub(super) const TEST: [Code; 2] =
    [Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32, Code::EVEX_Vptestmq_kr_k1_zmm_zmmm512b64];
pub(super) const TEST_NOT: [Code; 2] =
    [Code::EVEX_Vptestnmd_kr_k1_zmm_zmmm512b32, Code::EVEX_Vptestnmq_kr_k1_zmm_zmmm512b64];
const PRODUCT_U: Code = Code::EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64;
const PRODUCT_S: Code = Code::EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64;

/// Codes of the comparison instructions' conditions.
pub(super) fn condition(cc: IntCC) -> (bool, u8) {
    match cc {
        IntCC::Eq => (true, 0),
        IntCC::Ne => (true, 4),
        IntCC::Slt => (true, 1),
        IntCC::Sle => (true, 2),
        IntCC::Sge => (true, 5),
        IntCC::Sgt => (true, 6),
        IntCC::Ult => (false, 1),
        IntCC::Ule => (false, 2),
        IntCC::Uge => (false, 5),
        IntCC::Ugt => (false, 6),
    }
}

impl Lower<'_> {
    /// Both operands part by part: the first in registers.
    fn pairs(&mut self, a: Value, b: Value) -> Result<Vec<(R, Src)>, Error> {
        let (a, b) = (self.regs(a)?, self.srcs(b)?);
        Ok(a.iter().copied().zip(b).collect())
    }

    /// Both operands, a constant as the second one where they may change places.
    fn constant_last(&mut self, data: &InstData) -> Result<Vec<(R, Src)>, Error> {
        let (mut p, mut q) = (arg(data, 0)?, arg(data, 1)?);
        if data.op.is_commutative() && self.f.as_const(p).is_some() {
            std::mem::swap(&mut p, &mut q);
        }
        self.pairs(p, q)
    }

    /// Vectors of an integer operation; masks of a comparison or of logic on masks.
    pub fn int(&mut self, data: &InstData) -> Result<Vec<R>, Error> {
        let x = arg(data, 0)?;
        let scalar = self.scalar_of(x);
        if scalar == Scalar::I1 {
            return self.mask_logic(data);
        }
        let w = usize::from(wide(scalar));
        let list = |l: &mut Self, codes: [Code; 2]| -> Result<Vec<R>, Error> {
            Ok(l.constant_last(data)?.into_iter().map(|(a, b)| l.a.v3(codes[w], a, b)).collect())
        };
        let ones = if w == 1 { Src::C64(u64::MAX) } else { Src::C32(u32::MAX) };
        match data.op {
            Opcode::Iadd => list(self, ADD),
            Opcode::Isub => list(self, SUB),
            Opcode::Imul => list(self, MUL),
            Opcode::Iand => list(self, AND),
            Opcode::Ior => list(self, OR),
            Opcode::Ixor => list(self, XOR),
            Opcode::Umin => list(self, UMIN),
            Opcode::Umax => list(self, UMAX),
            Opcode::Smin => list(self, SMIN),
            Opcode::Smax => list(self, SMAX),
            Opcode::Inot => {
                let x = self.regs(x)?;
                Ok(x.iter().map(|&x| self.a.ternary(0x55, x, x, Src::R(x))).collect())
            }
            Opcode::Ineg => {
                let zero = self.a.constant(w == 1, 0);
                let x = self.srcs(x)?;
                Ok(x.into_iter().map(|x| self.a.v3(SUB[w], zero, x)).collect())
            }
            Opcode::Ishl => self.shift(data, w, SHL, SHL_BY),
            Opcode::Ushr => self.shift(data, w, SHR, SHR_BY),
            Opcode::Sshr => self.shift(data, w, SAR, SAR_BY),
            Opcode::Rotl => self.shift(data, w, ROL, ROL_BY),
            Opcode::Popcnt | Opcode::Clz => {
                let code = if data.op == Opcode::Clz { LZCNT[w] } else { POPCNT[w] };
                let x = self.srcs(x)?;
                Ok(x.into_iter()
                    .map(|x| self.a.v2(code, x, super::code::Size::Z, super::code::Size::Z))
                    .collect())
            }
            Opcode::Ctz => {
                // The bits below the lowest one.
                let x = self.regs(x)?;
                Ok(x.iter()
                    .map(|&x| {
                        let less = self.a.v3(ADD[w], x, ones);
                        let below = self.a.v3(ANDN[w], x, Src::R(less));
                        self.a.v2(POPCNT[w], Src::R(below), super::code::Size::Z, super::code::Size::Z)
                    })
                    .collect())
            }
            Opcode::Bswap => {
                let x = self.regs(x)?;
                Ok(x.iter().map(|&x| self.swap_bytes(w, x)).collect())
            }
            Opcode::Bitrev => {
                let x = self.regs(x)?;
                Ok(x.iter()
                    .map(|&x| {
                        let mut x = self.swap_bytes(w, x);
                        for (by, low) in [(4u8, 0x0f), (2, 0x33), (1, 0x55u8)] {
                            let low = u64::from_le_bytes([low; 8]);
                            let low = if w == 1 { Src::C64(low) } else { Src::C32(low as u32) };
                            let down = self.a.v2i(SHR_BY[w], x, by);
                            let down = self.a.v3(AND[w], down, low);
                            let up = self.a.v3(AND[w], x, low);
                            let up = self.a.v2i(SHL_BY[w], up, by);
                            x = self.a.v3(OR[w], up, Src::R(down));
                        }
                        x
                    })
                    .collect())
            }
            Opcode::Umulhi | Opcode::Smulhi => {
                let signed = data.op == Opcode::Smulhi;
                let (x, y) = (self.regs(x)?, self.regs(arg(data, 1)?)?);
                Ok(x.iter()
                    .zip(y.iter())
                    .map(
                        |(&a, &b)| if w == 1 { self.high64(signed, a, b) } else { self.high32(signed, a, b) },
                    )
                    .collect())
            }
            Opcode::Icmp => {
                let Imm::Int(cc) = data.imm else { return Err(malformed(data)) };
                let (mut p, mut q, mut cc) = (x, arg(data, 1)?, cc);
                if self.f.as_const(p).is_some() {
                    std::mem::swap(&mut p, &mut q);
                    cc = cc.swapped();
                }
                let zero = self.f.as_const(q) == Some(0);
                let bits = self.f.def_inst(p).filter(|_| self.address_only[p.index()]);
                let pairs = match bits {
                    Some(data) => self.constant_last(data)?,
                    None => self.pairs(p, q)?,
                };
                let masks: Vec<R> = pairs
                    .into_iter()
                    .map(|(a, b)| match cc {
                        IntCC::Ne if bits.is_some() => self.a.vtest(TEST[w], a, b),
                        IntCC::Eq if bits.is_some() => self.a.vtest(TEST_NOT[w], a, b),
                        IntCC::Ne if zero => self.a.vtest(TEST[w], a, Src::R(a)),
                        IntCC::Eq if zero => self.a.vtest(TEST_NOT[w], a, Src::R(a)),
                        _ => {
                            let (signed, code) = condition(cc);
                            self.a.vcmp(if signed { CMP[w] } else { CMPU[w] }, a, b, code)
                        }
                    })
                    .collect();
                Ok(if w == 1 { self.narrow(&masks) } else { masks })
            }
            Opcode::Lookup => self.lookup(data),
            _ => Err(malformed(data)),
        }
    }

    /// What a mask is the complement of.
    fn complement_of(&self, v: Value) -> Option<Value> {
        let data = self.f.def_inst(v).filter(|data| data.op == Opcode::Inot)?;
        let varying = self.forms.of(v) == Form::Varying && self.forms.of(data.args[0]) == Form::Varying;
        (varying && !self.is_fused_complement(v)).then(|| data.args[0])
    }

    fn mask_logic(&mut self, data: &InstData) -> Result<Vec<R>, Error> {
        if data.op == Opcode::Iand {
            let (x, y) = (arg(data, 0)?, arg(data, 1)?);
            for (v, lanes) in [(x, y), (y, x)] {
                if let Some(without) = self.complement_of(v) {
                    let (without, lanes) = (self.masks(without)?, self.masks(lanes)?);
                    let pairs = without.iter().zip(lanes.iter());
                    return Ok(pairs.map(|(&w, &k)| self.a.k3(Code::VEX_Kandnw_kr_kr_kr, w, k)).collect());
                }
            }
        }
        let a = self.masks(arg(data, 0)?)?;
        if data.op == Opcode::Inot {
            return Ok(a.iter().map(|&a| self.a.k2(Code::VEX_Knotw_kr_kr, a)).collect());
        }
        let code = match data.op {
            Opcode::Iand => Code::VEX_Kandw_kr_kr_kr,
            Opcode::Ior => Code::VEX_Korw_kr_kr_kr,
            Opcode::Ixor => Code::VEX_Kxorw_kr_kr_kr,
            _ => return Err(malformed(data)),
        };
        let b = self.masks(arg(data, 1)?)?;
        Ok(a.iter().zip(b.iter()).map(|(&a, &b)| self.a.k3(code, a, b)).collect())
    }

    /// A shift or rotation; counts are taken modulo the width.
    fn shift(
        &mut self,
        data: &InstData,
        w: usize,
        by_lane: [Code; 2],
        by: [Code; 2],
    ) -> Result<Vec<R>, Error> {
        let (x, count) = (self.regs(arg(data, 0)?)?, arg(data, 1)?);
        let last = if w == 1 { 63 } else { 31u64 };
        if let Some(c) = self.f.as_const(count) {
            return Ok(x.iter().map(|&x| self.a.v2i(by[w], x, (c & last) as u8)).collect());
        }
        let in_range = data.op == Opcode::Rotl || w == 0 && self.known().get(count).possible() <= last;
        let mask = if w == 1 { Src::C64(last) } else { Src::C32(last as u32) };
        let mut counts = self.regs(count)?.to_vec();
        if !in_range {
            let same = counts.windows(2).all(|p| p[0] == p[1]);
            if same {
                let c = self.a.v3(AND[w], counts[0], mask);
                counts.fill(c);
            } else {
                counts = counts.iter().map(|&c| self.a.v3(AND[w], c, mask)).collect();
            }
        }
        Ok(x.iter().zip(counts).map(|(&x, c)| self.a.v3(by_lane[w], x, Src::R(c))).collect())
    }

    fn swap_bytes(&mut self, w: usize, x: R) -> R {
        let size = if w == 1 { 8 } else { 4u8 };
        let bytes: Vec<u8> = (0..64u8).map(|n| (n % 16) / size * size + (size - 1 - n % size)).collect();
        let entry = self.a.pool.add(&bytes);
        self.a.v3(Code::EVEX_Vpshufb_zmm_k1z_zmm_zmmm512, x, Src::Pool(entry))
    }

    /// High halves of the products of 32 bits.
    fn high32(&mut self, signed: bool, a: R, b: R) -> R {
        let code = if signed { PRODUCT_S } else { PRODUCT_U };
        let even = self.a.v3(code, a, Src::R(b));
        let (up_a, up_b) = (self.a.v2i(SHR_BY[1], a, 32), self.a.v2i(SHR_BY[1], b, 32));
        let odd = self.a.v3(code, up_a, Src::R(up_b));
        let even = self.a.v2i(SHR_BY[1], even, 32);
        let odd_lanes = self.a.imm(false, 0xaaaa);
        let k = self.a.k_of(odd_lanes);
        self.blend(false, k, Src::R(odd), even)
    }

    /// High halves of the products of 64 bits.
    fn high64(&mut self, signed: bool, a: R, b: R) -> R {
        let low = Src::C64(0xffff_ffff);
        let (ah, bh) = (self.a.v2i(SHR_BY[1], a, 32), self.a.v2i(SHR_BY[1], b, 32));
        let ll = self.a.v3(PRODUCT_U, a, Src::R(b));
        let lh = self.a.v3(PRODUCT_U, a, Src::R(bh));
        let hl = self.a.v3(PRODUCT_U, ah, Src::R(b));
        let hh = self.a.v3(PRODUCT_U, ah, Src::R(bh));
        let carry = self.a.v2i(SHR_BY[1], ll, 32);
        let middle = self.a.v3(ADD[1], hl, Src::R(carry));
        let middle_low = self.a.v3(AND[1], middle, low);
        let middle_low = self.a.v3(ADD[1], lh, Src::R(middle_low));
        let middle_high = self.a.v2i(SHR_BY[1], middle, 32);
        let top = self.a.v2i(SHR_BY[1], middle_low, 32);
        let sum = self.a.v3(ADD[1], hh, Src::R(middle_high));
        let mut high = self.a.v3(ADD[1], sum, Src::R(top));
        if signed {
            for (x, y) in [(a, b), (b, a)] {
                let sign = self.a.v2i(SAR_BY[1], x, 63);
                let part = self.a.v3(AND[1], sign, Src::R(y));
                high = self.a.v3(SUB[1], high, Src::R(part));
            }
        }
        high
    }
}

pub(super) const ANDN: [Code; 2] =
    [Code::EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32, Code::EVEX_Vpandnq_zmm_k1z_zmm_zmmm512b64];
