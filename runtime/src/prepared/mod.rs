//! Launches that are set up once and run many times, with other arguments.
//!
//! A launch costs more to set up than a small kernel to run. [`Engine::prepare`] does once what does not depend on arguments: it
//! checks the launch, finds the code for the engine's settings, and makes the first block with its frames. A run then writes what has
//! changed and enters the code. Launches of a single block need no scheduler (`working`), others get one each (`wide`).
//!
//! What is kept from run to run:
//!
//! - the `Plan` with its spaces, in which setters overwrite arguments, user data, const banks and what depends on the grid
//!   (`exec/setup/arguments.rs`); the code (`Tiers`), as long as the memory needs no other;
//! - for each strategy the storage of a `Stepper` (interpreter scratch, context, known versions of regions, the path cache), and a block
//!   that is reset. Words of user data are patched into its frames (`exec/block/again.rs`). Where a prologue computes from them, or the
//!   grid has changed, the block is made anew.
//!
//! What depends on the memory (bases, rights, the need for checks) is looked up at each run. A launch of one block runs without a
//! scheduler: nothing is shared between threads, and nothing is allocated.

mod wide;
mod working;

use crate::exec::setup::Bank;
use crate::{CancelToken, Engine, Error, Launch, LaunchError, Memory, Program, Report};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use wide::Wide;
pub(crate) use working::{Begun, Working};

/// What a prepared launch is of, apart from its arguments.
pub(crate) struct Template {
    pub engine: Engine,
    pub program: Program,
    pub memory: Memory,
    pub launch: Launch,
    /// Different for each.
    pub id: u64,
}

impl Template {
    pub fn new(engine: Engine, program: Program, memory: Memory, launch: Launch) -> Result<Arc<Self>, Error> {
        if let Some(interface) = program.interface() {
            let stage = interface.stage.name();
            return Err(LaunchError::NeedsBatch { stage }.into());
        }
        Ok(Arc::new(Template { engine, program, memory, launch, id: number() }))
    }
}

/// A number that is different each time.
fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The contents of const banks, and a number that tells them from others of the same launch (0: those of the launch itself).
#[derive(Debug, Clone, Default)]
pub(crate) struct Consts {
    pub version: u64,
    pub banks: Vec<Bank>,
}

/// A launch that is set up and can be run again and again ([`Engine::prepare`]).
///
/// It is for one thread at a time; clones are for others, and share compiled code. What setters change stays until it is changed
/// again. A run costs about a microsecond plus what the guest does.
///
/// ```
/// use warpjit_frontend::tesla::{Chip, Target, assemble};
/// use warpjit_runtime::{Access, Arg, Config, Engine, Isa, Launch, Program, ProgramOptions};
///
/// // out[thread] = value
/// let source = "
///     and b32 $r1 $r0 0xffff
///     shl b32 $r2 $r1 0x2
///     add b32 $r2 b32 s[0x10] $r2
///     mov b32 $r3 b32 s[0x14]
///     exit st b32 g14[$r2] $r3
/// ";
/// let code = assemble(source, Target::compute(Chip::G80))?.code;
/// let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse()?)).registers(Some(4));
/// let program = Program::load(&code, &options)?;
/// let engine = Engine::new(Config::default())?;
/// let memory = engine.memory()?;
/// let out = memory.map(None, 32 * 4, Access::ReadWrite)?;
/// let launch = Launch::default()
///     .grid([1, 1, 1])
///     .block([32, 1, 1])
///     .args(vec![Arg::u32(out as u32), Arg::u32(0)]);
///
/// let mut prepared = engine.prepare(&program, &memory, &launch)?;
/// for value in 0..1000_u32 {
///     prepared.set_args(4, &value.to_le_bytes())?;
///     assert_eq!(prepared.run()?.fault, None);
/// }
/// let mut bytes = [0; 4];
/// memory.read(out, &mut bytes)?;
/// assert_eq!(u32::from_le_bytes(bytes), 999);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Prepared {
    working: Working,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let template = self.working.template();
        f.debug_struct("Prepared")
            .field("program", &template.program.name())
            .field("launch", &template.launch)
            .finish_non_exhaustive()
    }
}

