//! Computes where the texels of a linear image are: start, row pitch and number of rows of each level of detail.
//!
//! The layouts are those of AMD's address library, which drivers use (docs/hardware/graphics-gcn.md sections 4.1 to 4.3). Pitches are in
//! texels; a texel is an element.

use warpjit_ir::{PureFn, Scalar};

/// A level of detail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Level {
    /// Its first byte, from the image's on.
    start: u64,
    /// Texels from row to row.
    pitch: u32,
    /// Rows from slice to slice.
    rows: u32,
}

/// Tiling index of linear images whose rows and slices are aligned, up to 1.2: drivers fill the table that the index is for, all alike.
pub(crate) const LINEAR_ALIGNED: u32 = 8;
/// The one of linear images in which nothing is aligned.
pub(crate) const LINEAR_GENERAL: u32 = 31;

/// What levels on 1.0 to 1.2 have: each follows the one before it with all slices of that. Sizes of levels behind the
/// first are rounded up to powers of two; with `pow2_pad` those of the first, too.
fn by_levels(size: u32, geometry: u32, what: What) -> Level {
    let What { bytes, level, .. } = what;
    let (aligned, pow2_pad) = (what.tiling == LINEAR_ALIGNED, what.pow2_pad);
    let (height, pitch) = ((size >> 14 & 0x3fff) + 1, (geometry >> 13 & 0x3fff) + 1);
    let depth = (geometry & 0x1fff) + 1;
    let (mut start, mut number) = (0, 0);
    loop {
        let slices = match what {
            What { solid: true, .. } => (depth >> number).max(1),
            What { cubes: true, .. } => 6 * depth,
            _ => depth,
        };
        let padded = |n: u32| if number > 0 || pow2_pad { n.next_power_of_two() } else { n };
        let rows = padded((height >> number).max(1));
        // The resource has the pitch of the first.
        let pitch = match number {
            0 => pitch,
            _ => aligned_pitch(padded((pitch >> number).max(1)), rows, bytes, aligned),
        };
        if number == level {
            return Level { start, pitch, rows };
        }
        start += u64::from(pitch) * u64::from(rows) * u64::from(bytes) * u64::from(padded(slices));
        if aligned {
            start = start.next_multiple_of(256);
        }
        number += 1;
    }
}

/// The least pitch with which rows begin at 64 bytes and eight texels, slices at 256 bytes and 64 texels.
fn aligned_pitch(pitch: u32, rows: u32, bytes: u32, aligned: bool) -> u32 {
    if !aligned || bytes == 0 {
        return pitch;
    }
    let (of_row, of_slice) = ((64 / bytes).max(8), (256 / bytes).max(64));
    let mut pitch = pitch.next_multiple_of(of_row);
    while !(pitch * rows).is_multiple_of(of_slice) {
        pitch += of_row;
    }
    pitch
}

/// What levels on 1.4 have: one pitch for all, a slice being all rows of the first, those of the second, and so on. With several levels the
/// resource has the rows of a slice in the place of the pitch, which is the width up to 256 bytes then.
fn by_rows(size: u32, geometry: u32, what: What) -> Level {
    let What { bytes, level, .. } = what;
    let (width, height) = ((size & 0x3fff) + 1, (size >> 14 & 0x3fff) + 1);
    let given = (geometry >> 13 & 0xffff) + 1;
    let (pitch, rows) = match what.several {
        true => (width.next_multiple_of((256 / bytes.max(1)).max(1)), given),
        false => (given, height),
    };
    let (mut above, mut of_level) = (0, height);
    for _ in 0..level {
        above += of_level;
        of_level = of_level.div_ceil(2);
    }
    Level { start: u64::from(above) * u64::from(pitch) * u64::from(bytes), pitch, rows }
}

/// Which level of what image: the last argument of [`START`] and [`SHAPE`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct What {
    /// Bytes of a texel.
    bytes: u32,
    /// Whether it is for 1.4.
    for_1_4: bool,
    level: u32,
    tiling: u32,
    pow2_pad: bool,
    /// Whether there are several levels (1.4 lays these out otherwise).
    several: bool,
    /// Whether there are three dimensions: each level has fewer slices.
    solid: bool,
    /// Whether the slices are faces of cubes. The depth is that of cubes then (up to 1.2).
    cubes: bool,
}

