//! Tests the reader of AMD code objects on those of the corpus, and on damaged copies of them.

use std::path::{Path, PathBuf};

use warpjit_frontend::container::{self, ContainerError, Selection, load_within};
use warpjit_frontend::module::{ArgKind, Kernel, KernelArg, Module};
use warpjit_frontend::{Chip, Isa};
use warpjit_ir::meter::{Budget, Meter, Task, Usage};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus/gcn")
}

fn read(name: &str) -> Vec<u8> {
    let path = corpus().join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn load(bytes: &[u8]) -> Result<Module, ContainerError> {
    container::load(bytes, Isa::Gcn)
}

/// Everything that is printed of a kernel.
fn summary(module: &Module, kernel: &Kernel) -> String {
    let object = kernel.code_object.as_ref().expect("a code object");
    let letter = |arg: &KernelArg| match &arg.kind {
        ArgKind::ByValue => format!("{}:{}", arg.offset, arg.bytes),
        ArgKind::Global => format!("{}:global", arg.offset),
        ArgKind::DynamicShared => format!("{}:local", arg.offset),
        ArgKind::Hidden(name) => format!("{}:{name}", arg.offset),
        ArgKind::Other(name) => format!("{}:other {name}", arg.offset),
    };
    let args = object
        .args
        .as_ref()
        .map_or("none".into(), |args| args.iter().map(letter).collect::<Vec<_>>().join(" "));
    format!(
        "{} {} {:#x}+{:#x} vgprs {} lds {} scratch {} rsrc {:#x} {:#x} properties {:#x} kernarg {} args {args}",
        module.chip.map_or("?", Chip::name),
        kernel.name,
        kernel.entry,
        kernel.code.len(),
        kernel.registers.unwrap_or(0),
        kernel.shared_bytes,
        kernel.local_bytes,
        object.rsrc1,
        object.rsrc2,
        object.properties,
        object.kernarg_bytes,
    )
}

/// The figures are what `llvm-readelf -n` and the bytes of the descriptors say.
#[test]
fn kernels_are_found() {
    let v2 = load(&read("saxpy/fiji.co")).unwrap();
    let names: Vec<_> = v2.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["saxpy", "stencil5", "bfs_step"]);
    assert_eq!(
        summary(&v2, v2.kernel(Some("saxpy")).unwrap()),
        "fiji saxpy 0x2e00+0xa0 vgprs 4 lds 0 scratch 0 rsrc 0xac0040 0x90 properties 0xa000b kernarg 80 args \
         0:global 8:global 16:4 20:4 24:global_offset_x 32:global_offset_y 40:global_offset_z 48:none 56:none \
         64:none 72:multi_grid_sync_arg"
    );
    let v3 = load(&read("private_sort/vega10.co")).unwrap();
    assert_eq!(
        summary(&v3, v3.kernel(None).unwrap()),
        "vega10 private_sort 0x1800+0x2b0 vgprs 8 lds 0 scratch 132 rsrc 0xaf00c1 0x95 properties 0x2b kernarg 80 \
         args 0:global 8:global 16:4 24:global_offset_x 32:global_offset_y 40:global_offset_z 48:none 56:none \
         64:none 72:multigrid_sync_arg"
    );
    let v5 = load(&read("private_sort_v5/vega10.co")).unwrap();
    let args = v5.kernel(None).unwrap().code_object.as_ref().unwrap().args.as_ref().unwrap();
    let find = |name: &str| {
        args.iter().find(|arg| matches!(&arg.kind, ArgKind::Hidden(hidden) if hidden == name)).unwrap()
    };
    assert_eq!((find("block_count_y").offset, find("block_count_y").bytes), (28, 4));
    assert_eq!((find("group_size_z").offset, find("group_size_z").bytes), (40, 2));
    assert_eq!(find("grid_dims").offset, 88);
    assert_eq!(v5.kernel(None).unwrap().code_object.as_ref().unwrap().kernarg_bytes, 280);
    let local = load(&read("local_args/vega10.co")).unwrap();
    assert!(
        summary(&local, local.kernel(None).unwrap()).contains("16:local 20:local 24:4 32:global_offset_x")
    );
    let mesa = load(&read("ids3d/tahiti.co")).unwrap();
    assert_eq!(
        summary(&mesa, mesa.kernel(None).unwrap()),
        "tahiti ids3d 0x1400+0x270 vgprs 16 lds 0 scratch 0 rsrc 0xac0083 0x1390 properties 0xa000b kernarg 24 args \
         none"
    );
}

