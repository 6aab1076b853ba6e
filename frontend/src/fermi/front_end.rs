//! NVIDIA Fermi (GF100 to GK107) as the rest of the system sees it.

use crate::container::{Kernel, Module};
use crate::image::{CodeOptions, KernelImage};
use crate::isa::{
    FrontEnd, LaunchRules, LoadError, ProgramType, SourceError, SourceErrors, unknown_chip, unknown_syntax,
};

use super::{Chip, assemble, listing, sass_listing};

/// The front end.
#[derive(Debug)]
pub struct FermiFrontEnd;

const UNSUPPORTED: &str = "fermi is not supported by this build";

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
        let wide = chip.is_some_and(|chip| chip.starts_with("gk"));
        LaunchRules {
            has_grid: true,
            max_grid: if wide { [0x7fff_ffff, 65535, 65535] } else { [65535; 3] },
            max_block: [1024, 1024, 64],
            max_threads: 1024,
            pointer_bytes: 4,
            short_pointers: true,
            address_bits: 40,
            const_banks: 18,
            global_windows: 0,
            local_args: false,
            max_registers: 63,
            max_sgprs: 0,
            lanes: 32,
            register_bits: 32,
            shared_buffer: None,
        }
    }

    fn lift(
        &self,
        _module: &Module,
        _kernel: &Kernel,
        _chip: &str,
        _options: &CodeOptions,
    ) -> Result<KernelImage, LoadError> {
        Err(LoadError::Program(UNSUPPORTED.into()))
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
        let chip = self.chip(chip).map_err(|error| {
            SourceErrors(vec![SourceError { line: 1, column: 1, reason: error.to_string() }])
        })?;
        Ok(assemble(text, chip)?.code)
    }
}
