//! Passes over mask form, one a file, and the list of all passes. Those for any function are in [`warpjit_ir_core::passes`].
//!
//! They need masks as values, and do nothing in SPMD form. [`schedule`], [`lane_loops`] and [`float_env`] depend on the host; what they must
//! know of it is an argument, so they are in no list.

pub mod advances;
pub mod canon;
pub mod conjunctions;
pub mod demand;
pub mod ends;
pub mod entry_mask;
pub mod float_env;
pub mod floats;
pub mod lane_loops;
pub mod one_lane;
pub mod pairs;
pub mod remaining;
pub mod schedule;
pub mod sink;
pub mod usual;
pub mod whole;

use warpjit_ir_core::function::Function;
use warpjit_ir_core::passes::{self as any_form, Pass};

const OF_MASK_FORM: [(&str, Pass); 14] = [
    ("advances", advances::run),
    ("canon", canon::run),
    ("conjunctions", conjunctions::run),
    ("demand", demand::run),
    ("ends", ends::run),
    ("entry_mask", entry_mask::run),
    ("entry_mask_stores", entry_mask::drop_unchanged),
    ("floats", floats::run),
    ("one_lane", one_lane::run),
    ("pairs", pairs::run),
    ("remaining", remaining::run),
    ("sink", sink::run),
    ("usual", usual::run),
    ("whole", whole::run),
];

/// Every pass of both crates by name, as `test pass NAME` in fixtures says it.
pub const ALL: &[(&str, Pass)] = &joined();

const fn joined() -> [(&'static str, Pass); any_form::ALL.len() + OF_MASK_FORM.len()] {
    let mut all = [any_form::ALL[0]; any_form::ALL.len() + OF_MASK_FORM.len()];
    let mut n = 0;
    while n < all.len() {
        let own = n.checked_sub(any_form::ALL.len());
        all[n] = match own {
            Some(own) => OF_MASK_FORM[own],
            None => any_form::ALL[n],
        };
        n += 1;
    }
    all
}

/// Runs passes in order; says whether one has changed the function. In debug builds the function is verified after each.
///
/// # Panics
/// In debug builds, when a pass leaves a function that is not well formed.
pub fn pipeline(func: &mut Function, passes: &[Pass]) -> bool {
    any_form::run_verified(func, passes, ALL)
}
