//! The front end of NVIDIA Tesla (G80 to GT218): implements [`FrontEnd`], through which the other crates
//! use it.

use super::{Chip, Target, abi, assemble, lift, listing};
use crate::error::{CodeError, LoadError, SourceErrors};
use crate::front_end::{CodeLocation, FrontEnd, LaunchRules};
use crate::image::{CodeOptions, ConstPart, KernelImage, Needs};
use crate::isa::{Isa, Stage};
use crate::module::{Global, Kernel, Module, ParamLayout};
use crate::simt::lift_input::{ChipRules, LiftInput};
use crate::simt::stage::{Plan, interface, layout_of};
use crate::simt::texture::add_mailbox;
use bytes::Bytes;
use warpjit_ir::{KernelAbi, Meter, Segment, SegmentSize};

/// The front end.
#[derive(Debug)]
pub struct TeslaFrontEnd;

/// Local memory that a thread of a graphics stage has at least where it uses any.
const LEAST_LOCAL: u32 = 0x400;

/// Tesla's c1[] (docs/hardware/tesla.md section 8).
const COMPILER_BANK: u32 = 1;

impl FrontEnd for TeslaFrontEnd {
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
        &super::STAGES
    }

    fn syntaxes(&self) -> &'static [&'static str] {
        &["envydis"]
    }
}

impl crate::Target for Chip {
    fn isa(&self) -> Isa {
        Isa::Tesla
    }

    fn launch_rules(&self) -> LaunchRules {
        LaunchRules {
            address_bits: 32,
            const_banks: 16,
            global_windows: 16,
            ..LaunchRules::of(&abi::compute(*self))
        }
    }

    fn lift(
        &self,
        module: &Module,
        kernel: &Kernel,
        options: &CodeOptions,
        meter: &Meter,
    ) -> Result<KernelImage, LoadError> {
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

    fn listing(&self, code: &[u8], base: u32, stage: Stage) -> String {
        listing(code, base, Target { chip: *self, stage })
    }

    fn assemble(&self, text: &str, stage: Stage) -> Result<Vec<u8>, SourceErrors> {
        Ok(assemble(text, Target { chip: *self, stage })?.code)
    }
}

/// How its programs are read.
fn rules(chip: Chip) -> ChipRules {
    ChipRules { isa: Isa::Tesla, align: 4, max_registers: abi::compute(chip).max_registers }
}

/// Lifts a kernel, or raw words.
fn lift_program(chip: Chip, program: LiftInput<'_>) -> Result<KernelImage, LoadError> {
    let LiftInput { module, kernel, code, needs, options, meter } = program;
    let mut abi = abi::compute(chip);
    let Needs { entry, registers, shared_bytes, mut local_bytes } = needs;
    let base = if options.raw { options.base } else { 0 };
    let stage = options.stage.as_ref().filter(|_| options.raw);
    let mut consts: Vec<ConstPart> = module.shared_consts.iter().chain(&kernel.consts).cloned().collect();
    // Only the compiler's own bank cannot change under the program.
    let fixed = fixed_bank(&consts);
    let banks: Vec<(u8, &[u8])> = fixed.iter().map(|bytes| (COMPILER_BANK as u8, bytes.as_slice())).collect();
    let mut lift_options = lift::Options {
        name: kernel.name_or("kernel"),
        target: Target { chip, stage: stage.map_or(Stage::Compute, |stage| stage.stage) },
        base,
        entry,
        registers: registers.min(abi.max_registers),
        const_banks: &banks,
        plan: None,
        mailbox: 0,
    };
    let graph = lift::explore(&code, &lift_options, meter)?;
    let uses = lift::needs(&graph);
    if let Some(end) = uses.local.filter(|_| stage.is_some()) {
        local_bytes = local_bytes.max(end).max(LEAST_LOCAL);
    }
    if uses.textures {
        lift_options.mailbox = add_mailbox(&mut local_bytes, &mut abi);
    }
    let plan = stage.map(|stage| Plan::new(stage, &uses.uses, local_bytes, stage.stage == Stage::Geometry));
    let plan = plan.transpose()?;
    if let Some(plan) = &plan {
        local_bytes = plan.local_bytes;
        abi = interface(abi, plan.shared_bytes, local_bytes);
        lift_options.plan = Some(plan);
    }
    place_variables(&module.globals, &mut abi, &mut consts)?;
    let function = lift::lift_graph(&graph, &lift_options, meter)?;
    let mailbox = uses.textures.then_some(lift_options.mailbox);
    let stage = plan
        .as_ref()
        .map(|plan| layout_of(plan, lift_options.target.stage, &function, mailbox, uses.local.is_some()));
    Ok(KernelImage {
        name: kernel.name_or("the program").to_owned(),
        registers,
        shared_bytes,
        local_bytes,
        params: kernel.params.as_ref().map(ParamLayout::ranges),
        consts,
        // Of graphics stages all banks are the driver's.
        compiler_bank: plan.is_none().then_some(COMPILER_BANK),
        stage,
        ..KernelImage::bare(code.into_map()?, function, abi, instruction_bytes)
    })
}

/// Where device variables are put: above what buffers without an address get.
const VARIABLES: u64 = 0xf000_0000;
/// What they are aligned to.
const VARIABLE_ALIGN: u64 = 256;

/// Gives each variable of the container zeroed memory, and puts its address in the bank where the code looks for it.
fn place_variables(
    globals: &[Global],
    abi: &mut KernelAbi,
    consts: &mut Vec<ConstPart>,
) -> Result<(), LoadError> {
    let mut address = VARIABLES;
    for global in globals {
        if address + u64::from(global.bytes) > 1 << 32 {
            let (name, bytes, limit) = (global.name.clone(), global.bytes, (1 << 32) - VARIABLES);
            return Err(CodeError::Variable { name, bytes, limit }.into());
        }
        let bytes = Bytes::copy_from_slice(&(address as u32).to_le_bytes());
        consts.push(ConstPart { bank: global.bank, offset: global.offset, bytes });
        address = (address + u64::from(global.bytes)).next_multiple_of(VARIABLE_ALIGN);
    }
    if address > VARIABLES {
        abi.segments.push(Segment {
            name: "device variables",
            address: VARIABLES,
            size: SegmentSize::Bytes((address - VARIABLES) as u32),
            writable: true,
            contents: Vec::new(),
        });
    }
    Ok(())
}

/// The contents of the compiler's bank, if it has any.
fn fixed_bank(consts: &[ConstPart]) -> Option<Vec<u8>> {
    let mut bank = Vec::new();
    for part in consts.iter().filter(|part| part.bank == COMPILER_BANK) {
        let end = part.offset as usize + part.bytes.len();
        bank.resize(bank.len().max(end), 0);
        bank[part.offset as usize..end].copy_from_slice(&part.bytes);
    }
    (!bank.is_empty()).then_some(bank)
}

/// Bit 0 of a word says whether a second one follows (docs/hardware/tesla.md section 2).
fn instruction_bytes(bytes: &[u8]) -> usize {
    if bytes.first().is_some_and(|byte| byte & 1 != 0) { 8 } else { 4 }
}
