//! The model of scalar instructions (docs/hardware/gcn.md section 5, "Scalar").

/// Result and SCC, where the instruction has one. `a` and `b` are the sources in the width of their operands (constants of SOPK as they are
/// in the word), `old` is the destination before. None for an instruction that this does not know.
pub(super) fn scalar(name: &str, a: u64, b: u64, old: u64, scc: bool) -> Option<(Option<u64>, Option<bool>)> {
    let (x, y) = (a as u32, b as u32);
    let (ix, iy) = (x as i32, y as i32);
    let carry = u64::from(scc);
    // A result with SCC as said, without, or with SCC telling whether it is something.
    let with = |value: u32, scc: bool| Some((Some(u64::from(value)), Some(scc)));
    let only = |value: u64| Some((Some(value), None));
    let bits = |value: u64| Some((Some(value), Some(value != 0)));
    let test = |scc: bool| Some((None, Some(scc)));
    let stem = name.strip_suffix("_b32").or(name.strip_suffix("_b64"));
    if let Some(stem) = stem
        && let Some(value) = logic(stem, a, b)
    {
        return bits(if name.ends_with("32") { value & 0xffff_ffff } else { value });
    }
    match name {
        "s_add_u32" => with(x.wrapping_add(y), x.checked_add(y).is_none()),
        "s_sub_u32" => with(x.wrapping_sub(y), x < y),
        "s_add_i32" => with(x.wrapping_add(y), ix.checked_add(iy).is_none()),
        "s_sub_i32" => with(x.wrapping_sub(y), ix.checked_sub(iy).is_none()),
        "s_addc_u32" => {
            let sum = a + b + carry;
            with(sum as u32, sum >> 32 != 0)
        }
        "s_subb_u32" => with(x.wrapping_sub(y).wrapping_sub(carry as u32), a < b + carry),
        "s_min_i32" => with(ix.min(iy) as u32, ix < iy),
        "s_min_u32" => with(x.min(y), x < y),
        "s_max_i32" => with(ix.max(iy) as u32, ix > iy),
        "s_max_u32" => with(x.max(y), x > y),
        "s_cselect_b32" | "s_cselect_b64" => only(if scc { a } else { b }),
        "s_lshl_b32" => bits(u64::from(x << (y & 31))),
        "s_lshl_b64" => bits(a << (y & 63)),
        "s_lshr_b32" => bits(u64::from(x >> (y & 31))),
        "s_lshr_b64" => bits(a >> (y & 63)),
        "s_ashr_i32" => bits(u64::from((ix >> (y & 31)) as u32)),
        "s_ashr_i64" => bits((a as i64 >> (y & 63)) as u64),
        "s_bfm_b32" => only((((1u64 << (x & 31)) - 1) << (y & 31)) & 0xffff_ffff),
        "s_bfm_b64" => only(((1u64 << (x & 63)) - 1) << (y & 63)),
        "s_mul_i32" => only(u64::from(x.wrapping_mul(y))),
        "s_mul_hi_u32" => only((a * b) >> 32),
        "s_mul_hi_i32" => only(u64::from(((i64::from(ix) * i64::from(iy)) >> 32) as u32)),
        "s_bfe_u32" => bits(field(a, y, 32)),
        "s_bfe_u64" => bits(field(a, y, 64)),
        "s_bfe_i32" => bits(signed_field(u64::from(x), y, 32) & 0xffff_ffff),
        "s_bfe_i64" => bits(signed_field(a, y, 64)),
        "s_absdiff_i32" => bits(u64::from(ix.wrapping_sub(iy).unsigned_abs())),
        "s_pack_ll_b32_b16" => only(a & 0xffff | (b & 0xffff) << 16),
        "s_pack_lh_b32_b16" => only(a & 0xffff | b & 0xffff_0000),
        "s_pack_hh_b32_b16" => only(a >> 16 | b & 0xffff_0000),
        "s_mov_b32" | "s_mov_b64" => only(a),
        "s_cmov_b32" | "s_cmov_b64" => only(if scc { a } else { old }),
        "s_not_b32" => bits(u64::from(!x)),
        "s_not_b64" => bits(!a),
        "s_wqm_b32" | "s_wqm_b64" => bits(quads(a, |quad| if quad != 0 { 15 } else { 0 }, 4)),
        "s_quadmask_b32" | "s_quadmask_b64" => bits(quads(a, |quad| u64::from(quad != 0), 1)),
        "s_brev_b32" => only(x.reverse_bits().into()),
        "s_brev_b64" => only(a.reverse_bits()),
        "s_bcnt0_i32_b32" => bits(x.count_zeros().into()),
        "s_bcnt0_i32_b64" => bits(a.count_zeros().into()),
        "s_bcnt1_i32_b32" => bits(x.count_ones().into()),
        "s_bcnt1_i32_b64" => bits(a.count_ones().into()),
        "s_ff0_i32_b32" => only(found((0..32).find(|n| x >> n & 1 == 0))),
        "s_ff0_i32_b64" => only(found((0..64).find(|n| a >> n & 1 == 0))),
        "s_ff1_i32_b32" => only(found((0..32).find(|n| x >> n & 1 != 0))),
        "s_ff1_i32_b64" => only(found((0..64).find(|n| a >> n & 1 != 0))),
        "s_flbit_i32_b32" => only(found((0..32).find(|n| x << n >> 31 != 0))),
        "s_flbit_i32_b64" => only(found((0..64).find(|n| a << n >> 63 != 0))),
        // The first bit from the top that is not like the sign.
        "s_flbit_i32" => only(found((0..32).find(|n| x << n >> 31 != x >> 31))),
        "s_flbit_i32_i64" => only(found((0..64).find(|n| a << n >> 63 != a >> 63))),
        "s_sext_i32_i8" => only(u64::from(x as u8 as i8 as u32)),
        "s_sext_i32_i16" => only(u64::from(x as u16 as i16 as u32)),
        "s_bitset0_b32" => only(old & !(1 << (x & 31))),
        "s_bitset1_b32" => only(old | 1 << (x & 31)),
        "s_bitset0_b64" => only(old & !(1 << (x & 63))),
        "s_bitset1_b64" => only(old | 1 << (x & 63)),
        "s_abs_i32" => bits(ix.unsigned_abs().into()),
        "s_bitreplicate_b64_b32" => only((0..32).map(|n| (u64::from(x >> n & 1) * 3) << (2 * n)).sum()),
        "s_bitcmp0_b32" => test(x >> (y & 31) & 1 == 0),
        "s_bitcmp1_b32" => test(x >> (y & 31) & 1 != 0),
        "s_bitcmp0_b64" => test(a >> (y & 63) & 1 == 0),
        "s_bitcmp1_b64" => test(a >> (y & 63) & 1 != 0),
        "s_cmp_eq_u64" => test(a == b),
        "s_cmp_lg_u64" => test(a != b),
        "s_movk_i32" => only(signed16(a)),
        "s_cmovk_i32" => only(if scc { signed16(a) } else { old }),
        "s_addk_i32" => scalar("s_add_i32", old, signed16(a), 0, false),
        "s_mulk_i32" => scalar("s_mul_i32", old, signed16(a), 0, false),
        _ => {
            if let Some(rest) = name.strip_prefix("s_cmpk_") {
                let constant = if rest.ends_with("_i32") { signed16(a) } else { a };
                return scalar(&format!("s_cmp_{rest}"), old, constant, 0, false);
            }
            if let Some(rest) = name.strip_prefix("s_cmp_") {
                let (condition, kind) = rest.split_once('_')?;
                let order = if kind == "i32" { ix.cmp(&iy) } else { x.cmp(&y) };
                return test(match condition {
                    "eq" => order.is_eq(),
                    "lg" => order.is_ne(),
                    "gt" => order.is_gt(),
                    "ge" => order.is_ge(),
                    "lt" => order.is_lt(),
                    _ => order.is_le(),
                });
            }
            // s_lshlN_add_u32: the carry is whatever does not fit.
            let count: u32 = name.strip_prefix("s_lshl")?.strip_suffix("_add_u32")?.parse().ok()?;
            let sum = (a << count) + b;
            with(sum as u32, sum >> 32 != 0)
        }
    }
}

