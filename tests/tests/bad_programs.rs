//! Tests bad programs and launches given to the library: each is refused with the message pinned here.
//! `frontend/tests/container.rs` tests the parsers of containers; here the programs are launched.

#[path = "../../frontend/tests/common/elf_writer.rs"]
#[allow(dead_code, missing_docs, reason = "shared with the frontend's tests")]
mod elf_writer;

use elf_writer::{Cubin, cubin};
use warpjit_frontend::tesla::{Chip, Target, assemble};
use warpjit_runtime::{Arg, Config, Engine, Isa, Launch, Program, ProgramOptions, Tier};

const TEXT: &str = "architecture {sm_10}
abiversion {1}
code {
\tname = first
\tlmem = 0
\tsmem = 28
\treg = 4
\tbar = 0
\tbincode { 0xf0000001 0xe0000781 }
}
code {
\tname = second
\treg = 4
\tbincode { 0xf0000001 0xe0000781 }
}
";

fn options() -> ProgramOptions {
    ProgramOptions::new(Isa::Tesla)
}

fn raw(source: &str) -> Program {
    let code = assemble(source, Target::compute(Chip::G80)).unwrap_or_else(|e| panic!("{e}")).code;
    Program::load(&code, &options().raw(true).chip(Some("g80".parse().unwrap()))).unwrap()
}

fn load_error(bytes: &[u8], options: &ProgramOptions) -> String {
    Program::load(bytes, options).expect_err("must be refused").to_string()
}

fn launch(grid: [u32; 3], block: [u32; 3]) -> Launch {
    Launch::default().grid(grid).block(block)
}

/// The message that both tiers give, or panics.
#[track_caller]
fn refused(program: &Program, launch: &Launch, message: &str) {
    for tier in [Tier::Interp, Tier::Jit] {
        let engine = Engine::new(Config::default().tier(tier).threads(1)).unwrap();
        let memory = engine.memory().unwrap();
        let error = engine.run(program, &memory, launch).expect_err("must be refused");
        assert_eq!(error.to_string(), message, "{tier:?}");
    }
}

#[test]
fn kernels_that_are_not_there() {
    let named = |name: &str| options().kernel(Some(name.into()));
    assert_eq!(
        load_error(TEXT.as_bytes(), &named("third")),
        "there is no kernel `third`; kernels: first second"
    );
    assert_eq!(
        load_error(TEXT.as_bytes(), &options()),
        "there are several kernels and none is named; kernels: first second"
    );
    assert_eq!(Program::load(TEXT.as_bytes(), &named("second")).unwrap().name(), "second");
}

#[test]
fn files_that_are_no_programs() {
    assert_eq!(load_error(&[], &options()), "the file is empty");
    let words = options().chip(Some("g80".parse().unwrap()));
    assert_eq!(load_error(&[1, 2, 3], &words), "offset 0x3: raw code ends within a 32-bit word");
    assert_eq!(load_error(&[0; 8], &options()), "raw code needs a chip");
    let chip = options().chip(Some("gf100".parse().unwrap()));
    assert_eq!(load_error(&[0; 8], &chip), "code is for tesla, gf100 is a chip of fermi");
    assert_eq!(
        Isa::Tesla.chip("gf100").unwrap_err().to_string(),
        "tesla has no chip gf100; chips: g80 g84 g86 g92 g94 g96 g98 g200 mcp77 mcp79 gt215 gt216 gt218"
    );
    for entry in [2, 8, 0xffff_fffc] {
        let error = load_error(&[0; 8], &words.clone().entry(entry));
        assert_eq!(error, format!("entry {entry:#x} is no instruction of the 0x8 bytes of code"));
    }
    let cut = &TEXT.as_bytes()[..TEXT.len() - 3];
    assert_eq!(load_error(cut, &options()), "line 14: `code` of line 11 is not closed");
    let fermi = cubin(&Cubin { sm: 20, ..Cubin::example() });
    assert_eq!(load_error(&fermi, &options()), "code is for fermi, not tesla");
    let kepler = cubin(&Cubin { sm: 35, ..Cubin::example() });
    assert_eq!(load_error(&kepler, &options()), "offset 0x30: sm_35 is not supported");
}

#[test]
fn damaged_containers_are_refused_or_run_without_harm() {
    // A cheap generator of numbers: the tests must not differ from run to run.
    let mut state = 1u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let engine = Engine::new(Config::default().threads(1)).unwrap();
    let launch = launch([1, 1, 1], [32, 1, 1]).max_steps(100);
    let run = |bytes: &[u8]| {
        let options = options().chip(Some("g200".parse().unwrap()));
        if let Ok(program) = Program::load(bytes, &options) {
            let _ = engine.run(&program, &engine.memory().unwrap(), &launch);
        }
    };
    let files = [cubin(&Cubin::example()), TEXT.as_bytes().to_vec()];
    for file in &files {
        for len in 0..file.len() {
            run(&file[..len]);
        }
        for _ in 0..1000 {
            let mut bytes = file.clone();
            for _ in 0..=random(3) {
                let at = random(bytes.len());
                bytes[at] = random(256) as u8;
            }
            run(&bytes);
        }
    }
}

