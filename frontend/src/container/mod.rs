//! Containers: from the bytes of a file to kernels with their code, constants and resources.
//!
//! [`load`] tells the format by content: [`elf`] cubins, AMD code objects ([`code_object`]), [`text`] cubins, else raw
//! little-endian words ([`raw`]). A fat binary ([`fatbin`]) holds cubins.

pub mod code_object;
pub mod elf;
pub mod fatbin;
pub mod raw;
pub mod text;

use crate::{Chip, Isa};

/// What a file holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// The instruction set.
    pub isa: Isa,
    /// The chip where the container names one; of several with the same compute capability the oldest. Raw words
    /// name none.
    pub chip: Option<Chip>,
    /// The kernels in file order.
    pub kernels: Vec<Kernel>,
    /// Variables in global memory whose addresses the code reads from a constant bank.
    pub globals: Vec<Global>,
    /// Fermi: the memory of all variables; their addresses stand in banks and code already.
    pub global_memory: Option<GlobalMemory>,
    /// Named places in constant banks that the host fills before a launch.
    pub const_symbols: Vec<ConstSymbol>,
}

/// An entry point.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Kernel {
    /// Symbol name; empty for raw words.
    pub name: String,
    /// Its code: words.
    pub code: Vec<u8>,
    /// Address of the first byte of [`Kernel::code`]: 0 where each kernel has a code space of its own.
    pub address: u32,
    /// Byte address of the first instruction.
    pub entry: u32,
    /// General registers a thread has; raw words do not say.
    pub registers: Option<u32>,
    /// Static shared memory of a block, on Tesla counted from `s[0]` (header and parameters included).
    pub shared_bytes: u32,
    /// Local memory of a thread.
    pub local_bytes: u32,
    /// Barriers used.
    pub barriers: u32,
    /// Contents of constant banks.
    pub consts: Vec<ConstPart>,
    /// Where the parameters are, if the container says so.
    pub params: Option<ParamLayout>,
    /// What an AMD code object says beside all this.
    pub code_object: Option<code_object::CodeObject>,
}

impl Kernel {
    /// The name, or `nameless`.
    pub fn name_or<'a>(&'a self, nameless: &'a str) -> &'a str {
        if self.name.is_empty() { nameless } else { &self.name }
    }
}

/// A part of a constant bank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstPart {
    /// Bank number.
    pub bank: u32,
    /// Byte offset in the bank.
    pub offset: u32,
    /// The contents.
    pub bytes: Vec<u8>,
}

/// A named part of a constant bank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstSymbol {
    /// The variable.
    pub name: String,
    /// Bank number.
    pub bank: u32,
    /// Byte offset in the bank.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
}

/// A variable in global memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// The variable.
    pub name: String,
    /// The constant bank that holds its address.
    pub bank: u32,
    /// Byte offset of the address in that bank.
    pub offset: u32,
    /// Size of the variable in bytes.
    pub bytes: u32,
}

/// Memory that a module brings along.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GlobalMemory {
    /// Guest address of the first byte.
    pub address: u64,
    /// What it holds when a launch starts.
    pub contents: Vec<u8>,
}

/// Layout of the kernel parameters, relative to their start (`s[0x10]` on Tesla, see the ABI on
/// Fermi).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ParamLayout {
    /// Size of the whole block.
    pub bytes: u32,
    /// The parameters in order.
    pub params: Vec<Param>,
}

impl ParamLayout {
    /// Offset and size of each parameter.
    pub fn places(&self) -> Vec<(u32, u32)> {
        self.params.iter().map(|param| (param.offset, param.bytes)).collect()
    }
}

/// A kernel parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Param {
    /// Byte offset from the start of the parameters.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
}

/// Why a file cannot be taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ContainerError {
    /// No bytes at all.
    #[error("the file is empty")]
    Empty,
    /// Raw code that is not a whole number of words.
    #[error("offset {len:#x}: raw code ends within a 32-bit word")]
    RaggedWords {
        /// Length of the file.
        len: u64,
    },
    /// A text cubin is wrong.
    #[error("line {line}: {reason}")]
    Text {
        /// Line, from 1.
        line: u32,
        /// Why.
        reason: String,
    },
    /// An ELF file is wrong.
    #[error("offset {offset:#x}: {reason}")]
    Elf {
        /// Offset in the file.
        offset: u64,
        /// Why.
        reason: String,
    },
    /// The file is for another machine.
    #[error("offset {offset:#x}: {what} is not supported")]
    Unsupported {
        /// Offset in the file.
        offset: u64,
        /// What it is for.
        what: String,
    },
    /// The module has no kernel of that name, or several and no name was given.
    #[error("{reason}; kernels: {names}")]
    Kernel {
        /// Why.
        reason: String,
        /// What there is.
        names: String,
    },
}

/// Finds out what the bytes are and takes them apart. `isa` is the instruction set of raw words.
pub fn load(bytes: &[u8], isa: Isa) -> Result<Module, ContainerError> {
    if bytes.is_empty() {
        Err(ContainerError::Empty)
    } else if bytes.starts_with(b"\x7fELF") {
        if code_object::is_code_object(bytes) { code_object::load(bytes) } else { elf::load(bytes) }
    } else if fatbin::is_fatbin(bytes) {
        fatbin::load(bytes)
    } else if text::is_text_cubin(bytes) {
        text::load(bytes)
    } else {
        raw::load(bytes, isa)
    }
}

impl Module {
    /// The kernel of that name, or the only one.
    pub fn kernel(&self, name: Option<&str>) -> Result<&Kernel, ContainerError> {
        let error = |reason: String| ContainerError::Kernel {
            reason,
            names: self.kernels.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>().join(" "),
        };
        match (name, &self.kernels[..]) {
            (Some(name), kernels) => {
                let found = kernels.iter().find(|kernel| kernel.name == name);
                found.ok_or_else(|| error(format!("there is no kernel `{name}`")))
            }
            (None, [kernel]) => Ok(kernel),
            (None, []) => Err(error("there is no kernel".into())),
            (None, _) => Err(error("there are several kernels and none is named".into())),
        }
    }
}

/// Most bytes of kernel arguments in GCN's kernel argument segment.
pub(crate) const KERNARG_BYTES: u32 = limits::KERNARG;

/// Limits of the hardware, which also keep broken files from asking for absurd amounts of memory.
mod limits {
    /// General registers of a thread.
    pub(super) const REGISTERS: u32 = 128;
    /// Shared memory of a block.
    pub(super) const SHARED: u32 = 0x4000;
    /// Local memory of a thread.
    pub(super) const LOCAL: u32 = 0x10000;
    /// A constant bank.
    pub(super) const BANK: u32 = 0x10000;
    /// Constant banks.
    pub(super) const BANKS: u32 = 16;
    /// Barriers of a block.
    pub(super) const BARRIERS: u32 = 16;
    /// Code space.
    pub(super) const CODE: u32 = 1 << 24;
    /// GCN: LDS of a block.
    pub(super) const LDS: u32 = 0x1_0000;
    /// GCN: scratch of a lane, what 13 bits of 256 words a wave come to.
    pub(super) const SCRATCH: u32 = 0x1_fff0;
    /// GCN: kernel arguments. The hardware knows no limit; compilers keep to 4 KiB.
    pub(super) const KERNARG: u32 = 0x1_0000;
    /// GCN: scalar registers that can be set up before the workgroup ids.
    pub(super) const USER_SGPRS: u32 = 16;
}
