//! Finds the code that `disasm`, `asm` and `ir` work on: instruction set, chip, and program or kernel.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use warpjit::launch_file::LaunchFile;
use warpjit::session::{load_program_within, program_options};
use warpjit_frontend::container::{self, Selection};
use warpjit_frontend::module::{Kernel, Module};
use warpjit_frontend::{Chip, CodeSource, Isa, Stage};
use warpjit_ir::meter::{Meter, Task, Usage};
use warpjit_runtime::{Budget, Program, ProgramOptions};

use crate::args::DisasmArgs;
use warpjit::launch_file::read_plain;

/// The content of a file; the error names it.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    read_plain(path).with_context(|| path.display().to_string())
}

/// The instruction set and the chip that the command line names. Of a chip alone the instruction set follows; without either it
/// is Tesla.
pub(super) fn choose(isa: Option<&str>, chip: Option<&str>) -> anyhow::Result<(Isa, Option<Chip>)> {
    let isa = isa.map(isa_named).transpose()?;
    let chip = match (isa, chip) {
        (_, None) => None,
        (Some(isa), Some(chip)) => Some(chip_named(isa, chip)?),
        (None, Some(chip)) => Some(chip.parse::<Chip>().map_err(|error| anyhow!("--chip: {error}"))?),
    };
    Ok((isa.or(chip.map(Chip::isa)).unwrap_or(Isa::Tesla), chip))
}

fn isa_named(name: &str) -> anyhow::Result<Isa> {
    Isa::parse(name).ok_or_else(|| {
        let names: Vec<_> = Isa::ALL.iter().map(|isa| isa.name()).collect();
        anyhow!("--isa: {name:?} is no instruction set; there are {}", names.join(", "))
    })
}

fn chip_named(isa: Isa, name: &str) -> anyhow::Result<Chip> {
    isa.front_end().parse_chip(name).ok_or_else(|| {
        let known = isa.front_end().chips().join(", ");
        anyhow!("--chip: {name:?} is no {isa} chip; allowed are {known}")
    })
}

/// The program type of that name.
pub(super) fn stage(name: &str) -> anyhow::Result<Stage> {
    Stage::parse(name).ok_or_else(|| {
        let known: Vec<_> = Stage::ALL.iter().map(|p| p.name()).collect();
        anyhow!("--type: {name:?} is no stage; allowed are {}", known.join(", "))
    })
}

/// The bytes of a launch's code. Of code in memory these are the ones from the entry on that are read without a gap.
fn launched_code(launch: &LaunchFile, budget: Budget) -> anyhow::Result<Vec<u8>> {
    let Some(code) = &launch.program.in_memory else { return Ok(launch.program.code.clone()) };
    let ranges = load_program_within(launch, budget)?.code_ranges();
    let range = ranges.into_iter().find(|range| range.contains(&code.address));
    let range = range.with_context(|| launch.code_place())?;
    let mut bytes = vec![0; (range.end - code.address) as usize];
    launch.read(code.address, &mut bytes);
    Ok(bytes)
}

/// A program named on the command line.
pub(super) struct Code {
    /// The file with the code, for messages.
    pub path: PathBuf,
    /// What is in it.
    pub module: Module,
    /// The chip it is decoded for.
    pub chip: Chip,
    /// The type of program it is decoded as.
    pub stage: Stage,
    /// The kernel asked for.
    pub kernel: Option<String>,
    /// How much loading and compiling may take.
    pub budget: Budget,
    options: ProgramOptions,
}

impl Code {
    /// Loads what the arguments name: a container, raw words, or a launch file's program. `selection`: to be listed, or to be
    /// compiled, too.
    pub fn load(args: &DisasmArgs, selection: Selection<'_>) -> anyhow::Result<Code> {
        let is_launch = args.file.extension().is_some_and(|e| e == "toml");
        let launch = if is_launch { Some(LaunchFile::load(&args.file)?) } else { None };
        let (path, bytes) = match &launch {
            Some(launch) => {
                (PathBuf::from(launch.code_place()), launched_code(launch, args.budget.budget())?)
            }
            None => (args.file.clone(), read(&args.file)?),
        };
        let mut options = match &launch {
            Some(launch) => program_options(launch),
            None => ProgramOptions::new(choose(args.isa.as_deref(), args.chip.as_deref())?.0),
        };
        options.raw |= args.raw;
        if let Some(code) = launch.as_ref().and_then(|launch| launch.program.in_memory.as_ref()) {
            // The listing has addresses in the code segment.
            options.base = code.segment.map_or(0, |segment| code.address.wrapping_sub(segment) as u32);
        }
        let program = launch.as_ref().map(|l| &l.program);
        let meter = Meter::new(Task::Loading, args.budget.budget(), Usage::default());
        let module = if options.raw {
            container::raw::load(&bytes, options.isa)
        } else {
            container::load_within(&bytes, options.isa, selection, &meter)
        };
        let module = module.with_context(|| path.display().to_string())?;
        // A container knows better than the default.
        let options = options.isa(module.isa);
        if module.chip.is_none() && launch.is_none() && args.chip.is_none() {
            let chip = options.isa.front_end().default_chip();
            let _ = writeln!(
                std::io::stderr(),
                "{}: raw words, taken for {chip}'s ({}); --chip names another",
                path.display(),
                options.isa
            );
        }
        let named = args.chip.as_deref().map(|name| chip_named(module.isa, name)).transpose()?;
        let named = named.or(program.and_then(|p| p.chip));
        let chip = named.or(module.chip).unwrap_or(module.isa.front_end().default_chip());
        if chip.isa() != module.isa {
            let (isa, other) = (module.isa, chip.isa());
            bail!("{}: the code is for {isa}, but {chip} is a {other} chip", path.display());
        }
        let stage = match (&args.r#type, &launch) {
            (Some(name), _) => stage(name)?,
            (None, Some(launch)) => launch.launch.stage,
            (None, None) => Stage::Compute,
        };
        let kernel = args.kernel.clone().or_else(|| program.and_then(|p| p.kernel.clone()));
        Ok(Code { path, module, chip, stage, kernel, budget: args.budget.budget(), options })
    }

    /// The address at which the listing of a kernel begins.
    pub fn address(&self, kernel: &Kernel) -> u32 {
        kernel.address.wrapping_add(self.options.base)
    }

    /// The kernels asked for, lifted.
    pub fn programs(&self) -> anyhow::Result<Vec<Program>> {
        let load = |kernel: &Kernel| {
            let options = self.options.clone().chip(Some(self.chip));
            Program::of_kernel(&self.module, kernel, &options, self.budget, None)
                .with_context(|| self.path.display().to_string())
        };
        self.kernels()?.into_iter().map(load).collect()
    }

    /// The kernels asked for: the named one, or all.
    pub fn kernels(&self) -> anyhow::Result<Vec<&Kernel>> {
        if self.kernel.is_none() {
            if self.module.kernels.is_empty() {
                bail!("{}: holds no kernel", self.path.display());
            }
            return Ok(self.module.kernels.iter().collect());
        }
        Ok(vec![self.module.kernel(self.kernel.as_deref()).with_context(|| self.path.display().to_string())?])
    }
}
