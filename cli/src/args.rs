//! The command line: commands and options.

mod values;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use warpjit_runtime::{Budget, CacheConfig, Config, HostLevel, Numerics, Observe, Tier};

pub use values::{Form, NumericsName};
use values::{host_levels, parse_blocks, parse_seconds, tiers};

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
    /// Run a launch file and compare the result with what the file expects.
    ///
    /// Exit status: 0 all expectations held; 1 an expectation failed; 2 the command line, the launch file or the program is invalid; 3 the
    /// program faulted and no expectation names that fault. docs/launch-file.md describes launch files.
    Run(RunArgs),
    /// Time a launch file, or every launch file in a folder.
    ///
    /// Buffers are restored before each run. Compiling is not timed. The exit status is that of `run`; 1 also says that
    /// a launch file executed other instructions than the baseline's. With --suite it is the gravest of all launch
    /// files: 2, else 3, else 1, else 0.
    Bench(BenchArgs),
    /// Show where a launch file spends its time: hot instructions, divergence, memory access patterns.
    ///
    /// Runs are sampled for --seconds. Then the interpreter runs the launch once more and counts instructions and
    /// accesses. The exit status is that of `run`; there is a profile where it is 0. docs/profiling.md explains the
    /// tables.
    Profile(ProfileArgs),
    /// Write a launch file for a kernel: its arguments by their types, a buffer for each pointer, sizes to be filled in.
    New(NewArgs),
    /// List the instructions of a program.
    Disasm(DisasmArgs),
    /// Assemble a source file, in the syntax that `disasm` prints, to raw code.
    Asm(AsmArgs),
    /// Show a program at a stage of compilation, with the guest's addresses beside it.
    ///
    /// Without --launched nothing runs: the program is compiled with no knowledge of its registers, except that at its
    /// entry they have their first values. With --launched a launch file runs, and the code that was compiled for that
    /// launch is shown.
    Ir(IrArgs),
    /// Run a program that finds an AMD card, without changing it: Vulkan, OpenGL and OpenCL through Mesa's drivers.
    ///
    /// The program's compute shaders run on the CPU. The exit status and signals are the program's. docs/exec.md says what runs.
    Exec(ExecArgs),
}

/// How much loading and compiling a program may take.
#[derive(Args, Clone, Copy, Default)]
pub struct BudgetArgs {
    /// Time limit for loading a program, and again for compiling it. A program that is not loaded in time is an error;
    /// code that is not compiled in time is interpreted [default: 120].
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub budget_seconds: Option<f64>,
    /// Memory limit for loading a program, and again for compiling it, in MiB [default: 4096].
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
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
    /// How the program is executed; the results are the same.
    #[arg(long, value_parser = tiers(), default_value = Tier::default().name())]
    pub tier: Tier,
    /// Host threads to use; 0: one for each processor.
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Run only these blocks of the grid, numbered along x, then y, then z; B is not run.
    #[arg(long, value_name = "A..B", value_parser = parse_blocks)]
    pub blocks: Option<Range<u64>>,
    /// How many lanes compiled code runs at a time, in groups of four lanes (2 means 8 lanes); 0: one lane after
    /// another, in scalar code. More than the warp or the host's vectors have room for is reduced to that. Without it
    /// the compiler chooses.
    #[arg(long, value_name = "GROUPS", value_parser = ["0", "1", "2", "4", "8", "16"])]
    pub chunk: Option<String>,
    /// Test every memory address in code, instead of catching the signals of bad accesses (slower).
    #[arg(long)]
    pub checked_memory: bool,
    /// Keep the lanes of a warp in step at every access to global memory, for programs that rely on it (slower).
    #[arg(long)]
    pub lockstep: bool,
    /// Accuracy of float results.
    #[arg(long, value_enum, default_value = "exact")]
    pub numerics: NumericsName,
    /// The newest instructions of the host's processor that compiled code may use.
    #[arg(long, value_parser = host_levels(), default_value = HostLevel::default().name())]
    pub host: HostLevel,
    /// Tell Linux perf about compiled code, in /tmp/perf-PID.map and /tmp/jit-PID.dump.
    #[arg(long)]
    pub perf: bool,
    /// Neither load compiled code from disk nor save it there.
    #[arg(long)]
    pub no_cache: bool,
    /// Where to save compiled code [default: $XDG_CACHE_HOME/warpjit, else ~/.cache/warpjit].
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
    /// Write the files that the launch file saves into this folder, instead of beside the launch file.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// Stop when warps have run N blocks or regions of code, and write the launch with its memory to the file of --state.
    #[arg(long, value_name = "N", requires = "state", value_parser = clap::value_parser!(u64).range(1..))]
    pub stop_after: Option<u64>,
    /// Where --stop-after writes the launch.
    #[arg(long, value_name = "FILE", requires = "stop_after")]
    pub state: Option<PathBuf>,
    /// Continue a launch of this launch file that --stop-after has written.
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
}