/// Bitwise operations by their names without width.
pub(super) fn logic(stem: &str, a: u64, b: u64) -> Option<u64> {
    Some(match stem {
        "s_and" => a & b,
        "s_or" => a | b,
        "s_xor" => a ^ b,
        "s_andn1" => !a & b,
        "s_andn2" => a & !b,
        "s_orn1" => !a | b,
        "s_orn2" => a | !b,
        "s_nand" => !(a & b),
        "s_nor" => !(a | b),
        "s_xnor" => !(a ^ b),
        _ => return None,
    })
}

fn found(place: Option<u32>) -> u64 {
    place.map_or(0xffff_ffff, u64::from)
}

fn signed16(constant: u64) -> u64 {
    u64::from(constant as u16 as i16 as u32)
}

/// The bits from `offset` on, as many as the width says and there are.
fn field(a: u64, control: u32, size: u32) -> u64 {
    let (offset, width) = (control & (size - 1), control >> 16 & 0x7f);
    (0..width.min(size - offset)).map(|n| a >> (offset + n) & 1).enumerate().map(|(n, bit)| bit << n).sum()
}

fn signed_field(a: u64, control: u32, size: u32) -> u64 {
    let (offset, width) = (control & (size - 1), control >> 16 & 0x7f);
    let width = width.min(size - offset);
    if width == 0 {
        return 0;
    }
    let value = field(a, control, size);
    if value >> (width - 1) & 1 != 0 { value | (!0u64).checked_shl(width).unwrap_or(0) } else { value }
}

/// What each quad of bits becomes, with `step` bits of the result a quad.
fn quads(a: u64, quad: impl Fn(u64) -> u64, step: u32) -> u64 {
    (0..16u32).map(|n| quad(a >> (4 * n) & 15) << (step * n)).sum()
}
