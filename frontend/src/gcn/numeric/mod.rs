//! The vector unit's arithmetic that IR operations cannot express, as pure functions on the bits of one lane.
//!
//! The lifter prefers IR operations. It calls these functions for operations that the IR does not have (see [`pure`]), and where
//! MODE is unknown, does not round to nearest, or treats denormal inputs and results differently. Sources: docs/hardware/gcn.md section
//! 5, and the vendor's instruction descriptions for what that leaves open.
//!
//! Every function uses integers, or f64 operations that IEEE 754 defines exactly (add, multiply, divide, square root), so every
//! host gives the same bits.

pub mod arith;
pub mod bytes;
pub mod convert;
pub mod divide;
pub mod halves;
mod number;
pub mod pure;
pub mod scaling;
pub mod trans;

#[cfg(test)]
mod tests;

use crate::soft::{self, Format, Rounding, Tiny};

/// A float format of the vector unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// f16
    Half,
    /// f32
    Single,
    /// f64
    Double,
}

impl Width {
    /// The format, denormals kept.
    pub fn format(self) -> &'static Format {
        match self {
            Width::Half => &soft::F16,
            Width::Single => &soft::F32,
            Width::Double => &soft::F64,
        }
    }

    /// The NaN that operations give: positive, quiet, no payload.
    pub fn nan(self) -> u64 {
        match self {
            Width::Half => 0x7e00,
            Width::Single => 0x7fc0_0000,
            Width::Double => 0x7ff8_0000_0000_0000,
        }
    }

    /// Zeros of their sign for denormals.
    pub fn flush(self, bits: u64) -> u64 {
        let format = self.format();
        let denormal = bits & format.infinity() == 0;
        if denormal { bits & format.sign_bit() } else { bits }
    }

    /// True for a NaN that is not quiet.
    pub fn is_signalling(self, bits: u64) -> bool {
        self.format().is_nan(bits) && bits & 1 << (self.format().fraction - 1) == 0
    }
}

/// The low bits of the MODE register: rounding in 3:0, denormals in 7:4, DX10_CLAMP, IEEE (docs/hardware/gcn.md section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode(pub u32);

impl Mode {
    /// Rounds to nearest and flushes nothing.
    pub const NEAREST: Mode = Mode(0xf0);

    /// The direction in which results of a format are rounded.
    pub fn rounding(self, width: Width) -> Rounding {
        let field = if width == Width::Single { self.0 } else { self.0 >> 2 };
        match field & 3 {
            0 => Rounding::Nearest,
            1 => Rounding::Up,
            2 => Rounding::Down,
            _ => Rounding::Zero,
        }
    }

    fn denormals(self, width: Width) -> u32 {
        if width == Width::Single { self.0 >> 4 } else { self.0 >> 6 }
    }

    /// Whether denormal sources count as zeros.
    pub fn flushes_inputs(self, width: Width) -> bool {
        self.denormals(width) & 1 == 0
    }

    /// Whether denormal results become zeros.
    pub fn flushes_outputs(self, width: Width) -> bool {
        self.denormals(width) & 2 == 0
    }

    /// Whether clamping makes zero of a NaN.
    pub fn dx10_clamp(self) -> bool {
        self.0 & 1 << 8 != 0
    }

    /// Whether minimum and maximum give a signalling NaN, quiet, where there is one.
    pub fn ieee(self) -> bool {
        self.0 & 1 << 9 != 0
    }

    /// The mode in which denormals of a format are zeros, whatever this one says: v_mad and v_mac.
    pub fn flushing(self, width: Width) -> Mode {
        Mode(self.0 & !if width == Width::Single { 0x30 } else { 0xc0 })
    }

    /// A source of this format as the operation sees it.
    fn input(self, width: Width, bits: u64) -> u64 {
        if self.flushes_inputs(width) { width.flush(bits) } else { bits }
    }

    /// The format for results.
    fn output(self, width: Width) -> Format {
        let tiny = if self.flushes_outputs(width) { Tiny::FlushNormal } else { Tiny::Keep };
        Format { tiny, ..*width.format() }
    }
}
