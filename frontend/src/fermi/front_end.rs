//! NVIDIA Fermi (GF100 to GK107) as the rest of the system sees it.

use crate::container::{Kernel, Module};
use crate::image::{CodeOptions, ConstPart, KernelImage};
use crate::isa::{
    FrontEnd, LaunchRules, LoadError, ProgramType, SourceError, SourceErrors, unknown_chip, unknown_syntax,
};

use super::{Chip, abi, assemble, lift, listing, sass_listing};

/// The front end.
#[derive(Debug)]
pub struct FermiFrontEnd;

/// Local memory that a thread has at least where it uses any: what a stack needs is not always said.
const LEAST_LOCAL: u32 = 0x400;

impl FermiFrontEnd {
    fn chip(&self, name: &str) -> Result<Chip, LoadError> {
        Chip::parse(name).ok_or_else(|| unknown_chip(self, name))
    }
}

impl FrontEnd for FermiFrontEnd {
    fn name(&self) -> &'static str {
        "fermi"
    }

    fn chips(&self) -> Vec<&'static str> {
        Chip::ALL.iter().map(|chip| chip.name()).collect()
    }

    fn knows_chip(&self, chip: &str) -> bool {
        Chip::parse(chip).is_some()
    }

    fn default_chip(&self) -> &'static str {
        "gf100"
    }

    fn launch_rules(&self, chip: Option<&str>) -> LaunchRules {
        let chip = chip.and_then(Chip::parse).unwrap_or(Chip::Gf100);
        let abi = abi::compute(chip);
        LaunchRules {
            has_grid: true,
            max_grid: abi.max_grid,
            max_block: abi.max_block,
            max_threads: abi.max_threads,
            pointer_bytes: abi.params.pointer_bytes.into(),
            short_pointers: true,
            address_bits: 40,
            const_banks: abi::BANKS,
            global_windows: 0,
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
        if let Some(own) = module.chip.as_deref().and_then(Chip::parse)
            && own.family() != chip.family()
        {
            return Err(LoadError::Program(format!("the code is for {own}, {chip} has other instructions")));
        }
        let raw = options.raw;
        let entry = if raw { options.entry } else { kernel.entry };
        if entry % 8 != 0 || entry as usize >= kernel.code.len() {
            return Err(LoadError::Program(format!(
                "entry {entry:#x} is no instruction of the {:#x} bytes of code",
                kernel.code.len()
            )));
        }
        let mut abi = abi::compute(chip);
        // Raw words do not say how many registers they use: then all there are.
        let registers = kernel.registers.or(options.registers).unwrap_or(abi.max_registers);
        let own = |given: u32, option: Option<u32>| if raw { option.unwrap_or(given) } else { given };
        let mut local_bytes = own(kernel.local_bytes, options.local);
        let mut lift_options = lift::Options {
            name: if kernel.name.is_empty() { "kernel" } else { &kernel.name },
            chip,
            entry,
            registers: registers.min(abi.max_registers),
            local_bytes,
            counters: 0,
        };
        let needs = lift::needs(&kernel.code, &lift_options);
        if !raw && needs.local {
            local_bytes = local_bytes.max(LEAST_LOCAL).next_multiple_of(16);
            lift_options.local_bytes = local_bytes;
        }
        if needs.counters {
            abi.segments.push(abi::counters());
        }
        if let Some(memory) = &module.global_memory {
            abi.segments.push(abi::variables(memory));
        }
        let mut consts = abi::driver_words(chip, local_bytes);
        consts.extend(kernel.consts.iter().map(|part| ConstPart {
            bank: part.bank,
            offset: part.offset,
            bytes: part.bytes.clone(),
        }));
        let name = if kernel.name.is_empty() { "the program" } else { &kernel.name };
        let layout = kernel.params.as_ref();
        Ok(KernelImage {
            name: name.to_owned(),
            function: lift::lift(&kernel.code, &lift_options),
            registers,
            shared_bytes: own(kernel.shared_bytes, options.shared),
            local_bytes,
            params: layout.map(|layout| layout.params.iter().map(|p| (p.offset, p.bytes)).collect()),
            consts,
            compiler_bank: Some(abi::COMPILER_BANK),
            code: kernel.code.clone(),
            code_address: 0,
            instruction_bytes,
            aliases: Vec::new(),
            abi,
        })
    }

    fn syntaxes(&self) -> &'static [&'static str] {
        &["envydis", "sass"]
    }

    fn listing_in(
        &self,
        syntax: &str,
        code: &[u8],
        base: u32,
        chip: &str,
        program: ProgramType,
    ) -> Result<String, LoadError> {
        match syntax {
            "envydis" => self.listing(code, base, chip, program),
            "sass" => Ok(sass_listing(code, base, self.chip(chip)?)),
            _ => Err(unknown_syntax(self, syntax)),
        }
    }

    fn listing(
        &self,
        code: &[u8],
        base: u32,
        chip: &str,
        _program: ProgramType,
    ) -> Result<String, LoadError> {
        Ok(listing(code, base, self.chip(chip)?))
    }

    fn assemble(&self, text: &str, chip: &str, _program: ProgramType) -> Result<Vec<u8>, SourceErrors> {
        let chip = self.chip(chip).map_err(|error| {
            SourceErrors(vec![SourceError { line: 1, column: 1, reason: error.to_string() }])
        })?;
        Ok(assemble(text, chip)?.code)
    }
}

/// Length of the instruction that begins with these bytes.
fn instruction_bytes(code: &[u8]) -> usize {
    match code.first() {
        Some(&first) if first & 8 != 0 => 4,
        _ => 8,
    }
}
