//! Tests Fermi cubins and fat binaries, valid and damaged.

use warpjit_frontend::container::{self, ContainerError};
use warpjit_frontend::fermi::decode;
use warpjit_runtime::{Isa, Program, ProgramOptions};
use warpjit_tests::corpus;

/// The cubins of third parties, where they are.
fn cubins() -> Vec<(String, Vec<u8>)> {
    let Some(folder) = corpus::shared().map(|shared| shared.join("corpus/third-party/cubins")) else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = entries
        .filter_map(Result::ok)
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn third_party_cubins_load_and_lift() {
    for (name, bytes) in cubins() {
        let module = container::load(&bytes, Isa::Fermi).unwrap_or_else(|error| panic!("{name}: {error}"));
        if module.isa != Isa::Fermi {
            continue;
        }
        let Some(warpjit_runtime::Chip::Fermi(chip)) = module.chip else { panic!("{name}") };
        for kernel in module.kernels.iter().take(4) {
            for pc in (0..kernel.code.len() as u32).step_by(8) {
                assert!(decode(&kernel.code, pc, chip).is_ok(), "{name}: {} at {pc:#x}", kernel.name);
            }
            let options =
                ProgramOptions { kernel: Some(kernel.name.clone()), ..ProgramOptions::new(Isa::Fermi) };
            let loaded = Program::load(&bytes, &options);
            assert!(loaded.is_ok(), "{name}: {}: {:?}", kernel.name, loaded.err());
        }
    }
}

#[test]
fn damaged_cubins_are_errors() {
    let Some((_, whole)) = cubins().into_iter().find(|(name, _)| name.contains("vectorAdd")) else { return };
    let mut state = 1u64;
    for turn in 0..4000usize {
        let mut bytes = whole.clone();
        if turn % 4 == 0 {
            bytes.truncate(turn / 4 * whole.len() / 1000);
        } else {
            for _ in 0..turn % 4 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (state >> 33) as usize % bytes.len();
                bytes[at] = (state >> 24) as u8;
            }
        }
        // No panic, whatever comes out; what loads can be lifted.
        let options =
            ProgramOptions { chip: Some("gf100".parse().unwrap()), ..ProgramOptions::new(Isa::Fermi) };
        let _ = Program::load(&bytes, &options);
    }
}

#[test]
fn parameter_blocks_that_do_not_match() {
    let Some((_, whole)) = cubins().into_iter().find(|(name, _)| name.contains("vectorAdd")) else { return };
    // The attribute of the size of all parameters: format 3, 0x19.
    let at = whole.windows(4).position(|window| window == [3, 0x19, 28, 0]).unwrap();
    let mut short = whole.clone();
    short[at + 2] = 20;
    let refused = container::load(&short, Isa::Fermi).unwrap_err();
    assert!(
        matches!(&refused, ContainerError::Elf { reason, .. } if reason.contains("parameter")),
        "{refused}"
    );
    let mut long = whole.clone();
    long[at + 3] = 0x20;
    assert!(container::load(&long, Isa::Fermi).is_err());
}

#[test]
fn fat_binaries() {
    let Some((_, cubin)) = cubins().into_iter().find(|(name, _)| name.contains("vectorAdd")) else { return };
    let entry = |kind: u16, contents: &[u8], flags: u64| {
        let mut entry = Vec::new();
        entry.extend(kind.to_le_bytes());
        entry.extend([1, 1]);
        entry.extend(64u32.to_le_bytes());
        entry.extend((contents.len() as u64).to_le_bytes());
        entry.resize(40, 0);
        entry.extend(flags.to_le_bytes());
        entry.resize(64, 0);
        entry.extend(contents);
        entry
    };
    let wrap = |entries: &[Vec<u8>]| {
        let body = entries.concat();
        let mut file = 0xba55_ed50u32.to_le_bytes().to_vec();
        file.extend([1, 0, 16, 0]);
        file.extend((body.len() as u64).to_le_bytes());
        file.extend(body);
        file
    };
    let file = wrap(&[entry(1, b".version 2.3", 0), entry(2, &cubin, 1)]);
    assert_eq!(container::load(&file, Isa::Fermi), container::load(&cubin, Isa::Fermi));
    let packed = wrap(&[entry(2, &cubin, 0x2000)]);
    assert!(container::load(&packed, Isa::Fermi).unwrap_err().to_string().contains("compressed"));
    let none = wrap(&[entry(1, b".version 2.3", 0)]);
    assert!(container::load(&none, Isa::Fermi).unwrap_err().to_string().contains("without a cubin"));
    for len in 0..200 {
        assert!(container::load(&file[..len], Isa::Fermi).is_err());
    }
}
