//! Writing instructions on general registers.

use iced_x86::Code;

use super::asm::{A, Asm, Mem, R, With};
use super::code::Size;

impl Asm {
    pub fn size(wide: bool) -> Size {
        if wide { Size::Q } else { Size::D }
    }

    pub fn imm(&mut self, wide: bool, bits: u64) -> R {
        let d = self.gpr();
        if wide && bits > u64::from(u32::MAX) {
            self.put(Code::Mov_r64_imm64, &[A::Def(d, Size::Q), A::I64(bits)], With::default());
        } else {
            // Clears the high half.
            self.put(Code::Mov_r32_imm32, &[A::Def(d, Size::D), A::I32(bits as i32)], With::default());
        }
        d
    }

    /// `a = a op b`, codes for 32 and 64 bits.
    pub fn g2(&mut self, wide: bool, codes: (Code, Code), a: R, b: R) -> R {
        let d = self.gpr();
        let size = Self::size(wide);
        let code = if wide { codes.1 } else { codes.0 };
        self.put(code, &[A::Reuse(d, a, size), A::Use(b, size)], With::default());
        d
    }

    /// `a = a op imm`; the immediate must fit.
    pub fn g2i(&mut self, wide: bool, codes: (Code, Code), a: R, imm: i32) -> R {
        let d = self.gpr();
        let size = Self::size(wide);
        let (code, imm) = if wide { (codes.1, A::I32to64(imm)) } else { (codes.0, A::I32(imm)) };
        self.put(code, &[A::Reuse(d, a, size), imm], With::default());
        d
    }

    /// `a = a shifted by imm`.
    pub fn shift(&mut self, wide: bool, codes: (Code, Code), a: R, by: u8) -> R {
        let d = self.gpr();
        let size = Self::size(wide);
        let code = if wide { codes.1 } else { codes.0 };
        self.put(code, &[A::Reuse(d, a, size), A::I8(by)], With::default());
        d
    }

    /// `d = op a`, or `a` in memory.
    pub fn g1(&mut self, code: Code, a: R, to: Size, from: Size) -> R {
        let d = self.gpr();
        self.put(code, &[A::Def(d, to), A::Use(a, from)], With::default());
        d
    }

    /// `a = op a`.
    pub fn g1r(&mut self, wide: bool, codes: (Code, Code), a: R) -> R {
        let d = self.gpr();
        let code = if wide { codes.1 } else { codes.0 };
        self.put(code, &[A::Reuse(d, a, Self::size(wide))], With::default());
        d
    }

    pub fn gload(&mut self, code: Code, mem: Mem, size: Size, site: Option<u32>) -> R {
        let d = self.gpr();
        self.put(code, &[A::Def(d, size), A::Mem(mem)], With { site, ..With::default() });
        d
    }

    pub fn gstore(&mut self, code: Code, mem: Mem, value: R, size: Size, site: Option<u32>) {
        self.put(code, &[A::Mem(mem), A::Use(value, size)], With { site, ..With::default() });
    }

    pub fn load32(&mut self, mem: Mem) -> R {
        self.gload(Code::Mov_r32_rm32, mem, Size::D, None)
    }

    pub fn load64g(&mut self, mem: Mem) -> R {
        self.gload(Code::Mov_r64_rm64, mem, Size::Q, None)
    }

    /// A word, or a double word, that never changes while the function runs.
    pub fn load_fixed(&mut self, wide: bool, mem: Mem) -> R {
        let d = self.gpr();
        let code = if wide { Code::Mov_r64_rm64 } else { Code::Mov_r32_rm32 };
        let with = With { steady: Some(0), ..With::default() };
        self.put(code, &[A::Def(d, Self::size(wide)), A::Mem(mem)], with);
        d
    }

    pub fn store32(&mut self, mem: Mem, value: R) {
        self.gstore(Code::Mov_rm32_r32, mem, value, Size::D, None);
    }

    pub fn store64g(&mut self, mem: Mem, value: R) {
        self.gstore(Code::Mov_rm64_r64, mem, value, Size::Q, None);
    }

