//! AMD GCN, generations 1.0, 1.1, 1.2 and 1.4: table, decoder, disassembler, assembler, lifter.
//!
//! The vendor's wave is a warp here, and its workgroup a block.

pub mod abi;
mod asm;
mod asm_inst;
mod asm_modifier;
mod asm_operand;
pub mod chip;
mod decode;
mod disasm;
mod encode;
mod field;
mod field_memory;
pub mod front_end;
pub mod generation;
pub mod image;
mod inst;
mod layout;
pub mod lift;
mod listing;
pub mod map;
pub mod numeric;
mod op;
mod operand;
mod rows;
mod support;
pub mod surface;
mod syntax;
pub mod table;
pub mod texel;

pub use asm::{Assembly, assemble};
pub use chip::{Chip, Features};
pub use decode::{DecodeError, decode};
pub use encode::encode;
pub use generation::Generation;
pub use inst::{Dpp, DppCtrl, Exp, Format, Inst, Interp, MAX_SRCS, Mem, Omod, Sdwa, Segment, Unused};
pub use listing::{ListingLine, disasm, listing};
pub use op::{Op, Topic};
pub use operand::{Arg, InlineFloat, Operand, Select, Type};
pub use rows::{Properties, Property, Registers};
pub use support::support_table;
pub use table::Row;
