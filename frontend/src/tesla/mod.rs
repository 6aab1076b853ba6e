//! NVIDIA Tesla (G80 to GT218): table, decoder, disassembler and assembler.
//!
//! [`table`] holds one row per instruction form, in the words of the listing; the decoder (`decode`), the
//! printer (`disasm`) and the assembler (`asm`) all walk the same rows. The decoded form, [`Inst`], names
//! everything an instruction does, so that the lifter never looks at bits.

pub mod abi;
pub mod asm;
mod asm_field;
pub mod chip;
pub mod decode;
pub mod disasm;
mod field;
pub mod front_end;
mod inst;
pub mod lift;
pub mod numeric;
mod op;
mod operand;
pub mod program_state;
mod rows;
mod slots;
mod support;
pub mod table;

pub use crate::envydis::{Assembly, AtomOp, DecodeError, LogicOp, QuadLane, QuadOp, Rounding, Type};
pub use crate::isa::Stage;
pub use asm::assemble;
pub use chip::{Chip, Features, STAGES, Target};
pub use decode::{decode, decode_word};
pub use disasm::{ListingLine, disasm, listing};
pub use inst::{Inst, MAX_SRCS};
pub use op::{End, Form, Op, Predicate, Topic};
pub use operand::{AddOp, Address, Mods, Operand, RegWidth, Src};
pub use support::support_table;
pub use table::Row;
