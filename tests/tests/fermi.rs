//! Fermi through the front door: barriers that count, generic addresses, cubins and what is wrong with them.

use warpjit_frontend::container::{self, ContainerError};
use warpjit_frontend::fermi::{Chip, assemble, decode};
use warpjit_runtime::{Access, Arg, Config, Engine, Isa, Launch, Memory, Program, ProgramOptions, Tier};
use warpjit_tests::corpus;

/// The engines that programs are run by.
fn engines() -> Vec<Engine> {
    let with = |tier, chunk_groups| Config { tier, chunk_groups, threads: 1, ..Config::default() };
    [with(Tier::Interp, None), with(Tier::Jit, Some(1)), with(Tier::Jit, Some(2)), with(Tier::Jit, Some(4))]
        .into_iter()
        .map(|config| Engine::new(config).unwrap())
        .collect()
}

/// Runs a program whose parameter is a buffer of a word a thread; gives the buffer.
fn run(text: &str, chip: Chip, threads: u32, blocks: u32) -> Vec<u32> {
    let code = assemble(text, chip).unwrap_or_else(|error| panic!("{error}\n{text}")).code;
    let options = ProgramOptions {
        raw: true,
        chip: Some(chip.name().into()),
        registers: Some(20),
        shared: Some(1024),
        local: Some(256),
        ..ProgramOptions::new(Isa::Fermi)
    };
    let program = Program::load(&code, &options).unwrap();
    let mut all: Vec<Vec<u32>> = Vec::new();
    for engine in engines() {
        let mut memory: Memory = engine.memory().unwrap();
        let bytes = u64::from(threads * blocks) * 4;
        let base = memory.map(None, bytes, Access::ReadWrite).unwrap();
        let launch = Launch {
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            args: vec![Arg::u32(base as u32)],
            max_steps: 100_000,
            ..Launch::default()
        };
        let report = engine.run(&program, &mut memory, &launch).unwrap();
        assert!(report.fault.is_none(), "{:?}\n{text}", report.fault);
        let mut data = vec![0; bytes as usize];
        memory.read(base, &mut data).unwrap();
        all.push(data.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect());
    }
    for other in &all[1..] {
        assert_eq!(*other, all[0], "{text}");
    }
    all.swap_remove(0)
}

/// `$r0` is the thread's index in its block, `$r3` the address of its word; the end stores `$r4` there.
fn whole(body: &str) -> String {
    format!(
        "long mov b32 $r0 $tidx\nlong mov b32 $r1 $ctaidx\nlong add $r2 (mul u32 $r1 u32 c0[0x8]) $r0\n\
         long add b32 $r3 (shl $r2 0x2) c0[0x20]\n{body}\nlong st b32 wb g[$r3] $r4\nlong exit\n"
    )
}

#[test]
fn barriers_count() {
    // Threads below 40 hold; three times in a row, with results in the register and the predicate.
    let body = "long set $p0 0x1 lt u32 $r0 0x28\nlong mov b32 $r4 0x0\nlong mov b32 $r6 0x0\nagain:\n\
                long bar popc $p1 $r5 0x1 0x0 $p0\nlong add b32 $r4 $r4 $r5\n\
                long bar and $p1 0x0 0x1 0x0 $p0\nlong $p1 add b32 $r4 $r4 0x1000\n\
                long bar or $p2 0x0 0x1 0x0 $p0\nlong $p2 add b32 $r4 $r4 0x10000\n\
                long bar and $p1 0x0 0x1 0x0 0x1\nlong $p1 add b32 $r4 $r4 0x100000\n\
                long add b32 $r6 $r6 0x1\nlong set $p3 0x1 lt u32 $r6 0x3\nlong $p3 bra #again";
    let got = run(&whole(body), Chip::Gf100, 96, 5);
    assert_eq!(got, vec![3 * (40 + 0x10000 + 0x100000); 96 * 5]);
}

#[test]
fn generic_addresses() {
    // Even threads store to shared memory, odd ones to local memory, through one generic store.
    let body = "long and b32 $r4 $r0 0x1\nlong set $p0 0x1 eq u32 $r4 0x0\nlong shl b32 $r5 $r0 clamp 0x2\n\
                long $p0 add b32 $r6 $r5 c0[0x0]\nlong (not $p0) mov b32 $r6 $lwinbase\n\
                long (not $p0) add b32 $r6 $r6 0x10\nlong add b32 $r7 $r0 0x64\nlong st b32 wb g[$r6] $r7\n\
                long $p0 ld b32 $r4 s[$r5]\nlong (not $p0) ld b32 $r4 ca l[0x10]\n\
                long ld b32 $r8 ca g[$r6]\nlong add b32 $r4 $r4 $r8";
    let got = run(&whole(body), Chip::Gf100, 64, 2);
    let want: Vec<u32> = (0..2).flat_map(|_| (0..64).map(|thread| 2 * (thread + 100))).collect();
    assert_eq!(got, want);
}

#[test]
fn wide_global_addresses() {
    let body = "long mov b32 $r6 $r3\nlong mov b32 $r7 0x0\nlong mov b32 $r8 0x5\n\
                long exch b32 $r9 g[$r6d] $r8\nlong add b32 $r8 $r8 $r0\nlong red add u32 g[$r6d] $r8\n\
                long ld b32 $r4 ca g[$r6d]";
    let got = run(&whole(body), Chip::Gf100, 32, 1);
    assert_eq!(got, (0..32).map(|thread| 10 + thread).collect::<Vec<_>>());
}

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
        let chip = Chip::parse(module.chip.as_deref().unwrap()).unwrap();
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
        let options = ProgramOptions { chip: Some("gf100".into()), ..ProgramOptions::new(Isa::Fermi) };
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
