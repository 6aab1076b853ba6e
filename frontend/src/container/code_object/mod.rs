//! AMD code objects: `e_machine` 224, versions 2 to 6 of the HSA form, and Mesa's form (docs/hardware/gcn.md section 6).
//!
//! | | versions 3 to 6 | version 2, Mesa |
//! |---|---|---|
//! | kernel | a 64-byte descriptor at the symbol `NAME.kd` | 256 bytes of `amd_kernel_code_t` before the code, symbol of type 10 |
//! | arguments | note AMDGPU/32, msgpack | note AMD/10, YAML; Mesa has none |
//! | chip | `e_flags`, or the metadata's target | note AMD/3 |
//!
//! Code addresses its constants relative to the program counter, so all loaded segments become one image that preserves the
//! distances between them. A kernel's guest pc is its address in the file. Objects that no linker has processed (`clang -c`) are
//! linked when they are loaded (`image.rs`).

mod image;
mod kernel;
mod metadata;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object::elf::{ET_DYN, ET_REL, FileHeader64, PT_NOTE, SHT_DYNSYM, SHT_NOBITS, SHT_NULL, SHT_SYMTAB};
use object::read::elf::{FileHeader, NoteIterator, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, read};
use warpjit_ir::Meter;

use super::limits::{self, NameLengths, check_overlaps};
use super::selection::Selection;
use crate::error::ContainerError;
use crate::gcn::chip::Chip;
use crate::isa::Isa;
use crate::module::{ArgKind, CodeObject, Kernel, KernelArg, Module};
use image::Image;
use metadata::Metadata;

/// `e_machine` of code objects.
pub const EM_AMDGPU: u16 = 224;
/// `EI_OSABI` of the HSA form.
const OSABI_HSA: u8 = 0x40;
/// `EI_OSABI` of Mesa's form.
const OSABI_MESA3D: u8 = 0x42;
/// `EI_ABIVERSION` of version 6.
const LAST_ABI_VERSION: u8 = 4;
/// `st_type` of kernels of version 2.
const STT_AMDGPU_HSA_KERNEL: u8 = 10;

fn error<T>(offset: u64, reason: impl Into<String>) -> Result<T, ContainerError> {
    Err(ContainerError::Elf { offset, reason: reason.into() })
}

fn unsupported<T>(offset: u64, what: impl Into<String>) -> Result<T, ContainerError> {
    Err(ContainerError::Unsupported { offset, what: what.into() })
}

fn wrap(offset: u64) -> impl Fn(read::Error) -> ContainerError {
    move |bad| ContainerError::Elf { offset, reason: bad.to_string() }
}

/// Whether an ELF file is a code object.
pub fn is_code_object(bytes: &[u8]) -> bool {
    bytes.get(18..20) == Some(&EM_AMDGPU.to_le_bytes())
}

type Elf = FileHeader64<Endianness>;

/// The file, as far as it is of use to all of its kernels.
struct File<'data> {
    image: Arc<[u8]>,
    /// The same, to have parts of.
    shared: Bytes,
    /// Loaded parts with code: addresses.
    code: Ranges,
    variables: Option<Range<u32>>,
    /// Addresses of what comes from the file, and where it is there.
    parts: Vec<(Range<u64>, u64)>,
    /// Whether kernels have `amd_kernel_code_t`.
    old: bool,
    mesa: bool,
    notes: Vec<Note<'data>>,
    symbols: Vec<Symbol<'data>>,
    by_name: HashMap<&'data str, Symbol<'data>>,
}

/// Ranges of addresses, of which the first in the file counts that holds an address.
struct Ranges {
    /// Where another one begins to count, and its end; in order of addresses.
    list: Vec<(u64, Option<Range<u64>>)>,
}

impl Ranges {
    fn new(ranges: Vec<Range<u64>>) -> Ranges {
        // By end of the ranges that hold an address: the first of the file on top.
        let mut borders: Vec<(u64, bool, usize)> = Vec::new();
        for (number, range) in ranges.iter().enumerate().filter(|(_, range)| !range.is_empty()) {
            borders.extend([(range.start, true, number), (range.end, false, number)]);
        }
        borders.sort_unstable();
        let (mut open, mut list) = (BTreeSet::new(), Vec::new());
        for (address, begins, number) in borders {
            if begins {
                open.insert(number);
            } else {
                open.remove(&number);
            }
            let first: Option<&usize> = open.first();
            list.push((address, first.map(|&number| ranges[number].clone())));
        }
        Ranges { list }
    }

    /// The first range that holds an address.
    fn find(&self, address: u64) -> Option<&Range<u64>> {
        let at = self.list.partition_point(|(start, _)| *start <= address).checked_sub(1)?;
        self.list[at].1.as_ref()
    }
}

