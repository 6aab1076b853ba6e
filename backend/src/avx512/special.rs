//! Functions of Tesla's special-function unit, bit for bit (docs/hardware/tesla.md section 7).
//!
//! The unit interpolates: `sum = c0 << k + c1 * rest + c2 * square(rest)`, some 40 bits, cut to 24. Rows are looked up by permutations
//! of bytes, 128 entries at once: the index is in all four bytes of a lane, and each byte is replaced by that of its own table.
//!
//! For reciprocals only the lower 32 bits of the sum are computed, four or eight times as large, so that their upper 14 are the lower
//! ones of the result. What stands above follows from the host's estimate: it has an error of 2^-14, and the sum says what is to be
//! added to it. So exponents, and most of zeros and infinities, come from the estimate, too.
//!
//! A result is a link of a chain mostly, and few instructions fit beside it: what can be made side by side is not made one from another,
//! though a word is put together of two halves then.

use iced_x86::Code;
use warpjit_ir::{InstData, Special, WordTable};

use super::asm::{R, Src};
use super::code::Size;
use super::float::MUL;
use super::int::{self, AND, TEST};
use super::lower::Lower;
use crate::error::Error;
use crate::operands::{arg, malformed};

const ADD: Code = int::ADD[0];
const SUB: Code = int::SUB[0];
const XOR: Code = int::XOR[0];
const SHL: Code = int::SHL_BY[0];
const SHR: Code = int::SHR_BY[0];
const SAR: Code = int::SAR_BY[0];
const MUL_WORDS: Code = int::MUL[0];
const MUL_ADD_HALVES: Code = Code::EVEX_Vpmaddwd_zmm_k1z_zmm_zmmm512;
/// Adds the products of halves, signed, to words.
const DOT_HALVES: Code = Code::EVEX_Vpdpwssd_zmm_k1z_zmm_zmmm512b32;
/// Adds the products of bytes, unsigned by signed.
const DOT_BYTES: Code = Code::EVEX_Vpdpbusd_zmm_k1z_zmm_zmmm512b32;
/// Eight bits from any place of a lane, for each byte.
const WINDOWS: Code = Code::EVEX_Vpmultishiftqb_zmm_k1z_zmm_zmmm512b64;
const PERMUTE_64: Code = Code::EVEX_Vpermb_zmm_k1z_zmm_zmmm512;
/// The indices come first.
const PERMUTE_128: Code = Code::EVEX_Vpermi2b_zmm_k1z_zmm_zmmm512;
/// `c ? a : b` and `a & b | c`.
const CHOOSE: u8 = 0xe4;
const AND_OR: u8 = 0xea;

const FIX_UP: Code = Code::EVEX_Vfixupimmps_zmm_k1z_zmm_zmmm512b32_imm8_sae;

const EXPONENT: u32 = 0x7f80_0000;

/// A function by table and estimate.
struct Reciprocal<'a> {
    table: &'a [[i32; 3]; 128],
    estimate: Code,
    /// First bit of the table's index in the operand; below it is the rest.
    index: u8,
    /// What number of 1-bits the sum is shifted: four or eight times.
    scale: u32,
    /// What an index is changed by before it names a row.
    turned: usize,
    /// The least power of two that the squarer's operand is of the rest's.
    doubled: u8,
    /// What is added for rounding, as large as the sum.
    rounding: u32,
    /// For zeros, infinities, NaNs and negative numbers: see `vfixupimmps`.
    fix: u32,
}

/// Words that bytes are permuted for: what a permutation of 128 bytes gives one after another.
type Bytes = Vec<[u8; 128]>;

/// By bytes, from the lowest.
fn bytes_of(words: impl Iterator<Item = u32> + Clone) -> Bytes {
    (0..4)
        .map(|byte| {
            let mut table = [0; 128];
            table.iter_mut().zip(words.clone()).for_each(|(to, w)| *to = w.to_le_bytes()[byte]);
            table
        })
        .collect()
}

/// The products that the squarer keeps, of its operand's upper bits (in an index, bits 3 to 6) and lower ones (below).
fn kept_products() -> [u8; 128] {
    // Each upper bit times the lower ones, cut to its weight.
    std::array::from_fn(|i| {
        (0..4).filter(|m| i >> (6 - m) & 1 != 0).map(|m| ((2 * (i & 7)) >> m) as u8).sum()
    })
}

