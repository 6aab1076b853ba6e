//! What a front end returns for a kernel: its lifted code with what the runtime needs to launch it; and the options that loading
//! takes.

use warpjit_ir::{Function, KernelAbi, Slot};

use crate::code::CodeMap;
use crate::error::CodeError;
pub use crate::module::ConstPart;
use crate::module::Kernel;
use crate::stage::{StageInterface, StageLayout};

/// What lifting needs to know besides the container. Containers say most of it themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct CodeOptions {
    /// Whether the bytes are words of code, not a container.
    pub raw: bool,
    /// Raw code: byte offset of the first instruction.
    pub entry: u32,
    /// Raw code: registers of a thread.
    pub registers: Option<u32>,
    /// Raw code with scalar registers: how many.
    pub sgprs: Option<u32>,
    /// Raw code: bytes of shared memory of a block.
    pub shared: Option<u32>,
    /// Raw code: bytes of local memory of a thread.
    pub local: Option<u32>,
    /// Raw GCN code: COMPUTE_PGM_RSRC1, with `rsrc2` in place of `registers`, `sgprs` and `shared`.
    pub rsrc1: Option<u32>,
    /// Raw GCN code: COMPUTE_PGM_RSRC2.
    pub rsrc2: Option<u32>,
    /// Raw GCN code with `rsrc2`: words of user data that are the same in all launches, by number. Jumps to addresses in them are
    /// followed.
    pub known_user_data: Vec<(u8, u32)>,
    /// Raw GCN code with `rsrc2`, before 1.4: whether the program knows the apertures, so that its flat addresses may be in LDS or scratch.
    pub flat_apertures: bool,
    /// GCN code in guest memory: addresses of functions. Jumps to addresses that are not known may lead to them.
    pub jump_targets: Vec<u64>,
    /// GCN code in guest memory: the global data share is the guest's own memory, where a launch would provide it.
    pub data_share_given: bool,
    /// Raw code of Tesla and Fermi: address of the first byte in the stage's code segment. `entry`, absolute targets and the addresses of
    /// faults are addresses in the segment.
    pub base: u32,
    /// Raw Fermi code: a launch writes nothing into c0[].
    pub c0_given: bool,
    /// GK104: the const bank whose words are texture handles.
    pub texture_handles: Option<u8>,
    /// Raw code in guest memory: how many bytes from its entry on belong to it, if that is known. Jumps of Tesla and Fermi to addresses
    /// that are not known may lead to any of them.
    pub code_bytes: Option<u32>,
    /// Raw code: inputs and outputs, if it is a program of a graphics stage.
    pub stage: Option<StageInterface>,
}

/// Entry and resource sizes of a kernel: from its container, or from the options if the code is raw words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs {
    pub(crate) entry: u32,
    pub(crate) registers: u32,
    pub(crate) shared_bytes: u32,
    pub(crate) local_bytes: u32,
}

impl Needs {
    /// Those of a CUDA kernel. If neither the container nor the options give the number of registers, it is `most`, all that the chip has.
    pub(crate) fn of(kernel: &Kernel, options: &CodeOptions, most: u32) -> Needs {
        let own = |given: u32, option: Option<u32>| if options.raw { option.unwrap_or(given) } else { given };
        Needs {
            entry: if options.raw { options.entry } else { kernel.entry },
            registers: kernel.registers.or(options.registers).unwrap_or(most),
            shared_bytes: own(kernel.shared_bytes, options.shared),
            local_bytes: own(kernel.local_bytes, options.local),
        }
    }
}

/// A kernel as a front end gives it: lifted, with what it needs of its chip.
#[derive(Debug, Clone)]
pub struct KernelImage {
    /// Name for messages.
    pub name: String,
    /// The code, in SPMD form.
    pub function: Function,
    /// The chip's launch interface and limits.
    pub abi: KernelAbi,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of shared memory of a block, dynamic memory excluded.
    pub shared_bytes: u32,
    /// Bytes of local memory of a thread.
    pub local_bytes: u32,
    /// Where the parameters are, as (offset, bytes) from their start, where the container says.
    pub params: Option<Vec<(u32, u32)>>,
    /// Contents of const banks, in parts.
    pub consts: Vec<ConstPart>,
    /// The bank that belongs to the compiler: what the container says of it holds whatever a launch binds.
    pub compiler_bank: Option<u32>,
    /// The guest's code, to show instructions of faults, and the guest addresses of the function's `pc`s.
    pub code: CodeMap,
    /// Words of user data for which it was lifted, by number; a launch must have the same.
    pub known_user_data: Vec<(u8, u32)>,
    /// Length of the instruction that begins with these bytes.
    pub instruction_bytes: fn(&[u8]) -> usize,
    /// Registers whose slots are not called and made as guests know them.
    pub aliases: Vec<RegisterAlias>,
    /// The inputs and outputs of a graphics stage.
    pub stage: Option<StageLayout>,
}

impl KernelImage {
    /// A kernel with nothing but its code: no name, no registers, no memory of its own.
    pub fn bare(
        code: CodeMap,
        function: Function,
        abi: KernelAbi,
        instruction_bytes: fn(&[u8]) -> usize,
    ) -> Self {
        KernelImage {
            name: "the program".into(),
            function,
            abi,
            registers: 0,
            shared_bytes: 0,
            local_bytes: 0,
            params: None,
            consts: Vec::new(),
            compiler_bank: None,
            code,
            known_user_data: Vec::new(),
            instruction_bytes,
            aliases: Vec::new(),
            stage: None,
        }
    }
}

/// Refuses an entry where no instruction of `code` can be, whose first byte is at address `base`; instructions begin at multiples of
/// `align` bytes.
pub(crate) fn check_entry(base: u32, entry: u32, align: u32, code: &[u8]) -> Result<(), CodeError> {
    let bytes = code.len();
    if !base.is_multiple_of(4) || u64::from(base) + bytes as u64 > 1 << 32 {
        return Err(CodeError::Base { bytes, base });
    }
    let inside = entry.checked_sub(base).is_some_and(|at| (at as usize) < bytes);
    if entry.is_multiple_of(align) && inside {
        return Ok(());
    }
    Err(CodeError::Entry { entry, bytes, base })
}

/// A guest register that is not a slot of its own, but composed of slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterAlias {
    /// The guest's name.
    pub name: String,
    /// Bits of its value.
    pub bits: u32,
    /// The bits that can be written; the others keep their value.
    pub writable: u64,
    /// Bits that always read as set.
    pub always: u64,
    /// What holds it.
    pub parts: AliasParts,
}

/// What holds a register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AliasParts {
    /// A uniform slot.
    Slot(Slot),
    /// Masks: bit `b` of the register is lane `b % lanes` of mask `b / lanes`. The register is uniform.
    LaneBits(Vec<Slot>),
}