struct Note<'data> {
    name: &'data [u8],
    kind: u32,
    desc: &'data [u8],
    /// Offset of the contents in the file.
    at: u64,
}

#[derive(Clone, Copy)]
struct Symbol<'data> {
    name: &'data str,
    kind: u8,
    address: u64,
    bytes: u64,
    /// Offset in the file.
    at: u64,
}

/// Takes a code object apart.
pub fn load(bytes: &[u8], selection: Selection<'_>, meter: &Meter) -> Result<Module, ContainerError> {
    if bytes.get(4) != Some(&object::elf::ELFCLASS64.0) || bytes.get(5) != Some(&object::elf::ELFDATA2LSB.0) {
        return error(4, "not a 64-bit little-endian ELF file, or cut within its header");
    }
    let header = Elf::parse(bytes).map_err(wrap(0))?;
    let endian = Endianness::Little;
    if header.e_machine(endian).0 != EM_AMDGPU {
        return unsupported(18, crate::container::foreign::machine(header.e_machine(endian).0));
    }
    let (abi, version) = (bytes[7], bytes[8]);
    let old = match abi {
        OSABI_MESA3D => true,
        OSABI_HSA if version <= LAST_ABI_VERSION => version == 0,
        OSABI_HSA => return unsupported(8, format!("code object version {}", u32::from(version) + 2)),
        _ => return unsupported(7, format!("OS ABI {abi:#x}")),
    };
    if ![ET_DYN, ET_REL].contains(&header.e_type(endian)) {
        return unsupported(16, "a code object that is neither a shared object nor what a compiler leaves");
    }
    check_parts(bytes, header)?;
    let image = Image::new(bytes, header, selection, meter)?;
    let symbols = symbols(bytes, header, &image, meter)?;
    let all: Arc<[u8]> = image.bytes.into();
    let file = File {
        shared: Bytes::from_owner(all.clone()),
        image: all,
        code: Ranges::new(image.code),
        variables: image.variables.map(|range| range.start as u32..range.end as u32),
        parts: image.parts,
        old,
        mesa: abi == OSABI_MESA3D,
        notes: notes(bytes, header, meter)?,
        by_name: symbols.iter().map(|symbol| (symbol.name, *symbol)).collect(),
        symbols,
    };
    let metadata = file.metadata(meter)?;
    let mut kernels = Vec::new();
    for symbol in &file.symbols {
        meter.step(1)?;
        if let Some(kernel) = file.kernel(symbol, &metadata)? {
            meter.hold(size_of::<Kernel>() + kernel.name.len())?;
            kernels.push(kernel);
        }
    }
    if kernels.is_empty() {
        let wanted = if old { "no symbol of a kernel" } else { "no symbol `NAME.kd`" };
        return error(header.e_shoff(endian), format!("there is {wanted}"));
    }
    let chip = file.chip(header.e_flags(endian).0, metadata.target.as_deref(), &kernels)?;
    Ok(Module {
        isa: Isa::Gcn,
        chip: Some(chip.into()),
        kernels,
        shared_consts: Vec::new(),
        globals: Vec::new(),
        global_memory: None,
        const_symbols: Vec::new(),
    })
}

/// Refuses a file whose parts lie over each other often.
fn check_parts(bytes: &[u8], header: &Elf) -> Result<(), ContainerError> {
    let endian = Endianness::Little;
    let (segments, sections) = (header.e_phoff(endian), header.e_shoff(endian));
    let list = header.program_headers(endian, bytes).map_err(wrap(segments))?;
    let sum = list.iter().map(|segment| segment.p_filesz(endian).min(bytes.len() as u64)).sum();
    check_overlaps(sum, bytes, segments)?;
    let list = header.sections(endian, bytes).map_err(wrap(sections))?;
    let has_contents = |section: &&_| SectionHeader::sh_type(*section, endian) != SHT_NOBITS;
    let sizes =
        list.iter().filter(has_contents).map(|section| section.sh_size(endian).min(bytes.len() as u64));
    check_overlaps(sizes.sum(), bytes, sections)
}

