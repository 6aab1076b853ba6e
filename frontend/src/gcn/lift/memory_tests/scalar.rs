//! Tests scalar memory accesses.

use super::*;

fn smem(op: Op, words: u8) -> Inst {
    let mut smem = inst(op, Format::Smem);
    smem.mem.base = s(20, if op.name().contains("_BUFFER_") { 4 } else { 2 });
    if op.name().contains("_STORE_") {
        smem.mem.data = s(40, words);
    } else {
        smem.dst = s(40, words);
    }
    smem
}

#[test]
fn loads() {
    let mut random = Random(50);
    for generation in Generation::ALL {
        let mut m = Machine::new(generation, &mut random);
        m.exec = 0;
        // The low two bits do not count.
        m.set_pair(20, BASE + 0x101);
        m.set("s24", 0x42);
        let mut load = smem(Op::S_LOAD_DWORDX8, 8);
        (load.mem.soffset, load.mem.offset) = (s(24, 1), 12);
        let mut other = smem(Op::S_LOAD_DWORD, 1);
        (other.dst, other.mem.offset) =
            (s(50, 1), if generation == Generation::Gfx9 { -0x100 } else { 0x30 });
        let offset = other.mem.offset;
        let before = m.clone();
        let scalars = m.run(&[load, other]);
        for n in 0..8 {
            let want = before.global_at(BASE + 0x100 + 0x4c + 4 * n as u64, 4) as u32;
            // 0x101 + 0x42 + 12 carries nothing into the dword's number.
            assert_eq!(scalars[40 + n], want, "{generation} {n}");
        }
        let at = (BASE + 0x101).wrapping_add_signed(offset.into()) & !3;
        assert_eq!(u64::from(scalars[50]), before.global_at(at, 4));
    }
}

/// A literal of 1.1 counts dwords.
#[test]
fn literal_offsets_are_dwords() {
    let mut random = Random(51);
    let mut m = Machine::new(Generation::Gfx7, &mut random);
    m.set_pair(20, BASE);
    let mut load = smem(Op::S_LOAD_DWORD, 1);
    load.mem.soffset = Some(Arg::new(Operand::Literal(0x123), Type::B32, 1));
    let want = m.global_at(BASE + 4 * 0x123, 4);
    assert_eq!(u64::from(m.run(&[load])[40]), want);
}

#[test]
fn buffers_end() {
    let mut random = Random(52);
    for generation in Generation::ALL {
        for (stride, records) in [(0, 0x28), (8, 5), (8, 0x28)] {
            let mut m = Machine::new(generation, &mut random);
            m.set_pair(20, BASE | stride << 48);
            m.set("s22", records);
            m.set("s23", 4 << 15);
            m.set("s24", 0x10);
            let mut load = smem(Op::S_BUFFER_LOAD_DWORDX4, 4);
            (load.mem.soffset, load.mem.offset) = (s(24, 1), 0x10);
            let before = m.clone();
            let scalars = m.run(&[load]);
            let bytes = if stride == 0 || generation == Generation::Gfx8 { records } else { records * 8 };
            for n in 0..4 {
                let offset = 0x20 + 4 * n as u32;
                let want =
                    if offset + 4 <= bytes { before.global_at(BASE + u64::from(offset), 4) } else { 0 };
                assert_eq!(u64::from(scalars[40 + n]), want, "{generation} {stride} {records} {n}");
            }
        }
    }
}

#[test]
fn stores_and_atomics() {
    let mut random = Random(53);
    let mut m = Machine::new(Generation::Gfx9, &mut random);
    m.set_pair(20, BASE);
    (40..44).for_each(|n| m.set(format!("s{n}"), 0x1111 * n));
    m.set("s24", 2);
    let mut store = smem(Op::S_STORE_DWORDX4, 4);
    store.mem.offset = 0x20;
    let mut add = smem(Op::S_ATOMIC_ADD, 1);
    (add.mem.data, add.mem.offset) = (s(40, 1), 0x40);
    let mut scratch = smem(Op::S_SCRATCH_LOAD_DWORD, 1);
    (scratch.dst, scratch.mem.soffset, scratch.mem.offset) = (s(60, 1), s(24, 1), 4);
    let before = m.clone();
    let scalars = m.run(&[store, add, scratch]);
    (0..4).for_each(|n| assert_eq!(m.global_at(BASE + 0x20 + 4 * n, 4), 0x1111 * (40 + n)));
    // Once for the wave, and the old value comes back.
    let old = before.global_at(BASE + 0x40, 4) as u32;
    assert_eq!(scalars[40], old);
    assert_eq!(m.global_at(BASE + 0x40, 4) as u32, old.wrapping_add(0x1111 * 40));
    // 2 without its low bits is 0.
    assert_eq!(u64::from(scalars[60]), m.global_at(BASE + 4, 4));
}
