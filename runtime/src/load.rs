//! Loads a program: reads the container, picks the kernel, and lifts it.

use crate::code_source::Outside;
use crate::fork::Section;
use crate::{Budget, CancelToken, Chip, Engine, Error, Isa, Program, ProgramError, ProgramOptions};
use warpjit_frontend::container::{self, ContainerError, Selection};
use warpjit_frontend::image::CodeOptions;
use warpjit_frontend::module::{Kernel, Module};
use warpjit_frontend::{CodeError, CodeLocation, CodeSource, LoadError};
use warpjit_ir::meter::{Meter, Task, Usage};

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Stopped(stopped) | LoadError::Container(ContainerError::Stopped(stopped)) => {
                stopped.into()
            }
            LoadError::Container(error) => Error::Container(error),
            LoadError::Program(source) => source.into(),
        }
    }
}

impl From<CodeError> for Error {
    fn from(source: CodeError) -> Self {
        ProgramError::Code { source }.into()
    }
}

impl Program {
    /// Reads a container (or raw words), picks the kernel and lifts it, within the default [`Budget`].
    ///
    /// # Errors
    /// When the file or the code is unusable, or loading it takes more than the budget.
    pub fn load(bytes: &[u8], options: &ProgramOptions) -> Result<Program, Error> {
        Program::load_within(bytes, options, Budget::default(), None)
    }

    /// The same with another budget, and with a token that can cancel it.
    ///
    /// # Errors
    /// As [`Program::load`]. [`Error::Budget`] says which limit was reached and where; [`Error::Cancelled`] means that
    /// the token was used.
    pub fn load_within(
        bytes: &[u8],
        options: &ProgramOptions,
        budget: Budget,
        cancel: Option<&CancelToken>,
    ) -> Result<Program, Error> {
        let _section = Section::enter();
        let meter = meter(budget, cancel);
        let module = if options.raw {
            container::raw::load(bytes, options.isa)
        } else {
            container::load_within(bytes, options.isa, Selection::Kernel(options.kernel.as_deref()), &meter)
        }
        .map_err(LoadError::from)?;
        let chip = chip_for(&module, options)?;
        // Raw words have no names, so a given name is ignored.
        let raw = is_raw(&module);
        let kernel = module.kernel(options.kernel.as_deref().filter(|_| !raw)).map_err(LoadError::from)?;
        lift(&module, kernel, chip, options, &meter)
    }

    /// Loads raw code from where it lies in guest memory, within the default [`Budget`]. `address` is the guest address of its first
    /// instruction.
    ///
    /// Code has no size: what can be reached from the entry is found by following the control flow, wherever in memory it leads. On GCN
    /// these are branches, and `s_setpc_b64`, `s_swappc_b64` and `s_call_b64` to addresses that are known then: relative to
    /// `s_getpc_b64`, constants, or words in [`ProgramOptions::known_user_data`]. A jump to another address is an `illegal` fault with
    /// that address. A launch maps nothing for the code, so literal pools are read from guest memory like any data. On Tesla and Fermi,
    /// code is in a segment ([`ProgramOptions::segment`]).
    ///
    /// The program is what memory held when it was loaded. [`Program::is_current`] tells whether it still does; [`crate::ProgramCache`]
    /// loads again what has changed.
    ///
    /// ```
    /// use warpjit_runtime::{Access, CodeAt, Config, Engine, Isa, Launch, Program, ProgramOptions};
    ///
    /// let engine = Engine::new(Config::default())?;
    /// let memory = engine.memory()?;
    /// let address = memory.map(Some(0x7_1234_0000), 4096, Access::ReadWrite)?;
    /// // s_getpc_b64 s[0:1]; s_load_dword s2, s[0:1], 0x8; s_endpgm; then a literal behind the code.
    /// let words = [0xbe80_1c00_u32, 0xc002_0080, 0x0000_000c, 0xbf81_0000, 42];
    /// let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    /// memory.write(address, &code)?;
    /// let options = ProgramOptions::new(Isa::Gcn).chip(Some("polaris10".parse()?));
    /// let program = Program::load_at(&memory, address, &options)?;
    /// assert_eq!(program.code_ranges(), [address..address + 16]);
    ///
    /// let launch = Launch::default().grid([1; 3]).block([64, 1, 1]).capture_registers(true);
    /// let report = engine.run(&program, &memory, &launch)?;
    /// assert_eq!(report.registers["s2"][0], 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Program::load`]. Also if no code can be read at the address, if it is misaligned, or if options say otherwise where the code
    /// is (`entry`, `base`).
    pub fn load_at(
        source: &dyn CodeSource,
        address: u64,
        options: &ProgramOptions,
    ) -> Result<Program, Error> {
        Program::load_at_within(source, address, options, Budget::default(), None)
    }