fn notes<'data>(bytes: &'data [u8], header: &Elf, meter: &Meter) -> Result<Vec<Note<'data>>, ContainerError> {
    let endian = Endianness::Little;
    let mut found = Vec::new();
    let mut add = |notes: Option<NoteIterator<'data, Elf>>, at| -> Result<(), ContainerError> {
        let Some(mut notes) = notes else { return Ok(()) };
        while let Some(note) = notes.next().map_err(wrap(at))? {
            meter.step(1)?;
            meter.hold(size_of::<Note<'_>>())?;
            let desc = note.desc();
            let at = (desc.as_ptr() as u64).wrapping_sub(bytes.as_ptr() as u64);
            found.push(Note { name: note.name(), kind: note.n_type(endian).0, desc, at });
        }
        Ok(())
    };
    for segment in header.program_headers(endian, bytes).map_err(wrap(header.e_phoff(endian)))? {
        let at = segment.p_offset(endian);
        if segment.p_type(endian) == PT_NOTE {
            add(segment.notes(endian, bytes).map_err(wrap(at))?, at)?;
        }
    }
    if header.e_type(endian) == ET_REL {
        for section in header.sections(endian, bytes).map_err(wrap(header.e_shoff(endian)))?.iter() {
            let at = section.sh_offset(endian);
            // One of no contents tells the system about the stack.
            if section.sh_size(endian) != 0 {
                add(section.notes(endian, bytes).map_err(wrap(at))?, at)?;
            }
        }
    }
    Ok(found)
}

/// Symbols with names, those for linking first; none twice.
fn symbols<'data>(
    bytes: &'data [u8],
    header: &Elf,
    image: &Image,
    meter: &Meter,
) -> Result<Vec<Symbol<'data>>, ContainerError> {
    let mut lengths = NameLengths::new(bytes);
    let endian = Endianness::Little;
    let at = header.e_shoff(endian);
    let sections = header.sections(endian, bytes).map_err(wrap(at))?;
    let mut found: Vec<Symbol<'data>> = Vec::new();
    let mut names = HashSet::new();
    for table in [SHT_DYNSYM, SHT_SYMTAB] {
        let symbols = sections.symbols(endian, bytes, table).map_err(wrap(at))?;
        for (index, symbol) in symbols.enumerate() {
            let at = sections.section(symbols.section()).map_or(at, |section| {
                if section.sh_type(endian) == SHT_NULL { at } else { section.sh_offset(endian) }
            });
            let at = at.saturating_add(24 * index.0 as u64);
            meter.step(1)?;
            let name = symbol.name(endian, symbols.strings()).map_err(wrap(at))?;
            lengths.count(name, at)?;
            let Ok(name) = std::str::from_utf8(name) else {
                return error(at, "the name of a symbol is no text");
            };
            let address = image.address_of(symbol.st_shndx(endian).0, symbol.st_value(endian));
            let Some(address) = address.filter(|_| !name.is_empty()) else { continue };
            if !names.insert(name) {
                continue;
            }
            let bytes = symbol.st_size(endian);
            meter.hold(2 * size_of::<Symbol<'_>>())?;
            found.push(Symbol { name, kind: symbol.st_type().0, address, bytes, at });
        }
    }
    Ok(found)
}

/// A little-endian number of up to 8 bytes.
fn number_at(bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
    let part = bytes.get(offset..offset.checked_add(size)?)?;
    let mut value = [0; 8];
    value.get_mut(..size)?.copy_from_slice(part);
    Some(u64::from_le_bytes(value))
}

