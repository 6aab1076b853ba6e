//! Finding the code that `disasm`, `asm` and `ir` work on.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use warpjit::launch_file::LaunchFile;
use warpjit::session::program_options;
use warpjit_frontend::Isa;
use warpjit_frontend::container::{self, Kernel, Module};
use warpjit_frontend::tesla::{Chip, ProgramType, Target};
use warpjit_runtime::{Program, ProgramOptions};

use crate::args::DisasmArgs;

/// The content of a file; the error names it.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}

/// The chip of that name.
pub(super) fn chip(name: &str) -> anyhow::Result<Chip> {
    Chip::parse(name).ok_or_else(|| {
        let known: Vec<_> = Chip::ALL.iter().map(|c| c.name()).collect();
        anyhow!("--chip: {name:?} is no tesla chip; allowed are {}", known.join(", "))
    })
}

/// The program type of that name.
pub(super) fn program_type(name: &str) -> anyhow::Result<ProgramType> {
    ProgramType::parse(name).ok_or_else(|| {
        let known: Vec<_> = ProgramType::ALL.iter().map(|p| p.name()).collect();
        anyhow!("--type: {name:?} is no type of program; allowed are {}", known.join(", "))
    })
}

/// A program named on the command line.
pub(super) struct Code {
    /// The file with the code, for messages.
    pub path: PathBuf,
    /// What is in it.
    pub module: Module,
    /// What it is decoded for.
    pub target: Target,
    /// The kernel asked for.
    pub kernel: Option<String>,
    bytes: Vec<u8>,
    options: ProgramOptions,
}

impl Code {
    /// Loads what the arguments name: a container, raw words, or a launch file's program.
    pub fn load(args: &DisasmArgs) -> anyhow::Result<Code> {
        let is_launch = args.file.extension().is_some_and(|e| e == "toml");
        let launch = if is_launch { Some(LaunchFile::load(&args.file)?) } else { None };
        let (path, bytes) = match &launch {
            Some(launch) => (launch.path.with_file_name(&launch.program.file), launch.program.code.clone()),
            None => (args.file.clone(), read(&args.file)?),
        };
        let options = match &launch {
            Some(launch) => program_options(launch)?,
            None => ProgramOptions::new(Isa::Tesla),
        };
        let options = ProgramOptions { raw: options.raw || args.raw, ..options };
        let program = launch.as_ref().map(|l| &l.program);
        let module = if options.raw {
            container::raw::load(&bytes, options.isa)
        } else {
            container::load(&bytes, options.isa)
        };
        let module = module.with_context(|| path.display().to_string())?;
        let named = args.chip.as_ref().or(program.and_then(|p| p.chip.as_ref()));
        let chip = match named.or(module.chip.as_ref()) {
            Some(name) => chip(name)?,
            None => Chip::G80,
        };
        let program_type = match (&args.r#type, &launch) {
            (Some(name), _) => program_type(name)?,
            (None, Some(launch)) => program_type(launch.launch.kind.as_str())?,
            (None, None) => ProgramType::Compute,
        };
        let kernel = args.kernel.clone().or_else(|| program.and_then(|p| p.kernel.clone()));
        let target = Target { chip, program: program_type };
        Ok(Code { path, module, target, kernel, bytes, options })
    }

    /// The kernels asked for, lifted.
    pub fn programs(&self) -> anyhow::Result<Vec<Program>> {
        let load = |kernel: &Kernel| {
            let options = ProgramOptions {
                chip: Some(self.target.chip.name().to_owned()),
                kernel: Some(kernel.name.clone()).filter(|name| !name.is_empty()),
                ..self.options.clone()
            };
            Program::load(&self.bytes, &options).with_context(|| self.path.display().to_string())
        };
        self.kernels()?.into_iter().map(load).collect()
    }

    /// The kernels asked for: the named one, or all.
    pub fn kernels(&self) -> anyhow::Result<Vec<&Kernel>> {
        if self.kernel.is_none() {
            if self.module.kernels.is_empty() {
                bail!("{}: there is no kernel", self.path.display());
            }
            return Ok(self.module.kernels.iter().collect());
        }
        Ok(vec![self.module.kernel(self.kernel.as_deref()).with_context(|| self.path.display().to_string())?])
    }
}
