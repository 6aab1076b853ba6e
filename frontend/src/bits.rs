//! Bit fields of instruction words. A field consists of one or two runs of bits; the first run holds the low bits of its value.

/// A field made of up to two runs of bits of a 64-bit instruction word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    low: (u8, u8),
    high: (u8, u8),
}

/// Ones in the lowest `len` bits.
const fn ones(len: u8) -> u64 {
    if len >= 64 { !0 } else { (1 << len) - 1 }
}

impl Bits {
    /// One run of `len` bits from bit `pos`.
    pub const fn at(pos: u8, len: u8) -> Bits {
        Bits { low: (pos, len), high: (0, 0) }
    }

    /// Two runs; the first one holds the low bits of the value.
    pub const fn split(pos: u8, len: u8, high_pos: u8, high_len: u8) -> Bits {
        Bits { low: (pos, len), high: (high_pos, high_len) }
    }

    /// Width of the value in bits.
    pub const fn len(self) -> u8 {
        self.low.1 + self.high.1
    }

    /// True for the field of no bits.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The bits of the word that belong to the field.
    pub const fn mask(self) -> u64 {
        (ones(self.low.1) << self.low.0) | (ones(self.high.1) << self.high.0)
    }

    /// The field's value in `word`.
    pub const fn get(self, word: u64) -> u64 {
        ((word >> self.low.0) & ones(self.low.1))
            | (((word >> self.high.0) & ones(self.high.1)) << self.low.1)
    }

    /// The field's value as a two's complement number.
    pub const fn get_signed(self, word: u64) -> i64 {
        let unused = 64 - self.len() as u32;
        if unused == 64 { 0 } else { ((self.get(word) << unused) as i64) >> unused }
    }

    /// A word with nothing but `value` in this field; `None` where it does not fit.
    pub const fn place(self, value: u64) -> Option<u64> {
        if value & !ones(self.len()) != 0 {
            return None;
        }
        Some(((value & ones(self.low.1)) << self.low.0) | ((value >> self.low.1) << self.high.0))
    }

    /// As [`Bits::place`], for a two's complement number.
    pub const fn place_signed(self, value: i64) -> Option<u64> {
        let unused = 64 - self.len() as u32;
        if unused == 64 || (value << unused) >> unused != value {
            return None;
        }
        self.place(value as u64 & ones(self.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_field_round_trips() {
        let target = Bits::split(11, 16, 46, 6);
        let word = target.place(0x2a_bcde).unwrap();
        assert_eq!(target.get(word), 0x2a_bcde);
        assert_eq!(word & !target.mask(), 0);
        assert_eq!(target.place(1 << 22), None);
    }

    #[test]
    fn signed_fields() {
        let field = Bits::at(52, 4);
        let word = field.place_signed(-8).unwrap();
        assert_eq!(field.get_signed(word), -8);
        assert_eq!(field.place_signed(8), None);
        assert_eq!(Bits::at(0, 0).place_signed(0), None);
    }
}
