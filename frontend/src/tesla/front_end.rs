//! Tesla as the rest of the system sees it.

use super::{Chip, Target, abi, assemble, lift, listing};
use crate::container::{Global, Kernel, Module};
use crate::image::{CodeOptions, ConstPart, KernelImage};
use crate::isa::{FrontEnd, LaunchRules, LoadError, ProgramType, SourceErrors, unknown_chip};
use warpjit_ir::{KernelAbi, Segment, SegmentSize};

/// The front end.
#[derive(Debug)]
pub struct TeslaFrontEnd;

/// Tesla's c1[] (facts/tesla.md section 8).
const COMPILER_BANK: u32 = 1;

impl TeslaFrontEnd {
    fn chip(&self, name: &str) -> Result<Chip, LoadError> {
        Chip::parse(name).ok_or_else(|| unknown_chip(self, name))
    }
}

impl FrontEnd for TeslaFrontEnd {
    fn name(&self) -> &'static str {
        "tesla"
    }

    fn chips(&self) -> Vec<&'static str> {
        Chip::ALL.iter().map(|chip| chip.name()).collect()
    }

    fn default_chip(&self) -> &'static str {
        Chip::G80.name()
    }

    fn launch_rules(&self, _chip: Option<&str>) -> LaunchRules {
        let abi = abi::compute(Chip::G80);
        LaunchRules {
            has_grid: true,
            max_grid: abi.max_grid,
            max_block: abi.max_block,
            max_threads: abi.max_threads,
            pointer_bytes: abi.params.pointer_bytes.into(),
            short_pointers: true,
            address_bits: 32,
            const_banks: 16,
            global_windows: 16,
            local_args: false,
            max_registers: abi.max_registers,
            max_sgprs: 0,
            lanes: abi.warp_lanes,
            register_bits: 32,
            shared_buffer: None,
        }
    }

    fn lift(
        &self,
        module: &Module,
        kernel: &Kernel,
        chip: &str,
        options: &CodeOptions,
    ) -> Result<KernelImage, LoadError> {
        let chip = self.chip(chip)?;
        let raw = options.raw;
        let entry = if raw { options.entry } else { kernel.entry };
        if entry % 4 != 0 || entry as usize >= kernel.code.len() {
            return Err(LoadError::Program(format!(
                "entry {entry:#x} is no instruction of the {:#x} bytes of code",
                kernel.code.len()
            )));
        }
        let mut abi = abi::compute(chip);
        // Raw words do not say how many registers they use: then all there are.
        let registers = kernel.registers.or(options.registers).unwrap_or(abi.max_registers);
        let own = |given: u32, option: Option<u32>| if raw { option.unwrap_or(given) } else { given };
        let mut consts: Vec<ConstPart> = kernel
            .consts
            .iter()
            .map(|part| ConstPart { bank: part.bank, offset: part.offset, bytes: part.bytes.clone() })
            .collect();
        // Only the compiler's own bank cannot change under the program.
        let fixed = fixed_bank(&consts);
        let banks: Vec<(u8, &[u8])> =
            fixed.iter().map(|bytes| (COMPILER_BANK as u8, bytes.as_slice())).collect();
        let name = if kernel.name.is_empty() { "the program" } else { &kernel.name };
        let lift_options = lift::Options {
            name: if kernel.name.is_empty() { "kernel" } else { &kernel.name },
            target: Target::compute(chip),
            entry,
            registers: registers.min(abi.max_registers),
            const_banks: &banks,
        };
        place_variables(&module.globals, &mut abi, &mut consts)?;
        let layout = kernel.params.as_ref();
        Ok(KernelImage {
            name: name.to_owned(),
            function: lift::lift(&kernel.code, &lift_options),
            registers,
            shared_bytes: own(kernel.shared_bytes, options.shared),
            local_bytes: own(kernel.local_bytes, options.local),
            params: layout.map(|layout| layout.params.iter().map(|p| (p.offset, p.bytes)).collect()),
            consts,
            compiler_bank: Some(COMPILER_BANK),
            code: kernel.code.clone(),
            code_address: 0,
            instruction_bytes,
            aliases: Vec::new(),
            abi,
        })
    }

    fn syntaxes(&self) -> &'static [&'static str] {
        &["envydis"]
    }

    fn listing(&self, code: &[u8], base: u32, chip: &str, program: ProgramType) -> Result<String, LoadError> {
        Ok(listing(code, base, Target { chip: self.chip(chip)?, program }))
    }

    fn assemble(&self, text: &str, chip: &str, program: ProgramType) -> Result<Vec<u8>, SourceErrors> {
        let chip = self.chip(chip).map_err(|error| {
            SourceErrors(vec![crate::isa::SourceError { line: 1, column: 1, reason: error.to_string() }])
        })?;
        Ok(assemble(text, Target { chip, program })?.code)
    }
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
            return Err(LoadError::Program(format!(
                "device variable `{}` of {:#x} bytes does not fit in the {:#x} bytes for variables",
                global.name,
                global.bytes,
                (1 << 32) - VARIABLES
            )));
        }
        let bytes = (address as u32).to_le_bytes().to_vec();
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

/// Bit 0 of a word says whether a second one follows (facts/tesla.md section 2).
fn instruction_bytes(bytes: &[u8]) -> usize {
    if bytes.first().is_some_and(|byte| byte & 1 != 0) { 8 } else { 4 }
}
