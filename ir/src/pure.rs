//! Functions from lane bits to lane bits that a frontend registers.
//!
//! Rare semantics (a table-driven special function, directed rounding) are calls of these: one Rust
//! function serves the interpreter and compiled code, so both give the same bits.

use crate::builder::Builder;
use crate::entities::Value;
use crate::types::Scalar;

/// Appends what a function does as operations and gives the result; `None` where it does not for these arguments. The flag: float
/// operations whose operands and results are no denormals had better flush.
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
    /// The same in operations, to the bit. Compiled code has these instead of a call.
    pub expand: Option<ExpandFn>,
    /// Operations that give about the same, for approximate numerics ([`crate::passes::fast`]); `docs/numerics.md` has the bound. They take
    /// every NaN among arguments that are floats alike, and each NaN that they give has the same bits on all hosts.
    pub fast: Option<ExpandFn>,
    /// What a generator that knows it writes in place of the expansion.
    pub special: Option<Special>,
}

/// Functions of one word of Tesla's special-function unit (docs/hardware/tesla.md section 7) that a code generator may know by themselves.
/// What bits a NaN result has is not said, and none of an operand's NaN matter: an `fcanon` follows.
#[derive(Clone, Copy, Debug)]
pub enum Special {
    /// The truncated squarer, of the lower 17 bits of an integer.
    Square,
    /// The reciprocal, with its table.
    Rcp(&'static [[i32; 3]; 128]),
    /// The reciprocal of the root, with its table.
    Rsqrt(&'static [[i32; 3]; 128]),
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
