//! A build without a code generator (cargo feature `jit`): everything is refused.

use warpjit_ir::Function;

use crate::code::{Listing, RegionCode};
use crate::error::Error;
use crate::options::{BlockRow, Link, Options, Phase};

/// Compiles a region in mask form.
///
/// # Errors
/// Always: [`Error::LeftOut`].
pub fn compile_region(_func: &Function, _options: &Options) -> Result<RegionCode, Error> {
    Err(Error::LeftOut)
}

/// Compiles a region and gives its listings.
///
/// # Errors
/// Always: [`Error::LeftOut`].
pub fn list_region(_func: &Function, _options: &Options) -> Result<Listing, Error> {
    Err(Error::LeftOut)
}

/// Compiles the phases of a kernel.
///
/// # Errors
/// Always: [`Error::LeftOut`].
pub fn compile_phases(
    _phases: &[Phase<'_>],
    _row: &BlockRow,
    _options: &Options,
) -> Result<RegionCode, Error> {
    Err(Error::LeftOut)
}

/// Compiles a chain.
///
/// # Errors
/// Always: [`Error::LeftOut`].
pub fn compile_chain(_links: &[Link<'_>], _options: &Options) -> Result<RegionCode, Error> {
    Err(Error::LeftOut)
}
