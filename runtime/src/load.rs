//! Loads a program: reads the container, picks the kernel, and lifts it.

use crate::fork::Section;
use crate::{Budget, CancelToken, Chip, Engine, Error, Isa, Program, ProgramOptions};
use warpjit_frontend::LoadError;
use warpjit_frontend::container::{self, ContainerError, Wanted};
use warpjit_frontend::image::CodeOptions;
use warpjit_frontend::module::{Kernel, Module};
use warpjit_ir::meter::{Meter, Spent, Task};

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Stopped(stopped) | LoadError::Container(ContainerError::Stopped(stopped)) => {
                stopped.into()
            }
            other => Error::Program(other.to_string()),
        }
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
            container::load_within(bytes, options.isa, Wanted::Kernel(options.kernel.as_deref()), &meter)
        }
        .map_err(LoadError::from)?;
        let chip = chip_for(&module, options)?;
        // Raw words have no names, so a given name is ignored.
        let raw = is_raw(&module);
        let kernel = module.kernel(options.kernel.as_deref().filter(|_| !raw)).map_err(LoadError::from)?;
        lift(&module, kernel, chip, options, &meter)
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
    let meter = Meter::new(Task::Loading, budget, Spent::default());
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
        return Err(Error::Program(format!("code is for {}, not {isa}", module.isa)));
    }
    let chip = options.chip.or(module.chip);
    let chip = chip.ok_or_else(|| Error::Program("raw code needs a chip".into()))?;
    if chip.isa() != isa {
        return Err(Error::Program(format!("code is for {isa}, {chip} is a chip of {}", chip.isa())));
    }
    let rsrc = options.rsrc1.is_some() || options.rsrc2.is_some();
    if rsrc && !(is_raw(module) && isa == Isa::Gcn) {
        return Err(Error::Program("rsrc1 and rsrc2 are for raw code of gcn only".into()));
    }
    Ok(chip)
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
        return Err(Error::Program(format!("{stage} programs are raw code, not kernels of a container")));
    }
    let code = CodeOptions {
        raw,
        entry: options.entry,
        registers: options.registers,
        sgprs: options.sgprs,
        shared: options.shared,
        local: options.local,
        rsrc1: options.rsrc1,
        rsrc2: options.rsrc2,
        base: options.base,
        c0_given: options.c0_given,
        texture_handles: options.texture_handles,
        stage: options.stage.clone(),
    };
    let image = chip.target().lift(module, kernel, &code, meter)?;
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
