//! NVIDIA Fermi (GF100 to GF119) and the GK104 family: table, decoder, disassembler and assembler.
//!
//! [`table`] holds one row per instruction form, in the words of the listing; the decoder (`decode`), the
//! printer (`disasm`) and the assembler (`asm`) all walk the same rows. The decoded form, [`Inst`], names
//! everything an instruction does, so that the lifter never looks at bits. Facts: docs/hardware/fermi.md.

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
pub mod map;
pub mod modifier;
pub mod numeric;
mod op;
mod operand;
pub mod program_header;
mod rows;
pub mod sass;
mod slots;
mod slots_media;
mod support;
pub(crate) mod surface;
pub mod table;
mod words;

pub use operand::{
    AddOp, BarOp, Cache, MemSpace, MembarLevel, Merge, MinMaxPart, Mods, Operand, PredSrc, PrmtMode,
    RegWidth, Select, ShflOp, Src, TRUE_PRED, VoteOp, ZERO_REG,
};

pub use asm::assemble;
pub use chip::{Chip, Family};
pub use decode::{decode, decode_word};
pub use disasm::{ListingLine, disasm, listing};
pub use inst::{Inst, MAX_SRCS};
pub use op::{Form, Op, Topic};
pub use program_header::ProgramHeader;
pub use sass::{Sass, sass_listing};
pub use support::support_table;
pub use table::Row;

pub use crate::envydis::{Assembly, AtomOp, DecodeError, LogicOp, QuadLane, QuadOp, Rounding, Type};
