//! Cubins of the vendor's compiler, which are not ours to pass on: the tests are listed as ignored where their folder is missing.

mod common;
#[path = "../../tests/src/needs.rs"]
mod needs;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::Arguments;
use object::{Object, ObjectSection};
use warpjit_frontend::container::load;
use warpjit_frontend::fermi::{self, Sass, disasm};
use warpjit_frontend::{Chip, Isa, tesla};

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let (folder, what) = (common::third_party(), "../shared/corpus/third-party");
    let trials = vec![
        needs::trial("cubins_have_no_unknown_words", folder.clone(), what, cubins_have_no_unknown_words),
        needs::trial("genuine_cubins", folder, what, genuine_cubins),
    ];
    libtest_mimic::run(&args, trials).exit_code()
}

/// The code sections of a cubin.
fn sections(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let file = object::File::parse(bytes).unwrap();
    let code = file.sections().filter(|section| section.name().is_ok_and(|name| name.starts_with(".text.")));
    code.map(|section| (section.name().unwrap().to_string(), section.data().unwrap().to_vec())).collect()
}

fn cubins_have_no_unknown_words(folder: PathBuf) {
    let (mut files, mut words, mut exact) = (0, 0, 0);
    for entry in fs::read_dir(folder.join("cubins")).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        files += 1;
        if name.starts_with("tesla") {
            // A text, not an ELF file.
            let module = load(&fs::read(entry.path()).unwrap(), Isa::Tesla).unwrap();
            for kernel in &module.kernels {
                let text = tesla::listing(&kernel.code, 0, tesla::Target::compute(tesla::Chip::G80));
                assert!(!text.contains("??") && !text.contains("unknown"), "{name}:\n{text}");
            }
            continue;
        }
        let chip = if name.contains("sm_21") { fermi::Chip::Gf104 } else { fermi::Chip::Gf100 };
        let sections = sections(&fs::read(entry.path()).unwrap());
        assert!(!sections.is_empty(), "{name}");
        for (section, code) in sections {
            for line in disasm(&code, 0, chip) {
                let inst = line.inst.unwrap_or_else(|error| panic!("{name} {section}: {error}"));
                assert_eq!(inst.unknown, 0, "{name} {section}: {line}");
                assert!(!Sass(&inst).to_string().is_empty());
                words += 1;
            }
            let text = fermi::listing(&code, 0, chip);
            assert!(fermi::assemble(&text, chip).unwrap().code == code, "{name} {section}");
            exact += common::fermi_lines_assemble(&text, &code, chip);
        }
    }
    assert_eq!(files, 66);
    assert!(words > 20_000, "{words} words");
    println!("{words} words, {exact} of them from their text alone");
}

fn genuine_cubins(folder: PathBuf) {
    let bytes = fs::read(folder.join("cubins/tesla_vec_add.cubin")).unwrap();
    let module = load(&bytes, Isa::Tesla).unwrap();
    let kernel = module.kernel(None).unwrap();
    assert_eq!(module.chip.map(Chip::name), Some("g80"));
    assert_eq!((kernel.name.as_str(), kernel.shared_bytes, kernel.registers), ("vec_add", 28, Some(4)));

    for entry in fs::read_dir(folder.join("cubins")).unwrap().flatten() {
        if entry.file_name().to_string_lossy().contains("sm_2") {
            // The file says what it is for, whatever was expected.
            let module = load(&fs::read(entry.path()).unwrap(), Isa::Tesla).unwrap();
            assert_eq!(module.isa, Isa::Fermi);
            assert!(matches!(module.chip.map(Chip::name), Some("gf100" | "gf104")));
        }
    }

    let folder = folder.join("tesla/decode_sphyraena_vm");
    let bytes = fs::read(folder.join("vm.sm_13.cubin")).unwrap();
    let module = load(&bytes, Isa::Tesla).unwrap();
    let kernel = module.kernel(None).unwrap();
    assert_eq!(
        (module.globals.len(), module.const_symbols.len(), module.shared_consts.len() + kernel.consts.len()),
        (3, 2, 3)
    );
    let Some(Chip::Tesla(chip)) = module.chip else { panic!("{:?}", module.chip) };
    let target = tesla::Target::compute(chip);
    let listing = tesla::listing(&kernel.code, 0, target);
    let wanted = fs::read_to_string(folder.join("vm.dis")).unwrap();
    for (got, wanted) in listing.lines().zip(wanted.lines()) {
        assert_eq!(got, wanted);
    }
    let mut pc = 0;
    let mut count = 0;
    while (pc as usize) < kernel.code.len() {
        let inst = tesla::decode(&kernel.code, pc, target).unwrap();
        pc = inst.next_pc();
        count += 1;
    }
    assert_eq!(count, 4007);
    let assembly = tesla::assemble(&listing, target).unwrap();
    assert!(assembly.code == kernel.code);
}
