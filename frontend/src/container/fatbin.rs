//! Reads fat binaries: a header, then entries one after the other, each with PTX or a cubin for one chip.
//!
//! Header: magic 0xba55ed50, version, 16-bit size of the header, 64-bit size of all entries. Entry: 16-bit kind (1 PTX, 2 ELF),
//! version, 32-bit size of the entry's header, 64-bit size of its contents. At byte 40 of an entry are 64 bits of flags; 0x2000
//! means that the contents are compressed.

use warpjit_ir::Meter;

use super::elf;
use super::selection::Selection;
use crate::error::ContainerError;
use crate::module::Module;

const MAGIC: u32 = 0xba55_ed50;
const ELF: u16 = 2;
const COMPRESSED: u64 = 0x2000;
/// The shortest header of an entry.
const ENTRY_BYTES: usize = 48;

/// Whether the bytes are a fat binary.
pub fn is_fatbin(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC.to_le_bytes())
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Result<u64, ContainerError> {
    let field = at.checked_add(N).and_then(|end| bytes.get(at..end));
    let Some(field) = field else {
        return Err(ContainerError::Elf { offset: at as u64, reason: "the fat binary ends here".into() });
    };
    Ok(field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// Takes the first cubin for a chip that is known.
pub fn load(bytes: &[u8], selection: Selection<'_>, meter: &Meter) -> Result<Module, ContainerError> {
    let bad = |offset: usize, reason: &str| {
        Err(ContainerError::Elf { offset: offset as u64, reason: reason.into() })
    };
    let mut at = number::<2>(bytes, 6)? as usize;
    if at < 16 {
        return bad(6, "the header is too short");
    }
    let end = number::<8>(bytes, 8)?.saturating_add(at as u64).min(bytes.len() as u64) as usize;
    let mut refused = None;
    while at < end {
        let kind = number::<2>(bytes, at)? as u16;
        let header = number::<4>(bytes, at + 4)? as usize;
        let size = number::<8>(bytes, at + 8)?;
        let flags = number::<8>(bytes, at + 40)?;
        let start = at.saturating_add(header);
        let next = (start as u64).saturating_add(size);
        if header < ENTRY_BYTES || next > bytes.len() as u64 {
            return bad(at, "the entry does not fit in the file");
        }
        if kind == ELF {
            let refusal = if flags & COMPRESSED != 0 {
                ContainerError::Unsupported { offset: at as u64 + 40, what: "a compressed cubin".into() }
            } else {
                match elf::load(&bytes[start..next as usize], selection, meter) {
                    // Its code is for a chip nobody knows; the next one may not be.
                    Err(error @ ContainerError::Unsupported { .. }) => error,
                    other => return other,
                }
            };
            refused.get_or_insert(refusal);
        }
        at = next as usize;
    }
    Err(refused
        .unwrap_or(ContainerError::Unsupported { offset: 0, what: "a fat binary without a cubin".into() }))
}
