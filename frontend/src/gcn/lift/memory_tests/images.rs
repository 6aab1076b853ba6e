//! Tests loads, stores, atomics and queries of images.

use warpjit_ir::interp::FaultKind;

use super::formats::{component, raw};
use super::*;
use crate::gcn::{surface, texel};

/// An image of 20 times 10 texels with rows of 32.
fn image(generation: Generation, data: u32, number: u32) -> [u32; 8] {
    let base = BASE >> 8;
    let tiling = if generation == Generation::Gfx9 { 0 } else { surface::LINEAR_ALIGNED };
    [
        base as u32,
        (base >> 32) as u32 | data << 20 | number << 26,
        19 | 9 << 14,
        texel::IDENTITY | 9 << 28 | tiling << 20,
        31 << 13,
        0,
        0,
        0,
    ]
}

#[test]
fn images() {
    let mut random = Random(33);
    // 8-bit components; 32-bit ones; 16-bit floats; floats of 9 bits with a common exponent.
    for (data, number, bytes) in [(10, 4, 4), (14, 4, 16), (5, 7, 4), (34, 7, 4)] {
        let mut m = Machine::new(Generation::Gfx7, &mut random);
        image(m.generation, data, number)
            .iter()
            .enumerate()
            .for_each(|(n, &word)| m.set(format!("s{}", 16 + n), word));
        m.vgprs[1] = random.lanes(|r| r.below(24));
        m.vgprs[2] = std::array::from_fn(|lane| lane as u32 % 12);
        let before = m.clone();
        let access = |op, words| {
            let mut access = inst(op, Format::Mimg);
            (access.mem.addr, access.mem.base, access.mem.dmask) = (v(1, 2), s(16, 8), 0xb);
            (access.mem.data, access.dst) = (v(4, words), v(8, words));
            access
        };
        let mut load = access(Op::IMAGE_LOAD, 3);
        load.mem.data = None;
        m.run(&[load]);
        let at = |lane: usize| {
            let (x, y) = (before.vgprs[1][lane], before.vgprs[2][lane]);
            (x < 20 && y < 10).then(|| BASE + u64::from((y * 32 + x) * bytes))
        };
        for lane in (0..64).filter(|&lane| before.active(lane)) {
            let texel = at(lane).map_or(0, |at| raw(&before, at, bytes));
            for (n, selector) in [4, 5, 7].into_iter().enumerate() {
                assert_eq!(m.vgprs[8 + n][lane], component(data, number, selector, texel), "{data} {lane}");
            }
        }
        // Each lane its own texel.
        let mut m = before.clone();
        m.vgprs[1] = std::array::from_fn(|lane| lane as u32 % 22);
        m.vgprs[2] = std::array::from_fn(|lane| lane as u32 / 22 + 8);
        let before = m.clone();
        let mut store = access(Op::IMAGE_STORE_PCK, 3);
        (store.dst, store.mem.dmask) = (None, 1);
        m.run(&[store]);
        for lane in (0..64).filter(|&lane| before.active(lane)) {
            let (x, y) = (before.vgprs[1][lane], before.vgprs[2][lane]);
            let at = BASE + u64::from((y * 32 + x) * bytes);
            let want = if x < 20 && y < 10 { before.vgprs[4][lane].into() } else { before.global_at(at, 4) };
            assert_eq!(m.global_at(at, 4), want);
        }
    }
}

