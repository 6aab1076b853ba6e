//! Prints the table of docs/performance.md: every kernel of `benches/kernels/` as native code, compiled and interpreted. The runs
//! are interleaved in one process and each result is verified.
//!
//! ```text
//! cargo run --release -p warpjit-benches --bin table [-- [--isa NAME] [--runs N] [--best] [--cpu] [--no-interp] [--host LEVEL] [KERNEL...]]
//! ```
//!
//! Fermi's kernels have names that begin with `fermi/`. `--isa tesla` and `--isa fermi` select one instruction set; a KERNEL
//! without a slash selects the kernels of that name of both. Times are medians on the wall clock. Two options help on a shared
//! machine: `--best` takes minima, and `--cpu` counts processor time ("2 threads" is then what two threads would reach with a
//! processor each). `--host avx2` or `sse4.1` generates the code that hosts get that have nothing newer.
#![warn(missing_docs)]

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use warpjit::launch_file::LaunchFile;
use warpjit::session::{Session, load_program};
use warpjit_benches::halves;
use warpjit_benches::kernels::{Native, NativeBuild};
use warpjit_benches::suite::{self, Entry};
use warpjit_runtime::{Config, Engine, HostLevel, Tier};

/// What the issues want: share of native 128-bit speed (issue 2), of 128-bit and of any width (issue 4).
const WANTED: &[(&str, Option<f64>, f64, f64)] = &[
    ("mandelbrot", Some(0.6), 0.9, 0.4),
    ("mandelbrot_mad", Some(0.6), 0.9, 0.4),
    ("saxpy", Some(0.8), 0.9, 0.6),
    ("sgemm", Some(0.4), 0.7, 0.35),
    ("md5", Some(0.6), 0.9, 0.35),
    ("aes", Some(0.8), 0.95, 0.9),
    ("reduction", None, 0.5, 0.4),
    ("nbody", None, 0.7, 0.3),
    ("black_scholes", None, 0.4, 0.2),
];

struct Options {
    runs: usize,
    best: bool,
    cpu: bool,
    interp: bool,
    host: HostLevel,
    isa: Option<String>,
    kernels: Vec<String>,
}

impl Options {
    fn parse() -> anyhow::Result<Options> {
        let mut options = Options {
            runs: 11,
            best: false,
            cpu: false,
            interp: true,
            host: HostLevel::Native,
            isa: None,
            kernels: Vec::new(),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--runs" => {
                    let count = arguments.next().and_then(|count| count.parse().ok());
                    options.runs = count.filter(|&count| count > 0).context("--runs needs a number")?;
                }
                "--isa" => {
                    let isa = arguments.next().filter(|isa| ["tesla", "fermi"].contains(&isa.as_str()));
                    options.isa = Some(isa.context("--isa needs tesla or fermi")?);
                }
                "--host" => {
                    let level = arguments.next().and_then(|name| HostLevel::of_name(&name));
                    options.host = level.with_context(|| {
                        format!("--host is one of {:?}", HostLevel::ALL.map(HostLevel::name))
                    })?;
                }
                "--best" => options.best = true,
                "--cpu" => options.cpu = true,
                "--no-interp" => options.interp = false,
                name if !name.starts_with('-') => options.kernels.push(name.to_owned()),
                other => bail!(
                    "{other}: unknown; there are --isa NAME, --runs N, --best, --cpu, --no-interp, --host LEVEL, and names"
                ),
            }
        }
        Ok(options)
    }

    /// Whether a kernel is to be run.
    fn takes(&self, entry: &Entry) -> bool {
        let guest = entry.bench.as_ref().map(|bench| bench.guest().name());
        let named = |name: &String| name == &entry.name || name == entry.kernel();
        (self.isa.is_none() || guest == self.isa.as_deref())
            && (self.kernels.is_empty() || self.kernels.iter().any(named))
    }

    /// One number for many runs.
    fn of(&self, times: &mut [f64]) -> f64 {
        times.sort_by(f64::total_cmp);
        let at = if self.best { 0 } else { times.len() / 2 };
        times.get(at).copied().unwrap_or(f64::NAN)
    }
}

/// Milliseconds and what was run.
#[derive(Default)]
struct Row {
    name: String,
    native: Option<[(f64, NativeBuild); 2]>,
    jit: f64,
    jit_two: f64,
    /// What two threads of native code gain.
    native_two: Option<f64>,
    jit_share: f64,
    interp: Option<f64>,
    warp_instructions: u64,
    efficiency: f64,
    instructions: usize,
    compile: f64,
}

