//! Lays out a cubin's variables in global memory and applies its relocations.
//!
//! Fermi's variables are placed one after the other from [`GLOBAL_ADDRESS`] on: those of `.nv.global.init`, then those of
//! `.nv.global`, which start as zeros. Cubins of CUDA 3 keep the addresses in c14[], others in the code. The host decides
//! where Tesla's variables are, so for Tesla this module only records which words will hold their addresses.

use std::collections::HashMap;

use bytes::Bytes;
use object::read::elf::FileHeader;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget};
use warpjit_ir::Meter;

use super::link::Offsets;
use super::{Cubin, Section, constant_bank, error};
use crate::Isa;
use crate::container::limits::NameLengths;
use crate::container::selection::Selection;
use crate::error::ContainerError;
use crate::fermi::map::{GLOBAL_ADDRESS, GLOBAL_BYTES};
use crate::module::{ConstPart, Global, GlobalMemory, Module};

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
        // Shorter fields at the same offset.
        15 => kind(8, 26, 24, 0),
        17 => kind(8, 26, 16, 0),
        _ => None,
    }
}

/// A relocation: where, and what is put there.
struct Patch<'data> {
    offset: u64,
    kind: Kind,
    symbol: Meaning,
    addend: u64,
    name: &'data [u8],
}

/// What a symbol stands for.
#[derive(Clone, Copy)]
enum Meaning {
    /// An address, the same for all kernels.
    Address(u64),
    /// Something in a section of code, whose offset is another one in each kernel.
    Code { section: usize, address: u64 },
}

impl Patch<'_> {
    /// The value, in a kernel if it is part of one: code counts from the kernel's beginning.
    fn value(&self, kernel: Option<&Offsets>) -> u64 {
        let address = match self.symbol {
            Meaning::Address(address) => address,
            Meaning::Code { section, address } => {
                let base = kernel.and_then(|offsets| offsets.get(&section)).copied().unwrap_or(0);
                base.wrapping_add(address)
            }
        };
        address.wrapping_add(self.addend)
    }
}

/// Lays out variables, applies relocations.
pub(super) fn apply<Elf: FileHeader<Endian = Endianness>>(
    cubin: &Cubin<'_, '_, Elf>,
    selection: Selection<'_>,
    mut names: NameLengths,
    module: &mut Module,
) -> Result<(), ContainerError> {
    let Cubin { file, sections, target, meter } = cubin;
    let fermi = target.isa == Isa::Fermi;
    let addresses = if fermi { lay_out(&sections.list, module, meter)? } else { HashMap::new() };
    let mut linked = if fermi { cubin.link(selection, module)? } else { Vec::new() };
    // The kernels that have a section of code, as indices in `linked`, and where; and the kernels of a name.
    let mut placed: HashMap<usize, Vec<(usize, u64)>> = HashMap::new();
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (number, linked) in linked.iter().enumerate() {
        for (&index, &at) in &linked.offsets {
            placed.entry(index).or_default().push((number, at));
        }
        by_name.entry(module.kernels[linked.kernel].name.clone()).or_default().push(number);
    }
    for section in file.sections() {
        let Some(known) = sections.at(section.index().0) else { continue };
        let bank = constant_bank(known.name, target.banks);
        let is_code = known.name.starts_with(".text.");
        let global = addresses.get(&known.index);
        if bank.is_none() && !(fermi && (is_code || global.is_some())) {
            continue;
        }
        let bad =
            |bad: object::read::Error| ContainerError::Elf { offset: known.header, reason: bad.to_string() };
        let mut patches = Vec::new();
        for (offset, relocation) in section.relocations() {
            meter.step(1)?;
            let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
            let symbol = file.symbol_by_index(symbol).map_err(bad)?;
            let name = symbol.name_bytes().map_err(bad)?;
            names.count(name, known.header)?;
            if offset.checked_add(4).is_none_or(|end| end > known.size) {
                return outside(known, name);
            }
            if let Some((bank, _)) = bank {
                let name = symbol.name().map_err(bad)?.to_string();
                let bytes = u32::try_from(symbol.size()).unwrap_or(u32::MAX);
                meter.hold(size_of::<Global>() + name.len())?;
                module.globals.push(Global { name, bank, offset: offset as u32, bytes });
            }
            if !fermi {
                continue;
            }
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let Some(kind) = kind(r_type.0) else {
                let what = format!("relocation {} of `{}`", r_type.0, String::from_utf8_lossy(name));
                return Err(ContainerError::Unsupported { offset: known.header, what });
            };
            let addend = if relocation.has_implicit_addend() { 0 } else { relocation.addend() as u64 };
            let index = symbol.section_index().map(|index| index.0);
            let variable = index.and_then(|index| addresses.get(&index));
            let (symbol, addend) = match (variable, index) {
                (Some(at), _) => {
                    let address = (GLOBAL_ADDRESS + u64::from(*at)).wrapping_add(symbol.address());
                    (Meaning::Address(address), addend)
                }
                (None, Some(section)) => (Meaning::Code { section, address: symbol.address() }, addend),
                (None, None) => (Meaning::Address(NOWHERE), 0),
            };
            patches.push(Patch { offset, kind, symbol, addend, name });
        }
        if patches.is_empty() {
            continue;
        }
        match (bank, global) {
            (Some((bank, Some(owner))), _) => {
                for linked in by_name.get(owner).into_iter().flatten().map(|&number| &linked[number]) {
                    for part in module.kernels[linked.kernel].consts.iter_mut().filter(|p| p.bank == bank) {
                        part.bytes = patched(known, &part.bytes, &patches, Some(&linked.offsets), meter)?;
                    }
                }
            }
            (Some((bank, None)), _) => {
                // What points to code is another word in each kernel: each has a copy of the bank then.
                let (of_code, others): (Vec<_>, Vec<_>) =
                    patches.into_iter().partition(|patch| matches!(patch.symbol, Meaning::Code { .. }));
                for part in module.shared_consts.iter_mut().filter(|part| part.bank == bank) {
                    part.bytes = patched(known, &part.bytes, &others, None, meter)?;
                    for linked in linked.iter().filter(|_| !of_code.is_empty()) {
                        let bytes = patched(known, &part.bytes, &of_code, Some(&linked.offsets), meter)?;
                        let own = ConstPart { bytes, ..*part };
                        module.kernels[linked.kernel].consts.insert(0, own);
                    }
                }
            }
            (None, Some(&at)) => {
                if known.data.is_empty() {
                    return error(known.header, format!("`{}` has relocations, but no contents", known.name));
                }
                if let Some(memory) = &mut module.global_memory {
                    put(known, &mut memory.contents, at.into(), &patches, None)?;
                }
            }
            (None, None) => {
                for &(number, at) in placed.get(&known.index).into_iter().flatten() {
                    let linked = &mut linked[number];
                    let (code, offsets) = linked.code_mut(&module.kernels[linked.kernel]);
                    put(known, code, at, &patches, Some(offsets))?;
                }
            }
        }
    }
    for linked in linked {
        let number = linked.kernel;
        linked.finish(&mut module.kernels[number]);
    }
    Ok(())
}

