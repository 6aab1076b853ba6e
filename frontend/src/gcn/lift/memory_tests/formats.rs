//! Typed buffers and images.

use warpjit_ir::interp::FaultKind;

use super::*;
use crate::gcn::texel;

fn raw(m: &Machine, at: u64, bytes: u32) -> u128 {
    (0..bytes).rev().fold(0, |v, i| v << 8 | u128::from(m.global_at(at + u64::from(i), 1) as u8))
}

fn component(data: u32, number: u32, selector: u32, texel: u128) -> u32 {
    let format = texel::pack_format(data, number, selector, false);
    (texel::LOAD.eval)(&[format.into(), texel as u64, (texel >> 64) as u64]) as u32
}

/// All formats, known when they are lifted and not: both have to be what [`texel`] says, whose own tests have the figures.
#[test]
fn all_formats_load_alike_known_or_not() {
    let mut random = Random(30);
    for data in 0..16 {
        for number in 0..8 {
            for known in [true, false] {
                let mut m = Machine::new(Generation::Gfx7, &mut random);
                m.exec = u64::MAX;
                let selectors = [4, 7, 6, 5, 1, 0][..].iter().map(|&s| s as u32).collect::<Vec<_>>();
                let pick = |n: usize| selectors[(n + data as usize) % 6];
                let word = data << 15 | number << 12 | pick(0) | pick(1) << 3 | pick(2) << 6 | pick(3) << 9;
                let words = [BASE as u32, (BASE >> 32) as u32, 0x400, word];
                let mut program = Vec::new();
                for (n, &word) in words.iter().enumerate() {
                    match known {
                        true => program.push(s_mov(20 + n as u8, word)),
                        false => m.set(format!("s{}", 20 + n), word),
                    }
                }
                m.vgprs[1] = std::array::from_fn(|lane| 16 * lane as u32);
                let before = m.clone();
                let mut load = inst(Op::BUFFER_LOAD_FORMAT_XYZW, Format::Mubuf);
                (load.mem.addr, load.mem.base, load.mem.offen, load.dst) = (v(1, 1), s(20, 4), true, v(8, 4));
                program.push(load);
                m.run(&program);
                let bytes = texel::DataFormat::of(data).map_or(0, |format| format.bytes);
                for lane in 0..64 {
                    let offset = 16 * lane as u64;
                    let texel = if offset + u64::from(bytes) <= 0x400 {
                        raw(&before, BASE + offset, bytes)
                    } else {
                        0
                    };
                    for n in 0..4 {
                        let want = component(data, number, pick(n), texel);
                        assert_eq!(m.vgprs[8 + n][lane], want, "{data} {number} {known} {lane} {n}");
                    }
                }
            }
        }
    }
}

#[test]
fn typed_stores() {
    let mut random = Random(31);
    for (data, number) in [(14, 7), (10, 0), (2, 7), (5, 5), (13, 4), (1, 4), (9, 0), (3, 1)] {
        for mtbuf in [true, false] {
            let mut m = Machine::new(Generation::Gfx8, &mut random);
            for register in 8..12 {
                m.vgprs[register] = random.lanes(|r| (r.below(2000) as f32 / 1000.0 - 1.0).to_bits());
            }
            let words =
                [BASE as u32, (BASE >> 32) as u32, 0x400, data << 15 | number << 12 | texel::IDENTITY];
            words.iter().enumerate().for_each(|(n, &word)| m.set(format!("s{}", 20 + n), word));
            m.vgprs[1] = std::array::from_fn(|lane| 16 * lane as u32);
            let before = m.clone();
            let mut store = match mtbuf {
                true => inst(Op::TBUFFER_STORE_FORMAT_XYZW, Format::Mtbuf),
                false => inst(Op::BUFFER_STORE_FORMAT_XYZW, Format::Mubuf),
            };
            (store.mem.addr, store.mem.base, store.mem.offen) = (v(1, 1), s(20, 4), true);
            (store.mem.data, store.mem.dfmt, store.mem.nfmt) = (v(8, 4), data as u8, number as u8);
            m.run(&[store]);
            let bytes = texel::DataFormat::of(data).map_or(0, |format| format.bytes);
            for lane in 0..64 {
                let at = BASE + 16 * lane as u64;
                if !before.active(lane) || 16 * lane as u64 + u64::from(bytes) > 0x400 {
                    assert_eq!(raw(&m, at, 16), raw(&before, at, 16));
                    continue;
                }
                let pair =
                    |n: usize| u64::from(before.vgprs[n][lane]) | u64::from(before.vgprs[n + 1][lane]) << 32;
                let format = texel::pack_format(data, number, texel::IDENTITY, false);
                let mut want = 0;
                for word in 0..4 {
                    let args = [u64::from(format | word << 25), pair(8), pair(10)];
                    want |= u128::from((texel::STORE.eval)(&args)) << (32 * word);
                }
                let kept = !(u128::MAX >> (128 - 8 * bytes));
                let mixed = if bytes == 16 { want } else { want & !kept | raw(&before, at, 16) & kept };
                assert_eq!(raw(&m, at, 16), mixed, "{data} {number} {lane}");
            }
        }
    }
}

