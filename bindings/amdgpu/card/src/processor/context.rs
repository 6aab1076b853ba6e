//! What the registers of a context are when nothing has set them.

use super::{CONTEXT, Processor};

/// Registers that are not 0 in a clear state, by byte address, with how many of them follow each other, and how many bytes apart.
const DEFAULTS: [(u32, u32, u32, u32); 27] = [
    // Scissors: all of the largest screen.
    (0x28034, 1, 4, 0x4000_4000),
    (0x28204, 1, 4, 0x8000_0000),
    (0x28208, 1, 4, 0x4000_4000),
    (0x2820c, 1, 4, 0xffff),
    (0x28230, 1, 4, 0xaaaa_aaaa),
    (0x28240, 1, 4, 0x8000_0000),
    (0x28244, 1, 4, 0x4000_4000),
    (0x28250, 16, 8, 0x8000_0000),
    (0x28254, 16, 8, 0x4000_4000),
    // Depths up to 1.
    (0x282d4, 16, 8, 0x3f80_0000),
    (0x28238, 2, 4, 0xffff_ffff),
    (0x28400, 1, 4, 0xffff_ffff),
    (0x28a04, 1, 4, 0xffff_0000),
    (0x28be4, 1, 4, 5),
    (0x28be8, 4, 4, 0x3f80_0000),
    (0x28c38, 2, 4, 0xffff_ffff),
    (0x28aa0, 2, 4, 1),
    // Pixel programs have two inputs, nothing is clipped, back faces are those of clockwise triangles. radeonsi leaves out what is so.
    (0x286d8, 1, 4, 2),
    (0x28810, 1, 4, 1 << 16 | 1 << 19),
    (0x28814, 1, 4, 4),
    (0x28a54, 1, 4, 0x100),
    (0x28a58, 1, 4, 0x80),
    (0x28a5c, 1, 4, 2),
    (0x28aa8, 1, 4, 0xff),
    (0x28bdc, 1, 4, 0x1000),
    (0x28c58, 1, 4, 0x1e),
    (0x28c5c, 1, 4, 0x20),
];
/// Registers of a context.
const COUNT: u32 = 0x400;

impl Processor {
    /// CLEAR_STATE.
    pub(super) fn clear_context(&mut self) {
        self.registers[CONTEXT as usize..(CONTEXT + COUNT) as usize].fill(0);
        for (first, count, step, value) in DEFAULTS {
            for number in 0..count {
                self.registers[(first + step * number) as usize / 4] = value;
            }
        }
    }
}
