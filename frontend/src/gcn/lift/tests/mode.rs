//! Tests MODE and other hardware registers, and the compares that depend on MODE.

use super::{options, run, run_from};
use crate::gcn::Generation;

#[test]
fn mode_and_its_fields() {
    let text = "
        s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 8)
        s_getreg_b32 s1, hwreg(HW_REG_MODE, 8, 2)
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3
        s_getreg_b32 s2, hwreg(HW_REG_MODE, 0, 32)
        s_setreg_b32 hwreg(HW_REG_MODE, 12, 7), s10
        s_getreg_b32 s3, hwreg(HW_REG_MODE, 13, 4)
        s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s11
        s_getreg_b32 s4, hwreg(HW_REG_MODE, 0, 4)
        s_getreg_b32 s5, hwreg(HW_REG_GPR_ALLOC, 8, 6)
        s_cmp_eq_u32 s9, s9
        s_getreg_b32 s6, hwreg(HW_REG_STATUS, 0, 1)
        s_endpgm
    ";
    run_from(Generation::Gfx6, text, &[("s10", 0x5a), ("s11", 6)], |ran| {
        assert_eq!((ran.s(0), ran.s(1), ran.s(2)), (0xc0, 3, 0x3f0));
        assert_eq!(
            (ran.s(3), ran.s(4), ran.s(5), ran.s(6)),
            (0xd, 2, options(Generation::Gfx6).vgprs / 4 - 1, 1)
        );
    });
}

#[test]
fn apertures() {
    let text = "
        s_getreg_b32 s0, hwreg(HW_REG_SH_MEM_BASES, 16, 16)
        s_getreg_b32 s1, hwreg(HW_REG_SH_MEM_BASES, 0, 16)
        s_mov_b64 s[2:3], src_shared_base
        s_mov_b64 s[4:5], src_private_limit
        s_endpgm
    ";
    let ran = run(Generation::Gfx9, text, &[]);
    assert_eq!((ran.s(0), ran.s(1)), (0x1000, 0x2000));
    assert_eq!((ran.pair(2), ran.pair(4)), (0x1000_0000_0000_0000, 0x2000_0000_ffff_ffff));
}

#[test]
fn vector_instructions_can_be_skipped() {
    let text = "
        v_mov_b32 v1, 1
        s_setvskip 1, 0
        v_mov_b32 v1, 2
        s_mov_b32 s0, 5
        s_setvskip 0, 0
        v_mov_b32 v2, 3
        s_setvskip s4, 1
        v_mov_b32 v3, 4
        s_endpgm
    ";
    for s4 in [0, 2] {
        run_from(Generation::Gfx6, text, &[("s4", s4)], |ran| {
            assert_eq!((ran.v(1, 0), ran.s(0), ran.v(2, 0)), (1, 5, 3));
            assert_eq!(ran.v(3, 0), if s4 == 2 { 0 } else { 4 });
        });
    }
}

/// Which of the tests named hold between two numbers.
fn holds(kind: &str, names: &[&str], a: u32, b: u32, mode: u32) -> Vec<bool> {
    let tests: String = names
        .iter()
        .enumerate()
        .map(|(n, name)| format!("v_cmp_{name}_{kind} s[{}:{}], v1, v2\n", 10 + 2 * n, 11 + 2 * n))
        .collect();
    let text = format!("s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s0\n{tests}s_endpgm\n");
    let known = text.replace(
        "s_setreg_b32 hwreg(HW_REG_MODE, 0, 8), s0",
        &format!("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), {mode}"),
    );
    let mut all = Vec::new();
    for text in [text, known] {
        let ran = run(Generation::Gfx8, &text, &[("v1", a), ("v2", b), ("s0", mode)]);
        all.push((0..names.len() as u32).map(|n| ran.pair(10 + 2 * n)).collect::<Vec<_>>());
    }
    assert_eq!(all[0], all[1]);
    assert!(all[0].iter().all(|&mask| mask == 0 || mask == u64::MAX));
    all[0].iter().map(|&mask| mask != 0).collect()
}

