//! The devices that can be pretended.

use warpjit_card::chip::Chip as Card;
use warpjit_runtime::Chip as Model;

/// A device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// The chip, as the card of the same name has it.
    pub card: &'static Card,
    /// LLVM's name of the processor.
    pub processor: &'static str,
    /// Its ISA with features.
    pub isa: &'static str,
    /// EF_AMDGPU_MACH of its code objects.
    pub machine: u32,
    /// Version of the instruction set, as code objects of version 2 say it.
    pub version: [u32; 3],
    /// Whether its memory has ECC (`sramecc+`); `None`: it never has.
    pub sramecc: Option<bool>,
    /// Whether the ISA has the feature xnack, which is off.
    pub has_xnack: bool,
    /// What it is sold as.
    pub product: &'static str,
    /// MHz of processor and memory, and bits of the memory's bus.
    pub clock: u32,
    /// See `clock`.
    pub memory_clock: u32,
    /// See `clock`.
    pub memory_width: u32,
    /// Bytes of the second-level cache.
    pub cache: u32,
}

/// What devices with one processor have in common.
struct Processor {
    name: &'static str,
    isa: &'static str,
    machine: u32,
    version: [u32; 3],
    sramecc: Option<bool>,
}

const GFX803: Processor = Processor {
    name: "gfx803",
    isa: "amdgcn-amd-amdhsa--gfx803",
    machine: 0x2a,
    version: [8, 0, 3],
    sramecc: None,
};
const GFX900: Processor = Processor {
    name: "gfx900",
    isa: "amdgcn-amd-amdhsa--gfx900:xnack-",
    machine: 0x2c,
    version: [9, 0, 0],
    sramecc: None,
};
const GFX906: Processor = Processor {
    name: "gfx906",
    isa: "amdgcn-amd-amdhsa--gfx906:sramecc-:xnack-",
    machine: 0x2f,
    version: [9, 0, 6],
    sramecc: Some(false),
};

/// All devices: the card's name, the processor, what it is sold as; MHz of processor and memory, and bits of the memory's bus.
const DEVICES: [(&str, Processor, &str, [u32; 3]); 4] = [
    ("fiji", GFX803, "Radeon R9 Fury", [1050, 500, 4096]),
    ("polaris10", GFX803, "Radeon RX 480", [1266, 2000, 256]),
    ("vega10", GFX900, "Radeon RX Vega 64", [1630, 945, 2048]),
    ("vega20", GFX906, "Radeon VII", [1801, 1000, 4096]),
];

impl Device {
    /// The device that is pretended if nothing is said: vega10.
    pub fn usual() -> Device {
        Card::find("vega10").ok().and_then(Device::of).expect("a device of the table")
    }

    /// The device with a card's chip. `None`: HIP does not know the chip.
    pub fn of(card: &'static Card) -> Option<Device> {
        let (_, processor, product, clocks) = DEVICES.iter().find(|(name, ..)| *name == card.name)?;
        let &Processor { name, isa, machine, version, sramecc } = processor;
        let &[clock, memory_clock, memory_width] = clocks;
        let gfx9 = card.generation == 9;
        Some(Device {
            card,
            processor: name,
            isa,
            machine,
            version,
            sramecc,
            has_xnack: gfx9,
            product,
            clock,
            memory_clock,
            memory_width,
            cache: if gfx9 { 4 << 20 } else { 2 << 20 },
        })
    }

    /// As the runtime names the chip.
    pub fn model(&self) -> Model {
        self.card.model()
    }

    /// Whether it is of the generation gfx9.
    pub fn is_gfx9(&self) -> bool {
        self.card.generation == 9
    }

    /// Compute units.
    pub fn units(&self) -> u32 {
        self.card.engines * self.card.arrays * self.card.units
    }

    /// Whether code objects with these `e_flags` run on it, for a version of the ABI (`EI_ABIVERSION`) of 1 or more; else what they are
    /// for.
    pub fn runs(&self, flags: u32, abi_version: u8) -> Result<(), String> {
        let machine = flags & 0xff;
        if machine != self.machine {
            return Err(match machine_name(machine) {
                Some(name) => format!("it is for {name}"),
                None => format!("it is for a machine {machine:#x}"),
            });
        }
        // Version 3 of code objects (ABI version 1) has a bit for each feature that is on; later ones say: unsupported, any, off, on.
        let (xnack, sramecc) = if abi_version <= 1 {
            (Some(flags & 0x100 != 0), Some(flags & 0x200 != 0))
        } else {
            let setting = |bits: u32| match bits & 3 {
                2 => Some(false),
                3 => Some(true),
                _ => None,
            };
            (setting(flags >> 8), setting(flags >> 10))
        };
        if self.has_xnack && xnack == Some(true) {
            return Err("it is for devices with xnack".into());
        }
        match (self.sramecc, sramecc) {
            (Some(true), Some(false)) => Err("it is for devices without sramecc".into()),
            (Some(false), Some(true)) => Err("it is for devices with sramecc".into()),
            _ => Ok(()),
        }
    }
}

/// The names of EF_AMDGPU_MACH.
fn machine_name(machine: u32) -> Option<&'static str> {
    const NAMES: [(u32, &str); 19] = [
        (0x20, "gfx600"),
        (0x21, "gfx601"),
        (0x22, "gfx700"),
        (0x23, "gfx701"),
        (0x24, "gfx702"),
        (0x26, "gfx704"),
        (0x28, "gfx801"),
        (0x29, "gfx802"),
        (0x2a, "gfx803"),
        (0x2c, "gfx900"),
        (0x2d, "gfx902"),
        (0x2e, "gfx904"),
        (0x2f, "gfx906"),
        (0x30, "gfx908"),
        (0x31, "gfx909"),
        (0x33, "gfx1010"),
        (0x36, "gfx1030"),
        (0x3f, "gfx90a"),
        (0x41, "gfx1100"),
    ];
    NAMES.iter().find(|(number, _)| *number == machine).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str) -> Device {
        Device::of(Card::find(name).unwrap()).unwrap()
    }

    #[test]
    fn names() {
        assert_eq!(Device::usual().processor, "gfx900");
        assert_eq!(device("gfx803").isa, "amdgcn-amd-amdhsa--gfx803");
        assert_eq!((device("vega20").processor, device("vega20").units()), ("gfx906", 60));
        assert_eq!(Device::of(Card::find("tahiti").unwrap()), None);
    }

    #[test]
    fn code_objects() {
        let vega20 = device("gfx906");
        assert_eq!(vega20.runs(0x02f, 1), Ok(()));
        assert_eq!(vega20.runs(0x52f, 2), Ok(()));
        assert_eq!(vega20.runs(0xa2f, 2), Ok(()));
        assert_eq!(vega20.runs(0x32f, 2).unwrap_err(), "it is for devices with xnack");
        assert_eq!(vega20.runs(0xe2f, 2).unwrap_err(), "it is for devices with sramecc");
        assert_eq!(vega20.runs(0x2c, 2).unwrap_err(), "it is for gfx900");
        assert_eq!(device("fiji").runs(0x2a, 1), Ok(()));
        assert_eq!(vega20.runs(0xfe, 1).unwrap_err(), "it is for a machine 0xfe");
    }
}