/// Loads and stores of images of all types and generations, with their modifiers, against places and texels worked out here.
#[test]
fn images_of_all_types_with_all_modifiers() {
    let mut random = Random(35);
    for round in 0..1000usize {
        let generation = Generation::ALL[round % 4];
        let old = generation != Generation::Gfx9;
        let mut m = Machine::new(generation, &mut random);
        let (data, bytes) = random.pick(&[
            (1, 1),
            (2, 2),
            (3, 2),
            (4, 4),
            (4, 4),
            (5, 4),
            (9, 4),
            (10, 4),
            (11, 8),
            (12, 8),
            (14, 16),
            (34, 4),
            (20, 4),
            (57, 1),
        ]);
        let number = if data == 34 { 7 } else { [0, 1, 4, 5][random.below(4) as usize] };
        let selectors = random.pick(&[texel::IDENTITY, texel::IDENTITY, 4 | 1 << 3 | 7 << 6 | 5 << 9]);
        let (level, short) = (random.below(2) == 1, random.below(4) == 0);
        // Half a resource has no slices and no pitch: the rows are as long as they are wide.
        let half = short && old;
        let surface = Surface {
            kind: if half { 8 + random.below(2) } else { 8 + random.below(6) },
            old,
            aligned: random.below(2) == 0,
            pow2_pad: random.below(2) == 0,
            bytes,
            pitch: if half { WIDTH } else { PITCH },
            several: random.below(2) == 0 && !half,
        };
        let array = surface.kind > 10 && random.below(4) > 0;
        let [first_slice, last_slice] = match surface.kind {
            _ if half => [0; 2],
            // What it says is of no account in three dimensions.
            10 => [1, 1],
            11 => random.pick(&[[0, 5], [2, 4], [5, 5]]),
            _ => random.pick(&RANGES),
        };
        let [first_level, last_level] = if surface.several { random.pick(&RANGES) } else { [0; 2] };
        let words =
            surface.words((data, number, selectors), [first_slice, last_slice], [first_level, last_level]);
        words.iter().enumerate().for_each(|(n, &word)| m.set(format!("s{}", 16 + n), word));
        // `r128` on 1.4: coordinates of 16 bits.
        let halves = short && !old;
        let line = matches!(surface.kind, 8 | 12);
        let x = random.lanes(|r| r.below(14));
        let y = if line { [0; 64] } else { random.lanes(|r| r.below(8)) };
        let solid = surface.kind == 10;
        let z = if array || solid { random.lanes(|r| r.below(9)) } else { [0; 64] };
        let lod = if level { random.lanes(|r| r.below(4)) } else { [0; 64] };
        let given = [(true, x), (!line, y), (array || solid, z), (level, lod)];
        let given: Vec<_> = given.into_iter().filter(|&(is, _)| is).map(|(_, lanes)| lanes).collect();
        if halves {
            for (n, pair) in given.chunks(2).enumerate() {
                m.vgprs[1 + n] = std::array::from_fn(|lane| {
                    pair[0][lane] | pair.get(1).map_or(0, |high| high[lane] << 16)
                });
            }
        } else {
            given.iter().enumerate().for_each(|(n, &lanes)| m.vgprs[1 + n] = lanes);
        }
        let dmask = 1 + random.below(15) as u8;
        let count = dmask.count_ones() as u8;
        let before = m.clone();
        let place = |lane: usize| {
            let level = first_level + lod[lane];
            let (start, pitch, rows) = *surface.levels().get(level as usize)?;
            let [width, height, depth] = surface.size_at(level);
            let (slice, last) = match surface.kind {
                10 => (z[lane], depth - 1),
                // Eight numbers for six faces.
                11 if z[lane] % 8 > 5 => return None,
                11 => (first_slice + z[lane] / 8 * 6 + z[lane] % 8, last_slice),
                _ => (first_slice + z[lane], last_slice),
            };
            let inside = x[lane] < width && y[lane] < height && slice <= last && level <= last_level;
            let texel = u64::from((slice * rows + y[lane]) * pitch + x[lane]);
            inside.then(|| BASE + start + texel * u64::from(bytes))
        };
        let mut access = inst(if level { Op::IMAGE_LOAD_MIP } else { Op::IMAGE_LOAD }, Format::Mimg);
        (access.mem.addr, access.mem.base) = (v(1, 4), s(16, 8));
        (access.mem.dmask, access.mem.da, access.mem.r128) = (dmask, array, short);
        // The dword behind says that all was there.
        access.mem.tfe = random.below(2) == 0;
        access.mem.lwe = random.below(4) == 0;
        let status = access.mem.tfe || access.mem.lwe;
        access.dst = v(8, count + u8::from(status));
        m.run(&[access]);
        let shown =
            format!("round {round} {generation} data {data} number {number} mask {dmask:x} {surface:?}");
        for lane in 0..64 {
            let texel = place(lane).map_or(0, |at| raw(&before, at, bytes));
            let chosen = (0..4).filter(|n| dmask >> n & 1 != 0);
            for (register, n) in (8..).zip(chosen) {
                let want = match before.active(lane) {
                    true => component(data, number, selectors >> (3 * n) & 7, texel),
                    false => before.vgprs[register][lane],
                };
                assert_eq!(m.vgprs[register][lane], want, "{shown} lane {lane} component {n}");
            }
            let behind = 8 + usize::from(count);
            let want = if status && before.active(lane) { 0 } else { before.vgprs[behind][lane] };
            assert_eq!(m.vgprs[behind][lane], want, "{shown} lane {lane}: the dword behind");
        }
        // A store of 32-bit integers, one lane, and an addition.
        if data == 4 && number == 4 && selectors == texel::IDENTITY {
            let lane = (0..64).find(|&lane| before.active(lane)).unwrap_or(0);
            let mut change = inst(if level { Op::IMAGE_STORE_MIP } else { Op::IMAGE_STORE }, Format::Mimg);
            change.mem = access.mem;
            (change.mem.tfe, change.mem.lwe, change.mem.data) = (false, false, v(8, count));
            // Without the first component it is 0 that is stored.
            let stored = if dmask & 1 != 0 { before.vgprs[8][lane] } else { 0 };
            let mut add = inst(Op::IMAGE_ATOMIC_ADD, Format::Mimg);
            (add.mem, add.mem.dmask) = (change.mem, 1);
            let sum = place(lane)
                .map_or(0, |at| before.global_at(at, 4) as u32)
                .wrapping_add(before.vgprs[8][lane]);
            for (change, want) in [(change, stored), (add, sum)] {
                if change.op == Op::IMAGE_ATOMIC_ADD && level {
                    continue;
                }
                let mut m = before.clone();
                m.exec = 1 << lane;
                m.run(&[change]);
                if let Some(at) = place(lane) {
                    assert_eq!(m.global_at(at, 4), u64::from(want), "{shown}: {:?}", change.op);
                    m.store_global(at, 4, before.global_at(at, 4));
                }
                assert!(m.global == before.global, "{shown}: {:?} elsewhere", change.op);
            }
        }
    }
}

