//! Code of the GCN corpus: every word of every code object decodes.

use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ObjectSymbol, SymbolFlags};
use warpjit_frontend::gcn::{Generation, decode, encode};

/// Folders with GCN corpora: the project's and the shared one, if there.
fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let places =
        [root.join("tests/corpus/gcn"), root.join("../shared/corpus/gcn"), "/work/shared/corpus/gcn".into()];
    let Some(found) = places.iter().find(|place| place.is_dir()) else { return Vec::new() };
    let mut folders: Vec<_> = fs::read_dir(found).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

/// The code of each function of a code object. Kernels of version 2 and Mesa objects (symbol type 10) have a header
/// of 256 bytes before the code.
fn functions(bytes: &[u8]) -> Vec<Vec<u8>> {
    let file = object::File::parse(bytes).unwrap();
    let section = file.section_by_name(".text").unwrap();
    let text = section.data().unwrap();
    let mut functions = Vec::new();
    for symbol in file.dynamic_symbols().chain(file.symbols()) {
        let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { continue };
        let skip = match st_info.0 & 15 {
            10 => 256,
            2 => 0,
            _ => continue,
        };
        let from = (symbol.address() - section.address()) as usize;
        functions.push(text[from + skip..from + symbol.size() as usize].to_vec());
    }
    functions.sort();
    functions.dedup();
    assert!(!functions.is_empty());
    functions
}

#[test]
fn code_objects_decode_and_encode() {
    let mut count = 0;
    for folder in folders().iter().filter(|folder| folder.is_dir()) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "co") {
                continue;
            }
            let chip = path.file_name().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned();
            let generation = Generation::parse(&chip).unwrap();
            let bytes = fs::read(&path).unwrap();
            for code in functions(&bytes) {
                let mut at = 0;
                while at < code.len() {
                    let rest = &code[at..];
                    let inst = decode(rest, at as u64, generation)
                        .unwrap_or_else(|error| panic!("{path:?}: {error}"));
                    let len = usize::from(inst.len);
                    let (raw, again) = encode(&inst).unwrap_or_else(|| panic!("{path:?}: {inst:?}"));
                    assert_eq!((raw, again), (inst.raw, inst.len), "{path:?}: {at:#x} {inst:?}");
                    at += len;
                    count += 1;
                }
            }
        }
    }
    eprintln!("{count} instructions");
}
