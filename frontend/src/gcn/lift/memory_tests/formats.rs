//! Tests typed buffers: conversion of formats.

use super::*;
use crate::gcn::texel;

/// Bytes of memory as a number.
pub(super) fn raw(m: &Machine, at: u64, bytes: u32) -> u128 {
    (0..bytes).rev().fold(0, |v, i| v << 8 | u128::from(m.global_at(at + u64::from(i), 1) as u8))
}

/// A component of a texel, as [`texel`] says, whose own tests have the figures.
pub(super) fn component(data: u32, number: u32, selector: u32, texel: u128) -> u32 {
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
                for half in 0..2 {
                    let args = [u64::from(format), pair(8), pair(10), half];
                    want |= u128::from((texel::STORE.eval)(&args)) << (64 * half);
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
