//! Reads containers: from the bytes of a file to kernels with their code, constants and resource sizes.
//!
//! [`load`] recognises the format by its content: [`elf`] cubins, AMD code objects ([`code_object`]), [`text`] cubins, fat
//! binaries ([`fatbin`], which hold cubins). Anything else is raw little-endian words ([`raw`]).

pub mod code_object;
pub mod elf;
pub mod fatbin;
pub mod raw;
pub mod text;

use bytes::Bytes;
use warpjit_ir::meter::{Budget, Meter, Spent, Stopped, Task};

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
    /// Contents of constant banks that all kernels have; a kernel's own come behind these.
    pub shared_consts: Vec<ConstPart>,
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
    pub code: Bytes,
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
    /// Contents of constant banks, besides those that all kernels have ([`Module::shared_consts`]).
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
    pub bytes: Bytes,
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
    /// Its size.
    pub bytes: u32,
    /// What it holds when a launch starts; the rest is zero.
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
    /// Raw code that no code space has room for.
    #[error("raw code of {len:#x} bytes is longer than {most:#x}")]
    TooLong {
        /// Length of the file.
        len: u64,
        /// Most bytes of code.
        most: u64,
    },
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
        /// The names of the kernels that the file has.
        names: String,
    },
    /// The budget is used up, or the work was cancelled.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Which kernels of a file are wanted. All are in [`Module::kernels`], but of an ELF cubin only those that are wanted are linked (functions in
/// sections of their own put behind the code, addresses put in): many kernels that call the same functions would have a copy each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted<'a> {
    /// All.
    All,
    /// The kernel of that name, or the only one; of several without a name none.
    Kernel(Option<&'a str>),
}

impl Wanted<'_> {
    /// Whether a kernel is wanted.
    fn wants(self, name: &str) -> bool {
        match self {
            Wanted::All | Wanted::Kernel(None) => true,
            Wanted::Kernel(Some(wanted)) => wanted == name,
        }
    }
}

/// Finds out what the bytes are and takes them apart, with all kernels and the usual budget. `isa` is the instruction set of raw words.
pub fn load(bytes: &[u8], isa: Isa) -> Result<Module, ContainerError> {
    let meter = Meter::new(Task::Loading, Budget::default(), Spent::default());
    load_within(bytes, isa, Wanted::All, &meter)
}

/// Finds out what the bytes are and takes them apart. `isa` is the instruction set of raw words.
pub fn load_within(
    bytes: &[u8],
    isa: Isa,
    wanted: Wanted<'_>,
    meter: &Meter,
) -> Result<Module, ContainerError> {
    meter.stage("taking the file apart")?;
    if bytes.is_empty() {
        Err(ContainerError::Empty)
    } else if bytes.starts_with(b"\x7fELF") {
        match code_object::is_code_object(bytes) {
            true => code_object::load(bytes, meter),
            false => elf::load(bytes, wanted, meter),
        }
    } else if fatbin::is_fatbin(bytes) {
        fatbin::load(bytes, wanted, meter)
    } else if text::is_text_cubin(bytes) {
        text::load(bytes, meter)
    } else {
        raw::load(bytes, isa)
    }
}

/// Most names that a message lists.
const MOST_NAMES: usize = 20;

/// Zeros, for what a file gives no contents for: they take no memory however often they are there.
fn zeros(count: usize) -> Bytes {
    static ZEROS: [u8; limits::BANK as usize] = [0; limits::BANK as usize];
    match ZEROS.get(..count) {
        Some(zeros) => Bytes::from_static(zeros),
        None => vec![0; count].into(),
    }
}

/// Refuses a file whose segments, or whose sections, have `total` bytes of contents together and so lie over each other often: each takes
/// time and memory by its length. Those of compilers lie over each other twice or so (notes and what is read-only later).
fn check_overlaps(total: u64, file: &[u8], offset: u64) -> Result<(), ContainerError> {
    if total <= 8 * file.len() as u64 {
        return Ok(());
    }
    Err(ContainerError::Elf { offset, reason: "parts of the file lie over each other too often".into() })
}

/// Lengths of the names that symbols, sections and relocations of a file have. A string may be the name of many, or many names may end in one
/// string; what is done with each takes time by its length. Compilers share strings now and then: the sum is no more than a few times the file.
struct NameLengths {
    left: u64,
}

impl NameLengths {
    fn new(file: &[u8]) -> NameLengths {
        NameLengths { left: 16 * file.len() as u64 + (1 << 16) }
    }

    /// Counts a name.
    fn count(&mut self, name: &[u8], offset: u64) -> Result<(), ContainerError> {
        let left = self.left.checked_sub(name.len() as u64);
        self.left = left
            .ok_or_else(|| ContainerError::Elf { offset, reason: "names share strings too often".into() })?;
        Ok(())
    }
}

impl Module {
    /// The kernel of that name, or the only one.
    pub fn kernel(&self, name: Option<&str>) -> Result<&Kernel, ContainerError> {
        let error = |reason: String| {
            let names = self.kernels.iter().take(MOST_NAMES).map(|kernel| kernel.name.as_str());
            let mut names = names.collect::<Vec<_>>().join(" ");
            if let Some(more @ 1..) = self.kernels.len().checked_sub(MOST_NAMES) {
                names += &format!(" and {more} more");
            }
            ContainerError::Kernel { reason, names }
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