impl Lower<'_> {
    /// A function that is known by itself.
    pub fn special(&mut self, data: &InstData) -> Result<Vec<R>, Error> {
        let operand = self.before_canon(arg(data, 0)?);
        let x: Vec<R> = self.regs(operand)?.iter().copied().take(self.groups).collect();
        let function = match data.special().ok_or_else(|| malformed(data))? {
            Special::Square => {
                let x = self.each2(AND[0], &x, 0x1_ffff);
                return Ok(self.truncated_squares(&x, 0));
            }
            Special::Rcp(table) => Reciprocal {
                table,
                estimate: Code::EVEX_Vrcp14ps_zmm_k1z_zmmm512b32,
                index: 16,
                scale: 3,
                turned: 0,
                doubled: 1,
                rounding: 0x47e7,
                // Quiet NaNs for NaNs, infinities for zeros.
                fix: 0x0000_0622,
            },
            Special::Rsqrt(table) => Reciprocal {
                table,
                estimate: Code::EVEX_Vrsqrt14ps_zmm_k1z_zmmm512b32,
                index: 17,
                scale: 2,
                // Odd powers of two use the second half, and these are the ones whose exponent field is even.
                turned: 64,
                doubled: 0,
                rounding: 0x7fff,
                // Besides, NaNs for negative numbers, 0 for infinity.
                fix: 0x0383_0622,
            },
        };
        let x = match self.explicit_flush {
            true => x.iter().map(|&x| self.flush(0, x)).collect(),
            false => x,
        };
        let plain = self.is_middling(operand, function.turned == 0);
        Ok(self.reciprocals(&function, &x, plain))
    }

    /// Of operands that are `plain`: results are those of the table, not zero, infinite or NaN.
    fn reciprocals(&mut self, f: &Reciprocal<'_>, x: &[R], plain: bool) -> Vec<R> {
        let rests = self.each2(AND[0], x, (1 << f.index) - 1);
        let squares = self.truncated_squares(&rests, f.doubled);
        let shift = self.windows([f.index; 4]);
        let index: Vec<R> = x.iter().map(|&x| self.a.v3(WINDOWS, shift, Src::R(x))).collect();
        // The first slope is negative, its magnitude the upper half; the second is as large as the sum. Both stay below 2^16.
        let rows = (0..128).map(|i| f.table[i ^ f.turned]);
        let square_scale = f.scale + if f.doubled == 0 { 2 } else { 0 };
        let slopes = rows.clone().map(|[_, c1, c2]| c1.unsigned_abs() << 16 | (c2 as u32) << square_scale);
        let slopes = self.permuted(&bytes_of(slopes), 0, &index);
        // The lower half of the value in the upper one: as large as the sum, values are shifted by 16. So is the rounding's.
        let rounding = f.rounding << f.scale;
        let values = rows.map(|[c0, ..]| (c0 as u32).wrapping_add(rounding >> 16) << 16);
        let values = self.permuted(&bytes_of(values)[2..], 2, &index);
        let (upper, lower) = (self.a.constant(false, 0xffff_0000), self.shared(x.len(), rounding & 0xffff));
        let estimates: Vec<R> =
            x.iter().map(|&x| self.a.v2(f.estimate, Src::R(x), Size::Z, Size::Z)).collect();
        let mut sums = Vec::new();
        for n in 0..x.len() {
            let value = self.a.ternary(AND_OR, values[n], upper, lower);
            let low = self.a.v2i(SHL, estimates[n], 18);
            let above = self.a.v3(SUB, value, Src::R(low));
            sums.push(self.a.v4(DOT_HALVES, above, slopes[n], Src::R(squares[n])));
        }
        // The upper bits of the second slope's half are clear.
        let slopes: Vec<R> = slopes.iter().map(|&s| self.a.v2i(SHR, s, 16 - f.scale as u8)).collect();
        let products: Vec<R> = if f.turned != 0 {
            // Even powers of two are exact, but the table gives one unit less: there something is added instead.
            let flipped = self.each2(XOR, x, 1 << 23);
            let fractions = self.shared(x.len(), (1 << 24) - 1);
            let others: Vec<R> = flipped.iter().map(|&x| self.a.vtest(TEST[0], x, fractions)).collect();
            let less = self.a.constant(false, 0x1_0004u32.wrapping_neg().into());
            let each =
                (0..x.len()).map(|n| self.a.v3m(MUL_WORDS, others[n], less, slopes[n], Src::R(rests[n])));
            each.collect()
        } else {
            (0..x.len()).map(|n| self.a.v3(MUL_WORDS, slopes[n], Src::R(rests[n]))).collect()
        };
        let fix = self.shared(x.len(), f.fix);
        let mut out = Vec::new();
        for n in 0..x.len() {
            let (x, estimate) = (x[n], estimates[n]);
            let error = self.a.v3(SUB, sums[n], Src::R(products[n]));
            let error = self.a.v2i(SAR, error, 18);
            let mut result = if plain || f.turned != 0 {
                self.a.v3(ADD, estimate, Src::R(error))
            } else {
                // Of large numbers that is a zero or a denormal, which becomes a zero.
                let normal = self.a.vtest(TEST[0], estimate, Src::C32(EXPONENT));
                let r = self.a.v3m(ADD, normal, estimate, estimate, Src::R(error));
                match self.explicit_flush {
                    true => self.flush(0, r),
                    false => self.a.v3(MUL[0], r, Src::C32(1f32.to_bits())),
                }
            };
            if !plain {
                // What the responses say for kinds of `x`, else the result.
                result = self.a.v4i(FIX_UP, result, x, fix);
            }
            out.push(result);
        }
        out
    }

    /// A constant that so many operations use: where it is more than one, it is loaded once.
    fn shared(&mut self, users: usize, bits: u32) -> Src {
        if users > 1 { Src::R(self.a.constant(false, bits.into())) } else { Src::C32(bits) }
    }

    /// An operation of each with a constant.
    fn each2(&mut self, code: Code, x: &[R], bits: u32) -> Vec<R> {
        let b = self.shared(x.len(), bits);
        x.iter().map(|&x| self.a.v3(code, x, b)).collect()
    }

    /// Where the windows of a lane's four bytes start, for all lanes.
    fn windows(&mut self, starts: [u8; 4]) -> R {
        let bytes: [u8; 8] = std::array::from_fn(|n| (starts[n % 4] + if n < 4 { 0 } else { 32 }) & 63);
        self.a.constant(true, u64::from_le_bytes(bytes))
    }

    /// The squarer's result for numbers of 17 bits, which `x` has shifted left by `doubled`: half the square of the upper eight bits,
    /// and those products of bits 10 to 16 with bits 2 to 8 whose weight is one at least.
    fn truncated_squares(&mut self, x: &[R], doubled: u8) -> Vec<R> {
        let at = |bits: [u8; 4]| bits.map(|b| b.wrapping_sub(doubled) & 63);
        // Upper bits and lower ones: 14 to 16 with 6 to 8, all products of which are kept; 13 to 16 with 3 to 5; 10 to 13 with 6 to 8;
        // and 16 with 2.
        let upper = self.windows(at([11, 10, 7, 13]));
        let lower = self.windows(at([6, 3, 6, 0]));
        let mask = self.a.constant(false, 0x7878_7878);
        let index: Vec<R> = x
            .iter()
            .map(|&x| {
                let u = self.a.v3(WINDOWS, upper, Src::R(x));
                let l = self.a.v3(WINDOWS, lower, Src::R(x));
                self.a.ternary(CHOOSE, u, l, Src::R(mask))
            })
            .collect();
        let [first, second] = self.halves(&kept_products());
        let product: [u8; 64] = std::array::from_fn(|i| ((i >> 3) * (i & 7)) as u8);
        let products = self.a.pool.add(&product);
        let lowest = self.byte_mask(0);
        let weights = self.shared(x.len(), 0x0101_0104);
        let mut out = Vec::new();
        for (&x, &index) in x.iter().zip(&index) {
            let others = self.a.v4(PERMUTE_128, index, first, Src::R(second));
            let all = self.a.v3m(PERMUTE_64, lowest, others, index, Src::Pool(products));
            let high = self.a.v2i(SHR, x, 9 - doubled);
            let square = self.a.v3(MUL_ADD_HALVES, high, Src::R(high));
            let half = self.a.v2i(SHR, square, 1);
            out.push(self.a.v4(DOT_BYTES, half, all, weights));
        }
        out
    }

    /// Both halves of a table of bytes.
    fn halves(&mut self, table: &[u8; 128]) -> [R; 2] {
        [&table[..64], &table[64..]].map(|half| {
            let entry = self.a.pool.add(half);
            self.a.vload_pool(entry)
        })
    }

    /// Replaces the bytes of words, `from` one on, by entries of these tables; each byte holds an index of seven bits.
    fn permuted(&mut self, tables: &[[u8; 128]], from: usize, index: &[R]) -> Vec<R> {
        let mut out = index.to_vec();
        for (n, table) in tables.iter().enumerate() {
            let mask = self.byte_mask(from + n);
            // Of up to 64 entries both halves are the same.
            if table[..64] == table[64..] {
                let entry = self.a.pool.add(&table[..64]);
                let all = self.a.vload_pool(entry);
                for (x, &index) in out.iter_mut().zip(index) {
                    *x = self.a.v3m(PERMUTE_64, mask, *x, index, Src::R(all));
                }
                continue;
            }
            let [first, second] = self.halves(table);
            for x in &mut out {
                *x = self.a.v3m(PERMUTE_128, mask, *x, first, Src::R(second));
            }
        }
        out
    }

    /// The mask of one byte of every word.
    fn byte_mask(&mut self, byte: usize) -> R {
        let bits = 0x1111_1111_1111_1111 << byte;
        if let Some(&(_, k)) = self.known.byte_masks.iter().find(|(b, _)| *b == bits) {
            return k;
        }
        let k = self.a.k_bits(bits);
        if !self.aside {
            self.known.byte_masks.push((bits, k));
        }
        k
    }

    /// The words of tables, of [`MOST_PERMUTED`] at most, at the lanes' indices.
    pub fn permuted_words(&mut self, tables: &[&WordTable], index: &[R]) -> Vec<Vec<R>> {
        let start = self.windows([0; 4]);
        let index: Vec<R> = index.iter().map(|&x| self.a.v3(WINDOWS, start, Src::R(x))).collect();
        let each = tables.iter().map(|table| {
            // An index is modulo the length.
            let bytes = bytes_of((0..128).map(|i| table.entry(i)));
            self.permuted(&bytes, 0, &index)
        });
        each.collect()
    }
}

/// Words of the largest tables that permutations reach.
pub(super) const MOST_PERMUTED: usize = 128;
