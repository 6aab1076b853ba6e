//! Recognises the instruction sequence that compilers emit for a division, and replaces its result by one IR division.
//!
//! A correctly rounded quotient takes ten instructions or more: `v_div_scale` of both operands, a reciprocal refined by Newton
//! steps, a quotient refined by its residual, `v_div_fmas`, `v_div_fixup`. Most of them run with MODE set to keep denormals.
//! Where `v_div_fixup` ends such a sequence, its result is exactly that of one division (`vector_tests` compares them), and
//! dead-code elimination removes the rest. This also matters for the code around it: operations that keep denormals would prevent
//! a whole loop from running with the host's denormal flushing on.
//!
//! The match is on SSA values of one block, so a register that is overwritten within the sequence cannot mislead it.

use warpjit_ir::{Imm, Opcode, PureFn, Value};

use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::modes::FloatLowering;
use crate::gcn::numeric::{Width, pure};
use crate::gcn::{Inst, Op};

/// The quotient if `inst` is the `v_div_fixup` of a whole sequence; `sources` are quotient, denominator, numerator.
pub(in crate::gcn::lift) fn of_sequence(
    e: &mut Emit<'_>,
    inst: &Inst,
    width: Width,
    sources: [Value; 3],
) -> Option<Value> {
    if !matches!(inst.op, Op::V_DIV_FIXUP_F32 | Op::V_DIV_FIXUP_F64) {
        return None;
    }
    let FloatLowering::Plain { ftz } = e.lowering(width) else { return None };
    let [result, denominator, numerator] = sources;
    let exec = e.write_mask();
    let sequence = Sequence { e, exec, width, ftz, denominator, numerator };
    if !sequence.is_result(result) {
        return None;
    }
    Some(e.b.float(Opcode::Fdiv, &[numerator, denominator], ftz))
}

struct Sequence<'a, 'f> {
    e: &'a Emit<'f>,
    exec: Value,
    width: Width,
    /// Denormal operands are zeros.
    ftz: bool,
    denominator: Value,
    numerator: Value,
}

impl Sequence<'_, '_> {
    /// What a value is in the lanes that take part: behind writes to registers, changes of type and of NaNs.
    fn strip(&self, mut value: Value) -> Value {
        while let Some(inst) = self.e.b.func.def_inst(value) {
            value = match (inst.op, inst.args.as_slice()) {
                (Opcode::Bitcast | Opcode::Fcanon | Opcode::Splat, &[from]) => from,
                (Opcode::Fflush, &[from]) if self.ftz => from,
                (Opcode::Select, &[mask, from, _]) if mask == self.exec => from,
                (Opcode::Ior, _) => match self.whole(value) {
                    Some(whole) => whole,
                    None => break,
                },
                _ => break,
            };
        }
        value
    }

    /// Low and high register of a 64-bit value that was read from a pair.
    fn pair(&self, value: Value) -> Option<[Value; 2]> {
        let def = |value| self.e.b.func.def_inst(value).map(|inst| (inst.op, inst.args.as_slice()));
        let Some((Opcode::Ior, &[high, low])) = def(value) else { return None };
        let Some((Opcode::Ishl, &[high, _])) = def(high) else { return None };
        match (def(low), def(high)) {
            (Some((Opcode::Zext, &[low])), Some((Opcode::Zext, &[high]))) => {
                Some([self.strip(low), self.strip(high)])
            }
            _ => None,
        }
    }

    /// The value whose two halves were written to the pair that `value` was read from.
    fn whole(&self, value: Value) -> Option<Value> {
        let [low, high] = self.pair(value)?;
        let def = |value| self.e.b.func.def_inst(value).map(|inst| (inst.op, inst.args.as_slice()));
        let (Some((Opcode::Trunc, &[low])), Some((Opcode::Trunc, &[high]))) = (def(low), def(high)) else {
            return None;
        };
        match def(high) {
            Some((Opcode::Ushr, &[high, _])) if high == low => Some(low),
            _ => None,
        }
    }

    /// The operands of `value`, if it is the result of `op`.
    fn args(&self, value: Value, op: Opcode) -> Option<&[Value]> {
        let inst = self.e.b.func.def_inst(self.strip(value))?;
        // Within the sequence denormals are kept.
        let keeps = !matches!(inst.imm, Imm::Ftz(true)) || op == Opcode::Fdiv;
        (inst.op == op && keeps).then_some(inst.args.as_slice())
    }

