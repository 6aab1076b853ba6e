//! Tests cross-lane operations (readlane and similar, DPP), SDWA, and registers chosen at run time.

use super::{run, run_from, run_on};
use crate::gcn::Generation;

#[test]
fn reading_and_writing_lanes() {
    let text = "
        v_readlane_b32 s0, v0, 37
        v_readlane_b32 s1, v0, s4
        v_readfirstlane_b32 s2, v0
        s_mov_b64 exec, 0
        v_readfirstlane_b32 s3, v0
        v_writelane_b32 v1, s0, 11
        s_endpgm
    ";
    let text =
        text.replace("v_readfirstlane_b32 s2, v0\n", "s_mov_b64 exec, 0x30\nv_readfirstlane_b32 s2, v0\n");
    run_from(Generation::Gfx6, &text, &[("s4", 0x66)], |ran| {
        assert_eq!((ran.s(0), ran.s(1), ran.s(2), ran.s(3)), (37, 0x26, 4, 0));
        assert_eq!((ran.v(1, 11), ran.v(1, 10)), (37, 0));
    });
}

/// Runs a DPP move of `v0` to `v1`, which holds 99 before.
fn dpp(modifiers: &str) -> Vec<u32> {
    let text = format!("v_mov_b32_dpp v1, v0 {modifiers}\ns_endpgm\n");
    let before = run(Generation::Gfx8, &text, &[("v1", 99)]);
    let after = run(Generation::Gfx9, &text, &[("v1", 99)]);
    let all: Vec<u32> = (0..64).map(|lane| before.v(1, lane)).collect();
    assert!((0..64).all(|lane| after.v(1, lane) == all[lane as usize]));
    all
}

fn lanes(from: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..64).map(from).collect()
}

#[test]
fn dpp_moves() {
    let all = "row_mask:0xf bank_mask:0xf";
    let inside = |from: u32, there: bool| if there { from } else { 99 };
    assert_eq!(dpp(&format!("quad_perm:[3,1,0,2] {all}")), lanes(|l| l & !3 | [3, 1, 0, 2][l as usize & 3]));
    assert_eq!(dpp(&format!("row_shl:3 {all}")), lanes(|l| inside(l + 3, l & 15 < 13)));
    assert_eq!(dpp(&format!("row_shr:3 {all} bound_ctrl:0")), lanes(|l| if l & 15 >= 3 { l - 3 } else { 0 }));
    assert_eq!(dpp(&format!("row_ror:5 {all}")), lanes(|l| l & !15 | l.wrapping_sub(5) & 15));
    assert_eq!(dpp(&format!("row_mirror {all}")), lanes(|l| l ^ 15));
    assert_eq!(dpp(&format!("row_half_mirror {all}")), lanes(|l| l ^ 7));
    assert_eq!(dpp(&format!("wave_shl:1 {all}")), lanes(|l| inside(l + 1, l < 63)));
    assert_eq!(dpp(&format!("wave_ror:1 {all}")), lanes(|l| l.wrapping_sub(1) & 63));
    assert_eq!(dpp(&format!("wave_rol:1 {all}")), lanes(|l| (l + 1) & 63));
    assert_eq!(dpp(&format!("row_bcast:15 {all}")), lanes(|l| inside((l & !15).wrapping_sub(1), l > 15)));
    assert_eq!(dpp(&format!("row_bcast:31 {all}")), lanes(|l| inside(31, l > 31)));
    assert_eq!(
        dpp("row_mirror row_mask:0xa bank_mask:0x6"),
        lanes(|l| inside(l ^ 15, 0xa >> (l / 16) & 1 != 0 && 0x6 >> (l / 4 % 4) & 1 != 0))
    );
}

#[test]
fn dpp_from_lanes_that_are_off() {
    for (bound, missing) in [("", 99), ("bound_ctrl:0", 0)] {
        let text = format!("v_mov_b32_dpp v1, v0 row_shl:1 row_mask:0xf bank_mask:0xf {bound}\ns_endpgm\n");
        let ran = run_on(Generation::Gfx8, &text, &[("v1", 99)], 0b1011);
        let got: Vec<u32> = (0..5).map(|lane| ran.v(1, lane)).collect();
        assert_eq!(got, [1, missing, 99, missing, 99]);
    }
}

