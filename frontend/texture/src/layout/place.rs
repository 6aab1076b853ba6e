//! [`Place`]: how the elements of a level are laid out.

use super::gcn::MicroTiles;
use super::gfx9::Blocks;
use super::macro_tiles::MacroTiles;
use super::nvidia::Gobs;

/// How a level's elements are placed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Row after row, slice after slice: bytes from one to the next.
    Rows { pitch: u64, slice: u64 },
    /// In gobs.
    Gobs(Gobs),
    /// In micro tiles.
    Micro(MicroTiles),
    /// In macro tiles.
    Macro(MacroTiles),
    /// In swizzled blocks.
    Blocks(Blocks),
}