    fn same(&self, a: Value, b: Value) -> bool {
        let (a, b) = (self.strip(a), self.strip(b));
        let constant = |value| self.e.b.func.as_const(value);
        a == b
            || constant(a).is_some_and(|bits| constant(b) == Some(bits))
            || self.pair(a).is_some_and(|pair| self.pair(b) == Some(pair))
    }

    fn is_one(&self, value: Value) -> bool {
        let one = if self.width == Width::Double { 1f64.to_bits() } else { 1f32.to_bits().into() };
        self.e.b.func.as_const(self.strip(value)) == Some(one)
    }

    fn calls(&self, value: Value, callee: &'static PureFn, args: &[Value]) -> bool {
        let Some(inst) = self.e.b.func.def_inst(self.strip(value)) else { return false };
        matches!(inst.imm, Imm::Pure(called) if *called == *callee)
            && inst.args.len() == args.len()
            && inst.args.iter().zip(args).all(|(&a, &b)| self.same(a, b))
    }

    /// The scaled denominator or numerator.
    fn is_scaled(&self, value: Value, of: Value) -> bool {
        let callee = if self.width == Width::Double { &pure::DIV_SCALE_F64 } else { &pure::DIV_SCALE_F32 };
        self.calls(value, callee, &[of, self.denominator, self.numerator])
    }

    /// `v_div_fmas` with the residual, the reciprocal and the quotient, scaled where `v_div_scale` said so.
    fn is_result(&self, value: Value) -> bool {
        let Some(product) = self.e.b.func.def_inst(self.strip(value)) else { return false };
        let (Opcode::Fmul, &[sum, factor]) = (product.op, product.args.as_slice()) else { return false };
        let Some(sum) = self.e.b.func.def_inst(sum) else { return false };
        let (Opcode::Fma, &[residual, rcp, quotient]) = (sum.op, sum.args.as_slice()) else { return false };
        let steps = if self.width == Width::Double { (2, 0) } else { (1, 1) };
        self.is_scale_back(factor)
            && self.is_residual(residual, quotient)
            && self.is_reciprocal(rcp, steps.0)
            && self.is_quotient(quotient, rcp, steps.1)
    }

    /// The factor of `v_div_fmas`, with the flag of these operands.
    fn is_scale_back(&self, factor: Value) -> bool {
        let Some(&[flag, ..]) = self.args(factor, Opcode::Select) else { return false };
        let Some(&[a, b]) = self.args(flag, Opcode::Iand) else { return false };
        let callee = if self.width == Width::Double { &pure::DIV_FLAG_F64 } else { &pure::DIV_FLAG_F32 };
        a == self.exec && self.calls(b, callee, &[self.denominator, self.numerator])
    }

    /// Numerator less quotient times denominator.
    fn is_residual(&self, value: Value, quotient: Value) -> bool {
        let Some(&[a, b, c]) = self.args(value, Opcode::Fma) else { return false };
        self.is_scaled(c, self.numerator) && self.is_minus_denominator(a) && self.same(b, quotient)
    }

    fn is_minus_denominator(&self, value: Value) -> bool {
        matches!(self.args(value, Opcode::Fneg), Some(&[of]) if self.is_scaled(of, self.denominator))
    }

    /// A reciprocal of the denominator, refined that many times.
    fn is_reciprocal(&self, value: Value, steps: u32) -> bool {
        if steps == 0 {
            let quotient = self.args(value, Opcode::Fdiv);
            return matches!(quotient, Some(&[one, of]) if self.is_one(one) && self.is_scaled(of, self.denominator));
        }
        let Some(&[a, b, c]) = self.args(value, Opcode::Fma) else { return false };
        let error = |error: Value| {
            let args = self.args(error, Opcode::Fma);
            matches!(args, Some(&[x, y, z]) if self.is_minus_denominator(x) && self.same(y, c) && self.is_one(z))
        };
        let refines = (self.same(b, c) && error(a)) || (self.same(a, c) && error(b));
        refines && self.is_reciprocal(c, steps - 1)
    }

    /// Numerator times reciprocal, refined that many times.
    fn is_quotient(&self, value: Value, rcp: Value, steps: u32) -> bool {
        if steps == 0 {
            let product = self.args(value, Opcode::Fmul);
            return matches!(product, Some(&[a, b]) if self.is_scaled(a, self.numerator) && self.same(b, rcp));
        }
        let Some(&[a, b, c]) = self.args(value, Opcode::Fma) else { return false };
        self.same(b, rcp) && self.is_residual(a, c) && self.is_quotient(c, rcp, steps - 1)
    }
}