#[test]
fn random_words_are_run_without_harm_and_alike() {
    let mut state = 7u64;
    let mut random = move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 32) as u32
    };
    let launch = launch([1, 1, 1], [64, 1, 1]).max_steps(50);
    let engines =
        [Tier::Interp, Tier::Jit].map(|tier| Engine::new(Config::default().tier(tier).threads(1)).unwrap());
    for _ in 0..300 {
        let code: Vec<u8> = (0..24).flat_map(|_| random().to_le_bytes()).collect();
        let options = options().raw(true).chip(Some("g200".parse().unwrap()));
        let program = Program::load(&code, &options).unwrap();
        let [interp, jit] = engines
            .each_ref()
            .map(|engine| engine.run(&program, &engine.memory().unwrap(), &launch).unwrap().fault);
        assert_eq!(interp, jit, "{code:02x?}");
    }
}

#[test]
fn grids_and_blocks_beyond_the_chip() {
    let program = raw("exit nop\n");
    let grid = |grid, message| refused(&program, &launch(grid, [32, 1, 1]), message);
    grid([0, 1, 1], "launch: grid [0, 1, 1]: 0 blocks along x, allowed are 1 to 65535");
    grid([1, 65536, 1], "launch: grid [1, 65536, 1]: 65536 blocks along y, allowed are 1 to 65535");
    grid([1, 1, 2], "launch: grid [1, 1, 2]: 2 blocks along z, allowed are 1 to 1");
    let block = |block, message| refused(&program, &launch([1, 1, 1], block), message);
    block([0, 1, 1], "launch: block [0, 1, 1]: 0 threads along x, allowed are 1 to 512");
    block([513, 1, 1], "launch: block [513, 1, 1]: 513 threads along x, allowed are 1 to 512");
    block([1, 1, 65], "launch: block [1, 1, 65]: 65 threads along z, allowed are 1 to 64");
    block([64, 16, 1], "launch: block [64, 16, 1] has 1024 threads, the chip allows 512");
    let part = launch([4, 1, 1], [32, 1, 1]).blocks(Some(2..5));
    refused(&program, &part, "launch: blocks 2..5 of a grid of 4");
}

#[test]
fn arguments_that_do_not_fit_the_kernel() {
    // The container says what the parameters are: a pointer and a word.
    let program = Program::load(&cubin(&Cubin::example()), &options()).unwrap();
    let with = |args: Vec<Arg>| launch([1, 1, 1], [32, 1, 1]).args(args);
    let wanted = program.image().params.clone().expect("the example has parameters");
    refused(
        &program,
        &with(vec![]),
        &format!("launch: too few arguments: scale takes {}, these are 0", wanted.len()),
    );
    let many = vec![Arg::u32(0); wanted.len() + 1];
    refused(
        &program,
        &with(many),
        &format!("launch: too many arguments: scale takes {}, these are {}", wanted.len(), wanted.len() + 1),
    );
    let mut wrong: Vec<Arg> = wanted
        .iter()
        .map(|&(_, size)| Arg { bytes: vec![0; size as usize], align: size as usize, shared: None })
        .collect();
    let size = wanted[0].1;
    wrong[0].bytes.push(0);
    refused(
        &program,
        &with(wrong),
        &format!("launch: argument 0 has {} bytes, scale takes {size} there", size + 1),
    );
    let crooked = with(vec![Arg { bytes: vec![0; 4], align: 3, shared: None }]);
    refused(&raw("exit nop\n"), &crooked, "launch: argument 0: alignment 3 is not a power of two up to 64");
}

#[test]
fn registers_and_banks_that_are_not_there() {
    let program = raw("exit nop\n");
    let base = launch([1, 1, 1], [32, 1, 1]);
    let registers = |name: &str, values| base.clone().registers(vec![(name.into(), values)]);
    refused(&program, &registers("q7", vec![1]), "launch: register q7: the program has no such register");
    refused(
        &program,
        &registers("r1", vec![1; 3]),
        "launch: register r1: 3 values, needs one or one a lane (32)",
    );
    refused(
        &program,
        &registers("r1", vec![1 << 32]),
        "launch: register r1: 0x100000000 has more than 32 bits",
    );
    let bank = base.clone().consts(vec![(18, vec![0])]);
    refused(&program, &bank, "launch: const bank c18[]: there are 18, 0 to 17");
    let capture = base.capture_registers(true).grid([2, 1, 1]);
    refused(&program, &capture, "launch: registers can be captured of one warp only");
}