    /// The same with another budget, and with a token that can cancel it.
    ///
    /// # Errors
    /// As [`Program::load_at`] and [`Program::load_within`].
    pub fn load_at_within(
        source: &dyn CodeSource,
        address: u64,
        options: &ProgramOptions,
        budget: Budget,
        cancel: Option<&CancelToken>,
    ) -> Result<Program, Error> {
        let _section = Section::enter();
        if options.entry != 0 || options.base != 0 {
            return Err(ProgramError::EntryOfFile.into());
        }
        if options.segment.is_some() && options.isa == Isa::Gcn {
            return Err(ProgramError::NoCodeSegments { isa: options.isa }.into());
        }
        let chip = options.chip.ok_or(ProgramError::NoChip)?;
        check_chip(chip, options)?;
        if (options.rsrc1.is_some() || options.rsrc2.is_some()) && options.isa != Isa::Gcn {
            return Err(ProgramError::Rsrc.into());
        }
        let location = CodeLocation { source: &Outside(source), entry: address, segment: options.segment };
        let image = chip.target().lift_at(&location, &code_options(options, true), &meter(budget, cancel))?;
        Program::lifted(image, options.isa != Isa::Vp1, options.stage.clone())
    }

    /// Lifts one kernel of a container that has been read already. Ignores `raw` and `kernel` of the options.
    ///
    /// # Errors
    /// As [`Program::load_within`].
    pub fn of_kernel(
        module: &Module,
        kernel: &Kernel,
        options: &ProgramOptions,
        budget: Budget,
        cancel: Option<&CancelToken>,
    ) -> Result<Program, Error> {
        let _section = Section::enter();
        lift(module, kernel, chip_for(module, options)?, options, &meter(budget, cancel))
    }
}

fn meter(budget: Budget, cancel: Option<&CancelToken>) -> Meter {
    let meter = Meter::new(Task::Loading, budget, Usage::default());
    match cancel {
        Some(cancel) => meter.cancelled_by(cancel.flag()),
        None => meter,
    }
}

fn is_raw(module: &Module) -> bool {
    module.kernels.iter().all(|kernel| kernel.name.is_empty())
}

/// The chip to lift for. Checks the options that concern all kernels, before one is chosen.
fn chip_for(module: &Module, options: &ProgramOptions) -> Result<Chip, Error> {
    let isa = options.isa;
    if module.isa != isa {
        return Err(ProgramError::OtherIsa { found: module.isa, wanted: isa }.into());
    }
    let chip = options.chip.or(module.chip);
    let chip = chip.ok_or(ProgramError::NoChip)?;
    check_chip(chip, options)?;
    let rsrc = options.rsrc1.is_some() || options.rsrc2.is_some();
    if rsrc && !(is_raw(module) && isa == Isa::Gcn) {
        return Err(ProgramError::Rsrc.into());
    }
    Ok(chip)
}

fn check_chip(chip: Chip, options: &ProgramOptions) -> Result<(), Error> {
    let isa = options.isa;
    if chip.isa() != isa {
        return Err(ProgramError::OtherChip { isa, chip }.into());
    }
    Ok(())
}

/// What a front end needs to know.
fn code_options(options: &ProgramOptions, raw: bool) -> CodeOptions {
    CodeOptions {
        raw,
        entry: options.entry,
        registers: options.registers,
        sgprs: options.sgprs,
        shared: options.shared,
        local: options.local,
        rsrc1: options.rsrc1,
        rsrc2: options.rsrc2,
        known_user_data: options.known_user_data.clone(),
        flat_apertures: options.flat_apertures,
        jump_targets: options.jump_targets.clone(),
        data_share_given: options.data_share_given,
        base: options.base,
        c0_given: options.c0_given,
        texture_handles: options.texture_handles,
        code_bytes: options.code_bytes,
        stage: options.stage.clone(),
    }
}

fn lift(
    module: &Module,
    kernel: &Kernel,
    chip: Chip,
    options: &ProgramOptions,
    meter: &Meter,
) -> Result<Program, Error> {
    let raw = is_raw(module);
    if let Some(stage) = options.stage.as_ref().filter(|_| !raw) {
        let stage = stage.stage.name();
        return Err(ProgramError::StageOfContainer { stage }.into());
    }
    let image = chip.target().lift(module, kernel, &code_options(options, raw), meter)?;
    Program::lifted(image, options.isa != Isa::Vp1, options.stage.clone())
}

impl Engine {
    /// Loads a program within the engine's budget ([`crate::Config::budget`]). The token can cancel it.
    ///
    /// # Errors
    /// As [`Program::load_within`].
    pub fn load(
        &self,
        bytes: &[u8],
        options: &ProgramOptions,
        cancel: Option<&CancelToken>,
    ) -> Result<Program, Error> {
        Program::load_within(bytes, options, self.config().budget, cancel)
    }
}