#[test]
fn float_compares() {
    let names =
        ["f", "lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru"];
    let bits = |word: u32| (0..16).map(|n| word >> n & 1 != 0).collect::<Vec<_>>();
    let nan = 0x7fc0_0000;
    let (one, two) = (1f32.to_bits(), 2f32.to_bits());
    // Less: bit 0 of the opcode is set.
    assert_eq!(holds("f32", &names, one, two, 0xc0), bits(0xaaaa));
    assert_eq!(
        holds("f32", &["lt", "lg", "nlt", "u", "nge"], nan, two, 0xc0),
        [false, false, true, true, true]
    );
    // A denormal is a zero unless MODE allows it.
    assert_eq!(holds("f32", &["eq", "lg"], 1, 0x8000_0000, 0xc0), [true, false]);
    assert_eq!(holds("f32", &["eq", "lg"], 1, 0x8000_0000, 0xd0), [false, true]);
    assert_eq!(holds("f16", &["eq", "lt"], 0x3c00, 0x4000, 0xc0), [false, true]);
    assert_eq!(holds("f16", &["eq", "gt"], 1, 0, 0x00), [true, false]);
    assert_eq!(holds("f16", &["eq", "gt"], 1, 0, 0x40), [false, true]);
    assert_eq!(holds("i16", &["lt", "eq"], 0x1_ffff, 0xffff, 0xc0), [false, true]);
    assert_eq!(holds("i16", &["lt"], 0xffff, 0, 0xc0), [true]);
    assert_eq!(holds("u16", &["lt"], 0xffff, 0, 0xc0), [false]);
}

#[test]
fn classes() {
    let of = |value: u32| {
        let names: Vec<u32> = (0..10).collect();
        let text: String = names
            .iter()
            .map(|n| {
                format!(
                    "v_mov_b32 v2, 0x{:x}\nv_cmp_class_f32 s[{}:{}], v1, v2\n",
                    1 << n,
                    10 + 2 * n,
                    11 + 2 * n
                )
            })
            .collect();
        let ran = run(Generation::Gfx6, &format!("{text}s_endpgm\n"), &[("v1", value)]);
        names.into_iter().filter(|n| ran.pair(10 + 2 * n) != 0).collect::<Vec<_>>()
    };
    let values = [
        0x7f80_0001,
        0x7fc0_0000,
        0xff80_0000,
        0xbf80_0000,
        0x8000_0001,
        0x8000_0000,
        0,
        1,
        0x3f80_0000,
        0x7f80_0000,
    ];
    for (class, value) in values.into_iter().enumerate() {
        assert_eq!(of(value), [class as u32], "{value:x}");
    }
}

#[test]
fn compares_write_exec_and_zeros() {
    let text = "
        s_mov_b64 s[4:5], -1
        s_mov_b64 exec, 0xff
        v_cmp_gt_u32 s[4:5], 64, v0
        v_cmpx_gt_u32 vcc, 4, v0
        s_mov_b64 s[6:7], exec
        s_mov_b64 s[8:9], vcc
        s_endpgm
    ";
    let text = text.replace("0xff", "63");
    run_from(Generation::Gfx6, &text, &[], |ran| {
        assert_eq!((ran.pair(4), ran.pair(6), ran.pair(8)), (0x3f, 0xf, 0xf));
    });
}

#[test]
fn wide_compares() {
    let text = "
        v_cmp_lt_i64 s[4:5], v[2:3], v[4:5]
        v_cmp_lt_u64 s[6:7], v[2:3], v[4:5]
        v_cmp_lt_f64 s[8:9], v[2:3], 1.0
        v_cmp_lt_f64 s[10:11], |v[2:3]|, 1.0
        v_cmp_class_f64 s[12:13], v[2:3], v6
        s_endpgm
    ";
    let registers = [("v3", 0xc000_0000), ("v5", 1), ("v6", 8)];
    run_from(Generation::Gfx6, text, &registers, |ran| {
        let all: Vec<bool> = (0..5).map(|n| ran.pair(4 + 2 * n) == u64::MAX).collect();
        assert_eq!(all, [true, false, true, false, true]);
    });
}
