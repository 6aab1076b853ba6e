//! Tests Fermi's disassembler and assembler on listings of the corpus and of genuine cubins: the disassembler must reproduce
//! them, the assembler must accept them.

mod common;

use std::fs;
use std::path::PathBuf;

use object::{Object, ObjectSection};
use warpjit_frontend::fermi::{Chip, Sass, assemble, decode, disasm, listing};
use warpjit_frontend::{Isa, container, tesla};

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

/// Assembles the text of every instruction of a listing alone, at its address.
fn lines_assemble(text: &str, code: &[u8], chip: Chip) -> usize {
    let mut exact = 0;
    for line in text.lines().filter(|line| !line.is_empty() && !line.ends_with("??")) {
        let pc = u32::from_str_radix(&line[..8], 16).unwrap();
        let inst = decode(code, pc, chip).unwrap();
        let long = if inst.len == 4 { "" } else { "long " };
        // A listing's first line says where the code begins.
        let before = if pc == 0 { String::new() } else { format!("{:08x}: 00000008\n", pc - 4) };
        let text = format!("{before}{long}{}", &line[32..]);
        let assembly = assemble(&text, chip).unwrap_or_else(|errors| panic!("{text}: {errors}"));
        let word = &assembly.code[if pc == 0 { 0 } else { 4 }..];
        assert_eq!(word, &inst.canonical().to_le_bytes()[..inst.len as usize], "{text}");
        exact += usize::from(inst.canonical() == inst.raw);
    }
    exact
}

#[test]
fn listings_assemble_to_their_code() {
    for (path, code, text, chip) in listings() {
        let text = without_guesses(&text);
        let assembly = assemble(&text, chip).unwrap_or_else(|errors| panic!("{}: {errors}", path.display()));
        assert!(assembly.code == code, "{}", path.display());
        lines_assemble(&text, &code, chip);
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

/// The code sections of a cubin.
fn sections(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let file = object::File::parse(bytes).unwrap();
    let code = file.sections().filter(|section| section.name().is_ok_and(|name| name.starts_with(".text.")));
    code.map(|section| (section.name().unwrap().to_string(), section.data().unwrap().to_vec())).collect()
}

#[test]
fn cubins_have_no_unknown_words() {
    let Some(folder) = common::third_party().map(|path| path.join("cubins")) else { return };
    let (mut files, mut words, mut exact) = (0, 0, 0);
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        files += 1;
        if name.starts_with("tesla") {
            // A text, not an ELF file.
            let module = container::load(&fs::read(entry.path()).unwrap(), Isa::Tesla).unwrap();
            for kernel in &module.kernels {
                let text = tesla::listing(&kernel.code, 0, tesla::Target::compute(tesla::Chip::G80));
                assert!(!text.contains("??") && !text.contains("unknown"), "{name}:\n{text}");
            }
            continue;
        }
        let chip = if name.contains("sm_21") { Chip::Gf104 } else { Chip::Gf100 };
        let sections = sections(&fs::read(entry.path()).unwrap());
        assert!(!sections.is_empty(), "{name}");
        for (section, code) in sections {
            for line in disasm(&code, 0, chip) {
                let inst = line.inst.unwrap_or_else(|error| panic!("{name} {section}: {error}"));
                assert_eq!(inst.unknown, 0, "{name} {section}: {line}");
                assert!(!Sass(&inst).to_string().is_empty());
                words += 1;
            }
            let text = listing(&code, 0, chip);
            assert!(assemble(&text, chip).unwrap().code == code, "{name} {section}");
            exact += lines_assemble(&text, &code, chip);
        }
    }
    assert_eq!(files, 66);
    assert!(words > 20_000, "{words} words");
    println!("{words} words, {exact} of them from their text alone");
}