/// `warpjit bench`.
#[derive(Args)]
pub struct BenchArgs {
    /// The launch file to time; not with --suite.
    #[arg(required_unless_present = "suite", conflicts_with_all = ["suite", "baseline", "save"])]
    pub file: Option<PathBuf>,
    /// Time every launch file (launch.toml, NAME.launch.toml) in this folder and the folders in it.
    #[arg(long, value_name = "DIR")]
    pub suite: Option<PathBuf>,
    /// Compare with the results that an earlier --save has written.
    #[arg(long, value_name = "FILE", requires = "suite")]
    pub baseline: Option<PathBuf>,
    /// Save the suite's results as JSON.
    #[arg(long, value_name = "FILE", requires = "suite")]
    pub save: Option<PathBuf>,
    /// Engine options.
    #[command(flatten)]
    pub engine: EngineArgs,
    /// How many runs to time.
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
    /// Also write the profile as an HTML page that needs no other files.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// How long to repeat and sample the launch; it runs at least once.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_seconds)]
    pub seconds: f64,
    /// Samples per second and thread.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rate: u32,
    /// How long the interpreter may count. If that is too short for the whole launch, the counts are of the part that ran.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds)]
    pub count_seconds: f64,
}

/// `warpjit disasm`.
#[derive(Args)]
pub struct DisasmArgs {
    /// A container (cubin, code object), raw code, or a launch file (*.toml) that names one.
    pub file: PathBuf,
    /// The chip, if the container does not name one (default: the instruction set's first).
    #[arg(long)]
    pub chip: Option<String>,
    /// The instruction set of raw code: tesla, fermi, gcn or vp1 (default: that of --chip, else tesla).
    #[arg(long)]
    pub isa: Option<String>,
    /// Show only this kernel of the container.
    #[arg(long)]
    pub kernel: Option<String>,
    /// The stage that the program is for: vertex, tess_control, tess_eval, geometry, fragment or compute.
    #[arg(long, value_name = "TYPE")]
    pub r#type: Option<String>,
    /// The syntax of a listing of Fermi code: envydis or sass, the vendor's.
    #[arg(long, value_name = "NAME")]
    pub syntax: Option<String>,
    /// Take the file as raw code, whatever it looks like.
    #[arg(long)]
    pub raw: bool,
    /// How much loading and compiling may take.
    #[command(flatten)]
    pub budget: BudgetArgs,
}

/// `warpjit new`.
#[derive(Args)]
pub struct NewArgs {
    /// A container (cubin, code object) or raw code. The launch file names it as it is given here.
    pub file: PathBuf,
    /// The kernel of the container; may be left out if there is just one.
    #[arg(long)]
    pub kernel: Option<String>,
    /// The chip, if the container does not name one (default: the instruction set's first).
    #[arg(long)]
    pub chip: Option<String>,
    /// The instruction set of raw code: tesla, fermi, gcn or vp1 (default: that of --chip, else tesla).
    #[arg(long)]
    pub isa: Option<String>,
    /// Take the file as raw code, whatever it looks like.
    #[arg(long)]
    pub raw: bool,
    /// How much loading may take.
    #[command(flatten)]
    pub budget: BudgetArgs,
}

/// `warpjit asm`.
#[derive(Args)]
pub struct AsmArgs {
    /// The source file.
    pub file: PathBuf,
    /// The file to write.
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// The chip (default: the instruction set's first).
    #[arg(long)]
    pub chip: Option<String>,
    /// The instruction set: tesla, fermi, gcn or vp1 (default: that of --chip, else tesla).
    #[arg(long)]
    pub isa: Option<String>,
    /// The stage that the program is for: vertex, tess_control, tess_eval, geometry, fragment or compute.
    #[arg(long, value_name = "TYPE", default_value = "compute")]
    pub r#type: String,
}

