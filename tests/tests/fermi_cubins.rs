//! Tests cubins made for tests: several kernels, functions, variables, relocations; and the messages for damaged ones.

use warpjit_frontend::container::{self, ContainerError};
use warpjit_frontend::fermi::Chip;
use warpjit_runtime::{Isa, Program, ProgramOptions};
use warpjit_tests::fermi::cubin::Cubin;
use warpjit_tests::fermi::{Setup, address_of, code, launched, whole};

/// Relocation kinds: a word of data; a long immediate or an absolute target.
const WORD: u32 = 1;
const IMMEDIATE: u32 = 5;

fn options(kernel: Option<&str>) -> ProgramOptions {
    ProgramOptions::new(Isa::Fermi).kernel(kernel.map(str::to_owned))
}

/// Runs one kernel of a file with the threads of `setup` and a buffer as its parameter.
fn run(file: &Cubin, kernel: &str, setup: &Setup) -> Vec<u32> {
    let program = Program::load(&file.bytes(), &options(Some(kernel))).unwrap();
    launched(&program, setup, String::new).unwrap()
}

fn assembled(text: &str) -> Vec<u8> {
    code(text, Chip::Gf100)
}

/// A file with a kernel that stores what a body computes.
fn file_of(body: &str) -> (Cubin, usize) {
    let mut file = Cubin::new(20);
    let text = file.text("first", &assembled(&whole(body)), 16);
    file.params("first", &[(0, 4)], 4);
    (file, text)
}

