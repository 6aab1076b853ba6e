//! Tesla: attributes, results and planes are packed words.

use super::nvidia::Layout;

/// G80, the first chip of the family.
pub const TESLA: Layout = Layout {
    name: "tesla",
    chip: "g80",
    vertex: include_bytes!("../../programs/tesla/vertex.bin"),
    pixel: include_bytes!("../../programs/tesla/pixel.bin"),
    cutout: include_bytes!("../../programs/tesla/cutout.bin"),
    attributes: [0x00, 0x0c, 0x18],
    results: [0x00, 0x10, 0x1c],
    planes: [0x00, 0x04, 0x10],
    gob_rows: 4,
    has_view_levels: false,
};
