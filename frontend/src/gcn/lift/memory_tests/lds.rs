//! Tests LDS accesses.

use super::*;

fn ds(op: Op, change: impl FnOnce(&mut Inst)) -> Inst {
    let mut ds = inst(op, Format::Ds);
    ds.mem.addr = v(1, 1);
    change(&mut ds);
    ds
}

/// The bytes that an access reaches, if it does. The end of the block's LDS is tested for eight bytes at a time.
fn place(m: &Machine, m0: u32, address: u32, offset: u32, bytes: u32) -> Option<u64> {
    let sum = u64::from(address.wrapping_add(offset));
    let limit = if m.generation == Generation::Gfx9 { u32::MAX } else { m0 };
    let limit = u64::from(limit.min(0x1_0000));
    let base_counts = m.generation == Generation::Gfx6 && address >= 0x1_0000;
    (sum + u64::from(bytes) <= limit && !base_counts).then_some(sum)
}

/// Addresses inside, beyond the end, far away and negative.
fn addresses(random: &mut Random) -> [u32; 64] {
    random.lanes(|r| match r.below(8) {
        0 => r.next(),
        1 => 0x1_0000 + r.below(64),
        2 => 0u32.wrapping_sub(r.below(64)),
        3 => LDS_BYTES as u32 - r.below(16),
        _ => r.below(LDS_BYTES as u32 - 300),
    })
}

#[test]
fn loads_and_stores_of_all_widths() {
    let mut random = Random(1);
    use Op::*;
    let loads = [
        (DS_READ_U8, 1, false),
        (DS_READ_I8, 1, true),
        (DS_READ_U16, 2, false),
        (DS_READ_I16, 2, true),
        (DS_READ_B32, 4, false),
        (DS_READ_B64, 8, false),
        (DS_READ_B96, 12, false),
        (DS_READ_B128, 16, false),
    ];
    for generation in Generation::ALL {
        for (n, &(op, bytes, signed)) in loads.iter().enumerate() {
            let mut m = Machine::new(generation, &mut random);
            let m0 = if n % 2 == 0 { u32::MAX } else { 0x800 };
            m.set("m0", m0);
            m.vgprs[1] = addresses(&mut random);
            let offset = if n % 3 == 0 { 0 } else { random.below(256) };
            let before = m.clone();
            let words = u8::div_ceil(bytes, 4);
            m.run(&[ds(op, |i| {
                i.mem.offset = offset as i32;
                i.dst = v(8, words);
            })]);
            for lane in 0..64 {
                for word in 0..words {
                    let at = place(&before, m0, before.vgprs[1][lane], offset, bytes.into());
                    let part = u64::from(8 * (word / 2));
                    let width = (u32::from(bytes) - part as u32).min(8);
                    let value = at.map_or(0, |at| read(&before.lds, at + part, width));
                    let mut want = (value >> (32 * (word % 2))) as u32;
                    if signed {
                        let size = u32::from(bytes);
                        want = ((want << (32 - 8 * size)) as i32 >> (32 - 8 * size)) as u32;
                    }
                    let register = usize::from(8 + word);
                    let want = if before.active(lane) { want } else { before.vgprs[register][lane] };
                    assert_eq!(m.vgprs[register][lane], want, "{op:?} {generation} lane {lane} word {word}");
                }
            }
        }
        for (op, bytes) in
            [(DS_WRITE_B8, 1), (DS_WRITE_B16, 2), (DS_WRITE_B32, 4), (DS_WRITE_B64, 8), (DS_WRITE_B128, 16)]
        {
            let mut m = Machine::new(generation, &mut random);
            let m0 = 0x900;
            m.set("m0", m0);
            m.vgprs[1] = addresses(&mut random);
            let mut want = m.clone();
            for lane in (0..64).filter(|&lane| m.active(lane)) {
                let Some(at) = place(&m, m0, m.vgprs[1][lane], 12, bytes) else { continue };
                // Parts of eight bytes, as they are stored.
                for part in 0..bytes.div_ceil(8) {
                    let data = |n: u32| u64::from(m.vgprs[(8 + 2 * part + n) as usize][lane]);
                    let size = bytes.min(8);
                    write(&mut want.lds, at + u64::from(8 * part), size, data(0) | data(1) << 32);
                }
            }
            let overlap = bytes == 16;
            m.run(&[ds(op, |i| {
                i.mem.offset = 12;
                i.mem.data = v(8, bytes.div_ceil(4) as u8);
            })]);
            // Where lanes overlap, the order of parts and lanes differs.
            assert!(overlap || m.lds == want.lds, "{op:?} {generation}");
        }
    }
}

