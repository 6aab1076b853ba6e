//! Takes code objects apart: ELF files for `e_machine` 224, versions 2 to 6, linked.
//!
//! The front end's loader makes an image for one launch. Here a code object is loaded once, at an address of the process, and its variables
//! stay; so it is taken apart into what a loader needs, and nothing of its kernels is looked at before they are asked for.

use crate::chip::Device;
use object::elf::{ET_DYN, FileHeader64, PT_LOAD, PT_NOTE, SHT_DYNSYM, SHT_RELA, SHT_SYMTAB};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, SymbolIndex};
use std::fmt::Display;

/// `e_machine` of code objects, and `EI_OSABI` of HSA's.
const MACHINE: u16 = 224;
const OSABI_HSA: u8 = 0x40;
/// `EI_ABIVERSION` of version 6.
const LAST_ABI_VERSION: u8 = 4;
/// Most bytes of a loaded code object.
const MOST_BYTES: u64 = 1 << 32;

const LITTLE: Endianness = Endianness::Little;

/// Why a code object cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is damaged, or no code object.
    Invalid(String),
    /// It is for another device.
    Foreign(String),
}

fn invalid(reason: impl Display) -> Refused {
    Refused::Invalid(reason.to_string())
}

/// Bytes of the file that are loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment<'data> {
    pub address: u64,
    pub data: &'data [u8],
    pub bytes: u64,
}

/// What a symbol stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A kernel: of its descriptor, or of its `amd_kernel_code_t` (version 2).
    Kernel,
    /// A variable.
    Variable,
    /// A function that is called by its address.
    Function,
}

/// A symbol that is defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub name: String,
    pub kind: Kind,
    pub address: u64,
    pub bytes: u64,
    /// Whether other code objects see it.
    pub global: bool,
    /// Whether it lies where programs may write.
    pub writable: bool,
    /// Alignment of its section.
    pub alignment: u32,
}

/// What a relocation adds to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The address where the file is loaded.
    Base,
    /// A place in the file.
    Address(u64),
    /// A symbol that others define; `true` if it need not be there.
    Undefined(String, bool),
}

/// A place that gets an address when the code object is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Relocation {
    pub at: u64,
    pub kind: RelocationKind,
    pub target: Target,
    pub addend: i64,
}

/// R_AMDGPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelocationKind {
    Low32,
    High32,
    Whole,
    Relative32,
    Relative64,
    Absolute32,
}

/// A code object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object<'data> {
    /// Whether kernels have `amd_kernel_code_t` (version 2).
    pub old: bool,
    pub segments: Vec<Segment<'data>>,
    pub symbols: Vec<Symbol>,
    pub relocations: Vec<Relocation>,
    /// Addresses of functions, as far as the file tells: by symbols, and by what relocations refer to in code.
    pub functions: Vec<u64>,
    /// Addresses of all segments.
    pub start: u64,
    pub end: u64,
}

type Header = FileHeader64<Endianness>;

impl<'data> Object<'data> {
    /// Takes one apart that is to run on a device.
    pub fn parse(bytes: &'data [u8], device: &Device) -> Result<Self, Refused> {
        if bytes.get(..4) != Some(b"\x7fELF") {
            return Err(invalid("it is no ELF file"));
        }
        if bytes.get(4..6) != Some(&[2, 1]) {
            return Err(invalid("it is no 64-bit little-endian ELF file"));
        }
        let header = Header::parse(bytes).map_err(invalid)?;
        if header.e_machine(LITTLE).0 != MACHINE {
            return Err(invalid(format!("its machine is {}, not AMDGPU", header.e_machine(LITTLE).0)));
        }
        let (abi, version) = (bytes[7], bytes[8]);
        if abi != OSABI_HSA || version > LAST_ABI_VERSION {
            return Err(invalid(format!("its OS ABI is {abi:#x}, version {version}")));
        }
        if header.e_type(LITTLE) != ET_DYN {
            return Err(invalid("it is not linked"));
        }
        if version == 0 {
            check_old(bytes, header, device)?;
        } else {
            device.runs(header.e_flags(LITTLE).0, version).map_err(Refused::Foreign)?;
        }
        let mut object = Object {
            old: version == 0,
            segments: segments(bytes, header)?,
            symbols: Vec::new(),
            relocations: Vec::new(),
            functions: Vec::new(),
            start: 0,
            end: 0,
        };
        object.start = object.segments.iter().map(|segment| segment.address).min().unwrap_or(0) & !0xfff;
        object.end = object.segments.iter().map(|segment| segment.address + segment.bytes).max().unwrap_or(0);
        if object.end - object.start > MOST_BYTES {
            return Err(invalid(format!("it takes {:#x} bytes", object.end - object.start)));
        }
        object.read_symbols(bytes, header)?;
        object.read_relocations(bytes, header)?;
        object.find_functions(bytes, header)?;
        Ok(object)
    }

