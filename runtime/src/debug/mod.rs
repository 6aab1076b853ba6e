//! Announces compiled code to tools: to Linux perf by a map and a jitdump file, to GDB by its interface for JIT compilers.

#[cfg(feature = "gdb")]
mod elf;
#[cfg(feature = "gdb")]
mod gdb;
mod perf;

pub(crate) use perf::open as open_perf;

use crate::vm::Code;
use warpjit_backend::NO_PC;

/// A compiled region, with what its name is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FunctionCode<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// Guest address where it starts.
    pub pc: u32,
    /// What it is if not a single region: grid-row code, which covers the kernel from there on, or a chain of regions.
    pub kind: &'static str,
    /// The number of its version.
    pub version: u32,
    /// The code.
    pub code: &'a Code,
    /// Code offsets with guest addresses ([`warpjit_backend::RegionCode::pcs`]).
    pub pcs: &'a [(u32, u32)],
}

/// Code that has been announced to tools. Dropping it tells those that support it that the code is gone.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    #[cfg(feature = "gdb")]
    _gdb: Option<gdb::Registration>,
}

impl FunctionCode<'_> {
    pub fn name(&self) -> String {
        format!("warpjit::{}@{:#x}#{}{}", self.kernel, self.pc, self.kind, self.version)
    }

    /// Ranges of the code: start, end, guest address.
    fn pc_ranges(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let ends = self.pcs.iter().skip(1).map(|range| range.0).chain([self.code.len() as u32]);
        let ranges = self.pcs.iter().zip(ends).map(|(&(start, pc), end)| (start, end, pc));
        ranges.filter(|&(start, end, pc)| start < end && pc != NO_PC)
    }
}

/// Announces code to perf if `perf` is set (then [`open_perf`] has been called), and to GDB.
pub(crate) fn announce(region: &FunctionCode<'_>, perf: bool) -> Announced {
    if perf {
        perf::announce(region);
    }
    Announced {
        #[cfg(feature = "gdb")]
        _gdb: Some(gdb::Registration::new(region)),
    }
}

/// Whether the table of guest addresses is needed even if no setting asks for it.
pub(crate) const ALWAYS_TELLS: bool = cfg!(feature = "gdb");