struct Engines {
    interp: Engine,
    counting: Engine,
    jit: Engine,
    jit_two: Engine,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse()?;
    let engine = |tier, threads, count| {
        Engine::new(Config::default().tier(tier).threads(threads).count(count).host(options.host))
    };
    let engines = Engines {
        interp: engine(Tier::Interp, 1, false)?,
        counting: engine(Tier::Interp, 1, true)?,
        jit: engine(Tier::Jit, 1, false)?,
        jit_two: engine(Tier::Jit, 2, false)?,
    };
    let mut rows = Vec::new();
    for entry in suite::entries()? {
        if options.takes(&entry) {
            eprintln!("{}", entry.name);
            rows.push(measure(&entry, &engines, &options).with_context(|| entry.name.clone())?);
        }
    }
    ensure!(!rows.is_empty(), "no such kernel");
    print(&rows, &options);
    Ok(())
}

/// A point in time.
#[derive(Clone, Copy)]
enum Clock {
    Wall(Instant),
    Cpu(Duration),
}

impl Clock {
    fn start(options: &Options) -> Clock {
        if options.cpu { Clock::Cpu(Clock::cpu()) } else { Clock::Wall(Instant::now()) }
    }

    /// Processor time of all threads of this process.
    fn cpu() -> Duration {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
    }

    fn elapsed(self) -> Duration {
        match self {
            Clock::Wall(start) => start.elapsed(),
            Clock::Cpu(start) => Clock::cpu().saturating_sub(start),
        }
    }
}

