//! The host of a build without a code generator (cargo feature `jit`): there is none.

use crate::error::Error;
use crate::host::HostLevel;

/// A host to compile for. There is none in this build.
#[derive(Clone, Debug)]
pub struct Target(std::convert::Infallible);

impl Target {
    /// Whether the machine multiplies and adds with one rounding.
    pub fn has_fma(&self) -> bool {
        match self.0 {}
    }

    /// This machine.
    ///
    /// # Errors
    /// Always: [`Error::LeftOut`].
    pub fn host(_level: HostLevel) -> Result<Target, Error> {
        Err(Error::LeftOut)
    }

    /// The machine of a target triple.
    ///
    /// # Errors
    /// Always: [`Error::LeftOut`].
    pub fn triple(_triple: &str, _level: HostLevel) -> Result<Target, Error> {
        Err(Error::LeftOut)
    }

    /// Whether it has vectors of 256 bits.
    pub fn has_middle_vectors(&self) -> bool {
        match self.0 {}
    }

    /// Whether this is the machine itself and has the AVX-512 features that 512-bit vectors need.
    pub fn has_wide_vectors(&self) -> bool {
        match self.0 {}
    }

    /// Hashes everything that code for the target depends on.
    pub fn hash_for(&self, _wide_vectors: bool, _state: &mut impl std::hash::Hasher) {
        match self.0 {}
    }
}
