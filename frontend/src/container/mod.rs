//! Reads containers: from the bytes of a file to kernels with their code, constants and resource sizes.
//!
//! [`load`] recognises the format by its content: [`elf`] cubins, AMD code objects ([`code_object`]), [`text`] cubins, fat
//! binaries ([`fatbin`], which hold cubins). What is known to be something else is refused by name (`foreign`). Anything else is
//! raw little-endian words ([`raw`]).

#[cfg(feature = "gcn")]
pub mod code_object;
pub mod elf;
pub mod fatbin;
mod foreign;
pub mod raw;
pub mod text;

use bytes::Bytes;
use warpjit_ir::meter::{Budget, Meter, Spent, Task};

pub use crate::error::ContainerError;
use crate::isa::Isa;
use crate::module::Module;

/// Which kernels of a file are wanted. All are in [`Module::kernels`], but of an ELF cubin only those that are wanted
/// are linked (functions in sections of their own put behind the code, addresses put in): many kernels that call the
/// same functions would have a copy each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted<'a> {
    /// All.
    All,
    /// All, to be listed and not run: what other files define may be missing, and is 0 then.
    Listing,
    /// The kernel of that name, or the only one; of several without a name none.
    Kernel(Option<&'a str>),
}

impl Wanted<'_> {
    /// Whether a kernel is wanted.
    fn wants(self, name: &str) -> bool {
        match self {
            Wanted::All | Wanted::Listing | Wanted::Kernel(None) => true,
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
        #[cfg(feature = "gcn")]
        if code_object::is_code_object(bytes) {
            return code_object::load(bytes, wanted, meter);
        }
        elf::load(bytes, wanted, meter)
    } else if fatbin::is_fatbin(bytes) {
        fatbin::load(bytes, wanted, meter)
    } else if text::is_text_cubin(bytes) {
        text::load(bytes, meter)
    } else {
        foreign::refuse(bytes)?;
        raw::load(bytes, isa)
    }
}

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

/// Lengths of the names that symbols, sections and relocations of a file have. A string may be the name of many, or
/// many names may end in one string; what is done with each takes time by its length. Compilers share strings now and
/// then: the sum is no more than a few times the file.
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
    pub(super) use crate::gcn::map::KERNARG_BYTES as KERNARG;
    /// GCN: scalar registers that can be set up before the workgroup ids.
    pub(super) const USER_SGPRS: u32 = 16;
}
