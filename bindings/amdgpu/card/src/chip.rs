//! The cards that can be pretended: what a driver is told about each of them.
//!
//! Numbers are those that Mesa's drm-shim and the kernel have for the chips.

use warpjit_runtime::{Chip as Model, Isa};

/// What a driver is told about a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chip {
    /// Its name, as [`warpjit_runtime::Chip`] reads it.
    pub name: &'static str,
    /// Number of the graphics engine's generation, 6 to 9.
    pub generation: u32,
    /// Minor number of the graphics engine.
    pub minor: u32,
    /// PCI device.
    pub device_id: u32,
    /// PCI revision.
    pub pci_revision: u32,
    /// AMDGPU_FAMILY.
    pub family: u32,
    /// Revision by which drivers tell chips of a family apart.
    pub external_revision: u32,
    /// Shader engines.
    pub engines: u32,
    /// Arrays of an engine.
    pub arrays: u32,
    /// Compute units of an array.
    pub units: u32,
    /// Render backends.
    pub backends: u32,
    /// Blocks of the second-level cache.
    pub cache_blocks: u32,
    /// Firmware versions of ME, PFP and MEC, and their feature number.
    pub firmware: [u32; 4],
    /// GB_ADDR_CONFIG.
    pub address_config: u32,
    /// MC_ARB_RAMCFG.
    pub ram_config: u32,
    /// PA_SC_RASTER_CONFIG and PA_SC_RASTER_CONFIG_1.
    pub raster_config: [u32; 2],
    /// The end of the addresses that a program can map.
    pub address_end: u64,
    /// Type of memory, AMDGPU_VRAM_TYPE.
    pub memory_type: u32,
    /// GB_TILE_MODE0 to 31.
    tile_modes: &'static [u32; 32],
    /// GB_MACROTILE_MODE0 to 15.
    macrotile_modes: &'static [u32; 16],
}

#[rustfmt::skip]
const TILES_6: [u32; 32] = [
    0x360292, 0x360a92, 0x361292, 0x122a92, 0x28a, 0x21a92, 0x31292, 0x22112, 4, 0x288, 0x361290, 0x351290, 0x301a90, 0x289, 0x321291, 0x311291,
    0x301a91, 0x302a91, 0x28d, 0x302aa1, 0x302a9d, 0x131291, 0x121291, 0x31291, 0x21a91, 0x22111, 0x22111, 0x22111, 0x22111, 0x22111, 0x12911, 0,
];
#[rustfmt::skip]
const TILES_7: [u32; 32] = [
    0x800150, 0x800950, 0x801150, 0x801950, 0x802950, 0x800148, 0x802954, 0x2800, 0x144, 0x148, 0x2000150, 0x6000154, 0x2800, 0x400148, 0x2400150,
    0x2400170, 0x6400154, 0x2800, 0x40014c, 0x40014c, 0x40015c, 0x400174, 0x400164, 0x2800, 0x40015c, 0x400160, 0x400178, 0xc00148, 0x2c00150,
    0x6c00154, 0x2800, 0,
];
#[rustfmt::skip]
const TILES_8: [u32; 32] = [
    0x800310, 0x800b10, 0x801310, 0x801b10, 0x802b10, 0x802b08, 0x802b14, 0x802954, 0x304, 0x2000308, 0x2000310, 0x6000314, 0x6000154, 0x2400308,
    0x2400310, 0x2400330, 0x6400314, 0x6400154, 0x40030c, 0x100030c, 0x100031c, 0x1000334, 0x1000324, 0x1000164, 0x40031c, 0x1000320, 0x1000338,
    0x2c00308, 0x2c00310, 0x6c00314, 0x6c00154, 0,
];
const MACROS_7: [u32; 16] =
    [0xe8, 0xe4, 0xd0, 0xd0, 0xd0, 0x90, 0x40, 0, 0xed, 0xe9, 0xe8, 0xe4, 0xd0, 0x90, 0x40, 0];