/// Milliseconds of a run.
fn time(options: &Options, run: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let start = Clock::start(options);
    run()?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

fn measure(entry: &Entry, engines: &Engines, options: &Options) -> anyhow::Result<Row> {
    for engine in [&engines.jit, &engines.jit_two] {
        entry.check_file(engine)?;
    }
    let inputs = entry.bench.as_ref().map(|bench| bench.inputs()).unwrap_or_default();
    let file = if entry.bench.is_some() { entry.with_inputs(&inputs)? } else { entry.launch_file()? };
    let mut row =
        Row { name: entry.name.clone(), instructions: suite::instruction_count(&file), ..Row::default() };

    let mut guests = Vec::new();
    for engine in [&engines.jit, &engines.jit_two] {
        guests.push(Session::new(&file, engine)?);
    }
    if let Some(bench) = &entry.bench {
        let wanted = bench.model(&inputs);
        for session in &mut guests {
            let report = session.run()?;
            ensure!(report.fault.is_none(), "{:?}", report.fault);
            suite::check_model(session, &file, &wanted)?;
            row.jit_share = report.stats.jit_share;
        }
        let mut interp = Session::new(&file, &engines.counting)?;
        if options.interp {
            let stats = interp.run()?.stats;
            suite::check_model(&interp, &file, &wanted)?;
            row.warp_instructions = stats.warp_instructions;
            row.efficiency = stats.thread_instructions as f64 / stats.lane_slots as f64;
        }
        let mut native = bench.native(&inputs);
        for build in native.builds() {
            let mut fresh = bench.native(&inputs);
            fresh.run(build);
            let wrong = suite::difference(&fresh.output(), &wanted[0].1, bench.native_tolerance());
            ensure!(wrong.is_none(), "native, {build:?}: {}", wrong.unwrap_or_default());
        }
        if let Some(builds) = fastest(native.as_mut(), options) {
            let halves = bench.halves(&inputs).filter(|_| !options.cpu);
            let mut halves = halves.map(|halves| halves.map(|inputs| bench.native(&inputs)));
            let native = native.as_mut();
            row.native = Some(interleave(native, halves.as_mut(), builds, &mut guests, options, &mut row)?);
        }
    }
    if row.native.is_none() {
        for session in &mut guests {
            let report = session.run()?;
            ensure!(report.fault.is_none() || entry.bench.is_none(), "{:?}", report.fault);
        }
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..options.runs {
            for (session, times) in guests.iter_mut().zip(&mut times) {
                session.restore()?;
                times.push(time(options, || session.run().map(drop))?);
            }
        }
        let [one, two] = &mut times;
        (row.jit, row.jit_two) = (options.of(one), options.of(two));
    }
    if options.interp {
        let mut interp = Session::new(&file, &engines.interp)?;
        if row.warp_instructions == 0 {
            row.warp_instructions = Session::new(&file, &engines.counting)?.run()?.stats.warp_instructions;
        }
        let mut times = Vec::new();
        for _ in 0..2 {
            times.push(time(options, || interp.run().map(drop))?);
        }
        row.interp = Some(times.into_iter().fold(f64::INFINITY, f64::min));
    }
    row.compile = compile_time(&file, &engines.jit, options)?;
    Ok(row)
}

/// The fastest build at 128 bits, and at any width.
fn fastest(native: &mut dyn Native, options: &Options) -> Option<[NativeBuild; 2]> {
    let mut best = |widest: u32| {
        let builds = native.builds().into_iter().filter(|build| build.bits <= widest);
        let timed: Vec<_> = builds
            .map(|build| {
                let mut once = || {
                    let start = Clock::start(options);
                    native.run(build);
                    start.elapsed()
                };
                let least = (0..5).map(|_| once()).min();
                (least, build)
            })
            .collect();
        timed.into_iter().min_by_key(|(least, _)| *least).map(|(_, build)| build)
    };
    Some([best(128)?, best(u32::MAX)?])
}

/// Native at both widths, one thread, two threads, native on two threads where that is wanted, in turn; each with a run
/// before that warms the caches.
fn interleave(
    native: &mut dyn Native,
    mut halves: Option<&mut [Box<dyn Native>; 2]>,
    builds: [NativeBuild; 2],
    guests: &mut [Session<'_>],
    options: &Options,
    row: &mut Row,
) -> anyhow::Result<[(f64, NativeBuild); 2]> {
    let mut times: [Vec<f64>; 5] = Default::default();
    for _ in 0..options.runs {
        for (build, times) in builds.iter().zip(&mut times) {
            native.run(*build);
            times.push(time(options, || {
                native.run(*build);
                Ok(())
            })?);
        }
        for (session, times) in guests.iter_mut().zip(&mut times[2..]) {
            session.run()?;
            times.push(time(options, || session.run().map(drop))?);
        }
        if let Some(halves) = &mut halves {
            times[4].push(halves::time(halves, builds[0]).as_secs_f64() * 1e3);
        }
    }
    let [narrow, any, one, two, native_two] = times.each_mut().map(|times| options.of(times));
    (row.jit, row.jit_two) = (one, two);
    row.native_two = halves.is_some().then_some(narrow / native_two);
    Ok([(narrow, builds[0]), (any, builds[1])])
}

/// Time to ready code: the first run of one block of a fresh program, less the second run of it. It ends with
/// code for all that the block reaches.
fn compile_time(file: &LaunchFile, engine: &Engine, options: &Options) -> anyhow::Result<f64> {
    let mut times = Vec::new();
    for _ in 0..5 {
        let mut session = Session::with_program(file, engine, load_program(file)?)?;
        session.set_blocks(0..1)?;
        let first = time(options, || session.run().map(drop))?;
        let second = time(options, || session.run().map(drop))?;
        times.push((first - second).max(0.0));
    }
    Ok(options.of(&mut times))
}

fn print(rows: &[Row], options: &Options) {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let cpu =
        cpu.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split(": ").nth(1));
    let load = read("/proc/loadavg");
    let what = if options.best { "minimum" } else { "median" };
    let clock = if options.cpu { "processor time" } else { "wall clock" };
    println!(
        "{}, {} processors; {clock}, {what} of {} runs; load average {}\n",
        cpu.unwrap_or("unknown processor"),
        std::thread::available_parallelism().map_or(1, |count| count.get()),
        options.runs,
        load.split(' ').next().unwrap_or("unknown"),
    );
    println!(
        "| kernel | native 128 bit, ms | native any, ms | JIT, ms | of 128 bit (wanted) | of any (wanted) | 2 threads |"
    );
    println!("|---|---|---|---|---|---|---|");
    for row in rows {
        // Of Fermi's kernels the same is wanted, whatever width addresses have.
        let kernel = row.name.rsplit('/').next().unwrap_or_default().trim_end_matches("64");
        let wanted = WANTED.iter().find(|wanted| wanted.0 == kernel);
        let two = row.jit / row.jit_two * if options.cpu { 2.0 } else { 1.0 };
        match row.native {
            Some([(narrow, build), (any, any_build)]) => {
                let native_two = row.native_two.map_or(String::new(), |gain| format!(" (native {gain:.2})"));
                let first = wanted.and_then(|wanted| wanted.1).map_or("-".into(), |share| share.to_string());
                let (second, third) = wanted.map_or((0.0, 0.0), |wanted| (wanted.2, wanted.3));
                println!(
                    "| {} | {narrow:.3} (x{}) | {any:.3} ({}x{}) | {:.3} | **{:.2}** ({first}, {second}) | {:.2} ({third}) | {two:.2}{native_two} |",
                    row.name,
                    build.unroll,
                    any_build.bits,
                    any_build.unroll,
                    row.jit,
                    narrow / row.jit,
                    any / row.jit
                );
            }
            None => println!("| {} | - | - | {:.3} | - | - | {two:.2} |", row.name, row.jit),
        }
    }
    println!();
    println!(
        "| kernel | warp instructions | lanes active | by compiled code | JIT, million/s | interpreter, million/s | JIT : interpreter | instructions | compile, ms | per 500, ms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for row in rows {
        let rate = |ms: f64| row.warp_instructions as f64 / ms / 1e3;
        let (interp, ratio) = match row.interp {
            Some(ms) => (format!("{:.1}", rate(ms)), format!("{:.1}", ms / row.jit)),
            None => ("-".into(), "-".into()),
        };
        println!(
            "| {} | {} | {:.0} % | {:.0} % | {:.1} | {interp} | {ratio} | {} | {:.2} | {:.2} |",
            row.name,
            row.warp_instructions,
            row.efficiency * 100.0,
            row.jit_share * 100.0,
            rate(row.jit),
            row.instructions,
            row.compile,
            row.compile * 500.0 / row.instructions.max(1) as f64,
        );
    }
}
