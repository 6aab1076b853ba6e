//! What the ISAs share whose text form is envydis's: a table of rows in the words of the listing, which decoder,
//! disassembler and assembler walk.
//!
//! A row is an encoding (value, mask) and a text: lower-case words stand for themselves, upper-case words are
//! operand fields, `<...>` are slots, alternatives chosen by bits. A [`Dialect`] says what the fields are, and how
//! an instruction looks apart from them.

mod asm;
mod dialect;
mod listing;
mod matcher;
mod table;
mod token;
mod types;
mod words;

pub use crate::soft::Rounding;
pub use asm::Assembly;
pub use dialect::{DecodeError, Dialect};
pub use listing::ListingLine;
pub use table::Row;
pub use types::{AtomOp, LogicOp, QuadLane, QuadOp, Type};

pub(crate) use asm::{assemble, canonical};
pub(crate) use dialect::{Others, fetch};
pub(crate) use listing::{disasm, fmt_inst, listing};
pub(crate) use matcher::{LabelField, State, wrap};
pub(crate) use table::{Line, Piece, Slots, Table};
pub(crate) use token::{Kind, Memory};
pub(crate) use words::{
    Signs, code, fmt_vector, inst_methods, lane_mask, place_first, present, quad_word, rounding,
    support_section,
};
