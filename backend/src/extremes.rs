//! Chooses how to compute the minimum or maximum of two floats, from the classes that each operand can have.
//!
//! A host's minimum instruction returns its second operand if one operand is a NaN, or if both are zeros (of any sign). If such
//! operands cannot occur, or are in the right order, one instruction suffices; otherwise code corrects the result. If the host
//! treats denormals as zeros but the guest does not, operands that may be denormal are compared by their bits.

use warpjit_ir::analysis::Classes;

/// How to compute one minimum or maximum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    /// Swap the operands. The other fields describe them after the swap.
    pub swap: bool,
    /// Compare the floats by their bits.
    pub bits: bool,
    /// With `bits`: both may be negative, and for negative floats the order of bits is reversed.
    pub signs: bool,
    /// The first may be a NaN. With `bits`, code must choose the second one then.
    pub first_nan: bool,
    /// The second may be a NaN. Code must choose the first one then.
    pub second_nan: bool,
    /// Both may be zeros of which the instruction chooses the wrong one.
    pub zeros: bool,
}

impl Plan {
    /// The plan for operands of these classes. `flushes`: the host treats denormals as zeros.
    pub fn new(a: Classes, b: Classes, greater: bool, flushes: bool) -> Plan {
        let nan = |x: Classes| x.may(Classes::NAN);
        if flushes && a.or(b).may(Classes::DENORMALS) {
            return Plan {
                swap: false,
                bits: true,
                signs: a.may(Classes::NEGATIVE) && b.may(Classes::NEGATIVE),
                first_nan: nan(a),
                second_nan: nan(b),
                zeros: false,
            };
        }
        let in_order = |x: Classes, y: Classes, swap: bool| {
            // Of equal operands the instruction returns the second one.
            let (first, second) = if greater {
                (Classes::POS_ZERO, Classes::NEG_ZERO)
            } else {
                (Classes::NEG_ZERO, Classes::POS_ZERO)
            };
            let zeros = x.may(first) && y.may(second);
            Plan { swap, bits: false, signs: false, first_nan: nan(x), second_nan: nan(y), zeros }
        };
        let cost = |plan: &Plan| 2 * u32::from(plan.second_nan) + 3 * u32::from(plan.zeros);
        let (straight, swapped) = (in_order(a, b, false), in_order(b, a, true));
        if cost(&swapped) < cost(&straight) { swapped } else { straight }
    }

    /// Whether one instruction suffices.
    pub fn is_plain(&self) -> bool {
        !(self.bits || self.second_nan || self.zeros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpjit_ir::Scalar;

    fn of(x: f32) -> Classes {
        Classes::of(Scalar::F32, x.to_bits().into())
    }

    #[test]
    fn constants_stand_where_one_instruction_does() {
        let limits = [(0.0, true), (1.0, false), (-0.0, false), (-2.5, true), (1e9, true)];
        for (limit, greater) in limits {
            for flipped in [false, true] {
                let any = Classes::ALL;
                let (a, b) = if flipped { (of(limit), any) } else { (any, of(limit)) };
                let plan = Plan::new(a, b, greater, false);
                assert!(plan.is_plain(), "{limit} {greater}");
                assert_eq!(plan.swap, flipped);
            }
        }
    }

    #[test]
    fn what_is_left_is_put_right() {
        let plan = Plan::new(Classes::ALL, Classes::ALL, true, false);
        assert!(plan.second_nan && plan.zeros && !plan.bits);
        let plan = Plan::new(Classes::ALL, of(0.0), false, false);
        assert!(plan.swap && plan.second_nan && !plan.zeros);
        let plan = Plan::new(Classes::ALL, of(1.0), false, true);
        assert!(plan.bits && !plan.signs && plan.first_nan && !plan.second_nan);
    }
}