impl Clone for Prepared {
    /// One with the same arguments, for another thread.
    fn clone(&self) -> Self {
        Prepared { working: self.working.another() }
    }
}

impl Engine {
    /// Sets a launch up that is run many times, with other arguments.
    ///
    /// # Errors
    /// As [`Engine::run`], which checks the same. Launches that may be saved ([`Launch::save`]) or have last blocks of another size
    /// ([`Launch::last_block`]) cannot be prepared.
    pub fn prepare(&self, program: &Program, memory: &Memory, launch: &Launch) -> Result<Prepared, Error> {
        let template = Template::new(self.clone(), program.clone(), memory.clone(), launch.clone())?;
        let working = Working::new(template)?;
        if working.is_special() {
            return Err(LaunchError::NotPreparable.into());
        }
        Ok(Prepared { working })
    }
}

impl Prepared {
    /// Runs it to its end on this thread, as [`Engine::run`] does: threads of the engine help if there are several blocks.
    ///
    /// The report is that of [`Engine::run`], except that [`crate::Stats::groups`] and [`crate::Stats::traffic`] may be empty if
    /// nothing was counted.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub fn run(&mut self) -> Result<Report, Error> {
        self.working.run()
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.working.template().program
    }

    /// The memory.
    pub fn memory(&self) -> &Memory {
        &self.working.template().memory
    }

    /// Bytes of the arguments, as they were laid out for [`Launch::args`].
    pub fn args_bytes(&self) -> usize {
        self.working.args_bytes()
    }

    /// Overwrites a part of the arguments: `bytes` at `offset` bytes from their start. They are laid out as [`Launch::args`] says:
    /// in order with natural alignment, or as the container states. An argument in dynamic shared memory is an address there.
    ///
    /// # Errors
    /// If it reaches beyond the arguments that the launch was prepared with ([`Prepared::args_bytes`]).
    pub fn set_args(&mut self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        self.working.set_args(offset, bytes)
    }

    /// How many words of user data the program takes.
    pub fn user_data_words(&self) -> usize {
        self.working.most_user()
    }

    /// Overwrites words of user data from word `first` on ([`Launch::user_data`]).
    ///
    /// # Errors
    /// If the program takes fewer words.
    pub fn set_user_data(&mut self, first: usize, words: &[u32]) -> Result<(), Error> {
        self.working.set_user_data(first, words)
    }

    /// Overwrites a part of a const bank in place ([`Launch::consts`]): `bytes` at `offset` bytes from its start. What a launch puts
    /// there itself (arguments, sizes) stays, and so does what the container has in the compiler's bank.
    ///
    /// # Errors
    /// If there is no such bank, or its 64 KiB end before that.
    pub fn set_const(&mut self, bank: u32, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        self.working.set_const(bank, offset, bytes)
    }

    /// Changes the grid; all its blocks are run. Threads of a block stay as they are.
    ///
    /// # Errors
    /// If the chip has no such grid.
    pub fn set_grid(&mut self, grid: [u32; 3]) -> Result<(), Error> {
        self.working.set_grid(grid, None)
    }

    /// Changes which blocks of the grid are run, by linear index ([`Launch::blocks`]); `None`: all.
    ///
    /// # Errors
    /// If they are not in the grid.
    pub fn set_blocks(&mut self, blocks: Option<Range<u64>>) -> Result<(), Error> {
        self.working.set_grid(self.working.grid(), blocks)
    }

    /// Sets the token that cancels runs from now on ([`Launch::cancel`]).
    pub fn set_cancel(&mut self, cancel: Option<CancelToken>) {
        let template = self.working.template();
        let launch = Launch { cancel, ..template.launch.clone() };
        let (engine, program) = (template.engine.clone(), template.program.clone());
        let template = Template { engine, program, memory: template.memory.clone(), launch, id: number() };
        self.working.set_template(Arc::new(template));
    }

    pub(crate) fn working(&self) -> &Working {
        &self.working
    }
}