/// 16-bit components share registers on 1.4, and have one each on 1.2.
#[test]
fn half_components() {
    let mut random = Random(32);
    for generation in [Generation::Gfx8, Generation::Gfx9] {
        let mut m = Machine::new(generation, &mut random);
        let words = [BASE as u32, (BASE >> 32) as u32, 0x4000, 10 << 15 | texel::IDENTITY];
        words.iter().enumerate().for_each(|(n, &word)| m.set(format!("s{}", 20 + n), word));
        m.vgprs[1] = std::array::from_fn(|lane| 4 * lane as u32);
        let before = m.clone();
        let packed = generation == Generation::Gfx9;
        let typed = |op, n: u8| {
            let mut typed = inst(op, Format::Mubuf);
            (typed.mem.addr, typed.mem.base, typed.mem.offen) = (v(1, 1), s(20, 4), true);
            (typed.mem.data, typed.dst) = (v(n, 4), v(n, 4));
            typed
        };
        let mut store = typed(Op::BUFFER_STORE_FORMAT_D16_XYZW, 8);
        (store.dst, store.mem.offset) = (None, 0x1000);
        m.run(&[typed(Op::BUFFER_LOAD_FORMAT_D16_XYZW, 8), store]);
        for lane in (0..64).filter(|&lane| before.active(lane)) {
            let texel = raw(&before, BASE + 4 * lane as u64, 4);
            for n in 0..4 {
                let want = texel::to_f16(component(10, 0, 4 + n as u32, texel));
                let word =
                    if packed { m.vgprs[8 + n / 2][lane] >> (16 * (n % 2)) } else { m.vgprs[8 + n][lane] };
                assert_eq!(word & 0xffff, want);
                assert!(packed || word >> 16 == 0);
            }
            // An f16 holds eight bits exactly enough.
            assert_eq!(raw(&m, BASE + 0x1000 + 4 * lane as u64, 4), texel);
        }
    }
}

/// An image of 20 times 10 texels with rows of 32.
fn image(data: u32, number: u32) -> [u32; 8] {
    let base = BASE >> 8;
    [
        base as u32,
        (base >> 32) as u32 | data << 20 | number << 26,
        19 | 9 << 14,
        texel::IDENTITY | 9 << 28,
        31 << 13,
        0,
        0,
        0,
    ]
}

