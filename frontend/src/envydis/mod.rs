//! Decoder, disassembler and assembler for instruction sets whose text is envydis's (Tesla, Fermi, VP1). All three are driven by
//! one table of encodings.
//!
//! A row of the table is an encoding (value, mask) and a text. In the text, lower-case words stand for themselves, upper-case
//! words are operand fields, and `<...>` is a *slot*: a part of the text that other bits choose among alternatives. The
//! [`Dialect`] of an instruction set defines its fields, slots and decoded form. Listings and sources of Tesla and Fermi have one
//! form ([`Lines`]); VP1's, which have bundles and word addresses, are in `vp1/asm.rs` and `vp1/disasm.rs`.

mod asm;
mod dialect;
mod listing;
mod matcher;
mod ops;
mod table;
mod token;
mod types;
mod words;

pub use crate::soft::Rounding;
pub use asm::Assembly;
pub use dialect::{DecodeError, Dialect, Lines};
pub use listing::ListingLine;
pub use table::Row;
pub use types::{AtomOp, LogicOp, QuadLane, QuadOp, Type};

pub(crate) use asm::{Encoded, assemble, canonical, encode};
pub(crate) use dialect::{Others, fetch};
pub(crate) use listing::{disasm, fmt_inst, listing};
pub(crate) use matcher::{LabelField, State, wrap};
pub(crate) use ops::ops;
pub(crate) use table::{Element, Line, Slots, Table};
pub(crate) use token::Token;
pub(crate) use token::{Kind, Memory, number};
pub(crate) use words::{
    Signs, code, fmt_vector, inst_methods, lane_mask, place_first, present, quad_word, rounding,
    support_section,
};