    pub fn store_imm32(&mut self, mem: Mem, imm: i32) {
        self.put(Code::Mov_rm32_imm32, &[A::Mem(mem), A::I32(imm)], With::default());
    }

    /// The low 32 bits, zero-extended.
    pub fn low32(&mut self, a: R) -> R {
        if self.is_short(a) { a } else { self.g1(Code::Mov_r32_rm32, a, Size::D, Size::D) }
    }

    /// Base plus index times scale plus displacement, of 32 or 64 bits.
    pub fn lea(&mut self, wide: bool, mem: Mem) -> R {
        let d = self.gpr();
        let code = if wide { Code::Lea_r64_m } else { Code::Lea_r32_m };
        self.put(code, &[A::Def(d, Self::size(wide)), A::Mem(mem)], With::default());
        d
    }

    pub fn add_imm(&mut self, wide: bool, a: R, imm: i64) -> R {
        match i32::try_from(imm) {
            Ok(0) => a,
            Ok(small) => self.lea(wide, Mem::at(a, small)),
            Err(_) if !wide => self.lea(false, Mem::at(a, imm as i32)),
            Err(_) => {
                let b = self.imm(true, imm as u64);
                self.lea(true, Mem::indexed(a, b, 1, 0))
            }
        }
    }

    pub fn add(&mut self, wide: bool, a: R, b: R) -> R {
        self.lea(wide, Mem::indexed(a, b, 1, 0))
    }

    /// Flags of `a & b`.
    pub fn test(&mut self, wide: bool, a: R, b: R) {
        let (code, size) = if wide { (Code::Test_rm64_r64, Size::Q) } else { (Code::Test_rm32_r32, Size::D) };
        self.put(code, &[A::Use(a, size), A::Use(b, size)], With::default());
    }

    pub fn test_imm(&mut self, a: R, imm: i32) {
        self.put(Code::Test_rm32_imm32, &[A::Use(a, Size::D), A::I32(imm)], With::default());
    }

    /// Flags of `a - b`.
    pub fn cmp(&mut self, wide: bool, a: R, b: R) {
        let (code, size) = if wide { (Code::Cmp_r64_rm64, Size::Q) } else { (Code::Cmp_r32_rm32, Size::D) };
        self.put(code, &[A::Use(a, size), A::Use(b, size)], With::default());
    }

    pub fn cmp_imm(&mut self, wide: bool, a: R, imm: i32) {
        match wide {
            true => self.put(Code::Cmp_rm64_imm32, &[A::Use(a, Size::Q), A::I32to64(imm)], With::default()),
            false => self.put(Code::Cmp_rm32_imm32, &[A::Use(a, Size::D), A::I32(imm)], With::default()),
        }
    }

    /// 0 or 1 by the flags.
    pub fn set_if(&mut self, code: Code) -> R {
        let d = self.gpr();
        self.put(code, &[A::Def(d, Size::B)], With::default());
        self.g1(Code::Movzx_r32_rm8, d, Size::D, Size::B)
    }

    /// `a` if the flags say so, else `b`.
    pub fn pick_if(&mut self, code: Code, a: R, b: R) -> R {
        let d = self.gpr();
        self.put(code, &[A::Reuse(d, b, Size::Q), A::Use(a, Size::Q)], With::default());
        d
    }

    /// Element 0.
    pub fn first32(&mut self, a: R) -> R {
        self.g1(Code::EVEX_Vmovd_rm32_xmm, a, Size::D, Size::X)
    }

    pub fn first64(&mut self, a: R) -> R {
        self.g1(Code::EVEX_Vmovq_rm64_xmm, a, Size::Q, Size::X)
    }

    /// A general register in every element.
    pub fn splat(&mut self, wide: bool, a: R) -> R {
        let d = self.zmm();
        let (code, size) = match wide {
            true => (Code::EVEX_Vpbroadcastq_zmm_k1z_r64, Size::Q),
            false => (Code::EVEX_Vpbroadcastd_zmm_k1z_r32, Size::D),
        };
        self.put(code, &[A::Def(d, Size::Z), A::Use(a, size)], With::default());
        d
    }
}
