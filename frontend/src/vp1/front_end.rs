//! NVIDIA video processor 1 as the rest of the system sees it.

use super::{Chip, assemble, listing};
use crate::container::{Kernel, Module};
use crate::image::{CodeOptions, KernelImage};
use crate::isa::{FrontEnd, LaunchRules, LoadError, ProgramType, SourceError, SourceErrors, unknown_chip};

/// The front end.
#[derive(Debug)]
pub struct Vp1FrontEnd;

impl Vp1FrontEnd {
    fn chip(&self, name: &str) -> Result<Chip, LoadError> {
        Chip::parse(name).ok_or_else(|| unknown_chip(self, name))
    }
}

const UNSUPPORTED: &str = "vp1 is not supported by this build";

impl FrontEnd for Vp1FrontEnd {
    fn name(&self) -> &'static str {
        "vp1"
    }

    fn chips(&self) -> Vec<&'static str> {
        Chip::ALL.iter().map(|chip| chip.name()).collect()
    }

    fn default_chip(&self) -> &'static str {
        Chip::G80.name()
    }

    fn launch_rules(&self, _chip: Option<&str>) -> LaunchRules {
        LaunchRules {
            has_grid: false,
            max_grid: [1; 3],
            max_block: [1; 3],
            max_threads: 1,
            pointer_bytes: 4,
            short_pointers: true,
            address_bits: 0,
            const_banks: 0,
            global_windows: 0,
            local_args: false,
            max_registers: 0,
            max_sgprs: 0,
            lanes: 16,
            register_bits: 32,
            shared_buffer: Some("ds"),
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

    fn listing(
        &self,
        code: &[u8],
        base: u32,
        chip: &str,
        _program: ProgramType,
    ) -> Result<String, LoadError> {
        Ok(listing(code, base / 4, self.chip(chip)?))
    }

    fn assemble(&self, text: &str, chip: &str, _program: ProgramType) -> Result<Vec<u8>, SourceErrors> {
        let chip = self.chip(chip).map_err(|error| {
            SourceErrors(vec![SourceError { line: 1, column: 1, reason: error.to_string() }])
        })?;
        Ok(assemble(text, chip)?.code)
    }
}