    fn contains(&self, address: u64, bytes: u64) -> bool {
        address >= self.start && address.checked_add(bytes).is_some_and(|end| end <= self.end)
    }

    fn read_symbols(&mut self, bytes: &[u8], header: &Header) -> Result<(), Refused> {
        let sections = header.sections(LITTLE, bytes).map_err(invalid)?;
        let mut table = sections.symbols(LITTLE, bytes, SHT_DYNSYM).map_err(invalid)?;
        if table.is_empty() {
            table = sections.symbols(LITTLE, bytes, SHT_SYMTAB).map_err(invalid)?;
        }
        for symbol in table.iter() {
            let section = symbol.st_shndx(LITTLE).0;
            let name = symbol.name(LITTLE, table.strings()).map_err(invalid)?;
            if section == 0 || section >= 0xff00 || name.is_empty() {
                continue;
            }
            let name = std::str::from_utf8(name).map_err(|_| invalid("the name of a symbol is no text"))?;
            /// Types of symbols: object, function, kernel of version 2.
            const OBJECT: u8 = 1;
            const FUNCTION: u8 = 2;
            const OLD_KERNEL: u8 = 10;
            let kind = match symbol.st_type().0 {
                OBJECT if !self.old && name.ends_with(".kd") => Kind::Kernel,
                OBJECT => Kind::Variable,
                OLD_KERNEL if self.old => Kind::Kernel,
                FUNCTION => Kind::Function,
                _ => continue,
            };
            let (address, size) = (symbol.st_value(LITTLE), symbol.st_size(LITTLE));
            let least = match kind {
                Kind::Kernel if self.old => 256,
                Kind::Kernel => 64,
                _ => 0,
            };
            if !self.contains(address, least) {
                return Err(invalid(format!("symbol {name} is at {address:#x}, where nothing is loaded")));
            }
            let header = sections.section(object::SectionIndex(section.into())).ok();
            let flags = header.map_or(0, |header| header.sh_flags(LITTLE).0);
            self.symbols.push(Symbol {
                name: name.to_owned(),
                kind,
                address,
                bytes: size,
                global: symbol.st_bind().0 != 0,
                writable: flags & object::elf::SHF_WRITE.0 != 0,
                alignment: header.map_or(1, |header| header.sh_addralign(LITTLE).clamp(1, 1 << 16) as u32),
            });
        }
        Ok(())
    }

    /// Where calls by pointers may lead.
    fn find_functions(&mut self, bytes: &[u8], header: &Header) -> Result<(), Refused> {
        /// The type of functions' symbols.
        const FUNCTION: u8 = 2;
        let mut code: Vec<(u64, u64)> = Vec::new();
        for segment in header.program_headers(LITTLE, bytes).map_err(invalid)? {
            if segment.p_type(LITTLE) == PT_LOAD && segment.p_flags(LITTLE).0 & object::elf::PF_X.0 != 0 {
                code.push((segment.p_vaddr(LITTLE), segment.p_memsz(LITTLE)));
            }
        }
        let is_code = |address: u64| {
            address.is_multiple_of(4)
                && code.iter().any(|(start, bytes)| address.wrapping_sub(*start) < *bytes)
        };
        let mut found = Vec::new();
        let sections = header.sections(LITTLE, bytes).map_err(invalid)?;
        for kind in [SHT_DYNSYM, SHT_SYMTAB] {
            let table = sections.symbols(LITTLE, bytes, kind).map_err(invalid)?;
            let functions = table.iter().filter(|symbol| symbol.st_type().0 == FUNCTION);
            found.extend(functions.map(|symbol| symbol.st_value(LITTLE)));
        }
        found.extend(self.relocations.iter().filter_map(|relocation| match relocation.target {
            Target::Base => Some(relocation.addend as u64),
            Target::Address(address) => Some(address.wrapping_add(relocation.addend as u64)),
            Target::Undefined(..) => None,
        }));
        found.retain(|&address| is_code(address));
        found.sort_unstable();
        found.dedup();
        self.functions = found;
        Ok(())
    }