#[test]
fn sdwa_parts() {
    let text = "
        v_mov_b32_sdwa v3, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3
        v_mov_b32_sdwa v4, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0
        v_mov_b32_sdwa v5, sext(v2) dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_3
        v_mov_b32_sdwa v6, sext(v2) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3
        v_cmp_eq_u32_sdwa vcc, v2, v7 src0_sel:BYTE_0 src1_sel:DWORD
        s_endpgm
    ";
    run_from(Generation::Gfx8, text, &[("v2", 0x8123_4567), ("v3", 0x1111_1111), ("v7", 0x67)], |ran| {
        assert_eq!(ran.v(3, 5), 0x1111_8111);
        assert_eq!(ran.v(4, 5), 0x4567_0000);
        assert_eq!(ran.v(5, 5), 0xffff_8100);
        assert_eq!(ran.v(6, 5), 0xffff_ff81);
        assert_eq!(ran.named("vcc_lo"), u32::MAX);
    });
}

#[test]
fn sdwa_of_16_bits_leaves_zero_above() {
    // Compilers take u16 differences and products written as a whole dword for numbers below 65536.
    let text = "
        v_sub_u16_sdwa v3, v2, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD
        v_mul_lo_u16_sdwa v5, v2, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:DWORD
        v_lshlrev_b16_sdwa v6, v7, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:WORD_0
        v_sub_u16_sdwa v8, v2, v4 dst_sel:WORD_1 dst_unused:UNUSED_SEXT src0_sel:WORD_1 src1_sel:DWORD
        s_endpgm
    ";
    let registers = [("v2", 0x0012_8001), ("v4", 0x1234_7788), ("v7", 1)];
    for generation in [Generation::Gfx8, Generation::Gfx9] {
        let ran = run(generation, text, &registers);
        assert_eq!((ran.v(3, 5), ran.v(5, 5)), (0x888a, 0x7788));
        assert_eq!((ran.v(6, 5), ran.v(8, 5)), (0x0002, 0x888a_0000));
    }
}

#[test]
fn indexed_registers() {
    let text = "
        s_mov_b32 m0, 2
        v_movrels_b32 v10, v2
        v_movreld_b32 v11, v2
        v_movrelsd_b32 v14, v3
        s_endpgm
    ";
    let registers = [("v2", 20), ("v3", 30), ("v4", 40), ("v5", 50)];
    for generation in [Generation::Gfx6, Generation::Gfx7, Generation::Gfx8] {
        let ran = run(generation, text, &registers);
        assert_eq!((ran.v(10, 1), ran.v(13, 1), ran.v(16, 1), ran.v(11, 1)), (40, 20, 50, 0));
    }
    let text = "
        s_set_gpr_idx_on s0, 1
        v_mov_b32 v10, v2
        s_set_gpr_idx_mode 8
        v_mov_b32 v11, v2
        s_set_gpr_idx_idx s1
        v_mov_b32 v11, v3
        s_set_gpr_idx_off
        v_mov_b32 v12, v2
        s_cmp_eq_u32 s40, 0
        s_cbranch_scc0 on
        s_branch dynamic
    on:
        s_set_gpr_idx_on s0, 1
    dynamic:
        v_mov_b32 v17, v3
        s_endpgm
    ";
    for s40 in [0, 1] {
        run_from(
            Generation::Gfx8,
            text,
            &[registers.as_slice(), &[("s0", 2), ("s1", 3), ("s40", s40)]].concat(),
            |ran| {
                assert_eq!((ran.v(10, 1), ran.v(13, 1), ran.v(14, 1), ran.v(12, 1)), (40, 20, 30, 20));
                assert_eq!(ran.v(17, 1), if s40 == 0 { 30 } else { 50 });
            },
        );
    }
}

#[test]
fn swap() {
    let ran = run_on(Generation::Gfx9, "v_swap_b32 v1, v2\ns_endpgm\n", &[("v1", 1), ("v2", 2)], 0b10);
    assert_eq!((ran.v(1, 0), ran.v(2, 0), ran.v(1, 1), ran.v(2, 1)), (1, 2, 2, 1));
}

#[test]
fn registers_that_are_not_there() {
    let text = "v_mov_b32 v1, v200\nv_mov_b32 v201, v1\ns_endpgm\n";
    run_from(Generation::Gfx6, text, &[], |ran| assert_eq!(ran.v(1, 7), 7));
}
