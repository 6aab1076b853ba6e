//! The model's address unit (docs/hardware/vp1.md section 7).

use super::{Bundle, State, bitop, bits, mangle, signed};

/// Raw places of the sixteen bytes of a row or column.
fn places(a: u32, address: u32, vertical: bool) -> [usize; 16] {
    let stride = a >> 30;
    let address = if vertical { address & !(0xf << (4 + stride)) } else { address & !15 };
    let bank = address
        + match stride {
            0 => address >> 5 & 7,
            1 => address >> 5,
            2 => address >> 6,
            _ => address >> 7,
        };
    std::array::from_fn(|n| {
        let n = n as u32;
        let (row, bank) = match (vertical, stride) {
            (false, _) => (address >> 4, bank + n),
            (true, 0) => (address >> 4 | n, bank + n / 2),
            (true, _) => (address >> 4 | n << stride, bank + n),
        };
        (16 * row + (bank & 15)) as usize
    })
}

/// Adds to the low half.
fn half_add(a: u32, b: u32) -> u32 {
    a & 0xffff_0000 | a.wrapping_add(b) & 0xffff
}

pub(super) fn run(old: &State, new: &mut State, bundle: &Bundle) {
    let word = bundle.a;
    let opcode = word >> 24;
    let (dst, src1) = (bits(word, 19, 5) as usize, bits(word, 14, 5) as usize);
    let c = old.c[bits(word, 3, 2) as usize];
    let step = old.a[mangle(bits(word, 9, 5), c, word, 0)];
    // A `6b` from $v shares the port of stores.
    let moves = bundle.s >> 24 == 0x6b && bits(bundle.s, 3, 5) < 4;
    let port = |own: usize| &old.v[if moves { bits(bundle.s, 14, 5) as usize } else { own }];
    let flag = |new: &mut State, mask: u32, value: u32| {
        if let Some(c) = new.c.get_mut(bits(word, 0, 3) as usize) {
            *c = *c & !mask | value;
        }
    };
    let full_flags = |value: u32| (value >> 31) << 8 | u32::from(value == 0) << 9;
    match opcode {
        0xca => {
            new.a[dst] = half_add(old.a[dst], step);
            let reached = new.a[dst] & 0xffff >= new.a[dst] >> 16 & 0x3fff;
            flag(new, 0x400, u32::from(reached) << 10);
        }
        0xcb | 0xd3 => {
            let value = if opcode == 0xcb {
                old.a[src1].wrapping_add(step)
            } else {
                bitop(bits(word, 3, 4), old.a[src1], old.a[bits(word, 9, 5) as usize])
            };
            new.a[dst] = value;
            flag(new, 0x300, full_flags(value));
        }
        0xcc => new.a[dst] = old.a[dst] & 0xffff_0000 | word & 0xffff,
        0xcd => new.a[dst] = old.a[dst] & 0xffff | word << 16,
        0xd7 if word & 1 == 0 => {
            let cells = port(bits(word, 9, 5) as usize);
            let base = (old.a[src1] & 0x1fff) >> 4;
            new.v[dst] = std::array::from_fn(|n| old.ds[(16 * (base | u32::from(cells[n]))) as usize + n]);
        }
        0xd7 => {
            let row = (old.a[dst] & 0x1ff0) as usize;
            new.ds[row..row + 16].copy_from_slice(port(src1));
            new.a[dst] = half_add(old.a[dst], step);
        }
        0xc3 | 0xc7 | 0xce | 0xcf | 0xdb | 0xdf => {}
        _ => {
            // Loads and stores: with a register, an immediate, or an immediate or-ed to the address.
            let form = opcode >> 3 & 3;
            let store = opcode & 4 != 0;
            let register = if store { dst } else { src1 };
            let a = old.a[register];
            let address = a & 0x1fff | if form == 3 { bits(word, 3, 11) } else { 0 };
            let by = match form {
                3 => bits(word, 3, 11),
                2 => signed(word, 3, 11) as u32,
                _ => step,
            };
            let at = places(a, address, opcode & 3 == 1);
            let first = (address >> 2 & 3) as usize * 4;
            match (store, opcode & 3) {
                (false, 2) => {
                    let bytes = std::array::from_fn(|n| old.ds[at[first + n]]);
                    if let Some(r) = new.r.get_mut(dst) {
                        *r = u32::from_le_bytes(bytes);
                    }
                }
                (false, _) => {
                    let bytes = at.map(|place| old.ds[place]);
                    if form == 1 {
                        new.vx = bytes;
                        if c >> bits(word, 5, 4) & 1 == 1 {
                            new.v[dst & !3 | (dst + (c >> 4) as usize) & 3] = bytes;
                        }
                    } else {
                        new.v[dst] = bytes;
                    }
                }
                (true, 2) => {
                    // In a bundle with bvecmad its third source is stored.
                    let sends = matches!(bundle.s >> 24, 0x04 | 0x05);
                    let c = old.c[bits(bundle.s, 3, 2) as usize];
                    let selector = bits(bundle.s, 5, 4);
                    let u = if selector == 4 { c >> 4 & 3 } else { c >> selector & 1 };
                    let source = if sends { bits(bundle.s, 9, 5) | 2 | u } else { src1 as u32 };
                    for (n, byte) in old.read_r(source).to_le_bytes().into_iter().enumerate() {
                        new.ds[at[first + n]] = byte;
                    }
                }
                (true, _) => {
                    let source = *port(src1);
                    for (place, byte) in at.into_iter().zip(source) {
                        new.ds[place] = byte;
                    }
                }
            }
            let stepped = half_add(a, by);
            if form != 3 {
                new.a[register] = stepped;
            }
            let reached = stepped & 0xffff >= stepped >> 16 & 0x3fff;
            flag(new, 0x400, u32::from(reached) << 10);
        }
    }
}