    fn read_relocations(&mut self, bytes: &[u8], header: &Header) -> Result<(), Refused> {
        let sections = header.sections(LITTLE, bytes).map_err(invalid)?;
        for section in sections.iter().filter(|section| section.sh_type(LITTLE) == SHT_RELA) {
            let Some((entries, link)) = section.rela(LITTLE, bytes).map_err(invalid)? else { continue };
            let symbols = match sections.section(link).map(|section| section.sh_type(LITTLE)) {
                // Those that name other symbols are a linker's, which has applied them.
                Ok(SHT_DYNSYM) => sections.symbols(LITTLE, bytes, SHT_DYNSYM).map_err(invalid)?,
                _ => continue,
            };
            for entry in entries {
                let (number, kind) = (entry.r_sym(LITTLE, false), entry.r_type(LITTLE, false));
                let (kind, size) = match kind.0 {
                    0 => continue,
                    1 => (RelocationKind::Low32, 4),
                    2 => (RelocationKind::High32, 4),
                    3 | 13 => (RelocationKind::Whole, 8),
                    4 => (RelocationKind::Relative32, 4),
                    5 => (RelocationKind::Relative64, 8),
                    6 => (RelocationKind::Absolute32, 4),
                    other => return Err(invalid(format!("it has a relocation of type {other}"))),
                };
                let at = entry.r_offset.get(LITTLE);
                if !self.contains(at, size) {
                    return Err(invalid(format!("a relocation is at {at:#x}, where nothing is loaded")));
                }
                let target = match number {
                    0 => Target::Base,
                    number => {
                        let symbol = symbols.symbol(SymbolIndex(number as usize)).map_err(invalid)?;
                        if symbol.st_shndx(LITTLE).0 != 0 {
                            Target::Address(symbol.st_value(LITTLE))
                        } else {
                            let name = symbol.name(LITTLE, symbols.strings()).map_err(invalid)?;
                            const WEAK: u8 = 2;
                            let name = String::from_utf8_lossy(name).into_owned();
                            Target::Undefined(name, symbol.st_bind().0 == WEAK)
                        }
                    }
                };
                let addend = entry.r_addend.get(LITTLE);
                self.relocations.push(Relocation { at, kind, target, addend });
            }
        }
        Ok(())
    }
}

fn segments<'data>(bytes: &'data [u8], header: &Header) -> Result<Vec<Segment<'data>>, Refused> {
    let mut found = Vec::new();
    for segment in header.program_headers(LITTLE, bytes).map_err(invalid)? {
        if segment.p_type(LITTLE) != PT_LOAD {
            continue;
        }
        let (address, size) = (segment.p_vaddr(LITTLE), segment.p_memsz(LITTLE));
        let data = segment.data(LITTLE, bytes).map_err(|()| invalid("a segment is not within the file"))?;
        if address.checked_add(size).is_none_or(|end| end > MOST_BYTES) || data.len() as u64 > size {
            return Err(invalid(format!("a segment of {size:#x} bytes is at {address:#x}")));
        }
        found.push(Segment { address, data, bytes: size });
    }
    if found.is_empty() {
        return Err(invalid("it has nothing to load"));
    }
    Ok(found)
}

/// Checks for which device a code object of version 2 is: a note says it.
fn check_old(bytes: &[u8], header: &Header, device: &Device) -> Result<(), Refused> {
    /// NT_AMDGPU_HSA_ISA.
    const ISA: u32 = 3;
    for segment in header.program_headers(LITTLE, bytes).map_err(invalid)? {
        if segment.p_type(LITTLE) != PT_NOTE {
            continue;
        }
        let Some(mut notes) = segment.notes(LITTLE, bytes).map_err(invalid)? else { continue };
        while let Some(note) = notes.next().map_err(invalid)? {
            if note.name() != b"AMD" || note.n_type(LITTLE).0 != ISA {
                continue;
            }
            // Sizes of two names, then major, minor, stepping.
            let word = |at: usize| {
                let bytes = note.desc().get(at..at + 4)?;
                Some(u32::from_le_bytes(bytes.try_into().ok()?))
            };
            let (Some(major), Some(minor), Some(stepping)) = (word(4), word(8), word(12)) else {
                return Err(invalid("its note of the ISA is cut"));
            };
            if [major, minor, stepping] != device.version {
                return Err(Refused::Foreign(format!("it is for gfx{major}{minor}{stepping:x}")));
            }
            return Ok(());
        }
    }
    Err(invalid("no note says for which ISA it is"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus(file: &str) -> Vec<u8> {
        std::fs::read(format!("{}/../../tests/corpus/gcn/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    fn device(name: &str) -> Device {
        Device::of(warpjit_card::chip::Chip::find(name).unwrap()).unwrap()
    }

    #[test]
    fn saxpy() {
        let bytes = corpus("saxpy/vega10.co");
        let object = Object::parse(&bytes, &device("gfx900")).unwrap();
        let kernel = object.symbols.iter().find(|symbol| symbol.kind == Kind::Kernel).unwrap();
        assert_eq!((kernel.name.as_str(), kernel.bytes, object.old), ("saxpy.kd", 64, false));
        assert_eq!(
            Object::parse(&bytes, &device("gfx906")),
            Err(Refused::Foreign("it is for gfx900".into()))
        );
    }

    /// Whatever is cut off or changed: no panic.
    #[test]
    fn damaged() {
        let whole = corpus("saxpy/vega10.co");
        let device = device("gfx900");
        for length in 0..whole.len() {
            let _ = Object::parse(&whole[..length], &device);
        }
        assert!(matches!(Object::parse(&whole[..whole.len() / 2], &device), Err(Refused::Invalid(_))));
        for at in 0..whole.len() {
            for value in [0, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                let _ = Object::parse(&bytes, &device);
            }
        }
        assert_eq!(Object::parse(b"text", &device), Err(Refused::Invalid("it is no ELF file".into())));
    }
}
