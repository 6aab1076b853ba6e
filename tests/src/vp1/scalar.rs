//! The model's scalar unit (docs/hardware/vp1.md section 4).

use warpjit_frontend::vp1::Chip;

use super::{Bundle, State, bitop, bits, mangle, signed};

/// What a scalar instruction writes.
#[derive(Default)]
pub(super) struct Scalar {
    /// `$r`, before the address unit's load.
    moved: Option<(u32, u32)>,
    /// A word of a `$v`, before everything.
    vector: Option<(usize, usize, u32)>,
    /// `$r`, after it.
    result: Option<(u32, u32)>,
    a: Option<(usize, u32)>,
    other: Option<(File, usize, u32)>,
    flags: Option<u32>,
}

enum File {
    L,
    M,
    X,
    Uc,
}

impl State {
    pub(super) fn read_r(&self, index: u32) -> u32 {
        self.r.get(index as usize).copied().unwrap_or(0)
    }
}

fn set_r(state: &mut State, (index, value): (u32, u32)) {
    if let Some(r) = state.r.get_mut(index as usize) {
        *r = value;
    }
}

impl Scalar {
    pub(super) fn write_moves(&self, state: &mut State) {
        if let Some(write) = self.moved {
            set_r(state, write);
        }
        if let Some((register, word, value)) = self.vector {
            state.v[register][4 * word..4 * word + 4].copy_from_slice(&value.to_le_bytes());
        }
    }

    pub(super) fn write(&self, state: &mut State, bundle: &Bundle, chip: Chip) {
        if let Some(write) = self.result {
            set_r(state, write);
        }
        if let Some((index, value)) = self.a {
            state.a[index] = value;
        }
        if let Some((file, index, value)) = &self.other {
            match file {
                File::L => state.l[*index] = value & 0xffff,
                File::M => state.m[*index] = *value,
                File::X => state.x[*index] = *value,
                File::Uc if *index == 0 => state.uc0 = *value,
                File::Uc => state.uc16 = *value,
            }
        }
        if let Some(flags) = self.flags {
            let mask = if chip == Chip::G80 { 0xff } else { 0x3f };
            if let Some(c) = state.c.get_mut(bits(bundle.s, 0, 3) as usize) {
                *c = *c & !0xff | flags & mask;
            }
        }
    }
}

/// Flags of a result; `other` is what its bit 20 is compared with, where there is something.
fn flags(result: u32, other: Option<u32>) -> u32 {
    let bit = |n: u32| result >> n & 1;
    let mut all = u32::from(result == 0) << 1
        | bit(19) << 2
        | bit(20) << 4
        | bit(21) << 5
        | bit(19) << 6
        | bit(18) << 7;
    if let Some(other) = other {
        all |= bit(31) | (bit(20) ^ other >> 20 & 1) << 3;
    }
    all
}

/// Applies `f` to the bytes of two words.
fn bytewise(a: u32, b: u32, signed: bool, clip: bool, f: impl Fn(i32, i32) -> i32) -> u32 {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    u32::from_le_bytes(std::array::from_fn(|n| {
        let byte = |x: u8| if signed { i32::from(x as i8) } else { i32::from(x) };
        let result = f(byte(a[n]), byte(b[n]));
        match (clip, signed) {
            (false, _) => result as u8,
            (true, true) => result.clamp(-128, 127) as u8,
            (true, false) => result.clamp(0, 255) as u8,
        }
    }))
}

pub(super) fn byte_splat(byte: u32) -> u32 {
    u32::from_le_bytes([byte as u8; 4])
}

/// Products of bytes, rounded where asked for: for `bmul` and the bus.
pub(super) fn byte_products(old: &State, word: u32) -> [i32; 4] {
    let opcode = word >> 24;
    let low = opcode & 3;
    let a = old.read_r(bits(word, 14, 5)).to_le_bytes();
    let plain = old.read_r(bits(word, 9, 5));
    let multiplies = matches!(opcode & 0xf, 0..=3) && opcode < 0x40;
    let b = match opcode {
        0x1f => old.read_r(mangle(bits(word, 9, 5), old.c[bits(word, 3, 2) as usize], word, 0) as u32),
        0x2f | 0x3f => byte_splat(bits(word, 3, 8)),
        0x21 | 0x31 => byte_splat((bits(word, 0, 1) << 5 | bits(word, 9, 5)) * 4),
        0x20 | 0x22 | 0x23 | 0x30 | 0x32 | 0x33 | 0x34..=0x37 => byte_splat(bits(word, 0, 8)),
        _ => plain,
    }
    .to_le_bytes();
    let factor =
        |byte: u8, sign: bool| if multiplies && sign { 2 * i32::from(byte as i8) } else { i32::from(byte) };
    let round = match (multiplies && low != 0 && bits(word, 8, 1) == 1, opcode & 0x10 == 0) {
        (false, _) => 0,
        (true, true) => 0x100,
        (true, false) => 0x80,
    };
    std::array::from_fn(|n| factor(a[n], bits(word, 2, 1) == 1) * factor(b[n], bits(word, 1, 1) == 1) + round)
}

