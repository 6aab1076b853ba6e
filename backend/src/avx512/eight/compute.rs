//! Computing in vectors of 256 bits: instructions without memory.

use iced_x86::Code;
use warpjit_ir::types::Scalar;
use warpjit_ir::{FloatCC, Imm, InstData, IntCC, Opcode, Value};

use super::super::asm::{A, R, With};
use super::super::code::Size;
use super::super::scalar::{AND, SHL};
use super::{Kept, Lower, refused};
use crate::error::Error;
use crate::operands::{arg, constant, malformed, result, wide};

impl Lower<'_> {
    /// `code d, a, b`.
    pub(super) fn v3(&mut self, code: Code, a: R, b: R) -> R {
        let d = self.a.zmm();
        self.a.put(code, &[A::Def(d, Size::Y), A::Use(a, Size::Y), A::Use(b, Size::Y)], With::default());
        d
    }

    pub(super) fn v3_pool(&mut self, code: Code, a: R, entry: u32) -> R {
        let d = self.a.zmm();
        self.a.put(code, &[A::Def(d, Size::Y), A::Use(a, Size::Y), A::Pool(entry)], With::default());
        d
    }

    /// `code d, a, imm`.
    pub(super) fn v2i(&mut self, code: Code, a: R, imm: u8) -> R {
        let d = self.a.zmm();
        self.a.put(code, &[A::Def(d, Size::Y), A::Use(a, Size::Y), A::I8(imm)], With::default());
        d
    }

    /// `code d, a`.
    fn v2(&mut self, code: Code, a: R, from: Size) -> R {
        let d = self.a.zmm();
        self.a.put(code, &[A::Def(d, Size::Y), A::Use(a, from)], With::default());
        d
    }

    /// `code d, a, b` of each part, `b` from memory where it is a constant.
    fn each(&mut self, code: Code, a: Value, b: Value) -> Result<Vec<R>, Error> {
        let left = self.parts(a)?;
        if let (Kept::Const(bits), false) = (self.kept(b)?.clone(), self.vectors.contains_key(&b)) {
            let entry = self.constant_entry(self.f.ty(b).scalar, bits);
            return Ok(left.iter().map(|&x| self.v3_pool(code, x, entry)).collect());
        }
        let right = self.parts(b)?;
        Ok(left.iter().zip(&right).map(|(&x, &y)| self.v3(code, x, y)).collect())
    }

    /// The same where the operands may change places.
    fn either(&mut self, code: Code, a: Value, b: Value) -> Result<Vec<R>, Error> {
        match self.kept(a)? {
            Kept::Const(_) => self.each(code, b, a),
            _ => self.each(code, a, b),
        }
    }

    /// The complement.
    fn complement(&mut self, a: R) -> R {
        let ones = self.words(&[u32::MAX; 8]);
        self.v3_pool(Code::VEX_Vpxor_ymm_ymm_ymmm256, a, ones)
    }

    /// `a` where the mask holds, else `b`.
    pub(super) fn blend(&mut self, mask: R, a: R, b: R) -> R {
        let d = self.a.zmm();
        let args = [A::Def(d, Size::Y), A::Use(b, Size::Y), A::Use(a, Size::Y), A::Use(mask, Size::Y)];
        self.a.put(Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm, &args, With::default());
        d
    }

    /// Emits an instruction.
    pub(super) fn inst(&mut self, data: &InstData) -> Result<(), Error> {
        match data.op {
            Opcode::Const => {
                let (r, bits) = constant(self.f, data)?;
                self.define(r, Kept::Const(bits));
                return Ok(());
            }
            Opcode::SlotSet => return self.set_slot(data),
            Opcode::Load => return self.load(data),
            Opcode::Prefetch => return self.prefetch(data),
            Opcode::Bitcast | Opcode::Splat | Opcode::Bmask => {
                let (r, a) = (result(data)?, arg(data, 0)?);
                if wide(self.f.ty(r).scalar) != wide(self.f.ty(a).scalar) {
                    return Err(refused("a wide mask"));
                }
                let kept = match (data.op, self.kept(a)?) {
                    // All bits of truth values.
                    (Opcode::Bmask, _) => Kept::Parts(self.parts(a)?),
                    (_, kept) => kept.clone(),
                };
                self.define(r, kept);
                return Ok(());
            }
            _ => {}
        }
        let r = result(data)?;
        if self.f.ty(r).uniform && self.f.ty(r).scalar == Scalar::I32 && self.scalar(data, r)? {
            return Ok(());
        }
        let parts = self.compute(data, r)?;
        self.define(r, Kept::Parts(parts));
        Ok(())
    }

    /// Computes a value that is the same in all lanes in a general register. `false`: it has to be a vector.
    fn scalar(&mut self, data: &InstData, r: Value) -> Result<bool, Error> {
        let known =
            matches!(data.op, Opcode::Iadd | Opcode::Isub | Opcode::Imul | Opcode::Ishl | Opcode::Iand);
        let general = |kept: &Kept| matches!(kept, Kept::Const(_) | Kept::General(_) | Kept::Memory(_));
        if !known || !data.args.iter().all(|&v| self.kept(v).is_ok_and(general)) {
            return Ok(false);
        }
        let (a, b) = (arg(data, 0)?, arg(data, 1)?);
        let by = match self.kept(b)? {
            Kept::Const(bits) => Some(*bits as u32),
            _ => None,
        };
        let made = match (data.op, by) {
            (Opcode::Ishl, None) => return Ok(false),
            (Opcode::Ishl, Some(by)) => {
                let a = self.general(a)?;
                self.a.shift(false, SHL, a, (by & 31) as u8)
            }
            (Opcode::Iadd, Some(n)) => {
                let a = self.general(a)?;
                self.a.add_imm(false, a, (n as i32).into())
            }
            (op, _) => {
                let (a, b) = (self.general(a)?, self.general(b)?);
                match op {
                    Opcode::Iadd => self.a.add(false, a, b),
                    Opcode::Isub => self.a.g2(false, (Code::Sub_r32_rm32, Code::Sub_r64_rm64), a, b),
                    Opcode::Imul => self.a.g2(false, (Code::Imul_r32_rm32, Code::Imul_r64_rm64), a, b),
                    _ => self.a.g2(false, AND, a, b),
                }
            }
        };
        self.define(r, Kept::General(made));
        Ok(true)
    }

    fn compute(&mut self, data: &InstData, r: Value) -> Result<Vec<R>, Error> {
        use Opcode as O;
        let scalar = self.f.ty(data.args.first().copied().unwrap_or(r)).scalar;
        let is_wide = wide(scalar);
        if let Imm::Ftz(true) = data.imm {
            return Err(refused("a flush"));
        }
        let pick = |narrow: Code, double: Code| if is_wide { double } else { narrow };
        let narrow = |code: Code| if is_wide { Err(refused("a wide operation")) } else { Ok(code) };
        Ok(match data.op {
            O::ActiveMask => vec![self.active],
            O::SlotGet => {
                let Imm::Slot(slot) = data.imm else { return Err(malformed(data)) };
                let place = self.slot_place(slot.index())?;
                if self.f.ty(r).scalar != Scalar::I32 {
                    return Err(refused("a slot"));
                }
                vec![self.load32(place)]
            }
            O::Iadd => self.either(
                pick(Code::VEX_Vpaddd_ymm_ymm_ymmm256, Code::VEX_Vpaddq_ymm_ymm_ymmm256),
                data.args[0],
                data.args[1],
            )?,
            O::Isub => self.each(
                pick(Code::VEX_Vpsubd_ymm_ymm_ymmm256, Code::VEX_Vpsubq_ymm_ymm_ymmm256),
                data.args[0],
                data.args[1],
            )?,
            O::Imul => self.either(narrow(Code::VEX_Vpmulld_ymm_ymm_ymmm256)?, data.args[0], data.args[1])?,
            O::Iand => self.either(Code::VEX_Vpand_ymm_ymm_ymmm256, data.args[0], data.args[1])?,
            O::Ior => self.either(Code::VEX_Vpor_ymm_ymm_ymmm256, data.args[0], data.args[1])?,
            O::Ixor => self.either(Code::VEX_Vpxor_ymm_ymm_ymmm256, data.args[0], data.args[1])?,
            O::Inot => {
                let parts = self.parts(data.args[0])?;
                parts.iter().map(|&x| self.complement(x)).collect()
            }
            O::Smin => self.either(narrow(Code::VEX_Vpminsd_ymm_ymm_ymmm256)?, data.args[0], data.args[1])?,
            O::Smax => self.either(narrow(Code::VEX_Vpmaxsd_ymm_ymm_ymmm256)?, data.args[0], data.args[1])?,
            O::Umin => self.either(narrow(Code::VEX_Vpminud_ymm_ymm_ymmm256)?, data.args[0], data.args[1])?,
            O::Umax => self.either(narrow(Code::VEX_Vpmaxud_ymm_ymm_ymmm256)?, data.args[0], data.args[1])?,
            O::Ishl | O::Ushr | O::Sshr => self.shift(data, is_wide)?,
            O::Icmp => vec![self.icmp(data, is_wide)?],
            O::Fcmp => vec![self.fcmp(data, is_wide)?],
            O::Select => {
                if wide(self.f.ty(r).scalar) {
                    return Err(refused("a choice of wide values"));
                }
                let mask = self.vector(data.args[0])?;
                let (a, b) = (self.vector(data.args[1])?, self.vector(data.args[2])?);
                vec![self.blend(mask, a, b)]
            }
            O::Fadd => self.either(
                pick(Code::VEX_Vaddps_ymm_ymm_ymmm256, Code::VEX_Vaddpd_ymm_ymm_ymmm256),
                data.args[0],
                data.args[1],
            )?,
            O::Fsub => self.each(
                pick(Code::VEX_Vsubps_ymm_ymm_ymmm256, Code::VEX_Vsubpd_ymm_ymm_ymmm256),
                data.args[0],
                data.args[1],
            )?,
            O::Fmul => self.either(
                pick(Code::VEX_Vmulps_ymm_ymm_ymmm256, Code::VEX_Vmulpd_ymm_ymm_ymmm256),
                data.args[0],
                data.args[1],
            )?,
            O::Fdiv => self.each(
                pick(Code::VEX_Vdivps_ymm_ymm_ymmm256, Code::VEX_Vdivpd_ymm_ymm_ymmm256),
                data.args[0],
                data.args[1],
            )?,
            O::Fma => vec![self.fma(data, is_wide)?],
            O::Fsqrt => {
                let a = self.vector(data.args[0])?;
                vec![self.v2(narrow(Code::VEX_Vsqrtps_ymm_ymmm256)?, a, Size::Y)]
            }
            O::Ffloor | O::Fceil | O::Fnearest | O::Ftrunc => {
                // Downwards, upwards, to even, to zero; nothing is raised.
                let way = match data.op {
                    O::Ffloor => 9,
                    O::Fceil => 10,
                    O::Ftrunc => 11,
                    _ => 8,
                };
                let code = pick(Code::VEX_Vroundps_ymm_ymmm256_imm8, Code::VEX_Vroundpd_ymm_ymmm256_imm8);
                let parts = self.parts(data.args[0])?;
                parts.iter().map(|&x| self.v2i(code, x, way)).collect()
            }
            O::Fcanon => {
                let Imm::Bits(nan) = data.imm else { return Err(malformed(data)) };
                let a = self.vector(data.args[0])?;
                let odd = self.compare(Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, a, a, 3);
                let entry = self.constant_entry(scalar, nan);
                let d = self.a.zmm();
                let args = [A::Def(d, Size::Y), A::Use(a, Size::Y), A::Pool(entry), A::Use(odd, Size::Y)];
                self.a.put(Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm, &args, With::default());
                vec![d]
            }
            O::FcvtFromSint if self.f.ty(r).scalar == Scalar::F32 => {
                let a = self.vector(data.args[0])?;
                vec![self.v2(Code::VEX_Vcvtdq2ps_ymm_ymmm256, a, Size::Y)]
            }
            O::F16ToF32 if std::arch::is_x86_feature_detected!("f16c") => {
                let (a, low) = (self.vector(data.args[0])?, self.words(&[0xffff; 8]));
                let a = self.v3_pool(Code::VEX_Vpand_ymm_ymm_ymmm256, a, low);
                // Each half of the vector packs its own four; these go side by side.
                let packed = self.v3(Code::VEX_Vpackusdw_ymm_ymm_ymmm256, a, a);
                let halves = self.v2i(Code::VEX_Vpermq_ymm_ymmm256_imm8, packed, 0x08);
                vec![self.v2(Code::VEX_Vcvtph2ps_ymm_xmmm128, halves, Size::X)]
            }
            O::Fpromote => {
                let a = self.vector(data.args[0])?;
                let high = self.high(a);
                [a, high].map(|half| self.v2(Code::VEX_Vcvtps2pd_ymm_xmmm128, half, Size::X)).to_vec()
            }
            O::Trunc => {
                let parts = self.parts(data.args[0])?;
                let d = self.a.zmm();
                let args =
                    [A::Def(d, Size::Y), A::Use(parts[0], Size::Y), A::Use(parts[1], Size::Y), A::I8(0x88)];
                self.a.put(Code::VEX_Vshufps_ymm_ymm_ymmm256_imm8, &args, With::default());
                vec![self.v2i(Code::VEX_Vpermq_ymm_ymmm256_imm8, d, 0xd8)]
            }
            O::Lookup => vec![self.lookup(data)?],
            op => return Err(refused(op.name())),
        })
    }

    fn shift(&mut self, data: &InstData, is_wide: bool) -> Result<Vec<R>, Error> {
        let (a, b) = (self.parts(data.args[0])?, data.args[1]);
        let left = data.op == Opcode::Ishl;
        if let Kept::Const(by) = *self.kept(b)? {
            let code = match (data.op, is_wide) {
                (Opcode::Ishl, false) => Code::VEX_Vpslld_ymm_ymm_imm8,
                (Opcode::Ushr, false) => Code::VEX_Vpsrld_ymm_ymm_imm8,
                (Opcode::Sshr, false) => Code::VEX_Vpsrad_ymm_ymm_imm8,
                (Opcode::Ishl, true) => Code::VEX_Vpsllq_ymm_ymm_imm8,
                (Opcode::Ushr, true) => Code::VEX_Vpsrlq_ymm_ymm_imm8,
                _ => return Err(refused("a wide shift")),
            };
            let by = by as u8 & if is_wide { 63 } else { 31 };
            return Ok(a.iter().map(|&x| self.v2i(code, x, by)).collect());
        }
        if is_wide {
            return Err(refused("a wide shift"));
        }
        let low = self.words(&[31; 8]);
        let by = self.vector(b)?;
        let by = self.v3_pool(Code::VEX_Vpand_ymm_ymm_ymmm256, by, low);
        let code = match (left, data.op == Opcode::Ushr) {
            (true, _) => Code::VEX_Vpsllvd_ymm_ymm_ymmm256,
            (false, true) => Code::VEX_Vpsrlvd_ymm_ymm_ymmm256,
            (false, false) => Code::VEX_Vpsravd_ymm_ymm_ymmm256,
        };
        Ok(vec![self.v3(code, a[0], by)])
    }

    fn compare(&mut self, code: Code, a: R, b: R, condition: u8) -> R {
        let d = self.a.zmm();
        let args = [A::Def(d, Size::Y), A::Use(a, Size::Y), A::Use(b, Size::Y), A::I8(condition)];
        self.a.put(code, &args, With::default());
        d
    }

    fn icmp(&mut self, data: &InstData, is_wide: bool) -> Result<R, Error> {
        let Imm::Int(cc) = data.imm else { return Err(malformed(data)) };
        if is_wide {
            return Err(refused("a comparison of wide values"));
        }
        let (a, b) = (self.vector(data.args[0])?, self.vector(data.args[1])?);
        let (equal, greater) = (Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256, Code::VEX_Vpcmpgtd_ymm_ymm_ymmm256);
        let (least, most) = (Code::VEX_Vpminud_ymm_ymm_ymmm256, Code::VEX_Vpmaxud_ymm_ymm_ymmm256);
        // Of unsigned numbers: whether one is the smaller or larger of both.
        let is_end = |e: &mut Self, code: Code| {
            let end = e.v3(code, a, b);
            e.v3(equal, end, a)
        };
        let (holds, complement) = match cc {
            IntCC::Eq => (self.v3(equal, a, b), false),
            IntCC::Ne => (self.v3(equal, a, b), true),
            IntCC::Sgt => (self.v3(greater, a, b), false),
            IntCC::Sle => (self.v3(greater, a, b), true),
            IntCC::Slt => (self.v3(greater, b, a), false),
            IntCC::Sge => (self.v3(greater, b, a), true),
            IntCC::Ule => (is_end(self, least), false),
            IntCC::Ugt => (is_end(self, least), true),
            IntCC::Uge => (is_end(self, most), false),
            IntCC::Ult => (is_end(self, most), true),
        };
        Ok(if complement { self.complement(holds) } else { holds })
    }

    fn fcmp(&mut self, data: &InstData, is_wide: bool) -> Result<R, Error> {
        let Imm::FloatCmp(cc, false) = data.imm else { return Err(refused("a flush")) };
        if is_wide {
            return Err(refused("a comparison of wide values"));
        }
        let condition = match cc {
            FloatCC::Eq => 0x00,
            FloatCC::Lt => 0x11,
            FloatCC::Le => 0x12,
            FloatCC::Gt => 0x1e,
            FloatCC::Ge => 0x1d,
            FloatCC::Ne => 0x04,
            FloatCC::Uno => 0x03,
            _ => return Err(refused("a comparison")),
        };
        let (a, b) = (self.vector(data.args[0])?, self.vector(data.args[1])?);
        Ok(self.compare(Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, a, b, condition))
    }

    /// `a * b + c`.
    fn fma(&mut self, data: &InstData, is_wide: bool) -> Result<R, Error> {
        if is_wide || !self.options.target.has_fma() {
            return Err(refused("a product and a sum at once"));
        }
        let (mut x, mut y) = (data.args[0], data.args[1]);
        if matches!(self.kept(x)?, Kept::Const(_)) {
            (x, y) = (y, x);
        }
        let c = self.vector(data.args[2])?;
        let x = self.vector(x)?;
        let d = self.a.zmm();
        let y = match self.kept(y)?.clone() {
            Kept::Const(bits) => A::Pool(self.constant_entry(Scalar::F32, bits)),
            _ => A::Use(self.vector(y)?, Size::Y),
        };
        // The sum's register is used up, since it is mostly needed nowhere else.
        let args = [A::Reuse(d, c, Size::Y), A::Use(x, Size::Y), y];
        self.a.put(Code::VEX_Vfmadd231ps_ymm_ymm_ymmm256, &args, With::default());
        Ok(d)
    }

    /// The upper half of a vector.
    pub(super) fn high(&mut self, a: R) -> R {
        let d = self.a.zmm();
        let args = [A::Def(d, Size::X), A::Use(a, Size::Y), A::I8(1)];
        self.a.put(Code::VEX_Vextracti128_xmmm128_ymm_imm8, &args, With::default());
        d
    }
}
