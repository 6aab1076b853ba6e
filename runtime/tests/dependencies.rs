//! What an embedder who leaves features out does not build (docs/embedding.md, "What can be left out").

use std::collections::BTreeSet;
use std::process::Command;

/// The crates that the library is built of, itself included.
fn crates(features: &[&str]) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    cargo.args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]).args(features);
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().filter_map(|line| line.split(' ').next()).map(String::from).collect()
}

/// The disassembler in C, and readers of YAML and MessagePack.
const LARGE: [&str; 4] = ["capstone", "capstone-sys", "saphyr-parser", "rmpv"];

#[test]
fn the_smallest_library_has_no_c_library_no_yaml_and_no_message_pack() {
    let all = crates(&[]);
    assert!(LARGE.iter().all(|name| all.contains(*name)), "{all:?}");
    let code_generators = ["cranelift-codegen", "iced-x86", "regalloc2"];
    assert!(code_generators.iter().all(|name| all.contains(*name)), "{all:?}");
    for isa in ["tesla", "fermi", "vp1"] {
        let own = crates(&["--no-default-features", "--features", isa]);
        let more = LARGE.iter().chain(&code_generators).filter(|name| own.contains(**name));
        assert_eq!(more.count(), 0, "{isa}: {own:?}");
        // Bindings to a library in C, but for the declarations of the system's own.
        assert!(!own.iter().any(|name| name.ends_with("-sys") && name != "linux-raw-sys"), "{own:?}");
        assert!(own.len() < all.len() / 2 + 2, "{isa}: {} of {}", own.len(), all.len());
    }
    // With the code generators there is still no library in C, unless somebody wants listings of host code.
    let jit = crates(&["--no-default-features", "--features", "tesla,jit,cache"]);
    assert!(!LARGE.iter().any(|name| jit.contains(*name)), "{jit:?}");
}
