//! The traits through which the other crates use an instruction set: [`FrontEnd`] for the set, [`Target`] for one of its chips;
//! and [`LaunchRules`], what a launch may set. Each instruction set implements them in its `front_end.rs`.

use std::fmt;

use warpjit_ir::KernelAbi;
use warpjit_ir::Meter;

use crate::chip::Chip;
use crate::code::{Code, CodeSource};
use crate::error::{CodeError, LoadError, SourceErrors};
use crate::image::{CodeOptions, KernelImage};
use crate::isa::{Isa, Stage};
use crate::module::{Kernel, Module};

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
    /// Of an instruction set that this build leaves out: nothing may be said.
    #[cfg(not(all(feature = "tesla", feature = "fermi", feature = "gcn", feature = "vp1")))]
    pub(crate) fn none() -> LaunchRules {
        LaunchRules {
            has_grid: false,
            max_grid: [1; 3],
            max_block: [1; 3],
            max_threads: 1,
            pointer_bytes: 4,
            short_pointers: false,
            address_bits: 0,
            signed_addresses: false,
            const_banks: 0,
            global_windows: 0,
            local_args: false,
            max_registers: 0,
            max_sgprs: 0,
            has_rsrc: false,
            lanes: 1,
            register_bits: 32,
            shared_buffer: None,
        }
    }

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
    /// Names of chips, for messages. [`FrontEnd::parse_chip`] knows more: boards, and other names of the same chips.
    fn chips(&self) -> Vec<&'static str>;

    /// The chip of that name, if it is one of this instruction set.
    fn parse_chip(&self, name: &str) -> Option<Chip>;

    /// The chip that listings and launch rules are for when no chip is named.
    fn default_chip(&self) -> Chip;

    /// Stages that its programs can be for.
    fn stages(&self) -> &'static [Stage] {
        &Stage::ALL
    }

    /// Bytes that an address of the listing counts.
    fn listing_unit(&self) -> u32 {
        1
    }

    /// Names of the syntaxes that listings come in; the first is that of [`Target::listing`].
    fn syntaxes(&self) -> &'static [&'static str] {
        &["default"]
    }
}

/// Where a program lies in guest memory.
#[derive(Clone, Copy)]
pub struct CodeLocation<'a> {
    /// The memory.
    pub source: &'a dyn CodeSource,
    /// Guest address of the first instruction.
    pub entry: u64,
    /// Tesla, Fermi: guest address of the stage's code segment, which absolute targets count from.
    pub segment: Option<u64>,
}

impl fmt::Debug for CodeLocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeLocation")
            .field("entry", &self.entry)
            .field("segment", &self.segment)
            .finish_non_exhaustive()
    }
}

impl<'a> CodeLocation<'a> {
    /// The code of a chip with code segments, and the entry as an offset in it; instructions begin at multiples of `align` bytes.
    pub(crate) fn in_segment(&self, align: u32, bytes: Option<u32>) -> Result<(Code<'a>, u32), CodeError> {
        let segment = self.segment.unwrap_or(self.entry);
        let entry = self.entry.checked_sub(segment).and_then(|offset| u32::try_from(offset).ok());
        let Some(entry) = entry else {
            return Err(CodeError::OutsideSegment { entry: self.entry, segment });
        };
        let code = Code::segment(self.source, segment, bytes.map(|bytes| (entry, bytes)));
        self.check(&code, entry, align)?;
        Ok((code, entry))
    }

    /// Refuses an entry where no instruction can be.
    pub(crate) fn check(&self, code: &Code<'_>, entry: u32, align: u32) -> Result<(), CodeError> {
        if !self.entry.is_multiple_of(align.into()) || !entry.is_multiple_of(align) {
            return Err(CodeError::MisalignedEntry { entry: self.entry, align });
        }
        if code.bytes(entry).len() < 4 {
            return Err(CodeError::UnreadableEntry { entry: self.entry });
        }
        Ok(())
    }
}

/// A chip that code is lifted, listed or assembled for.
pub trait Target: fmt::Debug {
    /// The chip's instruction set.
    fn isa(&self) -> Isa;

    /// Limits of launch files.
    fn launch_rules(&self) -> LaunchRules;

    /// Lifts a kernel of a container for a compute launch, or raw words (`options.raw`) for one of `options.stage`.
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

    /// Lifts raw code where it lies in guest memory. Options that say where code is (`raw`, `entry`, `base`) do not count.
    ///
    /// # Errors
    ///
    /// As [`Target::lift`]; the code cannot begin there; the instruction set has no code in guest memory.
    fn lift_at(
        &self,
        location: &CodeLocation<'_>,
        options: &CodeOptions,
        meter: &Meter,
    ) -> Result<KernelImage, LoadError> {
        let _ = (location, options, meter);
        Err(CodeError::NotInMemory { isa: self.isa() }.into())
    }

    /// The listing of `code`, whose first byte is at `base`.
    fn listing(&self, code: &[u8], base: u32, stage: Stage) -> String;

    /// The listing in the syntax of that name.
    ///
    /// # Errors
    ///
    /// The instruction set has no such syntax.
    fn listing_in(&self, syntax: &str, code: &[u8], base: u32, stage: Stage) -> Result<String, CodeError> {
        let known = self.isa().front_end().syntaxes();
        if known.first() == Some(&syntax) {
            return Ok(self.listing(code, base, stage));
        }
        Err(no_syntax(self.isa(), known, syntax))
    }

    /// Assembles a source or a listing.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    fn assemble(&self, text: &str, stage: Stage) -> Result<Vec<u8>, SourceErrors>;
}

/// The error for a syntax that an instruction set does not have.
pub(crate) fn no_syntax(isa: Isa, known: &[&str], syntax: &str) -> CodeError {
    CodeError::UnknownSyntax {
        isa,
        syntax: syntax.to_owned(),
        known: known.iter().map(|&known| known.to_owned()).collect(),
    }
}
