//! Computes sums of absolute differences of bytes, and permutations of bytes.

fn byte(word: u32, n: u32) -> u32 {
    word >> (8 * n) & 0xff
}

/// Sum of the absolute differences of four bytes; with `masked`, of those whose byte of `b` is not zero.
pub fn sad_u8(a: u32, b: u32, masked: bool) -> u32 {
    (0..4).filter(|&n| !masked || byte(b, n) != 0).map(|n| byte(a, n).abs_diff(byte(b, n))).sum()
}

/// Four sums of absolute differences of the bytes of `b` and four consecutive ones of `a`, one byte further
/// on each time, added to the halves of `sums`. `saturate` limits each half at its maximum.
pub fn qsad_pk(a: u64, b: u32, sums: u64, masked: bool, saturate: bool) -> u64 {
    (0..4).fold(0, |result, n| {
        let sum = (sums >> (16 * n) & 0xffff) + u64::from(sad_u8((a >> (8 * n)) as u32, b, masked));
        let sum = if saturate { sum.min(0xffff) } else { sum & 0xffff };
        result | sum << (16 * n)
    })
}

/// Bytes of `high:low` by the selectors in `selector`: 0 to 7 a byte, 8 to 11 the sign of a half, 12 zero, above
/// that ones.
pub fn perm(high: u32, low: u32, selector: u32) -> u32 {
    let both = u64::from(high) << 32 | u64::from(low);
    (0..4).fold(0, |result, n| {
        let chosen = match byte(selector, n) {
            at @ 0..=7 => (both >> (8 * at)) as u32 & 0xff,
            half @ 8..=11 => 0xff * ((both >> (16 * (half - 8) + 15)) as u32 & 1),
            12 => 0,
            _ => 0xff,
        };
        result | chosen << (8 * n)
    })
}

/// Sixteen results of `v_screen_partition_4se_b32` in each, that of the lowest source in the lowest four bits.
const SCREEN_PARTITION: [u64; 16] = [
    0xffff_fff7_fff5_f731,
    0xffff_ffbf_ffaf_e62f,
    0xffff_fdff_f5ff_c4fd,
    0xffff_efff_afff_8fb9,
    0xfffe_fff6_fdc4_ffff,
    0xffdf_f99f_b98f_ffff,
    0xfbff_f9ff_31f7_ffff,
    0x7fff_6ff6_2fe6_ffff,
    0xfffa_fb32_ffff_fffb,
    0xff5f_d91f_ffff_ff7f,
    0xfaff_c8fe_ffff_feff,
    0x5fff_4f76_ffff_dfff,
    0xfec8_ffff_fffd_fff9,
    0x764f_ffff_ffef_f66f,
    0x32fb_ffff_f7ff_f6ff,
    0x1fd9_ffff_bfff_9ff9,
];

/// `v_screen_partition_4se_b32`: which of four shader engines a partition of the screen touches, by the low byte.
pub fn screen_partition(a: u32) -> u32 {
    let row = SCREEN_PARTITION[(a >> 4 & 15) as usize];
    (row >> (4 * (a & 15))) as u32 & 15
}