/// The part of that argument which an instruction gives: bytes of a texel 7:0, whether it is for 1.4 at 8.
pub(crate) fn pack_what(bytes: u32, for_1_4: bool) -> u32 {
    bytes & 0xff | u32::from(for_1_4) << 8
}

/// In that argument: whether there are three dimensions.
pub(crate) const SOLID: u32 = 1 << 9;
/// In that argument: whether the slices are faces of cubes.
pub(crate) const CUBES: u32 = 1 << 10;
/// Where it has the level, in four bits.
pub(crate) const LEVEL_SHIFT: u32 = 12;
/// The part that is from dword 3 of the resource, at the same place: tiling and `pow2_pad`.
pub(crate) const OF_DWORD_3: u32 = 0x03f0_0000;
/// And that from dword 5: the number of the last level of all.
pub(crate) const OF_DWORD_5: u32 = 0xf000_0000;

fn level(args: &[u64]) -> Level {
    let arg = |n: usize| args.get(n).copied().unwrap_or(0) as u32;
    let (size, geometry, what) = (arg(0), arg(1), arg(2));
    let what = What {
        bytes: what & 0xff,
        for_1_4: what >> 8 & 1 != 0,
        level: what >> LEVEL_SHIFT & 15,
        tiling: what >> 20 & 31,
        pow2_pad: what >> 25 & 1 != 0,
        several: what >> 28 != 0,
        solid: what & SOLID != 0,
        cubes: what & CUBES != 0,
    };
    if what.for_1_4 { by_rows(size, geometry, what) } else { by_levels(size, geometry, what) }
}

const PARAMS: &[Scalar] = &[Scalar::I32; 3];

/// The first byte of a level, from the image's first on. Arguments: dwords 2 and 4 of the resource; [`pack_what`], the
/// level, parts of dwords 3 and 5.
pub(crate) static START: PureFn = PureFn {
    name: "gcn.linear_start",
    params: PARAMS,
    result: Scalar::I64,
    eval: |args| level(args).start,
    expand: None,
    fast: None,
    special: None,
};

/// Texels from row to row of a level (31:0) and rows from slice to slice (63:32). Arguments as for [`START`].
pub(crate) static SHAPE: PureFn = PureFn {
    name: "gcn.linear_shape",
    params: PARAMS,
    result: Scalar::I64,
    eval: |args| {
        let Level { pitch, rows, .. } = level(args);
        u64::from(pitch) | u64::from(rows) << 32
    },
    expand: None,
    fast: None,
    special: None,
};

/// The functions, for those who look them up by name.
pub static ALL: &[&PureFn] = &[&START, &SHAPE];

#[cfg(test)]
mod tests {
    use super::*;

    /// Start, pitch and rows of a level of an image with so many slices and levels: `[width, height, pitch, slices, levels]`.
    fn of(for_1_4: bool, kind: u32, sizes: [u32; 5], bytes: u32, number: u32) -> (u64, u32, u32) {
        let [width, height, pitch, slices, levels] = sizes;
        let size = (width - 1) | (height - 1) << 14;
        let what = pack_what(bytes, for_1_4) | number << LEVEL_SHIFT | kind | (levels - 1) << 28;
        let args = [size, (pitch - 1) << 13 | (slices - 1), what].map(u64::from);
        let shape = (SHAPE.eval)(&args);
        ((START.eval)(&args), shape as u32, (shape >> 32) as u32)
    }

    const POW2_PAD: u32 = 1 << 25;

