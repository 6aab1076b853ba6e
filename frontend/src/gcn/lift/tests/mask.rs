//! Tests lane masks: their two views, EXEC and SCC.

use super::{run, run_from, run_on};
use crate::gcn::Generation;

const EVEN: u64 = 0x5555_5555_5555_5555;

#[test]
fn exec_is_the_lanes_with_threads() {
    let text = "v_mov_b32 v1, 7\ns_mov_b64 s[0:1], exec\ns_endpgm\n";
    let ran = run_on(Generation::Gfx9, text, &[], 0xf0f);
    assert_eq!(ran.pair(0), 0xf0f);
    assert_eq!((ran.v(1, 0), ran.v(1, 4), ran.v(1, 8)), (7, 0, 7));
}

#[test]
fn compare_saveexec_and_back() {
    let text = "
        v_and_b32 v1, 1, v0
        v_cmp_eq_u32 vcc, 0, v1
        s_and_saveexec_b64 s[2:3], vcc
        v_mov_b32 v2, 5
        s_xor_b64 s[4:5], exec, s[2:3]
        s_cselect_b32 s10, 1, 0
        s_mov_b64 exec, s[4:5]
        v_mov_b32 v2, 6
        s_or_b64 exec, exec, s[2:3]
        v_mov_b32 v3, s2
        s_endpgm
    ";
    run_from(Generation::Gfx6, text, &[], |ran| {
        assert_eq!((ran.v(2, 0), ran.v(2, 1), ran.v(2, 63)), (5, 6, 6));
        assert_eq!((ran.pair(2), ran.pair(4)), (u64::MAX, !EVEN));
        assert_eq!(u64::from(ran.named("vcc_hi")) << 32 | u64::from(ran.named("vcc_lo")), EVEN);
        assert_eq!((ran.s(10), ran.v(3, 9)), (1, u32::MAX));
    });
}

/// An operation on 64 bits.
type Op64 = fn(u64, u64) -> u64;

#[test]
fn every_logic_operation_in_both_views() {
    let table: [(&str, Op64); 8] = [
        ("and", |a, b| a & b),
        ("or", |a, b| a | b),
        ("xor", |a, b| a ^ b),
        ("andn2", |a, b| a & !b),
        ("orn2", |a, b| a | !b),
        ("nand", |a, b| !(a & b)),
        ("nor", |a, b| !(a | b)),
        ("xnor", |a, b| !(a ^ b)),
    ];
    let low = 0xffff_0000_00ff_ff00u64;
    for (name, op) in table {
        // The first is a mask, the second a number; then both numbers; then the number's half is written in between.
        let text = format!(
            "v_and_b32 v1, 1, v0
            v_cmp_eq_u32 vcc, 0, v1
            s_{name}_b64 s[4:5], vcc, s[0:1]
            s_cselect_b32 s20, 1, 0
            s_{name}_b64 s[6:7], s[2:3], s[0:1]
            s_cselect_b32 s21, 1, 0
            s_mov_b64 s[8:9], vcc
            s_mov_b32 s9, 0x1234
            s_{name}_b64 s[10:11], s[8:9], s[0:1]
            s_{name}_b64 s[12:13], vcc, vcc
            s_cselect_b32 s22, 1, 0
            s_mov_b64 s[16:17], exec
            s_mov_b64 exec, s[2:3]
            s_{name}_saveexec_b64 s[14:15], s[0:1]
            s_cselect_b32 s23, 1, 0
            s_mov_b64 s[18:19], exec
            s_endpgm"
        );
        let halves = |x: u64| (x as u32, (x >> 32) as u32);
        let ((a, b), (c, d)) = (halves(low), halves(EVEN));
        run_from(Generation::Gfx6, &text, &[("s0", a), ("s1", b), ("s2", c), ("s3", d)], |ran| {
            let want = op(EVEN, low);
            assert_eq!((ran.pair(4), ran.pair(6)), (want, want), "{name}");
            assert_eq!((ran.s(20), ran.s(21)), (1, 1), "{name}");
            assert_eq!(ran.pair(10), op(EVEN & 0xffff_ffff | 0x1234 << 32, low), "{name}");
            let same = op(EVEN, EVEN);
            assert_eq!((ran.pair(12), ran.s(22)), (same, u32::from(same != 0)), "{name}");
            let exec = op(low, EVEN);
            assert_eq!((ran.pair(14), ran.pair(18), ran.s(23)), (EVEN, exec, u32::from(exec != 0)), "{name}");
        });
    }
}

#[test]
fn halves_of_exec() {
    let text = "
        s_mov_b32 exec_lo, 0xf
        s_mov_b32 exec_hi, 0
        v_mov_b32 v1, 1
        s_not_b32 exec_lo, exec_lo
        v_mov_b32 v1, 2
        s_mov_b32 s4, exec_lo
        s_bcnt1_i32_b64 s5, exec
        s_endpgm
    ";
    run_from(Generation::Gfx6, text, &[], |ran| {
        assert_eq!((ran.v(1, 0), ran.v(1, 4), ran.v(1, 31), ran.v(1, 32)), (1, 2, 2, 0));
        assert_eq!((ran.s(4), ran.s(5)), (0xffff_fff0, 28));
    });
}