const MACROS_8: [u32; 16] =
    [0xe8, 0xe8, 0xe8, 0xe8, 0xd4, 0xc0, 0xc0, 0, 0xec, 0xe8, 0xd4, 0xd0, 0x80, 0x40, 0x40, 0];
const NONE_32: [u32; 32] = [0; 32];
const NONE_16: [u32; 16] = [0; 16];

const GDDR5: u32 = 5;
const HBM: u32 = 6;

/// All cards.
pub const CHIPS: [Chip; 7] = [
    Chip {
        name: "tahiti",
        generation: 6,
        minor: 0,
        device_id: 0x6798,
        pci_revision: 0,
        family: 110,
        external_revision: 6,
        engines: 2,
        arrays: 2,
        units: 8,
        backends: 8,
        cache_blocks: 12,
        firmware: [145, 84, 0, 29],
        address_config: 0x1201_1003,
        ram_config: 0x25a,
        raster_config: [0x2a00_126a, 0],
        address_end: 0xf_ffe0_0000,
        memory_type: GDDR5,
        tile_modes: &TILES_6,
        macrotile_modes: &NONE_16,
    },
    Chip {
        name: "bonaire",
        generation: 7,
        minor: 2,
        device_id: 0x6658,
        pci_revision: 0,
        family: 120,
        external_revision: 21,
        engines: 2,
        arrays: 1,
        units: 7,
        backends: 4,
        cache_blocks: 4,
        firmware: [187, 229, 421, 29],
        address_config: 0x1201_0001,
        ram_config: 0x6262,
        raster_config: [0x1600_0012, 0],
        address_end: 0x1f_ffe0_0000,
        memory_type: GDDR5,
        tile_modes: &TILES_7,
        macrotile_modes: &MACROS_7,
    },
    Chip {
        name: "hawaii",
        generation: 7,
        minor: 3,
        device_id: 0x67b0,
        pci_revision: 0,
        family: 120,
        external_revision: 41,
        engines: 4,
        arrays: 1,
        units: 11,
        backends: 16,
        cache_blocks: 16,
        firmware: [187, 229, 421, 29],
        address_config: 0x1201_1003,
        ram_config: 0x6262,
        raster_config: [0x3a00_161a, 0x2e],
        address_end: 0x1f_ffe0_0000,
        memory_type: GDDR5,
        tile_modes: &TILES_7,
        macrotile_modes: &MACROS_7,
    },
    Chip {
        name: "polaris10",
        generation: 8,
        minor: 0,
        device_id: 0x67df,
        pci_revision: 0xe7,
        family: 130,
        external_revision: 0x51,
        engines: 4,
        arrays: 1,
        units: 9,
        backends: 8,
        cache_blocks: 8,
        firmware: [167, 254, 730, 49],
        address_config: 0x2201_1003,
        ram_config: 0x60a2,
        raster_config: [0x1600_0012, 0x2a],
        address_end: 0x1f_ffe0_0000,
        memory_type: GDDR5,
        tile_modes: &TILES_8,
        macrotile_modes: &MACROS_8,
    },
    Chip {
        name: "fiji",
        generation: 8,
        minor: 0,
        device_id: 0x7300,
        pci_revision: 0xc8,
        family: 130,
        external_revision: 0x3d,
        engines: 4,
        arrays: 1,
        units: 16,
        backends: 16,
        cache_blocks: 16,
        firmware: [167, 254, 730, 49],
        address_config: 0x2201_1003,
        ram_config: 0x60a2,
        raster_config: [0x3a00_161a, 0x2e],
        address_end: 0x1f_ffe0_0000,
        memory_type: HBM,
        tile_modes: &TILES_8,
        macrotile_modes: &MACROS_8,
    },
    Chip {
        name: "vega10",
        generation: 9,
        minor: 0,
        device_id: 0x687f,
        pci_revision: 0xc1,
        family: 141,
        external_revision: 1,
        engines: 4,
        arrays: 1,
        units: 16,
        backends: 16,
        cache_blocks: 16,
        firmware: [166, 194, 33236, 53],
        address_config: 0x2a11_4042,
        ram_config: 0,
        raster_config: [0, 0],
        address_end: 0xff_0000_0000,
        memory_type: HBM,
        tile_modes: &NONE_32,
        macrotile_modes: &NONE_16,
    },
    Chip {
        name: "vega20",
        generation: 9,
        minor: 4,
        device_id: 0x66af,
        pci_revision: 0xc1,
        family: 141,
        external_revision: 0x29,
        engines: 4,
        arrays: 1,
        units: 15,
        backends: 16,
        cache_blocks: 16,
        firmware: [166, 194, 33236, 53],
        address_config: 0x2a11_4042,
        ram_config: 0,
        raster_config: [0, 0],
        address_end: 0xff_0000_0000,
        memory_type: HBM,
        tile_modes: &NONE_32,
        macrotile_modes: &NONE_16,
    },
];

