//! Optimisation passes over functions in SSA, one a file. Each is `run(&mut Function) -> bool`; the result says whether it
//! changed the function.
//!
//! These accept both forms. The passes of mask form are in the crate `warpjit-ir-regions`. [`run_verified`] runs several, and
//! verifies the function after each in debug builds.

pub mod classes;
pub mod dce;
pub mod expand;
pub mod fast;
pub mod fold;
pub mod gvn;
pub mod licm;
pub mod permit;
pub mod renumber;
pub mod rewrite;
pub mod simplify_cfg;
pub mod translate;
pub mod uniform;

use crate::function::Function;

/// A pass.
pub type Pass = fn(&mut Function) -> bool;

/// Every pass of this crate by name, as `test pass NAME` in fixtures says it. Without [`renumber`], which has nothing to do in a function
/// that was read from text.
pub const ALL: [(&str, Pass); 13] = [
    ("classes", classes::run),
    ("dce", dce::run),
    ("expand", expand::run),
    ("expand_but_special", expand::run_but_special),
    ("fast", fast::run),
    ("fold", fold::run),
    ("fold_once", fold::run_once),
    ("gvn", gvn::run),
    ("licm", licm::run),
    ("permit", permit::run),
    ("simplify_cfg", simplify_cfg::run),
    ("translate", translate::run),
    ("uniform", uniform::run),
];

/// Runs passes in order; says whether one has changed the function. In debug builds the function is verified after each, and a pass that
/// is not in `named` is `?` in the message.
///
/// # Panics
/// In debug builds, when a pass leaves a function that is not well formed.
pub fn run_verified(func: &mut Function, passes: &[Pass], named: &[(&str, Pass)]) -> bool {
    let mut changed = false;
    for (index, pass) in passes.iter().enumerate() {
        changed |= pass(func);
        if cfg!(debug_assertions)
            && let Err(error) = crate::verify::verify(func)
        {
            let name = named.iter().find(|(_, p)| std::ptr::fn_addr_eq(*p, *pass)).map_or("?", |(n, _)| n);
            panic!("after pass {index} ({name}): {error}\n{func}");
        }
    }
    changed
}
