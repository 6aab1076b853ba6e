//! Tests scalar instructions.

use super::{run, run_from};
use crate::gcn::Generation;

/// Runs one instruction on `s0` and `s1` and gives `s2` and SCC (from before: 1).
fn scc(text: &str, a: u32, b: u32) -> (u32, u32) {
    let mut all = Vec::new();
    let program = format!("s_cmp_eq_u32 s4, s4\n{text}\ns_cselect_b32 s3, 1, 0\ns_endpgm\n");
    run_from(Generation::Gfx6, &program, &[("s0", a), ("s1", b), ("s2", 0x55)], |ran| {
        assert_eq!(ran.fault, None);
    });
    for generation in Generation::ALL {
        let ran = run(generation, &program, &[("s0", a), ("s1", b), ("s2", 0x55)]);
        all.push((ran.s(2), ran.s(3)));
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
    all[0]
}

#[test]
fn sums_and_their_scc() {
    assert_eq!(scc("s_add_u32 s2, s0, s1", u32::MAX, 2), (1, 1));
    assert_eq!(scc("s_add_u32 s2, s0, s1", 7, 2), (9, 0));
    assert_eq!(scc("s_add_i32 s2, s0, s1", 0x7fff_ffff, 1), (0x8000_0000, 1));
    assert_eq!(scc("s_add_i32 s2, s0, s1", u32::MAX, 1), (0, 0));
    assert_eq!(scc("s_addc_u32 s2, s0, s1", u32::MAX, 0), (0, 1));
    assert_eq!(scc("s_addc_u32 s2, s0, s1", u32::MAX, u32::MAX), (u32::MAX, 1));
    assert_eq!(scc("s_sub_u32 s2, s0, s1", 1, 2), (u32::MAX, 1));
    assert_eq!(scc("s_sub_i32 s2, s0, s1", 0x8000_0000, 1), (0x7fff_ffff, 1));
    assert_eq!(scc("s_subb_u32 s2, s0, s1", 5, 5), (u32::MAX, 1));
    assert_eq!(scc("s_subb_u32 s2, s0, s1", 5, 4), (0, 0));
    assert_eq!(scc("s_absdiff_i32 s2, s0, s1", 0x7fff_ffff, 0x8000_0000), (1, 1));
    assert_eq!(scc("s_min_i32 s2, s0, s1", u32::MAX, 3), (u32::MAX, 1));
    assert_eq!(scc("s_min_u32 s2, s0, s1", 3, 3), (3, 0));
    assert_eq!(scc("s_max_i32 s2, s0, s1", u32::MAX, 3), (3, 0));
    assert_eq!(scc("s_max_u32 s2, s0, s1", u32::MAX, 3), (u32::MAX, 1));
    assert_eq!(scc("s_mul_i32 s2, s0, s1", 0x10001, 0x10001), (0x20001, 1));
}

#[test]
fn fields_and_shifts() {
    let field = |offset: u32, width: u32| width << 16 | offset;
    assert_eq!(scc("s_bfe_u32 s2, s0, s1", 0x1234_5678, field(8, 12)), (0x456, 1));
    assert_eq!(scc("s_bfe_u32 s2, s0, s1", 0x1234_5678, field(8, 0)), (0, 0));
    assert_eq!(scc("s_bfe_u32 s2, s0, s1", 0x9234_5678, field(28, 12)), (9, 1));
    assert_eq!(scc("s_bfe_i32 s2, s0, s1", 0x0000_0f00, field(8, 4)), (u32::MAX, 1));
    assert_eq!(scc("s_bfe_i32 s2, s0, s1", 0x8000_0000, field(31, 64)), (u32::MAX, 1));
    assert_eq!(scc("s_bfe_i32 s2, s0, s1", 0x8000_0000, field(0, 32)), (0x8000_0000, 1));
    assert_eq!(scc("s_bfm_b32 s2, s0, s1", 4, 36), (0xf0, 1));
    assert_eq!(scc("s_lshl_b32 s2, s0, s1", 1, 32), (1, 1));
    assert_eq!(scc("s_ashr_i32 s2, s0, s1", 0x8000_0000, 4), (0xf800_0000, 1));
    assert_eq!(scc("s_lshr_b32 s2, s0, s1", 8, 4), (0, 0));
}

#[test]
fn bits() {
    assert_eq!(scc("s_abs_i32 s2, s0", 0x8000_0000, 0), (0x8000_0000, 1));
    assert_eq!(scc("s_not_b32 s2, s0", u32::MAX, 0), (0, 0));
    assert_eq!(scc("s_wqm_b32 s2, s0", 0x0210_0008, 0), (0x0ff0_000f, 1));
    assert_eq!(scc("s_quadmask_b32 s2, s0", 0x0210_0008, 0), (0x61, 1));
    assert_eq!(scc("s_bcnt0_i32_b32 s2, s0", 0xff, 0), (24, 1));
    assert_eq!(scc("s_bcnt1_i32_b32 s2, s0", 0, 0), (0, 0));
    assert_eq!(scc("s_ff1_i32_b32 s2, s0", 0x50, 0), (4, 1));
    assert_eq!(scc("s_ff1_i32_b32 s2, s0", 0, 0), (u32::MAX, 1));
    assert_eq!(scc("s_ff0_i32_b32 s2, s0", 0x7, 0), (3, 1));
    assert_eq!(scc("s_flbit_i32_b32 s2, s0", 0x0100_0000, 0), (7, 1));
    assert_eq!(scc("s_flbit_i32 s2, s0", 0xffff_0000, 0), (16, 1));
    assert_eq!(scc("s_flbit_i32 s2, s0", u32::MAX, 0), (u32::MAX, 1));
    assert_eq!(scc("s_sext_i32_i8 s2, s0", 0x180, 0), (0xffff_ff80, 1));
    assert_eq!(scc("s_bitset1_b32 s2, s0", 35, 0), (0x5d, 1));
    assert_eq!(scc("s_bitset0_b32 s2, s0", 0, 0), (0x54, 1));
    assert_eq!(scc("s_brev_b32 s2, s0", 1, 0), (0x8000_0000, 1));
}

#[test]
fn constants_of_16_bits() {
    assert_eq!(scc("s_movk_i32 s2, 0x8000", 0, 0), (0xffff_8000, 1));
    assert_eq!(scc("s_addk_i32 s2, 0xffff", 0, 0), (0x54, 0));
    assert_eq!(scc("s_mulk_i32 s2, 0xfffe", 0, 0), (0u32.wrapping_sub(0xaa), 1));
    assert_eq!(scc("s_cmovk_i32 s2, 0x7", 0, 0), (7, 1));
    assert_eq!(scc("s_cmpk_eq_u32 s0, 0xffff", 0xffff, 0), (0x55, 1));
    assert_eq!(scc("s_cmpk_eq_i32 s0, 0xffff", 0xffff, 0), (0x55, 0));
    assert_eq!(scc("s_cmpk_lt_i32 s0, 0x8000", 0x8000_0000, 0), (0x55, 1));
    assert_eq!(scc("s_cmpk_gt_u32 s0, 0x8000", 0x8001, 0), (0x55, 1));
}

#[test]
fn compares() {
    assert_eq!(scc("s_cmp_lt_i32 s0, s1", u32::MAX, 0).1, 1);
    assert_eq!(scc("s_cmp_lt_u32 s0, s1", u32::MAX, 0).1, 0);
    assert_eq!(scc("s_cmp_ge_u32 s0, s1", 5, 5).1, 1);
    assert_eq!(scc("s_bitcmp1_b32 s0, s1", 0x10, 36).1, 1);
    assert_eq!(scc("s_bitcmp0_b32 s0, s1", 0x10, 4).1, 0);
}

#[test]
fn pairs() {
    let text = "
        s_lshl_b64 s[4:5], s[0:1], 33
        s_ashr_i64 s[6:7], s[0:1], 60
        s_bfe_u64 s[8:9], s[0:1], 0x100010
        s_bfe_i64 s[10:11], s[0:1], 0x40001c
        s_bfm_b64 s[12:13], 8, 60
        s_brev_b64 s[14:15], s[0:1]
        s_flbit_i32_b64 s16, s[0:1]
        s_ff1_i32_b64 s17, s[0:1]
        s_bcnt1_i32_b64 s18, s[0:1]
        s_and_b64 s[20:21], s[0:1], 0x64
        s_not_b64 s[22:23], s[0:1]
        s_quadmask_b64 s[24:25], s[0:1]
        s_wqm_b64 s[26:27], s[0:1]
        s_bitset1_b64 s[28:29], 63
        s_mov_b64 s[30:31], -1
        s_endpgm
    ";
    run_from(Generation::Gfx6, text, &[("s0", 0x89ab_cde0), ("s1", 0x9234_5670)], |ran| {
        let a = 0x9234_5670_89ab_cde0u64;
        assert_eq!(ran.pair(4), a << 33);
        assert_eq!(ran.pair(6), 0xffff_ffff_ffff_fff9);
        assert_eq!(ran.pair(8), 0x89ab);
        assert_eq!(ran.pair(10), 0xffff_fff9_2345_6708);
        assert_eq!(ran.pair(12), 0xf << 60);
        assert_eq!(ran.pair(14), a.reverse_bits());
        assert_eq!(ran.s(16), 0);
        assert_eq!(ran.s(17), 5);
        assert_eq!(ran.s(18), a.count_ones());
        assert_eq!(ran.pair(20), 0x60);
        assert_eq!(ran.pair(22), !a);
        assert_eq!(ran.pair(24), 0xfefe);
        assert_eq!(ran.pair(26), 0xffff_fff0_ffff_fff0);
        assert_eq!(ran.pair(28), 1 << 63);
        assert_eq!(ran.pair(30), u64::MAX);
    });
}

#[test]
fn newest() {
    let text = "
        s_lshl3_add_u32 s2, s0, s1
        s_cselect_b32 s3, 1, 0
        s_pack_ll_b32_b16 s4, s0, s1
        s_pack_lh_b32_b16 s5, s0, s1
        s_pack_hh_b32_b16 s6, s0, s1
        s_mul_hi_u32 s7, s0, s1
        s_mul_hi_i32 s8, s0, s1
        s_bitreplicate_b64_b32 s[10:11], s0
        s_endpgm
    ";
    let ran = run(Generation::Gfx9, text, &[("s0", 0xf000_0005), ("s1", 0x0001_8002)]);
    assert_eq!(ran.s(2), 0x8000_0028u32.wrapping_add(0x0001_8002));
    assert_eq!(ran.s(3), 1);
    assert_eq!(ran.s(4), 0x8002_0005);
    assert_eq!(ran.s(5), 0x0001_0005);
    assert_eq!(ran.s(6), 0x0001_f000);
    assert_eq!(u64::from(ran.s(7)), (0xf000_0005u64 * 0x0001_8002) >> 32);
    assert_eq!(i64::from(ran.s(8) as i32), (i64::from(0xf000_0005u32 as i32) * 0x0001_8002) >> 32);
    assert_eq!(ran.pair(10), 0xff00_0000_0000_0033);
}

#[test]
fn relative_registers() {
    let text = "
        s_mov_b32 m0, 3
        s_movrels_b32 s20, s10
        s_movreld_b32 s30, s10
        s_mov_b32 m0, 2
        s_movrels_b64 s[22:23], s[10:11]
        s_movreld_b64 s[40:41], s[10:11]
        s_endpgm
    ";
    let registers = [("s10", 0xa), ("s11", 0xb), ("s12", 0xc), ("s13", 0xd), ("s30", 1), ("s33", 2)];
    run_from(Generation::Gfx6, text, &registers, |ran| {
        assert_eq!((ran.s(20), ran.s(30), ran.s(33)), (0xd, 1, 0xa));
        assert_eq!((ran.pair(22), ran.pair(42), ran.pair(40)), (0xd_0000_000c, 0xb_0000_000a, 0));
    });
}
