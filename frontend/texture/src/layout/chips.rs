//! Tile tables of chips, and what their entries say (docs/hardware/graphics-gcn.md section 4.1).
//!
//! A driver writes these tables into registers. Those here are what Linux's amdgpu writes (gfx_v6_0.c to gfx_v9_0.c), for memory with rows
//! of 2 KB up to GCN 1.1 and 4 KB from 1.2 on. A machine whose driver writes others has tables of its own.

use super::gcn::{Micro, TileMode};

/// The registers of a chip that say how images are tiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TileTables {
    /// `GB_TILE_MODE0` to 31: what the tiling index of a descriptor means. From 1.4 on there are none.
    pub tile_modes: [u32; 32],
    /// `GB_MACROTILE_MODE0` to 15, on 1.1 and 1.2: banks by bytes of a tile.
    pub macrotile_modes: [u32; 16],
    /// `GB_ADDR_CONFIG`.
    pub gb_addr_config: u32,
}

impl TileTables {
    /// The tables of a chip by the name that Linux and LLVM have for it, such as "tahiti" or "gfx900"; `None` for others.
    pub fn of_chip(name: &str) -> Option<&'static TileTables> {
        Some(match name {
            "tahiti" | "pitcairn" | "gfx600" => &TAHITI,
            "verde" | "capeverde" | "gfx601" => &VERDE,
            "oland" => &OLAND,
            "hainan" | "gfx602" => &HAINAN,
            "kaveri" | "kabini" | "mullins" | "gfx700" | "gfx703" => &KABINI,
            "hawaii" | "gfx701" | "gfx702" => &HAWAII,
            "bonaire" | "gfx704" => &BONAIRE,
            "topaz" | "iceland" => &TOPAZ,
            "carrizo" | "stoney" | "gfx801" | "gfx810" => &CARRIZO,
            "tonga" | "polaris10" | "gfx802" => &TONGA,
            "fiji" | "vegam" | "gfx803" => &FIJI,
            "polaris11" | "polaris12" => &POLARIS11,
            "vega10" | "gfx900" | "vega20" | "gfx906" => &VEGA10,
            "vega12" | "gfx904" => &VEGA12,
            "raven" | "gfx902" | "renoir" | "gfx90c" => &RAVEN,
            "raven2" | "gfx909" => &RAVEN2,
            _ => return None,
        })
    }

    /// Bytes of a row of memory.
    fn row_bytes(&self) -> u32 {
        1024 << (self.gb_addr_config >> 28 & 3).min(2)
    }

    /// [`TileTables::mode_of_samples`] of images with one sample a texel.
    pub fn mode(&self, index: u32, bytes: u32, gfx6: bool) -> TileMode {
        self.mode_of_samples(index, bytes, 1, gfx6)
    }

    /// What tiling index `index` means for elements of `bytes` bytes with so many samples; `gfx6`: on GCN 1.0, where all is in the entry. Index 31 is always
    /// linear with nothing aligned.
    pub fn mode_of_samples(&self, index: u32, bytes: u32, samples: u32, gfx6: bool) -> TileMode {
        let entry = self.tile_modes.get(index as usize).copied().unwrap_or(0);
        let array_mode = (entry >> 2 & 15) as u8;
        if index >= 31 || array_mode == 0 {
            return TileMode::LINEAR_GENERAL;
        }
        let micro = match if gfx6 { entry & 3 } else { entry >> 22 & 7 } {
            0 => Micro::Display,
            2 => Micro::Depth,
            // On 1.0 there is no number for thick tiles: they have an order of their own with this one.
            3 if gfx6 => Micro::Thick,
            3 => Micro::Rotated,
            4 => Micro::Thick,
            _ => Micro::Thin,
        };
        let mode = TileMode {
            array_mode,
            micro,
            pipe_config: (entry >> 6 & 31) as u8,
            tile_split: 64 << (entry >> 11 & 7).min(6),
            bank_width: 1 << (entry >> 14 & 3),
            bank_height: 1 << (entry >> 16 & 3),
            macro_aspect: 1 << (entry >> 18 & 3),
            banks: 2 << (entry >> 20 & 3),
            samples: samples.clamp(1, 16).next_power_of_two(),
            thins_out: gfx6,
        };
        if gfx6 || !mode.is_macro_tiled() {
            return mode;
        }
        let tile = 64 * bytes.max(1).next_power_of_two().min(16) * mode.thickness();
        let split = match micro {
            Micro::Depth => mode.tile_split,
            // Other entries say how many samples stay together.
            _ => (tile << (entry >> 25 & 3)).max(256),
        };
        let split = split.min(self.row_bytes());
        let partially_resident = matches!(array_mode, 5 | 6 | 9 | 10 | 11 | 15);
        let number =
            (split.min(tile * mode.samples).max(64) / 64).ilog2() + if partially_resident { 8 } else { 0 };
        let entry = self.macrotile_modes.get(number as usize).copied().unwrap_or(0);
        TileMode {
            tile_split: split,
            bank_width: 1 << (entry & 3),
            bank_height: 1 << (entry >> 2 & 3),
            macro_aspect: 1 << (entry >> 4 & 3),
            banks: 2 << (entry >> 6 & 3),
            ..mode
        }
    }
}

