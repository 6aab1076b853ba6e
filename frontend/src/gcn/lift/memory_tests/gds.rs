//! Tests GDS: each instruction does in the part of GDS that M0 names what it does in LDS (`lds.rs`).

use super::*;

/// Operations that have no GDS form, or one of their own.
const OTHER: [&str; 7] = ["GWS", "ORDERED", "PERMUTE", "SWIZZLE", "ADDTID", "NOP", "SRC2"];

fn ds(op: Op, random: &mut Random) -> Inst {
    let mut ds = inst(op, Format::Ds);
    let two = op.name().contains("2_") || op.name().contains("2ST64");
    (ds.mem.addr, ds.mem.data, ds.mem.data1) = (v(1, 1), v(8, 4), v(12, 4));
    ds.dst = (op.name().contains("READ") || op.name().contains("RTN")).then(|| v(16, 4)).flatten();
    if matches!(op, Op::DS_APPEND | Op::DS_CONSUME) {
        ds.dst = v(16, 1);
    }
    if two {
        ds.mem.offsets = [random.below(4) as u8 * 4, 16 + random.below(4) as u8 * 4];
    } else {
        ds.mem.offset = (random.below(8) * 16) as i32;
    }
    ds
}

/// Words of the destination.
fn words(name: &str) -> u8 {
    let wide = if name.contains("64") && !name.contains("ST64_B32") { 2 } else { 1 };
    match name {
        _ if name.ends_with("B128") => 4,
        _ if name.ends_with("B96") => 3,
        _ if name.contains("READ2") || name.contains("XCHG2") => 2 * wide,
        _ => wide,
    }
}

#[test]
fn as_in_lds() {
    let mut random = Random(77);
    let mut seen = 0;
    for generation in Generation::ALL {
        for &op in Op::ALL.iter().filter(|op| op.name().starts_with("DS_")) {
            let name = op.name();
            let d16 = name.contains("D16") && generation != Generation::Gfx9;
            if OTHER.iter().any(|other| name.contains(other)) || d16 {
                continue;
            }
            seen += 1;
            let mut here = Machine::new(generation, &mut random);
            // Lanes meet; some are beyond the end.
            here.vgprs[1] = random.lanes(|r| r.below(0x120) * 16);
            let mut there = here.clone();
            there.scalars = vec![("m0".into(), LDS_BYTES as u32)];
            if matches!(op, Op::DS_APPEND | Op::DS_CONSUME) {
                here.scalars = vec![("m0".into(), 0x120)];
                there.scalars = vec![("m0".into(), 0x120)];
            }
            let mut inst = ds(op, &mut random);
            if let Some(dst) = &mut inst.dst {
                dst.words = words(name);
            }
            here.run(&[inst]);
            inst.mem.gds = true;
            there.run(&[inst]);
            assert_eq!(here.vgprs, there.vgprs, "{name} {generation}");
            assert!(here.lds == there.gds, "{name} {generation}");
            assert!(there.lds != there.gds || here.lds == there.lds, "{name} {generation}");
        }
    }
    assert!(seen > 300, "{seen}");
}

#[test]
fn the_part_that_m0_names() {
    let mut random = Random(5);
    for generation in Generation::ALL {
        let mut m = Machine::new(generation, &mut random);
        m.exec = u64::MAX;
        m.scalars = vec![("m0".into(), 0x104 << 16 | 0x3e)];
        m.vgprs[1] = random.lanes(|r| r.below(0x60));
        m.vgprs[1][7] = u32::MAX - 3;
        m.vgprs[1][8] = 0x3e - 8 - 4;
        m.vgprs[1][9] = 0x3e - 8 - 3;
        let before = m.clone();
        let mut load = inst(Op::DS_READ_B64, Format::Ds);
        (load.mem.addr, load.dst, load.mem.gds, load.mem.offset) = (v(1, 1), v(8, 2), true, 4);
        let mut add = inst(Op::DS_ADD_RTN_U32, Format::Ds);
        (add.mem.addr, add.mem.data, add.dst, add.mem.gds) = (v(1, 1), v(2, 1), v(10, 1), true);
        m.run(&[load, add]);
        let mut want = before.gds.clone();
        for lane in 0..64 {
            let at = before.vgprs[1][lane].wrapping_add(4);
            let inside = at <= 0x3e - 8;
            let value = if inside { read(&before.gds, 0x104 + u64::from(at), 8) } else { 0 };
            assert_eq!(u64::from(m.vgprs[8][lane]) | u64::from(m.vgprs[9][lane]) << 32, value, "{lane}");
            // Atomics drop the low bits.
            let at = before.vgprs[1][lane] & !3;
            let old = if at <= 0x3e - 4 { read(&want, 0x104 + u64::from(at), 4) } else { 0 };
            assert_eq!(m.vgprs[10][lane], old as u32, "{lane}");
            if at <= 0x3e - 4 {
                let new = (old as u32).wrapping_add(before.vgprs[2][lane]);
                write(&mut want, 0x104 + u64::from(at), 4, new.into());
            }
        }
        assert!(m.gds == want, "{generation}");
        // Nothing is where M0 allows nothing, nor beyond the end of GDS.
        for m0 in [0, 7, 0xffff_ffff] {
            m.scalars = vec![("m0".into(), m0)];
            m.run(&[load]);
            assert!(m.vgprs[8..10].iter().flatten().all(|&word| word == 0), "{m0:#x}");
        }
    }
}

#[test]
fn ordered_counts_are_illegal() {
    let mut m = Machine::new(Generation::Gfx8, &mut Random(1));
    let mut count = inst(Op::DS_ORDERED_COUNT, Format::Ds);
    (count.mem.addr, count.dst, count.mem.gds) = (v(1, 1), v(2, 1), true);
    assert!(m.try_run(&[count]).is_err());
}
