//! The command line: commands and options.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use warpjit_runtime::{Budget, CacheConfig, Config, HostLevel, Numerics, Observe, Tier};

/// Runs GPU machine code on the CPU.
#[derive(Parser)]
#[command(name = "warpjit", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Run a launch file and hold the result against its expectations.
    ///
    /// Exit status: 0 every expectation held, 1 one did not, 2 something is bad, 3 the guest
    /// faulted unexpectedly.
    Run(RunArgs),
    /// Time a launch file, or all of a folder: buffers restored before each run, compilation excluded.
    ///
    /// With --suite the exit status is the gravest of all rows: 0 all as expected, 1 a result was wrong or
    /// a row executed other instructions than the baseline's, 3 a guest faulted, 2 something is bad.
    Bench(BenchArgs),
    /// Say where a launch file spends its time: hot instructions, divergence, what memory accesses look like.
    ///
    /// Runs are sampled until there is enough to say; then the interpreter counts in a run of its own. Exit status: 0 there is a
    /// profile, otherwise as for `run`.
    Profile(ProfileArgs),
    /// List the instructions of a program.
    Disasm(DisasmArgs),
    /// Assemble a source in the listing's syntax to raw code.
    Asm(AsmArgs),
    /// Show a stage of compilation, with guest addresses beside it.
    ///
    /// A program's regions are shown as they are where nothing is known of registers, the first one as for a warp that starts. With --launched
    /// a launch file is run, and what was compiled for that is shown.
    Ir(IrArgs),
}

/// How much loading and compiling a program may take.
#[derive(Args, Clone, Copy, Default)]
pub struct BudgetArgs {
    /// How long loading a program may take, and as long again compiling it: a program that is not loaded by then is an error, what is not
    /// compiled by then runs in the interpreter [default: 120].
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub budget_seconds: Option<f64>,
    /// How much memory the same may take, in MiB [default: 4096].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub budget_mib: Option<u64>,
}

impl BudgetArgs {
    /// As the runtime takes it.
    pub fn budget(&self) -> Budget {
        let usual = Budget::default();
        Budget {
            time: self.budget_seconds.map_or(usual.time, Duration::from_secs_f64),
            bytes: self.budget_mib.map_or(usual.bytes, |mib| mib << 20),
        }
    }
}

/// Options that commands which run launch files share.
#[derive(Args)]
pub struct EngineArgs {
    /// Print one JSON object in place of text.
    #[arg(long)]
    pub json: bool,
    /// How guest code is run.
    #[arg(long, value_enum, default_value = "auto")]
    pub tier: TierName,
    /// Host threads; 0: as many as the host has.
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Run only these blocks of the grid, in linear order.
    #[arg(long, value_name = "A..B", value_parser = parse_blocks)]
    pub blocks: Option<Range<u64>>,
    /// Lanes that compiled code runs together, in groups of four; 0: one lane after another, in scalar code.
    #[arg(long, value_name = "GROUPS", value_parser = ["0", "1", "2", "4", "8", "16"])]
    pub chunk: Option<String>,
    /// Check every access instead of catching signals.
    #[arg(long)]
    pub checked_memory: bool,
    /// Keep global memory in lane order too.
    #[arg(long)]
    pub lockstep: bool,
    /// How float results come about.
    #[arg(long, value_enum, default_value = "exact")]
    pub numerics: NumericsName,
    /// Host instructions to use.
    #[arg(long, value_enum, default_value = "native")]
    pub host: HostName,
    /// Write compiled code down for Linux perf: /tmp/perf-PID.map and /tmp/jit-PID.dump.
    #[arg(long)]
    pub perf: bool,
    /// Neither use compiled code from disk nor keep it there.
    #[arg(long)]
    pub no_cache: bool,
    /// Where compiled code is kept, instead of the user's folder for caches.
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    pub cache_dir: Option<PathBuf>,
    /// How much loading and compiling may take.
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// Add statistics: instructions by group, divergence, memory traffic.
    #[arg(short, long)]
    pub verbose: bool,
}

/// `warpjit run`.
#[derive(Args)]
pub struct RunArgs {
    /// The launch file.
    pub file: PathBuf,
    /// Engine options.
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Put saved files there instead of beside the launch file.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
}

