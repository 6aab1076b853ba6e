//! What a program of a chip with code segments (Tesla, Fermi) is lifted from: a file, or guest memory.

use crate::code::Code;
use crate::error::LoadError;
use crate::front_end::CodeLocation;
use crate::image::{CodeOptions, KernelImage, Needs, check_entry};
use crate::isa::Isa;
use crate::module::{Kernel, Module};
use warpjit_ir::Meter;

/// A program that is about to be lifted.
pub(crate) struct LiftInput<'a> {
    /// What the file holds besides the kernel; nothing where code lies in guest memory.
    pub module: &'a Module,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its instructions.
    pub code: Code<'a>,
    /// What the file and the options say that it needs.
    pub needs: Needs,
    /// The caller's options.
    pub options: &'a CodeOptions,
    /// The caller's budget.
    pub meter: &'a Meter,
}

/// What differs between the chips.
pub(crate) struct ChipRules {
    /// The instruction set.
    pub isa: Isa,
    /// Instructions begin at multiples of so many bytes.
    pub align: u32,
    /// Registers that a thread may have.
    pub max_registers: u32,
}

impl ChipRules {
    /// Lifts a kernel, or raw words, of a file.
    ///
    /// # Errors
    /// If the entry is not in the code, and those of `lift`.
    pub fn of_file(
        &self,
        module: &Module,
        kernel: &Kernel,
        options: &CodeOptions,
        meter: &Meter,
        lift: impl FnOnce(LiftInput<'_>) -> Result<KernelImage, LoadError>,
    ) -> Result<KernelImage, LoadError> {
        let needs = Needs::of(kernel, options, self.max_registers);
        let base = if options.raw { options.base } else { 0 };
        check_entry(base, needs.entry, self.align, &kernel.code)?;
        let code = Code::of_file(&kernel.code, base, base.into());
        lift(LiftInput { module, kernel, code, needs, options, meter })
    }

    /// Lifts a program that lies in guest memory.
    ///
    /// # Errors
    /// If no code can be at the location, and those of `lift`.
    pub fn at(
        &self,
        location: &CodeLocation<'_>,
        options: &CodeOptions,
        meter: &Meter,
        lift: impl FnOnce(LiftInput<'_>) -> Result<KernelImage, LoadError>,
    ) -> Result<KernelImage, LoadError> {
        let (code, entry) = location.in_segment(self.align, options.code_bytes)?;
        let options = &CodeOptions { raw: true, entry, base: 0, ..options.clone() };
        let (module, kernel) = (&Module::nothing(self.isa), &Kernel::default());
        let needs = Needs::of(kernel, options, self.max_registers);
        lift(LiftInput { module, kernel, code, needs, options, meter })
    }
}
