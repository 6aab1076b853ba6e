//! Tests code objects that no linker has processed, and relocations (the types are those of LLVM's manual of the AMDGPU back
//! end).

use std::path::Path;

use warpjit_frontend::Isa;
use warpjit_frontend::container::{self, ContainerError};
use warpjit_frontend::module::Module;

/// Guest address of the image in a launch.
const BASE: u64 = 0xf_0000_0000;
/// In `vars/fiji.o`: the first relocation of the kernel's code, the symbol table.
const RELOCATION: usize = 0x5f8;
const SYMBOLS: usize = 0x520;
/// What that relocation is of, from the kernel's first byte, and what it adds.
const PLACE: u64 = 0x28;
const ADDEND: u64 = 4;

fn read(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus/gcn").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn load(bytes: &[u8]) -> Result<Module, ContainerError> {
    container::load(bytes, Isa::Gcn)
}

fn error(bytes: &[u8]) -> String {
    load(bytes).expect_err("must be refused").to_string()
}

fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

/// The image, and the address of the first relocation's place.
fn image(bytes: &[u8]) -> (Vec<u8>, u64) {
    let module = load(bytes).unwrap();
    let kernel = module.kernel(None).unwrap();
    (kernel.code_object.as_ref().unwrap().image.to_vec(), u64::from(kernel.entry) + PLACE)
}

fn number(image: &[u8], at: u64, bytes: usize) -> u64 {
    image[at as usize..at as usize + bytes].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

#[test]
fn sections_are_put_together() {
    for name in ["vars/tahiti.o", "vars/hawaii.o", "vars/fiji.o", "vars/vega10.o"] {
        let module = load(&read(name)).unwrap();
        assert_eq!(module.kernels.len(), 1);
        let kernel = &module.kernels[0];
        let object = kernel.code_object.as_ref().unwrap();
        assert_eq!((kernel.name.as_str(), kernel.entry % 256), ("vars", 0));
        let args: Vec<_> = object.args.iter().flatten().map(|arg| (arg.offset, arg.bytes)).collect();
        assert_eq!(args[..2], [(0, 8), (8, 8)]);
        // The counter, then 64 words that are zero.
        let variables = object.variables.clone().unwrap();
        assert_eq!((variables.start % 4096, variables.len()), (0, 4 + 256));
        assert_eq!(number(&object.image, variables.start.into(), 4), 1000);
        assert!(object.image[variables.start as usize + 4..].iter().all(|&byte| byte == 0));
    }
    // What a linker left: the same, at the linker's addresses.
    let object = load(&read("vars/fiji.co")).unwrap().kernels[0].code_object.clone().unwrap();
    assert_eq!(object.variables, Some(0x3000..0x39f4));
    assert_eq!(number(&object.image, 0x38f0, 4), 1000);
    let tables = [number(&object.image, 0x2830, 8), number(&object.image, 0x2838, 8)];
    assert_eq!(tables, [BASE + 0x580, BASE + 0x5a0]);
    // Programs without variables have none.
    assert_eq!(
        load(&read("saxpy/fiji.co")).unwrap().kernels[0].code_object.as_ref().unwrap().variables,
        None
    );
}

#[test]
fn every_relocation_type() {
    let file = read("vars/fiji.o");
    let (good, place) = image(&file);
    // The file has REL32_LO there, of which the symbol's address follows.
    let p = BASE + place;
    let s = p.wrapping_add(number(&good, place, 4) as i32 as u64).wrapping_sub(ADDEND);
    // It is a table of addresses, 32 bytes apart.
    assert_eq!(number(&good, s - BASE + 8, 8) - number(&good, s - BASE, 8), 32);
    let old = u64::from(u32::from_le_bytes(file[0x100 + 0x28..0x100 + 0x2c].try_into().unwrap()));
    type Formula = fn(u64, u64) -> u64;
    let types: [(u32, usize, Formula); 11] = [
        (1, 4, |s, _| s),
        (2, 4, |s, _| s >> 32),
        (3, 8, |s, _| s),
        (4, 4, |s, p| s.wrapping_sub(p)),
        (5, 8, |s, p| s.wrapping_sub(p)),
        (6, 4, |s, _| s),
        (10, 4, |s, p| s.wrapping_sub(p)),
        (11, 4, |s, p| s.wrapping_sub(p) >> 32),
        (13, 8, |s, _| s),
        (14, 2, |s, p| (s.wrapping_sub(p) as i64 - 4).div_euclid(4) as u64),
        (0, 4, |_, _| 0),
    ];
    for (kind, bytes, formula) in types {
        let mut file = file.clone();
        put(&mut file, RELOCATION + 8, &kind.to_le_bytes());
        let (image, place) = image(&file);
        let want = if kind == 0 { old } else { formula(s + ADDEND, p) };
        let want = want & u64::MAX >> (64 - 8 * bytes);
        // The next relocation is eight bytes on.
        assert_eq!(number(&image, place, bytes), want, "type {kind}");
    }
    // Through a table of addresses, which is made behind everything.
    for (kind, shift) in [(7, 0), (8, 0), (9, 32)] {
        let mut file = file.clone();
        put(&mut file, RELOCATION + 8, &u32::to_le_bytes(kind));
        let (image, place) = image(&file);
        let slot = image.len() as u64 - 8;
        assert_eq!(number(&image, slot, 8), s, "type {kind}");
        let want = (BASE + slot + ADDEND).wrapping_sub(p) >> shift;
        assert_eq!(number(&image, place, 4), want & 0xffff_ffff, "type {kind}");
    }
}

#[test]
fn what_cannot_be_put_together() {
    let good = read("vars/fiji.o");
    let changed = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        put(&mut file, at, bytes);
        file
    };
    let mix = SYMBOLS + 24;
    assert_eq!(
        error(&changed(mix + 6, &[0, 0])),
        "offset 0x658: a code object that needs `mix` of another file is not supported"
    );
    assert_eq!(
        error(&changed(mix + 6, &[0xf2, 0xff])),
        "offset 0x658: the common symbol `mix` is not supported"
    );
    // In the comment section, and beyond all sections.
    for section in [12, 200] {
        assert_eq!(
            error(&changed(mix + 6, &[section, 0])),
            "offset 0x658: the address of `mix`, which is not loaded, is not supported"
        );
    }
    // Weak symbols need not be there.
    let mut weak = changed(mix + 6, &[0, 0]);
    weak[mix + 4] = 0x22;
    assert!(load(&weak).is_ok());
    assert_eq!(error(&changed(RELOCATION + 8, &[99])), "offset 0x5f8: relocation type 99 is not supported");
    assert_eq!(
        error(&changed(RELOCATION + 12, &[77])),
        "offset 0x5f8: a relocation names a symbol that is not there"
    );
    for offset in [0x10_0000_u64, u64::MAX] {
        let message = "offset 0x5f8: a relocation is of an address that is not loaded";
        assert_eq!(error(&changed(RELOCATION, &offset.to_le_bytes())), message);
    }
    // A linked file whose relocations are in no section that says so.
    let linked = read("vars/fiji.co");
    let section =
        linked.windows(8).rposition(|w| w == [4, 0, 0, 0, 2, 0, 0, 0]).expect("the header of .rela.dyn");
    let mut hidden = linked.clone();
    hidden[section] = 1;
    assert!(error(&hidden).ends_with("a code object whose relocations are in no section is not supported"));
}
