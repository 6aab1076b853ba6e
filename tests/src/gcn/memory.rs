//! Makes random memory instructions of GCN: LDS, GDS, flat and global memory, plain and typed buffers, and images with all kinds
//! of resources.

use warpjit_frontend::gcn::table::rows;
use warpjit_frontend::gcn::{Format, Generation, Op, decode, listing};

use crate::random::rng::SplitMix;

/// Where memory begins: flat accesses start there.
pub const LOW: u64 = 0x10_0000;
/// Other places for it: where drivers of 1.4 have their descriptors, in the middle of the upper half, across the end of
/// the window that compiled code reaches directly, and across a multiple of 4 GiB in either half.
pub const ELSEWHERE: [u64; 5] = [
    0xffff_8000_0010_0000,
    0xffff_c123_4567_8000,
    0x100_0000_0000 - 0x1_0000,
    0x7654_0000_0000 - 0x1_0000,
    0xffff_8001_0000_0000 - 0x1_1000,
];
/// Where resources begin in it.
const BUFFER: u64 = 0x1_0000;
/// Bytes of memory.
pub const BYTES: u64 = 0x4_0000;
/// Bytes of LDS.
pub const LDS_BYTES: u32 = 0x1000;
/// Memory instructions of a program.
const LENGTH: usize = 14;
/// Vector registers.
pub const VGPRS: u32 = 28;
/// The first register with coordinates of images.
const COORDINATES: u32 = 24;

/// Operations of a format on a generation, with their opcodes.
fn operations(format: Format, generation: Generation) -> Vec<(Op, u64)> {
    // What is not memory, what has no order between tiers, what a launch does not have, what faults by its address.
    let out =
        ["GWS", "ORDERED", "NOP", "WBINV", "LDS_DWORD", "PERMUTE", "SWIZZLE", "SAMPLE", "GATHER", "GET_LOD"];
    rows()
        .iter()
        .filter(|row| row.format == format && !out.iter().any(|out| row.op.name().contains(out)))
        .filter_map(|row| Some((row.op, row.code(generation)?.into())))
        .collect()
}

/// A program, its registers and its memory.
#[derive(Clone, Debug)]
pub struct MemoryCase {
    /// The generation.
    pub generation: Generation,
    /// The memory instructions, 8 bytes each.
    pub words: Vec<u64>,
    /// Registers before, for memory at [`LOW`].
    pub registers: Vec<(String, Vec<u64>)>,
    /// Contents of memory.
    pub memory: Vec<u8>,
    /// Which of [`ELSEWHERE`] is tried as well.
    pub elsewhere: usize,
}

impl MemoryCase {
    /// The program of a seed.
    ///
    /// # Panics
    ///
    /// Never: all it asks for is there.
    pub fn new(seed: u64) -> MemoryCase {
        let mut random = SplitMix::new(seed.wrapping_mul(0x9e37_79b9));
        let generation = random.pick(&Generation::ALL);
        let old = matches!(generation, Generation::Gfx6 | Generation::Gfx7);
        let program = (0..LENGTH).map(|_| instruction(generation, old, &mut random)).collect();
        let lanes = |random: &mut SplitMix, f: &mut dyn FnMut(u64, &mut SplitMix) -> u64| -> Vec<u64> {
            (0..64).map(|lane| f(lane, random)).collect()
        };
        // Lanes of a flat access are in global memory or in LDS; on 1.0 there is none.
        let in_lds: Vec<bool> = (0..64).map(|_| random.below(4) == 0).collect();
        let step = random.pick(&[8, 16, 64]);
        let addresses = [
            (
                "v1",
                lanes(&mut random, &mut |lane, r| match r.below(8) {
                    0 => r.below(0x1_2000) & !7,
                    1 => r.below(u64::from(LDS_BYTES)) & !7,
                    _ => lane * 24,
                }),
            ),
            (
                "v2",
                lanes(&mut random, &mut |lane, r| {
                    let place = lane * step + 8 * r.below(4);
                    if in_lds[lane as usize] { place } else { LOW + place }
                }),
            ),
            ("v3", (0..64).map(|lane| if in_lds[lane] { 0x1_0000 } else { 0 }).collect()),
            ("v4", lanes(&mut random, &mut |lane, r| if r.below(4) == 0 { r.below(90) } else { lane })),
            (
                "v5",
                lanes(&mut random, &mut |lane, r| {
                    if r.below(4) == 0 { r.below(0x300) & !3 } else { 4 * lane }
                }),
            ),
        ];
        let mut registers: Vec<_> =
            addresses.into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
        for n in 8..VGPRS {
            let small = random.below(2) == 0 || n >= COORDINATES;
            let values =
                lanes(&mut random, &mut |_, r| if small { r.below(9) } else { r.bits() & 0xffff_ffff });
            registers.push((format!("v{n}"), values));
        }
        let stride = random.pick(&[0, 0, 4, 8, 12, 64]);
        let counts_lanes = random.below(4) == 0;
        let words = [
            LOW + BUFFER,
            stride << 16 | u64::from(random.below(3) == 2) << 31,
            random.pick(&[0xffff_ffff, 0x4000, 64, 0x100, 7]),
            // Selectors, formats, element and index strides, whether lanes count.
            random.below(0x1000)
                | random.below(8) << 12
                | (1 + random.below(14)) << 15
                | random.below(4) << 19
                | random.below(4) << 21
                | u64::from(counts_lanes) << 23,
        ];
        let scalar = |n: u32, value: u64| (format!("s{n}"), vec![value]);
        let mut all = registers;
        all.extend((4..).zip(words).map(|(n, word)| scalar(n, word)));
        all.push(scalar(10, 4 * random.below(16)));
        all.extend((16..).zip(image(generation, &mut random)).map(|(n, word)| scalar(n, word)));
        let some = random.bits();
        let exec = random.pick(&[u64::MAX, some, some & some >> 7, 1 << 63]);
        all.extend([scalar(12, exec & 0xffff_ffff), scalar(13, exec >> 32)]);
        // Of LDS all; of GDS the part from 0x100 on.
        all.push(("m0".into(), vec![random.pick(&[0x0100_0f00, 0x0100_0800, 0x0100_ffff])]));
        let memory = (0..BYTES).map(|_| random.bits() as u8).collect();
        let elsewhere = random.below(ELSEWHERE.len() as u64) as usize;
        MemoryCase { generation, words: program, registers: all, memory, elsewhere }
    }

