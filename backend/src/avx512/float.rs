//! Float arithmetic and comparison, exact also where the host flushes what must not be or does not what must (as
//! [`crate::lower::float`] does it).

use std::rc::Rc;

use iced_x86::Code;
use warpjit_ir::analysis::FloatClasses;
use warpjit_ir::types::Scalar;
use warpjit_ir::{Args, FloatCC, Imm, InstData, Opcode, Value};

use super::asm::{R, Src};
use super::code::Size;
use super::int::{AND, CMP as ICMP, GREATER, OR, SMAX, SMIN, TEST, TEST_NOT};
use super::lower::Lower;
use crate::code::FloatEnv;
use crate::error::Error;
use crate::extremes::Plan;
use crate::lower::float::{Format, TINY, flushes, format_of};
use crate::operands::{arg, malformed, wide};

pub(super) const ADD: [Code; 2] =
    [Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er, Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er];
pub(super) const SUB: [Code; 2] =
    [Code::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er, Code::EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er];
pub(super) const MUL: [Code; 2] =
    [Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, Code::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er];
const DIV: [Code; 2] =
    [Code::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er, Code::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er];
const SQRT: [Code; 2] = [Code::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er, Code::EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er];
/// `x = a * x + b`.
const FMA213: [Code; 2] =
    [Code::EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er, Code::EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er];
const ROUND: [Code; 2] =
    [Code::EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae, Code::EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae];
pub(super) const CMP: [Code; 2] =
    [Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, Code::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae];
const XOR: [Code; 2] = super::int::XOR;
const MIN: [Code; 2] =
    [Code::EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae, Code::EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae];
const MAX: [Code; 2] =
    [Code::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae, Code::EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae];

/// Codes of the comparison instructions' conditions.
fn condition(cc: FloatCC) -> u8 {
    match cc {
        FloatCC::Eq => 0,
        FloatCC::Lt => 1,
        FloatCC::Le => 2,
        FloatCC::Uno => 3,
        FloatCC::Ne => 4,
        FloatCC::Uge => 5,
        FloatCC::Ugt => 6,
        FloatCC::Ord => 7,
        FloatCC::Ueq => 8,
        FloatCC::Ult => 9,
        FloatCC::Ule => 10,
        FloatCC::One => 12,
        FloatCC::Ge => 13,
        FloatCC::Gt => 14,
    }
}

pub(super) const UNORDERED: u8 = 3;
const EQUAL: u8 = 0;
const LESS: u8 = 1;

/// A constant in every element.
pub(super) fn all(w: usize, bits: u64) -> Src {
    if w == 1 { Src::C64(bits) } else { Src::C32(bits as u32) }
}

