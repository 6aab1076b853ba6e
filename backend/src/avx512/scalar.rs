//! Integers and truth values that are the same in all lanes: general registers.

use iced_x86::Code;
use warpjit_ir::types::Scalar;
use warpjit_ir::{Imm, InstData, IntCC, Opcode, Value};

use super::asm::{A, Mem, R, With};
use super::code::Size;
use super::lower::{Kept, Lower};
use crate::error::Error;
use crate::operands::{arg, malformed, wide};

pub(super) const AND: (Code, Code) = (Code::And_r32_rm32, Code::And_r64_rm64);
pub(super) const AND_IMM: (Code, Code) = (Code::And_rm32_imm32, Code::And_rm64_imm32);
pub(super) const OR: (Code, Code) = (Code::Or_r32_rm32, Code::Or_r64_rm64);
const OR_IMM: (Code, Code) = (Code::Or_rm32_imm32, Code::Or_rm64_imm32);
pub(super) const XOR: (Code, Code) = (Code::Xor_r32_rm32, Code::Xor_r64_rm64);
pub(super) const XOR_IMM: (Code, Code) = (Code::Xor_rm32_imm32, Code::Xor_rm64_imm32);
pub(super) const SUB: (Code, Code) = (Code::Sub_r32_rm32, Code::Sub_r64_rm64);
pub(super) const MUL: (Code, Code) = (Code::Imul_r32_rm32, Code::Imul_r64_rm64);
pub(super) const SHL: (Code, Code) = (Code::Shl_rm32_imm8, Code::Shl_rm64_imm8);
pub(super) const SHR: (Code, Code) = (Code::Shr_rm32_imm8, Code::Shr_rm64_imm8);
pub(super) const SAR: (Code, Code) = (Code::Sar_rm32_imm8, Code::Sar_rm64_imm8);
const ROL: (Code, Code) = (Code::Rol_rm32_imm8, Code::Rol_rm64_imm8);

/// The instruction that sets a byte by a condition, and the one that moves by it.
pub(super) fn by_condition(cc: IntCC) -> (Code, Code, super::code::Flags) {
    use super::code::Flags as C;
    match cc {
        IntCC::Eq => (Code::Sete_rm8, Code::Cmove_r64_rm64, C::Equal),
        IntCC::Ne => (Code::Setne_rm8, Code::Cmovne_r64_rm64, C::NotEqual),
        IntCC::Slt => (Code::Setl_rm8, Code::Cmovl_r64_rm64, C::Less),
        IntCC::Sle => (Code::Setle_rm8, Code::Cmovle_r64_rm64, C::LessEqual),
        IntCC::Sgt => (Code::Setg_rm8, Code::Cmovg_r64_rm64, C::Greater),
        IntCC::Sge => (Code::Setge_rm8, Code::Cmovge_r64_rm64, C::GreaterEqual),
        IntCC::Ult => (Code::Setb_rm8, Code::Cmovb_r64_rm64, C::Below),
        IntCC::Ule => (Code::Setbe_rm8, Code::Cmovbe_r64_rm64, C::BelowEqual),
        IntCC::Ugt => (Code::Seta_rm8, Code::Cmova_r64_rm64, C::Above),
        IntCC::Uge => (Code::Setae_rm8, Code::Cmovae_r64_rm64, C::AboveEqual),
    }
}

