//! Computes video instructions, which work on one, two or four parts of a register (PTX manual, "Video Instructions").
//!
//! Each part is extended to an exact integer and the operation is exact. The result is then saturated (or truncated) to the
//! destination's type and merged with the third operand.

use crate::fermi::Merge;

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Op {
    Add,
    Sub,
    Subr,
    AddPo,
    Avg,
    Min,
    Max,
    AbsDiff,
    Set,
    Shr,
    Shl,
    Mad,
    First,
    Second,
}

const OPS: [Op; 14] = [
    Op::Add,
    Op::Sub,
    Op::Subr,
    Op::AddPo,
    Op::Avg,
    Op::Min,
    Op::Max,
    Op::AbsDiff,
    Op::Set,
    Op::Shr,
    Op::Shl,
    Op::Mad,
    Op::First,
    Op::Second,
];

const MERGES: [Merge; 10] = [
    Merge::None,
    Merge::H1,
    Merge::H0,
    Merge::B0,
    Merge::B2,
    Merge::Add,
    Merge::Min,
    Merge::Max,
    Merge::SimdMin,
    Merge::SimdMax,
];

/// Which of destination, first and second source are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signs {
    /// Of the result.
    pub to: bool,
    /// Of the first source.
    pub a: bool,
    /// Of the second source.
    pub b: bool,
}

/// One form of a video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Operation.
    pub op: Op,
    /// Parts, 1, 2 or 4. `mad` has one.
    pub lanes: u8,
    /// Signs.
    pub signs: Signs,
    /// For each lane which part of `b:a` is the first operand. One lane: 0-3 bytes, 4-5 halves, 6 all of `a`.
    pub first: [u8; 4],
    /// The same for the second operand (one lane: of `b`).
    pub second: [u8; 4],
    /// Whether the result is saturated.
    pub saturate: bool,
    /// What becomes of result and third operand.
    pub merge: Merge,
    /// Lanes written.
    pub mask: u8,
    /// Condition bits of `set`.
    pub compare: u8,
    /// Shift counts wrap; without they clamp.
    pub wrap: bool,
    /// `mad`: how product and addend are joined (0 add, 1 sub, 2 subr, 3 plus one), and the shift right.
    pub join: u8,
    /// See `join`.
    pub shift: u8,
}

impl Form {
    /// As one number, the first argument of the pure function.
    pub fn encode(&self) -> u64 {
        let op = OPS.iter().position(|op| *op == self.op).unwrap_or(0) as u64;
        let merge = MERGES.iter().position(|merge| *merge == self.merge).unwrap_or(0) as u64;
        let parts = |parts: [u8; 4]| parts.iter().rev().fold(0, |all, &part| all << 3 | u64::from(part & 7));
        let flag = |flag: bool, at: u32| u64::from(flag) << at;
        op | merge << 4
            | parts(self.first) << 8
            | parts(self.second) << 20
            | u64::from(self.lanes & 7) << 32
            | u64::from(self.mask & 15) << 35
            | u64::from(self.compare & 7) << 39
            | u64::from(self.join & 3) << 42
            | u64::from(self.shift & 15) << 44
            | flag(self.signs.to, 48)
            | flag(self.signs.a, 49)
            | flag(self.signs.b, 50)
            | flag(self.saturate, 51)
            | flag(self.wrap, 52)
    }

    /// The form of a number.
    pub fn decode(code: u64) -> Form {
        let field = |at: u32, bits: u32| (code >> at & ((1 << bits) - 1)) as u8;
        let parts = |at: u32| std::array::from_fn(|n| field(at + 3 * n as u32, 3));
        Form {
            op: OPS.get(usize::from(field(0, 4))).copied().unwrap_or(Op::Add),
            lanes: field(32, 3),
            signs: Signs { to: field(48, 1) != 0, a: field(49, 1) != 0, b: field(50, 1) != 0 },
            first: parts(8),
            second: parts(20),
            saturate: field(51, 1) != 0,
            merge: MERGES.get(usize::from(field(4, 4))).copied().unwrap_or(Merge::None),
            mask: field(35, 4),
            compare: field(39, 3),
            wrap: field(52, 1) != 0,
            join: field(42, 2),
            shift: field(44, 4),
        }
    }

    /// What the instruction gives.
    pub fn apply(&self, a: u32, b: u32, c: u32) -> u32 {
        match self.lanes {
            2 | 4 => self.apply_lanes(a, b, c),
            _ => self.apply_one(a, b, c),
        }
    }

    fn apply_one(&self, a: u32, b: u32, c: u32) -> u32 {
        let first = scalar(a, self.first[0], self.signs.a);
        let second = scalar(b, self.second[0], self.signs.b);
        if self.op == Op::Mad {
            return self.mad(first, second, c);
        }
        // Saturated to what is merged.
        let bits = match self.merge {
            Merge::H1 | Merge::H0 => 16,
            Merge::B0 | Merge::B2 => 8,
            _ => 32,
        };
        let result = self.limited(self.operate(first, second, 32), bits);
        self.merged(result, c)
    }

