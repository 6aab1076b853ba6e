//! The trait through which other crates use an instruction set. Each instruction set's folder has one implementation.

use std::fmt;

use warpjit_ir::{KernelAbi, Meter, Stopped};

use crate::chip::Chip;
use crate::container::{ContainerError, Kernel, Module};
use crate::image::{CodeOptions, KernelImage};

/// A guest instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Isa {
    /// NVIDIA Tesla: G80 to GT218.
    Tesla,
    /// NVIDIA Fermi: GF100 to GK107.
    Fermi,
    /// AMD GCN 1.0 to 1.4.
    Gcn,
    /// NVIDIA video processor 1.
    Vp1,
}

impl Isa {
    /// All that there are.
    pub const ALL: &'static [Isa] = &[Isa::Tesla, Isa::Fermi, Isa::Gcn, Isa::Vp1];

    /// The front end.
    pub fn front_end(self) -> &'static dyn FrontEnd {
        match self {
            Isa::Tesla => &crate::tesla::front_end::TeslaFrontEnd,
            Isa::Fermi => &crate::fermi::front_end::FermiFrontEnd,
            Isa::Gcn => &crate::gcn::front_end::GcnFrontEnd,
            Isa::Vp1 => &crate::vp1::front_end::Vp1FrontEnd,
        }
    }

    /// The name launch files and the command line use.
    pub fn name(self) -> &'static str {
        self.front_end().name()
    }

    /// The instruction set of that name.
    pub fn parse(name: &str) -> Option<Isa> {
        Isa::ALL.iter().copied().find(|isa| isa.name() == name)
    }

    /// The chip of that name of this instruction set.
    ///
    /// # Errors
    ///
    /// There is none; the error lists those that there are.
    pub fn chip(self, name: &str) -> Result<Chip, LoadError> {
        let front_end = self.front_end();
        front_end.parse_chip(name).ok_or_else(|| {
            let known = front_end.chips().join(" ");
            LoadError::Program(format!("{self} has no chip {name}; chips: {known}"))
        })
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of a program; some encodings mean something else in another one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ProgramType {
    /// Vertex program.
    Vertex,
    /// Geometry program.
    Geometry,
    /// Fragment program.
    Fragment,
    /// Compute program.
    #[default]
    Compute,
}

impl ProgramType {
    /// All types.
    pub const ALL: [ProgramType; 4] =
        [ProgramType::Vertex, ProgramType::Geometry, ProgramType::Fragment, ProgramType::Compute];

    /// The name launch files use.
    pub fn name(self) -> &'static str {
        match self {
            ProgramType::Vertex => "vertex",
            ProgramType::Geometry => "geometry",
            ProgramType::Fragment => "fragment",
            ProgramType::Compute => "compute",
        }
    }

    /// The type of that name (also vp, gp, fp, cp).
    pub fn parse(name: &str) -> Option<ProgramType> {
        match name {
            "vertex" | "vp" => Some(ProgramType::Vertex),
            "geometry" | "gp" => Some(ProgramType::Geometry),
            "fragment" | "fp" => Some(ProgramType::Fragment),
            "compute" | "cp" => Some(ProgramType::Compute),
            _ => None,
        }
    }

    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// What a launch file may say for an ISA, checked before any program is loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaunchRules {
    /// Whether there are blocks, threads and arguments at all. Without, one warp runs and only registers, the
    /// shared memory (see `shared_buffer`) and `max_steps` are given.
    pub has_grid: bool,
    /// Most blocks along each axis.
    pub max_grid: [u32; 3],
    /// Most threads of a block along each axis.
    pub max_block: [u32; 3],
    /// Most threads of a block.
    pub max_threads: u32,
    /// Bytes of a pointer argument that names no size.
    pub pointer_bytes: usize,
    /// Whether pointer arguments of 4 bytes are allowed.
    pub short_pointers: bool,
    /// Bits of a guest address; 0: there is no memory with addresses.
    pub address_bits: u32,
    /// Whether addresses are sign-extended: the bits above the highest repeat it.
    pub signed_addresses: bool,
    /// Constant banks that a launch may bind; 0: there are none.
    pub const_banks: u32,
    /// Windows to global memory (`[[global]]`); 0: there are none.
    pub global_windows: u32,
    /// Whether arguments may point to dynamic shared memory (`[[arg]] local`).
    pub local_args: bool,
    /// Most registers that raw code may ask for.
    pub max_registers: u32,
    /// Most scalar registers that raw code may ask for; 0: there are none.
    pub max_sgprs: u32,
    /// Whether raw code may come with the registers that say how the hardware starts it (`rsrc1`, `rsrc2`), and its launch with what
    /// goes with them: user data and how scratch is shared out.
    pub has_rsrc: bool,
    /// Lanes of a warp.
    pub lanes: u32,
    /// Bits of the widest register that a launch file names.
    pub register_bits: u32,
    /// The buffer, if it exists, that is the block's shared memory rather than mapped memory.
    pub shared_buffer: Option<&'static str>,
}

