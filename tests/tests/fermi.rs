//! Tests Fermi cubins and fat binaries, valid and damaged.

use std::process::ExitCode;

use libtest_mimic::Arguments;
use warpjit_frontend::container::{self, ContainerError};
use warpjit_frontend::fermi::decode;
use warpjit_runtime::{Isa, Program, ProgramOptions};
use warpjit_tests::{corpus, needs};

/// Names and bytes of the cubins.
type Cubins = Vec<(String, Vec<u8>)>;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let cubins = cubins();
    let trial = |name, run: fn(Cubins)| needs::trial(name, cubins.clone(), corpus::THIRD_PARTY, run);
    let trials = vec![
        trial("third_party_cubins_load_and_lift", third_party_cubins_load_and_lift),
        trial("damaged_cubins_are_errors", damaged_cubins_are_errors),
        trial("parameter_blocks_that_do_not_match", parameter_blocks_that_do_not_match),
    ];
    libtest_mimic::run(&args, trials).exit_code()
}

/// The cubins of third parties, where they are.
fn cubins() -> Option<Cubins> {
    let entries = std::fs::read_dir(corpus::third_party("cubins")?).unwrap();
    let mut files: Cubins = entries
        .filter_map(Result::ok)
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    Some(files)
}

/// The cubin of CUDA's example `vectorAdd`.
fn vector_add(cubins: Cubins) -> Vec<u8> {
    cubins.into_iter().find(|(name, _)| name.contains("vectorAdd")).expect("it is one of them").1
}

fn third_party_cubins_load_and_lift(cubins: Cubins) {
    assert_eq!(cubins.len(), 66);
    for (name, bytes) in cubins {
        let module = container::load(&bytes, Isa::Fermi).unwrap_or_else(|error| panic!("{name}: {error}"));
        if module.isa != Isa::Fermi {
            continue;
        }
        let Some(warpjit_runtime::Chip::Fermi(chip)) = module.chip else { panic!("{name}") };
        for kernel in module.kernels.iter().take(4) {
            for pc in (0..kernel.code.len() as u32).step_by(8) {
                assert!(decode(&kernel.code, pc, chip).is_ok(), "{name}: {} at {pc:#x}", kernel.name);
            }
            let options = ProgramOptions::new(Isa::Fermi).kernel(Some(kernel.name.clone()));
            let loaded = Program::load(&bytes, &options);
            assert!(loaded.is_ok(), "{name}: {}: {:?}", kernel.name, loaded.err());
        }
    }
}

fn damaged_cubins_are_errors(cubins: Cubins) {
    let whole = vector_add(cubins);
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
        let options = ProgramOptions::new(Isa::Fermi).chip(Some("gf100".parse().unwrap()));
        let _ = Program::load(&bytes, &options);
    }
}

fn parameter_blocks_that_do_not_match(cubins: Cubins) {
    let whole = vector_add(cubins);
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
