//! Reads containers: from the bytes of a file to kernels with their code, constants and resource sizes.
//!
//! [`load`] recognises the format by its content: [`elf`] cubins, AMD code objects ([`code_object`]), [`text`] cubins, fat
//! binaries ([`fatbin`], which hold cubins). What is known to be something else is refused by name (`foreign`). Anything else is
//! raw little-endian words ([`raw`]).

#[cfg(feature = "gcn")]
pub mod code_object;
pub mod elf;
pub mod fatbin;
mod foreign;
mod limits;
pub mod raw;
mod selection;
pub mod text;

use warpjit_ir::meter::{Budget, Meter, Task, Usage};

pub use crate::error::ContainerError;
use crate::isa::Isa;
use crate::module::Module;
pub use selection::Selection;

/// Finds out what the bytes are and takes them apart, with all kernels and the usual budget. `isa` is the instruction set of raw words.
pub fn load(bytes: &[u8], isa: Isa) -> Result<Module, ContainerError> {
    let meter = Meter::new(Task::Loading, Budget::default(), Usage::default());
    load_within(bytes, isa, Selection::All, &meter)
}

/// Finds out what the bytes are and takes them apart. `isa` is the instruction set of raw words.
pub fn load_within(
    bytes: &[u8],
    isa: Isa,
    selection: Selection<'_>,
    meter: &Meter,
) -> Result<Module, ContainerError> {
    meter.stage("taking the file apart")?;
    if bytes.is_empty() {
        Err(ContainerError::Empty)
    } else if bytes.starts_with(b"\x7fELF") {
        #[cfg(feature = "gcn")]
        if code_object::is_code_object(bytes) {
            return code_object::load(bytes, selection, meter);
        }
        elf::load(bytes, selection, meter)
    } else if fatbin::is_fatbin(bytes) {
        fatbin::load(bytes, selection, meter)
    } else if text::is_text_cubin(bytes) {
        text::load(bytes, meter)
    } else {
        foreign::refuse(bytes)?;
        raw::load(bytes, isa)
    }
}
