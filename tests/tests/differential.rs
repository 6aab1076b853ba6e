//! Random guest programs: compiled code does what the interpreter does, however it is compiled.
//!
//! `WARPJIT_RANDOM=N` runs N programs of each family instead of the usual few; `WARPJIT_RANDOM_SEED=S` starts at
//! another seed.

use warpjit_tests::random::{Family, check};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn programs(family: Family, usual: u64) {
    let count = number("WARPJIT_RANDOM").unwrap_or(usual);
    let start = number("WARPJIT_RANDOM_SEED").unwrap_or(0);
    let (mut compiled, mut hung, mut faulted) = (0, 0, 0);
    let mut failures = Vec::new();
    for seed in start..start + count {
        if std::env::var_os("WARPJIT_RANDOM_VERBOSE").is_some() {
            eprintln!("{family:?} {seed}");
        }
        match check(family, seed, 2) {
            Ok(seen) => {
                compiled += u64::from(seen.compiled);
                hung += u64::from(seen.hung);
                faulted += u64::from(seen.faulted);
            }
            Err(text) => failures.push(text),
        }
        if failures.len() > 5 {
            break;
        }
    }
    eprintln!("{family:?}: {count} programs, {compiled} compiled, {faulted} faulted, {hung} ran too long");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(count < 20 || compiled * 10 > count * 8, "compiled code ran in {compiled} of {count} programs");
    assert!(hung * 50 <= count, "{hung} of {count} programs ran too long");
}

#[test]
fn arithmetic() {
    programs(Family::Arithmetic, 100);
}

#[test]
fn divergence() {
    programs(Family::Divergence, 100);
}

#[test]
fn memory() {
    programs(Family::Memory, 100);
}
