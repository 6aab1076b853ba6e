//! What is wrong with a call of guest memory.

use crate::memory::{ADDRESS_BITS, Denied};
use std::fmt;
use warpjit_frontend::error_kinds;

/// The addresses that a space has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Addresses {
    /// Those below this one.
    Below(u64),
    /// Those of the host.
    OfHost,
    /// Sign-extended ones.
    SignExtended,
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Addresses::Below(limit) => write!(f, "addresses below {limit:#x}"),
            Addresses::OfHost => f.write_str("addresses of the host"),
            Addresses::SignExtended => write!(
                f,
                "sign-extended addresses of {ADDRESS_BITS} bits (the last 64 KiB of these cannot be mapped)"
            ),
        }
    }
}

error_kinds! {
    /// What is wrong with a call of guest memory.
    MemoryError {
        /// A buffer of no bytes.
        #[error("a buffer needs at least one byte")]
        Empty,
        /// The space has no such addresses.
        #[error("buffer of {bytes:#x} bytes at {address:#x} does not lie in {addresses}")]
        Outside {
            /// Where it shall be.
            address: u64,
            /// Its size.
            bytes: u64,
            /// What the space has.
            addresses: Addresses,
        },
        /// The space has no such address.
        #[error("no guest memory can be at {address:#x}")]
        NoAddress {
            /// The address.
            address: u64,
        },
        /// More bytes than a mapping can have.
        #[error(
            "buffer of {bytes:#x} bytes{} is too large: {limit:#x} is the most",
            .address.map_or_else(String::new, |at| format!(" at {at:#x}"))
        )]
        TooLarge {
            /// Where it shall be, if that is said.
            address: Option<u64>,
            /// Its size.
            bytes: u64,
            /// The most.
            limit: u64,
        },
        /// Something is mapped there.
        #[error("buffer at {address:#x}..{end:#x} overlaps the one at {other:#x}..{other_end:#x}")]
        Overlap {
            /// Where it shall be.
            address: u64,
            /// Where it would end.
            end: u64,
            /// The first byte of what is there.
            other: u64,
            /// The byte after it.
            other_end: u64,
        },
        /// No free addresses below 4 GiB.
        #[error("no room for a buffer of {bytes:#x} bytes in 32-bit addresses")]
        NoRoom {
            /// Its size.
            bytes: u64,
        },
        /// A page of the host would hold buffers of different kinds.
        #[error(
            "buffer at {address:#x} shares a page with the one at {other:#x}, which has {}",
            if *.own_pages { "pages of its own" } else { "other access" }
        )]
        SharedPage {
            /// Where it shall be.
            address: u64,
            /// The other buffer.
            other: u64,
            /// Whether that one takes whole pages; else its access is another.
            own_pages: bool,
        },
        /// A page of the host would have two kinds of access.
        #[error("buffer at {address:#x} shares the page at {page:#x} with another one, and that page has other access")]
        SharedRights {
            /// Where it shall be.
            address: u64,
            /// The page.
            page: u64,
        },
        /// A mapping of whole pages, of which a buffer has a part.
        #[error("mapping at {address:#x} shares a page with the buffer at {other:#x}")]
        PartOfPage {
            /// Where it shall be.
            address: u64,
            /// The buffer.
            other: u64,
        },
        /// A number is no multiple of the host's page size.
        #[error("{what}: {found:#x} is not a multiple of {align:#x}")]
        Unaligned {
            /// What it is.
            what: &'static str,
            /// The number.
            found: u64,
            /// The page size.
            align: u64,
        },
        /// The ends of a range are not at pages of the host.
        #[error("pages from {start:#x} to {end:#x}: not multiples of {align:#x}")]
        UnalignedRange {
            /// Its start.
            start: u64,
            /// Its end.
            end: u64,
            /// The page size.
            align: u64,
        },
        /// In a space of the host's own addresses the mapping needs an address.
        #[error("a mapping in the host's own addresses needs an address")]
        NeedsAddress,
        /// In a space of the host's own addresses, host memory is at its own address.
        #[error("in this space host memory is at its own address, {pointer:#x}, not at {address:#x}")]
        OtherThanPointer {
            /// Where it shall be.
            address: u64,
            /// Where the host has it.
            pointer: u64,
        },
        /// The space hands these addresses out by itself.
        #[error("addresses at {address:#x} are those that the space hands out by itself")]
        HandedOut {
            /// The first one.
            address: u64,
        },
        /// The space hands a part of these addresses out by itself.
        #[error("buffer at {address:#x}..{end:#x} is partly in the space's own range")]
        PartlyHandedOut {
            /// Where it shall be.
            address: u64,
            /// Where it would end.
            end: u64,
        },
        /// No buffer holds what an alias shall show.
        #[error("no buffer has {bytes:#x} bytes at {address:#x} to be an alias of")]
        NothingToShow {
            /// Where it should be.
            address: u64,
            /// How much.
            bytes: u64,
        },
        /// An alias of a device.
        #[error("there is a device at {address:#x}: map it twice")]
        AliasOfDevice {
            /// The device's address.
            address: u64,
        },
        /// An alias of an alias whose memory is gone.
        #[error("the memory that the alias at {address:#x} shows is unmapped")]
        AliasOfNothing {
            /// The alias.
            address: u64,
        },
        /// The host keeps the range in two places.
        #[error("{bytes:#x} bytes at {address:#x} lie in two reserved ranges of host memory")]
        TwoPieces {
            /// The first byte.
            address: u64,
            /// How many.
            bytes: u64,
        },
        /// Not all of a range belongs to buffers.
        #[error("{what}: not all of {start:#x}..{end:#x} is mapped")]
        NotMapped {
            /// What it is for.
            what: &'static str,
            /// The range's start.
            start: u64,
            /// Its end.
            end: u64,
        },
        /// The rights of these pages cannot be changed.
        #[error("protected pages: those at {address:#x} are a device, or host memory at another address")]
        NotProtectable {
            /// The first of them.
            address: u64,
        },
        /// Nothing to unmap.
        #[error("no buffer begins at {address:#x}")]
        NoBuffer {
            /// The address.
            address: u64,
        },
        /// A copy of the host's that meets what is not mapped. [`crate::Memory::read`] and [`crate::Memory::write`].
        #[error("{} of {bytes} bytes at {address:#x}: {source}", if *.store { "write" } else { "read" })]
        Copy {
            /// Where it begins.
            address: u64,
            /// Its length.
            bytes: usize,
            /// Whether it was to write.
            store: bool,
            /// The first byte that is not there.
            source: Denied,
        },
        /// Memory that the library was about to fill or to move is not there any more.
        #[error("{source}")]
        Gone {
            /// The first byte that is not there.
            source: Denied,
        },
        /// The host allows no more mappings, and the space needs one.
        #[error("the space has too many mappings for one of other memory")]
        TooManyMappings,
        /// The host allows no more mappings, and has no room for another form of the space.
        #[error("the host has no room for more mappings")]
        HostFull,
        /// The space needs another form, which it cannot take while launches run.
        #[error("launches run in a space with too many buffers for their number")]
        LaunchesRun,
        /// The embedder maps the memory of this space by itself ([`crate::Memory::over`]).
        #[error("the embedder maps the memory of this space by itself")]
        OfEmbedder,
        /// A range of the embedder's of a size that is not possible.
        #[error("a range of {bytes:#x} bytes; possible are powers of two from {least:#x} to {most:#x}")]
        RangeSize {
            /// Its size.
            bytes: u64,
            /// The least.
            least: u64,
            /// The most.
            most: u64,
        },
        /// A range of the embedder's at addresses that no process has.
        #[error("a range of {bytes:#x} bytes at {start:#x}: with {guard:#x} bytes before and after it, these are no addresses of a process")]
        RangePlace {
            /// Where it begins.
            start: u64,
            /// Its size.
            bytes: u64,
            /// Bytes on both sides that belong to it.
            guard: u64,
        },
        /// Options of a space: a number of ignored bits that is not possible.
        #[error("options of a space: {bits} ignored bits, possible are up to {limit}")]
        IgnoredBits {
            /// How many.
            bits: u32,
            /// The most.
            limit: u32,
        },
        /// Options of a space that contradict one another.
        #[error("options of a space: {reason}")]
        Options {
            /// How.
            reason: &'static str,
        },
        /// Options of a space: a size that is not possible.
        #[error("options of a space: a size of {bytes:#x} bytes; possible are multiples of 64 KiB up to {limit:#x}")]
        SpaceSize {
            /// The size.
            bytes: u64,
            /// The most.
            limit: u64,
        },
        /// Options of a space: a number of address bits that is not possible.
        #[error("options of a space: {bits} address bits, possible are {least} to {most}")]
        AddressBits {
            /// How many.
            bits: u32,
            /// The least.
            least: u32,
            /// The most.
            most: u32,
        },
    }
}
