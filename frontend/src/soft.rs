//! Exact software floating point. Numbers are `sign, integer * 2^exponent`; the arithmetic on them is exact, and one function
//! rounds the result. The numerics of all instruction sets use it.

/// Rounding direction, in the order of the two-bit fields of Tesla's and Fermi's instruction words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to even (`rn`).
    #[default]
    Nearest,
    /// Toward minus infinity (`rm`).
    Down,
    /// Toward plus infinity (`rp`).
    Up,
    /// Toward zero (`rz`).
    Zero,
}

impl Rounding {
    /// Decodes such a field; higher bits are ignored.
    pub fn from_field(field: u32) -> Self {
        match field & 3 {
            0 => Rounding::Nearest,
            1 => Rounding::Down,
            2 => Rounding::Up,
            _ => Rounding::Zero,
        }
    }

    /// The two-bit field that stands for this direction.
    pub fn field(self) -> u32 {
        self as u32
    }
}

/// A binary interchange format, with what the chip does to its denormals.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Fraction bits.
    pub fraction: u32,
    /// Exponent bias; the all-ones exponent field is `2 * bias + 1`.
    pub bias: i32,
    /// What becomes of results below the smallest normal number.
    pub tiny: Tiny,
}

/// Treatment of results below the smallest normal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiny {
    /// Kept as denormals.
    Keep,
    /// Rounded with unbounded exponent, then flushed to signed zero (add, mul).
    FlushNormal,
    /// Rounded as a denormal, then flushed to signed zero (mad).
    FlushDenormal,
}

/// f16 with denormals.
pub const F16: Format = Format { fraction: 10, bias: 15, tiny: Tiny::Keep };
/// f32 with denormals.
pub const F32: Format = Format { fraction: 23, bias: 127, tiny: Tiny::Keep };
/// f32 as add and mul produce it.
pub const F32_FLUSH: Format = Format { fraction: 23, bias: 127, tiny: Tiny::FlushNormal };
/// f32 as mad produces it.
pub const F32_MAD: Format = Format { fraction: 23, bias: 127, tiny: Tiny::FlushDenormal };
/// f64, never flushed.
pub const F64: Format = Format { fraction: 52, bias: 1023, tiny: Tiny::Keep };

impl Format {
    /// Bits of the whole number.
    pub fn bits(&self) -> u32 {
        64 - (self.infinity().leading_zeros()) + 1
    }

    /// The bits of plus infinity.
    pub fn infinity(&self) -> u64 {
        ((2 * self.bias + 1) as u64) << self.fraction
    }

    /// The sign bit.
    pub fn sign_bit(&self) -> u64 {
        1 << (self.bits() - 1)
    }

    /// Whether the bits are a NaN.
    pub fn is_nan(&self, bits: u64) -> bool {
        bits & (self.sign_bit() - 1) > self.infinity()
    }

    /// Whether the bits are an infinity.
    pub fn is_infinite(&self, bits: u64) -> bool {
        bits & (self.sign_bit() - 1) == self.infinity()
    }

    /// What bits of any kind stand for; denormals are zero unless the format keeps them.
    pub fn number(&self, bits: u64) -> Number {
        if self.is_nan(bits) {
            Number::Nan
        } else if self.is_infinite(bits) {
            Number::Infinite { negative: bits & self.sign_bit() != 0 }
        } else {
            Number::Finite(self.unpack(bits))
        }
    }

    /// Takes finite bits apart; denormals are zero unless the format keeps them.
    pub fn unpack(&self, bits: u64) -> Real {
        let negative = bits & self.sign_bit() != 0;
        let fraction = bits & ((1 << self.fraction) - 1);
        let field = (bits >> self.fraction) as i32 & (2 * self.bias + 1);
        let (magnitude, field) = match (field, self.tiny) {
            (0, Tiny::Keep) => (fraction, 1),
            (0, _) => (0, 1),
            _ => (fraction | 1 << self.fraction, field),
        };
        Real { negative, magnitude: magnitude.into(), exponent: field - self.bias - self.fraction as i32 }
    }

    /// Rounds to this format.
    pub fn round(&self, value: Real, rounding: Rounding) -> u64 {
        let sign = if value.negative { self.sign_bit() } else { 0 };
        if value.magnitude == 0 {
            return sign;
        }
        let top = 127 - value.magnitude.leading_zeros() as i32 + value.exponent;
        let fraction = self.fraction as i32;
        let mut unit = top - fraction;
        if self.tiny != Tiny::FlushNormal {
            unit = unit.max(1 - self.bias - fraction);
        }
        let mut units = shift_right(value.magnitude, unit - value.exponent, rounding, value.negative);
        if units >> (fraction + 1) != 0 {
            units >>= 1;
            unit += 1;
        }
        // The exponent field of a number with its top bit at `fraction`.
        let field = unit + fraction + self.bias;
        let normal = units >> fraction != 0;
        if !normal || field < 1 {
            return match self.tiny {
                Tiny::Keep => sign | units as u64,
                _ => sign,
            };
        }
        if field > 2 * self.bias {
            let outward = match rounding {
                Rounding::Nearest => true,
                Rounding::Zero => false,
                Rounding::Up => !value.negative,
                Rounding::Down => value.negative,
            };
            return sign | (self.infinity() - u64::from(!outward));
        }
        sign | (field as u64) << self.fraction | units as u64 & ((1 << self.fraction) - 1)
    }
}

