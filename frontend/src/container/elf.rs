//! ELF cubins: `e_machine` 190, code in `.text.NAME`, constants in `.nv.constantBANK[.NAME]`, resources in
//! section headers and `.nv.info.NAME`.
//!
//! What is known comes from cubins of CUDA 3 (for Fermi; sm_1x ones have the same sections): the low byte of
//! `e_flags` is the compute capability, the high byte of a text section's `sh_info` the number of registers,
//! bits 20-26 of its `sh_flags` the barriers, sizes of `.nv.shared.NAME` and `.nv.local.NAME` the memory.
//! `.nv.info.NAME` is a list of (format, attribute, 16-bit size or value); `params` reads it. Fermi's files also have
//! variables in `.nv.global` and `.nv.global.init`, and relocations that put their addresses into a bank or the code
//! (`globals`).

mod globals;
mod link;
mod params;

use object::elf::{ELFCLASS32, ELFCLASS64, ELFDATA2LSB, SHT_NOBITS};
use object::read::elf::{ElfFile, FileHeader, SectionHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol};

use super::{ConstPart, ConstSymbol, ContainerError, Kernel, Module, limits};
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
            registers: fermi::abi::REGISTERS,
            shared: fermi::abi::SHARED_BYTES,
            local: fermi::abi::LOCAL_BYTES,
            banks: fermi::abi::BANKS,
            params: fermi::abi::PARAM_BYTES,
        };
        tesla::Chip::parse(&name).map(tesla).or_else(|| fermi::Chip::parse(&name).map(fermi))
    }
}

fn error<T>(offset: u64, reason: impl Into<String>) -> Result<T, ContainerError> {
    Err(ContainerError::Elf { offset, reason: reason.into() })
}

/// Takes an ELF cubin apart.
pub fn load(bytes: &[u8]) -> Result<Module, ContainerError> {
    if bytes.get(5) != Some(&ELFDATA2LSB.0) {
        return error(5, "not little-endian, or cut within its header");
    }
    match bytes.get(4) {
        Some(&class) if class == ELFCLASS32.0 => load_class::<object::elf::FileHeader32<Endianness>>(bytes),
        Some(&class) if class == ELFCLASS64.0 => load_class::<object::elf::FileHeader64<Endianness>>(bytes),
        _ => error(4, "neither a 32-bit nor a 64-bit ELF file"),
    }
}

/// A section as the rest of the file needs it.
struct Section<'data> {
    name: &'data str,
    /// Offset of its header.
    header: u64,
    data: &'data [u8],
    size: u64,
    flags: u64,
    info: u32,
    index: usize,
}

impl<'data> Section<'data> {
    /// The size as a number that must not be above `limit`.
    fn size(&self, limit: u32) -> Result<u32, ContainerError> {
        if self.size > u64::from(limit) {
            let reason = format!("section `{}` has {:#x} bytes, more than {limit:#x}", self.name, self.size);
            return error(self.header, reason);
        }
        Ok(self.size as u32)
    }

    /// The contents, zeros where the file has none.
    fn contents(&self, limit: u32) -> Result<Vec<u8>, ContainerError> {
        let size = self.size(limit)? as usize;
        let mut contents = self.data.to_vec();
        contents.resize(size, 0);
        Ok(contents)
    }
}

fn load_class<Elf: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> Result<Module, ContainerError> {
    let wrap =
        |offset: u64| move |bad: object::read::Error| ContainerError::Elf { offset, reason: bad.to_string() };
    let header = Elf::parse(bytes).map_err(wrap(0))?;
    let endian = Endianness::Little;
    let machine = header.e_machine(endian).0;
    if machine != EM_CUDA {
        let what = format!("ELF machine {machine}");
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

    let mut sections = Vec::new();
    for section in file.sections() {
        let index = section.index().0;
        let at = table.saturating_add(header_size.saturating_mul(index as u64));
        let raw = section.elf_section_header();
        let name = section.name().map_err(wrap(at))?;
        let data = if raw.sh_type(endian) == SHT_NOBITS { &[] } else { section.data().map_err(wrap(at))? };
        sections.push(Section {
            name,
            header: at,
            data,
            size: raw.sh_size(endian).into(),
            flags: raw.sh_flags(endian).0,
            info: raw.sh_info(endian),
            index,
        });
    }

    let mut module = Module {
        isa: target.isa,
        chip: Some(target.chip),
        kernels: Vec::new(),
        globals: Vec::new(),
        global_memory: None,
        const_symbols: Vec::new(),
    };
    for section in &sections {
        if let Some(name) = section.name.strip_prefix(".text.") {
            module.kernels.push(kernel(section, name, &sections, target)?);
        }
    }
    if module.kernels.is_empty() {
        return error(table, "there is no section `.text.NAME`");
    }

    for symbol in file.symbols() {
        let Some(index) = symbol.section_index() else { continue };
        let Some(section) = sections.iter().find(|section| section.index == index.0) else { continue };
        let name = symbol.name().map_err(wrap(table))?;
        if let Some(kernel) = section.name.strip_prefix(".text.") {
            if name == kernel
                && let Some(kernel) = module.kernels.iter_mut().find(|kernel| kernel.name == name)
            {
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
            module.const_symbols.push(ConstSymbol {
                name: name.to_string(),
                bank,
                offset: offset as u32,
                bytes: size as u32,
            });
        }
    }
    globals::apply(&file, &sections, target, &mut module)?;
    Ok(module)
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
    sections: &[Section<'_>],
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
    for section in sections {
        if let Some((bank, owner)) = constant_bank(section.name, target.banks) {
            // c0[] of Fermi is the launch's: the section only says how far the parameters go.
            if target.isa == Isa::Fermi && bank == 0 {
                section.size(limits::BANK)?;
            } else if owner.is_none_or(|owner| owner == name) {
                let bytes = section.contents(limits::BANK)?;
                kernel.consts.push(ConstPart { bank, offset: 0, bytes });
            }
        } else if section.name.strip_prefix(".nv.shared.") == Some(name) {
            kernel.shared_bytes = section.size(target.shared)?;
        } else if section.name.strip_prefix(".nv.local.") == Some(name) {
            kernel.local_bytes = section.size(target.local)?;
        } else if section.name.strip_prefix(".nv.info.") == Some(name) {
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
