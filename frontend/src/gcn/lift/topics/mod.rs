//! The code of each operation, a file a topic.
//!
//! [`Op::topic`](crate::gcn::Op::topic) says which file has an operation; [`inst`] goes there. In comes an instruction whose operands are
//! ready to be read ([`emit`](super::emit) says how); out go IR operations. A file gives false for what it does not know, which is illegal.

pub(super) mod atomic;
pub(super) mod buffer;
pub(super) mod bytes;
pub(super) mod compare;
pub(super) mod convert;
pub(super) mod double;
pub(super) mod export;
pub(super) mod flat;
pub(super) mod float;
pub(super) mod format;
pub(super) mod gds;
pub(super) mod half;
pub(super) mod hwreg;
pub(super) mod image;
pub(super) mod index;
pub(super) mod int;
mod int16;
pub(super) mod interp;
pub(super) mod lanes;
pub(super) mod lds;
pub(super) mod mask;
pub(super) mod packed;
pub(super) mod quotient;
pub(super) mod scalar;
pub(super) mod scalar_bits;
pub(super) mod scratch;
pub(super) mod smem;
pub(super) mod special;
pub(super) mod stage;

use super::emit::Emit;
use crate::gcn::{Inst, Topic};

/// Emits an instruction that does not change the program counter, in the file of its topic. False if it is none of these, or illegal.
pub(super) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    match inst.op.topic() {
        Topic::Scalar => scalar::inst(e, inst),
        Topic::ScalarBits => scalar_bits::inst(e, inst),
        Topic::Logic => mask::inst(e, inst),
        Topic::HardwareRegister => hwreg::inst(e, inst),
        Topic::Control => false,
        Topic::Message => stage::inst(e, inst),
        Topic::ScalarMemory => smem::inst(e, inst),
        Topic::Int => int::inst(e, inst) || int16::inst(e, inst) || bytes::inst(e, inst),
        Topic::Float => float::inst(e, inst),
        Topic::Double => double::inst(e, inst),
        Topic::Half => half::inst(e, inst),
        Topic::Packed => packed::inst(e, inst),
        Topic::Convert => convert::inst(e, inst),
        Topic::Special => special::inst(e, inst),
        Topic::Compare => compare::inst(e, inst),
        Topic::Index => index::inst(e, inst),
        Topic::Lanes => lanes::inst(e, inst),
        Topic::Interpolation => interp::inst(e, inst),
        Topic::Export => export::inst(e, inst),
        Topic::Lds => lds::inst(e, inst),
        Topic::Flat => flat::inst(e, inst),
        Topic::Buffer => buffer::inst(e, inst),
        Topic::Image => image::inst(e, inst),
    }
}