/// Of tahiti and pitcairn.
#[rustfmt::skip]
static TAHITI: TileTables = TileTables {
    tile_modes: [
        0x0036_0292, 0x0036_0a92, 0x0036_1292, 0x0012_2a92, 0x0000_028a, 0x0002_1a92, 0x0003_1292, 0x0002_2112,
        0x0000_0004, 0x0000_0288, 0x0036_1290, 0x0035_1290, 0x0030_1a90, 0x0000_0289, 0x0032_1291, 0x0031_1291,
        0x0030_1a91, 0x0030_2a91, 0x0000_028d, 0x0030_2aa1, 0x0030_2a9d, 0x0013_1291, 0x0012_1291, 0x0003_1291,
        0x0002_1a91, 0x0002_2111, 0x0002_2111, 0x0002_2111, 0x0002_2111, 0x0002_2111, 0x0001_2911, 0x0000_0000,
    ],
    macrotile_modes: [0; 16],
    gb_addr_config: 0x1201_1003,
};

/// Of verde.
#[rustfmt::skip]
static VERDE: TileTables = TileTables {
    tile_modes: [
        0x003a_0112, 0x003a_0912, 0x003a_1112, 0x0021_2912, 0x0000_010a, 0x0011_1912, 0x0012_1112, 0x0002_2112,
        0x0000_0004, 0x0000_0108, 0x003a_1110, 0x0035_1110, 0x0034_1910, 0x0000_0109, 0x0036_1111, 0x0035_1111,
        0x0034_1911, 0x0034_2911, 0x0000_010d, 0x0034_2921, 0x0034_291d, 0x0022_1111, 0x0021_1111, 0x0012_1111,
        0x0011_1911, 0x0002_2111, 0x0002_2111, 0x0002_2111, 0x0002_2111, 0x0002_2111, 0x0001_2911, 0x0000_0000,
    ],
    macrotile_modes: [0; 16],
    gb_addr_config: 0x1201_0002,
};

/// Of oland.
#[rustfmt::skip]
static OLAND: TileTables = TileTables {
    tile_modes: [
        0x003a_0112, 0x003a_0912, 0x003a_1112, 0x003a_0912, 0x0035_010a, 0x0035_2912, 0x0034_2912, 0x003a_2912,
        0x0035_0104, 0x0035_0108, 0x003a_1110, 0x0035_1110, 0x0034_1910, 0x0035_0109, 0x0036_1111, 0x0035_1111,
        0x0034_1911, 0x0034_2911, 0x0000_010d, 0x0034_2921, 0x0034_291d, 0x0036_5291, 0x003a_1291, 0x0035_1291,
        0x0034_1a91, 0x0020_2291, 0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000, 0x0000_0000,
    ],
    macrotile_modes: [0; 16],
    gb_addr_config: 0x1201_0002,
};

/// Of hainan.
#[rustfmt::skip]
static HAINAN: TileTables = TileTables {
    tile_modes: [
        0x003a_0012, 0x003a_0812, 0x003a_1012, 0x0021_2812, 0x0000_000a, 0x0020_1812, 0x0021_1012, 0x0011_2012,
        0x0000_0004, 0x0000_0008, 0x003a_1010, 0x0035_1010, 0x0034_1810, 0x0000_0009, 0x0036_1011, 0x0035_1011,
        0x0034_1811, 0x0034_2811, 0x0000_000d, 0x0034_2821, 0x0034_281d, 0x0022_5011, 0x0021_5011, 0x0021_1011,
        0x0020_1811, 0x0011_2011, 0x0011_2011, 0x0011_2011, 0x0011_2011, 0x0011_2011, 0x0010_2811, 0x0000_0000,
    ],
    macrotile_modes: [0; 16],
    gb_addr_config: 0x0201_0001,
};