impl Chip {
    /// The card that is pretended if nothing is said: polaris10.
    pub fn usual() -> &'static Chip {
        &CHIPS[3]
    }

    /// The card with a name: one of [`CHIPS`], or another name of the same chip (`gfx900`, `rx480`).
    ///
    /// # Errors
    /// A text that names the cards there are.
    pub fn find(name: &str) -> Result<&'static Chip, String> {
        let wanted: Option<Model> = name.parse().ok();
        let found = CHIPS.iter().find(|chip| wanted.is_some_and(|wanted| wanted == chip.model()));
        found.ok_or_else(|| {
            let names: Vec<&str> = CHIPS.iter().map(|chip| chip.name).collect();
            format!("no card {name:?} can be pretended; there are {} and their gfx names", names.join(", "))
        })
    }

    /// As the runtime names the chip.
    ///
    /// # Panics
    /// Never: all names of the table are known.
    pub fn model(&self) -> Model {
        Isa::Gcn.chip(self.name).expect("a chip of the table")
    }

    /// GB_TILE_MODE0 to 31: what READ_MMR_REG answers and images are read by.
    pub fn tile_modes(&self) -> [u32; 32] {
        *self.tile_modes
    }

    /// GB_MACROTILE_MODE0 to 15.
    pub fn macrotile_modes(&self) -> [u32; 16] {
        *self.macrotile_modes
    }

    /// A register that drivers read of the chip, by its dword address; 0 for others.
    pub fn register(&self, at: u32) -> u32 {
        match at {
            0x263e => self.address_config,
            0x09d8 => self.ram_config,
            0xa0d4 => self.raster_config[0],
            0xa0d5 => self.raster_config[1],
            0x2644..0x2664 if self.generation < 9 => self.tile_modes()[at as usize - 0x2644],
            0x2664..0x2674 => self.macrotile_modes[at as usize - 0x2664],
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for chip in &CHIPS {
            assert_eq!(Chip::find(chip.name), Ok(chip));
        }
        for (name, chip) in
            [("gfx900", "vega10"), ("gfx906", "vega20"), ("gfx600", "tahiti"), ("RX480", "polaris10")]
        {
            assert_eq!(Chip::find(name).unwrap().name, chip);
        }
        let error = Chip::find("sm_20").unwrap_err();
        assert!(error.contains("polaris10, fiji"), "{error}");
        assert!(Chip::find("raven").is_err());
    }

    #[test]
    fn tables_of_tile_modes() {
        let polaris = Chip::usual();
        // Linear, and macro tiles for colours.
        assert_eq!([8, 14].map(|index| polaris.register(0x2644 + index) >> 2 & 15), [1, 4]);
        assert_eq!(Chip::find("vega10").unwrap().register(0x2650), 0);
    }
}