const WIDTH: u32 = 12;
const HEIGHT: u32 = 6;
const DEPTH: u32 = 5;
const PITCH: u32 = 16;

/// An image of [`WIDTH`] times [`HEIGHT`] texels, or as much as its type has of these, of one or three levels. It has
/// [`DEPTH`] slices if it has three dimensions, six if it is a cube, else three.
#[derive(Debug)]
struct Surface {
    kind: u32,
    old: bool,
    aligned: bool,
    pow2_pad: bool,
    bytes: u32,
    pitch: u32,
    several: bool,
}

impl Surface {
    /// Width, height and slices of a level.
    fn size_at(&self, level: u32) -> [u32; 3] {
        let at = |size: u32| (size >> level).max(1);
        let height = if matches!(self.kind, 8 | 12) { 1 } else { HEIGHT };
        let slices = match self.kind {
            10 => at(DEPTH),
            11 => 6,
            _ => 3,
        };
        [at(WIDTH), at(height), slices]
    }

    /// First byte, pitch and rows of all levels: docs/hardware/graphics-gcn.md sections 4.1 to 4.3, step by step.
    fn levels(&self) -> Vec<(u64, u32, u32)> {
        let count = if self.several { 3 } else { 1 };
        let rows =
            |level: u32| if level == 0 { self.size_at(0)[1] } else { rows_below(self.size_at(0)[1], level) };
        if !self.old && !self.several {
            return vec![(0, self.pitch, rows(0))];
        }
        if !self.old {
            let pitch = (WIDTH..).find(|pitch| (pitch * self.bytes).is_multiple_of(256)).unwrap();
            let start = |level: u32| u64::from((0..level).map(rows).sum::<u32>() * pitch * self.bytes);
            return (0..count).map(|level| (start(level), pitch, (0..count).map(rows).sum())).collect();
        }
        let mut start = 0;
        let mut levels = Vec::new();
        for level in 0..count {
            let [_, height, slices] = self.size_at(level);
            let padded = |n: u32| if level > 0 || self.pow2_pad { n.next_power_of_two() } else { n };
            let (rows, slices) = (padded(height), padded(slices));
            let narrow = padded(self.pitch >> level);
            let fits = |pitch: &u32| {
                let row = (pitch * self.bytes).is_multiple_of(64) && pitch.is_multiple_of(8);
                row && (pitch * rows * self.bytes).is_multiple_of(256) && (pitch * rows).is_multiple_of(64)
            };
            let pitch = match level {
                0 => self.pitch,
                _ if self.aligned => (narrow..).find(fits).unwrap(),
                _ => narrow,
            };
            levels.push((start, pitch, rows));
            start += u64::from(pitch * rows * slices * self.bytes);
            if self.aligned {
                start = start.next_multiple_of(256);
            }
        }
        levels
    }

