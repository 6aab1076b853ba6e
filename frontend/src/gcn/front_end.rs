//! AMD GCN (1.0 to 1.4) as the rest of the system sees it.

use std::sync::Arc;

use warpjit_ir::{Builtin, SlotInit};

use super::abi::{self, Setup};
use super::{Generation, Inst, assemble, decode, lift, listing};
use crate::container::{Kernel, Module};
use crate::image::{CodeOptions, KernelImage, check_entry};
use crate::isa::{FrontEnd, LaunchRules, LoadError, ProgramType, SourceErrors, unknown_chip};

/// The front end.
#[derive(Debug)]
pub struct GcnFrontEnd;

impl GcnFrontEnd {
    fn generation(&self, chip: &str) -> Result<Generation, LoadError> {
        Generation::parse(chip).ok_or_else(|| unknown_chip(self, chip))
    }
}

impl FrontEnd for GcnFrontEnd {
    fn name(&self) -> &'static str {
        "gcn"
    }

    fn chips(&self) -> Vec<&'static str> {
        Generation::ALL.into_iter().flat_map(|generation| generation.chips()).copied().collect()
    }

    fn knows_chip(&self, chip: &str) -> bool {
        Generation::parse(chip).is_some()
    }

    fn default_chip(&self) -> &'static str {
        Generation::Gfx8.name()
    }

    fn launch_rules(&self, chip: Option<&str>) -> LaunchRules {
        let generation = chip.and_then(Generation::parse).unwrap_or(Generation::Gfx9);
        LaunchRules {
            local_args: true,
            address_bits: 48,
            signed_addresses: true,
            max_sgprs: abi::RAW_SGPRS,
            register_bits: 64,
            ..LaunchRules::of(&abi::limits(generation))
        }
    }

    fn lift(
        &self,
        module: &Module,
        kernel: &Kernel,
        chip: &str,
        options: &CodeOptions,
    ) -> Result<KernelImage, LoadError> {
        let generation = self.generation(chip)?;
        if let Some(own) = &module.chip
            && Generation::parse(own) != Some(generation)
        {
            return Err(LoadError::Program(format!("code is for {own}, not {chip}")));
        }
        let object = kernel.code_object.as_ref();
        let (code, entry, mut setup): (Arc<[u8]>, u32, Setup) = match object {
            Some(object) => {
                (object.image.clone(), kernel.entry, abi::code_object(generation, kernel, object)?)
            }
            None => {
                let code: Arc<[u8]> = kernel.code.as_slice().into();
                let setup = abi::raw(generation, &code, options);
                (code, options.entry, setup)
            }
        };
        check_entry(entry, 4, &code)?;
        let raw = object.is_none();
        let (shared_aperture, private_aperture) = setup.apertures;
        let lift_options = lift::Options {
            name: kernel.name_or("kernel"),
            decode: decode_at,
            generation,
            entry,
            code_address: abi::CODE_ADDRESS,
            vgprs: setup.vgprs,
            sgprs: setup.sgprs,
            fused_mix: has_fused_mix(chip),
            mode: setup.mode,
            lds_bytes: setup.shared_bytes,
            scratch_bytes: setup.local_bytes,
            shared_aperture,
            private_aperture,
            preload: &setup.preload,
            observed: raw,
        };
        let mut function = lift::lift(&code, &lift_options);
        if lift::uses_data_share(&function) {
            setup.abi.segments.push(abi::data_share());
        }
        if raw {
            // EXEC is all ones whatever the launch (launch-format.md).
            for slot in &mut function.slots {
                if matches!(slot.init, SlotInit::Builtin(Builtin::Launched(_))) {
                    slot.init = SlotInit::Const(u32::MAX.into());
                }
            }
        }
        Ok(KernelImage {
            name: kernel.name_or("the program").to_owned(),
            registers: setup.vgprs,
            shared_bytes: setup.shared_bytes,
            local_bytes: setup.local_bytes,
            params: setup.params,
            ..KernelImage::bare(&code, function, setup.abi, instruction_bytes(generation))
        })
    }

    fn listing(
        &self,
        code: &[u8],
        base: u32,
        chip: &str,
        _program: ProgramType,
    ) -> Result<String, LoadError> {
        let text = listing(code, base.into(), self.generation(chip)?);
        Ok(if has_fused_mix(chip) { text.replace(MAD_MIX, FMA_MIX) } else { text })
    }

    fn assemble(&self, text: &str, chip: &str, _program: ProgramType) -> Result<Vec<u8>, SourceErrors> {
        let generation = self.generation(chip)?;
        if has_fused_mix(chip) {
            return Ok(assemble(&text.replace(FMA_MIX, MAD_MIX), generation)?.code);
        }
        Ok(assemble(text, generation)?.code)
    }
}

/// What multiply-adds of mixed widths are called on chips where they are rounded twice, and where they are fused: as long.
const MAD_MIX: &str = "v_mad_mix";
const FMA_MIX: &str = "v_fma_mix";

/// Whether a chip has the fused ones.
fn has_fused_mix(chip: &str) -> bool {
    matches!(chip, "gfx904" | "gfx906" | "gfx907" | "vega12" | "vega20")
}

/// The instruction at a byte offset of the code.
pub(super) fn decode_at(code: &[u8], pc: u32, generation: Generation) -> Option<Inst> {
    decode(code.get(pc as usize..)?, pc.into(), generation).ok()
}

/// Length of the instruction that begins with these bytes; what does not decode is a dword.
fn instruction_bytes(generation: Generation) -> fn(&[u8]) -> usize {
    fn length(bytes: &[u8], generation: Generation) -> usize {
        decode(bytes, 0, generation).map_or(4, |inst| inst.len.into())
    }
    match generation {
        Generation::Gfx6 => |bytes| length(bytes, Generation::Gfx6),
        Generation::Gfx7 => |bytes| length(bytes, Generation::Gfx7),
        Generation::Gfx8 => |bytes| length(bytes, Generation::Gfx8),
        Generation::Gfx9 => |bytes| length(bytes, Generation::Gfx9),
    }
}