/// A finite number: `(-1)^negative * magnitude * 2^exponent`.
#[derive(Clone, Copy, Debug)]
pub struct Real {
    /// Sign, also of zero.
    pub negative: bool,
    /// Integer magnitude. After [`Real::plus`] its lowest bit may be a sticky bit.
    pub magnitude: u128,
    /// Weight of the lowest bit.
    pub exponent: i32,
}

impl Real {
    /// The exact product; magnitudes must have at most 64 bits each.
    pub fn times(self, other: Real) -> Real {
        Real {
            negative: self.negative ^ other.negative,
            magnitude: self.magnitude * other.magnitude,
            exponent: self.exponent + other.exponent,
        }
    }

    /// Keeps the `bits` most significant bits, toward zero.
    pub fn truncate(self, bits: u32) -> Real {
        let drop = (128 - self.magnitude.leading_zeros()).saturating_sub(bits);
        Real { magnitude: self.magnitude >> drop, exponent: self.exponent + drop as i32, ..self }
    }

    /// The sum, exact but for a sticky lowest bit far below any rounding position. The sign of an
    /// exact zero is the common sign, or `zero_negative` where the signs differ.
    pub fn plus(self, other: Real, zero_negative: bool) -> Real {
        if self.magnitude == 0 || other.magnitude == 0 {
            let both = self.magnitude == 0 && other.magnitude == 0;
            if both && self.negative != other.negative {
                return Real { negative: zero_negative, ..self };
            }
            return if self.magnitude == 0 { other } else { self };
        }
        // Top bits at 125: one bit of room for the carry, at least 19 below either operand's bits.
        let (mut high, mut low) = (self.normalize(), other.normalize());
        if high.exponent < low.exponent {
            std::mem::swap(&mut high, &mut low);
        }
        let distance = (high.exponent - low.exponent) as u32;
        let aligned = match distance {
            0 => low.magnitude,
            1..=127 => {
                let lost = low.magnitude & ((1 << distance) - 1) != 0;
                low.magnitude >> distance | u128::from(lost)
            }
            _ => 1,
        };
        if high.negative == low.negative {
            return Real { magnitude: high.magnitude + aligned, ..high };
        }
        if high.magnitude == aligned {
            return Real { negative: zero_negative, magnitude: 0, exponent: 0 };
        }
        if high.magnitude > aligned {
            Real { magnitude: high.magnitude - aligned, ..high }
        } else {
            Real { negative: low.negative, magnitude: aligned - high.magnitude, ..high }
        }
    }

    fn normalize(self) -> Real {
        let up = self.magnitude.leading_zeros() as i32 - 2;
        Real { magnitude: self.magnitude << up, exponent: self.exponent - up, ..self }
    }
}

/// A number of any kind, so that sums and products need not tell them apart.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// No number. Which one is for [`Number::round`] to say.
    Nan,
    /// An infinity.
    Infinite {
        /// Its sign.
        negative: bool,
    },
    /// Everything else.
    Finite(Real),
}

impl Number {
    /// The exact product; infinity times zero is no number.
    pub fn times(self, other: Number) -> Number {
        use Number::{Finite, Infinite, Nan};
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Finite(a), Finite(b)) => Finite(a.times(b)),
            (Infinite { .. }, Finite(Real { magnitude: 0, .. }))
            | (Finite(Real { magnitude: 0, .. }), Infinite { .. }) => Nan,
            _ => Infinite { negative: self.is_negative() ^ other.is_negative() },
        }
    }

    /// The sum as [`Real::plus`] has it, for rounding in that direction; unlike infinities give no number.
    pub fn plus(self, other: Number, rounding: Rounding) -> Number {
        use Number::{Finite, Infinite, Nan};
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Finite(a), Finite(b)) => Finite(a.plus(b, rounding == Rounding::Down)),
            (Infinite { negative: a }, Infinite { negative: b }) if a != b => Nan,
            (Infinite { negative }, _) | (_, Infinite { negative }) => Infinite { negative },
        }
    }

    /// Changes a finite number.
    pub fn map(self, change: impl FnOnce(Real) -> Real) -> Number {
        if let Number::Finite(real) = self { Number::Finite(change(real)) } else { self }
    }

    /// Rounds to a format whose NaN has the bits `nan`.
    pub fn round(self, format: &Format, rounding: Rounding, nan: u64) -> u64 {
        match self {
            Number::Nan => nan,
            Number::Infinite { negative } => format.infinity() | if negative { format.sign_bit() } else { 0 },
            Number::Finite(real) => format.round(real, rounding),
        }
    }

    fn is_negative(self) -> bool {
        match self {
            Number::Nan => false,
            Number::Infinite { negative } | Number::Finite(Real { negative, .. }) => negative,
        }
    }
}

/// Shifts right by `count` (left if negative) and rounds what falls out. `negative` is the sign that
/// the directed modes look at. The result must fit.
pub fn shift_right(magnitude: u128, count: i32, rounding: Rounding, negative: bool) -> u128 {
    if count <= 0 {
        return magnitude.checked_shl(count.unsigned_abs()).unwrap_or(0);
    }
    let (kept, lost, half) = if count < 128 {
        (magnitude >> count, magnitude & ((1 << count) - 1), 1u128 << (count - 1))
    } else {
        // Far below half a unit.
        (0, u128::from(magnitude != 0), 2)
    };
    let up = match rounding {
        Rounding::Nearest => lost > half || lost == half && kept & 1 != 0,
        Rounding::Zero => false,
        Rounding::Up => lost != 0 && !negative,
        Rounding::Down => lost != 0 && negative,
    };
    kept + u128::from(up)
}