    /// The result, a number of the destination's type, merged with the third operand.
    fn merged(&self, result: i64, c: u32) -> u32 {
        let low = result as u32;
        let own = extend(low, 32, self.signs.to);
        let other = extend(c, 32, self.signs.to);
        match self.merge {
            Merge::None => low,
            Merge::H1 => low << 16 | c & 0xffff,
            Merge::H0 => c & 0xffff_0000 | low & 0xffff,
            Merge::B0 => c & 0xffff_ff00 | low & 0xff,
            Merge::B2 => c & 0xff00_ffff | (low & 0xff) << 16,
            Merge::Add => low.wrapping_add(c),
            Merge::Min | Merge::SimdMin => own.min(other) as u32,
            Merge::Max | Merge::SimdMax => own.max(other) as u32,
        }
    }

    fn operate(&self, a: i64, b: i64, bits: u32) -> i64 {
        match self.op {
            Op::Add => a + b,
            Op::Sub => a - b,
            Op::Subr => b - a,
            Op::AddPo => a + b + 1,
            // Rounded away from zero, as the manual has it: towards the sign of the sum.
            Op::Avg => {
                let sum = a + b;
                (sum + i64::from(sum >= 0)) >> 1
            }
            Op::Min => a.min(b),
            Op::Max => a.max(b),
            Op::AbsDiff => (a - b).abs(),
            Op::Set => {
                let bit = match a.cmp(&b) {
                    std::cmp::Ordering::Less => 1,
                    std::cmp::Ordering::Equal => 2,
                    std::cmp::Ordering::Greater => 4,
                };
                i64::from(self.compare & bit != 0)
            }
            Op::Shr | Op::Shl => {
                // The count is unsigned, of the part's width.
                let count = (b as u64) & u64::MAX >> (64 - bits);
                let count = if self.wrap { count % u64::from(bits) } else { count.min(bits.into()) };
                match self.op {
                    Op::Shr => a >> count,
                    // Beyond 63 bits: as large as can be, and nothing in the low word.
                    _ => i64::try_from(i128::from(a) << count).unwrap_or(i64::MAX & !0xffff_ffff),
                }
            }
            Op::First | Op::Mad => a,
            Op::Second => b,
        }
    }

    /// Saturated to the destination's type, or as it is.
    fn limited(&self, value: i64, bits: u32) -> i64 {
        if !self.saturate {
            value
        } else if self.signs.to {
            value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        } else {
            value.clamp(0, (1 << bits) - 1)
        }
    }

    fn apply_lanes(&self, a: u32, b: u32, c: u32) -> u32 {
        let lanes = u32::from(self.lanes);
        let bits = 32 / lanes;
        let part_mask = u32::MAX >> (32 - bits);
        let both = u64::from(b) << 32 | u64::from(a);
        let part = |number: u8, sign| extend((both >> (bits * u32::from(number))) as u32, bits, sign);
        let (mut result, mut total) = (c, i64::from(c));
        for lane in 0..lanes {
            if self.mask >> lane & 1 == 0 {
                continue;
            }
            let n = lane as usize;
            let (x, y) = (part(self.first[n], self.signs.a), part(self.second[n], self.signs.b));
            let value = self.limited(self.operate(x, y, bits), bits);
            let narrow = extend(value as u32, bits, self.signs.to);
            let old = extend(c >> (bits * lane), bits, self.signs.to);
            let value = match self.merge {
                Merge::SimdMin => narrow.min(old),
                Merge::SimdMax => narrow.max(old),
                Merge::Add => {
                    total = total.wrapping_add(value);
                    continue;
                }
                Merge::Min => {
                    total = extend(total as u32, 32, self.signs.to).min(value);
                    continue;
                }
                Merge::Max => {
                    total = extend(total as u32, 32, self.signs.to).max(value);
                    continue;
                }
                _ => value,
            };
            let at = bits * lane;
            result = result & !(part_mask << at) | (value as u32 & part_mask) << at;
        }
        match self.merge {
            Merge::Add | Merge::Min | Merge::Max => total as u32,
            _ => result,
        }
    }

    /// `a * b` and `c` joined, shifted right, saturated. The sum is exact. `c` has the sign of the product, which is signed where a
    /// factor is or where it is negated; the result is signed where that is or something is subtracted (PTX manual, `vmad`).
    fn mad(&self, a: i64, b: i64, c: u32) -> u32 {
        let join = self.join & 3;
        let sign = self.signs.a || self.signs.b || join == 2;
        let product = i128::from(a) * i128::from(b);
        let c = i128::from(extend(c, 32, sign));
        let sum = match join {
            0 => product + c,
            1 => product - c,
            2 => c - product,
            _ => product + c + 1,
        };
        let shifted = sum >> self.shift;
        let result = if !self.saturate {
            shifted
        } else if sign || join == 1 {
            shifted.clamp(i32::MIN.into(), i32::MAX.into())
        } else {
            shifted.clamp(0, u32::MAX.into())
        };
        result as u32
    }
}

/// A part of one register: byte, half or all of it.
fn scalar(value: u32, part: u8, sign: bool) -> i64 {
    match part {
        0..=3 => extend(value >> (8 * part), 8, sign),
        4 | 5 => extend(value >> (16 * (part - 4)), 16, sign),
        _ => extend(value, 32, sign),
    }
}

fn extend(value: u32, bits: u32, sign: bool) -> i64 {
    let unused = 64 - bits;
    let up = u64::from(value) << unused;
    if sign { up as i64 >> unused } else { (up >> unused) as i64 }
}
