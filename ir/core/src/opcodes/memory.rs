//! Address spaces, and what a memory operation accesses.

/// An address space of the guest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Space {
    /// Global memory through window `n` (Tesla g0[] to g15[]; 0 elsewhere).
    Global(u8),
    /// Shared memory of the block. Reads that go beyond its size give zero, such writes are dropped whole.
    Shared,
    /// Memory of the lane. Reads that go beyond its size give zero, such writes are dropped whole.
    Local,
    /// Const bank `n`, 0 to 17; 64 KiB, zero beyond what is bound. Addresses wrap at 16 bits.
    Const(u8),
}

impl Space {
    /// Name for statistics and faults, without the index.
    pub fn name(self) -> &'static str {
        match self {
            Space::Global(_) => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Const(_) => "const",
        }
    }
}

impl std::fmt::Display for Space {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Space::Global(n) => write!(f, "global{n}"),
            Space::Shared => f.write_str("shared"),
            Space::Local => f.write_str("local"),
            Space::Const(n) => write!(f, "const{n}"),
        }
    }
}

/// What a memory instruction accesses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemAccess {
    /// Where.
    pub space: Space,
    /// Bytes accessed, 1, 2, 4 or 8.
    pub bytes: u8,
    /// Narrow loads: sign instead of zero extension.
    pub signed: bool,
    /// Bytes added to the address. Global: modulo 2^32 (or 2^64) with the address. Shared, local, const: the sum
    /// is taken modulo 2^16, but see `far`.
    pub offset: i32,
    /// Shared and local: the sum is taken modulo 2^32, so that the space can have more than 2^16 bytes and what is beyond is not in it.
    pub far: bool,
    /// The address (with the offset) must be a multiple of this, else it is a `memory` fault. A power of two.
    /// Parts of a wide access carry the whole's alignment minus their place, see `align_offset`.
    pub align: u8,
    /// Bytes of this part from the start of the wide access: `address + offset - align_offset` is what must be aligned.
    pub align_offset: u8,
}
