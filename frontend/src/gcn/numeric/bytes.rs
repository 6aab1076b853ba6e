//! Sums of absolute differences of bytes, and permutation of bytes.

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
