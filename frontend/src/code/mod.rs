//! Code as front ends read it: the bytes of a file, or guest memory, page by page as far as control flow leads.
//!
//! The IR's `pc`s are *positions*, 32 bits wide. [`CodeMap`] turns them into the guest's addresses. Of code in a file, the position of a
//! byte is its address. Of code in guest memory, ranges of guest addresses (*code ranges*) get positions when the program leads there.
//!
//! - **GCN** gets ranges of 64 MiB of positions round the entry, and round each far place that a jump with a known target leads to, 63
//!   at most. The entry is in the middle of the first, so that its position does not depend on its address. A computed jump at run time
//!   goes through all ranges; an address in none keeps its upper half, which no position has, so the fault can tell it.
//!   `gcn/lift/analysis/statics.rs` knows targets by `s_getpc_b64` and constants. A vertex program calls its fetch shader by an address
//!   in user data: the options name such words (`known_user_data`), they become constants, and a launch with others is an error.
//! - **Tesla and Fermi**: a position is the offset in the code segment. After an unconditional end nothing is decoded, for it is another
//!   program's.
//!
//! A launch maps no segment for code in guest memory. What a program depends on are the instructions that were decoded, and what was
//! looked at but is none or could not be read ([`CodeMap::ranges`]).

mod map;
mod memory;

pub use map::{CodeMap, CodePiece};

use crate::error::CodeError;
use memory::InMemory;
use std::cell::RefCell;

/// Guest memory as a program's code is read from it.
///
/// Implemented for [`CodeAt`], bytes that begin at an address, and lists of these. The runtime implements it for its memory.
pub trait CodeSource {
    /// Copies the bytes from guest address `address` on into `out`, up to the first that cannot be read. Returns how many it has copied.
    fn read(&self, address: u64, out: &mut [u8]) -> usize;
}

impl<S: CodeSource + ?Sized> CodeSource for &S {
    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        (**self).read(address, out)
    }
}

/// Bytes at a guest address; there is nothing else in memory.
///
/// ```
/// use warpjit_frontend::{CodeAt, CodeSource};
///
/// let source = CodeAt { address: 0x1000, bytes: &[1, 2, 3] };
/// let mut out = [0; 4];
/// assert_eq!((source.read(0x1001, &mut out), out), (2, [2, 3, 0, 0]));
/// assert_eq!(source.read(0x0fff, &mut out), 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeAt<'a> {
    /// Guest address of the first byte.
    pub address: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

impl CodeSource for CodeAt<'_> {
    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        let Some(offset) = address.checked_sub(self.address) else { return 0 };
        let rest = usize::try_from(offset).ok().and_then(|offset| self.bytes.get(offset..)).unwrap_or(&[]);
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        count
    }
}

/// Several pieces: each address is read from the first that has it.
fn read_pieces(pieces: &[CodeAt<'_>], address: u64, out: &mut [u8]) -> usize {
    let mut done = 0;
    while done < out.len() {
        let Some(at) = address.checked_add(done as u64) else { break };
        match pieces.iter().map(|piece| piece.read(at, &mut out[done..])).find(|&count| count > 0) {
            Some(count) => done += count,
            None => break,
        }
    }
    done
}

impl<const N: usize> CodeSource for [CodeAt<'_>; N] {
    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        read_pieces(self, address, out)
    }
}

impl CodeSource for Vec<CodeAt<'_>> {
    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        read_pieces(self, address, out)
    }
}

/// Most bytes that say what an instruction is.
const LONGEST: usize = 16;

/// The code of a program that is being lifted.
pub struct Code<'a>(Kind<'a>);

enum Kind<'a> {
    /// All bytes, from position `base` on, which is at a guest address.
    File {
        bytes: &'a [u8],
        base: u32,
        address: u64,
    },
    Memory {
        source: &'a dyn CodeSource,
        memory: RefCell<InMemory>,
        extent: Option<(u32, u32)>,
    },
}

/// The first bytes of an instruction, as many as there are.
#[derive(Clone, Copy)]
pub(crate) struct Bytes {
    bytes: [u8; LONGEST],
    count: usize,
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.count]
    }
}

impl<'a> Code<'a> {
    /// The bytes of a file, the first of which has the position `base` and the guest address `address`.
    pub fn of_file(bytes: &'a [u8], base: u32, address: u64) -> Self {
        Code(Kind::File { bytes, base, address })
    }

    /// Code in guest memory whose entry is at an address: ranges are put round all places that it leads to.
    pub(crate) fn scattered(source: &'a dyn CodeSource, entry: u64) -> Self {
        let memory = RefCell::new(InMemory::scattered(entry));
        Code(Kind::Memory { source, memory, extent: None })
    }