fn all_objects() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in std::fs::read_dir(corpus()).unwrap() {
        for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "co") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn all_of_the_corpus_loads() {
    let all = all_objects();
    assert!(all.len() > 80, "{}", all.len());
    for path in all {
        let module =
            load(&std::fs::read(&path).unwrap()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(module.isa, Isa::Gcn);
        // Files are called after the chip.
        let chip = path.file_stem().unwrap().to_string_lossy().into_owned();
        let chip = chip.split('.').next().unwrap();
        let wanted = warpjit_frontend::gcn::Chip::parse(chip).unwrap();
        let Some(Chip::Gcn(found)) = module.chip else { panic!("{}", path.display()) };
        assert_eq!(found.generation(), wanted.generation(), "{}", path.display());
        for kernel in &module.kernels {
            // LLVM ends kernels with s_endpgm.
            let end = 0xbf81_0000_u32.to_le_bytes();
            assert!(kernel.code.chunks(4).any(|word| word == end), "{}: {}", path.display(), kernel.name);
        }
    }
}

/// Damaged files give errors or modules, never a panic; and they are errors where the damage is in what was cut off.
#[test]
fn damaged_files_are_errors() {
    for name in [
        "saxpy/fiji.co",
        "saxpy/tahiti.co",
        "private_sort/vega10.co",
        "private_sort_v5/vega10.co",
        "local_args/fiji.co",
        "vars/fiji.co",
        "vars/vega10.o",
    ] {
        let good = read(name);
        let whole = load(&good).unwrap();
        for end in (0..good.len()).step_by(31) {
            // The tables of sections and symbols are at the end.
            let error = load(&good[..end]).expect_err(name);
            assert!(!error.to_string().is_empty());
        }
        let mut errors = 0;
        for at in 0..good.len() {
            // Every byte of the headers, some of the rest.
            if at > 0x600 && at % 5 != 0 {
                continue;
            }
            for with in [good[at] ^ 0x80, good[at].wrapping_add(1)] {
                let mut bad = good.clone();
                bad[at] = with;
                match load(&bad) {
                    // A symbol with another name may be one more.
                    Ok(module) => {
                        assert!(module.kernels.len() <= 2 * whole.kernels.len(), "{name} at {at:#x}")
                    }
                    Err(error) => {
                        errors += 1;
                        assert!(!error.to_string().is_empty());
                    }
                }
            }
        }
        assert!(errors > 50, "{name}: {errors}");
    }
}

/// The file with a number of the descriptor of its only kernel changed.
fn with_descriptor(name: &str, offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = read(name);
    let module = load(&file).unwrap();
    let at = module.kernel(None).unwrap().code_object.as_ref().unwrap().descriptor as usize + offset;
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

/// Kernels whose calls the compiler has not counted have a stack for them, and no more scratch than there is.
#[test]
fn uncounted_stacks() {
    const FILE: &str = "private_sort_v5/vega10.co";
    let bytes = |file: &[u8]| load(file).unwrap().kernel(None).unwrap().local_bytes;
    let own = bytes(&read(FILE));
    let properties =
        load(&read(FILE)).unwrap().kernel(None).unwrap().code_object.as_ref().unwrap().properties;
    let dynamic = with_descriptor(FILE, 56, &(properties as u16 | 1 << 11).to_le_bytes());
    assert_eq!(bytes(&dynamic), own + 16384);
    let mut most = dynamic;
    let descriptor =
        load(&most).unwrap().kernel(None).unwrap().code_object.as_ref().unwrap().descriptor as usize;
    most[descriptor + 4..descriptor + 8].copy_from_slice(&131_000u32.to_le_bytes());
    assert_eq!(bytes(&most), 131_056);
}

#[test]
fn bad_descriptors() {
    const FILE: &str = "private_sort/vega10.co";
    let error =
        |offset: usize, bytes: &[u8]| load(&with_descriptor(FILE, offset, bytes)).unwrap_err().to_string();
    assert_eq!(
        error(0, &0x1_0001_u32.to_le_bytes()),
        "offset 0x700: kernel `private_sort` wants 65537 bytes of LDS, more than 65536"
    );
    assert_eq!(
        error(4, &u32::MAX.to_le_bytes()),
        "offset 0x700: kernel `private_sort` wants 4294967295 bytes of scratch a lane, more than 131056"
    );
    assert_eq!(
        error(8, &0x2_0000_u32.to_le_bytes()),
        "offset 0x700: kernel `private_sort` wants 131072 bytes of arguments, more than 65536"
    );
    assert!(error(16, &0x10_0000_u64.to_le_bytes()).ends_with("begins at 0x100700, where there is no code"));
    assert!(error(16, &u64::MAX.to_le_bytes()).ends_with("begins at 0x6ff, where there is no code"));
    assert!(error(16, &0x1102_u64.to_le_bytes()).ends_with("begins at 0x1802, within a word"));
    assert!(error(52, &(17_u32 << 1).to_le_bytes()).ends_with("wants 17 user SGPRs, more than 16"));
    assert_eq!(
        error(57, &[4]),
        "offset 0x700: kernel `private_sort` with waves of 32 lanes is not supported"
    );
}

#[test]
fn other_files_are_refused() {
    let good = read("private_sort/vega10.co");
    let changed = |at: usize, with: u8| {
        let mut file = good.clone();
        file[at] = with;
        load(&file).err().map_or("none".to_owned(), |error| error.to_string())
    };
    assert_eq!(changed(7, 0x41), "offset 0x7: OS ABI 0x41 is not supported");
    assert_eq!(changed(8, 5), "offset 0x8: code object version 7 is not supported");
    assert!(changed(16, 2).contains("neither a shared object nor what a compiler leaves is not supported"));
    // The metadata says it too.
    assert_eq!(changed(48, 0x33), "none");
    assert_eq!(changed(4, 1), "offset 0x4: not a 64-bit little-endian ELF file, or cut within its header");
}

/// A code object with that note of metadata in place of its own: the note's bytes, the file's otherwise.
fn with_metadata(name: &str, metadata: &[u8]) -> Vec<u8> {
    let mut file = read(name);
    // The note of AMDGPU: name, then the description, of which only the first bytes are replaced.
    let at = file.windows(8).position(|bytes| bytes == b"AMDGPU\0\0").expect("the note's name") + 8;
    file[at..at + metadata.len()].copy_from_slice(metadata);
    file
}

/// Parsers of metadata know no budget: what they may take is counted before.
#[test]
fn metadata_is_within_the_budget() {
    let file = read("saxpy/fiji.co");
    let load = |bytes: u64| {
        let budget = Budget { bytes, ..Budget::default() };
        let meter = Meter::new(Task::Loading, budget, Usage::default());
        load_within(&file, Isa::Gcn, Selection::All, &meter).map(|module| module.kernels.len())
    };
    assert!(load(4 << 20).expect("it fits") > 0);
    let error = load(16 << 10).expect_err("metadata takes more").to_string();
    assert!(error.contains("ran over the budget of"), "{error}");
}

#[test]
fn metadata_that_is_nested_too_deeply_is_refused() {
    // Lists of one element, 40 of them.
    let error =
        load(&with_metadata("private_sort_v5/vega10.co", &[0x91; 40])).expect_err("too deep").to_string();
    assert!(error.contains("the metadata is no msgpack"), "{error}");
}
