//! Integer arithmetic, logic and comparison. A legaliser for what CLIF vectors lack: per-lane shift counts, rotates,
//! high products, bit counts.

use std::rc::Rc;

use warpjit_ir::types::Scalar;
use warpjit_ir::{Imm, InstData, IntCC, Opcode, Value, WordTable};

use super::{Lower, Parts, arg, malformed, wide};
use crate::clif::{Emit, F32, F32X4, HostIntCC, I8, I32, I32X4, I64, I64X2, V};
use crate::context::at;
use crate::error::Error;
use crate::operands::number;

pub(super) fn condition(cc: IntCC) -> HostIntCC {
    match cc {
        IntCC::Eq => HostIntCC::Equal,
        IntCC::Ne => HostIntCC::NotEqual,
        IntCC::Slt => HostIntCC::SignedLessThan,
        IntCC::Sle => HostIntCC::SignedLessThanOrEqual,
        IntCC::Sgt => HostIntCC::SignedGreaterThan,
        IntCC::Sge => HostIntCC::SignedGreaterThanOrEqual,
        IntCC::Ult => HostIntCC::UnsignedLessThan,
        IntCC::Ule => HostIntCC::UnsignedLessThanOrEqual,
        IntCC::Ugt => HostIntCC::UnsignedGreaterThan,
        IntCC::Uge => HostIntCC::UnsignedGreaterThanOrEqual,
    }
}

impl Lower<'_, '_> {
    /// Vectors of an integer operation.
    pub(super) fn int(&mut self, data: &InstData) -> Result<Parts, Error> {
        let scalar = self.scalar_of(arg(data, 0)?);
        match data.op {
            Opcode::Icmp => {
                let Imm::Int(cc) = data.imm else { return Err(malformed(data)) };
                let masks = self.part_by_part(&data.args, |l, a| Ok(l.e.icmp(condition(cc), a[0], a[1])))?;
                Ok(if wide(scalar) { self.narrow_mask(&masks) } else { masks })
            }
            Opcode::Lookup => self.lookup(data),
            Opcode::Ishl | Opcode::Ushr | Opcode::Sshr | Opcode::Rotl if self.is_uniform(arg(data, 1)?) => {
                self.shift_by_scalar(data)
            }
            Opcode::Ishl if scalar == Scalar::I32 => {
                self.part_by_part(&data.args, |l, a| Ok(l.e.shl_by_lane(a[0], a[1])))
            }
            Opcode::Ishl
            | Opcode::Ushr
            | Opcode::Sshr
            | Opcode::Rotl
            | Opcode::Clz
            | Opcode::Ctz
            | Opcode::Umulhi
            | Opcode::Smulhi
                if wide(scalar) || !matches!(data.op, Opcode::Umulhi | Opcode::Smulhi) =>
            {
                let args = data
                    .args
                    .iter()
                    .map(|&a| Ok((self.parts(a)?, scalar)))
                    .collect::<Result<Vec<_>, Error>>()?;
                let mut failed = None;
                let parts = self.lane_by_lane(&args, scalar, |l, a| match l.int_scalar(data, a) {
                    Ok(v) => v,
                    Err(e) => {
                        failed = Some(e);
                        a[0]
                    }
                });
                failed.map_or(Ok(parts), Err)
            }
            _ => self.part_by_part(&data.args, |l, a| l.int_part(data, a)),
        }
    }

    /// Shifts where all lanes have the same count, constant most of the time.
    fn shift_by_scalar(&mut self, data: &InstData) -> Result<Parts, Error> {
        let (x, n) = (arg(data, 0)?, arg(data, 1)?);
        let bits = self.scalar_of(x).bits();
        let constant = match self.kept(n)? {
            super::Kept::Const(c) => Some(c as u32 % bits),
            _ => None,
        };
        if constant == Some(0) {
            return self.parts(x);
        }
        let count = match constant {
            Some(c) => self.e.imm(I32, u64::from(c)),
            None => self.scalar(n)?,
        };
        self.part_by_part(&[x], |l, a| {
            Ok(match data.op {
                Opcode::Ishl => l.e.ishl(a[0], count),
                Opcode::Ushr => l.e.ushr(a[0], count),
                Opcode::Sshr => l.e.sshr(a[0], count),
                _ => {
                    let other = match constant {
                        Some(c) => l.e.imm(I32, u64::from(bits - c)),
                        // Modulo the width: 0 gives x | x.
                        None => l.e.ineg(count),
                    };
                    let high = l.e.ishl(a[0], count);
                    let low = l.e.ushr(a[0], other);
                    l.e.bor(high, low)
                }
            })
        })
    }

