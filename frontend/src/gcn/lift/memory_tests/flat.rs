//! Tests flat, global and scratch memory.

use super::*;
use crate::gcn::Segment;
use crate::gcn::map::SCRATCH_ADDRESS;

fn flat(op: Op, segment: Segment) -> Inst {
    let mut flat = inst(op, Format::Flat);
    flat.mem.segment = segment;
    flat.mem.addr = v(1, 2);
    flat
}

fn set_addresses(m: &mut Machine, address: impl Fn(usize) -> u64) {
    m.vgprs[1] = std::array::from_fn(|lane| address(lane) as u32);
    m.vgprs[2] = std::array::from_fn(|lane| (address(lane) >> 32) as u32);
}

#[test]
fn global_memory() {
    let mut random = Random(40);
    for generation in [Generation::Gfx7, Generation::Gfx8, Generation::Gfx9] {
        let mut m = Machine::new(generation, &mut random);
        // Any alignment; inactive lanes point nowhere.
        let (exec, noise) = (m.exec, random.lanes(|r| r.below(0x1000)));
        set_addresses(
            &mut m,
            |lane| if exec >> lane & 1 != 0 { BASE + 100 + u64::from(noise[lane]) } else { 7 },
        );
        let before = m.clone();
        let mut load = flat(Op::FLAT_LOAD_DWORDX3, Segment::Flat);
        (load.dst, load.mem.tfe) = (v(8, 4), true);
        let mut byte = flat(Op::FLAT_LOAD_SBYTE, Segment::Flat);
        byte.dst = v(12, 1);
        m.run(&[load, byte]);
        for lane in (0..64).filter(|&lane| before.active(lane)) {
            let at = BASE + 100 + u64::from(noise[lane]);
            for word in 0..3 {
                assert_eq!(u64::from(m.vgprs[8 + word][lane]), before.global_at(at + 4 * word as u64, 4));
            }
            assert_eq!(m.vgprs[11][lane], 0, "nothing failed");
            assert_eq!(m.vgprs[12][lane], before.global_at(at, 1) as i8 as u32);
        }
    }
}

#[test]
fn scalar_bases_and_offsets() {
    let mut random = Random(41);
    let mut m = Machine::new(Generation::Gfx9, &mut random);
    m.set_pair(20, BASE + 0x100);
    m.vgprs[1] = std::array::from_fn(|lane| 24 * lane as u32);
    let before = m.clone();
    let with = |op, offset| {
        let mut with = flat(op, Segment::Global);
        (with.mem.addr, with.mem.saddr, with.mem.offset) = (v(1, 1), s(20, 2), offset);
        with
    };
    let mut load = with(Op::FLAT_LOAD_DWORDX2, -16);
    load.dst = v(8, 2);
    let mut store = with(Op::FLAT_STORE_DWORD, 0x1000);
    store.mem.data = v(12, 1);
    let mut add = with(Op::FLAT_ATOMIC_ADD_X2, 0x2000);
    (add.mem.data, add.dst) = (v(14, 2), v(16, 2));
    m.run(&[load, store, add]);
    let pair = |m: &Machine, n: usize, lane: usize| {
        u64::from(m.vgprs[n][lane]) | u64::from(m.vgprs[n + 1][lane]) << 32
    };
    for lane in 0..64 {
        let at = BASE + 0x100 + 24 * lane as u64;
        let active = before.active(lane);
        let loaded = if active { before.global_at(at - 16, 8) } else { pair(&before, 8, lane) };
        assert_eq!(pair(&m, 8, lane), loaded);
        let stored = if active { before.vgprs[12][lane].into() } else { before.global_at(at + 0x1000, 4) };
        assert_eq!(m.global_at(at + 0x1000, 4), stored);
        let old = before.global_at(at + 0x2000, 8);
        let new = if active { old.wrapping_add(pair(&before, 14, lane)) } else { old };
        assert_eq!(m.global_at(at + 0x2000, 8), new);
        assert_eq!(pair(&m, 16, lane), if active { old } else { pair(&before, 16, lane) });
    }
}

/// Where a byte of a lane's scratch is.
fn in_scratch(base: u64, lane: usize, offset: u32) -> u64 {
    base + u64::from(offset / 4 * 256 + offset % 4) + 4 * lane as u64
}

