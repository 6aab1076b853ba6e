//! NVIDIA Fermi (GF100 to GK107) as the rest of the system sees it.

use crate::container::{Kernel, Module, ParamLayout};
use crate::image::{CodeOptions, KernelImage, Needs, check_entry};
use crate::isa::{FrontEnd, LaunchRules, LoadError, ProgramType, SourceErrors, unknown_chip, unknown_syntax};

use super::{Chip, abi, assemble, lift, listing, sass_listing};

/// The front end.
#[derive(Debug)]
pub struct FermiFrontEnd;

/// Local memory that a thread has at least where it uses any: what a stack needs is not always said.
const LEAST_LOCAL: u32 = 0x400;

impl FermiFrontEnd {
    fn chip(&self, name: &str) -> Result<Chip, LoadError> {
        Chip::parse(name).ok_or_else(|| unknown_chip(self, name))
    }
}

impl FrontEnd for FermiFrontEnd {
    fn name(&self) -> &'static str {
        "fermi"
    }

    fn chips(&self) -> Vec<&'static str> {
        Chip::ALL.iter().map(|chip| chip.name()).collect()
    }

    fn knows_chip(&self, chip: &str) -> bool {
        Chip::parse(chip).is_some()
    }

    fn default_chip(&self) -> &'static str {
        "gf100"
    }

    fn launch_rules(&self, chip: Option<&str>) -> LaunchRules {
        let chip = chip.and_then(Chip::parse).unwrap_or(Chip::Gf100);
        LaunchRules { address_bits: 40, const_banks: abi::BANKS, ..LaunchRules::of(&abi::compute(chip)) }
    }

    fn lift(
        &self,
        module: &Module,
        kernel: &Kernel,
        chip: &str,
        options: &CodeOptions,
    ) -> Result<KernelImage, LoadError> {
        let chip = self.chip(chip)?;
        if let Some(own) = module.chip.as_deref().and_then(Chip::parse)
            && own.family() != chip.family()
        {
            return Err(LoadError::Program(format!("the code is for {own}, {chip} has other instructions")));
        }
        let mut abi = abi::compute(chip);
        let Needs { entry, registers, shared_bytes, mut local_bytes } =
            Needs::of(kernel, options, abi.max_registers);
        check_entry(entry, 8, &kernel.code)?;
        let mut lift_options = lift::Options {
            name: kernel.name_or("kernel"),
            chip,
            entry,
            registers: registers.min(abi.max_registers),
            local_bytes,
            counters: 0,
        };
        let needs = lift::needs(&kernel.code, &lift_options);
        if !options.raw && needs.local {
            local_bytes = local_bytes.max(LEAST_LOCAL).next_multiple_of(16);
            lift_options.local_bytes = local_bytes;
        }
        if needs.counters {
            abi.segments.push(abi::counters());
        }
        if let Some(memory) = &module.global_memory {
            abi.segments.push(abi::variables(memory));
        }
        let mut consts = abi::driver_words(chip, local_bytes);
        consts.extend(kernel.consts.iter().cloned());
        let function = lift::lift(&kernel.code, &lift_options);
        Ok(KernelImage {
            name: kernel.name_or("the program").to_owned(),
            registers,
            shared_bytes,
            local_bytes,
            params: kernel.params.as_ref().map(ParamLayout::places),
            consts,
            compiler_bank: Some(abi::COMPILER_BANK),
            ..KernelImage::bare(&kernel.code, function, abi, instruction_bytes)
        })
    }

    fn syntaxes(&self) -> &'static [&'static str] {
        &["envydis", "sass"]
    }

    fn listing_in(
        &self,
        syntax: &str,
        code: &[u8],
        base: u32,
        chip: &str,
        program: ProgramType,
    ) -> Result<String, LoadError> {
        match syntax {
            "envydis" => self.listing(code, base, chip, program),
            "sass" => Ok(sass_listing(code, base, self.chip(chip)?)),
            _ => Err(unknown_syntax(self, syntax)),
        }
    }

    fn listing(
        &self,
        code: &[u8],
        base: u32,
        chip: &str,
        _program: ProgramType,
    ) -> Result<String, LoadError> {
        Ok(listing(code, base, self.chip(chip)?))
    }

    fn assemble(&self, text: &str, chip: &str, _program: ProgramType) -> Result<Vec<u8>, SourceErrors> {
        let chip = self.chip(chip)?;
        Ok(assemble(text, chip)?.code)
    }
}

/// Length of the instruction that begins with these bytes.
fn instruction_bytes(code: &[u8]) -> usize {
    match code.first() {
        Some(&first) if first & 8 != 0 => 4,
        _ => 8,
    }
}
