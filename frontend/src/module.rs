//! The contents of a container, in any format: kernels with their code, constants, parameters and resource sizes.
//! [`crate::container`] makes them, front ends lift them.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::chip::Chip;
use crate::error::ContainerError;
use crate::isa::Isa;

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
    /// Named words in constant banks that the host fills before a launch.
    pub const_symbols: Vec<ConstSymbol>,
}

impl Module {
    /// What raw code in memory comes with.
    pub(crate) fn nothing(isa: Isa) -> Module {
        Module {
            isa,
            chip: None,
            kernels: Vec::new(),
            shared_consts: Vec::new(),
            globals: Vec::new(),
            global_memory: None,
            const_symbols: Vec::new(),
        }
    }
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
    pub code_object: Option<CodeObject>,
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
    pub fn ranges(&self) -> Vec<(u32, u32)> {
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

/// What an AMD code object says of a kernel beyond [`Kernel`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeObject {
    /// All loaded segments, from address 0 of the file.
    pub image: Arc<[u8]>,
    /// The part of it that programs may write; it begins on a page of its own.
    pub variables: Option<Range<u32>>,
    /// Address of the descriptor.
    pub descriptor: u32,
    /// Whether it is of Mesa's form.
    pub mesa: bool,
    /// COMPUTE_PGM_RSRC1.
    pub rsrc1: u32,
    /// COMPUTE_PGM_RSRC2.
    pub rsrc2: u32,
    /// Kernel code properties: which registers are set up.
    pub properties: u32,
    /// Bytes of the kernel argument segment; 0 where nothing says.
    pub kernarg_bytes: u32,
    /// The arguments, hidden ones included, where the file describes them.
    pub args: Option<Vec<KernelArg>>,
    /// Threads of a block along each axis, where the kernel is for one size only.
    pub block: Option<[u32; 3]>,
}

/// An argument in the kernel argument segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelArg {
    /// Its name; empty where the file has none.
    pub name: String,
    /// Byte offset.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// What it is.
    pub kind: ArgKind,
}

/// What an argument is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArgKind {
    /// A value or a structure.
    ByValue,
    /// A pointer to global or constant memory.
    Global,
    /// The LDS offset of dynamic memory.
    DynamicShared,
    /// Something the launch gives without being told (`global_offset_x`), by its name without `hidden_`.
    Hidden(String),
    /// A picture, sampler, pipe or queue, by its name.
    Other(String),
}

/// Most names that a message lists.
const MOST_NAMES: usize = 20;

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
