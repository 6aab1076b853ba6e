//! Reads ELF cubins: `e_machine` 190, code in `.text.NAME`, constants in `.nv.constantBANK[.NAME]`, resource sizes in section
//! headers and `.nv.info.NAME`.
//!
//! The format is known from cubins of CUDA 3 for Fermi; those for sm_1x have the same sections:
//!
//! - The low byte of `e_flags` is the compute capability.
//! - In the header of `.text.NAME`, the high byte of `sh_info` is the number of registers, and bits 20-26 of `sh_flags` are the
//!   number of barriers.
//! - The sizes of `.nv.shared.NAME` and `.nv.local.NAME` are the kernel's shared and local memory.
//! - `.nv.info.NAME` is a list of (format, attribute, 16-bit size or value). The module `params` reads it.
//! - Fermi's files also have variables in `.nv.global` and `.nv.global.init`, and relocations that write their addresses into a
//!   constant bank or the code. The module `globals` applies them.

mod globals;
mod link;
mod params;

use std::collections::HashMap;

use bytes::Bytes;
use object::elf::{ELFCLASS32, ELFCLASS64, ELFDATA2LSB, SHT_NOBITS};
use object::read::elf::{ElfFile, FileHeader, SectionHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol};
use warpjit_ir::Meter;

use super::limits::{self, NameLengths, check_overlaps, zeros};
use super::selection::Selection;
use crate::error::ContainerError;
use crate::module::{ConstPart, ConstSymbol, Kernel, Module};
use crate::{Isa, fermi, tesla};

/// `e_machine` of CUDA code.
const EM_CUDA: u16 = 190;

/// Tesla: where the parameters begin in shared memory.
const PARAM_BASE: u32 = 0x10;

/// Who the code is for, and the limits that go with it.
#[derive(Clone, Copy, Debug)]
struct Target {
    isa: Isa,
    chip: crate::Chip,
    /// Multiple of bytes that code has.
    word: usize,
    registers: u32,
    shared: u32,
    local: u32,
    banks: u32,
    /// Bytes that parameters may take.
    params: u32,
}

impl Target {
    /// The oldest chip of a compute capability.
    fn of_capability(capability: u32) -> Option<Target> {
        let name = format!("sm_{capability}");
        let tesla = |chip: tesla::Chip| Target {
            isa: Isa::Tesla,
            chip: chip.into(),
            word: 4,
            registers: limits::REGISTERS,
            shared: limits::SHARED,
            local: limits::LOCAL,
            banks: limits::BANKS,
            params: limits::SHARED - PARAM_BASE,
        };
        let fermi = |chip: fermi::Chip| Target {
            isa: Isa::Fermi,
            chip: chip.into(),
            word: 8,
            registers: fermi::map::REGISTERS,
            shared: fermi::map::SHARED_BYTES,
            local: fermi::map::LOCAL_BYTES,
            banks: fermi::map::BANKS,
            params: fermi::map::PARAM_BYTES,
        };
        tesla::Chip::parse(&name).map(tesla).or_else(|| fermi::Chip::parse(&name).map(fermi))
    }
}

fn error<T>(offset: u64, reason: impl Into<String>) -> Result<T, ContainerError> {
    Err(ContainerError::Elf { offset, reason: reason.into() })
}

/// Takes an ELF cubin apart.
pub fn load(bytes: &[u8], selection: Selection<'_>, meter: &Meter) -> Result<Module, ContainerError> {
    if bytes.get(5) != Some(&ELFDATA2LSB.0) {
        return error(5, "not little-endian, or cut within its header");
    }
    match bytes.get(4) {
        Some(&class) if class == ELFCLASS32.0 => {
            load_class::<object::elf::FileHeader32<Endianness>>(bytes, selection, meter)
        }
        Some(&class) if class == ELFCLASS64.0 => {
            load_class::<object::elf::FileHeader64<Endianness>>(bytes, selection, meter)
        }
        _ => error(4, "neither a 32-bit nor a 64-bit ELF file"),
    }
}

/// A section as the rest of the file needs it.
struct Section<'data> {
    name: &'data str,
    /// Offset of its header.
    header: u64,
    data: &'data [u8],
    /// The same as a part of the file that outlives the loader.
    shared: Bytes,
    size: u64,
    flags: u64,
    info: u32,
    index: usize,
}

impl Section<'_> {
    /// The size as a number that must not be above `limit`.
    fn size(&self, limit: u32) -> Result<u32, ContainerError> {
        if self.size > u64::from(limit) {
            let reason = format!("section `{}` has {:#x} bytes, more than {limit:#x}", self.name, self.size);
            return error(self.header, reason);
        }
        Ok(self.size as u32)
    }

    /// The contents, zeros where the file has none.
    fn contents(&self, limit: u32) -> Result<Bytes, ContainerError> {
        let size = self.size(limit)? as usize;
        Ok(if self.data.is_empty() { zeros(size) } else { self.shared.clone() })
    }
}

