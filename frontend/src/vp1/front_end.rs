//! The front end of NVIDIA's video processor 1: implements [`FrontEnd`], through which the other crates use
//! it.

use warpjit_ir::{Function, KernelAbi, Meter, ParamSpace, Space};

use super::{Chip, assemble, lift, listing};
use crate::code::CodeMap;
use crate::error::{LoadError, SourceErrors};
use crate::front_end::{FrontEnd, LaunchRules, Target};
use crate::image::{CodeOptions, KernelImage, check_entry};
use crate::isa::{Isa, Stage};
use crate::module::{Kernel, Module};

/// The front end.
#[derive(Debug)]
pub struct Vp1FrontEnd;

/// What the runtime must know of a lifted program.
pub fn image(function: Function, slots: &lift::Slots, chip: Chip, code: &[u8]) -> KernelImage {
    KernelImage {
        shared_bytes: lift::DATA_STORE_BYTES,
        aliases: lift::aliases(slots, chip),
        ..KernelImage::bare(CodeMap::of_file(code, 0), function, abi(), |_| 4)
    }
}

/// One warp, whose shared memory is the data store, and nothing else.
fn abi() -> KernelAbi {
    KernelAbi {
        warp_lanes: lift::LANES,
        full_warps: true,
        segments: Vec::new(),
        header: Vec::new(),
        params: ParamSpace { space: Space::Shared, offset: 0, max_bytes: 0, pointer_bytes: 4 },
        max_grid: [1; 3],
        max_block: [1; 3],
        max_threads: 1,
        max_registers: 0,
        max_shared_bytes: lift::DATA_STORE_BYTES,
        max_local_bytes: 0,
        barriers: 0,
    }
}

impl FrontEnd for Vp1FrontEnd {
    fn chips(&self) -> Vec<&'static str> {
        Chip::ALL.iter().map(|chip| chip.name()).collect()
    }

    fn parse_chip(&self, name: &str) -> Option<crate::Chip> {
        Chip::parse(name).map(Into::into)
    }

    fn default_chip(&self) -> crate::Chip {
        Chip::G80.into()
    }

    fn stages(&self) -> &'static [Stage] {
        &[Stage::Compute]
    }

    /// Instructions are counted, not bytes.
    fn listing_unit(&self) -> u32 {
        4
    }
}

impl Target for Chip {
    fn isa(&self) -> Isa {
        Isa::Vp1
    }

    fn launch_rules(&self) -> LaunchRules {
        LaunchRules { has_grid: false, address_bits: 0, shared_buffer: Some("ds"), ..LaunchRules::of(&abi()) }
    }

    fn lift(
        &self,
        _module: &Module,
        kernel: &Kernel,
        options: &CodeOptions,
        meter: &Meter,
    ) -> Result<KernelImage, LoadError> {
        let chip = *self;
        let (entry, code) = (options.entry, &kernel.code);
        check_entry(0, entry, 4, code)?;
        let options =
            lift::Options { name: "kernel", chip, entry: entry / 4, more_entries: &[], resumable: false };
        let lifted = lift::lift(code, &options, meter)?;
        Ok(image(lifted.function, &lifted.slots, chip, code))
    }

    fn listing(&self, code: &[u8], base: u32, _stage: Stage) -> String {
        listing(code, base / 4, *self)
    }

    fn assemble(&self, text: &str, _stage: Stage) -> Result<Vec<u8>, SourceErrors> {
        Ok(assemble(text, *self)?.code)
    }
}
