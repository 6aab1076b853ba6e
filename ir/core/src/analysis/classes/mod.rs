//! Which classes of floats each value can be: infinity, normal, denormal or zero of either sign, quiet NaN, signalling NaN.
//!
//! The analysis is a fixed point over the whole function. Every value starts with no class. A block parameter has the classes of
//! all its arguments; a result has those that its operands allow. An integer has the classes of the float with the same bits,
//! because guests keep floats in integer registers. A class that is possible in one lane counts as possible in every lane.

use crate::entities::Value;
use crate::function::{Function, Imm, InstData, ValueDef};
use crate::opcodes::Opcode;
use crate::types::Scalar;

/// A set of float classes, one bit each. The classes of numbers are in numeric order, the least one in the lowest bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Classes(u16);

const NEG_INFINITY: u16 = 1;
const NEG_NORMAL: u16 = 1 << 1;
const NEG_DENORMAL: u16 = 1 << 2;
const NEG_ZERO: u16 = 1 << 3;
const POS_ZERO: u16 = 1 << 4;
const POS_DENORMAL: u16 = 1 << 5;
const POS_NORMAL: u16 = 1 << 6;
const POS_INFINITY: u16 = 1 << 7;
const QUIET: u16 = 1 << 8;
const SIGNALLING: u16 = 1 << 9;

const NUMBERS: u16 = 0xff;
const NEGATIVE: u16 = 0x0f;
const POSITIVE: u16 = 0xf0;
const NAN: u16 = QUIET | SIGNALLING;
/// Classes with a single member.
const POINTS: u16 = NEG_INFINITY | NEG_ZERO | POS_ZERO | POS_INFINITY;

impl Classes {
    /// The empty set, for a value that is never computed.
    pub const NONE: Classes = Classes(0);
    /// Anything.
    pub const ALL: Classes = Classes(NUMBERS | NAN);
    /// NaNs.
    pub const NAN: Classes = Classes(NAN);
    /// Signalling NaNs.
    pub const SIGNALLING: Classes = Classes(SIGNALLING);
    /// Denormals of both signs.
    pub const DENORMALS: Classes = Classes(NEG_DENORMAL | POS_DENORMAL);
    /// Negative numbers, including -0.
    pub const NEGATIVE: Classes = Classes(NEGATIVE);
    /// -0.
    pub const NEG_ZERO: Classes = Classes(NEG_ZERO);
    /// +0.
    pub const POS_ZERO: Classes = Classes(POS_ZERO);

    /// The class of a constant of this type.
    pub fn of(scalar: Scalar, bits: u64) -> Classes {
        let (fraction_bits, width) = match scalar {
            Scalar::F32 | Scalar::I32 => (23, 32),
            Scalar::F64 | Scalar::I64 => (52, 64),
            Scalar::I1 => return Classes::ALL,
        };
        let fraction = bits & ((1 << fraction_bits) - 1);
        let exponents = (1 << (width - 1 - fraction_bits)) - 1;
        let positive = match (bits >> fraction_bits & exponents, fraction) {
            (0, 0) => POS_ZERO,
            (0, _) => POS_DENORMAL,
            (e, 0) if e == exponents => POS_INFINITY,
            (e, _) if e == exponents && fraction >> (fraction_bits - 1) != 0 => QUIET,
            (e, _) if e == exponents => SIGNALLING,
            _ => POS_NORMAL,
        };
        let kind = Classes(positive);
        if bits >> (width - 1) & 1 != 0 { kind.mirrored() } else { kind }
    }

    /// Whether the two sets have a common class.
    pub fn may(self, other: Classes) -> bool {
        self.0 & other.0 != 0
    }

    /// The union.
    #[must_use]
    pub fn or(self, other: Classes) -> Classes {
        Classes(self.0 | other.0)
    }

    fn numbers(self) -> u16 {
        self.0 & NUMBERS
    }

    /// The classes of the negated values. NaNs have no sign.
    fn mirrored(self) -> Classes {
        Classes((self.numbers() as u8).reverse_bits() as u16 | self.0 & NAN)
    }

    /// The classes of the magnitudes.
    fn magnitude(self) -> Classes {
        Classes((self.0 | self.mirrored().0) & !NEGATIVE)
    }

    /// The classes after flushing: denormals become zeros of the same sign.
    fn flushed(self) -> Classes {
        let denormals = self.0 & Classes::DENORMALS.0;
        let zeros = if denormals & NEG_DENORMAL != 0 { NEG_ZERO } else { 0 }
            | if denormals & POS_DENORMAL != 0 { POS_ZERO } else { 0 };
        Classes(self.0 & !denormals | zeros)
    }