#[test]
fn images() {
    let mut random = Random(33);
    // 8-bit components; 32-bit ones; 16-bit floats.
    for (data, number, bytes) in [(10, 4, 4), (14, 4, 16), (5, 7, 4)] {
        let mut m = Machine::new(Generation::Gfx7, &mut random);
        image(data, number).iter().enumerate().for_each(|(n, &word)| m.set(format!("s{}", 16 + n), word));
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

/// Loads and stores of images of all generations, with their modifiers, against places and texels worked out here.
#[test]
fn images_with_all_modifiers() {
    let mut random = Random(35);
    for round in 0..160usize {
        let generation = Generation::ALL[round % 4];
        let mut m = Machine::new(generation, &mut random);
        let (data, bytes) =
            [(1, 1), (2, 2), (3, 2), (4, 4), (5, 4), (9, 4), (10, 4), (11, 8), (12, 8), (14, 16)]
                [random.below(10) as usize];
        let number = [0, 1, 4, 5][random.below(4) as usize];
        let selectors = [texel::IDENTITY, 4 | 1 << 3 | 7 << 6 | 5 << 9][random.below(2) as usize];
        let (slices, level, short) = (random.below(2) == 1, random.below(2) == 1, random.below(4) == 0);
        let mut words = image(data, number);
        let tiling = match generation {
            Generation::Gfx9 => 0,
            _ => [0, 8, 31][random.below(3) as usize],
        };
        words[3] = selectors | tiling << 20 | if slices { 13 } else { 9 } << 28;
        // Three slices.
        words[4] |= 2;
        words.iter().enumerate().for_each(|(n, &word)| m.set(format!("s{}", 16 + n), word));
        // `r128`: half a resource without a pitch up to 1.2, coordinates of 16 bits on 1.4.
        let halves = short && generation == Generation::Gfx9;
        let pitch = if short && !halves { 20 } else { 32 };
        let depth = if short && !halves { 1 } else { 3 };
        let mut coordinates = vec![random.lanes(|r| r.below(23)), random.lanes(|r| r.below(12))];
        if slices {
            coordinates.push(random.lanes(|r| r.below(4)));
        }
        if level {
            coordinates.push(random.lanes(|r| r.below(8) / 7));
        }
        if halves {
            for (n, pair) in coordinates.chunks(2).enumerate() {
                m.vgprs[1 + n] = std::array::from_fn(|lane| {
                    pair[0][lane] | pair.get(1).map_or(0, |high| high[lane] << 16)
                });
            }
        } else {
            coordinates.iter().enumerate().for_each(|(n, &lanes)| m.vgprs[1 + n] = lanes);
        }
        let dmask = 1 + random.below(15) as u8;
        let count = dmask.count_ones() as u8;
        let before = m.clone();
        let place = |lane: usize| {
            let (x, y) = (coordinates[0][lane], coordinates[1][lane]);
            let slice = if slices { coordinates[2][lane] } else { 0 };
            let first = !level || coordinates[coordinates.len() - 1][lane] == 0;
            let inside = x < 20 && y < 10 && slice < depth && first;
            inside.then(|| BASE + u64::from(((slice * 10 + y) * pitch + x) * bytes))
        };
        let mut access = inst(if level { Op::IMAGE_LOAD_MIP } else { Op::IMAGE_LOAD }, Format::Mimg);
        (access.mem.addr, access.mem.base) = (v(1, 4), s(16, 8));
        (access.mem.dmask, access.mem.da, access.mem.r128) = (dmask, slices, short);
        // The dword behind says that all was there.
        access.mem.tfe = random.below(2) == 0;
        access.mem.lwe = random.below(4) == 0;
        let status = access.mem.tfe || access.mem.lwe;
        access.dst = v(8, count + u8::from(status));
        m.run(&[access]);
        let shown = format!("round {round} {generation} data {data} number {number} mask {dmask:x}");
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
        // A store of 32-bit integers, one lane.
        if data == 4 && number == 4 && selectors == texel::IDENTITY {
            let lane = (0..64).find(|&lane| before.active(lane)).unwrap_or(0);
            let mut m = before.clone();
            m.exec = 1 << lane;
            let mut store = inst(if level { Op::IMAGE_STORE_MIP } else { Op::IMAGE_STORE }, Format::Mimg);
            store.mem = access.mem;
            (store.mem.tfe, store.mem.lwe, store.mem.data) = (false, false, v(8, count));
            m.run(&[store]);
            if let Some(at) = place(lane) {
                // Without the first component it is 0 that is stored.
                let want = if dmask & 1 != 0 { before.vgprs[8][lane] } else { 0 };
                assert_eq!(m.global_at(at, 4), u64::from(want), "{shown}: store");
                m.store_global(at, 4, before.global_at(at, 4));
            }
            assert!(m.global == before.global, "{shown}: a store elsewhere");
        }
    }
}

/// Tiled images, and resources that are no two-dimensional image, are refused before anything is read.
#[test]
fn other_resources_are_illegal() {
    let mut random = Random(36);
    for generation in Generation::ALL {
        let old = generation != Generation::Gfx9;
        for kind in 0..16u32 {
            for tiling in [0, 1, 8, 14, 20, 31] {
                let good = matches!(kind, 9 | 13) && (tiling == 0 || old && matches!(tiling, 8 | 31));
                for op in [Op::IMAGE_LOAD, Op::IMAGE_STORE, Op::IMAGE_ATOMIC_ADD, Op::IMAGE_GET_RESINFO] {
                    let mut m = Machine::new(generation, &mut random);
                    let mut words = image(4, 4);
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
                        Err(Flow::Fault(fault)) => {
                            assert!(!good, "{generation} {kind} {tiling}");
                            assert_eq!((fault.kind, fault.pc), (FaultKind::Illegal, 0));
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
    image(4, 4).iter().enumerate().for_each(|(n, &word)| m.set(format!("s{}", 16 + n), word));
    m.vgprs[1] = [2; 64];
    m.vgprs[2] = [3; 64];
    m.vgprs[3] = [1; 64];
    let before = m.clone();
    let mut size = inst(Op::IMAGE_GET_RESINFO, Format::Mimg);
    (size.mem.addr, size.mem.base, size.mem.dmask, size.dst) = (v(3, 1), s(16, 8), 0xf, v(8, 4));
    let mut add = inst(Op::IMAGE_ATOMIC_ADD, Format::Mimg);
    (add.mem.addr, add.mem.base, add.mem.dmask, add.mem.data) = (v(1, 2), s(16, 8), 1, v(3, 1));
    m.run(&[size, add]);
    assert_eq!([8, 9, 10, 11].map(|n: usize| m.vgprs[n][17]), [10, 5, 1, 1]);
    let at = BASE + 4 * (3 * 32 + 2);
    assert_eq!(m.global_at(at, 4) as u32, (before.global_at(at, 4) as u32).wrapping_add(64));
}
