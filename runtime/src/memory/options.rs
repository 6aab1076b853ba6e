//! The form of an address space.

use super::reservation::Reservation;
use super::{ADDRESS_BITS, WINDOW_BYTES};
use crate::{Chip, Error, Isa, MemoryError};

/// The form of an address space ([`super::Memory::with`]).
///
/// ```
/// use warpjit_runtime::{Access, Memory, MemoryOptions};
///
/// // Sixteen megabytes of addresses, and not a terabyte.
/// let memory = Memory::with(&MemoryOptions::new().size(16 << 20))?;
/// assert!(memory.map(Some(0x100_0000), 4096, Access::ReadWrite).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryOptions {
    address_bits: Option<u32>,
    size: Option<u64>,
    ignored_bits: u32,
    identity: bool,
    own_start: Option<u64>,
    careful: bool,
}

/// What a space is, as its methods need it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Form {
    /// Nothing can be mapped from this address on.
    pub limit: Option<u64>,
    /// The highest bits of an address that are ignored.
    pub ignored_bits: u32,
    /// The window has no guards, so code must check its addresses.
    pub is_small: bool,
    /// Guest addresses are host addresses.
    pub is_identity: bool,
    /// There: where the range that the space hands out shall begin.
    pub own_start: Option<u64>,
    /// Code shall look up pages although nothing needs it yet.
    pub careful: bool,
    /// The embedder maps the memory.
    pub is_embedders: bool,
}

impl Form {
    /// Of a range that the embedder maps by itself.
    pub fn embedder() -> Form {
        Form { is_embedders: true, ..Form::default() }
    }
}

impl MemoryOptions {
    /// The usual form: 48-bit sign-extended addresses.
    pub fn new() -> Self {
        Self::default()
    }

    /// The form that a chip's addresses have: 32 bits on Tesla, 40 on Fermi, 48 sign-extended on GCN.
    pub fn of_chip(chip: Chip) -> Self {
        match chip.isa() {
            Isa::Tesla | Isa::Vp1 => Self::new().address_bits(32),
            Isa::Fermi => Self::new().address_bits(40),
            Isa::Gcn => Self::new(),
        }
    }

    /// Addresses have so many bits, from 32 to 48. With 48, the highest one is repeated in the bits above; with fewer,
    /// there are none above.
    #[must_use]
    pub fn address_bits(mut self, bits: u32) -> Self {
        self.address_bits = Some(bits);
        self
    }

    /// Only addresses below `bytes` can be mapped, a multiple of 64 KiB up to 4 GiB. The space takes that many of the host's
    /// addresses and one megabyte more, and hardly any memory. Code for it looks each page up.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// The device ignores so many of the highest bits of a 64-bit address, up to 32: the address is sign-extended from
    /// the bit below them. Code for such a space translates addresses.
    #[must_use]
    pub fn ignore_high_bits(mut self, bits: u32) -> Self {
        self.ignored_bits = bits;
        self
    }

    /// Guest addresses are host addresses, as with unified addressing: memory that is mapped without an address, and host
    /// memory ([`super::Memory::map_host`]), is reached by its own pointer. Anything else faults, whatever the process has
    /// there. For guests with 64-bit addresses.
    ///
    /// What is mapped without an address comes from a range of about a terabyte that the space reserves, and is as fast as in
    /// other spaces. Where there is memory elsewhere (host memory, explicit addresses, the segments of a program that was
    /// not loaded by [`crate::Program::load_at`]), launches ask before each access whether it is inside of what they have found there
    /// before; a little of it is reached by calls of the runtime.
    #[must_use]
    pub fn identity(mut self) -> Self {
        self.identity = true;
        self
    }

    /// The same, and the range that the space reserves begins at this address if the host has that much free there; else anywhere.
    /// Who chooses addresses in the range keeps the space fast, and has the same addresses in each process.
    ///
    /// `start` is a multiple of 2 MiB from 20 GiB on.
    #[must_use]
    pub fn identity_from(mut self, start: u64) -> Self {
        (self.identity, self.own_start) = (true, Some(start));
        self
    }

    /// Launches look each page up from the start, so that also those that are running see a device, a pager or a watch
    /// that comes later.
    #[must_use]
    pub fn careful(mut self) -> Self {
        self.careful = true;
        self
    }

    /// The host addresses of the window, and the form.
    pub(super) fn make(&self) -> Result<(Reservation, Form), Error> {
        let bad = |reason| Error::from(MemoryError::Options { reason });
        if self.ignored_bits > 32 {
            return Err(MemoryError::IgnoredBits { bits: self.ignored_bits, limit: 32 }.into());
        }
        let form = Form { ignored_bits: self.ignored_bits, careful: self.careful, ..Form::default() };
        if self.identity {
            if self.size.is_some() || self.address_bits.is_some() {
                return Err(bad("identity has the host's addresses, and no size of its own"));
            }
            let own_start = self.own_start;
            if own_start.is_some_and(|start| !Reservation::may_begin_at(start)) {
                return Err(bad("the range of identity begins at a multiple of 2 MiB from 20 GiB on"));
            }
            return Ok((Reservation::identity(), Form { is_identity: true, own_start, ..form }));
        }
        if let Some(bytes) = self.size {
            if self.address_bits.is_some() {
                return Err(bad("a size and a number of address bits"));
            }
            if bytes == 0 || bytes > 1 << 32 || !bytes.is_multiple_of(1 << 16) {
                return Err(MemoryError::SpaceSize { bytes, limit: 1 << 32 }.into());
            }
            let form = Form { limit: Some(bytes), is_small: true, ..form };
            return Ok((Reservation::bare(bytes)?, form));
        }
        match self.address_bits {
            None | Some(ADDRESS_BITS) => Ok((Reservation::new()?, form)),
            Some(bits @ 32..ADDRESS_BITS) => {
                let bytes = 1 << bits;
                let form = Form { limit: Some(bytes), ..form };
                Ok((Reservation::of_bytes(bytes.min(WINDOW_BYTES))?, form))
            }
            Some(bits) => Err(MemoryError::AddressBits { bits, least: 32, most: ADDRESS_BITS }.into()),
        }
    }
}
