//! Registers of a context, and the layouts that their tiling indices stand for.

use crate::chip::Chip;
use warpjit_texture::layout::gcn::{TileMode, TileTables};

/// Registers by their byte addresses.
#[derive(Clone, Copy)]
pub(crate) struct Registers<'a>(pub &'a [u32]);

impl Registers<'_> {
    /// A register; 0 where there is none.
    pub fn at(self, address: u32) -> u32 {
        self.0.get(address as usize / 4).copied().unwrap_or(0)
    }

    /// A register that holds a float.
    pub fn float(self, address: u32) -> f32 {
        f32::from_bits(self.at(address))
    }

    /// Whether a bit of a register is set.
    pub fn bit(self, address: u32, bit: u32) -> bool {
        self.at(address) >> bit & 1 != 0
    }
}

/// How an image with a tiling index is laid out on a chip before gfx9, if its pixels have so many samples of so many bytes.
pub(super) fn tile_mode(chip: &Chip, index: u32, bytes: u8, samples: u32) -> TileMode {
    let tables = TileTables {
        tile_modes: chip.tile_modes(),
        macrotile_modes: chip.macrotile_modes(),
        gb_addr_config: chip.address_config,
    };
    tables.mode_of_samples(index, bytes.into(), samples, chip.generation == 6)
}