/// Of bonaire.
#[rustfmt::skip]
static BONAIRE: TileTables = TileTables {
    tile_modes: [
        0x0080_0150, 0x0080_0950, 0x0080_1150, 0x0080_1950, 0x0080_2950, 0x0080_0148, 0x0080_2954, 0x0000_2800,
        0x0000_0144, 0x0000_0148, 0x0200_0150, 0x0600_0154, 0x0000_2800, 0x0040_0148, 0x0240_0150, 0x0240_0170,
        0x0640_0154, 0x0000_2800, 0x0040_014c, 0x0040_014c, 0x0040_015c, 0x0040_0174, 0x0040_0164, 0x0000_2800,
        0x0040_015c, 0x0040_0160, 0x0040_0178, 0x00c0_0148, 0x02c0_0150, 0x06c0_0154, 0x0000_2800, 0x0000_0000,
    ],
    macrotile_modes: [
        0xe8, 0xe4, 0xd0, 0xd0, 0xd0, 0x90, 0x40, 0x00,
        0xed, 0xe9, 0xe8, 0xe4, 0xd0, 0x90, 0x40, 0x00,
    ],
    gb_addr_config: 0x1201_0001,
};

/// Of hawaii.
#[rustfmt::skip]
static HAWAII: TileTables = TileTables {
    tile_modes: [
        0x0080_0450, 0x0080_0c50, 0x0080_1450, 0x0080_1c50, 0x0080_2c50, 0x0080_2c48, 0x0080_2c54, 0x0080_2954,
        0x0000_0444, 0x0000_0448, 0x0200_0450, 0x0600_0454, 0x0600_0158, 0x0040_0448, 0x0240_0450, 0x0240_0470,
        0x0640_0454, 0x0640_0154, 0x0040_044c, 0x0100_044c, 0x0100_045c, 0x0100_0474, 0x0100_0464, 0x0100_0164,
        0x0040_045c, 0x0100_0460, 0x0100_0478, 0x00c0_0448, 0x02c0_0450, 0x06c0_0454, 0x06c0_0154, 0x0000_0000,
    ],
    macrotile_modes: [
        0xd8, 0xd4, 0xc0, 0xc0, 0x80, 0x40, 0x40, 0x00,
        0xd8, 0xd4, 0xc0, 0x80, 0xd0, 0x90, 0x40, 0x00,
    ],
    gb_addr_config: 0x1201_1003,
};

/// Of kaveri, kabini and mullins.
#[rustfmt::skip]
static KABINI: TileTables = TileTables {
    tile_modes: [
        0x0080_0010, 0x0080_0810, 0x0080_1010, 0x0080_1810, 0x0080_2810, 0x0080_0008, 0x0080_2814, 0x0000_2800,
        0x0000_0004, 0x0000_0008, 0x0200_0010, 0x0600_0014, 0x0000_2800, 0x0040_0008, 0x0240_0010, 0x0240_0030,
        0x0640_0014, 0x0000_2800, 0x0040_000c, 0x0100_000c, 0x0100_001c, 0x0100_0034, 0x0100_0024, 0x0000_2800,
        0x0040_001c, 0x0100_0020, 0x0100_0038, 0x00c0_0008, 0x02c0_0010, 0x06c0_0014, 0x0000_2800, 0x0000_0000,
    ],
    macrotile_modes: [
        0xa8, 0xa4, 0x94, 0x90, 0x90, 0x90, 0x90, 0x00,
        0xee, 0xea, 0xe9, 0xe5, 0xe4, 0xe0, 0x90, 0x00,
    ],
    gb_addr_config: 0x1201_0001,
};