/// `warpjit bench`.
#[derive(Args)]
pub struct BenchArgs {
    /// The launch file, where it is not a suite.
    #[arg(required_unless_present = "suite", conflicts_with_all = ["suite", "baseline", "save"])]
    pub file: Option<PathBuf>,
    /// Time every launch file in this folder and below.
    #[arg(long, value_name = "DIR")]
    pub suite: Option<PathBuf>,
    /// Compare with what an earlier run of the suite has saved.
    #[arg(long, value_name = "FILE", requires = "suite")]
    pub baseline: Option<PathBuf>,
    /// Save the suite's results as JSON.
    #[arg(long, value_name = "FILE", requires = "suite")]
    pub save: Option<PathBuf>,
    /// Engine options.
    #[command(flatten)]
    pub engine: EngineArgs,
    /// How many runs are timed.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
}

/// `warpjit profile`.
#[derive(Args)]
pub struct ProfileArgs {
    /// The launch file.
    pub file: PathBuf,
    /// Engine options.
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Write one self-contained page there.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// How long runs are repeated and sampled; there is one at least.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_seconds)]
    pub seconds: f64,
    /// Samples a second and thread.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rate: u32,
    /// How long the interpreter may count; what it has seen then stands for the whole.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds)]
    pub count_seconds: f64,
}

/// `warpjit disasm`.
#[derive(Args)]
pub struct DisasmArgs {
    /// A container, raw code, or a launch file (*.toml) that names one.
    pub file: PathBuf,
    /// The chip, where the container does not name one.
    #[arg(long)]
    pub chip: Option<String>,
    /// The instruction set of raw words; otherwise that of the chip, or tesla.
    #[arg(long)]
    pub isa: Option<String>,
    /// Only this kernel of a container.
    #[arg(long)]
    pub kernel: Option<String>,
    /// The stage that it is for: vertex, tess_control, tess_eval, geometry, fragment or compute.
    #[arg(long, value_name = "TYPE")]
    pub r#type: Option<String>,
    /// The syntax: envydis or, of Fermi, sass.
    #[arg(long, value_name = "NAME")]
    pub syntax: Option<String>,
    /// Take the file as raw words whatever it looks like.
    #[arg(long)]
    pub raw: bool,
    /// How much loading and compiling may take.
    #[command(flatten)]
    pub budget: BudgetArgs,
}

/// `warpjit asm`.
#[derive(Args)]
pub struct AsmArgs {
    /// The source.
    pub file: PathBuf,
    /// The file to write.
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// The chip; otherwise the instruction set's first.
    #[arg(long)]
    pub chip: Option<String>,
    /// The instruction set; otherwise that of the chip, or tesla.
    #[arg(long)]
    pub isa: Option<String>,
    /// The stage that it is for: vertex, tess_control, tess_eval, geometry, fragment or compute.
    #[arg(long, value_name = "TYPE", default_value = "compute")]
    pub r#type: String,
}

/// `warpjit ir`.
#[derive(Args)]
pub struct IrArgs {
    /// What is shown, and of which program.
    #[command(flatten)]
    pub program: DisasmArgs,
    /// The stage.
    #[arg(long, value_enum, default_value = "spmd")]
    pub form: Form,
    /// Run the launch file, as `run --tier jit --threads 1` does, and show every function that was compiled for it: each version of each
    /// region, code for rows of blocks with its pieces, what is assumed and known of registers.
    ///
    /// What it stores is not looked at and not saved.
    #[arg(long, conflicts_with_all = ["chip", "isa", "kernel", "type", "raw"])]
    pub launched: bool,
    /// How long the launch may run; what was compiled by then is shown.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = parse_seconds, requires = "launched")]
    pub seconds: f64,
    /// Run only these blocks of the grid, in linear order.
    #[arg(long, value_name = "A..B", value_parser = parse_blocks, requires = "launched")]
    pub blocks: Option<Range<u64>>,
    /// Check every access instead of catching signals.
    #[arg(long, requires = "launched")]
    pub checked_memory: bool,
    /// Keep global memory in lane order too.
    #[arg(long, requires = "launched")]
    pub lockstep: bool,
    /// Lanes that compiled code runs together, in groups of four; 0: one lane after another, in scalar code.
    #[arg(long, value_name = "GROUPS", value_parser = ["0", "1", "2", "4", "8", "16"])]
    pub chunk: Option<String>,
    /// How float results come about.
    #[arg(long, value_enum, default_value = "exact")]
    pub numerics: NumericsName,
    /// Host instructions to use.
    #[arg(long, value_enum, default_value = "native")]
    pub host: HostName,
}

/// `--form`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// As lifted: one program for many lanes.
    Spmd,
    /// Divergence turned into masks.
    Mask,
    /// Cut into lane regions.
    Regions,
    /// Cranelift's input.
    Clif,
    /// Host instructions.
    Host,
}

