//! The views of a pair of scalar registers: its two numbers ([`LO`], [`HI`]) and its lane mask ([`LANE`]). Which of them hold is decided
//! by [`views`](super::views).

use crate::gcn::lift::slots::{EXEC, SCALARS};

/// A set of [`LO`], [`HI`] and [`LANE`].
pub(in crate::gcn::lift) type View = u8;
/// The first register as a number.
pub(in crate::gcn::lift) const LO: View = 1;
/// The second register as a number.
pub(in crate::gcn::lift) const HI: View = 2;
/// The pair as a mask.
pub(in crate::gcn::lift) const LANE: View = 4;
const ALL: View = LO | HI | LANE;
/// Pairs of scalar registers.
pub(super) const PAIRS: usize = SCALARS as usize / 2;

/// A set of views for each pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) struct Views([View; PAIRS]);

impl Views {
    /// None.
    pub(in crate::gcn::lift) fn none() -> Views {
        Views([0; PAIRS])
    }

    /// All.
    pub(super) fn all() -> Views {
        Views([ALL; PAIRS])
    }

    /// As the program begins: numbers in all registers, but for EXEC, which is a mask.
    pub(in crate::gcn::lift) fn all_scalar() -> Views {
        let mut views = Views([LO | HI; PAIRS]);
        views.set(EXEC, LANE);
        views
    }

    /// The views of the pair that register `code` belongs to.
    pub(in crate::gcn::lift) fn get(&self, code: u8) -> View {
        self.0[usize::from(code / 2).min(PAIRS - 1)]
    }

    /// Sets the views of the pair that register `code` belongs to.
    pub(in crate::gcn::lift) fn set(&mut self, code: u8, view: View) {
        self.0[usize::from(code / 2).min(PAIRS - 1)] = view;
    }

    /// Pairs with their views.
    pub(in crate::gcn::lift) fn iter(&self) -> impl Iterator<Item = (u8, View)> + '_ {
        self.0.iter().enumerate().map(|(pair, &view)| (2 * pair as u8, view))
    }

    pub(super) fn join(&mut self, other: &Views) -> bool {
        let before = *self;
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
        *self != before
    }
}