#[test]
fn scratch_is_interleaved() {
    let mut random = Random(42);
    let mut m = Machine::new(Generation::Gfx9, &mut random);
    let base = BASE + 0x200;
    m.set("flat_scratch_lo", base as u32);
    m.set("flat_scratch_hi", (base >> 32) as u32);
    m.set("s30", 20);
    m.vgprs[1] = random.lanes(|r| r.below(40));
    let before = m.clone();
    let mut load = flat(Op::FLAT_LOAD_DWORDX2, Segment::Scratch);
    (load.mem.addr, load.mem.saddr, load.mem.offset, load.dst) = (None, s(30, 1), 4, v(8, 2));
    let mut byte = flat(Op::FLAT_LOAD_UBYTE, Segment::Scratch);
    (byte.mem.addr, byte.dst) = (v(1, 1), v(10, 1));
    let mut store = flat(Op::FLAT_STORE_SHORT, Segment::Scratch);
    (store.mem.addr, store.mem.saddr, store.mem.offset, store.mem.data) = (None, s(30, 1), 42, v(12, 1));
    m.run(&[load, byte, store]);
    for lane in (0..64).filter(|&lane| before.active(lane)) {
        assert_eq!(u64::from(m.vgprs[8][lane]), before.global_at(in_scratch(base, lane, 24), 4));
        assert_eq!(u64::from(m.vgprs[9][lane]), before.global_at(in_scratch(base, lane, 28), 4));
        let offset = before.vgprs[1][lane];
        assert_eq!(u64::from(m.vgprs[10][lane]), before.global_at(in_scratch(base, lane, offset), 1));
        let at = in_scratch(base, lane, 62);
        assert_eq!(m.global_at(at, 2), u64::from(before.vgprs[12][lane] & 0xffff));
    }
}

/// An unaligned value in scratch is in two dwords, which the interleaving puts apart from each other.
#[test]
fn unaligned_scratch() {
    let mut random = Random(44);
    let base = BASE + 0x200;
    let ops = [
        (Op::FLAT_LOAD_DWORDX3, Op::FLAT_STORE_DWORDX3, 12),
        (Op::FLAT_LOAD_DWORD, Op::FLAT_STORE_DWORD, 4),
        (Op::FLAT_LOAD_SSHORT, Op::FLAT_STORE_SHORT, 2),
    ];
    // An offset of the lane's, a scalar one, a known one; generic addresses.
    for (kind, &(load, store, bytes)) in (0..4).flat_map(|kind| ops.iter().map(move |op| (kind, op))) {
        let mut m = Machine::new(Generation::Gfx9, &mut random);
        m.apertures = kind == 3;
        m.set("flat_scratch_lo", base as u32);
        m.set("flat_scratch_hi", (base >> 32) as u32);
        m.set("s30", 21);
        let noise = random.lanes(|r| r.below(40));
        match kind {
            3 => set_addresses(&mut m, |lane| match lane % 2 {
                0 => (u64::from(PRIVATE) << 32) + u64::from(noise[lane]),
                _ => BASE + 0x3001 + 16 * lane as u64,
            }),
            _ => m.vgprs[1] = noise,
        }
        let with = |op, offset: i32| {
            let mut with = flat(op, if kind == 3 { Segment::Flat } else { Segment::Scratch });
            with.mem.offset = offset;
            if kind != 3 {
                with.mem.addr = if kind == 0 { v(1, 1) } else { None };
                with.mem.saddr = if kind == 1 { s(30, 1) } else { None };
            }
            with
        };
        let at = |lane: usize, offset: u32, byte: u32| match kind {
            0 => in_scratch(base, lane, noise[lane] + offset + byte),
            1 => in_scratch(base, lane, 21 + offset + byte),
            2 => in_scratch(base, lane, offset + byte),
            _ if lane.is_multiple_of(2) => in_scratch(base, lane, noise[lane] + offset + byte),
            _ => BASE + 0x3001 + 16 * lane as u64 + u64::from(offset + byte),
        };
        for offset in 3..6 {
            let before = m.clone();
            let (mut load, mut store) = (with(load, offset), with(store, offset + 60));
            (load.dst, store.mem.data) = (v(8, 3), v(12, 3));
            if kind == 3 {
                store.mem.offset = offset;
            }
            let stored = store.mem.offset as u32;
            // Generic accesses are split where the program has scratch instructions, too.
            let mut other = flat(Op::FLAT_LOAD_UBYTE, Segment::Scratch);
            (other.mem.addr, other.dst) = (None, v(20, 1));
            m.run(&[load, store, other]);
            let read = |m: &Machine, lane, offset: u32| {
                (0..bytes).map(|byte| m.global_at(at(lane, offset, byte), 1) as u8).collect::<Vec<u8>>()
            };
            for lane in 0..64 {
                let registers = |m: &Machine, first: usize, bytes: u32| {
                    let words = (0..3).flat_map(|n| m.vgprs[first + n][lane].to_le_bytes());
                    words.take(bytes as usize).collect::<Vec<u8>>()
                };
                if !before.active(lane) {
                    assert_eq!(registers(&m, 8, 12), registers(&before, 8, 12));
                    assert_eq!(read(&m, lane, stored), read(&before, lane, stored));
                    continue;
                }
                let mut want = read(&before, lane, offset as u32);
                if bytes == 2 {
                    let sign = if want[1] > 0x7f { 0xff } else { 0 };
                    want.extend([sign, sign]);
                }
                assert_eq!(registers(&m, 8, bytes.max(4)), want, "{kind} {load:?} {lane}");
                assert_eq!(read(&m, lane, stored), registers(&before, 12, bytes), "{kind} {store:?} {lane}");
            }
        }
    }
}

