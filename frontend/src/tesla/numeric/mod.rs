//! The chip's arithmetic as pure functions on the bits of one lane, bit-exact to the hardware as `docs/hardware/tesla.md` (sections 5 to
//! 7) records it.
//!
//! The lifter prefers IR operations for common cases. What the IR does not have (the special-function unit, directed rounding,
//! rare conversions) it calls through [`pure`], which wraps these functions in the signature that both tiers call.

pub mod convert;
pub mod f32;
pub mod f64;
pub mod pure;
pub mod sfu;
pub mod sfu_fast;
pub mod sfu_formula;
mod sfu_tables;

pub use crate::soft::{self, Rounding};

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod ir_tests;

/// `$c` after a float operation: 0 greater than zero, 1 zero, 2 less than zero, 3 NaN.
///
/// Bit 0 is Z and bit 1 is S, so the value is stored as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Greater: neither flag.
    Greater = 0,
    /// Equal: Z.
    Equal = 1,
    /// Less: S.
    Less = 2,
    /// Unordered (a NaN on either side): Z and S.
    Unordered = 3,
}

impl Order {
    /// Whether a float `set` with condition bits l = 1, e = 2, g = 4, u = 8 holds.
    pub fn holds(self, condition: u32) -> bool {
        let bit = match self {
            Order::Less => 0,
            Order::Equal => 1,
            Order::Greater => 2,
            Order::Unordered => 3,
        };
        condition >> bit & 1 != 0
    }
}