/// Of topaz (iceland).
#[rustfmt::skip]
static TOPAZ: TileTables = TileTables {
    tile_modes: [
        0x0080_0010, 0x0080_0810, 0x0080_1010, 0x0080_1810, 0x0080_2810, 0x0080_2808, 0x0080_2814, 0x0000_0000,
        0x0000_0004, 0x0200_0008, 0x0200_0010, 0x0600_0014, 0x0000_0000, 0x0240_0008, 0x0240_0010, 0x0240_0030,
        0x0640_0014, 0x0000_0000, 0x0040_000c, 0x0100_000c, 0x0100_001c, 0x0100_0034, 0x0100_0024, 0x0000_0000,
        0x0040_001c, 0x0100_0020, 0x0100_0038, 0x02c0_0008, 0x02c0_0010, 0x06c0_0014, 0x0000_0000, 0x0000_0000,
    ],
    macrotile_modes: [
        0x9a, 0x9a, 0x99, 0xa8, 0x94, 0x90, 0x90, 0x00,
        0xee, 0xea, 0xe9, 0xe5, 0xe4, 0xe0, 0x90, 0x00,
    ],
    gb_addr_config: 0x2201_0001,
};

/// Of fiji and vegam.
#[rustfmt::skip]
static FIJI: TileTables = TileTables {
    tile_modes: [
        0x0080_0450, 0x0080_0c50, 0x0080_1450, 0x0080_1c50, 0x0080_2c50, 0x0080_2c48, 0x0080_2c54, 0x0080_2954,
        0x0000_0444, 0x0200_0448, 0x0200_0450, 0x0600_0454, 0x0600_0154, 0x0240_0448, 0x0240_0450, 0x0240_0470,
        0x0640_0454, 0x0640_0154, 0x0040_044c, 0x0100_044c, 0x0100_045c, 0x0100_0474, 0x0100_0464, 0x0100_0164,
        0x0040_045c, 0x0100_0460, 0x0100_0478, 0x02c0_0448, 0x02c0_0450, 0x06c0_0454, 0x06c0_0154, 0x0000_0000,
    ],
    macrotile_modes: [
        0x98, 0x98, 0x98, 0x98, 0x84, 0x80, 0x80, 0x00,
        0x9c, 0x98, 0x84, 0x80, 0x94, 0x90, 0x40, 0x00,
    ],
    gb_addr_config: 0x2201_1003,
};

/// Of tonga and polaris10.
#[rustfmt::skip]
static TONGA: TileTables = TileTables {
    tile_modes: [
        0x0080_0310, 0x0080_0b10, 0x0080_1310, 0x0080_1b10, 0x0080_2b10, 0x0080_2b08, 0x0080_2b14, 0x0080_2954,
        0x0000_0304, 0x0200_0308, 0x0200_0310, 0x0600_0314, 0x0600_0154, 0x0240_0308, 0x0240_0310, 0x0240_0330,
        0x0640_0314, 0x0640_0154, 0x0040_030c, 0x0100_030c, 0x0100_031c, 0x0100_0334, 0x0100_0324, 0x0100_0164,
        0x0040_031c, 0x0100_0320, 0x0100_0338, 0x02c0_0308, 0x02c0_0310, 0x06c0_0314, 0x06c0_0154, 0x0000_0000,
    ],
    macrotile_modes: [
        0xe8, 0xe8, 0xe8, 0xe8, 0xd4, 0xc0, 0xc0, 0x00,
        0xec, 0xe8, 0xd4, 0xd0, 0x80, 0x40, 0x40, 0x00,
    ],
    gb_addr_config: 0x2201_1003,
};

/// Of polaris11 and polaris12.
#[rustfmt::skip]
static POLARIS11: TileTables = TileTables {
    tile_modes: [
        0x0080_0150, 0x0080_0950, 0x0080_1150, 0x0080_1950, 0x0080_2950, 0x0080_2948, 0x0080_2954, 0x0080_2954,
        0x0000_0144, 0x0200_0148, 0x0200_0150, 0x0600_0154, 0x0600_0154, 0x0240_0148, 0x0240_0150, 0x0240_0170,
        0x0640_0154, 0x0640_0154, 0x0040_014c, 0x0100_014c, 0x0100_015c, 0x0100_0174, 0x0100_0164, 0x0100_0164,
        0x0040_015c, 0x0100_0160, 0x0100_0178, 0x02c0_0148, 0x02c0_0150, 0x06c0_0154, 0x06c0_0154, 0x0000_0000,
    ],
    macrotile_modes: [
        0xe8, 0xe8, 0xe8, 0xe4, 0xd0, 0xd0, 0xd0, 0x00,
        0xed, 0xe9, 0xe8, 0xe4, 0xd0, 0x90, 0x40, 0x00,
    ],
    gb_addr_config: 0x2201_1002,
};

