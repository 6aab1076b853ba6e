//! Writes the results of an instruction.

use warpjit_ir::{FloatCC, Opcode, Scalar, Value};

use crate::gcn::lift::analysis::statics::Mode;
use crate::gcn::lift::emit::Emit;
use crate::gcn::{Arg, Format, Generation, Inst, Omod, Op, Operand, Select, Unused};

/// Canonical NaNs.
const NAN32: u64 = 0x7fc0_0000;
const NAN64: u64 = 0x7ff8_0000_0000_0000;
const NAN16: u32 = 0x7e00;

impl Emit<'_> {
    /// Writes a 32-bit result (i32; f32 works too) to the destination: under EXEC, where SDWA and DPP say. A scalar
    /// destination takes a uniform value.
    pub(in crate::gcn::lift) fn set_dst32(&mut self, inst: &Inst, value: Value) {
        let value = self.b.bitcast(value, Scalar::I32);
        let Some(dst) = inst.dst else { return };
        match inst.sdwa {
            Some(sdwa) if sdwa.dst_sel != Select::Dword => {
                let old = self.read_dst(inst);
                let (shift, bits) = (sdwa.dst_sel.shift(), sdwa.dst_sel.bits());
                let field = ((1u32 << bits) - 1) << shift;
                let merged = match sdwa.dst_unused {
                    Unused::Preserve => {
                        let kept = self.and_const(old, !field);
                        let value = self.shl_const(value, shift);
                        let value = self.and_const(value, field);
                        self.b.ior(kept, value)
                    }
                    unused => {
                        let value = self.extend(value, bits, unused == Unused::Sext);
                        self.shl_const(value, shift)
                    }
                };
                self.write_word(inst, dst, 0, merged);
            }
            _ => self.write_word(inst, dst, 0, value),
        }
    }

    /// Writes a 64-bit result (i64; f64 works too).
    pub(in crate::gcn::lift) fn set_dst64(&mut self, inst: &Inst, value: Value) {
        let value = self.b.bitcast(value, Scalar::I64);
        let Some(dst) = inst.dst else { return };
        if let Some(code) = dst.operand.scalar_code() {
            return self.set_scalar64(code, value);
        }
        let (low, high) = (self.low(value), self.high(value));
        self.write_word(inst, dst, 0, low);
        self.write_word(inst, dst, 1, high);
    }

    /// Writes a 16-bit result, the low half of an i32. What becomes of the register's other half is the rule of the
    /// generation and the form (docs/hardware/gcn.md section 5): it becomes zero but for the operations of 1.4 that exist as
    /// VOP3 only, which keep it, and where `op_sel` names the high half. SDWA with a whole dword as its destination
    /// makes it zero too: compilers rely on that.
    pub(in crate::gcn::lift) fn set_dst16(&mut self, inst: &Inst, value: Value) {
        let high = inst.format == Format::Vop3 && inst.op_sel & 8 != 0;
        let value = self.and_const(value, 0xffff);
        if high || keeps_other_half(inst) {
            return self.set_dst_half(inst, value, high);
        }
        self.set_dst32(inst, value);
    }

    /// Writes 16 bits to one half of the destination and keeps the other half.
    pub(in crate::gcn::lift) fn set_dst_half(&mut self, inst: &Inst, value: Value, high: bool) {
        let Some(dst) = inst.dst else { return };
        let old = self.read_dst(inst);
        let kept = self.and_const(old, if high { 0xffff } else { 0xffff_0000 });
        let value = if high { self.shl_const(value, 16) } else { self.and_const(value, 0xffff) };
        let merged = self.b.ior(kept, value);
        self.write_word(inst, dst, 0, merged);
    }

    /// Writes dword after dword of the destination, as memory instructions do: registers after the last one do not
    /// exist. Scalar destinations take uniform values.
    pub(in crate::gcn::lift) fn set_dst_words(&mut self, inst: &Inst, values: &[Value]) {
        let Some(dst) = inst.dst else { return };
        let mut word = 0;
        while let Some(&value) = values.get(word) {
            // Pairs at once: a half that is written alone may need the other one taken from the lane view, and all values
            // that are still to be written would be lost.
            let next = values.get(word + 1).filter(|_| word % 2 == 0);
            let first = dst.operand.scalar_code().map(|code| (code & !1).saturating_add(word as u8));
            match first.zip(next).filter(|(code, _)| *code < crate::gcn::lift::slots::SCALARS - 1) {
                Some((code, &next)) if self.b.func.ty(value).uniform && self.b.func.ty(next).uniform => {
                    self.set_scalar_pair(code, value, next);
                    word += 2;
                }
                _ => {
                    self.write_word(inst, dst, word as u32, value);
                    word += 1;
                }
            }
        }
    }

    /// The destination's first dword before the instruction.
    pub(in crate::gcn::lift) fn read_dst(&mut self, inst: &Inst) -> Value {
        match inst.dst {
            Some(Arg { operand: Operand::Vgpr(number), .. }) => {
                self.indexed_vgpr(inst, DST_INDEX, number.into())
            }
            Some(dst) => self.read_word(dst, 0),
            None => self.b.i32(0),
        }
    }

    fn write_word(&mut self, inst: &Inst, dst: Arg, word: u32, value: Value) {
        if let Some(code) = dst.operand.scalar_code() {
            let code = if dst.words > 1 { code & !1 } else { code };
            let code = code.saturating_add(word as u8);
            if code < crate::gcn::lift::slots::SCALARS && self.b.func.ty(value).uniform {
                self.set_scalar(code, value);
            }
        } else if let Operand::Vgpr(number) = dst.operand {
            self.set_indexed_vgpr(inst, u32::from(number) + word, value);
        }
    }

    /// Writes the lanes of a compare or carry: `mask` where EXEC (and DPP) let the lane take part, 0 elsewhere. The
    /// destination is `inst.sdst`, or `inst.dst` where there is none.
    pub(in crate::gcn::lift) fn set_mask_result(&mut self, inst: &Inst, mask: Value) -> Value {
        let written = self.write_mask();
        let mask = self.b.iand(written, mask);
        if let Some(code) = inst.sdst.or(inst.dst).and_then(|arg| arg.operand.scalar_code()) {
            self.set_lanes(code, mask);
        }
        mask
    }

    /// Omod, clamp, canonical NaN, then the destination. `value` is an f32, already flushed as MODE says.
    pub(in crate::gcn::lift) fn finish_f32(&mut self, inst: &Inst, value: Value) {
        let value = self.output_modifiers(inst, value, Scalar::F32);
        let value = self.b.fcanon(value, NAN32);
        self.set_dst32(inst, value);
    }

    /// As [`Emit::finish_f32`] for an f64.
    pub(in crate::gcn::lift) fn finish_f64(&mut self, inst: &Inst, value: Value) {
        let value = self.output_modifiers(inst, value, Scalar::F64);
        let value = self.b.fcanon(value, NAN64);
        self.set_dst64(inst, value);
    }

    /// As [`Emit::finish_f32`] for the bits of an f16 in an i32.
    pub(in crate::gcn::lift) fn finish_f16(&mut self, inst: &Inst, bits: Value) {
        let bits = self.modified_f16(inst, bits);
        self.set_dst16(inst, bits);
    }

    /// Omod, clamp and canonical NaN of the bits of an f16 in an i32.
    pub(in crate::gcn::lift) fn modified_f16(&mut self, inst: &Inst, bits: Value) -> Value {
        let bits = self.and_const(bits, 0xffff);
        let bits = if inst.omod == Omod::None && !inst.clamp {
            bits
        } else {
            let value = self.b.convert(Opcode::F16ToF32, bits, Scalar::F32);
            let value = self.output_modifiers_of(inst, value, Scalar::F32, true);
            self.b.convert(Opcode::F32ToF16, value, Scalar::I32)
        };
        let magnitude = self.and_const(bits, 0x7fff);
        let infinity = self.b.i32(0x7c00);
        let is_nan = self.b.icmp(warpjit_ir::IntCC::Ugt, magnitude, infinity);
        let nan = self.b.i32(NAN16);
        self.b.select(is_nan, nan, bits)
    }

    /// Omod and clamp of an f32 or f64.
    pub(in crate::gcn::lift) fn output_modifiers(
        &mut self,
        inst: &Inst,
        value: Value,
        scalar: Scalar,
    ) -> Value {
        self.output_modifiers_of(inst, value, scalar, scalar == Scalar::F64)
    }

    fn output_modifiers_of(&mut self, inst: &Inst, value: Value, scalar: Scalar, wide_mode: bool) -> Value {
        let constant = |e: &mut Self, x: f64| match scalar {
            Scalar::F64 => e.b.f64(x),
            _ => e.b.f32(x as f32),
        };
        // Neither an f32 that was flushed nor a widened f16 is denormal.
        let ftz = scalar == Scalar::F32 && self.flushes_single();
        let mut value = value;
        let factor = match inst.omod {
            Omod::None => None,
            Omod::Mul2 => Some(2.0),
            Omod::Mul4 => Some(4.0),
            Omod::Div2 => Some(0.5),
        };
        if let Some(factor) = factor {
            let factor = constant(self, factor);
            let scaled = self.b.float(Opcode::Fmul, &[value, factor], ftz);
            // Omod works only where denormal results are off; what it makes denormal is zero then. For f64 the
            // field of f32 decides: corpus/gcn/asm_f64 (fiji) has it work with f64 denormals on.
            let half = wide_mode && scalar == Scalar::F32;
            let scaled = match (scalar, self.mode()) {
                (Scalar::F64, Mode::Known(mode)) if mode.denorm64 & 2 != 0 => scaled,
                _ => self.flush_output(scaled, half),
            };
            value = match self.mode() {
                Mode::Known(mode) => {
                    let denorm = if half { mode.denorm64 } else { mode.denorm32 };
                    if denorm & 2 == 0 { scaled } else { value }
                }
                Mode::Dynamic => {
                    let off = self.mode_bit_clear(if half { 7 } else { 5 });
                    self.b.select(off, scaled, value)
                }
            };
        }
        if inst.clamp {
            let (zero, one) = (constant(self, 0.0), constant(self, 1.0));
            let source = if ftz { self.b.fflush(value) } else { value };
            // -0 becomes +0, and so does a NaN unless DX10_CLAMP is off.
            let above = self.b.fmax(source, zero);
            let clamped = self.b.fmin(above, one);
            let nan = match self.mode() {
                Mode::Known(mode) if mode.dx10_clamp => None,
                Mode::Known(_) => Some(self.b.fcmp(FloatCC::Uno, value, value, ftz)),
                Mode::Dynamic => {
                    let nan = self.b.fcmp(FloatCC::Uno, value, value, ftz);
                    let off = self.mode_bit_clear(8);
                    Some(self.b.iand(nan, off))
                }
            };
            value = match nan {
                Some(nan) => self.b.select(nan, value, clamped),
                None => clamped,
            };
        }
        value
    }

    /// Denormals to zero; of f16 where the value is one widened.
    fn flush_output(&mut self, value: Value, half: bool) -> Value {
        if half { self.flush_half(value) } else { self.b.fflush(value) }
    }

    /// An f32 that is a widened f16, denormals of f16 to zero of their sign.
    pub(in crate::gcn::lift) fn flush_half(&mut self, value: Value) -> Value {
        let magnitude = self.b.fabs(value);
        let smallest = self.b.f32(6.103_515_6e-5);
        let ftz = self.flushes_single();
        let small = self.b.fcmp(FloatCC::Lt, magnitude, smallest, ftz);
        let zero = self.b.f32(0.0);
        let zero = self.b.float(Opcode::Fmul, &[value, zero], ftz);
        self.b.select(small, zero, value)
    }

    /// Whether a bit of MODE is zero, uniform: for where MODE is not known.
    pub(in crate::gcn::lift) fn mode_bit_clear(&mut self, bit: u32) -> Value {
        let mode = self.mode_bits();
        let bit = self.and_const(mode, 1 << bit);
        let zero = self.b.i32(0);
        self.b.icmp(warpjit_ir::IntCC::Eq, bit, zero)
    }
}

/// The number of the destination where sources have theirs, in index mode.
pub(in crate::gcn::lift) const DST_INDEX: usize = 3;

/// Whether a 16-bit result leaves the other half as it was.
fn keeps_other_half(inst: &Inst) -> bool {
    use Op::*;
    inst.generation == Generation::Gfx9
        && inst.format == Format::Vop3
        && matches!(
            inst.op,
            V_MAD_F16
                | V_FMA_F16
                | V_MAD_U16
                | V_MAD_I16
                | V_MIN3_F16
                | V_MIN3_I16
                | V_MIN3_U16
                | V_MAX3_F16
                | V_MAX3_I16
                | V_MAX3_U16
                | V_MED3_F16
                | V_MED3_I16
                | V_MED3_U16
                | V_ADD_I16
                | V_SUB_I16
                | V_DIV_FIXUP_F16
                | V_INTERP_P2_F16
        )
}
