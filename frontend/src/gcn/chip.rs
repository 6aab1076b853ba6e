//! The GCN chips: their names, and the features that only some chips of a generation have.

use std::fmt;

use super::generation::Generation;
use super::generation::Generation::{Gfx6, Gfx7, Gfx8, Gfx9};
use crate::chip_names::plain_name;

/// Groups of encodings that not all chips of a generation have (LLVM's processors of GCN 1.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Features(u8);

impl Features {
    /// What all chips of a generation have.
    pub const NONE: Features = Features(0);
    /// `v_mad_mix*`: the product of a multiply-add of mixed widths is rounded before the sum.
    pub const MAD_MIX: Features = Features(1);
    /// `v_fma_mix*`: the same opcodes, fused.
    pub const FMA_MIX: Features = Features(2);
    /// `v_dot*`: sums of products of small numbers.
    pub const DOT: Features = Features(4);
    /// `v_fmac_f32` and `v_xnor_b32`.
    pub const DEEP_LEARNING: Features = Features(8);

    /// The names by which rows of the table ask for features.
    pub(super) const NAMES: [(&'static str, Features); 4] = [
        ("mad_mix", Features::MAD_MIX),
        ("fma_mix", Features::FMA_MIX),
        ("dot", Features::DOT),
        ("dl", Features::DEEP_LEARNING),
    ];

    /// Both.
    pub const fn and(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }

    /// Whether all of `other` are among these.
    pub const fn contains(self, other: Features) -> bool {
        self.0 & other.0 == other.0
    }
}

const VEGA12: Features = Features::FMA_MIX;
const VEGA20: Features = Features::FMA_MIX.and(Features::DOT).and(Features::DEEP_LEARNING);

/// A chip as the table has it.
struct Line {
    generation: Generation,
    features: Features,
    /// What drivers call it.
    name: &'static str,
    /// What LLVM, CLRX, OpenCL and AMD call it; of names of several chips, the first line's.
    others: &'static [&'static str],
    /// Boards and consoles that were made with this chip only.
    boards: &'static [&'static str],
}

const fn line(
    generation: Generation,
    features: Features,
    name: &'static str,
    others: &'static [&'static str],
    boards: &'static [&'static str],
) -> Line {
    Line { generation, features, name, others, boards }
}

