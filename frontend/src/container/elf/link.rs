//! Links functions that have sections of their own: a kernel's code is followed by all functions that its relocations reach,
//! directly or through other functions.
//!
//! Cubins of CUDA 3 do not need this, because they hold functions in the section of the kernel that calls them. Later ones have a
//! section for each function and call it by absolute address.

use std::collections::HashMap;

use object::read::elf::FileHeader;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex};

use super::{Cubin, Section, constant_bank};
use crate::container::limits;
use crate::container::selection::Selection;
use crate::error::ContainerError;
use crate::module::{Kernel, Module};

/// Multiple of bytes that functions are placed at: GK104 wants its scheduling hints there.
const ALIGN: usize = 64;

/// By number of a section of code: where it lies in a kernel's code.
pub(super) type Offsets = HashMap<usize, u64>;

/// A kernel with the functions that it reaches.
pub(super) struct Linked {
    /// The kernel's number.
    pub(super) kernel: usize,
    /// Its own section and those behind it.
    pub(super) offsets: Offsets,
    /// The code, where it is not the section as it stands in the file.
    code: Vec<u8>,
}

impl Linked {
    /// The code, to be changed, and where sections lie in it.
    pub(super) fn code_mut(&mut self, kernel: &Kernel) -> (&mut Vec<u8>, &Offsets) {
        if self.code.is_empty() {
            self.code = kernel.code.to_vec();
        }
        (&mut self.code, &self.offsets)
    }

    /// Gives a kernel its code.
    pub(super) fn finish(self, kernel: &mut Kernel) {
        if !self.code.is_empty() {
            kernel.code = self.code.into();
        }
    }
}

impl<Elf: FileHeader<Endian = Endianness>> Cubin<'_, '_, Elf> {
    /// The sections of code that a section's relocations name.
    fn named(&self, index: usize) -> Result<Vec<&Section<'_>>, ContainerError> {
        let mut found = Vec::new();
        let Ok(section) = self.file.section_by_index(SectionIndex(index)) else { return Ok(found) };
        for (_, relocation) in section.relocations() {
            self.meter.step(1)?;
            let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
            let symbol = self.file.symbol_by_index(symbol).ok();
            let target = symbol.and_then(|symbol| self.sections.at(symbol.section_index()?.0));
            found.extend(target.filter(|section| section.name.starts_with(".text.")));
        }
        Ok(found)
    }

    /// Puts behind the code of each kernel that is wanted what it reaches.
    pub(super) fn link(
        &self,
        selection: Selection<'_>,
        module: &mut Module,
    ) -> Result<Vec<Linked>, ContainerError> {
        // Many kernels with the same functions are no way to fill memory.
        let mut room = 4 * limits::CODE as usize;
        let mut all = Vec::new();
        let own = self.sections.list.iter().filter_map(|s| Some((s.name.strip_prefix(".text.")?, s.index)));
        // The first section of a name is the kernel's that is found by it.
        let mut texts: HashMap<&str, usize> = HashMap::new();
        own.for_each(|(name, index)| _ = texts.entry(name).or_insert(index));
        let several = selection == Selection::Kernel(None) && module.kernels.len() > 1;
        let is_wanted = |kernel: &Kernel| !several && selection.selects(&kernel.name);
        for (number, kernel) in module.kernels.iter_mut().enumerate().filter(|(_, kernel)| is_wanted(kernel))
        {
            let own = texts.get(kernel.name.as_str()).copied();
            let offsets = own.map(|index| (index, 0)).into_iter().collect();
            let mut linked = Linked { kernel: number, offsets, code: Vec::new() };
            // What the kernel's constants point to, then what each section calls.
            let banks = self.sections.of(&kernel.name);
            let banks = banks.filter(|section| constant_bank(section.name, self.target.banks).is_some());
            let mut work: Vec<usize> =
                self.sections.shared_banks().chain(banks).map(|section| section.index).chain(own).collect();
            while let Some(from) = work.pop() {
                for section in self.named(from)? {
                    if linked.offsets.contains_key(&section.index) {
                        continue;
                    }
                    let size = section.size(limits::CODE)? as usize;
                    self.meter.hold(size)?;
                    let (code, _) = linked.code_mut(kernel);
                    let at = code.len().next_multiple_of(ALIGN);
                    room = room.saturating_sub(size);
                    if at + size > limits::CODE as usize || room == 0 {
                        return super::error(
                            section.header,
                            format!("`{}` with its functions is too long", kernel.name),
                        );
                    }
                    code.resize(at, 0);
                    code.extend_from_slice(&section.contents(limits::CODE)?);
                    kernel.registers = kernel.registers.max(Some(section.info >> 24));
                    linked.offsets.insert(section.index, at as u64);
                    work.push(section.index);
                }
            }
            all.push(linked);
        }
        Ok(all)
    }
}
