//! From the bytes of a file to a [`Program`]: container, lifter, what the kernel needs.

use crate::{ConstPart, Error, KernelImage, Program, ProgramOptions};
use warpjit_frontend::{Isa, container, tesla};

impl Program {
    /// Takes a container apart (or raw words), picks the kernel and lifts it.
    pub fn load(bytes: &[u8], options: &ProgramOptions) -> Result<Program, Error> {
        let module = if options.raw {
            container::raw::load(bytes, options.isa)
        } else {
            container::load(bytes, options.isa)
        }
        .map_err(|error| Error::Program(error.to_string()))?;
        if module.isa != options.isa {
            return Err(Error::Program(format!("code is for {}, not {}", module.isa, options.isa)));
        }
        let chip = options.chip.as_deref().or(module.chip.as_deref());
        let chip = chip.ok_or_else(|| Error::Program("raw code needs a chip".into()))?;
        // Raw words have no names; a name given for them says nothing.
        let raw = module.kernels.iter().all(|kernel| kernel.name.is_empty());
        let kernel = module
            .kernel(options.kernel.as_deref().filter(|_| !raw))
            .map_err(|error| Error::Program(error.to_string()))?;
        match options.isa {
            Isa::Tesla => load_tesla(kernel, chip, raw, options),
        }
    }
}

fn load_tesla(
    kernel: &container::Kernel,
    chip: &str,
    raw: bool,
    options: &ProgramOptions,
) -> Result<Program, Error> {
    let chip = tesla::Chip::parse(chip).ok_or_else(|| {
        let names: Vec<_> = tesla::Chip::ALL.iter().map(|chip| chip.name()).collect();
        Error::Program(format!("tesla has no chip {chip}; chips: {}", names.join(" ")))
    })?;
    let entry = if raw { options.entry } else { kernel.entry };
    if entry % 4 != 0 || entry as usize >= kernel.code.len() {
        return Err(Error::Program(format!(
            "entry {entry:#x} is no instruction of the {:#x} bytes of code",
            kernel.code.len()
        )));
    }
    let abi = tesla::abi::compute(chip);
    // Raw words do not say how many registers they use: then all there are.
    let registers = kernel.registers.or(options.registers).unwrap_or(abi.max_registers);
    let own = |given: u32, option: Option<u32>| if raw { option.unwrap_or(given) } else { given };
    let consts: Vec<ConstPart> = kernel
        .consts
        .iter()
        .map(|part| ConstPart { bank: part.bank, offset: part.offset, bytes: part.bytes.clone() })
        .collect();
    // Only the compiler's own bank cannot change under the program.
    let fixed = fixed_bank(&consts);
    let banks: Vec<(u8, &[u8])> = fixed.iter().map(|bytes| (COMPILER_BANK as u8, bytes.as_slice())).collect();
    let name = if kernel.name.is_empty() { "the program" } else { &kernel.name };
    let lift = tesla::lift::Options {
        name: if kernel.name.is_empty() { "kernel" } else { &kernel.name },
        target: tesla::Target::compute(chip),
        entry,
        registers: registers.min(abi.max_registers),
        const_banks: &banks,
    };
    let layout = kernel.params.as_ref();
    Ok(Program::from_image(KernelImage {
        name: name.to_owned(),
        function: tesla::lift::lift(&kernel.code, &lift),
        registers,
        shared_bytes: own(kernel.shared_bytes, options.shared),
        local_bytes: own(kernel.local_bytes, options.local),
        params: layout.map(|layout| layout.params.iter().map(|param| (param.offset, param.bytes)).collect()),
        consts,
        compiler_bank: Some(COMPILER_BANK),
        code: kernel.code.clone(),
        code_address: 0,
        instruction_bytes: tesla_instruction_bytes,
        abi,
    }))
}

/// Tesla's c1[] (facts/tesla.md section 8).
const COMPILER_BANK: u32 = 1;

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
fn tesla_instruction_bytes(bytes: &[u8]) -> usize {
    if bytes.first().is_some_and(|byte| byte & 1 != 0) { 8 } else { 4 }
}