#[test]
fn views_meet_behind_a_branch() {
    // One side leaves a mask in s[4:5], the other one a number; behind it is read as both.
    let text = "
        s_cmp_eq_u32 s0, 0
        s_cbranch_scc1 other
        v_cmp_gt_u32 s[4:5], 8, v0
        s_branch both
    other:
        s_mov_b32 s4, 0x70
        s_mov_b32 s5, 1
    both:
        s_mov_b32 s6, s4
        v_cndmask_b32 v1, 0, 1, s[4:5]
        s_endpgm
    ";
    for (s0, want) in [(1, 0xff), (0, 0x1_0000_0070)] {
        run_from(Generation::Gfx6, text, &[("s0", s0)], |ran| {
            assert_eq!((ran.pair(4), ran.s(6)), (want, want as u32));
            (0..64).for_each(|lane| assert_eq!(u64::from(ran.v(1, lane)), want >> lane & 1));
        });
    }
}

#[test]
fn divergent_loop() {
    // Each lane doubles until it is beyond its number, as LLVM makes such loops.
    let text = "
        s_mov_b64 s[0:1], 0
        v_mov_b32 v1, 1
    again:
        v_cmp_gt_u32 vcc, v1, v0
        s_or_b64 s[0:1], vcc, s[0:1]
        s_andn2_b64 exec, exec, s[0:1]
        s_cbranch_execz out
        v_lshlrev_b32 v1, 1, v1
        s_add_u32 s2, s2, 1
        s_branch again
    out:
        s_or_b64 exec, exec, s[0:1]
        v_mov_b32 v2, 1
        s_endpgm
    ";
    run_from(Generation::Gfx6, text, &[("s2", 0)], |ran| {
        assert_eq!((ran.fault, ran.pair(0), ran.s(2)), (None, u64::MAX, 6));
        (0..64).for_each(|lane| {
            assert_eq!((ran.v(1, lane), ran.v(2, lane)), ((lane + 1).next_power_of_two(), 1))
        });
    });
}

#[test]
fn one_truth_for_all_lanes() {
    // The branches need no lane where EXEC has some; where it has none no mask holds.
    let text = "
        s_mov_b32 s1, 0
        s_cmp_eq_u32 s0, 0
        s_cselect_b64 s[4:5], -1, 0
        s_andn2_b64 vcc, exec, s[4:5]
        s_cbranch_vccnz a
        s_or_b32 s1, s1, 1
    a:
        v_cmp_gt_u32 vcc, 4, v0
        s_and_saveexec_b64 s[6:7], vcc
        s_cbranch_execz b
        s_and_b64 vcc, exec, s[4:5]
        s_cselect_b32 s2, 1, 0
        s_cbranch_vccz b
        s_or_b32 s1, s1, 2
    b:
        s_mov_b64 exec, 0
        s_or_b64 vcc, exec, s[4:5]
        s_cbranch_vccz c
        s_or_b32 s1, s1, 4
    c:
        s_andn2_b64 vcc, exec, s[4:5]
        s_cbranch_vccz d
        s_or_b32 s1, s1, 8
    d:
        s_mov_b64 exec, s[6:7]
        s_endpgm
    ";
    run_from(Generation::Gfx6, text, &[("s0", 0)], |ran| assert_eq!((ran.s(1), ran.s(2)), (7, 1)));
    run_from(Generation::Gfx6, text, &[("s0", 1)], |ran| assert_eq!((ran.s(1), ran.s(2)), (0, 0)));
}

#[test]
fn conditional_masks() {
    let text = "
        v_cmp_gt_u32 vcc, 4, v0
        v_cmp_gt_u32 s[4:5], 8, v0
        s_cmp_eq_u32 s0, 1
        s_cselect_b64 s[6:7], vcc, s[4:5]
        s_mov_b64 s[8:9], vcc
        s_cmov_b64 s[8:9], s[4:5]
        s_endpgm
    ";
    run_from(Generation::Gfx6, text, &[("s0", 1)], |ran| assert_eq!((ran.pair(6), ran.pair(8)), (0xf, 0xff)));
    run_from(Generation::Gfx6, text, &[("s0", 0)], |ran| assert_eq!((ran.pair(6), ran.pair(8)), (0xff, 0xf)));
}

#[test]
fn compares_of_pairs() {
    let text = "
        v_cmp_gt_u32 vcc, 4, v0
        s_cmp_eq_u64 vcc, s[0:1]
        s_cselect_b32 s4, 1, 0
        s_cmp_lg_u64 vcc, 0
        s_cselect_b32 s5, 1, 0
        s_cmp_lg_u64 s[0:1], s[2:3]
        s_cselect_b32 s6, 1, 0
        s_endpgm
    ";
    run_from(Generation::Gfx8, text, &[("s0", 15), ("s3", 1)], |ran| {
        assert_eq!((ran.s(4), ran.s(5), ran.s(6)), (1, 1, 1));
    });
}

#[test]
fn exec_with_the_complement_of_a_source() {
    let text = "
        s_mov_b64 exec, 0xff
        s_andn1_saveexec_b64 s[4:5], 15
        s_mov_b64 s[6:7], exec
        s_andn1_wrexec_b64 s[8:9], 16
        s_mov_b64 s[10:11], exec
        s_endpgm
    ";
    let ran = run(Generation::Gfx9, text, &[]);
    assert_eq!((ran.pair(4), ran.pair(6), ran.pair(8), ran.pair(10)), (0xff, 0xf0, 0xe0, 0xe0));
}
