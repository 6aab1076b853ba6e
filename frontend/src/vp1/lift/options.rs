//! What the lifter has to know about a program besides its code.

use crate::vp1::Chip;

/// What the lifter has to know about a program besides its code.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Name of the resulting function.
    pub name: &'a str,
    /// The chip.
    pub chip: Chip,
    /// Word address of the first bundle.
    pub entry: u32,
    /// Bundles that execution may start at besides: word addresses.
    pub more_entries: &'a [u32],
    /// For somebody who sees to what is outside, and resumes: a bundle that reaches outside of the processor
    /// ([`Outside`](super::Outside)) ends the program before it instead of doing what is its default, and so does the end of the
    /// code instead of raising a fault. [`Slots::exit`](super::Slots::exit) and [`Slots::exit_at`](super::Slots::exit_at) then say
    /// what has happened, and where.
    pub resumable: bool,
}
