//! Whether a float value is certainly not a denormal, so that flushing it would change nothing. Looks at the value's definition
//! and a few operations behind it.

use crate::entities::Value;
use crate::function::{Function, Imm};
use crate::opcodes::Opcode;
use crate::types::Scalar;

/// How many operations deep a value is examined.
const MOST_DEPTH: u32 = 4;

/// Whether a float is certainly not a denormal, in every lane.
pub fn is_flushed(func: &Function, value: Value) -> bool {
    is_flushed_within(func, value, MOST_DEPTH)
}

fn is_flushed_within(func: &Function, value: Value, depth: u32) -> bool {
    use Opcode::*;
    let Some(data) = func.def_inst(value) else { return false };
    let of = |n: usize| depth > 0 && is_flushed_within(func, data.args[n], depth - 1);
    match data.op {
        Const => func.as_const(value).is_some_and(|bits| match func.ty(value).scalar {
            Scalar::F32 => !f32::from_bits(bits as u32).is_subnormal(),
            _ => !f64::from_bits(bits).is_subnormal(),
        }),
        FmadTrunc | Fflush | FcvtFromSint | FcvtFromUint => true,
        Ffloor | Fceil | Ftrunc | Fnearest => true,
        Fadd | Fsub | Fmul | Fdiv | Fsqrt | Fma | Fdemote => data.imm == Imm::Ftz(true),
        Fneg | Fabs | Fcanon | Splat => of(0),
        Select => of(1) && of(2),
        Fmin | Fmax => of(0) && of(1),
        _ => false,
    }
}