impl Lower<'_> {
    /// The constant as an immediate of 32 bits, sign-extended.
    fn small(&self, v: Value, w: bool) -> Option<i32> {
        let bits = self.f.as_const(v)?;
        if w { i32::try_from(bits as i64).ok() } else { Some(bits as u32 as i32) }
    }

    /// What a value is a multiple of that an address can hold, with its factor.
    fn scaled(&self, v: Value) -> Option<(Value, u8)> {
        let data = self.f.def_inst(v).filter(|data| data.op == Opcode::Ishl)?;
        let &[x, by] = &data.args[..] else { return None };
        let by = self.f.as_const(by).filter(|by| (1..4).contains(by))?;
        // A stretch in versions leaves behind it what is used there, which the index of a shift that it has made need not be.
        let is_there = self.values[x.index()].is_some();
        (is_there && self.is_one(x) && self.f.as_const(x).is_none()).then_some((x, 1 << by))
    }

    /// Sets the flags of a comparison of uniform integers.
    pub fn compare_general(&mut self, data: &InstData) -> Result<IntCC, Error> {
        let Imm::Int(mut cc) = data.imm else { return Err(malformed(data)) };
        let (mut p, mut q) = (arg(data, 0)?, arg(data, 1)?);
        let w = wide(self.scalar_of(p));
        if self.f.as_const(p).is_some() {
            std::mem::swap(&mut p, &mut q);
            cc = cc.swapped();
        }
        let a = self.general(p)?;
        match self.small(q, w) {
            Some(0) if matches!(cc, IntCC::Eq | IntCC::Ne | IntCC::Slt | IntCC::Sge) => {
                self.a.test(w, a, a);
            }
            Some(imm) => self.a.cmp_imm(w, a, imm),
            None => {
                let b = self.general(q)?;
                self.a.cmp(w, a, b);
            }
        }
        Ok(cc)
    }

    /// An operation whose result is kept as a scalar; `false` where there is none in general registers.
    pub fn general_op(&mut self, data: &InstData, r: Value) -> Result<bool, Error> {
        let count = self.scalars(r);
        let made = self.each_group(count, |l| l.general_of_group(data, r))?;
        if self.fused[r.index()] && count == 1 && data.op == Opcode::Icmp {
            return Ok(true);
        }
        match made.into_iter().collect::<Option<Vec<R>>>() {
            Some(scalars) => {
                self.define(r, Kept::General(scalars.into()));
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// The scalar of the current sixteen lanes.
    fn general_of_group(&mut self, data: &InstData, r: Value) -> Result<Option<R>, Error> {
        let scalar = self.scalar_of(r);
        let w = wide(scalar);
        let x = arg(data, 0)?;
        let from = self.scalar_of(x);
        let s = match data.op {
            _ if matches!(scalar, Scalar::F32 | Scalar::F64) => return Ok(None),
            Opcode::Iadd => match (self.small(x, w), self.small(arg(data, 1)?, w)) {
                (_, Some(imm)) => {
                    let a = self.general(x)?;
                    self.a.add_imm(w || self.single.counts_far(r), a, imm.into())
                }
                (Some(imm), _) => {
                    let b = self.general(arg(data, 1)?)?;
                    self.a.add_imm(w, b, imm.into())
                }
                _ => {
                    let y = arg(data, 1)?;
                    match (self.scaled(y), self.scaled(x)) {
                        (Some((index, scale)), _) => {
                            let (a, b) = (self.general(x)?, self.general(index)?);
                            self.a.lea(w, Mem::indexed(a, b, scale, 0))
                        }
                        (_, Some((index, scale))) => {
                            let (a, b) = (self.general(y)?, self.general(index)?);
                            self.a.lea(w, Mem::indexed(a, b, scale, 0))
                        }
                        _ => {
                            let (a, b) = (self.general(x)?, self.general(y)?);
                            self.a.add(w, a, b)
                        }
                    }
                }
            },
            Opcode::Isub => match self.small(arg(data, 1)?, w).and_then(i32::checked_neg) {
                Some(imm) => {
                    let a = self.general(x)?;
                    self.a.add_imm(w, a, imm.into())
                }
                None => self.two(data, w, SUB, None)?,
            },
            Opcode::Imul => self.two(data, w, MUL, None)?,
            Opcode::Iand => self.two(data, w, AND, Some(AND_IMM))?,
            Opcode::Ior => self.two(data, w, OR, Some(OR_IMM))?,
            Opcode::Ixor => self.two(data, w, XOR, Some(XOR_IMM))?,
            Opcode::Inot => {
                let a = self.general(x)?;
                match scalar {
                    Scalar::I1 => self.a.g2i(false, XOR_IMM, a, 1),
                    _ => self.a.g1r(w, (Code::Not_rm32, Code::Not_rm64), a),
                }
            }
            Opcode::Ineg => {
                let a = self.general(x)?;
                self.a.g1r(w, (Code::Neg_rm32, Code::Neg_rm64), a)
            }
            Opcode::Ishl => {
                self.scalar_shift(data, w, SHL, [Code::VEX_Shlx_r32_rm32_r32, Code::VEX_Shlx_r64_rm64_r64])?
            }
            Opcode::Ushr => {
                self.scalar_shift(data, w, SHR, [Code::VEX_Shrx_r32_rm32_r32, Code::VEX_Shrx_r64_rm64_r64])?
            }
            Opcode::Sshr => {
                self.scalar_shift(data, w, SAR, [Code::VEX_Sarx_r32_rm32_r32, Code::VEX_Sarx_r64_rm64_r64])?
            }
            Opcode::Rotl => match self.f.as_const(arg(data, 1)?) {
                Some(c) => {
                    let a = self.general(x)?;
                    self.a.shift(w, ROL, a, c as u8 & if w { 63 } else { 31 })
                }
                None => return Ok(None),
            },
            Opcode::Umin | Opcode::Umax | Opcode::Smin | Opcode::Smax => {
                let cc = match data.op {
                    Opcode::Umin => IntCC::Ult,
                    Opcode::Umax => IntCC::Ugt,
                    Opcode::Smin => IntCC::Slt,
                    _ => IntCC::Sgt,
                };
                let (a, b) = (self.general(x)?, self.general(arg(data, 1)?)?);
                self.a.cmp(w, a, b);
                self.a.pick_if(by_condition(cc).1, a, b)
            }
            Opcode::Popcnt | Opcode::Clz | Opcode::Ctz => {
                let a = self.general(x)?;
                let code = match (data.op, w) {
                    (Opcode::Popcnt, false) => Code::Popcnt_r32_rm32,
                    (Opcode::Popcnt, true) => Code::Popcnt_r64_rm64,
                    (Opcode::Clz, false) => Code::Lzcnt_r32_rm32,
                    (Opcode::Clz, true) => Code::Lzcnt_r64_rm64,
                    (_, false) => Code::Tzcnt_r32_rm32,
                    (_, true) => Code::Tzcnt_r64_rm64,
                };
                self.a.g1(code, a, super::asm::Asm::size(w), super::asm::Asm::size(w))
            }
            Opcode::Lookup => {
                let Imm::Table(table) = data.imm else { return Err(malformed(data)) };
                let base = self.table(table);
                let a = self.general(x)?;
                let index = self.a.g2i(false, AND_IMM, a, table.index_mask() as i32);
                self.a.load_fixed(false, Mem::indexed(base, index, 4, 0))
            }
            Opcode::Bswap => {
                let a = self.general(x)?;
                self.a.g1r(w, (Code::Bswap_r32, Code::Bswap_r64), a)
            }
            Opcode::Icmp if !matches!(from, Scalar::I1) => {
                if self.fused[r.index()] && self.scalars(r) == 1 {
                    return Ok(None);
                }
                let cc = self.compare_general(data)?;
                self.a.set_if(by_condition(cc).0)
            }
            Opcode::Zext => {
                let a = self.general(x)?;
                self.a.low32(a)
            }
            Opcode::Sext => {
                let a = self.general(x)?;
                match self.extended[x.index()] {
                    true => a,
                    false => self.a.g1(Code::Movsxd_r64_rm32, a, Size::Q, Size::D),
                }
            }
            Opcode::Trunc => {
                let a = self.general(x)?;
                self.a.low32(a)
            }
            Opcode::Bmask => {
                let a = self.general(x)?;
                self.a.g1r(w, (Code::Neg_rm32, Code::Neg_rm64), a)
            }
            // Floats come from vectors.
            Opcode::Bitcast => self.general(x)?,
            Opcode::Select => {
                let (a, b) = (self.general(arg(data, 1)?)?, self.general(arg(data, 2)?)?);
                let c = self.general(x)?;
                self.a.test(false, c, c);
                self.a.pick_if(Code::Cmovne_r64_rm64, a, b)
            }
            _ => return Ok(None),
        };
        Ok(Some(s))
    }

    fn two(
        &mut self,
        data: &InstData,
        w: bool,
        codes: (Code, Code),
        immediate: Option<(Code, Code)>,
    ) -> Result<R, Error> {
        let (mut p, mut q) = (arg(data, 0)?, arg(data, 1)?);
        if data.op.is_commutative() && self.f.as_const(p).is_some() {
            std::mem::swap(&mut p, &mut q);
        }
        let a = self.general(p)?;
        if let (Some(codes), Some(imm)) = (immediate, self.small(q, w)) {
            return Ok(self.a.g2i(w, codes, a, imm));
        }
        let b = self.general(q)?;
        Ok(self.a.g2(w, codes, a, b))
    }

    fn scalar_shift(
        &mut self,
        data: &InstData,
        w: bool,
        by: (Code, Code),
        by_register: [Code; 2],
    ) -> Result<R, Error> {
        let (x, count) = (arg(data, 0)?, arg(data, 1)?);
        let a = self.general(x)?;
        if let Some(c) = self.f.as_const(count) {
            return Ok(self.a.shift(w, by, a, c as u8 & if w { 63 } else { 31 }));
        }
        let c = self.general(count)?;
        let d = self.a.gpr();
        let size = super::asm::Asm::size(w);
        let args = [A::Def(d, size), A::Use(a, size), A::Use(c, size)];
        self.a.put(by_register[usize::from(w)], &args, With::default());
        Ok(d)
    }
}
