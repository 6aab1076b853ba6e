//! Textures: what a shader's sampling, fetching and image instructions read and write.
//!
//! One library for all GPU families. A family's front end decodes its descriptors into a [`View`] and a [`Sampler`] and its
//! instructions into a request; this crate knows formats ([`mod@format`]), layouts in memory ([`layout`]), coordinates, levels of
//! detail and filters ([`sample`]). It knows no instruction set, and reaches memory only through [`Memory`].
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod format;
mod kind;
pub mod layout;
pub mod sample;
pub mod view;

pub use format::Format;
pub use kind::Kind;
pub use layout::Layout;
pub use sample::Sampler;
pub use view::{Source, View};

/// The four components of a texel or of a result, as the bits of registers: floats or integers.
pub type Texel = [u32; 4];

/// Guest memory as texture units see it.
pub trait Memory {
    /// Reads bytes from an address on; the error is the first address that may not be read.
    ///
    /// # Errors
    ///
    /// Some byte is not there.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), u64>;

    /// Reads a word of four bytes, little endian; the error is as that of [`Memory::read`].
    ///
    /// # Errors
    ///
    /// Some byte is not there.
    fn word(&mut self, address: u64) -> Result<u32, u64> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Writes bytes from an address on; the error is the first address that may not be written, and nothing is written then.
    ///
    /// # Errors
    ///
    /// Some byte may not be written.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), u64>;

    /// Replaces the word of 4 or 8 bytes at an address by what `update` makes of it, in one atomic step, and returns what it was.
    ///
    /// # Errors
    ///
    /// The word may not be written: the address.
    fn update(&mut self, address: u64, bytes: u8, update: &dyn Fn(u64) -> u64) -> Result<u64, u64>;
}

/// Why a texture instruction cannot be executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// A texel that is part of the texture lies at this address, where no memory is.
    Unmapped(u64),
    /// As [`Error::Unmapped`], of a store or an atomic.
    NotWritable(u64),
}
