//! Pure functions that a frontend registers: one Rust function from the bits of a lane's arguments to the bits of its result.
//!
//! Rare semantics (a table-driven special function, a directed rounding) are calls of such functions. The interpreter and
//! compiled code call the same function, so both give the same bits.

use crate::builder::Builder;
use crate::entities::Value;
use crate::types::Scalar;

/// Appends operations that compute the function and returns the result; `None` if it has none for these arguments. The
/// flag says that float operations without denormal operands and results should be flushing ones.
pub type ExpandFn = fn(&mut Builder<'_>, &[Value], bool) -> Option<Value>;

/// A function of one lane without effects.
///
/// Arguments and result are bit patterns in the low bits of a `u64`; truth values are 0 or 1.
#[derive(Debug)]
pub struct PureFn {
    /// Name in the text format, `isa.function`, unique among all frontends.
    pub name: &'static str,
    /// Types of the arguments, at most four.
    pub params: &'static [Scalar],
    /// Type of the result.
    pub result: Scalar,
    /// The function; must not panic. Gets as many arguments as `params` has.
    pub eval: fn(&[u64]) -> u64,
    /// The expansion: operations that compute the same, bit for bit. Compiled code has these instead of a call.
    pub expand: Option<ExpandFn>,
    /// Operations that compute an approximation, for approximate numerics ([`crate::passes::fast`]); `docs/numerics.md`
    /// states the error bound. They treat every NaN argument alike, and a NaN result has the same bits on all hosts.
    pub fast: Option<ExpandFn>,
    /// Set if a code generator may implement the function itself instead of using the expansion.
    pub special: Option<Special>,
}

/// Coefficients of quadratic interpolation: for each of 128 intervals those of degree 0, 1 and 2.
pub type QuadraticTable = [[i32; 3]; 128];

/// Functions of one 32-bit word that a code generator may implement itself, bit for bit as [`PureFn::eval`] computes them. The bits of NaN
/// operands and results do not matter, because an `fcanon` follows.
#[derive(Clone, Copy, Debug)]
pub enum Special {
    /// The square of the lower 17 bits of an integer, truncated.
    Square,
    /// A reciprocal by quadratic interpolation in the front end's table.
    Rcp(&'static QuadraticTable),
    /// A reciprocal square root, the same way.
    Rsqrt(&'static QuadraticTable),
}

impl PartialEq for PureFn {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for PureFn {}

impl std::hash::Hash for PureFn {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}
