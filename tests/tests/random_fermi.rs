//! Tests random Fermi programs: compiled code must leave the same memory as the interpreter.
//!
//! `warpjit_tests::fermi::random` makes them. `WARPJIT_RANDOM=N` runs N programs, `WARPJIT_SEED=N` the one of that seed.

use warpjit_frontend::fermi::Op;
use warpjit_frontend::fermi::decode_word;
use warpjit_runtime::{Access, Arg, Engine, Isa, Launch, Memory, Program, ProgramOptions};
use warpjit_tests::engines::{Named, interpreter_and_compiled};
use warpjit_tests::fermi::random::{COMMON_BYTES, OWN_BYTES, RandomFermi, SPACE_BYTES, program};
use warpjit_tests::random::encodings::{differing_word, reduced};
use warpjit_tests::random::rng::Random;
use warpjit_tests::random::seeds::number;

const NOP: u64 = 0x4000_0000_0000_1de4;

/// What a run leaves.
struct Outcome {
    fault: Option<String>,
    data: Vec<u8>,
    /// Share of instructions that compiled code ran.
    share: f64,
}

fn run(engine: &Engine, program: &Program, guest: &RandomFermi, seed: u64) -> Outcome {
    let mut random = Random::new(!seed);
    let memory: Memory = engine.memory().unwrap();
    let bytes = guest.threads * OWN_BYTES + COMMON_BYTES;
    let base = memory.map(None, bytes.into(), Access::ReadWrite).unwrap();
    let mut data = vec![0; bytes as usize];
    data.chunks_exact_mut(4).for_each(|word| word.copy_from_slice(&random.word().to_le_bytes()));
    memory.write(base, &data).unwrap();
    let launch = Launch::default()
        .grid([1, 1, 1])
        .block([guest.threads, 1, 1])
        .args(vec![Arg::u32(base as u32)])
        .consts((1..18).map(|bank| (bank, data[64 * bank as usize..][..512].to_vec())).collect())
        .max_steps(200_000);
    let report = engine.run(program, &memory, &launch).unwrap();
    memory.read(base, &mut data).unwrap();
    let fault = report.fault.map(|fault| format!("{:?} at {:#x}", fault.kind, fault.pc));
    Outcome { fault, data, share: report.stats.jit_share }
}

/// The fault that ends the program, and the least share of it that compiled code ran.
fn compare(engines: &[Named], seed: u64, guest: &RandomFermi) -> Result<(Option<String>, f64), String> {
    let options = ProgramOptions::new(Isa::Fermi)
        .raw(true)
        .chip(Some(guest.chip.into()))
        .registers(Some(16))
        .shared(Some(SPACE_BYTES))
        .local(Some(SPACE_BYTES));
    let program = Program::load(&guest.code, &options).map_err(|error| error.to_string())?;
    let wanted = run(&engines[0].1, &program, guest, seed);
    let others = &engines[1..];
    let mut share = f64::INFINITY;
    // One other way each, now and then two.
    let ways = if seed.is_multiple_of(4) { 2 } else { 1 };
    for n in (seed..).step_by(3).take(ways) {
        let (name, engine) = &others[(n % others.len() as u64) as usize];
        let got = run(engine, &program, guest, seed);
        share = share.min(got.share);
        if wanted.fault != got.fault {
            return Err(format!("seed {seed}, {name}: {:?}, want {:?}", got.fault, wanted.fault));
        }
        // What other lanes have done before a fault is not defined.
        let differing = differing_word(&got.data, &wanted.data).filter(|_| wanted.fault.is_none());
        if let Some((at, got, want)) = differing {
            let (thread, word) = (at as u32 / OWN_BYTES, at as u32 % OWN_BYTES / 4);
            return Err(format!("seed {seed}, {name}: thread {thread} word {word}: {got:x}, want {want:x}"));
        }
    }
    Ok((wanted.fault, share))
}

/// What is left without the instructions that a failure does not need.
fn reduce(engines: &[Named], seed: u64, guest: &RandomFermi) -> RandomFermi {
    let is_hints = |at: usize| {
        let word = u64::from_le_bytes(guest.code[at..at + 8].try_into().unwrap());
        decode_word(word, at as u32, guest.chip).is_ok_and(|inst| inst.op == Op::Sched)
    };
    let with = |code: &[u8]| RandomFermi { code: code.to_vec(), ..guest.clone() };
    with(&reduced(&guest.code, NOP, |at, fewer| {
        !is_hints(at) && compare(engines, seed, &with(fewer)).is_err()
    }))
}

#[test]
fn compiled_code_agrees_with_the_interpreter() {
    let engines = interpreter_and_compiled();
    if let Some(seed) = number("WARPJIT_SEED") {
        let guest = program(seed);
        println!("{}", warpjit_frontend::fermi::listing(&guest.code, 0, guest.chip));
        if let Err(error) = compare(&engines, seed, &guest) {
            let least = reduce(&engines, seed, &guest);
            let error = compare(&engines, seed, &least).err().unwrap_or(error);
            panic!("{error}\n{}", warpjit_frontend::fermi::listing(&least.code, 0, guest.chip));
        }
        return;
    }
    let count = number("WARPJIT_RANDOM").unwrap_or(80);
    let (mut faults, mut failures, mut shares) = (Vec::new(), Vec::new(), 0.0);
    for seed in 1..=count {
        match compare(&engines, seed, &program(seed)) {
            Ok((fault, share)) => {
                shares += share;
                faults.extend(fault.map(|fault| format!("{seed}: {fault}")));
            }
            Err(error) => failures.push(error),
        }
    }
    assert!(failures.is_empty(), "{} of {count} differ\n{}", failures.len(), failures.join("\n"));
    assert!(shares > 0.5 * count as f64, "compiled code ran {:.0} %", 100.0 * shares / count as f64);
    assert!(faults.len() as u64 * 10 < count, "{} of {count} fault\n{}", faults.len(), faults.join("\n"));
}