/// All chips; the first one of a generation stands for it. Generations and features are those of LLVM's processors, `gfx` numbers
/// of older versions of LLVM included; boards are from the PCI ids of Mesa and the names of libdrm; consoles from the Linux ports to
/// them, whose drivers treat Liverpool and Gladius as Sea Islands. (Scorpio, of the Xbox One X, is left out: no public source says
/// which encodings it has.)
#[rustfmt::skip]
const CHIPS: &[Line] = {
    const NONE: Features = Features::NONE;
    const MAD: Features = Features::MAD_MIX;
    &[
        line(Gfx6, NONE, "tahiti", &["gfx600", "gfx6", "gcn1.0", "si", "southern-islands"],
            &["hd7950", "hd7970", "hd7990", "r9-280", "r9-280x", "firepro-w8000", "firepro-w9000"]),
        line(Gfx6, NONE, "pitcairn", &["gfx601", "curacao"],
            &["hd7850", "hd7870", "r9-270", "r9-270x", "r7-370", "firepro-w5000", "firepro-w7000"]),
        line(Gfx6, NONE, "verde", &["capeverde"], &["hd7750", "hd7770", "r7-250x", "firepro-w600"]),
        line(Gfx6, NONE, "oland", &["gfx602"], &["r7-240", "r7-250"]),
        line(Gfx6, NONE, "hainan", &[], &[]),
        line(Gfx7, NONE, "hawaii", &["gfx701", "gfx702", "gfx7", "gcn1.1", "ci", "sea-islands"],
            &["r9-290", "r9-290x", "r9-295x2", "r9-390", "r9-390x", "firepro-w8100", "firepro-w9100",
              "firepro-s9150", "firepro-s9170"]),
        line(Gfx7, NONE, "bonaire", &["gfx704"], &["hd7790", "r7-260", "r7-260x", "r7-360"]),
        line(Gfx7, NONE, "kaveri", &["gfx700", "spectre", "spooky", "godavari"], &[]),
        line(Gfx7, NONE, "kabini", &["gfx703", "kalindi"], &[]),
        line(Gfx7, NONE, "mullins", &[], &[]),
        line(Gfx7, NONE, "gfx705", &[], &[]),
        line(Gfx7, NONE, "liverpool", &[], &["ps4", "playstation4"]),
        line(Gfx7, NONE, "gladius", &[], &["ps4-pro", "playstation4-pro"]),
        line(Gfx7, NONE, "durango", &[], &["xbox-one"]),
        line(Gfx8, NONE, "fiji", &["gfx803", "gfx8", "gcn1.2", "vi", "volcanic-islands"],
            &["r9-fury", "r9-fury-x", "r9-nano", "pro-duo", "firepro-s9300x2", "instinct-mi8"]),
        line(Gfx8, NONE, "tonga", &["gfx802"], &["r9-285", "r9-380", "r9-380x"]),
        line(Gfx8, NONE, "tongapro", &["gfx805"], &["firepro-s7100x", "firepro-s7150", "firepro-w7100"]),
        line(Gfx8, NONE, "iceland", &["gfx800", "topaz"], &[]),
        line(Gfx8, NONE, "carrizo", &["gfx801", "bristol-ridge"], &[]),
        line(Gfx8, NONE, "stoney", &["gfx810"], &[]),
        line(Gfx8, NONE, "polaris10", &["ellesmere"],
            &["rx470", "rx480", "rx570", "rx580", "rx590", "instinct-mi6", "pro-wx7100", "pro-wx5100"]),
        line(Gfx8, NONE, "polaris11", &["baffin"], &["rx460", "rx560", "pro-wx4100"]),
        line(Gfx8, NONE, "polaris12", &["gfx804", "lexa"], &["pro-wx2100", "pro-wx3100", "pro-wx3200"]),
        line(Gfx8, NONE, "vegam", &["polaris22"], &["rx-vega-m-gh", "rx-vega-m-gl"]),
        line(Gfx9, MAD, "vega10", &["gfx900", "gfx901", "gfx9", "gcn1.4", "vega11"],
            &["rx-vega-56", "rx-vega-64", "vega-56", "vega-64", "vega-frontier-edition", "instinct-mi25",
              "pro-wx9100", "pro-wx8200"]),
        line(Gfx9, MAD, "raven", &["gfx902", "gfx903", "picasso"], &[]),
        line(Gfx9, VEGA12, "vega12", &["gfx904", "gfx905"], &[]),
        line(Gfx9, VEGA20, "vega20", &["gfx906", "gfx907", "gcn1.4.1"],
            &["radeon-vii", "pro-vii", "instinct-mi50", "instinct-mi60"]),
        line(Gfx9, MAD, "raven2", &["gfx909", "dali"], &[]),
        line(Gfx9, MAD, "renoir", &["gfx90c", "lucienne", "cezanne", "barcelo"], &[]),
    ]
};

/// A chip. `Chip::from(generation)` is the one that stands for a generation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chip(u8);

impl Chip {
    /// All chips, those of older generations first.
    pub fn all() -> impl Iterator<Item = Chip> {
        (0..CHIPS.len() as u8).map(Chip)
    }

    /// One chip of each kind: generation and features.
    pub fn kinds() -> impl Iterator<Item = Chip> {
        let kind = |chip: Chip| (chip.generation(), chip.features());
        Chip::all().filter(move |&chip| Chip::all().find(|&first| kind(first) == kind(chip)) == Some(chip))
    }

    /// The chip of a name: what drivers, LLVM, CLRX or OpenCL call it, a board or a console (`gfx906`, `vega20`, `Radeon VII`).
    /// Capitals, blanks and hyphens make no difference, nor does what LLVM puts before and behind: the target before the
    /// last `--`, and switches of the target (`amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-`).
    pub fn parse(name: &str) -> Option<Chip> {
        let name = name.rsplit("--").next()?;
        let mut parts = name.split(':');
        let mut name = parts.next()?;
        let is_switch = |word: &str| matches!(word, "xnack" | "sramecc");
        // Older versions wrote `gfx900+xnack`.
        if let Some((before, switch)) = name.split_once('+') {
            if !is_switch(switch) {
                return None;
            }
            name = before;
        }
        let is_set = |part: &str| part.strip_suffix(['+', '-']).is_some_and(is_switch);
        if !parts.all(is_set) {
            return None;
        }
        let name = plain_name(name);
        let has = |line: &Line| {
            let mut others = line.others.iter().chain(line.boards);
            plain_name(line.name) == name || others.any(|known| plain_name(known) == name)
        };
        CHIPS.iter().position(has).map(|index| Chip(index as u8))
    }