    /// All classes of numbers with a sign that occurs in this set, without denormals if `ftz`, and NaNs if `nan`.
    fn any_of_signs(self, ftz: bool, nan: bool) -> Classes {
        let positive = if self.0 & POSITIVE != 0 { POSITIVE } else { 0 };
        let negative = if self.0 & NEGATIVE != 0 { NEGATIVE } else { 0 };
        let any = Classes(positive | negative | if nan { NAN } else { 0 });
        if ftz { any.flushed() } else { any }
    }

    /// Whether every number of this set is at most every number of the other.
    fn is_below(self, other: Classes) -> bool {
        let (own, others) = (self.numbers(), other.numbers());
        if own == 0 || others == 0 {
            return true;
        }
        let (highest, lowest) = (1 << own.ilog2(), others & others.wrapping_neg());
        highest < lowest || highest == lowest && highest & POINTS != 0
    }

    /// The classes of the minimum (or maximum) of two values.
    fn extreme(self, other: Classes, greater: bool) -> Classes {
        // The numbers of one operand that may be the result: all, if the other may be a NaN; otherwise those that do
        // not lose against all of the other's.
        let survive = |own: Classes, other: Classes| {
            let others = other.numbers();
            if other.may(Classes::NAN) || others == 0 {
                own.numbers()
            } else if greater {
                own.numbers() & (others & others.wrapping_neg()).wrapping_neg()
            } else {
                own.numbers() & ((2 << others.ilog2()) - 1)
            }
        };
        let nan = if self.may(Classes::NAN) && other.may(Classes::NAN) { NAN } else { 0 };
        Classes(survive(self, other) | survive(other, self) | nan)
    }

    /// The operand that [`Opcode::Fmin`] (or `Fmax` if `greater`) certainly returns: the first (true) or the second
    /// (false).
    pub(crate) fn decided(self, other: Classes, greater: bool) -> Option<bool> {
        let wins = |a: Classes, b: Classes| {
            let beats = if greater { b.is_below(a) } else { a.is_below(b) };
            a.numbers() != 0 && !a.may(Classes::NAN) && beats
        };
        match (wins(self, other), wins(other, self)) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
}

/// The classes of each value of a function.
pub struct FloatClasses {
    of: Vec<Classes>,
}

impl FloatClasses {
    /// Analyses a function as it is now.
    pub fn new(func: &Function) -> FloatClasses {
        let count = func.values.len();
        // The uses of each value.
        let mut users: Vec<Vec<Value>> = vec![Vec::new(); count];
        let mut work = Vec::new();
        for data in &func.blocks {
            for inst in data.insts.iter().map(|&inst| func.inst(inst)) {
                let Some(result) = inst.result else { continue };
                work.push(result);
                if depends_on_operands(inst.op) {
                    inst.args.iter().for_each(|arg| users[arg.index()].push(result));
                }
            }
            for call in data.term.iter().flat_map(|term| term.calls()) {
                for (&param, &arg) in func.block(call.block).params.iter().zip(&call.args) {
                    users[arg.index()].push(param);
                }
            }
        }
        let mut classes = FloatClasses { of: vec![Classes::NONE; count] };
        // Parameters of the entry are unknown.
        for &param in func.blocks.get(func.entry.index()).iter().flat_map(|entry| &entry.params) {
            classes.of[param.index()] = Classes::ALL;
            work.push(param);
        }
        // Visit in order first, because operands mostly precede their users.
        work.reverse();
        while let Some(value) = work.pop() {
            let before = classes.of(value);
            let mut now = before;
            if let ValueDef::Inst(inst) = func.values[value.index()].def {
                now = before.or(classes.transfer(func, func.inst(inst)));
                if now == before {
                    continue;
                }
                classes.of[value.index()] = now;
            }
            for &user in &users[value.index()] {
                if let ValueDef::Param(..) = func.values[user.index()].def {
                    let joined = classes.of(user).or(now);
                    if joined == classes.of(user) {
                        continue;
                    }
                    classes.of[user.index()] = joined;
                }
                work.push(user);
            }
        }
        classes
    }

    /// The classes of a value.
    pub fn of(&self, value: Value) -> Classes {
        self.of.get(value.index()).copied().unwrap_or(Classes::ALL)
    }

