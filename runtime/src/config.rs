//! The settings of an engine ([`Config`]): which tier executes guest code and with which instructions of the host, how many threads there
//! are, and limits of time and memory. All settings give the same results, except for the accuracy of floats ([`Numerics`]).

use crate::cache::CacheConfig;
use crate::{Budget, Error, HostLevel, Observe};
use std::sync::OnceLock;
use std::time::Duration;

/// Which machinery executes guest code. All give the same results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Tier {
    /// The interpreter: slow, and exact to the instruction in all it reports.
    Interp,
    /// Compiles each region when a warp first reaches it; that warp waits for the compiler.
    Jit,
    /// Interprets first. A thread of the engine compiles code that is executed often, and launches switch to the
    /// compiled code as soon as it is ready.
    #[default]
    Auto,
}

impl Tier {
    /// All tiers.
    pub const ALL: [Tier; 3] = [Tier::Interp, Tier::Jit, Tier::Auto];

    /// The name in options and settings.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Interp => "interp",
            Tier::Jit => "jit",
            Tier::Auto => "auto",
        }
    }

    /// What an option's help says of it.
    pub fn summary(self) -> &'static str {
        match self {
            Tier::Interp => "Interpret",
            Tier::Jit => "Compile code before it runs for the first time",
            Tier::Auto => "Interpret first, and compile in the background what runs often",
        }
    }

    /// The tier of a name.
    pub fn of_name(name: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.name() == name)
    }
}

/// Accuracy of float results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Numerics {
    /// The guest's bits, as far as they are known.
    #[default]
    Exact,
    /// Some float instructions give results within a documented bound of the guest's (docs/numerics.md); both tiers
    /// give the same ones. Integer results are exact.
    Fast,
}

/// Who installs handlers for the signals that compiled code raises at a guest fault (SIGSEGV, SIGBUS, SIGILL, SIGFPE).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Signals {
    /// The engine installs them when it is made, and checks at the start of a launch that they are still installed
    /// ([`crate::Engine::ensure_handlers`]). Other handlers, installed before or later, get every signal that is not a
    /// fault of compiled code, as if ours did not exist.
    #[default]
    Own,
    /// The embedder installs its own, which must call [`crate::handle_signal`].
    Embedder,
}

/// What the engine's threads do while there is nothing to run ([`Config::idle`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Idle {
    /// After work they poll for more as long as they have just worked, at most 2 ms, and then sleep. They sleep at once if there are more
    /// threads than processors.
    #[default]
    Adaptive,
    /// They sleep at once: no processor time is spent on waiting, and each launch wakes them.
    Sleep,
    /// They poll for so long before they sleep, whatever they have done and however many processors there are.
    Spin(Duration),
    /// There are no such threads. The embedder calls [`crate::Engine::work`] on threads of its own. [`crate::Engine::run`] and
    /// [`crate::Ticket::wait`] work on the thread that calls them.
    Embedder,
}