    /// The position of the entry of scattered code.
    pub(crate) fn entry(&self) -> u32 {
        memory::ENTRY
    }

    /// Code in a segment of guest memory that begins at an address: positions are offsets in it. `extent`: the first position and the
    /// number of bytes of the program, if they are known.
    pub(crate) fn segment(source: &'a dyn CodeSource, address: u64, extent: Option<(u32, u32)>) -> Self {
        let memory = RefCell::new(InMemory::segment(address));
        Code(Kind::Memory { source, memory, extent })
    }

    /// The bytes from a position on, enough for an instruction. Says nothing of what the program depends on.
    pub(crate) fn bytes(&self, position: u32) -> Bytes {
        let mut out = Bytes { bytes: [0; LONGEST], count: 0 };
        match &self.0 {
            Kind::File { bytes, base, .. } => {
                let rest = position.checked_sub(*base).and_then(|at| bytes.get(at as usize..)).unwrap_or(&[]);
                out.count = rest.len().min(LONGEST);
                out.bytes[..out.count].copy_from_slice(&rest[..out.count]);
            }
            Kind::Memory { source, memory, .. } => {
                out.count = memory.borrow_mut().read(*source, position, &mut out.bytes);
            }
        }
        out
    }

    /// Notes that the program depends on so many bytes there.
    pub(crate) fn depend(&self, position: u32, bytes: usize) {
        if let Kind::Memory { memory, .. } = &self.0 {
            memory.borrow_mut().depend(position, bytes);
        }
    }

    /// The guest address of a position. What is lifted depends on it.
    pub(crate) fn address(&self, position: u32) -> u64 {
        match &self.0 {
            Kind::File { base, address, .. } => address.wrapping_add(u64::from(position.wrapping_sub(*base))),
            Kind::Memory { memory, .. } => {
                memory.borrow_mut().bound = true;
                memory.borrow().address(position)
            }
        }
    }

    /// The position of a guest address that the program leads to; `None` if it can have none.
    pub(crate) fn lead(&self, address: u64) -> Option<u32> {
        match &self.0 {
            Kind::File { base, address: first, .. } => {
                u32::try_from(address.wrapping_sub(*first)).ok().and_then(|offset| base.checked_add(offset))
            }
            Kind::Memory { memory, .. } => {
                memory.borrow_mut().bound = true;
                memory.borrow_mut().lead(address)
            }
        }
    }

    /// Where a relative branch leads that stands at a position: `target` is the place counted on from it, which may be in no range.
    pub(crate) fn branch(&self, position: u32, target: u64) -> Option<u32> {
        match &self.0 {
            Kind::File { .. } => Some(target as u32),
            Kind::Memory { memory, .. } => memory.borrow_mut().branch(position, target),
        }
    }

    /// The position of a guest address, if code is known to be there.
    pub(crate) fn known(&self, address: u64) -> Option<u32> {
        match &self.0 {
            Kind::File { bytes, base, address: first } => {
                let offset = address.wrapping_sub(*first);
                (offset < bytes.len() as u64).then(|| base.wrapping_add(offset as u32))
            }
            Kind::Memory { source, memory, .. } => memory.borrow_mut().known(*source, address),
        }
    }

    /// The ranges of positions, as (position, guest address, bytes). What is lifted depends on them.
    pub(crate) fn ranges(&self) -> Vec<(u32, u64, u32)> {
        match &self.0 {
            Kind::File { base, address, .. } => vec![(*base, *address, u32::MAX - base)],
            Kind::Memory { memory, .. } => {
                memory.borrow_mut().bound = true;
                memory
                    .borrow()
                    .ranges()
                    .iter()
                    .map(|range| (range.position, range.address, range.bytes))
                    .collect()
            }
        }
    }

    /// All bytes, if it is a file.
    pub(crate) fn file(&self) -> Option<&'a [u8]> {
        match &self.0 {
            Kind::File { bytes, .. } => Some(bytes),
            Kind::Memory { .. } => None,
        }
    }

    /// The first position and the number of bytes, if they are known.
    pub(crate) fn extent(&self) -> Option<(u32, u32)> {
        match &self.0 {
            Kind::File { bytes, base, .. } => Some((*base, bytes.len() as u32)),
            Kind::Memory { extent, .. } => *extent,
        }
    }

    /// What the program consists of, once it has been lifted.
    ///
    /// # Errors
    ///
    /// There are more far places in it than positions can tell apart.
    pub(crate) fn into_map(self) -> Result<CodeMap, CodeError> {
        match self.0 {
            Kind::File { bytes, base, .. } => Ok(CodeMap::of_file(bytes, base)),
            Kind::Memory { source, memory, .. } => memory.into_inner().into_map(source),
        }
    }
}

#[cfg(test)]
mod tests;
