//! The code of each operation, a file a topic.
//!
//! [`Op::topic`](crate::gcn::Op::topic) says which file has an operation, and the [`lifter`](super::lifter) goes there. In comes an
//! instruction whose operands are ready to be read ([`emit`](super::emit) says how); out go IR operations. A file gives false for what it
//! does not know, which is illegal.

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
pub(super) mod int16;
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
