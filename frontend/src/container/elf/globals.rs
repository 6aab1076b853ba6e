//! Variables in global memory, and relocations.
//!
//! Fermi's variables lie in `.nv.global.init` and `.nv.global` (zeros), one behind the other from
//! [`GLOBAL_ADDRESS`]. Their addresses stand in c14[] in cubins of CUDA 3, or in the code. Tesla's are the host's to
//! place: only where their addresses stand is noted.

use object::read::elf::{ElfFile, FileHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget};

use super::link::{self, Linked};
use super::{Section, Target, constant_bank, error};
use crate::Isa;
use crate::container::{ContainerError, Global, GlobalMemory, Module};
use crate::fermi::abi::{GLOBAL_ADDRESS, GLOBAL_BYTES};

/// Where calls of functions lead that the file does not have: to no instruction.
const NOWHERE: u64 = 0xffff_fff8;

/// Relocation types: which bits of what goes where.
#[derive(Clone, Copy)]
struct Kind {
    /// Bytes of the field's word.
    bytes: usize,
    /// The lowest bit of the field and its length.
    bit: u32,
    bits: u32,
    /// The bits of the address that it takes begin here.
    from: u32,
}

fn kind(number: u32) -> Option<Kind> {
    let kind = |bytes, bit, bits, from| Some(Kind { bytes, bit, bits, from });
    match number {
        // 32 and 64 bits of data, also of generic addresses.
        1 | 3 => kind(4, 0, 32, 0),
        2 | 4 => kind(8, 0, 64, 0),
        // Long immediates and absolute targets; the low and the high word.
        5 | 10 => kind(8, 26, 32, 0),
        11 => kind(8, 26, 32, 32),
        // Shorter fields at the same place.
        15 => kind(8, 26, 24, 0),
        17 => kind(8, 26, 16, 0),
        _ => None,
    }
}

/// Places variables, applies relocations.
pub(super) fn apply<Elf: FileHeader<Endian = Endianness>>(
    file: &ElfFile<'_, Elf>,
    sections: &[Section<'_>],
    target: Target,
    module: &mut Module,
) -> Result<(), ContainerError> {
    let fermi = target.isa == Isa::Fermi;
    let places = if fermi { place(sections, module)? } else { Vec::new() };
    let linked = if fermi { link::link(file, sections, target.banks, module)? } else { Vec::new() };
    for section in file.sections() {
        let Some(known) = sections.iter().find(|known| known.index == section.index().0) else { continue };
        let bank = constant_bank(known.name, target.banks);
        let code = known.name.strip_prefix(".text.");
        let global = places.iter().find(|(index, _)| *index == known.index);
        if bank.is_none() && !(fermi && (code.is_some() || global.is_some())) {
            continue;
        }
        for (offset, relocation) in section.relocations() {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
            let bad = |bad: object::read::Error| ContainerError::Elf {
                offset: known.header,
                reason: bad.to_string(),
            };
            let symbol = file.symbol_by_index(symbol).map_err(bad)?;
            let name = symbol.name().map_err(bad)?.to_string();
            let outside =
                || error(known.header, format!("the address of `{name}` is not within `{}`", known.name));
            if offset.checked_add(4).is_none_or(|end| end > known.size) {
                return outside();
            }
            if let Some((bank, _)) = bank {
                let bytes = u32::try_from(symbol.size()).unwrap_or(u32::MAX);
                module.globals.push(Global { name: name.clone(), bank, offset: offset as u32, bytes });
            }
            if !fermi {
                continue;
            }
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let Some(kind) = kind(r_type.0) else {
                let what = format!("relocation {} of `{name}`", r_type.0);
                return Err(ContainerError::Unsupported { offset: known.header, what });
            };
            let addend = if relocation.has_implicit_addend() { 0 } else { relocation.addend() };
            let symbol_section = symbol.section_index().map(|index| index.0);
            let variable = places.iter().find(|(index, _)| Some(*index) == symbol_section);
            // Code counts from the kernel's beginning, constants from their own.
            let value = |kernel: Option<&Linked>| -> u64 {
                let base = match (variable, symbol_section) {
                    (Some((_, at)), _) => GLOBAL_ADDRESS + u64::from(*at),
                    (None, Some(index)) => kernel.and_then(|kernel| kernel.place(index)).unwrap_or(0),
                    (None, None) => return NOWHERE,
                };
                base.wrapping_add(symbol.address()).wrapping_add(addend as u64)
            };
            let mut fits = true;
            if let Some((bank, owner)) = bank {
                for (kernel, linked) in module.kernels.iter_mut().zip(&linked) {
                    if owner.is_none_or(|owner| owner == kernel.name) {
                        for part in kernel.consts.iter_mut().filter(|part| part.bank == bank) {
                            fits &= patch(&mut part.bytes, offset, kind, value(Some(linked)));
                        }
                    }
                }
            } else if code.is_some() {
                for (kernel, linked) in module.kernels.iter_mut().zip(&linked) {
                    if let Some(at) = linked.place(known.index) {
                        fits &= patch(&mut kernel.code, at + offset, kind, value(Some(linked)));
                    }
                }
            } else if let (Some((_, at)), Some(memory)) = (global, &mut module.global_memory) {
                fits = patch(&mut memory.contents, offset + u64::from(*at), kind, value(None));
            }
            if !fits {
                return outside();
            }
        }
    }
    Ok(())
}

/// Lays the variables out; gives where each section with some begins.
fn place(sections: &[Section<'_>], module: &mut Module) -> Result<Vec<(usize, u32)>, ContainerError> {
    let mut places = Vec::new();
    let mut contents = Vec::new();
    for section in sections.iter().filter(|s| matches!(s.name, ".nv.global" | ".nv.global.init")) {
        // As aligned as anything the compiler puts there can want to be.
        contents.resize(usize::next_multiple_of(contents.len(), 256), 0);
        places.push((section.index, contents.len() as u32));
        contents.extend(section.contents(GLOBAL_BYTES)?);
        if contents.len() > GLOBAL_BYTES as usize {
            return error(section.header, format!("more than {GLOBAL_BYTES:#x} bytes of variables"));
        }
    }
    if !contents.is_empty() {
        module.global_memory = Some(GlobalMemory { address: GLOBAL_ADDRESS, contents });
    }
    Ok(places)
}

/// Puts a value into its field, adding what the field holds; false where it does not lie within the bytes.
fn patch(bytes: &mut [u8], offset: u64, kind: Kind, value: u64) -> bool {
    let Ok(start) = usize::try_from(offset) else { return false };
    let Some(place) = start.checked_add(kind.bytes).and_then(|end| bytes.get_mut(start..end)) else {
        return false;
    };
    let mut word = [0; 8];
    word[..kind.bytes].copy_from_slice(place);
    let word = u64::from_le_bytes(word);
    let mask = if kind.bits == 64 { u64::MAX } else { (1 << kind.bits) - 1 };
    let old = word >> kind.bit & mask;
    let new = (value >> kind.from).wrapping_add(old) & mask;
    let word = word & !(mask << kind.bit) | new << kind.bit;
    place.copy_from_slice(&word.to_le_bytes()[..kind.bytes]);
    true
}
