//! Fermi: all stages number attributes alike. The position is at 0x70, with 1/w in its last word; four words each for further vectors
//! follow from 0x80 on.

use super::nvidia::Layout;

/// GF100, the first chip of the family.
pub const FERMI: Layout = Layout {
    name: "fermi",
    chip: "gf100",
    vertex: include_bytes!("../../programs/fermi/vertex.bin"),
    pixel: include_bytes!("../../programs/fermi/pixel.bin"),
    cutout: include_bytes!("../../programs/fermi/cutout.bin"),
    attributes: [0x80, 0x90, 0xa0],
    results: [0x70, 0x80, 0x90],
    planes: [0x7c, 0x80, 0x90],
    gob_rows: 8,
    has_view_levels: true,
};