/// Settings of an [`crate::Engine`].
#[non_exhaustive]
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Number of host threads that run blocks; 0: one for each processor. It is also how many threads serve queues at a time
    /// ([`crate::Queue`]).
    pub threads: usize,
    /// What these threads do while there is nothing to run.
    pub idle: Idle,
    /// [`Tier::Auto`] and [`crate::Program::precompile`]: number of threads that compile; 0: one.
    pub compiler_threads: usize,
    /// The nice value of these threads, where the system has such values and allows this one (raising it is always allowed); 0: that of
    /// the process.
    pub compiler_nice: i32,
    /// Most regions that wait for these threads; `None`: any number. Nothing is dropped: if so many wait, the launch that needs one more
    /// compiles it itself.
    pub compiler_queue: Option<usize>,
    /// Which tier runs guest code.
    pub tier: Tier,
    /// [`Tier::Auto`]: how often a block of code is interpreted before it is compiled; `None`: 16.
    pub hot_after: Option<u32>,
    /// How often warps go from one compiled region to another by the runtime before the regions of their kernel are joined to one function;
    /// `None`: so often that joining them pays, and where code runs one lane at a time before they run; `Some(u32::MAX)`: never. Code for
    /// AVX-512 is never joined.
    pub join_after: Option<u32>,
    /// The cache of compiled code for later processes that run the same program; `None`: no cache.
    #[cfg(feature = "cache")]
    pub cache: Option<CacheConfig>,
    /// Size of a chunk in groups of four lanes. 0: one lane after another in scalar code. 1, 2 or 4: with 128-bit
    /// vectors. 8 or 16: with 512-bit vectors; taken as 4 if the host or the other settings do not allow those. `None`:
    /// the compiler chooses.
    pub chunk_groups: Option<u8>,
    /// Whether compiled code checks each address itself instead of relying on signals. Slower.
    pub checked_memory: bool,
    /// Who installs signal handlers. With [`Config::checked_memory`] or [`Tier::Interp`], signals are raised only where memory
    /// vanishes while it is accessed, by host memory and files, where the embedder maps the memory by itself, and for recording
    /// of stores ([`crate::Memory::take_dirty`]). The handlers are installed when a memory first needs them.
    pub signals: Signals,
    /// Whether global memory accesses are ordered between the lanes of a warp, as shared memory accesses always are.
    /// For guests that rely on more than the programming model promises. Slower.
    pub lockstep: bool,
    /// Accuracy of float results.
    pub numerics: Numerics,
    /// Host instructions that compiled code may use.
    pub host: HostLevel,
    /// Whether to count instructions and lanes ([`crate::Stats::counted`]) and memory traffic, and in the interpreter also instruction
    /// groups. Both tiers give the same counts. Slower.
    pub count: bool,
    /// What to record of launches and compiled code. Slightly slower.
    pub observe: Observe,
    /// Limits on time and memory for compiling a program with these settings, in all launches together; and for
    /// [`crate::Engine::load`]. [`crate::Program::load`] and [`crate::ProgramCache`] do not see the engine: give theirs to
    /// [`crate::Program::load_within`], [`crate::Program::load_at_within`] and [`crate::ProgramCache::with_budget`].
    ///
    /// The default is many times what ordinary code needs. A program that cannot be loaded or prepared within the
    /// limits is an [`crate::Error::Budget`]. Regions that are not compiled by then run in the interpreter
    /// ([`crate::Stats::not_compiled`] says so).
    pub budget: Budget,
}

crate::setters::setters! {
    Config {
        threads: usize,
        idle: Idle,
        compiler_threads: usize,
        compiler_nice: i32,
        compiler_queue: Option<usize>,
        tier: Tier,
        hot_after: Option<u32>,
        join_after: Option<u32>,
        #[cfg(feature = "cache")]
        cache: Option<CacheConfig>,
        chunk_groups: Option<u8>,
        checked_memory: bool,
        signals: Signals,
        lockstep: bool,
        numerics: Numerics,
        host: HostLevel,
        count: bool,
        observe: Observe,
        budget: Budget,
    }
}

impl Config {
    /// Installs the signal handlers that these settings need, unless they are installed already.
    pub(crate) fn ensure_handlers(&self) -> Result<(), Error> {
        // Checked code and the interpreter raise none, unless memory needs them, which sees to that by itself.
        let are_ours = self.signals == Signals::Own && self.tier != Tier::Interp && !self.checked_memory;
        if are_ours { crate::vm::ensure() } else { Ok(()) }
    }

    /// The cache of code, if this build has any.
    pub(crate) fn code_cache(&self) -> Option<&CacheConfig> {
        #[cfg(feature = "cache")]
        return self.cache.as_ref();
        #[cfg(not(feature = "cache"))]
        return None;
    }

    /// The number of threads that [`Config::threads`] stands for.
    pub fn thread_count(&self) -> usize {
        // Every launch asks, and the answer takes many system calls where there are control groups: so it is looked up once.
        static PROCESSORS: OnceLock<usize> = OnceLock::new();
        match self.threads {
            0 => *PROCESSORS
                .get_or_init(|| std::thread::available_parallelism().map_or(1, |count| count.get())),
            count => count,
        }
    }
}