    /// The code.
    pub fn code(&self) -> Vec<u8> {
        let old = matches!(self.generation, Generation::Gfx6 | Generation::Gfx7);
        // s_mov_b64 exec, s[12:13]
        let mut code = if old { 0xbefe_040c_u32 } else { 0xbefe_010c }.to_le_bytes().to_vec();
        code.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        code.extend(0xbf81_0000_u32.to_le_bytes());
        code
    }

    /// The registers with what they say of addresses moved to memory that begins at `start`.
    ///
    /// # Panics
    ///
    /// Where a register is missing that every case has.
    pub fn registers_for(&self, start: u64) -> Vec<(String, Vec<u64>)> {
        let mut registers = self.registers.clone();
        let mut change = |name: &str, change: &mut dyn FnMut(usize, u64) -> u64| {
            let (_, values) = registers.iter_mut().find(|(of, _)| of == name).expect("it is given");
            values.iter_mut().enumerate().for_each(|(lane, value)| *value = change(lane, *value));
        };
        let mut high = vec![0; 64];
        change("v3", &mut |lane, value| {
            high[lane] = value;
            if value == 0 { start >> 32 } else { value }
        });
        let mut carry = vec![0; 64];
        change("v2", &mut |lane, value| match high[lane] {
            0 => {
                let moved = start + (value - LOW);
                carry[lane] = (moved >> 32) - (start >> 32);
                moved & 0xffff_ffff
            }
            _ => value,
        });
        change("v3", &mut |lane, value| value + carry[lane]);
        let base = start + BUFFER;
        change("s4", &mut |_, _| base & 0xffff_ffff);
        change("s5", &mut |_, value| value | base >> 32 & 0xffff);
        change("s16", &mut |_, _| base >> 8 & 0xffff_ffff);
        change("s17", &mut |_, value| value | base >> 40 & 0xff);
        registers
    }

    /// The instructions and the scalar registers.
    pub fn listing(&self) -> String {
        // Vectors are long; the seed gives them.
        let scalars: Vec<_> = self.registers.iter().filter(|(_, values)| values.len() == 1).collect();
        format!("{}\n{}\n{scalars:x?}", self.generation, listing(&self.code(), 0, self.generation))
    }
}