    fn words(
        &self,
        (data, number, selectors): (u32, u32, u32),
        slices: [u32; 2],
        levels: [u32; 2],
    ) -> [u32; 8] {
        let tiling = match self.old {
            true if self.aligned => 8,
            true => 31,
            false => 0,
        };
        // What one dimension has no use for.
        let height = if matches!(self.kind, 8 | 12) { 3 } else { HEIGHT - 1 };
        let pitch = match self.levels()[..] {
            [(_, _, rows), _, _] if !self.old => rows,
            _ => self.pitch,
        };
        let depth = match self.kind {
            10 => DEPTH - 1,
            _ if !self.old => slices[1],
            11 => 0,
            _ => 2,
        };
        [
            (BASE >> 8) as u32,
            (BASE >> 40) as u32 | data << 20 | number << 26,
            (WIDTH - 1) | height << 14,
            selectors
                | levels[0] << 12
                | levels[1] << 16
                | tiling << 20
                | u32::from(self.pow2_pad && self.old) << 25
                | self.kind << 28,
            depth | (pitch - 1) << 13,
            slices[0] | if self.old { slices[1] << 13 } else { u32::from(self.several) << 29 },
            0,
            0,
        ]
    }
}

/// Rows of a level of 1.4: half of those of the level before, rounded up.
fn rows_below(height: u32, level: u32) -> u32 {
    (0..level).fold(height, |rows, _| rows.div_ceil(2))
}

/// First and last slices and levels of resources.
const RANGES: [[u32; 2]; 5] = [[0, 0], [0, 2], [1, 1], [1, 2], [2, 2]];

/// Resources that are no image are refused before anything is read, and so are swizzle modes that there are not.
#[test]
fn other_resources_fault() {
    let mut random = Random(36);
    for generation in Generation::ALL {
        let old = generation != Generation::Gfx9;
        for kind in 0..16u32 {
            for tiling in [0, 1, 8, 14, 20, 31] {
                let good = kind >= 8 && (old || !matches!(tiling, 14 | 31));
                for op in [Op::IMAGE_LOAD, Op::IMAGE_STORE, Op::IMAGE_ATOMIC_ADD, Op::IMAGE_GET_RESINFO] {
                    let mut m = Machine::new(generation, &mut random);
                    let mut words = image(generation, 4, 4);
                    words[3] = texel::IDENTITY | tiling << 20 | kind << 28;
                    words.iter().enumerate().for_each(|(n, &word)| m.set(format!("s{}", 16 + n), word));
                    (m.vgprs[1], m.vgprs[2]) = ([3; 64], [4; 64]);
                    let mut access = inst(op, Format::Mimg);
                    (access.mem.addr, access.mem.base, access.mem.dmask) = (v(1, 2), s(16, 8), 1);
                    match op {
                        Op::IMAGE_LOAD | Op::IMAGE_GET_RESINFO => access.dst = v(8, 1),
                        _ => access.mem.data = v(8, 1),
                    }
                    let before = m.clone();
                    match m.try_run(&[access]) {
                        // Sizes are in the resource whatever it is for.
                        Ok(_) => assert!(good || op == Op::IMAGE_GET_RESINFO, "{generation} {kind} {tiling}"),
                        // Tiles may reach beyond memory.
                        Err(Flow::Fault(fault)) if good && fault.kind == FaultKind::Memory => {
                            assert!(tiling > 0 || old)
                        }
                        Err(Flow::Fault(fault)) => {
                            assert!(!good, "{generation} {kind} {tiling}: {fault:?}");
                            assert!(matches!(fault.kind, FaultKind::Texture(None, _)) && fault.pc == 0);
                            assert!(m.global == before.global);
                        }
                        Err(other) => panic!("{other:?}"),
                    }
                }
            }
        }
    }
}