impl LaunchRules {
    /// What a chip's launch interface says; grids, 64 bits of address, and nothing that only some have.
    pub(crate) fn of(abi: &KernelAbi) -> LaunchRules {
        LaunchRules {
            has_grid: true,
            max_grid: abi.max_grid,
            max_block: abi.max_block,
            max_threads: abi.max_threads,
            pointer_bytes: abi.params.pointer_bytes.into(),
            short_pointers: abi.params.pointer_bytes == 4,
            address_bits: 40,
            signed_addresses: false,
            const_banks: 0,
            global_windows: 0,
            local_args: false,
            max_registers: abi.max_registers,
            max_sgprs: 0,
            has_rsrc: false,
            lanes: abi.warp_lanes,
            register_bits: 32,
            shared_buffer: None,
        }
    }
}

/// An instruction set as the rest of the system sees it.
pub trait FrontEnd: Send + Sync + fmt::Debug {
    /// Name in launch files and on the command line.
    fn name(&self) -> &'static str;

    /// Names of chips, for messages. [`FrontEnd::parse_chip`] knows more: boards, and other names of the same chips.
    fn chips(&self) -> Vec<&'static str>;

    /// The chip of that name, if it is one of this instruction set.
    fn parse_chip(&self, name: &str) -> Option<Chip>;

    /// The chip that listings and launch rules are for when no chip is named.
    fn default_chip(&self) -> Chip;

    /// Bytes that an address of the listing counts.
    fn listing_unit(&self) -> u32 {
        1
    }

    /// Names of the syntaxes that listings come in; the first is that of [`Target::listing`].
    fn syntaxes(&self) -> &'static [&'static str] {
        &["default"]
    }
}

/// A chip that code is lifted, listed or assembled for.
pub trait Target: fmt::Debug {
    /// The chip's instruction set.
    fn isa(&self) -> Isa;

    /// Limits of launch files.
    fn launch_rules(&self) -> LaunchRules;

    /// Lifts a kernel of a container, or raw words (`options.raw`), for a compute launch.
    ///
    /// # Errors
    ///
    /// The code is for another chip, the options do not fit, the container contradicts itself, or the meter says that it must stop.
    fn lift(
        &self,
        module: &Module,
        kernel: &Kernel,
        options: &CodeOptions,
        meter: &Meter,
    ) -> Result<KernelImage, LoadError>;

    /// The listing of `code`, whose first byte is at `base`.
    fn listing(&self, code: &[u8], base: u32, program: ProgramType) -> String;

    /// The listing in the syntax of that name.
    ///
    /// # Errors
    ///
    /// The instruction set has no such syntax.
    fn listing_in(
        &self,
        syntax: &str,
        code: &[u8],
        base: u32,
        program: ProgramType,
    ) -> Result<String, LoadError> {
        if self.isa().front_end().syntaxes().first() == Some(&syntax) {
            return Ok(self.listing(code, base, program));
        }
        Err(no_syntax(self.isa(), syntax))
    }

    /// Assembles a source or a listing.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    fn assemble(&self, text: &str, program: ProgramType) -> Result<Vec<u8>, SourceErrors>;
}

/// Why a program cannot be taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// The container is bad.
    #[error(transparent)]
    Container(#[from] ContainerError),
    /// The front end says no.
    #[error("{0}")]
    Program(String),
    /// The budget is used up, or the work was cancelled.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// What is wrong with a line of a source.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{line}:{column}: {reason}")]
pub struct SourceError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Why.
    pub reason: String,
}

/// Everything wrong with a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceErrors(pub Vec<SourceError>);

impl fmt::Display for SourceErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index != 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for SourceErrors {}

/// The error for a syntax that an instruction set does not have.
pub(crate) fn no_syntax(isa: Isa, syntax: &str) -> LoadError {
    let known = isa.front_end().syntaxes().join(" ");
    LoadError::Program(format!("{isa} has no syntax {syntax}; syntaxes: {known}"))
}
