//! The front end of AMD GCN 1.0 to 1.4: implements [`FrontEnd`], through which the other crates use it.

use std::sync::Arc;

use warpjit_ir::{Builtin, Meter, SlotInit};

use super::abi::{self, Setup};
use super::{Chip, Generation, Inst, assemble, decode, lift, listing};
use crate::code::Code;
use crate::error::{CodeError, LoadError, SourceErrors};
use crate::front_end::{CodeLocation, FrontEnd, LaunchRules, Target};
use crate::image::{CodeOptions, KernelImage, check_entry};
use crate::isa::{Isa, Stage};
use crate::module::{Kernel, Module};

/// The front end.
#[derive(Debug)]
pub struct GcnFrontEnd;

impl FrontEnd for GcnFrontEnd {
    fn chips(&self) -> Vec<&'static str> {
        Chip::all().flat_map(Chip::names).collect()
    }

    fn parse_chip(&self, name: &str) -> Option<crate::Chip> {
        Chip::parse(name).map(Into::into)
    }

    fn default_chip(&self) -> crate::Chip {
        Generation::Gfx8.into()
    }
}

impl Target for Chip {
    fn isa(&self) -> Isa {
        Isa::Gcn
    }

    fn launch_rules(&self) -> LaunchRules {
        LaunchRules {
            local_args: true,
            address_bits: 48,
            signed_addresses: true,
            max_sgprs: abi::RAW_SGPRS,
            has_rsrc: true,
            register_bits: 64,
            ..LaunchRules::of(&abi::limits(self.generation()))
        }
    }

    fn lift(
        &self,
        module: &Module,
        kernel: &Kernel,
        options: &CodeOptions,
        meter: &Meter,
    ) -> Result<KernelImage, LoadError> {
        let (chip, generation) = (*self, self.generation());
        if let Some(crate::Chip::Gcn(own)) = module.chip
            && own.generation() != generation
        {
            return Err(CodeError::OtherInstructions { found: own.into(), requested: chip.into() }.into());
        }
        let (code, entry, setup): (Arc<[u8]>, u32, Setup) = match kernel.code_object.as_ref() {
            Some(object) => {
                (object.image.clone(), kernel.entry, abi::code_object(generation, kernel, object)?)
            }
            None => {
                let code: Arc<[u8]> = Arc::from(&kernel.code[..]);
                let setup = abi::raw(generation, Some(&code), options)?;
                (code, options.entry, setup)
            }
        };
        check_entry(0, entry, 4, &code)?;
        let raw = kernel.code_object.is_none();
        if !raw && options.stage.is_some() {
            return Err(CodeError::StageOfKernel.into());
        }
        let code = Code::of_file(&code, 0, abi::CODE_ADDRESS);
        let (name, params) = (&kernel.name, setup.params.clone());
        let image = lift_program(chip, name, code, entry, setup, raw, options, meter)?;
        Ok(KernelImage { params, ..image })
    }

    fn lift_at(
        &self,
        location: &CodeLocation<'_>,
        options: &CodeOptions,
        meter: &Meter,
    ) -> Result<KernelImage, LoadError> {
        let setup = abi::raw(self.generation(), None, options)?;
        let code = Code::scattered(location.source, location.entry);
        let entry = code.entry();
        location.check(&code, entry, 4)?;
        lift_program(*self, "", code, entry, setup, true, options, meter)
    }

    fn listing(&self, code: &[u8], base: u32, _stage: Stage) -> String {
        listing(code, base.into(), *self)
    }

    fn assemble(&self, text: &str, _stage: Stage) -> Result<Vec<u8>, SourceErrors> {
        Ok(assemble(text, *self)?.code)
    }
}

/// Lifts a program that starts at position `entry`; `raw`: it is no kernel of a code object.
#[expect(clippy::too_many_arguments, reason = "where it is from decides all of them")]
fn lift_program(
    chip: Chip,
    name: &str,
    code: Code<'_>,
    entry: u32,
    mut setup: Setup,
    raw: bool,
    options: &CodeOptions,
    meter: &Meter,
) -> Result<KernelImage, LoadError> {
    let stage = options.stage.as_ref();
    if let Some(interface) = stage {
        lift::check_stage(interface, setup.vgprs)?;
        abi::limit_to_stage(&mut setup.abi);
    }
    let (shared_aperture, private_aperture) = setup.apertures;
    let lift_options = lift::Options {
        name: if name.is_empty() { "kernel" } else { name },
        decode: decode_at,
        chip,
        entry,
        vgprs: setup.vgprs,
        sgprs: setup.sgprs,
        mode: setup.mode,
        lds_bytes: setup.shared_bytes,
        scratch_bytes: setup.local_bytes,
        shared_aperture,
        private_aperture,
        preload: &setup.preload,
        observed: raw,
        jump_targets: &options.jump_targets,
        stage,
    };
    let lift::Lifted { mut function, local_bytes, stage } = lift::lift(&code, &lift_options, meter)?;
    if lift::uses_data_share(&function) && !options.data_share_given {
        setup.abi.segments.push(abi::data_share());
    }
    if raw && options.rsrc2.is_none() {
        // EXEC is all ones whatever the launch.
        for slot in &mut function.slots {
            if matches!(slot.init, SlotInit::Builtin(Builtin::Launched(_))) {
                slot.init = SlotInit::Const(u32::MAX.into());
            }
        }
    }
    let code = code.into_map()?;
    Ok(KernelImage {
        name: if name.is_empty() { "the program" } else { name }.to_owned(),
        registers: setup.vgprs,
        shared_bytes: setup.shared_bytes,
        // Scratch is not in local memory.
        local_bytes: setup.local_bytes.max(local_bytes),
        stage,
        known_user_data: if raw { options.known_user_data.clone() } else { Vec::new() },
        ..KernelImage::bare(code, function, setup.abi, instruction_bytes(chip.generation()))
    })
}

/// The instruction that begins with some bytes, at a position of the code.
pub(super) fn decode_at(bytes: &[u8], pc: u32, chip: Chip) -> Option<Inst> {
    decode(bytes, pc.into(), chip).ok()
}

/// Length of the instruction that begins with these bytes, if any chip of the generation has it; what does not decode is a dword.
fn instruction_bytes(generation: Generation) -> fn(&[u8]) -> usize {
    fn length(bytes: &[u8], generation: Generation) -> usize {
        let mut chips = Chip::kinds().filter(|chip| chip.generation() == generation);
        chips.find_map(|chip| decode(bytes, 0, chip).ok()).map_or(4, |inst| inst.len.into())
    }
    match generation {
        Generation::Gfx6 => |bytes| length(bytes, Generation::Gfx6),
        Generation::Gfx7 => |bytes| length(bytes, Generation::Gfx7),
        Generation::Gfx8 => |bytes| length(bytes, Generation::Gfx8),
        Generation::Gfx9 => |bytes| length(bytes, Generation::Gfx9),
    }
}
