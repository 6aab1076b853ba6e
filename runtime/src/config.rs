//! How an engine runs programs.

use crate::{Budget, CacheConfig, Error, Observe};

/// Which machinery executes guest code. All give the same results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Tier {
    /// The interpreter: slow, and exact to the instruction in all it reports.
    Interp,
    /// Compiled code from the first execution on; who needs it waits for the compiler.
    Jit,
    /// The interpreter at first; a thread of the engine compiles what is executed often, and launches go on with the
    /// compiled code as soon as it is there.
    #[default]
    Auto,
}

/// Which instructions of the host compiled code may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HostLevel {
    /// All that this processor has.
    #[default]
    Native,
    /// On x86-64 nothing of AVX-512 (to test what hosts without it get); on others as [`HostLevel::Native`].
    Avx2,
    /// On x86-64 nothing newer than SSE4.1 (to test what older hosts get); on others as [`HostLevel::Native`].
    Sse41,
}

/// How float results come about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Numerics {
    /// The guest's bits, as far as they are known.
    #[default]
    Exact,
    /// Some float instructions give results within a documented bound of the guest's (docs/numerics.md); both tiers
    /// give the same ones. Integer results are exact.
    Fast,
}

/// Who installs the handlers of the signals that faults of compiled code raise (SIGSEGV, SIGBUS, SIGILL, SIGFPE).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Signals {
    /// The engine does when it is made, and looks when a launch starts whether they are there still ([`crate::Engine::ensure_handlers`]).
    /// Handlers that it finds, from before or since, get every signal that is no fault of compiled code, as if ours were not there.
    #[default]
    Own,
    /// The embedder does, and calls [`crate::handle_signal`] in its own.
    Embedder,
}

/// Settings of an [`crate::Engine`].
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Host threads that run blocks; 0: one a processor. After a launch they look out for the next one without sleeping, as long as they have worked in
    /// it, 2 ms at most; not if they are more than the processors.
    pub threads: usize,
    /// Which tier runs guest code.
    pub tier: Tier,
    /// [`Tier::Auto`]: how often a block of code is interpreted before its code is asked for; `None`: 16.
    pub hot_after: Option<u32>,
    /// Where compiled code is kept for the next process that runs the same program; `None`: nowhere.
    pub cache: Option<CacheConfig>,
    /// Groups of four lanes that compiled code keeps in flight: 0 for one lane after another in scalar code, 1, 2 or 4 with vectors of 128 bits, 8 or 16 with vectors of 512, or 4
    /// where the host, or the other settings, have none; `None`: the compiler chooses.
    pub chunk_groups: Option<u8>,
    /// Whether compiled code checks each address instead of relying on signals.
    pub checked_memory: bool,
    /// Who installs signal handlers; nothing where [`Config::checked_memory`] holds or the tier is [`Tier::Interp`].
    pub signals: Signals,
    /// Whether accesses to global memory by the lanes of a warp are ordered as if in lock step, for guests that
    /// rely on more than the programming model promises. Costs speed.
    pub lockstep: bool,
    /// How float results come about.
    pub numerics: Numerics,
    /// Instructions of the host that may be used.
    pub host: HostLevel,
    /// Whether instructions and lanes are counted ([`crate::Stats::counted`]), in the interpreter also groups and traffic.
    /// Both tiers count the same. Costs speed.
    pub count: bool,
    /// What is told of launches and compiled code. Costs a little speed.
    pub observe: Observe,
    /// How much time and memory loading a program may take, and as much again compiling it with these settings, in all launches together. The
    /// default is many times what ordinary code needs. A program that cannot be loaded or made ready within it is an
    /// [`crate::Error::Budget`]; regions that are not compiled by then run in the interpreter ([`crate::Stats::not_compiled`] says so).
    pub budget: Budget,
}

impl Config {
    /// Installs signal handlers, or sees to it that they are there, if these settings ask for some.
    pub(crate) fn ensure_handlers(&self) -> Result<(), Error> {
        // Checked code raises no signals.
        let are_ours = self.signals == Signals::Own && self.tier != Tier::Interp && !self.checked_memory;
        if are_ours { crate::vm::ensure() } else { Ok(()) }
    }

    /// The number of threads that [`Config::threads`] stands for.
    pub fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, |count| count.get()),
            count => count,
        }
    }
}