    /// Entries of a table, a load for each lane.
    fn lookup(&mut self, data: &InstData) -> Result<Parts, Error> {
        let Imm::Table(table) = data.imm else { return Err(malformed(data)) };
        let base = self.table(table);
        let offsets = self.table_offsets(arg(data, 0)?, table.index_mask())?;
        let parts = offsets.chunks(4).map(|four| {
            // Loads typed as floats need no detour through a general register.
            let words = four.iter().enumerate().fold(None, |part, (lane, &offset)| {
                let place = self.e.iadd(base, offset);
                let word = self.e.load(F32, place, 0);
                Some(match part {
                    None => self.e.splat(F32X4, word),
                    Some(part) => self.e.insert(part, word, lane),
                })
            });
            words.map(|words| self.e.cast(words, I32X4)).ok_or_else(|| malformed(data))
        });
        parts.collect()
    }

    /// Byte offsets that a varying index has in a table. Look-ups of several tables by one index stand together: the last
    /// offsets are kept.
    fn table_offsets(&mut self, index: Value, mask: u32) -> Result<Rc<[V]>, Error> {
        let here = self.e.b.current_block();
        if let Some((block, of, masked, offsets)) = &self.last_offsets
            && (here, index, mask) == (Some(*block), *of, *masked)
        {
            return Ok(offsets.clone());
        }
        let indices = self.parts(index)?;
        let bytes: Parts = indices
            .iter()
            .map(|&i| {
                let i = self.e.band_imm(i, mask.into());
                self.e.shl(i, 2)
            })
            .collect();
        let offsets: Rc<[V]> = self.lane_offsets(&bytes).into();
        self.last_offsets = here.map(|block| (block, index, mask, offsets.clone()));
        Ok(offsets)
    }

    /// Where the words of a table lie.
    fn table(&mut self, table: &'static WordTable) -> V {
        let index = number(&mut self.tables, table);
        let tables = self.e.load(I64, self.context, at::TABLES);
        self.e.load(I64, tables, 8 * index as i32)
    }

    /// An operation on scalars.
    pub(super) fn int_scalar(&mut self, data: &InstData, a: &[V]) -> Result<V, Error> {
        let need = match data.op {
            Opcode::Inot
            | Opcode::Lookup
            | Opcode::Ineg
            | Opcode::Popcnt
            | Opcode::Clz
            | Opcode::Ctz
            | Opcode::Bitrev
            | Opcode::Bswap => 1,
            _ => 2,
        };
        if a.len() != need {
            return Err(malformed(data));
        }
        Ok(match data.op {
            Opcode::Icmp => {
                let Imm::Int(cc) = data.imm else { return Err(malformed(data)) };
                self.e.icmp(condition(cc), a[0], a[1])
            }
            Opcode::Lookup => {
                let Imm::Table(table) = data.imm else { return Err(malformed(data)) };
                let base = self.table(table);
                let index = self.e.band_imm(a[0], table.index_mask().into());
                let index = self.e.uextend(I64, index);
                let offset = self.e.shl(index, 2);
                let place = self.e.iadd(base, offset);
                self.e.load(I32, place, 0)
            }
            Opcode::Inot if self.e.ty(a[0]) == I8 => self.e.bxor_imm(a[0], 1),
            Opcode::Ishl => self.e.ishl(a[0], a[1]),
            Opcode::Ushr => self.e.ushr(a[0], a[1]),
            Opcode::Sshr => self.e.sshr(a[0], a[1]),
            Opcode::Rotl => self.e.rotl(a[0], a[1]),
            Opcode::Umulhi => self.e.umulhi(a[0], a[1]),
            Opcode::Smulhi => self.e.smulhi(a[0], a[1]),
            Opcode::Popcnt => self.e.popcnt(a[0]),
            Opcode::Clz => self.e.clz(a[0]),
            Opcode::Ctz => self.e.ctz(a[0]),
            Opcode::Bitrev => self.e.bitrev(a[0]),
            Opcode::Bswap => self.e.bswap(a[0]),
            _ => return self.int_part(data, a),
        })
    }

