//! Tests Fermi's disassembler and assembler on listings of the corpus and of genuine cubins: the disassembler must reproduce
//! them, the assembler must accept them.

mod common;

use std::fs;
use std::path::PathBuf;

use warpjit_frontend::fermi::{Chip, assemble, listing};

/// The folders of the corpus.
fn corpus() -> Vec<PathBuf> {
    let entries = fs::read_dir(common::root().join("tests/corpus/fermi")).unwrap();
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.sort();
    assert!(found.len() >= 19);
    found
}

/// The chip a launch file names.
fn launch_chip(launch: &str) -> Chip {
    let line = launch.lines().find(|line| line.starts_with("chip")).unwrap();
    Chip::parse(line.split('"').nth(1).unwrap()).unwrap()
}

/// (code, listing, chip) of every listing.
fn listings() -> Vec<(PathBuf, Vec<u8>, String, Chip)> {
    let mut all = Vec::new();
    for folder in corpus() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let Some(chip) = file.strip_prefix("disasm").and_then(|rest| rest.strip_suffix(".txt")) else {
                continue;
            };
            let text = fs::read_to_string(entry.path()).unwrap();
            let code = fs::read(folder.join(format!("code{chip}.bin"))).unwrap();
            let chip = match chip.strip_prefix('_') {
                Some(chip) => Chip::parse(chip).unwrap(),
                None => launch_chip(&fs::read_to_string(folder.join("launch.toml")).unwrap()),
            };
            all.push((entry.path(), code, text, chip));
        }
    }
    all
}

/// envydis guesses at words that are no instruction; here they are `??`.
fn without_guesses(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line.ends_with("[unknown instruction]") {
            out.push_str(&line[..32]);
            out.push_str("??");
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

#[test]
fn listings_are_reproduced() {
    let listings = listings();
    assert_eq!(listings.len(), 26);
    for (path, code, text, chip) in listings {
        let wanted = without_guesses(&text);
        for (got, wanted) in listing(&code, 0, chip).lines().zip(wanted.lines()) {
            assert_eq!(got, wanted, "{}", path.display());
        }
        assert_eq!(listing(&code, 0, chip), wanted, "{}", path.display());
    }
}

#[test]
fn listings_assemble_to_their_code() {
    for (path, code, text, chip) in listings() {
        let text = without_guesses(&text);
        let assembly = assemble(&text, chip).unwrap_or_else(|errors| panic!("{}: {errors}", path.display()));
        assert!(assembly.code == code, "{}", path.display());
        common::fermi_lines_assemble(&text, &code, chip);
    }
}

#[test]
fn sources_assemble_to_their_code() {
    let mut count = 0;
    for folder in corpus() {
        let source = fs::read_to_string(folder.join("source.txt")).unwrap();
        // Some sources are TGSI, for another compiler.
        let first = source.lines().next().unwrap_or_default();
        if ["COMP", "FRAG", "VERT", "GEOM"].contains(&first) {
            continue;
        }
        let launch = fs::read_to_string(folder.join("launch.toml")).unwrap();
        let chip = launch_chip(&launch);
        let code = fs::read(folder.join("code.bin")).unwrap();
        match assemble(&source, chip) {
            Ok(assembly) => {
                assert!(assembly.code == code, "{}:\n{}", folder.display(), listing(&assembly.code, 0, chip))
            }
            Err(errors) => panic!("{}: {errors}", folder.display()),
        }
        count += 1;
    }
    assert!(count >= 8, "{count} sources");
}
