//! NVIDIA Fermi (GF100 to GK107) as the rest of the system sees it.

use crate::container::{Kernel, Module};
use crate::image::{CodeOptions, KernelImage};
use crate::isa::{FrontEnd, LaunchRules, LoadError, ProgramType, SourceError, SourceErrors};

/// The front end.
#[derive(Debug)]
pub struct FermiFrontEnd;

const UNSUPPORTED: &str = "fermi is not supported by this build";

impl FrontEnd for FermiFrontEnd {
    fn name(&self) -> &'static str {
        "fermi"
    }

    fn chips(&self) -> Vec<&'static str> {
        vec![
            "gf100", "gf104", "gf106", "gf108", "gf110", "gf111", "gf112", "gf113", "gf114", "gf115",
            "gf116", "gf117", "gf118", "gf119", "gk104", "gk106", "gk107",
        ]
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
