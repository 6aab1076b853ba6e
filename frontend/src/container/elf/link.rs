//! Functions in sections of their own: each kernel gets those that it reaches by relocations put behind its code.
//!
//! Cubins of CUDA 3 have functions in the section of the kernel that calls them. Later ones have a section for each, and calls with
//! absolute addresses.

use object::read::elf::{ElfFile, FileHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationTarget};

use super::{Section, constant_bank, error};
use crate::container::{ContainerError, Module, limits};

/// Multiple of bytes that functions are placed at: GK104 wants its scheduling hints there.
const ALIGN: usize = 64;

/// Which sections of code a kernel has, and where: its own first.
pub(super) struct Linked {
    placed: Vec<(usize, u64)>,
}

impl Linked {
    /// Where a section lies in the kernel's code.
    pub(super) fn place(&self, index: usize) -> Option<u64> {
        self.placed.iter().find(|(placed, _)| *placed == index).map(|(_, at)| *at)
    }
}

/// The sections of code that a section's relocations name.
fn named<'data, Elf: FileHeader<Endian = Endianness>>(
    file: &ElfFile<'data, Elf>,
    sections: &'data [Section<'data>],
    index: usize,
) -> Vec<&'data Section<'data>> {
    let Some(section) = file.sections().find(|section| section.index().0 == index) else { return Vec::new() };
    let targets = section.relocations().filter_map(|(_, relocation)| {
        let RelocationTarget::Symbol(symbol) = relocation.target() else { return None };
        let index = file.symbol_by_index(symbol).ok()?.section_index()?;
        sections.iter().find(|section| section.index == index.0 && section.name.starts_with(".text."))
    });
    targets.collect()
}

/// Puts behind each kernel's code what it reaches.
pub(super) fn link<'data, Elf: FileHeader<Endian = Endianness>>(
    file: &ElfFile<'data, Elf>,
    sections: &'data [Section<'data>],
    banks: u32,
    module: &mut Module,
) -> Result<Vec<Linked>, ContainerError> {
    // Many kernels with the same functions are no way to fill memory.
    let mut room = 4 * limits::CODE as usize;
    let mut all = Vec::new();
    for kernel in &mut module.kernels {
        let own = |section: &&Section<'_>| section.name.strip_prefix(".text.") == Some(&kernel.name);
        let mut linked = Linked { placed: Vec::new() };
        if let Some(section) = sections.iter().find(own) {
            linked.placed.push((section.index, 0));
        }
        // What the kernel's constants point to, then what each section calls.
        let is_own_bank = |section: &&Section<'_>| {
            constant_bank(section.name, banks)
                .is_some_and(|(_, owner)| owner.is_none_or(|owner| owner == kernel.name))
        };
        let mut work: Vec<usize> = sections.iter().filter(is_own_bank).map(|section| section.index).collect();
        work.extend(linked.placed.iter().map(|(index, _)| *index));
        while let Some(from) = work.pop() {
            for section in named(file, sections, from) {
                if linked.place(section.index).is_some() {
                    continue;
                }
                let at = kernel.code.len().next_multiple_of(ALIGN);
                let size = section.size(limits::CODE)? as usize;
                room = room.saturating_sub(size);
                if at + size > limits::CODE as usize || room == 0 {
                    return error(
                        section.header,
                        format!("`{}` with its functions is too long", kernel.name),
                    );
                }
                kernel.code.resize(at, 0);
                kernel.code.extend(section.contents(limits::CODE)?);
                kernel.registers = kernel.registers.max(Some(section.info >> 24));
                linked.placed.push((section.index, at as u64));
                work.push(section.index);
            }
        }
        all.push(linked);
    }
    Ok(all)
}
