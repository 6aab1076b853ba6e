//! Mutated containers. Loading one must take time and memory in proportion to its size, and must give an error or programs that
//! run.

use std::sync::LazyLock;
use std::time::Duration;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region};
use warpjit_frontend::{Isa, container};
use warpjit_runtime::{
    Arg, Budget, CancelToken, Config, Engine, Error, Launch, Program, ProgramOptions, Tier,
};
use warpjit_tests::random::rng::SplitMix;
use warpjit_tests::{corpus, sizes};

use super::{Context, mutate};
use crate::Finding;
use crate::guest::within;

/// Bytes that one load may allocate beside what its size lets it.
const FREE_BYTES: u64 = 24 << 20;
/// Bytes that it may allocate for each byte of the container.
const BYTES_A_BYTE: u64 = 4_000;
/// What loading may take: a small file that takes more is a finding.
const BUDGET: Budget = Budget { time: Duration::from_secs(20), bytes: 512 << 20 };
/// Larger containers take too long for many cases a second.
const MOST_BYTES: usize = 200_000;

/// A container, and what its code is for.
pub(super) struct Sample {
    pub isa: Isa,
    pub bytes: Vec<u8>,
}

/// All containers of the corpus, and those that the tests of sizes make.
pub(super) static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let mut samples = Vec::new();
    for cases in [corpus::tesla(), corpus::fermi(), corpus::gcn()] {
        // Without a corpus there is less to change.
        for case in cases.unwrap_or_default() {
            let Ok(file) = case.load() else { continue };
            let code = file.program.code;
            let is_container = container::load(&code, file.program.isa).is_ok() && !file.program.raw;
            if is_container && code.len() <= MOST_BYTES {
                samples.push(Sample { isa: file.program.isa, bytes: code });
            }
        }
    }
    for shape in sizes::shapes().iter().filter(|shape| shape.unit == sizes::Unit::Entries) {
        for count in [2, 5] {
            let program = (shape.make)(count).launch_file().program;
            samples.push(Sample { isa: program.isa, bytes: program.code });
        }
    }
    samples.sort_by(|a, b| a.bytes.cmp(&b.bytes));
    samples.dedup_by(|a, b| a.bytes == b.bytes);
    samples
});

/// Holds the container of a seed.
///
/// # Errors
///
/// What does not hold.
pub fn hold(seed: u64, context: &mut Context) -> Result<(), Box<Finding>> {
    let mut random = SplitMix::new(seed);
    let sample = &SAMPLES[random.below(SAMPLES.len() as u64) as usize];
    let mut bytes = sample.bytes.clone();
    if !random.one_in(16) {
        mutate::bytes(&mut bytes, &mut random);
    }
    let isa = if random.one_in(8) { random.pick(Isa::ALL) } else { sample.isa };
    let finding = |kind: &str, text: String| {
        let toml = format!(
            "# {text}\n[program]\nisa = \"{isa}\"\nfile = \"container.bin\"\n\n[launch]\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\n"
        );
        let files = vec![("container.bin".into(), bytes.clone()), ("launch.toml".into(), toml.into_bytes())];
        Box::new(Finding { kind: kind.into(), text, files })
    };
    // Kernels by name: what the container's own parser says of them.
    let names: Vec<String> = match container::load(&bytes, isa) {
        Ok(module) => module.kernels.iter().map(|kernel| kernel.name_or("").to_owned()).take(4).collect(),
        Err(_) => Vec::new(),
    };
    let mut options = vec![ProgramOptions::new(isa)];
    options.extend(names.into_iter().map(|name| ProgramOptions::new(isa).kernel(Some(name))));
    for options in options {
        let region = Region::new(&INSTRUMENTED_SYSTEM);
        let loaded = Program::load_within(&bytes, &options, BUDGET, None);
        let allocated = region.change().bytes_allocated as u64;
        let most = FREE_BYTES + BYTES_A_BYTE * bytes.len() as u64;
        if allocated > most {
            let text = format!(
                "{} bytes of {isa}: {allocated} bytes allocated, at most {most} are allowed",
                bytes.len()
            );
            return Err(finding("memory", text));
        }
        match loaded {
            Ok(program) => {
                context.coverage.count("containers", "loaded");
                run(&program, isa, &mut random, context).map_err(|text| finding("launch", text))?;
            }
            Err(error @ Error::Budget(..)) => {
                return Err(finding("budget", format!("{} bytes of {isa}: {error}", bytes.len())));
            }
            Err(_) => context.coverage.count("containers", "refused"),
        }
    }
    Ok(())
}

/// Runs a program with arguments of zeros: it must end, somehow.
fn run(program: &Program, isa: Isa, random: &mut SplitMix, context: &mut Context) -> Result<(), String> {
    let params = &program.image().params;
    let args = params.as_ref().map_or_else(
        || vec![Arg::u32(0); 4],
        |params| params.iter().map(|&(_, bytes)| Arg::bytes(vec![0; bytes as usize], 1)).collect(),
    );
    let tier = random.pick(&[Tier::Interp, Tier::Jit]);
    let config = Config::default().tier(tier).threads(1).budget(BUDGET);
    let engine = Engine::new(config).map_err(|error| error.to_string())?;
    let memory = engine.memory().map_err(|error| error.to_string())?;
    let cancel = CancelToken::new();
    let lanes = if isa == Isa::Gcn { 64 } else { 32 };
    let launch = Launch::default()
        .block([lanes, 1, 1])
        .grid([1; 3])
        .args(args)
        .max_steps(500)
        .cancel(Some(cancel.clone()));
    let report = within(Duration::from_secs(20), cancel, || engine.run(program, &memory, &launch));
    let end = match report {
        Err(_) => "refused",
        Ok(report) if report.cancelled => return Err("500 steps took more than 20 seconds".into()),
        Ok(report) => report.fault.map_or("done", |fault| fault.kind.name()),
    };
    context.coverage.count("launches of containers", end);
    Ok(())
}
