//! What tools outside learn of compiled code: perf by a map and a jitdump, GDB by its interface for compilers at run time.

#[cfg(feature = "gdb")]
mod elf;
#[cfg(feature = "gdb")]
mod gdb;
mod perf;

pub(crate) use perf::open as open_perf;

use crate::vm::Code;
use warpjit_backend::NO_PC;

/// A compiled region as its name says it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Region<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// Guest address where it starts.
    pub pc: u32,
    /// Whether it is code for rows of blocks: that of the kernel from there on.
    pub rows: bool,
    /// Which of its versions.
    pub version: u32,
    /// The code.
    pub code: &'a Code,
    /// Which of it is of which guest instruction ([`warpjit_backend::RegionCode::pcs`]).
    pub pcs: &'a [(u32, u32)],
}

/// Code that tools know of; they are told that it goes when this is dropped, as far as they want to know.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    #[cfg(feature = "gdb")]
    _gdb: Option<gdb::Registration>,
}

impl Region<'_> {
    pub fn name(&self) -> String {
        let rows = if self.rows { "rows" } else { "" };
        format!("warpjit::{}@{:#x}#{rows}{}", self.kernel, self.pc, self.version)
    }

    /// Pieces of the code: start, end, guest address.
    fn pieces(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let ends = self.pcs.iter().skip(1).map(|piece| piece.0).chain([self.code.len() as u32]);
        let pieces = self.pcs.iter().zip(ends).map(|(&(start, pc), end)| (start, end, pc));
        pieces.filter(|&(start, end, pc)| start < end && pc != NO_PC)
    }
}

/// Tells perf, where it wants to know ([`open_perf`] has been called then), and GDB.
pub(crate) fn announce(region: &Region<'_>, perf: bool) -> Announced {
    if perf {
        perf::announce(region);
    }
    Announced {
        #[cfg(feature = "gdb")]
        _gdb: Some(gdb::Registration::new(region)),
    }
}

/// Whether somebody wants to know what code is of which guest instruction even where no setting says so.
pub(crate) const ALWAYS_TELLS: bool = cfg!(feature = "gdb");
