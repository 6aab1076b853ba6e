//! Compiling ahead of launches, with progress: what a loading screen is for.

use crate::prepared::{Template, Working};
use crate::{CancelToken, Engine, Error, Launch, Memory, Program, fork};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is known of a [`Compilation`].
#[derive(Default)]
struct State {
    done: usize,
    error: Option<Error>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    cancel: CancelToken,
    all: usize,
    process: u64,
}

/// Code that is being compiled ahead of launches ([`Engine::precompile`]). Dropping it cancels nothing; the code is made all the same.
#[derive(Clone)]
pub struct Compilation(Arc<Shared>);

impl std::fmt::Debug for Compilation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (done, all) = self.progress();
        f.debug_struct("Compilation").field("done", &done).field("all", &all).finish()
    }
}

/// Counts a launch as done, also if its job is dropped without being called.
struct Done {
    shared: Arc<Shared>,
    outcome: Result<(), Error>,
}

impl Drop for Done {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.done += 1;
        if let Err(error) = std::mem::replace(&mut self.outcome, Ok(())) {
            state.error.get_or_insert(error);
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Compiles the code that these launches will need in this memory, on the compiler's threads
    /// ([`crate::Config::compiler_threads`]), and comes back at once. What running launches ask for goes first.
    ///
    /// Compiled is the code at the start for the lane patterns that warps of such a block start with, code for rows of blocks if there are
    /// several (with [`crate::Tier::Jit`] also for a single one), and what is reached from there for any lane patterns. With
    /// [`crate::Tier::Auto`] launches use it from their first block on; while they run, better versions may still be compiled behind them.
    /// With [`crate::Tier::Jit`] the first launch waits for nothing, unless a kernel runs in ways of its own (lane by lane) or its regions
    /// are joined. A launch's arguments do not matter, only its form and settings. Nothing is run.
    ///
    /// Errors, such as of launches that do not fit their programs, come out of [`Compilation::wait`].
    pub fn precompile<'a>(
        &self,
        memory: &Memory,
        launches: impl IntoIterator<Item = (&'a Program, &'a Launch)>,
    ) -> Compilation {
        let launches: VecDeque<(Program, Launch)> =
            launches.into_iter().map(|(program, launch)| (program.clone(), launch.clone())).collect();
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            cancel: CancelToken::new(),
            all: launches.len(),
            process: fork::generation(),
        });
        for (program, launch) in launches {
            // Undone is cancelled, as when the engine ends.
            let mut done = Done { shared: shared.clone(), outcome: Err(Error::Cancelled) };
            // A job does not keep the engine's threads alive, which wait for jobs to end: it holds the memory and the program only.
            let job_engine = self.without_threads();
            let memory = memory.clone();
            let job = Box::new(move || {
                // All of it moves into this closure, so that it is dropped with the job, called or not.
                let done = &mut done;
                let cancel = done.shared.cancel.clone();
                if !cancel.is_cancelled() {
                    done.outcome = compile(job_engine, program, memory, launch, &cancel);
                }
            });
            if let Err(job) = self.background.push_ahead(job) {
                job();
            }
        }
        Compilation(shared)
    }
}

impl Program {
    /// Compiles the code that these launches of the program will need ([`Engine::precompile`]).
    ///
    /// ```
    /// use warpjit_frontend::tesla::{Chip, Target, assemble};
    /// use warpjit_runtime::{Arg, Config, Engine, Isa, Launch, Program, ProgramOptions};
    ///
    /// let code = assemble("exit nop", Target::compute(Chip::G80))?.code;
    /// let options =
    ///     ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse()?)).registers(Some(4));
    /// let program = Program::load(&code, &options)?;
    /// let engine = Engine::new(Config::default())?;
    /// let memory = engine.memory()?;
    /// let launch = Launch::default().grid([16, 1, 1]).block([64, 1, 1]);
    ///
    /// let compilation = program.precompile(&engine, &memory, std::slice::from_ref(&launch));
    /// while !compilation.wait_timeout(std::time::Duration::from_millis(16)) {
    ///     let (done, all) = compilation.progress();
    ///     println!("{done} of {all}");
    /// }
    /// compilation.wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn precompile(&self, engine: &Engine, memory: &Memory, launches: &[Launch]) -> Compilation {
        engine.precompile(memory, launches.iter().map(|launch| (self, launch)))
    }
}

/// Compiles what a launch needs.
fn compile(
    engine: Engine,
    program: Program,
    memory: Memory,
    launch: Launch,
    cancel: &CancelToken,
) -> Result<(), Error> {
    let launch = Launch { cancel: Some(cancel.clone()), progress: None, ..launch };
    let template = Template::new(engine, program, memory, launch)?;
    crate::vm::on_enough_stack(|| Working::new(template)?.compile_ahead(cancel))
}

impl Compilation {
    /// How many launches are done with, and how many there are in all.
    pub fn progress(&self) -> (usize, usize) {
        if self.0.process != fork::generation() {
            return (self.0.all, self.0.all);
        }
        (self.0.lock().done, self.0.all)
    }

    /// Waits until all is compiled or cancelled.
    ///
    /// # Errors
    /// The first one of a launch; [`Error::Cancelled`] if some were not compiled, also in a child of `fork`.
    pub fn wait(&self) -> Result<(), Error> {
        self.wait_until(None);
        if self.0.process != fork::generation() {
            return Err(Error::Cancelled);
        }
        self.0.lock().error.clone().map_or(Ok(()), Err)
    }

    /// Waits for at most so long. Returns whether all is done.
    pub fn wait_timeout(&self, time: Duration) -> bool {
        self.wait_until(Instant::now().checked_add(time))
    }

    fn wait_until(&self, until: Option<Instant>) -> bool {
        if self.0.process != fork::generation() {
            return true;
        }
        let mut state = self.0.lock();
        while state.done < self.0.all {
            let Some(until) = until else {
                state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let Some(time) = until.checked_duration_since(Instant::now()).filter(|time| !time.is_zero())
            else {
                return false;
            };
            state = self.0.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Compiles no more: what is being compiled ends soon, and the rest is not begun.
    pub fn cancel(&self) {
        self.0.cancel.cancel();
    }
}