#[test]
fn image_sizes_and_atomics() {
    let mut random = Random(34);
    let mut m = Machine::new(Generation::Gfx8, &mut random);
    m.exec = u64::MAX;
    let mut words = image(m.generation, 4, 4);
    // Two levels.
    words[3] |= 1 << 16;
    words.iter().enumerate().for_each(|(n, &word)| m.set(format!("s{}", 16 + n), word));
    m.vgprs[1] = [2; 64];
    m.vgprs[2] = [3; 64];
    m.vgprs[3] = [1; 64];
    let before = m.clone();
    let mut size = inst(Op::IMAGE_GET_RESINFO, Format::Mimg);
    (size.mem.addr, size.mem.base, size.mem.dmask, size.dst) = (v(3, 1), s(16, 8), 0xf, v(8, 4));
    let mut add = inst(Op::IMAGE_ATOMIC_ADD, Format::Mimg);
    (add.mem.addr, add.mem.base, add.mem.dmask, add.mem.data) = (v(1, 2), s(16, 8), 1, v(3, 1));
    m.run(&[size, add]);
    assert_eq!([8, 9, 10, 11].map(|n: usize| m.vgprs[n][17]), [10, 5, 1, 2]);
    let at = BASE + 4 * (3 * 32 + 2);
    assert_eq!(m.global_at(at, 4) as u32, (before.global_at(at, 4) as u32).wrapping_add(64));
}

/// Formats that images can have, but not here, are refused; without a format nothing is there, whatever the rest of the resource says.
#[test]
fn formats_of_images() {
    let mut random = Random(37);
    for generation in Generation::ALL {
        for (data, number) in (0..64).map(|data| (data, 4)).chain((0..16).map(|number| (10, number))) {
            // Stencils beside depths of 16 or 32 bits.
            let stencil = generation == Generation::Gfx9 && matches!(data, 59 | 60);
            let known = matches!(data, 1..=14 | 16..=22 | 34 | 57 | 58) || stencil;
            let known = known && matches!(number, 0..=7 | 9);
            for op in [Op::IMAGE_LOAD, Op::IMAGE_STORE, Op::IMAGE_ATOMIC_ADD] {
                // With a common exponent there are floats only. Loads give 0 for all else.
                let known = known && (op != Op::IMAGE_STORE || data != 34 || number == 7);
                let mut m = Machine::new(generation, &mut random);
                let mut words = image(generation, data, number);
                if data == 0 && op == Op::IMAGE_ATOMIC_ADD {
                    words = [0; 8];
                }
                words.iter().enumerate().for_each(|(n, &word)| m.set(format!("s{}", 16 + n), word));
                m.vgprs[1] = [0; 64];
                m.vgprs[2] = [0; 64];
                let mut access = inst(op, Format::Mimg);
                (access.mem.addr, access.mem.base, access.mem.dmask) = (v(1, 2), s(16, 8), 1);
                match op {
                    Op::IMAGE_LOAD => access.dst = v(8, 1),
                    _ => access.mem.data = v(8, 1),
                }
                if op == Op::IMAGE_ATOMIC_ADD {
                    (access.mem.glc, access.dst) = (true, v(8, 1));
                }
                let before = m.clone();
                let shown = format!("{generation} {data} {number} {op:?}");
                match m.try_run(&[access]) {
                    Ok(_) => assert!(known || data == 0, "{shown}"),
                    Err(Flow::Fault(fault)) => {
                        assert!(!known && data != 0, "{shown}");
                        assert!(matches!(fault.kind, FaultKind::Texture(None, _)) && fault.pc == 0);
                    }
                    Err(other) => panic!("{other:?}"),
                }
                if !known {
                    assert!(m.global == before.global, "{shown}");
                }
                if data == 0 && op != Op::IMAGE_STORE {
                    (0..64)
                        .filter(|&lane| before.active(lane))
                        .for_each(|lane| assert_eq!(m.vgprs[8][lane], 0));
                }
            }
        }
    }
}