/// Every lane somewhere else.
#[test]
fn apertures() {
    let mut random = Random(43);
    for generation in [Generation::Gfx8, Generation::Gfx9] {
        let mut m = Machine::new(generation, &mut random);
        m.apertures = true;
        // 1.2 counts units of 256 bytes from a base that is not in this test's memory: no lane is in scratch there.
        let base = BASE + 0x1000;
        m.set("flat_scratch_lo", base as u32);
        m.set("flat_scratch_hi", (base >> 32) as u32);
        let scratch = generation == Generation::Gfx9;
        assert!(scratch || !(BASE..BASE + GLOBAL_BYTES as u64).contains(&SCRATCH_ADDRESS));
        let kind = move |lane: usize| if scratch { lane % 3 } else { lane % 2 };
        set_addresses(&mut m, |lane| match kind(lane) {
            0 => BASE + 0x3000 + 16 * lane as u64,
            1 => (u64::from(SHARED) << 32) + 16 * lane as u64,
            _ => (u64::from(PRIVATE) << 32) + 8,
        });
        let before = m.clone();
        let word = |m: &Machine, lane: usize, n: u32| match kind(lane) {
            0 => m.global_at(BASE + 0x3000 + 16 * lane as u64 + u64::from(4 * n), 4) as u32,
            1 => read(&m.lds, 16 * lane as u64 + u64::from(4 * n), 4) as u32,
            _ => m.global_at(in_scratch(base, lane, 8 + 4 * n), 4) as u32,
        };
        let mut load = flat(Op::FLAT_LOAD_DWORDX2, Segment::Flat);
        load.dst = v(8, 2);
        let mut add = flat(Op::FLAT_ATOMIC_ADD, Segment::Flat);
        (add.mem.data, add.dst) = (v(12, 1), v(13, 1));
        m.run(&[load, add]);
        for lane in (0..64).filter(|&lane| before.active(lane)) {
            assert_eq!(m.vgprs[8][lane], word(&before, lane, 0), "{generation} {lane}");
            assert_eq!(m.vgprs[9][lane], word(&before, lane, 1), "{generation} {lane}");
            assert_eq!(m.vgprs[13][lane], word(&before, lane, 0), "{generation} {lane}");
            let sum = word(&before, lane, 0).wrapping_add(before.vgprs[12][lane]);
            assert_eq!(word(&m, lane, 0), sum, "{generation} {lane}");
        }
        let before = m.clone();
        let mut store = flat(Op::FLAT_STORE_DWORDX2, Segment::Flat);
        store.mem.data = v(14, 2);
        m.run(&[store]);
        for lane in 0..64 {
            for n in 0..2 {
                let register = before.vgprs[14 + n as usize][lane];
                let want = if before.active(lane) { register } else { word(&before, lane, n) };
                assert_eq!(word(&m, lane, n), want, "{generation} {lane}");
            }
        }
    }
}