/// `warpjit exec`.
#[derive(Args)]
pub struct ExecArgs {
    /// The card: tahiti, bonaire, hawaii, polaris10, fiji, vega10, vega20, or a gfx name of one [default: polaris10].
    #[arg(long)]
    pub chip: Option<String>,
    /// How shaders are executed; the results are the same.
    #[arg(long, value_parser = tiers(), default_value = Tier::default().name())]
    pub tier: Tier,
    /// Host threads that run shaders; 0: one for each processor.
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// The newest instructions of the host's processor that compiled code may use.
    #[arg(long, value_parser = host_levels(), default_value = HostLevel::default().name())]
    pub host: HostLevel,
    /// At the end, print what was executed: kernels with their times and counts, submissions, copies. With FILE, write it there as JSON. Counting
    /// makes shaders slower.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub stats: Option<PathBuf>,
    /// Log each submission and dispatch on standard error.
    #[arg(long)]
    pub trace: bool,
    /// Write each dispatch with its memory into this folder, as a launch file that `warpjit run` runs.
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Record only kernels whose name, as --stats and --trace show it, has this part.
    #[arg(long, value_name = "NAME", requires = "record")]
    pub record_kernel: Option<String>,
    /// Neither load compiled code from disk nor save it there.
    #[arg(long)]
    pub no_cache: bool,
    /// Where to save compiled code [default: $XDG_CACHE_HOME/warpjit, else ~/.cache/warpjit].
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    pub cache_dir: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub program: Vec<std::ffi::OsString>,
}

/// `warpjit ir`.
#[derive(Args)]
pub struct IrArgs {
    /// What is shown, and of which program.
    #[command(flatten)]
    pub program: DisasmArgs,
    /// The stage of compilation to show.
    #[arg(long, value_enum, default_value = "spmd")]
    pub form: Form,
    /// Run the launch file, as `run --tier jit --threads 1` does, and show every function that was compiled for it,
    /// with what each one assumes and knows of registers.
    ///
    /// Expectations are not tested and no files are saved. Not with --form spmd, which no launch changes.
    /// docs/profiling.md explains the listing.
    #[arg(long, conflicts_with_all = ["chip", "isa", "kernel", "type", "raw"])]
    pub launched: bool,
    /// How long the launch may run. It is stopped then, and the code compiled so far is shown.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = parse_seconds, requires = "launched")]
    pub seconds: f64,
    /// Run only these blocks of the grid, numbered along x, then y, then z; B is not run.
    #[arg(long, value_name = "A..B", value_parser = parse_blocks, requires = "launched")]
    pub blocks: Option<Range<u64>>,
    /// Test every memory address in code, instead of catching the signals of bad accesses (slower).
    #[arg(long, requires = "launched")]
    pub checked_memory: bool,
    /// Keep the lanes of a warp in step at every access to global memory, for programs that rely on it (slower).
    #[arg(long, requires = "launched")]
    pub lockstep: bool,
    /// How many lanes compiled code runs at a time, in groups of four lanes (2 means 8 lanes); 0: one lane after
    /// another, in scalar code. More than the warp or the host's vectors have room for is reduced to that. Without it
    /// the compiler chooses.
    #[arg(long, value_name = "GROUPS", value_parser = ["0", "1", "2", "4", "8", "16"])]
    pub chunk: Option<String>,
    /// Accuracy of float results.
    #[arg(long, value_enum, default_value = "exact")]
    pub numerics: NumericsName,
    /// The newest instructions of the host's processor that compiled code may use.
    #[arg(long, value_parser = host_levels(), default_value = HostLevel::default().name())]
    pub host: HostLevel,
}

impl EngineArgs {
    /// The engine's configuration.
    pub fn config(&self) -> Config {
        Config::default()
            .threads(self.threads)
            .tier(self.tier)
            .chunk_groups(self.chunk.as_deref().and_then(|c| c.parse().ok()))
            .checked_memory(self.checked_memory)
            .lockstep(self.lockstep)
            .numerics(match self.numerics {
                NumericsName::Exact => Numerics::Exact,
                NumericsName::Fast => Numerics::Fast,
            })
            .host(self.host)
            // What compiled code does is counted in a run of its own (`commands::statistics`).
            .count(self.verbose && self.tier == Tier::Interp)
            .observe(Observe::default().perf(self.perf))
            .cache(match &self.cache_dir {
                _ if self.no_cache => None,
                Some(folder) => Some(CacheConfig::new(folder)),
                None => CacheConfig::of_user(),
            })
            .budget(self.budget.budget())
    }

    /// What is not as usual and changes times, besides the tier and threads; empty where all is.
    pub fn unusual(&self) -> String {
        let mut parts = Vec::new();
        parts.extend((self.numerics == NumericsName::Fast).then(|| "fast numerics".to_owned()));
        parts.extend(self.chunk.as_deref().map(|groups| format!("chunks of {groups}")));
        parts.extend(self.checked_memory.then(|| "checked memory".to_owned()));
        parts.extend(self.lockstep.then(|| "lockstep".to_owned()));
        parts.extend((self.host != HostLevel::Native).then(|| self.host.name().to_uppercase()));
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
            tier: Tier::Jit,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