/// The sections of a file, and which of them belong to which kernel.
struct Sections<'data> {
    list: Vec<Section<'data>>,
    /// By number, where each is in the list.
    by_index: HashMap<usize, usize>,
    /// By the name of a kernel: its constants, and its `.nv.shared.`, `.nv.local.` and `.nv.info.`.
    of_kernel: HashMap<&'data str, Vec<usize>>,
    /// Constants of all kernels.
    shared_banks: Vec<usize>,
}

impl<'data> Sections<'data> {
    fn new(list: Vec<Section<'data>>, banks: u32) -> Sections<'data> {
        let by_index = list.iter().enumerate().map(|(at, section)| (section.index, at)).collect();
        let mut sections = Sections { list, by_index, of_kernel: HashMap::new(), shared_banks: Vec::new() };
        for (at, section) in sections.list.iter().enumerate() {
            let owner = match constant_bank(section.name, banks) {
                Some((_, None)) => {
                    sections.shared_banks.push(at);
                    None
                }
                Some((_, owner)) => owner,
                None => RESOURCES.iter().find_map(|prefix| section.name.strip_prefix(prefix)),
            };
            if let Some(owner) = owner {
                sections.of_kernel.entry(owner).or_default().push(at);
            }
        }
        sections
    }

    /// The section of a number.
    fn at(&self, index: usize) -> Option<&Section<'data>> {
        self.by_index.get(&index).map(|&at| &self.list[at])
    }

    /// The sections that name a kernel, but for its code.
    fn of<'s>(&'s self, kernel: &str) -> impl Iterator<Item = &'s Section<'data>> + use<'s, 'data> {
        self.of_kernel.get(kernel).into_iter().flatten().map(|&at| &self.list[at])
    }

    /// The constants of all kernels.
    fn shared_banks(&self) -> impl Iterator<Item = &Section<'data>> {
        self.shared_banks.iter().map(|&at| &self.list[at])
    }
}

/// Prefixes of sections that say what a kernel needs.
const RESOURCES: [&str; 3] = [".nv.shared.", ".nv.local.", ".nv.info."];

