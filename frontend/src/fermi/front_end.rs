//! The front end of NVIDIA Fermi (GF100 to GK107): implements [`FrontEnd`], through which the other crates
//! use it.

use warpjit_ir::Meter;

use crate::error::{CodeError, LoadError, SourceErrors};
use crate::front_end::{CodeLocation, FrontEnd, LaunchRules, Target, no_syntax};
use crate::image::{CodeOptions, KernelImage, Needs};
use crate::isa::{Isa, Stage};
use crate::module::{Kernel, Module, ParamLayout};
use crate::simt::lift_input::{ChipRules, LiftInput};
use crate::simt::stage::{Plan, interface, layout_of};
use crate::simt::texture::add_mailbox;

use super::{Chip, abi, assemble, lift, listing, sass_listing};

/// The front end.
#[derive(Debug)]
pub struct FermiFrontEnd;

/// The const bank that has texture handles, if a launch names none (docs/hardware/textures-nv.md section 6).
const TEXTURE_HANDLES: u8 = 15;

/// Local memory that a thread has at least where it uses any: what a stack needs is not always said.
const LEAST_LOCAL: u32 = 0x400;

impl FrontEnd for FermiFrontEnd {
    fn chips(&self) -> Vec<&'static str> {
        Chip::ALL.iter().map(|chip| chip.name()).collect()
    }

    fn parse_chip(&self, name: &str) -> Option<crate::Chip> {
        Chip::parse(name).map(Into::into)
    }

    fn default_chip(&self) -> crate::Chip {
        Chip::Gf100.into()
    }

    fn syntaxes(&self) -> &'static [&'static str] {
        &["envydis", "sass"]
    }
}

impl Target for Chip {
    fn isa(&self) -> Isa {
        Isa::Fermi
    }

    fn launch_rules(&self) -> LaunchRules {
        LaunchRules { address_bits: 40, const_banks: abi::BANKS, ..LaunchRules::of(&abi::compute(*self)) }
    }

    fn lift(
        &self,
        module: &Module,
        kernel: &Kernel,
        options: &CodeOptions,
        meter: &Meter,
    ) -> Result<KernelImage, LoadError> {
        if let Some(crate::Chip::Fermi(own)) = module.chip
            && own.family() != self.family()
        {
            return Err(CodeError::OtherInstructions { found: own.into(), requested: (*self).into() }.into());
        }
        rules(*self).of_file(module, kernel, options, meter, |program| lift_program(*self, program))
    }

    fn lift_at(
        &self,
        location: &CodeLocation<'_>,
        options: &CodeOptions,
        meter: &Meter,
    ) -> Result<KernelImage, LoadError> {
        rules(*self).at(location, options, meter, |program| lift_program(*self, program))
    }

    fn listing(&self, code: &[u8], base: u32, _stage: Stage) -> String {
        listing(code, base, *self)
    }

    fn listing_in(&self, syntax: &str, code: &[u8], base: u32, stage: Stage) -> Result<String, CodeError> {
        match syntax {
            "envydis" => Ok(self.listing(code, base, stage)),
            "sass" => Ok(sass_listing(code, base, *self)),
            _ => Err(no_syntax(Isa::Fermi, self.isa().front_end().syntaxes(), syntax)),
        }
    }

    fn assemble(&self, text: &str, _stage: Stage) -> Result<Vec<u8>, SourceErrors> {
        Ok(assemble(text, *self)?.code)
    }
}

/// How its programs are read.
fn rules(chip: Chip) -> ChipRules {
    ChipRules { isa: Isa::Fermi, align: 8, max_registers: abi::compute(chip).max_registers }
}

/// Lifts a kernel, or raw words.
fn lift_program(chip: Chip, program: LiftInput<'_>) -> Result<KernelImage, LoadError> {
    let LiftInput { module, kernel, code, needs, options, meter } = program;
    let mut abi = abi::compute(chip);
    let Needs { entry, registers, shared_bytes, mut local_bytes } = needs;
    let base = if options.raw { options.base } else { 0 };
    let stage = options.stage.as_ref().filter(|_| options.raw);
    let mut lift_options = lift::Options {
        base,
        entry,
        local_bytes,
        stage: stage.map_or(Stage::Compute, |stage| stage.stage),
        texture_handles: options.texture_handles.unwrap_or(TEXTURE_HANDLES),
        ..lift::Options::compute(kernel.name_or("kernel"), chip, registers.min(abi.max_registers))
    };
    let uses = lift::needs(&code, &lift_options, meter)?;
    if !options.raw && uses.local {
        local_bytes = local_bytes.max(LEAST_LOCAL).next_multiple_of(16);
        lift_options.local_bytes = local_bytes;
    }
    if stage.is_some() && uses.local {
        local_bytes = local_bytes.max(LEAST_LOCAL).max(uses.local_end).next_multiple_of(16);
        lift_options.local_bytes = local_bytes;
    }
    let own_bytes = local_bytes;
    if uses.textures {
        lift_options.mailbox = add_mailbox(&mut local_bytes, &mut abi);
    }
    let plan = stage.map(|stage| Plan::new(stage, &uses.uses, local_bytes, false)).transpose()?;
    let mut shared_bytes = shared_bytes;
    if let Some(plan) = &plan {
        local_bytes = plan.local_bytes;
        shared_bytes = shared_bytes.max(plan.shared_bytes);
        abi = interface(abi, shared_bytes, local_bytes);
        lift_options.plan = Some(plan);
    }
    // The driver's words are those that a launch of the compute class makes.
    let given = options.raw && options.c0_given || plan.is_some();
    if given {
        abi.header.clear();
    }
    if uses.counters {
        abi.segments.push(abi::counters());
    }
    if let Some(memory) = &module.global_memory {
        abi.segments.push(abi::variables(memory));
    }
    let mut consts = if given { Vec::new() } else { abi::driver_words(chip, own_bytes) };
    consts.extend(module.shared_consts.iter().chain(&kernel.consts).cloned());
    let function = lift::lift_code(&code, &lift_options, meter)?;
    let mailbox = uses.textures.then_some(lift_options.mailbox);
    let stage = plan.as_ref().map(|plan| layout_of(plan, lift_options.stage, &function, mailbox, uses.local));
    Ok(KernelImage {
        name: kernel.name_or("the program").to_owned(),
        registers,
        shared_bytes,
        local_bytes,
        params: kernel.params.as_ref().map(ParamLayout::ranges),
        consts,
        compiler_bank: (!given).then_some(abi::COMPILER_BANK),
        stage,
        ..KernelImage::bare(code.into_map()?, function, abi, instruction_bytes)
    })
}

/// Length of the instruction that begins with these bytes.
fn instruction_bytes(code: &[u8]) -> usize {
    match code.first() {
        Some(&first) if first & 8 != 0 => 4,
        _ => 8,
    }
}
