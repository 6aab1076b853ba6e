//! Builds the memory image of a code object: the bytes that a launch maps for it.
//!
//! For a linked object these are its loaded segments, at the distances that they have in the file. For an unlinked one (`clang
//! -c`) this module does the linker's work. It gives addresses to the sections, one after the other: first the read-only ones,
//! then, from a new page on, variables, and last the global offset table, a table of addresses that code loads from. It then
//! applies the relocations. A symbol that only another file could define is an error that names it, but for listings.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use object::Endianness::Little;
use object::elf::{ET_REL, PF_W, PF_X, PT_DYNAMIC, PT_GNU_RELRO, PT_LOAD};
use object::elf::{SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_NOBITS, SHT_NOTE, SHT_REL, SHT_RELA};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

use warpjit_ir::Meter;

use super::{Elf, error, number_at, unsupported, wrap};
use crate::container::limits;
use crate::container::selection::Selection;
use crate::error::ContainerError;
use crate::gcn::map::CODE_ADDRESS;

/// Variables begin on a page of their own.
const PAGE: u64 = 4096;
/// Tags of a dynamic section that give the size of relocations: DT_PLTRELSZ, DT_RELASZ, DT_RELSZ.
const RELOCATION_SIZES: [u64; 3] = [2, 8, 18];
/// Sections of symbols that are in none.
const UNDEFINED: u16 = 0;
const ABSOLUTE: u16 = 0xfff1;
const COMMON: u16 = 0xfff2;
const BIND_WEAK: u8 = 2;
const TYPE_SECTION: u8 = 3;

/// What is loaded.
pub(super) struct Image {
    pub bytes: Vec<u8>,
    /// Addresses of code.
    pub code: Vec<Range<u64>>,
    /// Addresses that the program may write, whole pages but for the end.
    pub variables: Option<Range<u64>>,
    /// Addresses of what comes from the file, and where it is there.
    pub parts: Vec<(Range<u64>, u64)>,
    /// Whether the file was linked: its symbols are addresses then.
    linked: bool,
    /// Addresses of sections, where the file was not linked.
    sections: Vec<Option<u64>>,
    /// Whether it is only listed: what other files define may be missing.
    listed: bool,
}

/// A symbol, as far as relocations need it.
struct Target<'data> {
    /// Names of all symbols from the begin of this one's on; its own ends in a zero.
    names: &'data [u8],
    kind: u8,
    weak: bool,
    section: u16,
    value: u64,
}

impl<'data> Target<'data> {
    fn name(&self) -> &'data [u8] {
        self.names.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    fn has_no_name(&self) -> bool {
        self.names.first().is_none_or(|&byte| byte == 0)
    }
}

impl Image {
    /// Loads the file.
    pub(super) fn new(
        bytes: &[u8],
        header: &Elf,
        selection: Selection<'_>,
        meter: &Meter,
    ) -> Result<Image, ContainerError> {
        let linked = header.e_type(Little) != ET_REL;
        let mut image = Image {
            bytes: Vec::new(),
            code: Vec::new(),
            variables: None,
            parts: Vec::new(),
            linked,
            sections: Vec::new(),
            listed: selection == Selection::Listing,
        };
        if linked {
            image.load_segments(bytes, header, meter)?;
        } else {
            image.place_sections(bytes, header, meter)?;
        }
        let found = image.relocate(bytes, header, meter)?;
        if linked && image.wants_relocations(bytes, header)? != found {
            return unsupported(header.e_phoff(Little), "a code object whose relocations are in no section");
        }
        Ok(image)
    }

    /// Takes bytes of the file in at an address.
    fn put(
        &mut self,
        start: u64,
        data: &[u8],
        size: u64,
        at: u64,
        meter: &Meter,
    ) -> Result<Range<u64>, ContainerError> {
        let end = start.checked_add(size.max(data.len() as u64));
        let Some(end) = end.filter(|&end| end <= u64::from(limits::CODE)) else {
            return error(at, format!("{size:#x} bytes at {start:#x} are beyond {:#x}", limits::CODE));
        };
        // Segments may lie over each other: each takes time by its length.
        meter.step(1 + data.len() / 4096)?;
        meter.hold((end as usize).saturating_sub(self.bytes.len()))?;
        self.bytes.resize(self.bytes.len().max(end as usize), 0);
        self.bytes[start as usize..start as usize + data.len()].copy_from_slice(data);
        Ok(start..end)
    }

