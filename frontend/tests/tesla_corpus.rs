//! Listings of the corpus: the disassembler must reproduce them, the assembler must take them back.

use std::fs;
use std::path::{Path, PathBuf};

use warpjit_frontend::tesla::{Chip, ProgramType, Target, decode};

/// Where corpus folders may be: in the repository, or beside it while the project is being built.
fn corpus(name: &str) -> Vec<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus");
    let mut found = Vec::new();
    for root in [repository, PathBuf::from("/work/shared/corpus")] {
        let Ok(entries) = fs::read_dir(root.join(name)) else {
            continue;
        };
        found.extend(entries.flatten().map(|entry| entry.path()));
        break;
    }
    found.sort();
    found
}

/// (code, listing, target) of every listing.
fn listings() -> Vec<(PathBuf, Vec<u8>, String, Target)> {
    let mut all = Vec::new();
    for folder in corpus("tesla") {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let program = match name.get(..6) {
            Some("gfx_fp") => ProgramType::Fragment,
            Some("gfx_gp") => ProgramType::Geometry,
            Some("gfx_vp") => ProgramType::Vertex,
            _ => ProgramType::Compute,
        };
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let Some(chip) = file
                .strip_prefix("disasm")
                .and_then(|rest| rest.strip_suffix(".txt"))
            else {
                continue;
            };
            let text = fs::read_to_string(entry.path()).unwrap();
            let code = fs::read(folder.join(format!("code{chip}.bin"))).unwrap();
            let chip = match chip.strip_prefix('_') {
                Some(chip) => Chip::parse(chip).unwrap(),
                None => {
                    let launch = fs::read_to_string(folder.join("launch.toml")).unwrap();
                    let line = launch
                        .lines()
                        .find(|line| line.starts_with("chip"))
                        .unwrap();
                    Chip::parse(line.split('"').nth(1).unwrap()).unwrap()
                }
            };
            all.push((entry.path(), code, text, Target { chip, program }));
        }
    }
    all
}

#[test]
fn instructions_decode_to_their_text() {
    for (path, code, text, target) in listings() {
        for line in text.lines().filter(|line| !line.is_empty()) {
            let pc = u32::from_str_radix(&line[..8], 16).unwrap();
            let inst = decode(&code, pc, target).unwrap();
            assert_eq!(inst.to_string(), line[32..], "{}", path.display());
        }
    }
}
