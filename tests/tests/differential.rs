//! Tests random guest programs: compiled code must do what the interpreter does, with all settings.
//!
//! `WARPJIT_RANDOM=N` runs N programs of each family instead of the usual few, `WARPJIT_RANDOM_SEED=S` starts at
//! another seed, `WARPJIT_SEED=S` runs that one alone, `WARPJIT_RANDOM_WAYS=W` compiles each program in W ways
//! instead of two.

use warpjit_tests::random::seeds::{number, seeds};
use warpjit_tests::random::{Family, check};

fn programs(family: Family, usual: u64) {
    let seeds = seeds(number("WARPJIT_RANDOM_SEED").unwrap_or(0), usual);
    let count = seeds.end - seeds.start;
    let (mut compiled, mut hung, mut faulted, mut share) = (0, 0, 0, 0.0);
    let mut failures = Vec::new();
    for seed in seeds {
        if std::env::var_os("WARPJIT_RANDOM_VERBOSE").is_some() {
            eprintln!("{family:?} {seed}");
        }
        match check(family, seed, number("WARPJIT_RANDOM_WAYS").unwrap_or(2)) {
            Ok(seen) => {
                compiled += u64::from(seen.compiled);
                share += seen.share;
                hung += u64::from(seen.hung);
                faulted += u64::from(seen.faulted);
            }
            Err(text) => {
                // Now, for long runs that are ended early.
                eprintln!("{text}");
                failures.push(text);
            }
        }
        if failures.len() > 5 {
            break;
        }
    }
    share /= count as f64;
    eprintln!(
        "{family:?}: {count} programs, {compiled} compiled ({share:.2}), {faulted} faulted, {hung} ran too long"
    );
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(count < 20 || compiled * 10 > count * 8, "compiled code ran in {compiled} of {count} programs");
    assert!(count < 20 || hung * 50 <= count, "{hung} of {count} programs ran too long");
}

#[test]
fn arithmetic() {
    programs(Family::Arithmetic, 40);
}

#[test]
fn divergence() {
    programs(Family::Divergence, 40);
}

#[test]
fn memory() {
    programs(Family::Memory, 40);
}

/// What random programs have found, made small.
mod found {
    use warpjit_tests::guest::Guest;

    /// The signal came from the instruction that puts the loaded lane into a vector, which was no trap site.
    #[test]
    fn gathered_load_that_faults() {
        for load in ["ld b32 $r3", "ld b64 $r4d", "ld u16 $r3", "ld b128 $r4q"] {
            let source = format!(
                "and b32 $r1 $r0 0xffff\nlong mul $r2 u16 $r1l u16 $r1l\nshl b32 $r2 $r2 0x4\n\
                 long add b32 $r2 b32 s[0x10] $r2\n{load} g14[$r2]\nst b32 g14[$r2] $r4\nexit nop\n"
            );
            let launch = "[launch]\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\n\
                          [[buffer]]\nname = 'a'\nbytes = 64\n[[arg]]\nbuffer = 'a'\n";
            assert_eq!(Guest::new(&source, launch).fault().lane, 16);
        }
    }

    /// One tier accessed the bytes that are there, the other nothing.
    #[test]
    fn accesses_across_the_end_of_a_space() {
        let source = "and b32 $r1 $r0 0xffff\nlong add b32 $r2 $r1 $r1\nadd b32 $r2 $r2 0x7\nshl $a1 $r2 0x0\n\
                      mov b32 $r3 -1\nst b32 l[$a1] $r3\nld u8 $r4 l[$a1]\nld u16 $r5 l[$a1]\n\
                      st b32 s[$a1] $r3\nld $r6 u8 s[$a1]\nexit nop\n";
        let all = |value: u32, good: u32| -> String {
            (0..32).map(|n| if n < good { value } else { 0 }.to_string()).collect::<Vec<_>>().join(", ")
        };
        let launch = format!(
            "local = 40\nshared = 40\n[launch]\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\n\
             [[expect]]\nregister = 'r4'\nvalues = [{}]\n[[expect]]\nregister = 'r6'\nvalues = [{}]\n",
            all(0xff, 15),
            // The next one's byte has been stored by the lane below.
            all(0xff, 16)
        );
        let outcome = Guest::new(source, &launch).run_everywhere();
        assert!(outcome.mismatches.is_empty(), "{}", outcome.to_text(false));
    }
}