#[test]
fn halves_of_registers() {
    let mut random = Random(2);
    let mut m = Machine::new(Generation::Gfx9, &mut random);
    m.exec = u64::MAX;
    m.vgprs[1] = std::array::from_fn(|lane| 8 * lane as u32);
    let before = m.clone();
    m.run(&[
        ds(Op::DS_READ_U8_D16, |i| i.dst = v(8, 1)),
        ds(Op::DS_READ_I8_D16_HI, |i| i.dst = v(9, 1)),
        ds(Op::DS_READ_U16_D16_HI, |i| i.dst = v(10, 1)),
        ds(Op::DS_WRITE_B8_D16_HI, |i| {
            i.mem.data = v(11, 1);
            i.mem.offset = 1;
        }),
        ds(Op::DS_WRITE_B16_D16_HI, |i| {
            i.mem.data = v(11, 1);
            i.mem.offset = 4;
        }),
    ]);
    for lane in 0..64 {
        let (word, at) = (read(&before.lds, 8 * lane as u64, 4) as u32, 8 * lane as u64);
        let old = |n: usize| before.vgprs[n][lane];
        assert_eq!(m.vgprs[8][lane], old(8) & 0xffff_0000 | word & 0xff);
        assert_eq!(m.vgprs[9][lane], old(9) & 0xffff | (word as i8 as i16 as u32) << 16);
        assert_eq!(m.vgprs[10][lane], old(10) & 0xffff | word << 16);
        let stored = u64::from(old(11));
        assert_eq!(read(&m.lds, at + 1, 1), stored >> 16 & 0xff);
        assert_eq!(read(&m.lds, at + 4, 2), stored >> 16);
    }
}

#[test]
fn two_addresses() {
    let mut random = Random(3);
    for (wide, st64) in [(false, false), (false, true), (true, false), (true, true)] {
        use Op::*;
        let (load, store, exchange) = match (wide, st64) {
            (false, false) => (DS_READ2_B32, DS_WRITE2_B32, DS_WRXCHG2_RTN_B32),
            (false, true) => (DS_READ2ST64_B32, DS_WRITE2ST64_B32, DS_WRXCHG2ST64_RTN_B32),
            (true, false) => (DS_READ2_B64, DS_WRITE2_B64, DS_WRXCHG2_RTN_B64),
            (true, true) => (DS_READ2ST64_B64, DS_WRITE2ST64_B64, DS_WRXCHG2ST64_RTN_B64),
        };
        let (words, size): (u8, u32) = if wide { (2, 8) } else { (1, 4) };
        let offsets = if st64 { [1u8, 3] } else { [60, 0] };
        let scale = size * if st64 { 64 } else { 1 };
        let mut m = Machine::new(Generation::Gfx8, &mut random);
        // Each lane its own words; the last ones are beyond the end.
        m.vgprs[1] = std::array::from_fn(|lane| 64 * lane as u32);
        let before = m.clone();
        let two = |i: &mut Inst| {
            i.mem.offsets = offsets;
            i.mem.data = v(8, words);
            i.mem.data1 = v(12, words);
        };
        m.run(&[
            ds(load, |i| {
                i.mem.offsets = offsets;
                i.dst = v(16, 2 * words);
            }),
            ds(exchange, |i| {
                two(i);
                i.dst = v(20, 2 * words);
            }),
            ds(load, |i| {
                i.mem.offsets = offsets;
                i.dst = v(24, 2 * words);
            }),
            ds(store, |i| {
                two(i);
                std::mem::swap(&mut i.mem.data, &mut i.mem.data1);
            }),
        ]);
        for lane in (0..64).filter(|&lane| before.active(lane)) {
            for (n, offset) in offsets.iter().enumerate() {
                let at = u64::from(before.vgprs[1][lane] + u32::from(*offset) * scale);
                for word in 0..usize::from(words) {
                    let inside = at + u64::from(size) <= LDS_BYTES as u64;
                    let old = if inside { read(&before.lds, at + 4 * word as u64, 4) as u32 } else { 0 };
                    let place = n * usize::from(words) + word;
                    assert_eq!(m.vgprs[16 + place][lane], old, "{load:?} {lane}");
                    // Lanes 64 bytes apart meet with their second address where the first of another was.
                    if !st64 && !wide {
                        let data = before.vgprs[if n == 0 { 8 } else { 12 } + word][lane];
                        let other = before.vgprs[if n == 0 { 12 } else { 8 } + word][lane];
                        assert_eq!(m.vgprs[20 + place][lane], old, "{exchange:?} {lane}");
                        assert_eq!(m.vgprs[24 + place][lane], if inside { data } else { 0 });
                        assert!(!inside || read(&m.lds, at, 4) as u32 == other, "{store:?} {lane}");
                    }
                }
            }
        }
    }
}

