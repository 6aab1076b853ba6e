//! NVIDIA video processor 1 as the rest of the system sees it.

use crate::container::{Kernel, Module};
use crate::image::{CodeOptions, KernelImage};
use crate::isa::{FrontEnd, LaunchRules, LoadError, ProgramType, SourceError, SourceErrors};

/// The front end.
#[derive(Debug)]
pub struct Vp1FrontEnd;

const UNSUPPORTED: &str = "vp1 is not supported by this build";

impl FrontEnd for Vp1FrontEnd {
    fn name(&self) -> &'static str {
        "vp1"
    }

    fn chips(&self) -> Vec<&'static str> {
        vec!["nv41", "nv44", "g80"]
    }

    fn default_chip(&self) -> &'static str {
        "nv41"
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
        _code: &[u8],
        _base: u32,
        _chip: &str,
        _program: ProgramType,
    ) -> Result<String, LoadError> {
        Err(LoadError::Program(UNSUPPORTED.into()))
    }

    fn assemble(&self, _text: &str, _chip: &str, _program: ProgramType) -> Result<Vec<u8>, SourceErrors> {
        Err(SourceErrors(vec![SourceError { line: 1, column: 1, reason: UNSUPPORTED.into() }]))
    }
}