fn load_class<Elf: FileHeader<Endian = Endianness>>(
    bytes: &[u8],
    selection: Selection<'_>,
    meter: &Meter,
) -> Result<Module, ContainerError> {
    let wrap =
        |offset: u64| move |bad: object::read::Error| ContainerError::Elf { offset, reason: bad.to_string() };
    let header = Elf::parse(bytes).map_err(wrap(0))?;
    let endian = Endianness::Little;
    let machine = header.e_machine(endian).0;
    if machine != EM_CUDA {
        let what = super::foreign::machine(machine);
        return Err(ContainerError::Unsupported { offset: 18, what });
    }
    let flags = header.e_flags(endian).0;
    let flags_offset = if header.is_class_64() { 48 } else { 36 };
    let capability = flags & 0xff;
    let Some(target) = Target::of_capability(capability) else {
        return Err(ContainerError::Unsupported { offset: flags_offset, what: format!("sm_{capability}") });
    };
    let table: u64 = header.e_shoff(endian).into();
    let file = ElfFile::<Elf>::parse(bytes).map_err(wrap(table))?;
    let header_size = u64::from(header.e_shentsize(endian));

    meter.hold(bytes.len())?;
    let all = Bytes::copy_from_slice(bytes);
    let mut names = NameLengths::new(bytes);
    let mut list = Vec::new();
    for section in file.sections() {
        meter.step(1)?;
        meter.hold(size_of::<Section<'_>>())?;
        let index = section.index().0;
        let at = table.saturating_add(header_size.saturating_mul(index as u64));
        let raw = section.elf_section_header();
        let name = section.name().map_err(wrap(at))?;
        names.count(name.as_bytes(), at)?;
        let data = if raw.sh_type(endian) == SHT_NOBITS { &[] } else { section.data().map_err(wrap(at))? };
        let start = (data.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize);
        list.push(Section {
            name,
            header: at,
            data,
            shared: if data.is_empty() { Bytes::new() } else { all.slice(start..start + data.len()) },
            size: raw.sh_size(endian).into(),
            flags: raw.sh_flags(endian).0,
            info: raw.sh_info(endian),
            index,
        });
    }
    check_overlaps(list.iter().map(|section| section.data.len() as u64).sum(), bytes, table)?;
    let sections = Sections::new(list, target.banks);

    let mut module = Module {
        isa: target.isa,
        chip: Some(target.chip),
        kernels: Vec::new(),
        shared_consts: Vec::new(),
        globals: Vec::new(),
        global_memory: None,
        const_symbols: Vec::new(),
    };
    for section in sections.shared_banks() {
        module.shared_consts.extend(bank_contents(section, target)?);
    }
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for section in &sections.list {
        if let Some(name) = section.name.strip_prefix(".text.") {
            meter.step(1)?;
            meter.hold(size_of::<Kernel>())?;
            // Each would have what belongs to the name, as often as the name is there.
            if by_name.insert(name, module.kernels.len()).is_some() {
                return error(section.header, format!("a second section is called `{}`", section.name));
            }
            module.kernels.push(kernel(section, name, &sections, target)?);
        }
    }
    if module.kernels.is_empty() {
        return error(table, "there is no section `.text.NAME`");
    }

    for symbol in file.symbols() {
        meter.step(1)?;
        let Some(index) = symbol.section_index() else { continue };
        let Some(section) = sections.at(index.0) else { continue };
        let name = symbol.name().map_err(wrap(table))?;
        names.count(name.as_bytes(), section.header)?;
        if let Some(kernel) = section.name.strip_prefix(".text.") {
            if name == kernel
                && let Some(&number) = by_name.get(name)
            {
                let kernel = &mut module.kernels[number];
                let address = symbol.address();
                if address % target.word as u64 != 0 || address >= kernel.code.len() as u64 {
                    return error(section.header, format!("kernel `{name}` begins outside of its code"));
                }
                kernel.entry = address as u32;
            }
        } else if let Some((bank, None)) = constant_bank(section.name, target.banks)
            && !name.is_empty()
            && symbol.kind() != object::SymbolKind::Section
        {
            let (offset, size) = (symbol.address(), symbol.size());
            if offset.checked_add(size).is_none_or(|end| end > section.size) {
                return error(section.header, format!("constant `{name}` is not within its section"));
            }
            meter.hold(size_of::<ConstSymbol>() + name.len())?;
            module.const_symbols.push(ConstSymbol {
                name: name.to_string(),
                bank,
                offset: offset as u32,
                bytes: size as u32,
            });
        }
    }
    let cubin = Cubin { file, sections, target, meter };
    globals::apply(&cubin, selection, names, &mut module)?;
    Ok(module)
}

/// A file whose sections are known.
struct Cubin<'data, 'm, Elf: FileHeader<Endian = Endianness>> {
    file: ElfFile<'data, Elf>,
    sections: Sections<'data>,
    target: Target,
    meter: &'m Meter,
}

/// What a section says of a constant bank.
fn bank_contents(section: &Section<'_>, target: Target) -> Result<Option<ConstPart>, ContainerError> {
    let Some((bank, _)) = constant_bank(section.name, target.banks) else { return Ok(None) };
    // c0[] of Fermi is the launch's: the section only says how far the parameters go.
    if target.isa == Isa::Fermi && bank == 0 {
        section.size(limits::BANK)?;
        return Ok(None);
    }
    Ok(Some(ConstPart { bank, offset: 0, bytes: section.contents(limits::BANK)? }))
}

/// `.nv.constantBANK` or `.nv.constantBANK.NAME`.
fn constant_bank(name: &str, banks: u32) -> Option<(u32, Option<&str>)> {
    let rest = name.strip_prefix(".nv.constant")?;
    let (bank, kernel) = match rest.split_once('.') {
        Some((bank, kernel)) => (bank, Some(kernel)),
        None => (rest, None),
    };
    let digits = !bank.is_empty() && bank.len() <= 2 && bank.bytes().all(|c| c.is_ascii_digit());
    let bank = digits.then(|| bank.parse().ok()).flatten().filter(|&bank| bank < banks)?;
    Some((bank, kernel))
}

fn kernel(
    text: &Section<'_>,
    name: &str,
    sections: &Sections<'_>,
    target: Target,
) -> Result<Kernel, ContainerError> {
    let mut kernel = Kernel {
        name: name.to_string(),
        code: text.contents(limits::CODE)?,
        registers: Some(text.info >> 24),
        barriers: (text.flags >> 20 & 0x7f) as u32,
        ..Kernel::default()
    };
    if text.data.is_empty() || !text.data.len().is_multiple_of(target.word) {
        return error(text.header, format!("section `{}` is not a number of words", text.name));
    }
    if text.info >> 24 > target.registers {
        return error(text.header, format!("section `{}` wants {} registers", text.name, text.info >> 24));
    }
    if kernel.barriers > limits::BARRIERS {
        return error(text.header, format!("section `{}` wants {} barriers", text.name, kernel.barriers));
    }
    for section in sections.of(name) {
        kernel.consts.extend(bank_contents(section, target)?);
        if section.name.starts_with(".nv.shared.") {
            kernel.shared_bytes = section.size(target.shared)?;
        } else if section.name.starts_with(".nv.local.") {
            kernel.local_bytes = section.size(target.local)?;
        } else if section.name.starts_with(".nv.info.") {
            kernel.params = params::read(section, target)?;
        }
    }
    if target.isa == Isa::Tesla {
        // Whether the section counts header and parameters no example says; they are there in any case.
        let params = kernel.params.as_ref().map_or(0, |params| params.bytes);
        kernel.shared_bytes = kernel.shared_bytes.max(PARAM_BASE + params);
    } else {
        params::check_bank(&kernel, sections)?;
    }
    Ok(kernel)
}
