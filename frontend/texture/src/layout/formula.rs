//! [`Formula`]: the addresses of a level's elements as sums and exclusive ors of what each coordinate adds, for code that computes many at
//! a time.

/// What a coordinate adds to the address of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// `(coordinate >> low) * step` is added.
    pub low: u32,
    /// Bytes.
    pub step: u64,
    /// What the lowest bits of the coordinate change: exclusive ors inside a block.
    pub bits: [u32; 16],
}

impl Part {
    /// Nothing.
    pub const NONE: Part = Part::steps(0);

    /// Elements at a distance.
    pub(super) const fn steps(step: u64) -> Part {
        Part { low: 0, step, bits: [0; 16] }
    }

    /// What the coordinate's bits change inside a block.
    pub fn inside(&self, coordinate: u32) -> u32 {
        let bits = self.bits.iter().enumerate();
        bits.fold(0, |all, (n, of)| all ^ if coordinate >> n & 1 != 0 { *of } else { 0 })
    }

    /// What it adds.
    pub fn outside(&self, coordinate: u32) -> u64 {
        u64::from(coordinate >> self.low).wrapping_mul(self.step)
    }
}

/// Addresses of a level: the start, plus what each coordinate adds outside of a block, plus the exclusive or of all that is inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Formula {
    /// Where the level begins.
    pub start: u64,
    /// Of columns, rows, and slices: those of the level where it has some, else layers of the image.
    pub parts: [Part; 3],
    /// Bits that all elements have changed inside a block.
    pub flips: u32,
}

impl Formula {
    /// The address of an element.
    pub fn address(&self, at: [u32; 3]) -> u64 {
        let mut address = self.start;
        let mut inside = self.flips;
        for (part, coordinate) in self.parts.iter().zip(at) {
            address = address.wrapping_add(part.outside(coordinate));
            inside ^= part.inside(coordinate);
        }
        address.wrapping_add(inside.into())
    }
}

/// A bit each, from bit `first` on.
const fn run(first: u32, count: u32) -> [u32; 16] {
    let mut bits = [0; 16];
    let mut n = 0;
    while n < count && n < 16 {
        bits[n as usize] = 1 << (first + n);
        n += 1;
    }
    bits
}

/// Bits of a block's place in gobs: rows are 64 bytes from each other.
pub(super) fn gob_parts(
    log2_bytes: u32,
    rows_of_block: u32,
    slices_of_block: u32,
    [column, row, slice]: [u64; 3],
) -> [Part; 3] {
    let columns = Part { low: 6 - log2_bytes, step: column, bits: run(log2_bytes, 6 - log2_bytes) };
    let rows = Part { low: rows_of_block, step: row, bits: run(6, rows_of_block) };
    let slices = Part { low: slices_of_block, step: slice, bits: run(6 + rows_of_block, slices_of_block) };
    [columns, rows, slices]
}

#[cfg(test)]
mod tests {
    use super::super::gcn::{Surface, TileTables};
    use super::super::{Layout, gfx9, nvidia, tests::view};
    use crate::{Kind, View};

    /// Whether there is a formula, which then must give the addresses.
    fn agrees(view: &View, of_all: bool) -> bool {
        let mut all = true;
        for number in 0..=view.last_level {
            let level = view.level(number);
            let [width, height, depth] = level.size();
            for layer in 0..view.layers {
                for z in 0..depth {
                    let slice = if view.kind == Kind::D3 { z } else { layer };
                    let (whole, of_slice) = (level.formula(None), level.formula(Some(slice)));
                    all &= if of_all { whole.is_some() } else { of_slice.is_some() };
                    let Some(formula) = of_slice else { continue };
                    for y in 0..height {
                        for x in 0..width {
                            assert_eq!(
                                formula.address([x, y, slice]),
                                level.address(x, y, z, layer),
                                "{view:?} level {number}: {x} {y} {z} {layer}, {formula:x?}"
                            );
                            if let Some(whole) = whole {
                                assert_eq!(whole.address([x, y, slice]), formula.address([x, y, slice]));
                            }
                        }
                    }
                }
            }
        }
        all
    }

    #[test]
    fn formulas_give_addresses() {
        for bytes in [1, 2, 4, 8, 16] {
            for (kind, size, layers) in
                [(Kind::D2, [70, 40, 1], 1), (Kind::D2Array, [37, 21, 1], 5), (Kind::D3, [33, 17, 9], 1)]
            {
                let image = |layout: Layout| View {
                    address: 0x12_3400,
                    ..view(kind, size, bytes, 4, layers, layout)
                };
                assert!(agrees(&image(Layout::Pitch { pitch: 2048, layer: 0x2_0000 }), true));
                for (gob_rows, block_height, block_depth) in [(2, 0, 0), (3, 4, 0), (3, 1, 2), (2, 5, 3)] {
                    let shrink = block_height != 1;
                    assert!(agrees(
                        &image(Layout::BlockLinear(nvidia::BlockLinear {
                            gob_rows,
                            block_height,
                            block_depth,
                            levels: 4,
                            shrink,
                        })),
                        true
                    ));
                }
                for swizzle in (0..28).filter(|n| !(12..16).contains(n)) {
                    assert!(agrees(
                        &image(Layout::Gfx9(gfx9::Surface {
                            swizzle,
                            pitch: 2048,
                            levels: 4,
                            gb_addr_config: 0x2a11_4042,
                            samples: 1,
                            sample: 0,
                        })),
                        true
                    ));
                }
                let mut found = 0;
                for (chip, gfx6) in [("tahiti", true), ("bonaire", false), ("fiji", false)] {
                    let tables = TileTables::of_chip(chip).unwrap();
                    for index in 0..32 {
                        let mode = tables.mode(index, bytes.into(), gfx6);
                        let surface = Surface { mode, pitch: 128, slices: layers, pow2_pad: true, sample: 0 };
                        let of_all = index % 2 == 0;
                        found += u32::from(agrees(&image(Layout::Gcn(surface)), of_all));
                    }
                }
                assert!(found > 30, "{found} {bytes} {kind:?}");
            }
        }
        let rgb = view(Kind::D2, [9, 5, 1], 12, 1, 1, Layout::Pitch { pitch: 128, layer: 0 });
        assert!(agrees(&rgb, true));
    }
}