/// `--tier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TierName {
    /// The interpreter.
    Interp,
    /// Compiled lane regions.
    Jit,
    /// Whichever pays.
    Auto,
}

impl TierName {
    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        ["interp", "jit", "auto"][self as usize]
    }
}

/// `--numerics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NumericsName {
    /// The guest's bits, as far as they are known.
    Exact,
    /// Quicker, within documented bounds of the guest's.
    Fast,
}

/// `--host`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HostName {
    /// All that this host has.
    Native,
    /// Nothing of AVX-512.
    Avx2,
    /// Nothing beyond SSE4.1.
    #[value(name = "sse4.1")]
    Sse41,
}

impl HostName {
    /// The code generator's name for it.
    pub fn level(self) -> warpjit_backend::HostLevel {
        match self {
            HostName::Native => warpjit_backend::HostLevel::Native,
            HostName::Avx2 => warpjit_backend::HostLevel::Avx2,
            HostName::Sse41 => warpjit_backend::HostLevel::Sse41,
        }
    }
}

impl EngineArgs {
    /// The engine's configuration.
    pub fn config(&self) -> Config {
        Config {
            threads: self.threads,
            tier: match self.tier {
                TierName::Interp => Tier::Interp,
                TierName::Jit => Tier::Jit,
                TierName::Auto => Tier::Auto,
            },
            chunk_groups: self.chunk.as_deref().and_then(|c| c.parse().ok()),
            checked_memory: self.checked_memory,
            lockstep: self.lockstep,
            numerics: match self.numerics {
                NumericsName::Exact => Numerics::Exact,
                NumericsName::Fast => Numerics::Fast,
            },
            host: match self.host {
                HostName::Native => HostLevel::Native,
                HostName::Avx2 => HostLevel::Avx2,
                HostName::Sse41 => HostLevel::Sse41,
            },
            // What compiled code does is counted in a run of its own (`commands::statistics`).
            count: self.verbose && self.tier == TierName::Interp,
            observe: Observe { perf: self.perf, ..Observe::default() },
            cache: match &self.cache_dir {
                _ if self.no_cache => None,
                Some(folder) => Some(CacheConfig::new(folder)),
                None => CacheConfig::of_user(),
            },
            budget: self.budget.budget(),
            ..Config::default()
        }
    }

    /// What is not as usual and changes times, besides the tier and threads; empty where all is.
    pub fn unusual(&self) -> String {
        let mut parts = Vec::new();
        parts.extend((self.numerics == NumericsName::Fast).then(|| "fast numerics".to_owned()));
        parts.extend(self.chunk.as_deref().map(|groups| format!("chunks of {groups}")));
        parts.extend(self.checked_memory.then(|| "checked memory".to_owned()));
        parts.extend(self.lockstep.then(|| "lockstep".to_owned()));
        parts.extend((self.host == HostName::Avx2).then(|| "AVX2".to_owned()));
        parts.extend((self.host == HostName::Sse41).then(|| "SSE4.1".to_owned()));
        parts.join(", ")
    }

    /// The number of threads that will run.
    pub fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        }
    }
}

impl IrArgs {
    /// How a launch is run.
    pub fn engine(&self) -> EngineArgs {
        EngineArgs {
            json: false,
            tier: TierName::Jit,
            threads: 1,
            blocks: self.blocks.clone(),
            chunk: self.chunk.clone(),
            checked_memory: self.checked_memory,
            lockstep: self.lockstep,
            numerics: self.numerics,
            host: self.host,
            perf: false,
            no_cache: true,
            cache_dir: None,
            budget: self.program.budget,
            verbose: false,
        }
    }
}

impl DisasmArgs {
    /// The program of a launch file as that says it.
    pub fn of_launch_file(file: &Path) -> DisasmArgs {
        DisasmArgs {
            file: file.to_owned(),
            chip: None,
            isa: None,
            kernel: None,
            r#type: None,
            syntax: None,
            raw: false,
            budget: BudgetArgs::default(),
        }
    }
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "must be a number of seconds from 0 to 86400".to_owned())
}

fn parse_blocks(text: &str) -> Result<Range<u64>, String> {
    let range = text.split_once("..").and_then(|(a, b)| Some(a.trim().parse().ok()?..b.trim().parse().ok()?));
    range.filter(|r| r.start < r.end).ok_or_else(|| "must be A..B with A below B, such as 0..16".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn blocks_are_a_range() {
        assert_eq!(parse_blocks("3..5"), Ok(3..5));
        for bad in ["3", "5..3", "..", "a..b", "3..3"] {
            assert!(parse_blocks(bad).is_err(), "{bad}");
        }
    }
}
