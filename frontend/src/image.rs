//! A kernel as front ends hand it to the runtime.

use warpjit_ir::{Function, KernelAbi, Slot};

/// What lifting needs to know besides the container. Containers say most of it themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// The guest's code, to show instructions of faults.
    pub code: Vec<u8>,
    /// Guest address of its first byte.
    pub code_address: u32,
    /// Length of the instruction that begins with these bytes.
    pub instruction_bytes: fn(&[u8]) -> usize,
    /// Registers whose slots are not called and made as guests know them.
    pub aliases: Vec<RegisterAlias>,
}

/// A register that no slot holds as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterAlias {
    /// The guest's name.
    pub name: String,
    /// Bits of its value.
    pub bits: u32,
    /// Those of them that can be written; the others keep what they are.
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

/// A part of a const bank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConstPart {
    /// Number of the bank.
    pub bank: u32,
    /// Where it begins in the bank.
    pub offset: u32,
    /// Contents.
    pub bytes: Vec<u8>,
}
