//! Reads the operands of an instruction.

use warpjit_ir::{IntCC, MemAccess, Scalar, Space, Value};

use crate::gcn::lift::emit::Emit;
use crate::gcn::{Arg, Format, Inst, Operand, Select, Type};

impl Emit<'_> {
    /// Source `i` as 32 raw bits: the part that SDWA selects (extended), moved by DPP, from the indexed
    /// register in index mode. Modifiers `abs` and `neg` are not applied. Varying or uniform.
    pub(in crate::gcn::lift) fn src32(&mut self, inst: &Inst, i: usize) -> Value {
        let arg = inst.src(i);
        let word = self.src_word(inst, i, 0);
        self.select(word, arg.sel, arg.sext)
    }

    /// Source `i` as 32 raw bits with `abs` and `neg` applied to the sign bit: moves and `v_cndmask`.
    pub(in crate::gcn::lift) fn src32_modified(&mut self, inst: &Inst, i: usize) -> Value {
        let arg = inst.src(i);
        let word = self.src32(inst, i);
        self.sign_bit(word, &arg, 31)
    }

    /// Source `i` as 64 raw bits, i64. Modifiers are not applied.
    pub(in crate::gcn::lift) fn src64(&mut self, inst: &Inst, i: usize) -> Value {
        let arg = inst.src(i);
        match arg.operand {
            Operand::Vgpr(_) => {
                let (low, high) = (self.src_word(inst, i, 0), self.src_word(inst, i, 1));
                self.wide(low, high)
            }
            _ => self.read64(arg),
        }
    }

    /// Source `i` as an f32 with `abs` and `neg`. Denormals are as they are.
    pub(in crate::gcn::lift) fn src_f32(&mut self, inst: &Inst, i: usize) -> Value {
        let arg = inst.src(i);
        let bits = self.src32(inst, i);
        let value = self.b.bitcast(bits, Scalar::F32);
        self.modify(value, &arg)
    }

    /// Source `i` as an f64 with `abs` and `neg`.
    pub(in crate::gcn::lift) fn src_f64(&mut self, inst: &Inst, i: usize) -> Value {
        let arg = inst.src(i);
        let bits = self.src64(inst, i);
        let value = self.b.bitcast(bits, Scalar::F64);
        self.modify(value, &arg)
    }

    /// Source `i` as 16 bits in an i32, zero above: the half that `op_sel` or SDWA names. A byte that SDWA selects
    /// is extended to 16 bits.
    pub(in crate::gcn::lift) fn src16(&mut self, inst: &Inst, i: usize) -> Value {
        let word = self.src32(inst, i);
        let high = inst.format == Format::Vop3 && inst.op_sel >> i & 1 != 0;
        if high { self.ushr_const(word, 16) } else { self.and_const(word, 0xffff) }
    }

    /// [`Emit::src16`] extended by its sign.
    pub(in crate::gcn::lift) fn src_i16(&mut self, inst: &Inst, i: usize) -> Value {
        let value = self.src16(inst, i);
        self.extend(value, 16, true)
    }

    /// Source `i` as the bits of an f16 in an i32, zero above, with `abs` and `neg`.
    pub(in crate::gcn::lift) fn src_f16(&mut self, inst: &Inst, i: usize) -> Value {
        let arg = inst.src(i);
        let value = self.src16(inst, i);
        self.sign_bit(value, &arg, 15)
    }

    /// The first `n` dwords of an operand, as they are: data and addresses of memory instructions. Registers beyond
    /// the last one are the first again.
    pub(in crate::gcn::lift) fn src_words(&mut self, arg: Arg, n: usize) -> Vec<Value> {
        (0..n).map(|word| self.read_word(arg, word as u32)).collect()
    }

    /// An operand as 32 bits, without modifiers: scalar offsets, sources of scalar instructions.
    pub(in crate::gcn::lift) fn read32(&mut self, arg: Arg) -> Value {
        self.read_word(arg, 0)
    }

    /// An operand as an i64, without modifiers.
    pub(in crate::gcn::lift) fn read64(&mut self, arg: Arg) -> Value {
        if let Some(bits) = arg.constant() {
            // The type of the operand may be narrower than what the instruction wants of it.
            let bits = if arg.ty.bits() == 64 { bits } else { bits as u32 as i32 as i64 as u64 };
            return self.b.i64(bits);
        }
        if let Some(code) = arg.operand.scalar_code() {
            return self.scalar64(code);
        }
        let aperture = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let (shared, private) = (self.own.options.shared_aperture, self.own.options.private_aperture);
        match arg.operand {
            Operand::Vgpr(_) => {
                let (low, high) = (self.read_word(arg, 0), self.read_word(arg, 1));
                self.wide(low, high)
            }
            Operand::SharedBase => self.b.i64(aperture(shared, 0)),
            Operand::SharedLimit => self.b.i64(aperture(shared, u32::MAX)),
            Operand::PrivateBase => self.b.i64(aperture(private, 0)),
            Operand::PrivateLimit => self.b.i64(aperture(private, u32::MAX)),
            _ => {
                let word = self.read_word(arg, 0);
                self.b.convert(warpjit_ir::Opcode::Zext, word, Scalar::I64)
            }
        }
    }

    /// An operand as a mask: VCC or another pair (its lane view), or a constant.
    pub(in crate::gcn::lift) fn mask_src(&mut self, arg: Arg) -> Value {
        match arg.operand.scalar_code() {
            Some(code) => self.lanes(code),
            None => {
                let mut wide = arg;
                wide.ty = Type::B64;
                let bits = self.read64(wide);
                match self.b.func.as_const(bits) {
                    Some(0) => self.b.bool(false),
                    Some(u64::MAX) => self.b.bool(true),
                    _ => self.b.lane_bit(bits),
                }
            }
        }
    }

    /// Dword `word` of an operand.
    pub(in crate::gcn::lift) fn read_word(&mut self, arg: Arg, word: u32) -> Value {
        if let Some(bits) = arg.constant() {
            return self.b.i32((bits >> (32 * word.min(1))) as u32);
        }
        if let Some(code) = arg.operand.scalar_code() {
            // Pairs are even.
            let code = if arg.words > 1 { code & !1 } else { code };
            return self.scalar(code.saturating_add(word as u8).min(crate::gcn::lift::slots::SCALARS - 1));
        }
        match arg.operand {
            Operand::Vgpr(number) => self.vgpr(u32::from(number) + word),
            Operand::SharedBase | Operand::SharedLimit => self.b.i32(self.own.options.shared_aperture),
            Operand::PrivateBase | Operand::PrivateLimit => self.b.i32(self.own.options.private_aperture),
            Operand::Scc => {
                let scc = self.scc();
                self.bit(scc)
            }
            Operand::Vccz => self.zero_flag(0),
            Operand::Execz => self.zero_flag(1),
            Operand::LdsDirect => self.lds_direct(),
            _ => self.b.i32(0),
        }
    }

    /// Dword `word` of source `i`, from the register that DPP or the index mode says.
    fn src_word(&mut self, inst: &Inst, i: usize, word: u32) -> Value {
        if i == 0
            && word == 0
            && let Some(dpp) = self.own.dpp
        {
            return self.get(dpp.source);
        }
        let arg = inst.src(i);
        match arg.operand {
            Operand::Vgpr(number) => self.indexed_vgpr(inst, i, u32::from(number) + word),
            _ => self.read_word(arg, word),
        }
    }

    /// The part of a dword that SDWA selects.
    fn select(&mut self, word: Value, sel: Select, sext: bool) -> Value {
        if sel == Select::Dword {
            return word;
        }
        let word = if sel.shift() == 0 { word } else { self.ushr_const(word, sel.shift()) };
        self.extend(word, sel.bits(), sext)
    }

    fn modify(&mut self, value: Value, arg: &Arg) -> Value {
        let value = if arg.abs { self.b.fabs(value) } else { value };
        if arg.neg { self.b.fneg(value) } else { value }
    }

    fn sign_bit(&mut self, value: Value, arg: &Arg, bit: u32) -> Value {
        let value = if arg.abs { self.and_const(value, (1u32 << bit) - 1) } else { value };
        if !arg.neg {
            return value;
        }
        let sign = self.b.i32(1 << bit);
        self.b.ixor(value, sign)
    }

    pub(in crate::gcn::lift) fn zero_flag(&mut self, which: usize) -> Value {
        let flag = match self.own.zero_flags[which] {
            Some(slot) => self.get(slot),
            None => self.b.bool(false),
        };
        self.bit(flag)
    }

    /// The dword (or part of one) of LDS that M0 names: address 15:0, type 18:16.
    fn lds_direct(&mut self) -> Value {
        let m0 = self.m0();
        let address = self.and_const(m0, 0xffff);
        let word_address = self.and_const(address, 0xfffc);
        let mem = MemAccess {
            space: Space::Shared,
            bytes: 4,
            signed: false,
            offset: 0,
            align: 4,
            far: false,
            align_offset: 0,
        };
        let word = self.b.load(mem, word_address, None);
        let part = self.and_const(address, 3);
        let shift = self.shl_const(part, 3);
        let part = self.b.ushr(word, shift);
        let kind = self.ushr_const(m0, 16);
        let kind = self.and_const(kind, 7);
        let mut value = word;
        for (code, bits, signed) in [(0, 8, false), (1, 16, false), (4, 8, true), (5, 16, true)] {
            let code = self.b.i32(code);
            let is = self.b.icmp(IntCC::Eq, kind, code);
            let part = self.extend(part, bits, signed);
            value = self.b.select(is, part, value);
        }
        value
    }
}