    fn load_segments(&mut self, bytes: &[u8], header: &Elf, meter: &Meter) -> Result<(), ContainerError> {
        let table = header.e_phoff(Little);
        let entry_bytes = u64::from(header.e_phentsize(Little));
        let segments = header.program_headers(Little, bytes).map_err(wrap(table))?;
        // What a loader writes and a program does not: by start, those that hold all that begins there or behind first.
        let mut settled: Vec<Range<u64>> = segments
            .iter()
            .filter(|segment| [PT_DYNAMIC, PT_GNU_RELRO].contains(&segment.p_type(Little)))
            .map(|segment| {
                segment.p_vaddr(Little)..segment.p_vaddr(Little).saturating_add(segment.p_memsz(Little))
            })
            .collect();
        settled.sort_unstable_by_key(|range| (range.start, Reverse(range.end)));
        let mut furthest = 0;
        settled.retain(|range| {
            let goes_further = range.end > furthest;
            furthest = furthest.max(range.end);
            goes_further
        });
        for (number, segment) in segments.iter().enumerate() {
            if segment.p_type(Little) != PT_LOAD {
                continue;
            }
            let at = table.saturating_add(entry_bytes.saturating_mul(number as u64));
            let Ok(data) = segment.data(Little, bytes) else {
                return error(at, "a segment's contents are not within the file");
            };
            let place = self.put(segment.p_vaddr(Little), data, segment.p_memsz(Little), at, meter)?;
            self.parts.push((place.start..place.start + data.len() as u64, segment.p_offset(Little)));
            if segment.p_flags(Little).0 & PF_X.0 != 0 {
                self.code.push(place.clone());
            }
            // Starts and ends both ascend: of those that begin before, the last one goes furthest.
            let before = settled.partition_point(|s| s.start <= place.start).checked_sub(1);
            let is_settled = before.is_some_and(|at| place.end <= settled[at].end);
            if segment.p_flags(Little).0 & PF_W.0 != 0 && !place.is_empty() && !is_settled {
                let start = place.start / PAGE * PAGE;
                let all = self.variables.get_or_insert(start..place.end);
                *all = all.start.min(start)..all.end.max(place.end);
            }
        }
        if self.code.is_empty() {
            return error(table, "no segment of the file is loaded as code");
        }
        Ok(())
    }

    fn place_sections(&mut self, bytes: &[u8], header: &Elf, meter: &Meter) -> Result<(), ContainerError> {
        let table = header.e_shoff(Little);
        let sections = header.sections(Little, bytes).map_err(wrap(table))?;
        self.sections = vec![None; sections.iter().len()];
        let is_variable = |section: &object::elf::SectionHeader64<object::Endianness>| {
            let name = sections.section_name(Little, section).unwrap_or_default();
            section.sh_flags(Little).0 & SHF_WRITE.0 != 0 && !name.starts_with(b".data.rel.ro")
        };
        for variables in [false, true] {
            let mut next = self.bytes.len() as u64;
            if variables {
                next = next.next_multiple_of(PAGE);
            }
            let first = next;
            for (index, section) in sections.enumerate() {
                let flags = section.sh_flags(Little).0;
                let kind = section.sh_type(Little);
                if flags & SHF_ALLOC.0 == 0 || kind == SHT_NOTE || is_variable(section) != variables {
                    continue;
                }
                let at = section.sh_offset(Little);
                let data =
                    if kind == SHT_NOBITS { &[] } else { section.data(Little, bytes).map_err(wrap(at))? };
                let align = section.sh_addralign(Little).clamp(1, PAGE).next_power_of_two();
                let place =
                    self.put(next.next_multiple_of(align), data, section.sh_size(Little), at, meter)?;
                self.parts.push((place.start..place.start + data.len() as u64, at));
                if flags & SHF_EXECINSTR.0 != 0 && !place.is_empty() {
                    self.code.push(place.clone());
                }
                if let Some(own) = self.sections.get_mut(index.0) {
                    *own = Some(place.start);
                }
                next = place.end;
            }
            if variables && next > first {
                self.variables = Some(first..next);
            }
        }
        if self.code.is_empty() {
            return error(table, "no section of the file is code");
        }
        Ok(())
    }

