//! The bitwise operations of the scalar unit, apart from widths and from where the operands are.

use crate::gcn::Op;

/// Bitwise operations of two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) enum Logic {
    And,
    Or,
    Xor,
    Andn1,
    Andn2,
    Orn1,
    Orn2,
    Nand,
    Nor,
    Xnor,
}

/// The operation of two operands that an instruction is.
pub(in crate::gcn::lift) fn logic_of(op: Op) -> Option<Logic> {
    Some(match op {
        Op::S_AND_B32 | Op::S_AND_B64 | Op::S_AND_SAVEEXEC_B64 => Logic::And,
        Op::S_OR_B32 | Op::S_OR_B64 | Op::S_OR_SAVEEXEC_B64 => Logic::Or,
        Op::S_XOR_B32 | Op::S_XOR_B64 | Op::S_XOR_SAVEEXEC_B64 => Logic::Xor,
        Op::S_ANDN1_SAVEEXEC_B64 | Op::S_ANDN1_WREXEC_B64 => Logic::Andn1,
        Op::S_ANDN2_B32 | Op::S_ANDN2_B64 | Op::S_ANDN2_SAVEEXEC_B64 | Op::S_ANDN2_WREXEC_B64 => Logic::Andn2,
        Op::S_ORN1_SAVEEXEC_B64 => Logic::Orn1,
        Op::S_ORN2_B32 | Op::S_ORN2_B64 | Op::S_ORN2_SAVEEXEC_B64 => Logic::Orn2,
        Op::S_NAND_B32 | Op::S_NAND_B64 | Op::S_NAND_SAVEEXEC_B64 => Logic::Nand,
        Op::S_NOR_B32 | Op::S_NOR_B64 | Op::S_NOR_SAVEEXEC_B64 => Logic::Nor,
        Op::S_XNOR_B32 | Op::S_XNOR_B64 | Op::S_XNOR_SAVEEXEC_B64 => Logic::Xnor,
        _ => return None,
    })
}
