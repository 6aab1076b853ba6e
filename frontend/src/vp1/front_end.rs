//! NVIDIA video processor 1 as the rest of the system sees it.

use warpjit_ir::{Function, KernelAbi, ParamSpace, Space};

use super::{Chip, assemble, lift, listing};
use crate::container::{Kernel, Module};
use crate::image::{CodeOptions, KernelImage, check_entry};
use crate::isa::{FrontEnd, LaunchRules, LoadError, ProgramType, SourceErrors, unknown_chip};

/// The front end.
#[derive(Debug)]
pub struct Vp1FrontEnd;

impl Vp1FrontEnd {
    fn chip(&self, name: &str) -> Result<Chip, LoadError> {
        Chip::parse(name).ok_or_else(|| unknown_chip(self, name))
    }
}

/// What the runtime must know of a lifted program.
pub fn image(function: Function, slots: &lift::Slots, chip: Chip, code: &[u8]) -> KernelImage {
    KernelImage {
        shared_bytes: lift::DATA_STORE_BYTES,
        aliases: lift::aliases(slots, chip),
        ..KernelImage::bare(code, function, abi(), |_| 4)
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
        LaunchRules { has_grid: false, address_bits: 0, shared_buffer: Some("ds"), ..LaunchRules::of(&abi()) }
    }

    fn lift(
        &self,
        _module: &Module,
        kernel: &Kernel,
        chip: &str,
        options: &CodeOptions,
    ) -> Result<KernelImage, LoadError> {
        let chip = self.chip(chip)?;
        let (entry, code) = (options.entry, &kernel.code);
        check_entry(entry, 4, code)?;
        let options =
            lift::Options { name: "kernel", chip, entry: entry / 4, more_entries: &[], resumable: false };
        let lifted = lift::lift(code, &options);
        Ok(image(lifted.function, &lifted.slots, chip, code))
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

    /// Instructions are counted, not bytes.
    fn listing_unit(&self) -> u32 {
        4
    }

    fn assemble(&self, text: &str, chip: &str, _program: ProgramType) -> Result<Vec<u8>, SourceErrors> {
        let chip = self.chip(chip)?;
        Ok(assemble(text, chip)?.code)
    }
}