pub(super) fn run(old: &State, bundle: &Bundle, chip: Chip) -> Scalar {
    let has_x = chip == Chip::G80;
    let word = bundle.s;
    let opcode = word >> 24;
    let (dst, src1) = (bits(word, 19, 5), bits(word, 14, 5));
    let s1 = old.read_r(src1);
    let c = old.c[bits(word, 3, 2) as usize];
    let mangled = old.read_r(mangle(bits(word, 9, 5), c, word, 0) as u32);
    let imm = signed(word, 3, 11) as u32;
    let mut out = Scalar::default();
    match opcode {
        0x01 | 0x02 | 0x11 | 0x12 | 0x21 | 0x22 | 0x31 | 0x32 => {
            let bytes = byte_products(old, word).map(|product| {
                if opcode & 0x10 == 0 {
                    (product >> 9).clamp(-128, 127) as u8
                } else {
                    (product >> 8).clamp(0, 255) as u8
                }
            });
            out.result = Some((dst, u32::from_le_bytes(bytes)));
        }
        0x08..=0x0e | 0x18..=0x1e | 0x28..=0x2e | 0x38..=0x3e => {
            let b = if opcode & 0x20 != 0 { byte_splat(bits(word, 3, 8)) } else { mangled };
            let sign = opcode & 0x10 == 0;
            let shift = |a: i32, b: i32| {
                let count = b << 28 >> 28;
                if count < 0 { a << -count } else { a >> count }
            };
            let f: &dyn Fn(i32, i32) -> i32 = match opcode & 15 {
                8 => &|a, b| a.min(b),
                9 => &|a, b| a.max(b),
                10 => &|a, _| a.abs(),
                11 => &|a, _| -a,
                12 => &|a, b| a + b,
                13 => &|a, b| a - b,
                _ => &shift,
            };
            out.result = Some((dst, bytewise(s1, b, sign, opcode & 15 != 14, f)));
            out.flags = Some(0);
        }
        0x25..=0x27 => {
            let b = byte_splat(bits(word, 3, 8));
            out.result = Some((dst, [s1 & b, s1 | b, s1 ^ b][opcode as usize - 0x25]));
            out.flags = Some(0);
        }
        0x42 | 0x62..=0x64 => {
            let value = match opcode {
                0x42 => bitop(bits(word, 3, 4), s1, old.read_r(bits(word, 9, 5))),
                0x62 => s1 & imm,
                0x63 => s1 ^ imm,
                _ => s1 | imm,
            };
            out.result = Some((dst, value));
            out.flags = Some(flags(value, None));
        }
        0x45 => out.result = Some((src1, (s1 as i32 >> 4) as u32)),
        0x65 => out.result = Some((dst, signed(word, 0, 19) as u32)),
        0x75 => out.result = Some((dst, old.read_r(dst) & 0xffff | word << 16)),
        0x6a => {
            out.flags = Some(0);
            // A store of a word shares the port.
            let stores = matches!(bundle.a >> 24, 0xc6 | 0xd6 | 0xde);
            let value = old.read_r(if stores { bits(bundle.a, 14, 5) } else { src1 });
            let to = dst as usize;
            match bits(word, 3, 5) {
                file @ (0..=3 | 0x12) => out.vector = Some((to, file as usize & 3, value)),
                0x0a if matches!(to, 0 | 16) => out.other = Some((File::Uc, to, value)),
                0x0b if to < 4 => out.other = Some((File::L, to, value)),
                0x0c => out.a = Some((to, value)),
                file @ (0x14 | 0x15) => out.other = Some((File::M, to + 32 * (file as usize - 0x14), value)),
                0x18 if has_x => out.other = Some((File::X, to & 15, value)),
                _ => {}
            }
        }
        0x6b => {
            out.flags = Some(0);
            let from = src1 as usize;
            match bits(word, 3, 5) {
                file @ 0..=3 => {
                    let at = 4 * file as usize;
                    let bytes = std::array::from_fn(|n| old.v[from][at + n]);
                    out.moved = Some((dst, u32::from_le_bytes(bytes)));
                }
                0x0a if from == 0 => out.moved = Some((dst, old.uc0)),
                0x0a if from == 16 => out.moved = Some((dst, old.uc16)),
                0x0b if bundle.b >> 24 != 0xff => out.moved = Some((dst, old.l[from & 3])),
                0x0c => out.moved = Some((dst, old.a[from])),
                0x0d => out.moved = Some((dst, old.c.get(from).copied().unwrap_or(0))),
                file @ (0x14 | 0x15) => out.result = Some((dst, old.m[from + 32 * (file as usize - 0x14)])),
                0x18 if has_x => out.result = Some((dst, old.x[from & 15])),
                _ => {}
            }
        }
        0x41 | 0x51 | 0x61 | 0x71 | 0x48..=0x4e | 0x58..=0x5e | 0x68 | 0x69 | 0x6c..=0x6e | 0x78..=0x7e => {
            let s2 = if opcode & 0x20 != 0 { imm } else { mangled };
            let (i1, i2) = (s1 as i32, s2 as i32);
            let mut other = s1;
            let value = match opcode & 15 {
                1 => i32::from(s1 as i16) * i32::from(s2 as i16),
                8 => i1.min(i2),
                9 => i1.max(i2),
                10 => i1.wrapping_abs(),
                11 => {
                    other = 0;
                    i1.wrapping_neg()
                }
                12 => i1.wrapping_add(i2),
                13 => i1.wrapping_sub(i2),
                _ => match i2 << 26 >> 26 {
                    -32 => i1,
                    count @ ..0 => i1 << -count,
                    count if opcode & 0x10 == 0 => i1 >> count,
                    count => (s1 >> count) as i32,
                },
            } as u32;
            out.result = Some((dst, value));
            out.flags = Some(flags(value, Some(other)));
        }
        0x1f | 0x2f | 0x3f => out.flags = Some(0),
        // Senders, multiplications for the bus, and the no-op.
        0x00..=0x3f | 0x4f => {}
        _ => out.flags = Some(0),
    }
    out
}