    /// An operation on vectors, or on scalars where CLIF has the same instruction for both.
    fn int_part(&mut self, data: &InstData, a: &[V]) -> Result<V, Error> {
        let e = &mut self.e;
        Ok(match (data.op, a) {
            (Opcode::Iadd, &[a, b]) => e.iadd(a, b),
            (Opcode::Isub, &[a, b]) => e.isub(a, b),
            (Opcode::Imul, &[a, b]) => e.imul(a, b),
            (Opcode::Iand, &[a, b]) => e.band(a, b),
            (Opcode::Ior, &[a, b]) => e.bor(a, b),
            (Opcode::Ixor, &[a, b]) => e.bxor(a, b),
            (Opcode::Inot, &[a]) => e.bnot(a),
            (Opcode::Ineg, &[a]) => e.ineg(a),
            (Opcode::Umin, &[a, b]) => e.umin(a, b),
            (Opcode::Umax, &[a, b]) => e.umax(a, b),
            (Opcode::Smin, &[a, b]) => e.smin(a, b),
            (Opcode::Smax, &[a, b]) => e.smax(a, b),
            (Opcode::Umulhi, &[a, b]) => e.mulhi_words(a, b, false),
            (Opcode::Smulhi, &[a, b]) => e.mulhi_words(a, b, true),
            (Opcode::Popcnt, &[a]) => e.vector_popcnt(a),
            (Opcode::Bitrev, &[a]) => e.vector_bitrev(a),
            (Opcode::Bswap, &[a]) => e.vector_bswap(a),
            _ => return Err(malformed(data)),
        })
    }
}

impl Emit<'_> {
    /// Left shift of words by per-lane counts: a product with 2^n, which comes from a float's exponent.
    fn shl_by_lane(&mut self, x: V, n: V) -> V {
        let n = self.band_imm(n, 31);
        let exponent = self.shl(n, 23);
        let float = self.iadd_imm(exponent, 0x3f80_0000);
        let float = self.cast(float, F32X4);
        // 2^31 is out of range and gives 0x80000000 on x86: just that.
        let power =
            if self.host.x86 { self.x86_cvtt2dq(I32X4, float) } else { self.fcvt_to_uint_sat(I32X4, float) };
        self.imul(x, power)
    }

    /// High halves of word products.
    fn mulhi_words(&mut self, a: V, b: V, signed: bool) -> V {
        let (al, bl, ah, bh) = if signed {
            (self.swiden_low(a), self.swiden_low(b), self.swiden_high(a), self.swiden_high(b))
        } else {
            (self.uwiden_low(a), self.uwiden_low(b), self.uwiden_high(a), self.uwiden_high(b))
        };
        let (low, high) = (self.imul(al, bl), self.imul(ah, bh));
        self.shuffle_words(I32X4, low, high, [1, 3, 5, 7])
    }

    fn vector_popcnt(&mut self, x: V) -> V {
        let word = self.ty(x) == I32X4;
        let k = |byte: u64| if word { byte * 0x0101_0101 } else { byte * 0x0101_0101_0101_0101 };
        let half = self.shr(x, 1);
        let odd = self.band_imm(half, k(0x55));
        let pairs = self.isub(x, odd);
        let (low, high) = (self.band_imm(pairs, k(0x33)), self.shr(pairs, 2));
        let high = self.band_imm(high, k(0x33));
        let nibbles = self.iadd(low, high);
        let high = self.shr(nibbles, 4);
        let sum = self.iadd(nibbles, high);
        let mut sum = self.band_imm(sum, k(0x0f));
        if word {
            let ones = self.imm(I32X4, 0x0101_0101);
            let total = self.imul(sum, ones);
            return self.shr(total, 24);
        }
        for n in [8, 16, 32] {
            let other = self.shr(sum, n);
            sum = self.iadd(sum, other);
        }
        self.band_imm(sum, 0x7f)
    }

    fn vector_bswap(&mut self, x: V) -> V {
        let ty = self.ty(x);
        let flip = if ty == I64X2 { 7 } else { 3 };
        self.shuffle(ty, x, x, std::array::from_fn(|i| i as u8 ^ flip))
    }

    fn vector_bitrev(&mut self, x: V) -> V {
        let mut x = self.vector_bswap(x);
        for (n, byte) in [(4u32, 0x0fu64), (2, 0x33), (1, 0x55)] {
            let mask = byte * 0x0101_0101_0101_0101;
            let mask = if self.ty(x) == I32X4 { mask & 0xffff_ffff } else { mask };
            let low = self.band_imm(x, mask);
            let low = self.shl(low, n);
            let high = self.shr(x, n);
            let high = self.band_imm(high, mask);
            x = self.bor(low, high);
        }
        x
    }
}
