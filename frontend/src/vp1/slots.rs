//! Slots: the parts of an instruction's text that bits choose, written `<...>` in the rows (docs/hardware/vp1.md section 10).

use crate::envydis::Slots;

/// The conditions of a `$c` register, by `SLCT`.
macro_rules! conditions {
    ($before:literal, $double:literal, $quad:literal, $plain:literal, $always:literal) => {
        &[
            (0x000, 0x1e0, concat!($before, "CSRCP sf", $double)),
            (0x020, 0x1e0, concat!($before, "CSRCP zf", $double)),
            (0x040, 0x1e0, concat!($before, "CSRCP b19", $double)),
            (0x060, 0x1e0, concat!($before, "CSRCP b20d", $double)),
            (0x080, 0x1e0, concat!($before, "CSRCP b20", $quad)),
            (0x0a0, 0x1e0, concat!($before, "CSRCP b21", $double)),
            (0x0c0, 0x1e0, concat!($before, "CSRCP b19a", $double)),
            (0x0e0, 0x1e0, concat!($before, "CSRCP b18", $double)),
            (0x100, 0x1e0, concat!($before, "CSRCP asf", $double)),
            (0x120, 0x1e0, concat!($before, "CSRCP azf", $double)),
            (0x140, 0x1e0, concat!($before, "CSRCP aef", $double)),
            (0x160, 0x1e0, concat!($before, "CSRCP unk11", $double)),
            (0x180, 0x1e0, concat!($before, "CSRCP unk12", $double)),
            (0x1a0, 0x1e0, concat!($before, "CSRCP lzf", $double)),
            (0x1c0, 0x1e0, $plain),
            (0x1e0, 0x1e0, concat!($before, "CSRCP ", $always, $double)),
        ]
    };
}

/// One bit: the words for 0 and for 1.
macro_rules! bit {
    ($bit:literal, $zero:literal, $one:literal) => {
        &[(0, 1 << $bit, $zero), (1 << $bit, 1 << $bit, $one)]
    };
}

/// The slots by name. The first alternative that fits a word is meant.
pub(super) const SLOTS: &Slots = &[
    ("intr", bit!(16, "", "intr")),
    // Only IGNCE's bits are free where nothing is written.
    ("mcdst", bit!(2, "CDSTP", "IGNCE")),
    ("vcdst", bit!(2, "VCDST", "IGNCE")),
    ("xdimm", bit!(13, "XDIMM", "")),
    ("barldsti", bit!(19, "st", "ld")),
    ("barldstr", bit!(0, "st", "ld")),
    ("s2vmode", bit!(0, "factor", "mask")),
    ("signop", bit!(28, "s", "u")),
    ("sign1", bit!(2, "u", "s")),
    ("sign2", bit!(1, "u", "s")),
    ("signs", bit!(9, "u", "s")),
    ("signd", bit!(12, "u", "s")),
    ("lrp2x", bit!(10, "", "xor")),
    ("vawrite", bit!(11, "", "va")),
    ("rnd", bit!(8, "rd", "rn")),
    ("altrnd", bit!(9, "rd", "rn")),
    ("fi", bit!(3, "fract", "int")),
    ("hilo", bit!(4, "hi", "lo")),
    ("vcflag", bit!(21, "sf", "zf")),
    ("vcsel", bit!(2, "sf", "zf")),
    ("swz", bit!(3, "lo", "hi")),
    ("aslctop", conditions!("( slct ", " ASRC2D )", " ASRC2Q )", "ASRC2", "true")),
    ("slctop", conditions!("( slct ", " RSRC2D )", " RSRC2Q )", "RSRC2", "true")),
    ("vslctop", conditions!("( slct ", " VSRC2D )", " VSRC2Q )", "VSRC2", "true")),
    ("pred", conditions!("", "", "", "CSRCP false", "true")),
];