/// What an atomic leaves, from the formulas of docs/hardware/gcn.md section 5.
fn result(op: Op, old: u64, a: u64, b: u64) -> u64 {
    use Op::*;
    let (o, x) = (old as u32, a as u32);
    let float = |v: u64| f32::from_bits(v as u32);
    match op {
        DS_ADD_RTN_U32 => u64::from(o.wrapping_add(x)),
        DS_SUB_RTN_U32 => u64::from(o.wrapping_sub(x)),
        DS_RSUB_RTN_U32 => u64::from(x.wrapping_sub(o)),
        DS_INC_RTN_U32 => u64::from(if o >= x { 0 } else { o + 1 }),
        DS_DEC_RTN_U32 => u64::from(if o == 0 || o > x { x } else { o - 1 }),
        DS_MIN_RTN_I32 => u64::from((o as i32).min(x as i32) as u32),
        DS_MAX_RTN_I32 => u64::from((o as i32).max(x as i32) as u32),
        DS_MIN_RTN_U32 => u64::from(o.min(x)),
        DS_MAX_RTN_U32 => u64::from(o.max(x)),
        DS_AND_RTN_B32 | DS_AND_RTN_B64 => old & a,
        DS_OR_RTN_B32 | DS_OR_RTN_B64 => old | a,
        DS_XOR_RTN_B32 | DS_XOR_RTN_B64 => old ^ a,
        DS_MSKOR_RTN_B32 | DS_MSKOR_RTN_B64 => old & !a | b,
        DS_WRXCHG_RTN_B32 | DS_WRXCHG_RTN_B64 => a,
        DS_CMPST_RTN_B32 | DS_CMPST_RTN_B64 => {
            if old == a {
                b
            } else {
                old
            }
        }
        DS_MIN_RTN_F32 if float(a) < float(old) => a,
        DS_MAX_RTN_F32 if float(a) > float(old) => a,
        DS_MIN_RTN_F32 | DS_MAX_RTN_F32 => old,
        DS_ADD_RTN_F32 => u64::from((float(old) + float(a)).to_bits()),
        DS_WRAP_RTN_B32 if o >= x => u64::from(o - x),
        DS_WRAP_RTN_B32 => u64::from(o.wrapping_add(b as u32)),
        DS_ADD_RTN_U64 => old.wrapping_add(a),
        DS_SUB_RTN_U64 => old.wrapping_sub(a),
        DS_RSUB_RTN_U64 => a.wrapping_sub(old),
        DS_INC_RTN_U64 => {
            if old >= a {
                0
            } else {
                old + 1
            }
        }
        DS_MAX_RTN_I64 => (old as i64).max(a as i64) as u64,
        DS_MIN_RTN_U64 => old.min(a),
        _ => unreachable!("{op:?}"),
    }
}