/// The message of a file that is refused.
fn refused(file: &Cubin) -> String {
    match container::load(&file.bytes(), Isa::Fermi) {
        Err(error @ (ContainerError::Elf { .. } | ContainerError::Unsupported { .. })) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn several_kernels() {
    let (mut file, _) = file_of("long mov b32 $r4 c16[0x4]");
    file.text(
        "second",
        &assembled(&whole("long ld b32 $r4 c16[0x0]\nlong st b32 s[0x1fc] $r4\nlong ld b32 $r4 s[0x1fc]")),
        16,
    );
    file.params("second", &[(0, 4)], 4);
    // Each has its own constants and memory.
    file.section(".nv.constant16.first", &[0, 0, 0, 0, 7, 0, 0, 0]);
    file.section(".nv.constant16.second", &[9, 0, 0, 0]);
    file.zeros(".nv.shared.second", 0x200);
    assert_eq!(run(&file, "first", &Setup::default()), vec![7; 32]);
    assert_eq!(run(&file, "second", &Setup::default()), vec![9; 32]);
    let unnamed = Program::load(&file.bytes(), &options(None)).unwrap_err().to_string();
    assert!(unnamed.contains("first") && unnamed.contains("second"), "{unnamed}");
    let third = Program::load(&file.bytes(), &options(Some("third"))).unwrap_err().to_string();
    assert!(third.contains("third") && third.contains("second"), "{third}");
}

#[test]
fn kernels_behind_each_other_in_a_section() {
    // The kernel begins at its symbol; what stands before it is a function of its own.
    let function = "function:\nlong add b32 $r4 $r0 0x5\nlong ret\n";
    let text = function.to_owned() + &whole("long call #function");
    let mut file = Cubin::new(21);
    file.text_from("kernel", &code(&text, Chip::Gf104), 16, 16);
    file.params("kernel", &[(0, 4)], 4);
    assert_eq!(run(&file, "kernel", &Setup::default()), (5..37).collect::<Vec<_>>());
}

#[test]
fn functions_in_sections_of_their_own() {
    // Two calls with absolute addresses; the second function calls the first one, and is also called through a table in c14[].
    let body = "long mov b32 $r4 $r0\none:\nlong call abs 0x0\ntwo:\nlong call abs 0x0\nlong call c14[0x4]";
    let (mut file, text) = file_of(body);
    let source = whole(body);
    let double = file.text("double", &assembled("long shl b32 $r4 $r4 wrap 0x1\nlong ret\n"), 30);
    let twice = "one:\nlong call abs 0x0\nlong add b32 $r4 $r4 0x1\nlong ret\n";
    let more = file.text("more", &assembled(twice), 16);
    let (first, second) = (file.symbol("double_", double, 0), file.symbol("more_", more, 0));
    file.relocate(text, address_of(&source, "one").into(), IMMEDIATE, first);
    file.relocate(text, address_of(&source, "two").into(), IMMEDIATE, second);
    file.relocate(more, 0, IMMEDIATE, first);
    let table = file.section(".nv.constant14", &[0; 8]);
    file.relocate(table, 4, WORD, second);
    // ((x * 2) * 2 + 1) * 2 + 1
    assert_eq!(run(&file, "first", &Setup::default()), (0..32).map(|x| 8 * x + 3).collect::<Vec<_>>());
    let module = container::load(&file.bytes(), Isa::Fermi).unwrap();
    let kernel = module.kernels.iter().find(|kernel| kernel.name == "first").unwrap();
    assert_eq!(kernel.registers, Some(30), "what a function needs its kernel needs");
}

#[test]
fn variables_and_relocations() {
    // One variable with a value and one of zeros; their addresses are in c14[] and in an immediate.
    let body = "long mov b32 $r5 c14[0x0]\nlong ld b32 $r4 ca g[$r5]\nvariable:\nlong mov b32 $r6 0x4\n\
                long red add u32 g[$r6] $r4\nlong bar popc 0x1 0x0 0x0 0x0 0x1\nlong ld b32 $r7 ca g[$r6]\n\
                long add b32 $r4 $r4 $r7";
    let (mut file, text) = file_of(body);
    let value = file.section(".nv.global.init", &[1, 2, 3, 4, 40, 0, 0, 0]);
    let zeros = file.zeros(".nv.global", 16);
    let table = file.section(".nv.constant14", &[0; 4]);
    let (value, sum) = (file.symbol("value", value, 4), file.symbol("sum", zeros, 4));
    file.relocate(table, 0, WORD, value);
    file.relocate(text, address_of(&whole(body), "variable").into(), IMMEDIATE, sum);
    assert_eq!(run(&file, "first", &Setup::default()), vec![40 + 32 * 40; 32]);
}

#[test]
fn damaged_sections() {
    let (good, text) = file_of("long mov b32 $r4 0x0");
    let with = |change: &dyn Fn(&mut Cubin)| {
        let mut file = good.clone();
        change(&mut file);
        refused(&file)
    };
    type Case<'a> = (&'a str, &'a dyn Fn(&mut Cubin));
    let cases: [Case<'_>; 8] = [
        ("is not a number of words", &|file| {
            file.text("odd", &[0; 12], 4);
        }),
        ("is not a number of words", &|file| {
            file.text("empty", &[], 4);
        }),
        ("wants 64 registers", &|file| {
            file.text("large", &assembled("long exit\n"), 64);
        }),
        ("has 0xc004 bytes, more than 0xc000", &|file| {
            file.zeros(".nv.shared.first", 0xc004);
        }),
        ("has 0x80010 bytes, more than 0x80000", &|file| {
            file.zeros(".nv.local.first", 0x8_0010);
        }),
        ("has 0x10004 bytes, more than 0x10000", &|file| {
            file.zeros(".nv.constant3", 0x1_0004);
        }),
        ("relocation 99 of `first`", &|file| file.relocate(text, 0, 99, 1)),
        ("is not within `.text.first`", &|file| file.relocate(text, 0x1000, IMMEDIATE, 1)),
    ];
    for (wanted, change) in cases {
        let message = with(change);
        assert!(message.contains(wanted), "{message}, want {wanted}");
    }
    let mut kepler = good.clone();
    kepler.capability = 35;
    let kepler = refused(&kepler);
    assert!(kepler.contains("sm_35"), "{kepler}");
    assert!(refused(&Cubin::new(20)).contains(".text.NAME"));
}

#[test]
fn parameters_that_do_not_match() {
    let with = |params: &[(u16, u32)], bytes: u16, bank: Option<u64>| {
        let mut file = Cubin::new(20);
        file.text("first", &assembled(&whole("long mov b32 $r4 0x0")), 16);
        file.params("first", params, bytes);
        if let Some(bank) = bank {
            file.zeros(".nv.constant0.first", bank);
        }
        file
    };
    let message = refused(&with(&[(0, 4), (8, 8)], 12, None));
    assert!(message.contains("has a parameter up to 0x10, beyond its 0xc bytes"), "{message}");
    let message = refused(&with(&[(0, 4)], 0x1001, None));
    assert!(message.contains("has 0x1001 bytes of parameters"), "{message}");
    let message = refused(&with(&[(0, 4), (8, 8)], 16, Some(12)));
    assert!(message.contains("has 0xc bytes, the parameters alone 0x10"), "{message}");
    // The arguments of a launch against what the file says.
    let program = Program::load(&with(&[(0, 4), (8, 8)], 16, None).bytes(), &options(None)).unwrap();
    let failed = std::panic::catch_unwind(|| launched(&program, &Setup::default(), String::new));
    let message = *failed.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("too few arguments: first takes 2, these are 1"), "{message}");
}

#[test]
fn hints_that_are_wrong() {
    let sched = "sched 0x20 0x20 0x20 0x20 0x20 0x20 0x20\n";
    let body = "long mov b32 $r0 $tidx\nlong add b32 $r3 (shl $r0 0x2) c0[0x140]\n\
                long st b32 wb g[$r3] $r0\nlong exit\n";
    let file = |text: &str, capability: u32, chip: Chip| {
        let mut file = Cubin::new(capability);
        file.text("first", &code(text, chip), 16);
        file.params("first", &[(0, 4)], 4);
        file
    };
    let outcome = |file: &Cubin, chip: Chip| {
        let program = Program::load(&file.bytes(), &options(None)).unwrap();
        launched(&program, &Setup { chip, ..Setup::default() }, String::new)
    };
    let good = file(&format!("{sched}{body}"), 30, Chip::Gk104);
    assert_eq!(outcome(&good, Chip::Gk104), Ok((0..32).collect()));
    // None where they belong; some where they do not; some on a chip that has none.
    let without = file(body, 30, Chip::Gk104);
    assert_eq!(outcome(&without, Chip::Gk104), Err("Illegal at 0x0".into()));
    let twice = file(&format!("{sched}{sched}{body}"), 30, Chip::Gk104);
    assert_eq!(outcome(&twice, Chip::Gk104), Err("Illegal at 0x8".into()));
    let mut older = good;
    older.capability = 20;
    assert_eq!(outcome(&older, Chip::Gf100), Err("Illegal at 0x0".into()));
    // The container's family stands against the one asked for.
    let other = options(None).chip(Some("gk104".parse().unwrap()));
    let refused = Program::load(&older.bytes(), &other).unwrap_err().to_string();
    assert!(refused.contains("gf100") && refused.contains("gk104"), "{refused}");
}

#[test]
fn damaged_bytes() {
    let (mut file, text) = file_of("long mov b32 $r4 $r0\none:\nlong call abs 0x0");
    let function = file.text("function", &assembled("long ret\n"), 8);
    let symbol = file.symbol("there", function, 0);
    file.relocate(text, 0x28, IMMEDIATE, symbol);
    let good = file.bytes();
    assert!(container::load(&good, Isa::Fermi).is_ok());
    for len in 0..good.len() {
        // Nothing but a word or two of raw code.
        let cut = container::load(&good[..len], Isa::Fermi);
        assert!(len < 4 || cut.is_err(), "{len}");
    }
    let mut random = warpjit_tests::random::rng::Random::new(5);
    for _ in 0..5000 {
        let mut bytes = good.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u32) as usize;
            bytes[at] = random.bits() as u8;
        }
        // No panic, whatever comes out; what loads can be lifted.
        let _ = Program::load(&bytes, &options(Some("first")));
    }
}

/// Each of several sections of one name would have all that belongs to the name.
#[test]
fn a_kernel_has_one_section_of_code() {
    let (mut file, _) = file_of("long mov b32 $r4 0x1");
    file.text("first", &assembled(&whole("long mov b32 $r4 0x2")), 16);
    let error = refused(&file);
    assert!(error.contains("a second section is called `.text.first`"), "{error}");
}

/// Variables without contents take as much memory as their size says when a launch runs, and none before.
#[test]
fn variables_without_contents_are_zeros() {
    let (mut file, _) = file_of("long mov b32 $r4 0x1");
    file.zeros(".nv.global", 0x800_0000);
    let module = container::load(&file.bytes(), Isa::Fermi).unwrap();
    let memory = module.global_memory.as_ref().unwrap();
    assert_eq!((memory.bytes, memory.contents.len()), (0x800_0000, 0));
    assert_eq!(run(&file, "first", &Setup::default()), vec![1; 32]);
}

#[test]
fn fat_binaries() {
    let cubin = file_of("long mov b32 $r4 0x1").0.bytes();
    assert!(container::load(&cubin, Isa::Fermi).is_ok());
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