    /// The address in the image of a symbol of a section; `None` for one that has none here.
    pub(super) fn address_of(&self, section: u16, value: u64) -> Option<u64> {
        match section {
            _ if self.linked => Some(value),
            UNDEFINED | ABSOLUTE.. => None,
            section => self.sections.get(usize::from(section)).copied().flatten()?.checked_add(value),
        }
    }

    /// Bytes of relocations that a linked file says it has.
    fn wants_relocations(&self, bytes: &[u8], header: &Elf) -> Result<u64, ContainerError> {
        let table = header.e_phoff(Little);
        let mut size = 0u64;
        for segment in header.program_headers(Little, bytes).map_err(wrap(table))? {
            if segment.p_type(Little) != PT_DYNAMIC {
                continue;
            }
            let Ok(dynamic) = segment.data(Little, bytes) else {
                return error(table, "a segment's contents are not within the file");
            };
            for entry in dynamic.chunks_exact(16) {
                match (number_at(entry, 0, 8), number_at(entry, 8, 8)) {
                    (Some(0), _) => break,
                    (Some(tag), Some(value)) if RELOCATION_SIZES.contains(&tag) => {
                        size = size.saturating_add(value);
                    }
                    _ => {}
                }
            }
        }
        Ok(size)
    }

    /// Applies all relocations of loaded parts; gives their bytes in the file.
    fn relocate(&mut self, bytes: &[u8], header: &Elf, meter: &Meter) -> Result<u64, ContainerError> {
        let table = header.e_shoff(Little);
        let sections = header.sections(Little, bytes).map_err(wrap(table))?;
        let mut found = 0;
        let mut slots = BTreeMap::new();
        for section in sections.iter() {
            let entry = match section.sh_type(Little) {
                SHT_RELA => 24,
                SHT_REL => 16,
                _ => continue,
            };
            let loaded = section.sh_flags(Little).0 & SHF_ALLOC.0 != 0;
            let base = match self.sections.get(section.sh_info(Little) as usize) {
                _ if self.linked && loaded => 0,
                Some(&Some(base)) if !self.linked => base,
                // Of what is not loaded, such as debug information.
                _ => continue,
            };
            let at = section.sh_offset(Little);
            let data = section.data(Little, bytes).map_err(wrap(at))?;
            let link = object::SectionIndex(section.sh_link(Little) as usize);
            let (symbols, names) = match sections.section(link) {
                Ok(symbols) => {
                    let names = object::SectionIndex(symbols.sh_link(Little) as usize);
                    let names = sections.section(names).and_then(|names| names.data(Little, bytes));
                    (symbols.data(Little, bytes).map_err(wrap(at))?, names.unwrap_or_default())
                }
                Err(_) => (&[][..], &[][..]),
            };
            found += data.len() as u64;
            for (number, words) in data.chunks(entry).enumerate() {
                let at = at.saturating_add((entry * number) as u64);
                let (Some(offset), Some(info)) = (number_at(words, 0, 8), number_at(words, 8, 8)) else {
                    return error(at, "a relocation is cut off");
                };
                meter.step(1)?;
                let target = target(symbols, names, (info >> 32) as usize)
                    .ok_or_else(|| cut(at, "a relocation names a symbol that is not there"))?;
                let place = base
                    .checked_add(offset)
                    .filter(|&place| place < self.bytes.len() as u64)
                    .ok_or_else(|| cut(at, "a relocation is of an address that is not loaded"))?;
                let kind = info as u32;
                let symbol = self.resolve(&target, at)?;
                let addend = number_at(words, 16, 8);
                self.apply(kind, place, symbol, addend, &mut slots, at)?;
            }
        }
        Ok(found)
    }