    /// Worked out by hand from the rules.
    #[test]
    fn levels_before_1_4() {
        let aligned = LINEAR_ALIGNED << 20;
        // 4 bytes, 64 x 32: 8192 bytes, 32 x 16 (2048), 16 x 8 (512), 16 x 4 (256), 32 x 2 (256): a slice has 64 texels at least.
        let wanted = [
            (0, 64, 32),
            (8192, 32, 16),
            (10240, 16, 8),
            (10752, 16, 4),
            (11008, 32, 2),
            (11264, 64, 1),
            (11520, 64, 1),
        ];
        for (n, wanted) in (0..7).zip(wanted) {
            assert_eq!(of(false, aligned | POW2_PAD, [64, 32, 64, 1, 7], 4, n), wanted, "level {n}");
        }
        // Three slices are three in the first level, four in the others, and in all with `pow2_pad`.
        let three = |pad, n| of(false, aligned | pad, [64, 32, 64, 3, 3], 4, n);
        assert_eq!(three(0, 1), (3 * 8192, 32, 16));
        assert_eq!(three(0, 2), (3 * 8192 + 4 * 2048, 16, 8));
        assert_eq!(three(POW2_PAD, 1), (4 * 8192, 32, 16));
        // 20 x 10 with rows of 32: 10 rows a slice, 16 with `pow2_pad`; 5 rows are 8, a pitch of 16.
        let odd = |pad, n| of(false, aligned | pad, [20, 10, 32, 1, 3], 4, n);
        assert_eq!([0, 1, 2].map(|n| odd(0, n)), [(0, 32, 10), (1280, 16, 8), (1280 + 512, 32, 2)]);
        assert_eq!([0, 1].map(|n| odd(POW2_PAD, n)), [(0, 32, 16), (2048, 16, 8)]);
        // One byte: rows of 64 texels, slices of 256.
        let bytes = |n| of(false, aligned, [256, 4, 256, 1, 3], 1, n);
        assert_eq!([1, 2].map(bytes), [(1024, 128, 2), (1280, 256, 1)]);
        // Two cubes have twelve faces, behind the first level sixteen; a depth of 5 is 2 at the second level, one of 6
        // is 3 there and rounded up to 4.
        let kind = |kind, slices, n| of(false, aligned | kind, [64, 32, 64, slices, 3], 4, n).0;
        assert_eq!([1, 2].map(|n| kind(CUBES, 2, n)), [12 * 8192, 12 * 8192 + 16 * 2048]);
        assert_eq!([1, 2].map(|n| kind(SOLID, 5, n)), [5 * 8192, 5 * 8192 + 2 * 2048]);
        assert_eq!([1, 2].map(|n| kind(SOLID | POW2_PAD, 6, n)), [8 * 8192, 8 * 8192 + 4 * 2048]);
        // Nothing aligned.
        let general = |n| of(false, LINEAR_GENERAL << 20, [20, 10, 20, 1, 3], 4, n);
        assert_eq!([0, 1, 2].map(general), [(0, 20, 10), (800, 16, 8), (1312, 8, 2)]);
        assert_eq!(general(15).1, 1);
    }

    #[test]
    fn levels_of_1_4() {
        assert_eq!(of(true, 0, [20, 10, 128, 3, 1], 4, 0), (0, 128, 10));
        // Rows 10, 5, 3, 2, 1: 21 in all; 20 texels of 4 bytes in rows of 256 bytes.
        let several = |bytes, n| of(true, 0, [20, 10, 21, 3, 5], bytes, n);
        let above = [0, 10, 15, 18, 20];
        (0..5).zip(above).for_each(|(n, above)| assert_eq!(several(4, n), (256 * above, 64, 21)));
        assert_eq!(several(1, 1), (2560, 256, 21));
        assert_eq!(several(16, 1), (10 * 32 * 16, 32, 21));
    }

    /// Whatever the fields, there is an end.
    #[test]
    fn fields_of_any_kind() {
        for bytes in [0, 1, 3, 12, 16, 255] {
            for kind in [0, POW2_PAD, SOLID, CUBES, LINEAR_ALIGNED << 20, LINEAR_ALIGNED << 20 | POW2_PAD] {
                for for_1_4 in [false, true] {
                    let least = of(for_1_4, kind, [1, 1, 1, 1, 1], bytes, 15);
                    let most = of(for_1_4, kind, [1 << 14, 1 << 14, 1 << 14, 1 << 13, 1 << 4], bytes, 15);
                    assert!(least.1 > 0 && most.1 > 0 && least.0 <= most.0, "{bytes} {kind:x}");
                }
            }
        }
    }
}