    fn transfer(&self, func: &Function, data: &InstData) -> Classes {
        use Opcode::*;
        let Some(scalar) = data.result.map(|result| func.ty(result).scalar) else { return Classes::NONE };
        if !depends_on_operands(data.op) {
            return match (data.op, &data.imm) {
                (Const, Imm::Bits(bits)) => Classes::of(scalar, *bits),
                (FcvtFromSint, _) => Classes(NEG_NORMAL | POS_ZERO | POS_NORMAL),
                (FcvtFromUint, _) => Classes(POS_ZERO | POS_NORMAL),
                (F16ToF32, _) => Classes(Classes::ALL.0 & !Classes::DENORMALS.0),
                _ => Classes::ALL,
            };
        }
        let x: Vec<Classes> = data.args.iter().map(|&arg| self.of(arg)).collect();
        if data.op == Select {
            return x[1].or(x[2]);
        }
        // No result while an operand has no class yet.
        if x.contains(&Classes::NONE) {
            return Classes::NONE;
        }
        let ftz = data.imm == Imm::Ftz(true) || data.op == FmadTrunc;
        match (data.op, x.as_slice()) {
            (Bitcast | Splat, &[a]) => a,
            (Fneg, &[a]) => a.mirrored(),
            (Fabs, &[a]) => a.magnitude(),
            (Fflush, &[a]) => a.flushed(),
            (Fcanon, &[a]) => match data.imm {
                Imm::Bits(nan) if a.may(Classes::NAN) => Classes(a.numbers()).or(Classes::of(scalar, nan)),
                _ => a,
            },
            (Fmin | Fmax, &[a, b]) => a.extreme(b, data.op == Fmax),
            (Fadd, &[a, b]) => sum(a, b, ftz),
            (Fsub, &[a, b]) => sum(a, b.mirrored(), ftz),
            (Fmul, &[a, b]) => product(a, b, data.args[0] == data.args[1], ftz),
            (Fdiv, &[a, b]) => product(a, b, false, ftz).or(Classes::NAN),
            (Fma | FmadTrunc, &[a, b, c]) => sum(product(a, b, data.args[0] == data.args[1], false), c, ftz),
            (Fsqrt, &[a]) => {
                let roots = Classes(if a.0 & POSITIVE != 0 { POSITIVE } else { 0 });
                let zero = if a.0 & (NEG_ZERO | NEG_DENORMAL) != 0 { NEG_ZERO } else { 0 };
                let nan = if a.0 & (NAN | NEGATIVE & !NEG_ZERO) != 0 { NAN } else { 0 };
                Classes(roots.flushed().0 | zero | nan)
            }
            (Ffloor | Fceil | Ftrunc | Fnearest, &[a]) => {
                let infinite = NEG_INFINITY | POS_INFINITY;
                let any = a.any_of_signs(true, a.may(Classes::NAN));
                Classes(any.0 & !infinite | a.0 & infinite)
            }
            (Fpromote, &[a]) => {
                let normal = if a.0 & NEG_DENORMAL != 0 { NEG_NORMAL } else { 0 }
                    | if a.0 & POS_DENORMAL != 0 { POS_NORMAL } else { 0 };
                let nan = if a.may(Classes::NAN) { NAN } else { 0 };
                Classes(a.numbers() & !Classes::DENORMALS.0 | normal | nan)
            }
            (Fdemote, &[a]) => a.any_of_signs(ftz, a.may(Classes::NAN)),
            _ => Classes::ALL,
        }
    }
}

/// Whether a result's classes are derived from its operands.
fn depends_on_operands(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        Bitcast | Splat | Select | Fneg | Fabs | Fflush | Fcanon | Fmin | Fmax | Fadd | Fsub | Fmul | Fdiv
    ) || matches!(op, Fma | FmadTrunc | Fsqrt | Ffloor | Fceil | Ftrunc | Fnearest | Fpromote | Fdemote)
}

/// The classes of a sum. The bits of a NaN are unspecified, so it may be a signalling one.
fn sum(a: Classes, b: Classes, ftz: bool) -> Classes {
    let both = Classes(a.0 | b.0);
    let infinite = |a: Classes, b: Classes| a.0 & POS_INFINITY != 0 && b.0 & NEG_INFINITY != 0;
    // Numbers of different signs may cancel to +0; numbers of one sign keep it.
    both.any_of_signs(ftz, both.may(Classes::NAN) || infinite(a, b) || infinite(b, a))
}

/// The classes of a product. `square`: both operands are the same value.
fn product(a: Classes, b: Classes, square: bool, ftz: bool) -> Classes {
    const INFINITE: u16 = NEG_INFINITY | POS_INFINITY;
    /// Treats denormals as zeros if they are flushed.
    const SMALL: u16 = NEG_ZERO | POS_ZERO | NEG_DENORMAL | POS_DENORMAL;
    let invalid = |a: Classes, b: Classes| a.0 & INFINITE != 0 && b.0 & SMALL != 0;
    let nan = a.or(b).may(Classes::NAN) || !square && (invalid(a, b) || invalid(b, a));
    let signs = |x: Classes| (x.0 & POSITIVE != 0, x.0 & NEGATIVE != 0);
    let ((a_pos, a_neg), (b_pos, b_neg)) = (signs(a), signs(b));
    let positive = square || a_pos && b_pos || a_neg && b_neg;
    let negative = !square && (a_pos && b_neg || a_neg && b_pos);
    let signs = if positive { POSITIVE } else { 0 } | if negative { NEGATIVE } else { 0 };
    Classes(signs).any_of_signs(ftz, nan)
}

#[cfg(test)]
mod tests;
