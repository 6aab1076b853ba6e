//! Finds pure functions and constant tables of all instruction sets by name. Code that is cached on disk refers to them by name.

use warpjit_ir::{PureFn, WordTable};

use crate::{fermi, gcn, tesla, vp1};

/// The pure functions of all front ends, by instruction set.
static PURES: [&[&PureFn]; 6] = [
    tesla::numeric::pure::ALL,
    fermi::numeric::pure::ALL,
    gcn::numeric::pure::ALL,
    gcn::texel::ALL,
    gcn::surface::ALL,
    &vp1::lift::PURE_FUNCTIONS,
];

/// Their tables.
static TABLES: [&[&WordTable]; 1] = [tesla::numeric::sfu_formula::TABLES];

/// All pure functions.
pub fn pures() -> impl Iterator<Item = &'static PureFn> {
    PURES.iter().flat_map(|list| list.iter().copied())
}

/// All tables.
pub fn tables() -> impl Iterator<Item = &'static WordTable> {
    TABLES.iter().flat_map(|list| list.iter().copied())
}

/// The pure function of a name.
pub fn pure(name: &str) -> Option<&'static PureFn> {
    pures().find(|pure| pure.name == name)
}

/// The table of a name.
pub fn table(name: &str) -> Option<&'static WordTable> {
    tables().find(|table| table.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = pures().map(|pure| pure.name).collect();
        names.extend(tables().map(WordTable::name));
        let count = names.len();
        assert!(count > 100, "{count}");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