/// The resource of an image of at most 16 by 12 texels with at most 4 slices and levels; one in 16 may be anything.
fn image(generation: Generation, random: &mut SplitMix) -> [u64; 8] {
    let gfx9 = generation == Generation::Gfx9;
    let (width, height) = (random.below(16), random.below(12));
    let [slice, level] = [(); 2].map(|()| random.below(3));
    let [slices, levels] = [slice + random.below(4 - slice), level + random.below(4 - level)];
    let data = random
        .pick(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21, 22, 34, 57, 58]);
    let number = if data == 34 { 7 } else { random.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 9]) };
    let any = random.bits() & 0xfff;
    let selectors = random.pick(&[4 | 5 << 3 | 6 << 6 | 7 << 9, any]);
    let tiling = if gfx9 { 0 } else { random.pick(&[8, 31]) };
    let kind = random.pick(&[8, 9, 10, 11, 12, 13]);
    let mut words = [
        (LOW + BUFFER) >> 8,
        data << 20 | number << 26,
        width | height << 14,
        selectors | level << 12 | levels << 16 | tiling << 20 | random.below(2) << 25 | kind << 28,
        31 << 13 | if gfx9 { slices } else { 3 },
        slice | if gfx9 { levels << 28 } else { slices << 13 },
        0,
        0,
    ];
    if random.below(16) == 0 {
        // The lowest bits of the second dword are the address's.
        words[1 + random.below(3) as usize] ^= 1 << (8 + random.below(24));
    }
    words
}

/// A memory instruction: addresses in v1 to v5, data in v8 and v12 and up, results in v16 and up.
fn instruction(generation: Generation, old: bool, random: &mut SplitMix) -> u64 {
    let data = random.pick(&[8, 9, 12, 16, 18]);
    let format = loop {
        let format = random.pick(&[
            Format::Ds,
            Format::Ds,
            Format::Flat,
            Format::Mubuf,
            Format::Mubuf,
            Format::Mtbuf,
            Format::Mimg,
        ]);
        if format != Format::Flat || generation != Generation::Gfx6 {
            break format;
        }
    };
    let (op, code) = random.pick(&operations(format, generation));
    let name = op.name();
    match format {
        Format::Ds => {
            // Words of 64 bits with two offsets count in eights.
            let offset = if name.contains("2") { random.bits() & 0x0707 } else { 8 * random.below(16) };
            let offset = if name.contains("SRC2") { random.below(8) * 2 } else { offset };
            let gds = random.below(4) == 0 && !name.contains("ADDTID");
            let head =
                if old { code << 18 | u64::from(gds) << 17 } else { code << 17 | u64::from(gds) << 16 };
            // Fields that the operation does not have are zero.
            let fields = [12 << 48 | 16 << 56, 16 << 56, 12 << 48, 0];
            let with = |data: u64| {
                fields
                    .into_iter()
                    .map(move |rest| (0xd800_0000 | head | offset) | (1 | data << 8) << 32 | rest)
            };
            with(data)
                .chain(with(0))
                .find(|word| decode(&word.to_le_bytes(), 0, generation).is_ok())
                .unwrap_or(0xbf80_0000_bf80_0000)
        }
        Format::Flat => {
            let offset = if generation == Generation::Gfx9 { 8 * random.below(8) } else { 0 };
            let none = if generation == Generation::Gfx9 { 0x7f << 16 } else { 0 };
            let head = code << 18 | random.below(2) << 16 | offset;
            (0xdc00_0000 | head) | (2 | data << 8 | none | 16 << 24) << 32
        }
        Format::Mimg => {
            // Some have no form with some of these: then the plain one.
            let flags = (random.bits() & 0x7) << 13 | (random.below(8) / 7) << 16 | random.below(2) << 63;
            let place = if name.contains("ATOMIC") { 16 } else { data_or_result(name, data) };
            let plain = 0xf000_0000 | code << 18 | (u64::from(COORDINATES) | place << 8 | 4 << 16) << 32;
            let masks = [1 + random.below(15), 1, 3, 15];
            let words = masks.into_iter().flat_map(|mask| [plain | mask << 8 | flags, plain | mask << 8]);
            words
                .into_iter()
                .find(|word| decode(&word.to_le_bytes(), 0, generation).is_ok())
                .unwrap_or(0xbf80_0000_bf80_0000)
        }
        _ => {
            // Whether lanes have an index (v4) and an offset (v5).
            let lanes = random.below(4);
            let address = if lanes == 1 { 5 } else { 4 };
            let operands = address | data_or_result(name, data) << 8 | 1 << 16 | 10 << 24;
            let (offset, head) = if format == Format::Mubuf {
                (8 * random.below(16), 0xe000_0000 | code << 18 | random.below(2) << 14)
            } else {
                let kind = (1 + random.below(14)) << 19 | random.below(8) << 23;
                (4 * random.below(16), 0xe800_0000 | code << if old { 16 } else { 15 } | kind)
            };
            head | lanes << 12 | offset | operands << 32
        }
    }
}

/// The register of a buffer access's data: results go where they overwrite no address.
fn data_or_result(name: &str, data: u64) -> u64 {
    if name.contains("LOAD") { 16 } else { data }
}