    /// What a symbol stands for in a launch.
    fn resolve(&self, target: &Target<'_>, at: u64) -> Result<u64, ContainerError> {
        let name = || String::from_utf8_lossy(target.name()).into_owned();
        match target.section {
            ABSOLUTE => Ok(target.value),
            // The symbol that stands for none.
            UNDEFINED if target.has_no_name() && target.kind != TYPE_SECTION => Ok(CODE_ADDRESS),
            UNDEFINED if target.weak || self.listed => Ok(0),
            UNDEFINED => unsupported(at, format!("a code object that needs `{}` of another file", name())),
            COMMON => unsupported(at, format!("the common symbol `{}`", name())),
            section => match self.address_of(section, target.value) {
                Some(address) => Ok(CODE_ADDRESS.wrapping_add(address)),
                None => unsupported(at, format!("the address of `{}`, which is not loaded,", name())),
            },
        }
    }

    /// Applies one relocation (the AMDGPU relocation types of LLVM's manual). `slots`: offsets of addresses made so far.
    fn apply(
        &mut self,
        kind: u32,
        place: u64,
        symbol: u64,
        addend: Option<u64>,
        slots: &mut BTreeMap<u64, u64>,
        at: u64,
    ) -> Result<(), ContainerError> {
        let (bytes, value): (usize, fn(u64, u64) -> u64) = match kind {
            // R_AMDGPU_NONE
            0 => return Ok(()),
            // ABS32_LO, ABS32_HI, ABS64
            1 => (4, |s, _| s),
            2 => (4, |s, _| s >> 32),
            3 | 13 => (8, |s, _| s),
            // REL32, REL64, ABS32
            4 => (4, |s, p| s.wrapping_sub(p)),
            5 => (8, |s, p| s.wrapping_sub(p)),
            6 => (4, |s, _| s),
            // GOTPCREL, GOTPCREL32_LO, GOTPCREL32_HI
            7 | 8 => (4, |s, p| s.wrapping_sub(p)),
            9 => (4, |s, p| s.wrapping_sub(p) >> 32),
            // REL32_LO, REL32_HI
            10 => (4, |s, p| s.wrapping_sub(p)),
            11 => (4, |s, p| s.wrapping_sub(p) >> 32),
            // REL16: of a branch, in dwords from behind it
            14 => (2, |s, p| s.wrapping_sub(p).wrapping_sub(4) >> 2),
            _ => return unsupported(at, format!("relocation type {kind}")),
        };
        let through = if matches!(kind, 7..=9) { CODE_ADDRESS + self.slot(symbol, slots) } else { symbol };
        let place = place as usize;
        let Some(old) = number_at(&self.bytes, place, bytes) else {
            return error(at, "a relocation is of an address that is not loaded");
        };
        let shift = 64 - 8 * bytes as u32;
        let addend = addend.unwrap_or(((old << shift) as i64 >> shift) as u64);
        let value = value(through.wrapping_add(addend), CODE_ADDRESS + place as u64);
        self.bytes[place..place + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        Ok(())
    }

    /// An offset in the image that holds an address.
    fn slot(&mut self, address: u64, slots: &mut BTreeMap<u64, u64>) -> u64 {
        *slots.entry(address).or_insert_with(|| {
            let at = self.bytes.len().next_multiple_of(8);
            self.bytes.resize(at, 0);
            self.bytes.extend(address.to_le_bytes());
            if let Some(variables) = &mut self.variables {
                variables.end = at as u64 + 8;
            }
            at as u64
        })
    }
}

fn cut(at: u64, reason: &str) -> ContainerError {
    ContainerError::Elf { offset: at, reason: reason.into() }
}

/// A symbol of a table.
fn target<'data>(symbols: &[u8], names: &'data [u8], index: usize) -> Option<Target<'data>> {
    const BYTES: usize = 24;
    let none = Target { names: b"", kind: 0, weak: false, section: UNDEFINED, value: 0 };
    if index == 0 {
        return Some(none);
    }
    let start = index.checked_mul(BYTES)?;
    let data = symbols.get(start..start.checked_add(BYTES)?)?;
    let info = data[4];
    Some(Target {
        names: names.get(number_at(data, 0, 4)? as usize..)?,
        kind: info & 15,
        weak: info >> 4 == BIND_WEAK,
        section: number_at(data, 6, 2)? as u16,
        value: number_at(data, 8, 8)?,
    })
}