/// Sizes at levels of detail, slices and levels of parts of an image, of all types.
#[test]
fn sizes_of_parts() {
    let mut random = Random(38);
    for generation in Generation::ALL {
        let old = generation != Generation::Gfx9;
        for kind in 8..16u32 {
            for [first_level, last_level] in RANGES {
                for [first_slice, last_slice] in RANGES {
                    let mut m = Machine::new(generation, &mut random);
                    m.exec = u64::MAX;
                    let mut words = image(generation, 10, 0);
                    // A tiled one.
                    words[3] = texel::IDENTITY | first_level << 12 | last_level << 16 | 14 << 20 | kind << 28;
                    // 12 slices in all, or that depth.
                    words[4] = if old || kind == 10 { 11 } else { last_slice };
                    words[5] = first_slice | if old { last_slice << 13 } else { 0 };
                    words.iter().enumerate().for_each(|(n, &word)| m.set(format!("s{}", 16 + n), word));
                    m.vgprs[3] =
                        std::array::from_fn(|lane| if lane == 63 { u32::MAX } else { lane as u32 % 8 });
                    let mut size = inst(Op::IMAGE_GET_RESINFO, Format::Mimg);
                    (size.mem.addr, size.mem.base, size.mem.dmask, size.dst) =
                        (v(3, 1), s(16, 8), 0xf, v(8, 4));
                    let before = m.clone();
                    m.run(&[size]);
                    for lane in 0..64 {
                        let level = u64::from(before.vgprs[3][lane]) + u64::from(first_level);
                        let mut want = [0; 4];
                        // With several samples a texel there is one level.
                        let last_level = if kind > 13 { first_level } else { last_level };
                        want[3] = last_level - first_level + 1;
                        if level <= u64::from(last_level) {
                            want[0] = [20, 10, 5][level as usize];
                            want[1] = match kind {
                                8 => 1,
                                // The slices again.
                                12 => last_slice - first_slice + 1,
                                _ => [10, 5, 2][level as usize],
                            };
                            want[2] = if kind == 10 {
                                [12, 6, 3][level as usize]
                            } else {
                                last_slice - first_slice + 1
                            };
                        }
                        let got = [8, 9, 10, 11].map(|n: usize| m.vgprs[n][lane]);
                        assert_eq!(
                            got, want,
                            "{generation} {kind} levels {first_level}..{last_level} lane {lane}"
                        );
                    }
                }
            }
        }
    }
    // Nothing has no size.
    let mut m = Machine::new(Generation::Gfx8, &mut random);
    m.exec = u64::MAX;
    (16..24).for_each(|n| m.set(format!("s{n}"), 0));
    m.vgprs[3] = [0; 64];
    let mut size = inst(Op::IMAGE_GET_RESINFO, Format::Mimg);
    (size.mem.addr, size.mem.base, size.mem.dmask, size.dst) = (v(3, 1), s(16, 8), 0xf, v(8, 4));
    m.run(&[size]);
    assert_eq!([8, 9, 10, 11].map(|n: usize| m.vgprs[n][40]), [0; 4]);
}

/// Compressed images, which 1.2 and later have, are refused; levels of texels of three words are not.
#[test]
fn compressed_images_and_levels_of_three_words() {
    let mut random = Random(39);
    for generation in Generation::ALL {
        let old = generation != Generation::Gfx9;
        for (compressed, data, last_level) in [(false, 10, 0), (true, 10, 0), (false, 13, 0), (false, 13, 1)]
        {
            let mut m = Machine::new(generation, &mut random);
            let mut words = image(generation, data, 4);
            words[3] |= last_level << 16;
            words[5] |= if old { 0 } else { last_level << 28 };
            words[6] |= u32::from(compressed) << 21;
            words.iter().enumerate().for_each(|(n, &word)| m.set(format!("s{}", 16 + n), word));
            (m.vgprs[1], m.vgprs[2]) = ([3; 64], [4; 64]);
            let mut load = inst(Op::IMAGE_LOAD, Format::Mimg);
            (load.mem.addr, load.mem.base, load.mem.dmask, load.dst) = (v(1, 2), s(16, 8), 1, v(8, 1));
            let refused = compressed && matches!(generation, Generation::Gfx8 | Generation::Gfx9);
            match m.try_run(&[load]) {
                Ok(_) => assert!(!refused, "{generation} {compressed} {data} {last_level}"),
                Err(Flow::Fault(fault)) => {
                    assert!(refused, "{generation} {compressed} {data} {last_level}");
                    assert!(matches!(fault.kind, FaultKind::Texture(None, _)) && fault.pc == 0);
                }
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}