#[test]
fn atomics() {
    let mut random = Random(4);
    use Op::*;
    for op in [
        DS_ADD_RTN_U32,
        DS_SUB_RTN_U32,
        DS_RSUB_RTN_U32,
        DS_INC_RTN_U32,
        DS_DEC_RTN_U32,
        DS_MIN_RTN_I32,
        DS_MAX_RTN_I32,
        DS_MIN_RTN_U32,
        DS_MAX_RTN_U32,
        DS_AND_RTN_B32,
        DS_OR_RTN_B32,
        DS_XOR_RTN_B32,
        DS_MSKOR_RTN_B32,
        DS_WRXCHG_RTN_B32,
        DS_CMPST_RTN_B32,
        DS_MIN_RTN_F32,
        DS_MAX_RTN_F32,
        DS_ADD_RTN_F32,
        DS_WRAP_RTN_B32,
        DS_ADD_RTN_U64,
        DS_SUB_RTN_U64,
        DS_RSUB_RTN_U64,
        DS_INC_RTN_U64,
        DS_MAX_RTN_I64,
        DS_MIN_RTN_U64,
        DS_AND_RTN_B64,
        DS_OR_RTN_B64,
        DS_XOR_RTN_B64,
        DS_MSKOR_RTN_B64,
        DS_WRXCHG_RTN_B64,
        DS_CMPST_RTN_B64,
    ] {
        for generation in [Generation::Gfx7, Generation::Gfx9] {
            let wide = op.name().ends_with("64");
            let size: u32 = if wide { 8 } else { 4 };
            let mut m = Machine::new(generation, &mut random);
            // No NaNs, and few different values, so that comparisons decide both ways.
            m.lds.chunks_mut(4).for_each(|w| w.copy_from_slice(&[random.below(3) as u8, 0, 0, 0]));
            if op.name().contains("F32") {
                m.lds.chunks_mut(4).for_each(|w| w[3] = 0x40);
            }
            let small = |r: &mut Random| r.below(3) | if op.name().contains("F32") { 0x4000_0000 } else { 0 };
            for register in [8, 9, 12, 13] {
                m.vgprs[register] = random.lanes(small);
            }
            // Lanes meet in few words; some are beyond the end, some name the middle of a word.
            m.vgprs[1] = random.lanes(|r| match r.below(6) {
                0 => LDS_BYTES as u32,
                1 => r.below(16) * 4 + 1,
                _ => r.below(8) * size,
            });
            let mut want = m.clone();
            for lane in (0..64).filter(|&lane| m.active(lane)) {
                let at = u64::from((want.vgprs[1][lane] + 16) & !(size - 1));
                let pair = |n: usize| {
                    let high = if wide { u64::from(m.vgprs[n + 1][lane]) << 32 } else { 0 };
                    u64::from(m.vgprs[n][lane]) | high
                };
                let old = read(&want.lds, at, size);
                write(&mut want.lds, at, size, result(op, old, pair(8), pair(12)));
                want.vgprs[16][lane] = old as u32;
                if wide {
                    want.vgprs[17][lane] = (old >> 32) as u32;
                }
            }
            let words = if wide { 2 } else { 1 };
            m.run(&[ds(op, |i| {
                i.mem.data = v(8, words);
                i.mem.data1 = v(12, words);
                i.mem.offset = 16;
                i.dst = v(16, words);
            })]);
            assert_eq!(m.lds, want.lds, "{op:?} {generation}");
            assert_eq!(m.vgprs, want.vgprs, "{op:?} {generation}");
        }
    }
}

#[test]
fn conditional_exchange_takes_marked_words() {
    let mut random = Random(5);
    let mut m = Machine::new(Generation::Gfx8, &mut random);
    m.vgprs[1] = std::array::from_fn(|lane| 16 * lane as u32);
    let before = m.clone();
    m.run(&[ds(Op::DS_CONDXCHG32_RTN_B64, |i| {
        i.mem.data = v(8, 2);
        i.dst = v(16, 2);
    })]);
    for lane in (0..64).filter(|&lane| before.active(lane)) {
        for word in 0..2 {
            let at = 16 * lane as u64 + 4 * word as u64;
            let (old, data) = (read(&before.lds, at, 4) as u32, before.vgprs[8 + word][lane]);
            let want = if data >> 31 != 0 { data & 0x7fff_ffff } else { old };
            assert_eq!((m.vgprs[16 + word][lane], read(&m.lds, at, 4) as u32), (old, want));
        }
    }
}

#[test]
fn append_and_consume_count_lanes() {
    let mut random = Random(6);
    for generation in Generation::ALL {
        let mut m = Machine::new(generation, &mut random);
        m.set("m0", 0x0040_0040);
        let before = m.clone();
        let count = m.exec.count_ones();
        m.run(&[
            ds(Op::DS_APPEND, |i| i.dst = v(8, 1)),
            ds(Op::DS_APPEND, |i| {
                i.dst = v(9, 1);
                i.mem.offset = 8;
            }),
            ds(Op::DS_CONSUME, |i| i.dst = v(10, 1)),
            ds(Op::DS_CONSUME, |i| i.dst = v(11, 1)),
        ]);
        let (old, other) = (read(&before.lds, 0x40, 4) as u32, read(&before.lds, 0x48, 4) as u32);
        for lane in (0..64).filter(|&lane| before.active(lane)) {
            let got = [8, 9, 10, 11].map(|n: usize| m.vgprs[n][lane]);
            assert_eq!(got, [old, other, old.wrapping_add(count), old]);
        }
        assert_eq!(read(&m.lds, 0x40, 4) as u32, old.wrapping_sub(count));
        assert_eq!(read(&m.lds, 0x48, 4) as u32, other.wrapping_add(count));
    }
}

