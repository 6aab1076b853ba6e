//! Runs kernels that read one array and write another, in all tiers.

use warpjit_frontend::{Chip, Stage};
use warpjit_runtime::{Access, Arg, Config, Engine, Fault, Isa, Launch, Program, ProgramOptions, Tier};

/// Assembles a kernel of Tesla (for the G84) or Fermi (the GF100), with so many bytes of shared memory if it says so.
///
/// # Panics
///
/// Where that is no program.
pub fn program(text: &str, isa: Isa, shared: Option<u32>) -> Program {
    assembled(text, if isa == Isa::Tesla { "g84" } else { "gf100" }, 20, shared)
}

/// Assembles a kernel for a chip, with so many registers (GCN: and 16 scalar ones), and so many bytes of shared memory if it says so.
///
/// # Panics
///
/// Where that is no program.
pub fn assembled(text: &str, chip: &str, registers: u32, shared: Option<u32>) -> Program {
    let chip: Chip = chip.parse().unwrap();
    let code = chip.target().assemble(text, Stage::Compute);
    let code = code.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let options = ProgramOptions::new(chip.isa())
        .raw(true)
        .chip(Some(chip))
        .registers(Some(registers))
        .sgprs((chip.isa() == Isa::Gcn).then_some(16))
        .shared(shared);
    Program::load(&code, &options).unwrap()
}

/// So many words, the same for a seed.
pub fn random(count: usize, seed: u64) -> Vec<u32> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 32) as u32
    };
    (0..count).map(next).collect()
}

/// One case of so many, from all of the list; all of them where `WARPJIT_ALL_CASES` is set.
pub fn some_of<T>(cases: Vec<T>, share: usize) -> impl Iterator<Item = T> {
    let share = if std::env::var_os("WARPJIT_ALL_CASES").is_some() { 1 } else { share };
    cases.into_iter().step_by(share)
}

/// The interpreter, then compiled code with chunks of all sizes, each with one thread. Chunks that are the same code on
/// this host are there once.
pub fn engines() -> Vec<(String, Engine)> {
    let mut kinds = vec![
        (Tier::Interp, None),
        (Tier::Jit, Some(0)),
        (Tier::Jit, Some(1)),
        (Tier::Jit, Some(2)),
        (Tier::Jit, Some(4)),
    ];
    if warpjit_backend::host_has_wide_vectors() {
        kinds.extend([(Tier::Jit, None), (Tier::Jit, Some(8))]);
    }
    let engine = |(tier, chunk_groups)| {
        let config = Config::default().tier(tier).chunk_groups(chunk_groups).threads(1);
        (format!("{tier:?} {chunk_groups:?}"), Engine::new(config).unwrap())
    };
    kinds.into_iter().map(engine).collect()
}

/// Runs `shape` (blocks and threads of each) on two arrays, whose addresses are the arguments; gives the fault, or what the second array
/// holds behind.
///
/// # Panics
///
/// Where the launch is refused.
pub fn run(
    engine: &Engine,
    program: &Program,
    isa: Isa,
    shape: (u32, u32),
    from: &[u32],
    to: &[u32],
) -> Result<Vec<u32>, Fault> {
    run_rows(engine, program, isa, (shape.0, [shape.1, 1]), &[], [from, to])
}

/// As [`run`], with blocks of so many threads along two axes, and words behind the arrays' addresses.
///
/// # Panics
///
/// Where the launch is refused.
pub fn run_rows(
    engine: &Engine,
    program: &Program,
    isa: Isa,
    shape: (u32, [u32; 2]),
    more: &[u32],
    [from, to]: [&[u32]; 2],
) -> Result<Vec<u32>, Fault> {
    let bytes = |words: &[u32]| words.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let memory = engine.memory().unwrap();
    // What is beyond the first must not be of the second: there, who stores and loads first would matter.
    let mut next = 1 << 16;
    let places = [from, to].map(|words| {
        let place = memory.map(Some(next), words.len() as u64 * 4, Access::ReadWrite).unwrap();
        memory.write(place, &bytes(words)).unwrap();
        next = (place + words.len() as u64 * 4).next_multiple_of(1 << 16) + (1 << 20);
        place
    });
    let arg = |place: u64| if isa == Isa::Tesla { Arg::u32(place as u32) } else { Arg::u64(place) };
    let launch = Launch::default()
        .grid([shape.0, 1, 1])
        .block([shape.1[0], shape.1[1], 1])
        .args(places.map(arg).into_iter().chain(more.iter().map(|&word| Arg::u32(word))).collect());
    let report = engine.run(program, &memory, &launch).unwrap();
    if let Some(fault) = report.fault {
        return Err(fault);
    }
    let mut data = vec![0; to.len() * 4];
    memory.read(places[1], &mut data).unwrap();
    Ok(data.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect())
}
