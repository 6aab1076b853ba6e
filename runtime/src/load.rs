//! From the bytes of a file to a [`Program`]: container, lifter, what the kernel needs.

use crate::fork::Section;
use crate::{Error, Isa, Program, ProgramOptions};
use warpjit_frontend::container;
use warpjit_frontend::image::CodeOptions;

impl Program {
    /// Takes a container apart (or raw words), picks the kernel and lifts it.
    pub fn load(bytes: &[u8], options: &ProgramOptions) -> Result<Program, Error> {
        let _section = Section::enter();
        let module = if options.raw {
            container::raw::load(bytes, options.isa)
        } else {
            container::load(bytes, options.isa)
        }
        .map_err(|error| Error::Program(error.to_string()))?;
        if module.isa != options.isa {
            return Err(Error::Program(format!("code is for {}, not {}", module.isa, options.isa)));
        }
        let chip = options.chip.or(module.chip);
        let chip = chip.ok_or_else(|| Error::Program("raw code needs a chip".into()))?;
        if chip.isa() != options.isa {
            let (isa, other) = (options.isa, chip.isa());
            return Err(Error::Program(format!("code is for {isa}, {chip} is a chip of {other}")));
        }
        // Raw words have no names; a name given for them says nothing.
        let raw = module.kernels.iter().all(|kernel| kernel.name.is_empty());
        if (options.rsrc1.is_some() || options.rsrc2.is_some()) && !(raw && options.isa == Isa::Gcn) {
            return Err(Error::Program("rsrc1 and rsrc2 are for raw code of gcn only".into()));
        }
        let kernel = module
            .kernel(options.kernel.as_deref().filter(|_| !raw))
            .map_err(|error| Error::Program(error.to_string()))?;
        let code = CodeOptions {
            raw,
            entry: options.entry,
            registers: options.registers,
            sgprs: options.sgprs,
            shared: options.shared,
            local: options.local,
            rsrc1: options.rsrc1,
            rsrc2: options.rsrc2,
        };
        let image = chip.target().lift(&module, kernel, &code);
        let image = image.map_err(|error| Error::Program(error.to_string()))?;
        Ok(Program::lifted(image, options.isa != Isa::Vp1))
    }
}
