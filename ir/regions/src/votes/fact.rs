//! What the vote analyses know of a value in one lane ([`Fact`]), and how an operation derives it from its operands.

use warpjit_ir_core::entities::{Slot, Value};
use warpjit_ir_core::eval::eval_scalar;
use warpjit_ir_core::function::{Function, InstData};
use warpjit_ir_core::opcodes::Opcode;
use warpjit_ir_core::types::Scalar;

/// What is known of a value in one lane.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Fact {
    /// It equals this slot's value at the vote.
    pub same: Option<Slot>,
    /// Its bits; of a truth value 0 or 1.
    pub number: Option<u64>,
    /// The votes (a bit for each) on which it may depend: whether the lane ran the code that they guard. 0 if the
    /// number is known.
    pub taint: u64,
}

impl Fact {
    /// Nothing is known.
    pub const NONE: Fact = Fact { same: None, number: None, taint: 0 };

    pub fn number(bits: u64) -> Fact {
        Fact { number: Some(bits), ..Fact::NONE }
    }

    /// What holds of a value that is one of two others.
    pub fn meet(self, other: Fact) -> Fact {
        Fact {
            same: self.same.filter(|_| self.same == other.same),
            number: self.number.filter(|_| self.number == other.number),
            taint: self.taint | other.taint,
        }
    }

    /// Each of `facts` holds of a value that is one of two, of which `others` say the other. Whether that changes any.
    pub fn meet_all(facts: &mut [Fact], others: &[Fact]) -> bool {
        let mut changed = false;
        for (own, other) in facts.iter_mut().zip(others) {
            let met = own.meet(*other);
            changed |= met != *own;
            *own = met;
        }
        changed
    }

    /// What is known of an operation's result. For operations that depend on more than their operands, only the taint
    /// of the operands is.
    pub fn of_result(func: &Function, data: &InstData, args: &[Fact]) -> Fact {
        let of = |n: usize| args.get(n).copied().unwrap_or(Fact::NONE);
        let ones = data.args.first().map_or(1, |&v| func.ty(v).scalar.bit_mask());
        let (a, b) = (of(0), of(1));
        match data.op {
            Opcode::Splat => a,
            Opcode::Iand => decided(a, b, 0, ones),
            Opcode::Ior => decided(a, b, ones, 0),
            Opcode::Ixor if a.number == Some(0) => b,
            Opcode::Ixor if b.number == Some(0) => a,
            Opcode::Select => match a.number {
                Some(0) => of(2),
                Some(_) => b,
                None => {
                    let either = b.meet(of(2));
                    // If both are the same number, the choice makes no difference.
                    let taint = if either.number.is_some() { 0 } else { either.taint | a.taint };
                    Fact { taint, ..either }
                }
            },
            op if op.is_pure() => {
                // Mostly an operand is unknown, and there is nothing to compute.
                let known = args.iter().all(|arg| arg.number.is_some());
                let number = data.result.filter(|_| known).and_then(|result| {
                    let bits: Vec<u64> = args.iter().filter_map(|arg| arg.number).collect();
                    let types: Vec<Scalar> = data.args.iter().map(|&v| func.ty(v).scalar).collect();
                    let result = func.ty(result).scalar;
                    eval_scalar(data.op, &data.imm, &types, result, &bits)
                        .map(|bits| bits & result.bit_mask())
                });
                Fact { number, ..tainted_by(args, number.is_some()) }
            }
            _ => tainted_by(args, false),
        }
    }
}

/// The facts of the values of one block at a time. What other blocks make is unknown.
pub(super) struct BlockFacts {
    /// By value: the visit of a block that found it, and the fact.
    values: Vec<(u32, Fact)>,
    visit: u32,
}

impl BlockFacts {
    /// For any block of a function.
    pub fn new(func: &Function) -> BlockFacts {
        BlockFacts { values: vec![(0, Fact::NONE); func.values.len()], visit: 0 }
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.values[..])
    }

    /// Begins with a block.
    pub fn begin(&mut self) {
        self.visit += 1;
    }

    pub fn get(&self, value: Value) -> Fact {
        let (visit, fact) = self.values[value.index()];
        if visit == self.visit { fact } else { Fact::NONE }
    }

    pub fn set(&mut self, value: Value, fact: Fact) {
        self.values[value.index()] = (self.visit, fact);
    }
}

/// A value computed from `args`.
fn tainted_by(args: &[Fact], is_known: bool) -> Fact {
    let taint = args.iter().fold(0, |all, arg| all | arg.taint);
    Fact { taint: if is_known { 0 } else { taint }, ..Fact::NONE }
}

/// The `and` or `or` of two values: an `absorbing` operand decides the result, a `neutral` one leaves the other
/// operand.
fn decided(a: Fact, b: Fact, absorbing: u64, neutral: u64) -> Fact {
    let absorbs = |fact: Fact| fact.number == Some(absorbing);
    match () {
        () if absorbs(a) && (a.same.is_some() || !absorbs(b)) => a,
        () if absorbs(b) => b,
        () if a.number == Some(neutral) => b,
        () if b.number == Some(neutral) => a,
        () if a.same.is_some() && a.same == b.same => a,
        () => {
            let number = a.number.zip(b.number).map(|(a, b)| if absorbing == 0 { a & b } else { a | b });
            Fact { number, ..tainted_by(&[a, b], number.is_some()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpjit_ir_core::text::parse_function;

    #[test]
    fn what_another_block_found_is_unknown() {
        let text = "function @f spmd lanes 64 {
            block0 pc 0x0:
                v0: ui32 = const 0x1
                leave.exit -> block0
            }";
        let func = parse_function(text, &[]).unwrap();
        let mut facts = BlockFacts::new(&func);
        facts.begin();
        assert_eq!(facts.get(Value::new(0)), Fact::NONE);
        facts.set(Value::new(0), Fact::number(1));
        assert_eq!(facts.get(Value::new(0)), Fact::number(1));
        facts.begin();
        assert_eq!(facts.get(Value::new(0)), Fact::NONE);
    }
}
