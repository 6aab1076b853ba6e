//! How the lesser or greater of two floats is found, given what the two can be.
//!
//! Hosts' minimum and maximum give the second operand where one is a NaN and where both are equal, as zeros of different signs are. Where such
//! operands are excluded, or stand in the right order, one instruction does; else its result is put right. In code in which the host
//! takes denormals for zeros they give zeros for them, too: there, operands that may be denormal are compared by their bits.

use warpjit_ir::analysis::Classes;

/// What it takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    /// The operands change places. All else is said of them as they are then.
    pub swap: bool,
    /// Floats are compared by their bits.
    pub bits: bool,
    /// By bits: both may be below zero, where the order of bits is the other way round.
    pub signs: bool,
    /// The first may be a NaN. By bits it must be seen to that the second one is taken then.
    pub first_nan: bool,
    /// The second may be a NaN: it must be seen to that the first one is taken.
    pub second_nan: bool,
    /// Of two zeros the wrong one may be taken.
    pub zeros: bool,
}

impl Plan {
    /// For operands of these kinds; `flushes`: the host takes denormals for zeros.
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
            // The second one is taken of equal ones.
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

    /// Whether one instruction does it.
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