    /// The chip of a `gfx` number: major, minor and stepping (8, 0, 3).
    pub fn of_version(major: u32, minor: u32, stepping: u32) -> Option<Chip> {
        Chip::parse(&format!("gfx{major}{minor}{stepping:x}"))
    }

    /// Its place among all chips.
    pub(super) fn number(self) -> u8 {
        self.0
    }

    /// The chip at a place; the first one if there is none.
    pub(super) fn numbered(number: u8) -> Chip {
        Chip(if usize::from(number) < CHIPS.len() { number } else { 0 })
    }

    fn line(self) -> &'static Line {
        &CHIPS[usize::from(self.0)]
    }

    /// The generation of the instruction set.
    pub fn generation(self) -> Generation {
        self.line().generation
    }

    /// What it has that others of its generation lack.
    pub fn features(self) -> Features {
        self.line().features
    }

    /// What drivers call it.
    pub fn name(self) -> &'static str {
        self.line().name
    }

    /// Its names but those of boards and consoles.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        [self.name()].into_iter().chain(self.line().others.iter().copied())
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The chip that stands for a generation: `tahiti`, `hawaii`, `fiji`, `vega10`.
impl From<Generation> for Chip {
    fn from(generation: Generation) -> Chip {
        Chip::all().find(|chip| chip.generation() == generation).unwrap_or(Chip(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_are_found() {
        let generation = |name: &str| Chip::parse(name).map(Chip::generation);
        for (name, wanted) in [
            ("Pitcairn", Gfx6),
            ("HD 7970", Gfx6),
            ("gfx701", Gfx7),
            ("liverpool", Gfx7),
            ("PS4 Pro", Gfx7),
            ("durango", Gfx7),
            ("amdgcn-amd-amdhsa--gfx803", Gfx8),
            ("Radeon RX 480", Gfx8),
            ("gfx90c:xnack-", Gfx9),
            ("gfx900+xnack", Gfx9),
        ] {
            assert_eq!(generation(name), Some(wanted), "{name}");
        }
        for name in ["gfx1010", "gfx908", "gfx906:", "gfx906:turbo+", "gfx906+", "", "gfx"] {
            assert_eq!(Chip::parse(name), None, "{name}");
        }
        assert_eq!(Chip::of_version(9, 0, 12), Chip::parse("gfx90c"));
        assert_eq!(Chip::of_version(8, 1, 0), Chip::parse("stoney"));
    }

    /// However the chip is written, it is the same one.
    #[test]
    fn spellings_of_one_chip() {
        let vega20 = Chip::parse("vega20").unwrap();
        assert_eq!(vega20.features(), Features::FMA_MIX.and(Features::DOT).and(Features::DEEP_LEARNING));
        for name in [
            "gfx906",
            "GFX906",
            "Vega20",
            "gfx906:xnack-",
            "gfx906:sramecc+:xnack-",
            "gfx906+xnack",
            "amdgcn-amd-amdhsa--gfx906",
            "amdgcn-amd-amdhsa--gfx906:sramecc-:xnack+",
            "Radeon VII",
            "Instinct MI50",
        ] {
            assert_eq!(Chip::parse(name), Some(vega20), "{name}");
        }
        assert_eq!(Chip::parse("rx480"), Chip::parse("Ellesmere"));
    }

    #[test]
    fn names_are_unique() {
        let of = |line: &Line| [&[line.name], line.others, line.boards].concat();
        let mut names: Vec<String> = CHIPS.iter().flat_map(of).map(plain_name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn kinds() {
        let names: Vec<_> = Chip::kinds().map(Chip::name).collect();
        assert_eq!(names, ["tahiti", "hawaii", "fiji", "vega10", "vega12", "vega20"]);
        for generation in Generation::ALL {
            assert_eq!(Chip::from(generation).generation(), generation);
        }
    }
}