fn outside<T>(section: &Section<'_>, name: &[u8]) -> Result<T, ContainerError> {
    let name = String::from_utf8_lossy(name);
    error(section.header, format!("the address of `{name}` is not within `{}`", section.name))
}

/// Puts all patches of a section into bytes, of which it begins at `at`.
fn put(
    section: &Section<'_>,
    bytes: &mut [u8],
    at: u64,
    patches: &[Patch<'_>],
    kernel: Option<&Offsets>,
) -> Result<(), ContainerError> {
    for patch in patches {
        if !put_field(bytes, at + patch.offset, patch.kind, patch.value(kernel)) {
            return outside(section, patch.name);
        }
    }
    Ok(())
}

/// The same in a copy of a whole section.
fn patched(
    section: &Section<'_>,
    bytes: &Bytes,
    patches: &[Patch<'_>],
    kernel: Option<&Offsets>,
    meter: &Meter,
) -> Result<Bytes, ContainerError> {
    meter.hold(bytes.len())?;
    meter.step(patches.len())?;
    let mut own = bytes.to_vec();
    put(section, &mut own, 0, patches, kernel)?;
    Ok(own.into())
}

/// Lays the variables out; gives where each section with some begins.
fn lay_out(
    sections: &[Section<'_>],
    module: &mut Module,
    meter: &Meter,
) -> Result<HashMap<usize, u32>, ContainerError> {
    let mut addresses = HashMap::new();
    let mut contents = Vec::new();
    let mut end = 0u64;
    for section in sections.iter().filter(|s| matches!(s.name, ".nv.global" | ".nv.global.init")) {
        // As aligned as anything the compiler puts there can want to be.
        let begin = end.next_multiple_of(256);
        end = begin + u64::from(section.size(GLOBAL_BYTES)?);
        if end > GLOBAL_BYTES.into() {
            return error(section.header, format!("more than {GLOBAL_BYTES:#x} bytes of variables"));
        }
        addresses.insert(section.index, begin as u32);
        // What has no contents in the file takes no memory here.
        if !section.data.is_empty() {
            meter.hold(end as usize - contents.len())?;
            contents.resize(begin as usize, 0);
            contents.extend_from_slice(section.data);
        }
    }
    if end != 0 {
        module.global_memory = Some(GlobalMemory { address: GLOBAL_ADDRESS, bytes: end as u32, contents });
    }
    Ok(addresses)
}

/// Puts a value into its field, adding what the field holds; false where it does not lie within the bytes.
fn put_field(bytes: &mut [u8], offset: u64, kind: Kind, value: u64) -> bool {
    let Ok(start) = usize::try_from(offset) else { return false };
    let Some(field) = start.checked_add(kind.bytes).and_then(|end| bytes.get_mut(start..end)) else {
        return false;
    };
    let mut word = [0; 8];
    word[..kind.bytes].copy_from_slice(field);
    let word = u64::from_le_bytes(word);
    let mask = if kind.bits == 64 { u64::MAX } else { (1 << kind.bits) - 1 };
    let old = word >> kind.bit & mask;
    let new = (value >> kind.from).wrapping_add(old) & mask;
    let word = word & !(mask << kind.bit) | new << kind.bit;
    field.copy_from_slice(&word.to_le_bytes()[..kind.bytes]);
    true
}