/// Of carrizo and stoney.
#[rustfmt::skip]
static CARRIZO: TileTables = TileTables {
    tile_modes: [
        0x0080_0010, 0x0080_0810, 0x0080_1010, 0x0080_1810, 0x0080_2810, 0x0080_2808, 0x0080_2814, 0x0000_0000,
        0x0000_0004, 0x0200_0008, 0x0200_0010, 0x0600_0014, 0x0000_0000, 0x0240_0008, 0x0240_0010, 0x0240_0030,
        0x0640_0014, 0x0000_0000, 0x0040_000c, 0x0100_000c, 0x0100_001c, 0x0100_0034, 0x0100_0024, 0x0000_0000,
        0x0040_001c, 0x0100_0020, 0x0100_0038, 0x02c0_0008, 0x02c0_0010, 0x06c0_0014, 0x0000_0000, 0x0000_0000,
    ],
    macrotile_modes: [
        0xa8, 0xa4, 0x90, 0x90, 0x90, 0x90, 0x90, 0x00,
        0xee, 0xea, 0xe9, 0xe5, 0xe4, 0xe0, 0x90, 0x00,
    ],
    gb_addr_config: 0x2201_0001,
};

/// Of vega10. Of vega20's register the driver keeps the bits that say four shader engines, so that it is the same.
static VEGA10: TileTables =
    TileTables { tile_modes: [0; 32], macrotile_modes: [0; 16], gb_addr_config: 0x2a11_4042 };

/// Of vega12.
static VEGA12: TileTables =
    TileTables { tile_modes: [0; 32], macrotile_modes: [0; 16], gb_addr_config: 0x2410_4041 };

/// Of raven and renoir.
static RAVEN: TileTables =
    TileTables { tile_modes: [0; 32], macrotile_modes: [0; 16], gb_addr_config: 0x2400_0042 };

/// Of raven2.
static RAVEN2: TileTables =
    TileTables { tile_modes: [0; 32], macrotile_modes: [0; 16], gb_addr_config: 0x2601_3041 };

#[cfg(test)]
mod tests {
    use super::*;

    fn banks(mode: &TileMode) -> [u32; 5] {
        [mode.tile_split, mode.bank_width, mode.bank_height, mode.macro_aspect, mode.banks]
    }

    /// Entries that docs/hardware/graphics-gcn.md lists.
    #[test]
    fn entries() {
        let tahiti = TileTables::of_chip("tahiti").unwrap();
        let of = |index| tahiti.mode(index, 4, true);
        assert_eq!(of(8), TileMode { thins_out: true, ..of(8) });
        assert_eq!([of(8).array_mode, of(9).array_mode, of(13).array_mode, of(31).array_mode], [1, 2, 2, 0]);
        assert_eq!([of(0).micro, of(9).micro, of(13).micro], [Micro::Depth, Micro::Display, Micro::Thin]);
        assert_eq!(
            [14, 15, 16, 17].map(|n| banks(&of(n))),
            [[256, 1, 4, 1, 16], [256, 1, 2, 1, 16], [512, 1, 1, 1, 16], [2048, 1, 1, 1, 16]]
        );
        assert_eq!(of(14).pipe_config, 10);
        let fiji = TileTables::of_chip("fiji").unwrap();
        let macro_mode = |bytes| banks(&fiji.mode(14, bytes, false))[1..].to_vec();
        assert_eq!(
            [1, 2, 4, 8, 16].map(macro_mode),
            [[1, 4, 2, 8], [1, 4, 2, 8], [1, 4, 2, 8], [1, 4, 2, 8], [1, 2, 1, 8]]
        );
        let bonaire = TileTables::of_chip("bonaire").unwrap();
        let macro_mode = |bytes| banks(&bonaire.mode(14, bytes, false))[1..].to_vec();
        assert_eq!(
            [1, 2, 4, 16].map(macro_mode),
            [[1, 4, 4, 16], [1, 2, 4, 16], [1, 1, 2, 16], [1, 1, 2, 16]]
        );
        assert_eq!(fiji.mode(27, 4, false).micro, Micro::Rotated);
        assert_eq!(
            [fiji.mode(20, 4, false).micro, fiji.mode(24, 4, false).micro],
            [Micro::Thick, Micro::Thin]
        );
        assert_eq!(fiji.mode(20, 4, false).thickness(), 4);
        assert_eq!(TileTables::of_chip("r600"), None);
        assert_eq!(TileTables::of_chip("vega10").map(|t| t.gb_addr_config), Some(0x2a11_4042));
    }
}