impl Lower<'_> {
    /// What `fcanon` made canonical, for operations to which all NaNs are the same.
    pub fn before_canon(&self, v: Value) -> Value {
        match self.f.def_inst(v) {
            Some(data) if data.op == Opcode::Fcanon => data.args.first().map_or(v, |&a| self.before_canon(a)),
            _ => v,
        }
    }

    /// Vectors of a float operation; masks of a comparison.
    pub fn float(&mut self, data: &InstData) -> Result<Vec<R>, Error> {
        let scalar = self.scalar_of(arg(data, 0)?);
        let w = usize::from(wide(scalar));
        let args: Args = match data.op {
            // Operations on the bits.
            Opcode::Fneg | Opcode::Fabs | Opcode::Fflush | Opcode::Fcanon | Opcode::Fsignals => {
                data.args.clone()
            }
            _ => data.args.iter().map(|&a| self.before_canon(a)).collect(),
        };
        let flush = self.explicit_flush && flushes(data);
        if data.op == Opcode::FmadTrunc {
            return self.multiply_add(data, &args, flush);
        }
        let plan = match data.op {
            Opcode::Fmin | Opcode::Fmax => Some(self.extreme_plan(data)?),
            _ => None,
        };
        let commutes = matches!(data.op, Opcode::Fadd | Opcode::Fmul);
        let mut args = args;
        if commutes && args.len() == 2 && self.f.as_const(args[0]).is_some() {
            args.swap(0, 1);
        }
        if plan.is_some_and(|plan| plan.swap) {
            args.swap(0, 1);
        }
        // What looks at the last operand more than once has it in a register.
        let once = !matches!(data.op, Opcode::Fsignals) && plan.is_none_or(|plan| plan.is_plain());
        let count = args.len();
        // All but the last operand in registers; the last may be a constant in memory.
        let mut columns: Vec<Vec<Src>> = Vec::new();
        for (n, &a) in args.iter().enumerate() {
            let parts = match n + 1 == count && count > 1 && !flush && once {
                true => self.srcs(a)?,
                false => self.regs(a)?.iter().map(|&r| Src::R(r)).collect(),
            };
            columns.push(parts);
        }
        // A constant may be there for more lanes than are computed.
        let parts = columns.iter().map(Vec::len).min().unwrap_or(0);
        let mut out = Vec::with_capacity(parts);
        for part in 0..parts {
            let mut x = Vec::with_capacity(count);
            for column in &columns {
                x.push(*column.get(part).ok_or_else(|| malformed(data))?);
            }
            out.push(match plan {
                Some(plan) => self.extreme_part(data, w, &x, plan)?,
                None => self.float_part(data, w, &x, flush)?,
            });
        }
        Ok(if matches!(data.op, Opcode::Fcmp | Opcode::Fsignals) && w == 1 { self.narrow(&out) } else { out })
    }

    fn float_part(&mut self, data: &InstData, w: usize, x: &[Src], flush: bool) -> Result<R, Error> {
        let k = format_of(w == 1);
        let Some(&Src::R(first)) = x.first() else { return Err(malformed(data)) };
        let mut flushed = x.to_vec();
        if flush {
            for s in &mut flushed {
                if let Src::R(r) = *s {
                    *s = Src::R(self.flush(w, r));
                }
            }
        }
        let Src::R(a) = flushed[0] else { return Err(malformed(data)) };
        Ok(match (data.op, &flushed[1..]) {
            (Opcode::Fadd | Opcode::Fsub, &[b]) => {
                let r = self.a.v3(if data.op == Opcode::Fadd { ADD[w] } else { SUB[w] }, a, b);
                // Tiny sums are exact.
                if flush { self.flush(w, r) } else { r }
            }
            (Opcode::Fmul | Opcode::Fdiv, &[b]) => {
                let code = if data.op == Opcode::Fmul { MUL[w] } else { DIV[w] };
                let r = self.a.v3(code, a, b);
                if flush {
                    let large = self.a.v3(MUL[w], a, all(w, k.scale));
                    let scaled = self.a.v3(code, large, b);
                    self.flush_by_scaled(w, r, scaled)
                } else {
                    r
                }
            }
            (Opcode::Fsqrt, []) => self.a.v2(SQRT[w], Src::R(a), Size::Z, Size::Z),
            (Opcode::Fma, &[b, c]) => {
                let Src::R(b) = b else { return Err(malformed(data)) };
                let r = self.a.v4(FMA213[w], a, b, c);
                if flush {
                    let large = self.a.v3(MUL[w], a, all(w, k.scale));
                    let Src::R(c) = c else { return Err(malformed(data)) };
                    let addend = self.a.v3(MUL[w], c, all(w, k.scale));
                    let scaled = self.a.v4(FMA213[w], large, b, Src::R(addend));
                    self.flush_by_scaled(w, r, scaled)
                } else {
                    r
                }
            }
            (Opcode::Fneg, []) => self.a.v3(XOR[w], a, all(w, k.sign)),
            (Opcode::Fabs, []) => self.a.v3(AND[w], a, all(w, k.magnitude)),
            (Opcode::Ffloor, []) => {
                let a = self.denormals_up(w, k, a);
                self.a.v2i(ROUND[w], a, 9)
            }
            (Opcode::Fceil, []) => {
                let a = self.denormals_up(w, k, a);
                self.a.v2i(ROUND[w], a, 10)
            }
            (Opcode::Ftrunc, []) => self.a.v2i(ROUND[w], a, 11),
            (Opcode::Fnearest, []) => self.a.v2i(ROUND[w], a, 8),
            (Opcode::Fcmp, &[b]) => {
                let Imm::FloatCmp(cc, _) = data.imm else { return Err(malformed(data)) };
                self.a.vcmp(CMP[w], a, b, condition(cc))
            }
            (Opcode::Fsignals, &[Src::R(b)]) => {
                // With the quiet bit flipped, signalling NaNs are above all others.
                let quiet = k.min_normal >> 1;
                let turned = |l: &mut Self, x: R| {
                    let x = l.a.v3(XOR[w], x, all(w, quiet));
                    l.a.v3(AND[w], x, all(w, k.magnitude))
                };
                let (a, b) = (turned(self, a), turned(self, b));
                let highest = self.a.v3(SMAX[w], a, Src::R(b));
                self.a.vcmp(ICMP[w], highest, all(w, k.exponent | quiet), GREATER)
            }
            (Opcode::Fflush, []) => self.flush(w, first),
            (Opcode::Fcanon, []) => {
                let Imm::Bits(bits) = data.imm else { return Err(malformed(data)) };
                let nan = self.a.vcmp(CMP[w], a, Src::R(a), UNORDERED);
                self.blend(w == 1, nan, all(w, bits), a)
            }
            _ => return Err(malformed(data)),
        })
    }

    /// How the lesser or greater of two floats is found ([`crate::lower`] does it alike).
    fn extreme_plan(&mut self, data: &InstData) -> Result<Plan, Error> {
        let f = self.f;
        let classes = self.float_classes.get_or_insert_with(|| Rc::new(FloatClasses::new(f))).clone();
        let (a, b) = (classes.of(arg(data, 0)?), classes.of(arg(data, 1)?));
        Ok(Plan::new(a, b, data.op == Opcode::Fmax, self.env == FloatEnv::FlushAll))
    }

    /// The lesser or greater of two floats, which stand in the plan's order.
    fn extreme_part(&mut self, data: &InstData, w: usize, x: &[Src], plan: Plan) -> Result<R, Error> {
        let &[Src::R(a), last] = x else { return Err(malformed(data)) };
        let greater = data.op == Opcode::Fmax;
        if plan.is_plain() {
            return Ok(self.a.v3(if greater { MAX[w] } else { MIN[w] }, a, last));
        }
        let Src::R(b) = last else { return Err(malformed(data)) };
        if plan.bits {
            return Ok(self.extreme_by_bits(greater, w, a, b, plan));
        }
        let mut r = self.a.v3(if greater { MAX[w] } else { MIN[w] }, a, Src::R(b));
        if plan.zeros {
            let equal = self.a.vcmp(CMP[w], a, Src::R(b), EQUAL);
            r = self.a.v3m(if greater { AND[w] } else { OR[w] }, equal, r, r, Src::R(a));
        }
        if plan.second_nan {
            let none = self.a.vcmp(CMP[w], b, Src::R(b), UNORDERED);
            r = self.blend(w == 1, none, Src::R(a), r);
        }
        Ok(r)
    }

    fn extreme_by_bits(&mut self, greater: bool, w: usize, a: R, b: R, plan: Plan) -> R {
        let mut r = if plan.signs {
            let first = self.a.vcmp(ICMP[w], a, Src::R(b), if greater { GREATER } else { LESS });
            let both = self.a.v3(AND[w], a, Src::R(b));
            let below_zero = self.a.vtest(TEST[w], both, all(w, format_of(w == 1).sign));
            let first = self.a.k3(Code::VEX_Kxorw_kr_kr_kr, first, below_zero);
            self.blend(w == 1, first, Src::R(a), b)
        } else {
            self.a.v3(if greater { SMAX[w] } else { SMIN[w] }, a, Src::R(b))
        };
        for (may, source, other) in [(plan.second_nan, b, a), (plan.first_nan, a, b)] {
            if may {
                let none = self.a.vcmp(CMP[w], source, Src::R(source), UNORDERED);
                r = self.blend(w == 1, none, Src::R(other), r);
            }
        }
        r
    }

    /// Zero of the same sign for a denormal.
    pub fn flush(&mut self, w: usize, x: R) -> R {
        let k = format_of(w == 1);
        let small = self.a.vtest(TEST_NOT[w], x, all(w, k.exponent));
        self.a.v3m(AND[w], small, x, x, all(w, k.sign))
    }

    /// Zero of its sign for `r` where the same result, 2^64 times as large, shows that it is tiny.
    fn flush_by_scaled(&mut self, w: usize, r: R, scaled: R) -> R {
        let k = format_of(w == 1);
        let magnitude = self.a.v3(AND[w], scaled, all(w, k.magnitude));
        let tiny = self.a.vcmp(CMP[w], magnitude, all(w, k.scaled_min), LESS);
        self.a.v3m(AND[w], tiny, r, r, all(w, k.sign))
    }

    /// Zero of its sign for an f64 that would be tiny as f32.
    pub fn flush_tiny(&mut self, x: R) -> R {
        let k = format_of(true);
        let magnitude = self.a.v3(AND[1], x, Src::C64(k.magnitude));
        let tiny = self.a.vcmp(CMP[1], magnitude, Src::C64(TINY), LESS);
        self.a.v3m(AND[1], tiny, x, x, Src::C64(k.sign))
    }

    /// In a flushing environment, denormals as the smallest normals of their sign: rounding to an integer treats both
    /// alike, but the host would see zeros.
    fn denormals_up(&mut self, w: usize, k: &Format, x: R) -> R {
        if self.env == FloatEnv::Default {
            return x;
        }
        let small = self.a.vtest(TEST_NOT[w], x, all(w, k.exponent));
        let some = self.a.vtest(TEST[w], x, all(w, k.magnitude));
        let denormal = self.a.k3(Code::VEX_Kandw_kr_kr_kr, small, some);
        let sign = self.a.v3(AND[w], x, all(w, k.sign));
        self.a.v3m(OR[w], denormal, x, sign, all(w, k.min_normal))
    }

    /// a * b cut to 24 bits, plus c with one rounding, in f64 (see `fmad_trunc` of [`crate::lower::float`]).
    pub fn exact_multiply_add(&mut self, a: R, b: R, c: R, flush: bool) -> R {
        let zero = self.a.constant(false, 0);
        let is_zero = self.a.vcmp(CMP[0], c, Src::R(zero), 0);
        let halves = |l: &mut Self, x: R| {
            let high = l.a.high_half(x);
            [x, high]
                .map(|h| l.a.v2(Code::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae, Src::R(h), Size::Z, Size::Y))
        };
        let (pa, pb, pc) = (halves(self, a), halves(self, b), halves(self, c));
        let not_zero = self.a.k2(Code::VEX_Knotw_kr_kr, is_zero);
        let high = self.a.kshr(not_zero, 8);
        let mut sums = Vec::new();
        for (h, k) in [(0, not_zero), (1, high)] {
            let product = self.a.v3(MUL[1], pa[h], Src::R(pb[h]));
            let cut = self.a.v3m(AND[1], k, product, product, Src::C64(!0x1fff_ffff));
            let mut sum = self.a.v3(ADD[1], cut, Src::R(pc[h]));
            if flush {
                sum = self.flush_tiny(sum);
            }
            sums.push(self.a.v2(Code::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er, Src::R(sum), Size::Y, Size::Z));
        }
        let sum = self.a.join_halves(sums[0], sums[1]);
        // Adding -0 changes nothing; the addend again shows in the sign of a zero result only.
        let nothing = self.a.constant(false, 0x8000_0000);
        let again = self.blend(false, is_zero, Src::R(c), nothing);
        self.a.v3(ADD[0], sum, Src::R(again))
    }

    /// The scalar type's bits as they are.
    pub fn is_float(scalar: Scalar) -> bool {
        matches!(scalar, Scalar::F32 | Scalar::F64)
    }
}
