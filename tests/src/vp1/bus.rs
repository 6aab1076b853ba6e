//! The model's bus from the scalar to the vector unit (docs/hardware/vp1.md section 5).

use super::scalar::byte_products;
use super::{State, bits, signed};

/// What is on the bus.
pub(super) struct Bus {
    pub(super) factors: [i32; 4],
    /// Which `$vc` flags: register, half, transform.
    pub(super) choice: Option<(usize, u32, usize)>,
}

/// For each transform and component, the component whose flag it gets (the document's tables).
const TRANSFORMS: [[u32; 16]; 8] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [2, 2, 2, 2, 6, 6, 6, 6, 10, 10, 10, 10, 14, 14, 14, 14],
    [4, 5, 4, 5, 4, 5, 4, 5, 12, 13, 12, 13, 12, 13, 12, 13],
    [0, 0, 2, 0, 4, 4, 6, 4, 8, 8, 10, 8, 12, 12, 14, 12],
    [1, 1, 1, 3, 5, 5, 5, 7, 9, 9, 9, 11, 13, 13, 13, 15],
    [0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14],
    [1, 1, 1, 1, 5, 5, 5, 5, 9, 9, 9, 9, 13, 13, 13, 13],
    [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30],
];

/// The flags of the components, a bit each.
pub(super) fn flags(old: &State, (register, half, transform): (usize, u32, usize)) -> u32 {
    let of = |register: usize| old.vc[register] >> (16 * half) & 0xffff;
    let both = of(register) | of(register | 1) << 16;
    (0..16).fold(0, |all, n| all | (both >> TRANSFORMS[transform][n] & 1) << n)
}

impl Bus {
    pub(super) fn of(old: &State, word: u32) -> Bus {
        let opcode = word >> 24;
        let source = if opcode == 0x75 { bits(word, 19, 5) } else { bits(word, 14, 5) };
        let s1 = old.read_r(source);
        let choice = matches!(opcode, 0x04 | 0x05 | 0x0f | 0x24 | 0x45).then(|| {
            let transform = bits(word, 22, 2) | bits(word, 0, 1) << 2;
            (bits(word, 19, 2) as usize, bits(word, 21, 1), transform as usize)
        });
        let factors = match opcode {
            0x24 => {
                let (one, two) = (signed(word, 1, 9), signed(word, 10, 9));
                [one, one, two, two]
            }
            0x0f => s1.to_le_bytes().map(|byte| 2 * i32::from(byte as i8)),
            0x04 | 0x05 => {
                let c = old.c[bits(word, 3, 2) as usize];
                let selector = bits(word, 5, 4);
                let u = if selector == 4 { c >> 4 & 3 } else { c >> selector & 1 };
                let base = bits(word, 9, 5);
                let a = old.read_r(base | u).to_le_bytes();
                let b = old.read_r(base | 2 | u).to_le_bytes();
                let p = (s1 >> 11 & if opcode == 5 { 0x7f } else { 0xff }) as i32;
                let mad = |n: usize| (i32::from(a[n] as i8) * 256 + p * i32::from(b[n] as i8) + 0x40) >> 7;
                let f: [i32; 4] = std::array::from_fn(mad);
                let w = usize::from(selector == 2 && c & 0x80 != 0);
                if opcode == 4 { f } else { [f[w], f[w], f[2 + w], f[2 + w]] }
            }
            0x00..=0x03 | 0x10..=0x13 | 0x20..=0x23 | 0x30..=0x33 => {
                let shift = if opcode & 2 == 0 { 8 } else { 0 };
                byte_products(old, word).map(|product| (product >> shift) << 22 >> 22)
            }
            0x06 | 0x07 | 0x14..=0x17 | 0x34..=0x37 | 0x1f | 0x2f | 0x3f => {
                byte_products(old, word).map(|product| product << 22 >> 22)
            }
            0x00..=0x3f => [0; 4],
            _ => {
                let mask = (0..16).fold(0, |all, n| all | (s1 >> (n / 4) & 1) << n) as i32;
                [(mask & 0xff) << 1, (mask >> 8) << 1, 0, 0]
            }
        };
        Bus { factors, choice }
    }

    /// Bit `n` of a mask.
    pub(super) fn mask(&self, mask: usize, n: usize) -> bool {
        self.factors[2 * mask + n / 8] >> (1 + n % 8) & 1 != 0
    }
}
