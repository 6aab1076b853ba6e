//! Reads a kernel's parameters from the attributes in `.nv.info.NAME`.
//!
//! An attribute is (format, attribute number, 16-bit value or size of the data that follows). Attribute 0x17 describes one
//! parameter. The size of all parameters is in 0x18 (Tesla, whose parameters are in shared memory), or in 0x19 or the upper 16
//! bits of 0x0a (Fermi, c0[]). This is what cubins of CUDA 3 have.

use super::{Section, Sections, Target, constant_bank, error};
use crate::error::ContainerError;
use crate::module::{Kernel, Param, ParamLayout};

/// The format with bytes behind it.
const SIZED: u8 = 4;
/// Where the parameters are: symbol, offset, size.
const PARAM_BANK: u8 = 0x0a;
const PARAMETER: u8 = 0x17;
const SHARED_PARAM_SIZE: u8 = 0x18;
const BANK_PARAM_SIZE: u8 = 0x19;

/// Reads the attributes of a kernel for its parameters.
pub(super) fn read(section: &Section<'_>, target: Target) -> Result<Option<ParamLayout>, ContainerError> {
    let half = |at: usize| -> Option<u32> {
        let bytes = section.data.get(at..at.checked_add(2)?)?;
        Some(u32::from(u16::from_le_bytes(bytes.try_into().ok()?)))
    };
    let cut =
        || ContainerError::Elf { offset: section.header, reason: format!("`{}` is cut off", section.name) };
    let mut found: Vec<(u32, Param)> = Vec::new();
    let mut size = None;
    let mut at = 0;
    while at < section.data.len() {
        let (Some(&format), Some(&attribute), Some(value)) =
            (section.data.get(at), section.data.get(at + 1), half(at + 2))
        else {
            return Err(cut());
        };
        at += 4;
        if format != SIZED {
            if matches!(attribute, SHARED_PARAM_SIZE | BANK_PARAM_SIZE) {
                size = Some(value);
            }
            continue;
        }
        let end = at + value as usize;
        if end > section.data.len() {
            return Err(cut());
        }
        if attribute == PARAMETER && value >= 12 {
            // Index, ordinal, offset; then alignment, space, bank, and the size in the top 14 bits.
            let (Some(ordinal), Some(offset), Some(top)) = (half(at + 4), half(at + 6), half(at + 10)) else {
                return Err(cut());
            };
            found.push((ordinal, Param { offset, bytes: top >> 2 }));
        }
        if attribute == PARAM_BANK && value >= 8 {
            size = size.or(half(at + 6));
        }
        at = end;
    }
    if found.is_empty() && size.is_none_or(|size| size != 0) {
        return Ok(None);
    }
    found.sort_by_key(|&(ordinal, _)| ordinal);
    if found.iter().zip(0..).any(|(&(ordinal, _), n)| ordinal != n) {
        return error(section.header, format!("`{}` leaves out parameters or repeats them", section.name));
    }
    let params: Vec<Param> = found.into_iter().map(|(_, param)| param).collect();
    let end = params.iter().map(|param| param.offset + param.bytes).max().unwrap_or(0);
    let bytes = size.unwrap_or(end);
    if bytes.max(end) > target.params {
        return error(
            section.header,
            format!("`{}` has {:#x} bytes of parameters", section.name, bytes.max(end)),
        );
    }
    if end > bytes {
        return error(
            section.header,
            format!("`{}` has a parameter up to {end:#x}, beyond its {bytes:#x} bytes", section.name),
        );
    }
    Ok(Some(ParamLayout { bytes, params }))
}

/// Checks that Fermi's c0[] has room for the parameters.
pub(super) fn check_bank(kernel: &Kernel, sections: &Sections<'_>) -> Result<(), ContainerError> {
    let Some(params) = &kernel.params else { return Ok(()) };
    let is_first = |section: &&Section<'_>| matches!(constant_bank(section.name, 1), Some((0, Some(_))));
    let Some(bank) = sections.of(&kernel.name).find(is_first) else { return Ok(()) };
    if u64::from(params.bytes) > bank.size {
        return error(
            bank.header,
            format!("`{}` has {:#x} bytes, the parameters alone {:#x}", bank.name, bank.size, params.bytes),
        );
    }
    Ok(())
}
