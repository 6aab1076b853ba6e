//! NVIDIA VP1, the video processor of NV41 to G80: table, decoder, disassembler, assembler, lifter.
//!
//! A word is an instruction of one of four units; up to four words form a bundle ([`bundle_len`]). Every word decodes: opcodes
//! without a known name get one here (`unk40`), and what is known of their effect is documented at their operation. Addresses of
//! instructions are word addresses, as the processor counts them.

mod asm;
mod asm_field;
mod bundle;
pub mod chip;
mod disasm;
mod field;
pub mod front_end;
mod inst;
pub mod lift;
mod op;
mod rows;
mod slots;
mod support;
pub mod table;

pub use asm::assemble;
pub use bundle::{bundle_len, bundles};
pub use chip::Chip;
pub use disasm::listing;
pub use field::Operand;
pub use inst::{Inst, decode};
pub use op::{Op, Unit};
pub use support::support_table;
pub use table::{Row, Vp1};

pub use crate::envydis::Assembly;