impl File<'_> {
    fn note(&self, name: &[u8], kind: u32) -> Option<&Note<'_>> {
        self.notes.iter().find(|note| note.name == name && note.kind == kind)
    }

    fn metadata(&self, meter: &Meter) -> Result<Metadata, ContainerError> {
        let [new, old] = [(&b"AMDGPU"[..], 32), (b"AMD", 10)].map(|(name, kind)| self.note(name, kind));
        // Parsers of others know no meter: what they make of a byte is bounded.
        if let Some(note) = new.or(old) {
            meter.step(note.desc.len())?;
            meter.hold(note.desc.len().saturating_mul(metadata::BYTES_OF_A_BYTE))?;
        }
        if let Some(note) = new {
            return metadata::msgpack(note.desc, note.at);
        }
        if let Some(note) = old {
            return metadata::yaml(note.desc, note.at);
        }
        Ok(Metadata::default())
    }

    /// The kernel that a symbol stands for, if it does.
    fn kernel(&self, symbol: &Symbol<'_>, metadata: &Metadata) -> Result<Option<Kernel>, ContainerError> {
        let name = match symbol.name.strip_suffix(".kd") {
            Some(name) if !self.old => name,
            None if self.old && symbol.kind == STT_AMDGPU_HSA_KERNEL => symbol.name,
            _ => return Ok(None),
        };
        let head = kernel::Head::read(self, symbol, name)?;
        let described = metadata.kernels.get(name);
        let args = described.map(|kernel| kernel.args.clone());
        let kernarg_bytes = described
            .map_or(0, |kernel| kernel.kernarg_bytes)
            .max(head.kernarg_bytes)
            .max(args.iter().flatten().map(|arg| arg.offset + arg.bytes).max().unwrap_or(0));
        if kernarg_bytes > limits::KERNARG {
            let reason = format!("kernel `{name}` has {kernarg_bytes:#x} bytes of arguments");
            return error(symbol.at, format!("{reason}, more than {:#x}", limits::KERNARG));
        }
        let code = self.code_of(&head, symbol, name)?;
        Ok(Some(Kernel {
            name: name.to_string(),
            code: self.shared.slice(code.start as usize..code.end as usize),
            address: code.start,
            entry: code.start,
            registers: Some(head.vgprs()),
            shared_bytes: head.shared_bytes,
            local_bytes: head.private_bytes,
            code_object: Some(CodeObject {
                image: self.image.clone(),
                variables: self.variables.clone(),
                descriptor: head.address,
                mesa: self.mesa,
                rsrc1: head.rsrc1,
                rsrc2: head.rsrc2,
                properties: head.properties,
                kernarg_bytes,
                args,
                block: described.and_then(|kernel| kernel.block),
            }),
            ..Kernel::default()
        }))
    }

    /// The addresses of a kernel's code: from its entry to the end of its symbol, or of the segment.
    fn code_of(
        &self,
        head: &kernel::Head,
        symbol: &Symbol<'_>,
        name: &str,
    ) -> Result<Range<u32>, ContainerError> {
        let entry = head.entry;
        let Some(segment) = self.code.find(entry) else {
            return error(symbol.at, format!("kernel `{name}` begins at {entry:#x}, where there is no code"));
        };
        if !entry.is_multiple_of(4) {
            return error(symbol.at, format!("kernel `{name}` begins at {entry:#x}, within a word"));
        }
        let own = self.by_name.get(name).and_then(|symbol| symbol.address.checked_add(symbol.bytes));
        let end = own.filter(|&end| end > entry).map_or(segment.end, |end| end.min(segment.end));
        Ok(entry as u32..(end - (end - entry) % 4) as u32)
    }

    /// The chip: what the notes say, else the low byte of `e_flags`, which may mean something else in old files.
    fn chip(&self, flags: u32, target: Option<&str>, kernels: &[Kernel]) -> Result<Chip, ContainerError> {
        const FLAGS_OFFSET: u64 = 48;
        let (name, offset) = if let Some(note) = self.note(b"AMD", 3) {
            // Sizes of two names, then the version.
            let number = |offset| number_at(note.desc, offset, 4);
            let (Some(major), Some(minor), Some(stepping)) = (number(4), number(8), number(12)) else {
                return error(note.at, "the note with the ISA's version is cut off");
            };
            (format!("gfx{major}{minor}{stepping:x}"), note.at)
        } else if let Some(name) = mach(flags & 0xff) {
            (name.to_string(), FLAGS_OFFSET)
        } else if let Some(target) = target {
            (target.to_string(), FLAGS_OFFSET)
        } else if let Some(version) = kernels.first().and_then(|kernel| self.old_version(kernel)) {
            (version, FLAGS_OFFSET)
        } else {
            return unsupported(FLAGS_OFFSET, format!("processor {:#x}", flags & 0xff));
        };
        Chip::parse(&name).map_or_else(|| unsupported(offset, format!("processor {name}")), Ok)
    }

    /// The version in `amd_kernel_code_t`.
    fn old_version(&self, kernel: &Kernel) -> Option<String> {
        let head = kernel.code_object.as_ref().filter(|_| self.old)?.descriptor as usize;
        let number = |offset| number_at(&self.image, head + offset, 2);
        Some(format!("gfx{}{}{:x}", number(10)?, number(12)?, number(14)?))
    }
}

/// The processor that `EF_AMDGPU_MACH` stands for, of those that are GCN.
fn mach(number: u32) -> Option<&'static str> {
    Some(match number {
        0x20 => "gfx600",
        0x21 => "gfx601",
        0x22 => "gfx700",
        0x23 => "gfx701",
        0x24 => "gfx702",
        0x25 => "gfx703",
        0x26 => "gfx704",
        0x28 => "gfx801",
        0x29 => "gfx802",
        0x2a => "gfx803",
        0x2b => "gfx810",
        0x2c => "gfx900",
        0x2d => "gfx902",
        0x2e => "gfx904",
        0x2f => "gfx906",
        0x31 => "gfx909",
        0x32 => "gfx90c",
        0x3a => "gfx602",
        0x3b => "gfx705",
        0x3c => "gfx805",
        _ => return None,
    })
}
