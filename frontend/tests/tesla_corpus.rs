//! Tests Tesla's disassembler and assembler on listings of the corpus: the disassembler must reproduce them, the assembler must
//! accept them.

mod common;

use std::fs;
use std::path::PathBuf;

use warpjit_frontend::tesla::{Chip, Stage, Target, assemble, decode, listing};

/// The folders of a part of the corpus.
fn corpus(name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(common::root().join("tests/corpus").join(name)).unwrap();
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// (code, listing, target) of every listing.
fn listings() -> Vec<(PathBuf, Vec<u8>, String, Target)> {
    let mut all = Vec::new();
    for folder in corpus("tesla") {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let stage = match name.get(..6) {
            Some("gfx_fp") => Stage::Fragment,
            Some("gfx_gp") => Stage::Geometry,
            Some("gfx_vp") => Stage::Vertex,
            _ => Stage::Compute,
        };
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let Some(chip) = file.strip_prefix("disasm").and_then(|rest| rest.strip_suffix(".txt")) else {
                continue;
            };
            let text = fs::read_to_string(entry.path()).unwrap();
            let code = fs::read(folder.join(format!("code{chip}.bin"))).unwrap();
            let chip = match chip.strip_prefix('_') {
                Some(chip) => Chip::parse(chip).unwrap(),
                None => {
                    let launch = fs::read_to_string(folder.join("launch.toml")).unwrap();
                    let line = launch.lines().find(|line| line.starts_with("chip")).unwrap();
                    Chip::parse(line.split('"').nth(1).unwrap()).unwrap()
                }
            };
            all.push((entry.path(), code, text, Target { chip, stage }));
        }
    }
    all
}

#[test]
fn listings_are_reproduced() {
    let listings = listings();
    assert_eq!(listings.len(), 45);
    for (path, code, text, target) in listings {
        for (got, wanted) in listing(&code, 0, target).lines().zip(text.lines()) {
            assert_eq!(got, wanted, "{}", path.display());
        }
        assert_eq!(listing(&code, 0, target), text, "{}", path.display());
    }
}

#[test]
fn listings_assemble_to_their_code() {
    for (path, code, text, target) in listings() {
        let assembly =
            assemble(&text, target).unwrap_or_else(|errors| panic!("{}: {errors}", path.display()));
        assert!(assembly.code == code, "{}", path.display());
        // Without addresses and words; `long` keeps the form.
        for line in text.lines().filter(|line| !line.is_empty()) {
            let long = if line.as_bytes()[19] == b' ' { "" } else { "long " };
            let text = format!("{long}{}", &line[32..]);
            let assembly = assemble(&text, target).unwrap_or_else(|errors| panic!("{text}: {errors}"));
            let pc = usize::from_str_radix(&line[..8], 16).unwrap();
            let inst = decode(&code, pc as u32, target).unwrap();
            let canonical = inst.canonical().to_le_bytes();
            assert_eq!(assembly.code, &canonical[..inst.len as usize], "{text}");
        }
    }
}

#[test]
fn sources_assemble_to_their_code() {
    let mut count = 0;
    for folder in corpus("tesla") {
        let source = fs::read_to_string(folder.join("source.txt")).unwrap();
        // Some sources are TGSI, for another compiler.
        let first = source.lines().next().unwrap_or_default();
        if ["COMP", "FRAG", "VERT", "GEOM"].contains(&first) {
            continue;
        }
        let launch = fs::read_to_string(folder.join("launch.toml")).unwrap();
        let line = launch.lines().find(|line| line.starts_with("chip")).unwrap();
        let chip = Chip::parse(line.split('"').nth(1).unwrap()).unwrap();
        let code = fs::read(folder.join("code.bin")).unwrap();
        match assemble(&source, Target::compute(chip)) {
            Ok(assembly) => assert!(
                assembly.code == code,
                "{}:\n{}",
                folder.display(),
                listing(&assembly.code, 0, Target::compute(chip))
            ),
            Err(errors) => panic!("{}: {errors}", folder.display()),
        }
        count += 1;
    }
    assert_eq!(count, 24);
}

/// The one-instruction programs say in their first line what they test.
#[test]
fn one_instruction_programs() {
    let mut count = 0;
    for (folder, files) in common::corpus::packed("tesla-op") {
        let launch = String::from_utf8_lossy(&files["launch.toml"]);
        let chip = launch.lines().find(|line| line.starts_with("chip")).unwrap();
        let target = Target::compute(Chip::parse(chip.split('"').nth(1).unwrap()).unwrap());
        let code = &files["code.bin"];
        let whole = listing(code, 0, target);
        assert!(!whole.contains("??"), "{folder}:\n{whole}");
        assert!(assemble(&whole, target).unwrap().code == *code, "{folder}");
        let first = launch.lines().next().unwrap();
        for line in first.split(" | ") {
            // `# name: 00000000: words  text`, where the name or a remark may also be missing.
            let Some(at) = line.find("00000000: ").or_else(|| line.find("00000008: ")) else { continue };
            let line = &line[at..];
            let words: Vec<u64> =
                line[10..27].split_whitespace().map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
            let raw = words[0] | words.get(1).unwrap_or(&0) << 32;
            let inst = warpjit_frontend::tesla::decode_word(raw, 0, target).unwrap();
            assert_eq!(inst.to_string(), line[32..], "{folder}");
            count += 1;
        }
    }
    assert!(count > 700, "{count} lines");
}