#[test]
fn addresses_by_lane_number() {
    let mut random = Random(7);
    let mut m = Machine::new(Generation::Gfx9, &mut random);
    m.set("m0", 0xabcd_0100);
    let before = m.clone();
    m.run(&[
        ds(Op::DS_READ_ADDTID_B32, |i| {
            i.mem.addr = None;
            i.dst = v(8, 1);
            i.mem.offset = 4;
        }),
        ds(Op::DS_WRITE_ADDTID_B32, |i| {
            i.mem.addr = None;
            i.mem.data = v(9, 1);
            i.mem.offset = 0x400;
        }),
    ]);
    for lane in (0..64).filter(|&lane| before.active(lane)) {
        assert_eq!(m.vgprs[8][lane] as u64, read(&before.lds, 0x104 + 4 * lane as u64, 4));
        assert_eq!(read(&m.lds, 0x500 + 4 * lane as u64, 4), before.vgprs[9][lane].into());
    }
}

#[test]
fn both_operands_in_lds() {
    let mut random = Random(8);
    let mut m = Machine::new(Generation::Gfx8, &mut random);
    m.vgprs[1] = std::array::from_fn(|lane| 32 * lane as u32 + 16);
    // Distance -2 dwords in the high bits.
    m.vgprs[2] = std::array::from_fn(|lane| (32 * lane as u32 + 24) | ((-2i32 as u32) << 17));
    let before = m.clone();
    m.run(&[
        ds(Op::DS_ADD_SRC2_U32, |i| i.mem.offset = 0x7ffd),
        ds(Op::DS_WRITE_SRC2_B32, |i| {
            i.mem.addr = v(2, 1);
            i.mem.offset = 0x8000;
        }),
    ]);
    for lane in (0..64).filter(|&lane| before.active(lane)) {
        let word = |m: &Machine, n: u64| read(&m.lds, 32 * lane as u64 + 4 * n, 4) as u32;
        let sum = word(&before, 4).wrapping_add(word(&before, 1));
        assert_eq!(word(&m, 4), sum);
        assert_eq!(word(&m, 6), sum);
    }
}

#[test]
fn permutations() {
    let mut random = Random(9);
    for round in 0..8 {
        let mut m = Machine::new(Generation::Gfx8, &mut random);
        let (pattern, quads) = (random.next() & 0x7fff, 0x8000 | random.next() & 0xff);
        let offset = 4 * random.below(70);
        let before = m.clone();
        let moved = |op, offset: u32, dst| {
            ds(op, |i| {
                i.mem.data = v(3, 1);
                i.mem.offset = offset as i32;
                i.dst = v(dst, 1);
            })
        };
        m.run(&[
            moved(Op::DS_SWIZZLE_B32, pattern, 8),
            moved(Op::DS_SWIZZLE_B32, quads, 9),
            moved(Op::DS_BPERMUTE_B32, offset, 10),
            moved(Op::DS_PERMUTE_B32, offset, 11),
        ]);
        let from =
            |register: usize, lane: usize| if before.active(lane) { before.vgprs[register][lane] } else { 0 };
        let named = |lane: usize| (before.vgprs[1][lane].wrapping_add(offset) / 4 % 64) as usize;
        let mut pushed = [0; 64];
        (0..64).filter(|&lane| before.active(lane)).for_each(|lane| pushed[named(lane)] = from(3, lane));
        for lane in (0..64).filter(|&lane| before.active(lane)) {
            let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
            let within = (((lane as u32 & 31 & and) | or) ^ xor) as usize;
            assert_eq!(m.vgprs[8][lane], from(1, lane & 32 | within), "{round} {lane}");
            let within = (quads >> (2 * (lane & 3)) & 3) as usize;
            assert_eq!(m.vgprs[9][lane], from(1, lane & !3 | within), "{round} {lane}");
            assert_eq!(m.vgprs[10][lane], from(3, named(lane)), "{round} {lane}");
            assert_eq!(m.vgprs[11][lane], pushed[lane], "{round} {lane}");
        }
    }
}
