//! Makes random words of every GCN format.

use warpjit_frontend::gcn::table::rows;
use warpjit_frontend::gcn::{Format, Generation};

use crate::common::Random;

/// The fixed bits of a format, and where its opcode is.
fn pattern(format: Format, generation: Generation) -> Option<(u32, u32)> {
    let old = generation.is_old();
    Some(match format {
        Format::Sop2 => (0x8000_0000, 23),
        Format::Sopk => (0xb000_0000, 23),
        Format::Sop1 => (0xbe80_0000, 8),
        Format::Sopc => (0xbf00_0000, 16),
        Format::Sopp => (0xbf80_0000, 16),
        Format::Smem => (0xc000_0000, if old { 22 } else { 18 }),
        Format::Vop2 => (0, 25),
        Format::Vop1 => (0x7e00_0000, 9),
        Format::Vopc => (0x7c00_0000, 17),
        Format::Vop3 => (0xd000_0000, if old { 17 } else { 16 }),
        Format::Vop3p if generation == Generation::Gfx9 => (0xd380_0000, 16),
        Format::Vop3p => return None,
        Format::Vintrp => (if old { 0xc800_0000 } else { 0xd400_0000 }, 16),
        Format::Ds => (0xd800_0000, if old { 18 } else { 17 }),
        Format::Flat if generation == Generation::Gfx6 => return None,
        Format::Flat => (0xdc00_0000, 18),
        Format::Mubuf => (0xe000_0000, 18),
        Format::Mtbuf => (0xe800_0000, if old { 16 } else { 15 }),
        Format::Mimg => (0xf000_0000, 18),
        Format::Exp => (if old { 0xf800_0000 } else { 0xc400_0000 }, 32),
    })
}

/// All formats.
pub const FORMATS: [Format; 18] = [
    Format::Sop2,
    Format::Sopk,
    Format::Sop1,
    Format::Sopc,
    Format::Sopp,
    Format::Smem,
    Format::Vop2,
    Format::Vop1,
    Format::Vopc,
    Format::Vop3,
    Format::Vop3p,
    Format::Vintrp,
    Format::Ds,
    Format::Flat,
    Format::Mubuf,
    Format::Mtbuf,
    Format::Mimg,
    Format::Exp,
];

/// Opcodes of a format, long forms of the short ones included.
pub fn opcodes(format: Format, generation: Generation) -> Vec<u16> {
    let mut codes: Vec<_> =
        rows().iter().filter(|row| row.format == format).filter_map(|row| row.code(generation)).collect();
    if format == Format::Vop3 {
        for row in rows() {
            let base = match row.format {
                Format::Vopc => 0,
                Format::Vop2 => 0x100,
                Format::Vop1 if generation.is_old() => 0x180,
                Format::Vop1 => 0x140,
                _ => continue,
            };
            codes.extend(row.code(generation).map(|code| code + base));
        }
    }
    codes
}

/// A word of a format: an opcode that exists (rarely any), the rest random. Parts are cleared often, since LLVM takes
/// unused fields only if they are zero.
pub fn word(format: Format, generation: Generation, codes: &[u16], random: &mut Random) -> Option<u64> {
    let (fixed, position) = pattern(format, generation)?;
    let mut low = random.next() as u32;
    let mut high = random.next() as u32;
    for bits in
        [0xff, 0x1ff, 0xff00, 0x7c00, 0x3fe00, 0x7f0000, 0xff0000, 0x4000, 0x8000, 0x10000, 0x20000, 0x2000]
    {
        if random.next().is_multiple_of(3) {
            low &= !bits;
        }
    }
    for bits in [
        0xff, 0xff00, 0x3fe00, 0xff0000, 0x7fc0000, 0xff000000, 0xe0000000, 0x18000000, 0xffff0000,
        0xffe00000, 0x800000, 0x80000000, 0x400000,
    ] {
        if random.next().is_multiple_of(3) {
            high &= !bits;
        }
    }
    let short = matches!(format, Format::Vop1 | Format::Vop2 | Format::Vopc);
    if short {
        match random.next() % 4 {
            0 => low = low & !0x1ff | 0xf9,
            1 => low = low & !0x1ff | 0xfa,
            2 if random.next().is_multiple_of(4) => low = low & !0x1ff | 0xff,
            _ => {}
        }
        if low & 0x1ff == 0xf9 {
            // LLVM crashes on selectors that do not exist.
            for position in [8, 16, 24] {
                high = high & !(7 << position) | (random.next() as u32 % 7) << position;
            }
            high = high & !(3 << 11) | (random.next() as u32 % 3) << 11;
        }
    }
    if format == Format::Vop3p && random.next().is_multiple_of(2) {
        high = high & !0x1800_0000 | 0x1800_0000;
        low |= 0x4000;
    }
    let old = generation.is_old();
    let width = match format {
        Format::Vop3 if old => 9,
        Format::Vop3 => 10,
        Format::Sop2 | Format::Sopc | Format::Sopp | Format::Vop3p => 7,
        Format::Flat | Format::Mubuf | Format::Mimg => 7,
        Format::Vop2 => 6,
        Format::Sopk => 5,
        Format::Smem if old => 5,
        Format::Mtbuf if old => 3,
        Format::Mtbuf => 4,
        Format::Vintrp => 2,
        Format::Exp => 0,
        _ => 8,
    };
    let fixed_mask = match format {
        Format::Sop2 => 0xc000_0000,
        Format::Sopk => 0xf000_0000,
        Format::Sop1 | Format::Sopc | Format::Sopp => 0xff80_0000,
        Format::Vop2 => 0x8000_0000,
        Format::Vop1 | Format::Vopc => 0xfe00_0000,
        Format::Vop3p => 0xff80_0000,
        Format::Smem if generation.is_old() => 0xf800_0000,
        _ => 0xfc00_0000,
    };
    low = low & !fixed_mask | fixed;
    if width > 0 && !random.next().is_multiple_of(16) {
        let code = u32::from(codes[random.next() as usize % codes.len()]);
        let ones = ((1u64 << width) - 1) as u32;
        low = low & !(ones << position) | code << position;
    }
    // Words that other formats claim.
    if format == Format::Sop2 && (low >> 23) & 0x7f >= 0x60
        || format == Format::Vop2 && low >> 25 & 0x3f >= 62
    {
        return None;
    }
    Some(u64::from(high) << 32 | u64::from(low))
}
