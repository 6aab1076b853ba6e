//! AMD GCN (1.0 to 1.4) as the rest of the system sees it.

use crate::container::{Kernel, Module};
use crate::image::{CodeOptions, KernelImage};
use crate::isa::{FrontEnd, LaunchRules, LoadError, ProgramType, SourceError, SourceErrors};

/// The front end.
#[derive(Debug)]
pub struct GcnFrontEnd;

const UNSUPPORTED: &str = "gcn is not supported by this build";

impl FrontEnd for GcnFrontEnd {
    fn name(&self) -> &'static str {
        "gcn"
    }

    fn chips(&self) -> Vec<&'static str> {
        vec![
            "tahiti",
            "pitcairn",
            "verde",
            "oland",
            "hainan",
            "bonaire",
            "hawaii",
            "kaveri",
            "kabini",
            "mullins",
            "tonga",
            "iceland",
            "carrizo",
            "fiji",
            "stoney",
            "polaris10",
            "polaris11",
            "polaris12",
            "vega10",
            "vega12",
            "vega20",
            "raven",
        ]
    }

    fn knows_chip(&self, chip: &str) -> bool {
        let gfx = |n: &str| {
            n.len() == 3
                && matches!(n.as_bytes()[0], b'6'..=b'9')
                && u32::from_str_radix(n, 16).is_ok_and(|n| n <= 0x906)
        };
        self.chips().contains(&chip) || chip.strip_prefix("gfx").is_some_and(gfx)
    }

    fn default_chip(&self) -> &'static str {
        "fiji"
    }

    fn launch_rules(&self, _chip: Option<&str>) -> LaunchRules {
        LaunchRules {
            has_grid: true,
            max_grid: [u32::MAX; 3],
            max_block: [1024; 3],
            max_threads: 1024,
            pointer_bytes: 8,
            short_pointers: false,
            address_bits: 64,
            const_banks: 0,
            global_windows: 0,
            local_args: true,
            max_registers: 256,
            max_sgprs: 128,
            lanes: 64,
            register_bits: 64,
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
