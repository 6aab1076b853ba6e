//! Queues of launches: submitted without blocking, run in order by the engine's threads, waited for by tickets.
//!
//! A queue holds submissions (`slot`), of which one at a time has begun (`state`). The engine's threads look who is
//! next (`lanes`), and serve that queue for a moment; a launch that has not ended by then is put aside between two
//! blocks, or two slices of a block, and goes on when the queue's turn comes again. So queues run side by side even on
//! one thread, and a launch may wait for another queue's.
//!
//! - A single block is put aside between two of its slices (`Working` keeps it), a launch of many blocks by its threads leaving: the
//!   blocks that a thread has claimed go back, blocks that wait stay in the scheduler. So a launch that spins on a flag does not keep the
//!   one from running that sets it. Only a loop that can wait for nobody is not interrupted but by cancelling and deadlines.
//! - A batch is one submission. Its dispatches are records in arrays that are used again, and run one after another without a lock
//!   between them.
//! - Who depends on a ticket registers with it; when it ends, the follower's queue is looked at again. Tickets only exist after their
//!   submission, so there are no cycles. Deadlines of what has not begun are timers of the pool.
//! - Locks are taken in this order: the pool's, a queue's, a slot's. Functions of the embedder are called under none of them. Before
//!   callbacks are called, the queue is free for other threads.
//! - A launch whose segments have the addresses of another launch's does not wait for it, as [`Engine::run`] does, since that one may be
//!   put aside on this very thread: it is tried again a moment later.
//! - [`Ticket::wait`] sleeps, except on threads that others may wait for: in a callback, and where the embedder brings the threads
//!   (`Idle::Embedder`). There it works until the ticket is done.
//! - A child of `fork` finds empty queues. Tickets of its parent are cancelled there, and their locks never touched.

mod run;
mod slot;
mod state;
#[cfg(all(test, feature = "tesla"))]
mod tests;

use crate::prepared::{Prepared, Template};
use crate::stage::OwnedBatch;
use crate::{Engine, Error, Launch, LaunchError, Memory, Program};
use run::{Changes, Record, StageJob, Work};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use crate::exec::lanes::Priority;
pub use slot::{Completion, Ticket};

pub(crate) use state::QueueState;

use crate::fork::PerProcess;
use slot::Callback;
use std::sync::OnceLock;

/// What becomes of work in a queue that is dropped ([`QueueOptions::on_drop`]). Dropping never waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnDrop {
    /// It goes on to its end.
    #[default]
    Finish,
    /// What runs is cancelled, and what has not begun is done at once ([`Error::Cancelled`]).
    Cancel,
}

/// Settings of a [`Queue`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueOptions {
    /// Which queues go first.
    pub priority: Priority,
    /// What becomes of work that is in it when it is dropped.
    pub on_drop: OnDrop,
}

impl QueueOptions {
    /// A queue of normal priority, whose work goes on when it is dropped.
    pub fn new() -> Self {
        Self::default()
    }
}

crate::setters::setters! {
    QueueOptions {
        priority: Priority,
        on_drop: OnDrop,
    }
}

/// A queue of launches of one engine ([`Engine::queue`]).
///
/// Submissions run one after another, in the order in which they were submitted. Several queues run side by side, in
/// one memory or several, on the engine's threads ([`crate::Config::threads`]): those of equal [`Priority`] get equal
/// time, higher ones go first, and none starves. A submission that faults does not keep later ones of its queue from
/// running, unless they were told to wait for it ([`Submission::after`]).
///
/// In a child of `fork` the queue is empty.
///
/// ```
/// use warpjit_frontend::tesla::{Chip, Target, assemble};
/// use warpjit_runtime::{
///     Access, Arg, Config, Engine, Isa, Launch, Program, ProgramOptions, QueueOptions, Submission,
/// };
///
/// // Stores the second argument where the first one says.
/// let source = "
///     mov b32 $r1 b32 s[0x10]
///     mov b32 $r2 b32 s[0x14]
///     exit st b32 g14[$r1] $r2
/// ";
/// let code = assemble(source, Target::compute(Chip::G80))?.code;
/// let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse()?)).registers(Some(4));
/// let program = Program::load(&code, &options)?;
/// let engine = Engine::new(Config::default())?;
/// let memory = engine.memory()?;
/// let out = memory.map(None, 4, Access::ReadWrite)?;
/// let launch = |value| Launch::default()
///     .grid([1, 1, 1])
///     .block([1, 1, 1])
///     .args(vec![Arg::u32(out as u32), Arg::u32(value)]);
///
/// let (graphics, compute) = (engine.queue(QueueOptions::new()), engine.queue(QueueOptions::new()));
/// let first = graphics.submit(Submission::launch(&program, &memory, launch(1)));
/// let second = compute.submit(Submission::launch(&program, &memory, launch(2)).after(&[first]));
/// assert_eq!(second.wait()?.fault, None);
///
/// let mut bytes = [0; 4];
/// memory.read(out, &mut bytes)?;
/// assert_eq!(u32::from_le_bytes(bytes), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Queue {
    engine: Engine,
    options: QueueOptions,
    state: PerProcess<OnceLock<Arc<QueueState>>>,
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Engine {
    /// Makes a queue.
    pub fn queue(&self, options: QueueOptions) -> Queue {
        Queue { engine: self.clone(), options, state: PerProcess::default() }
    }
}

impl Queue {
    fn state(&self) -> &Arc<QueueState> {
        let make = || QueueState::new(self.engine.clone(), self.options.priority);
        self.state.get().get_or_init(make)
    }

    /// The settings.
    pub fn options(&self) -> &QueueOptions {
        &self.options
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Appends a submission. Does not wait; what is wrong with it comes out of the ticket.
    pub fn submit(&self, submission: Submission) -> Ticket {
        let state = self.state();
        let mut slot = state.slot();
        let Submission { what, after, deadline, callbacks } = submission;
        let mut wrong = None;
        if let Some(own) = Arc::get_mut(&mut slot) {
            own.deadline = deadline;
            own.set_callbacks(callbacks);
            let inside = own.inside_mut();
            inside.after = after;
            match what {
                What::Launch(program, memory, launch) => {
                    match Template::new(self.engine.clone(), program, memory, *launch) {
                        Ok(template) => inside.work.records.push(Record { template, changes: None }),
                        Err(error) => wrong = Some(error),
                    }
                }
                What::Prepared(record, bytes, words) => {
                    inside.work = Work { records: vec![*record], bytes, words, stage: None };
                }
                What::Stage(job) => inside.work.stage = Some(job),
            }
        }
        let ticket = Ticket(slot.clone());
        match wrong {
            Some(error) => slot.end(Err(error), None),
            None => state.push(slot),
        }
        ticket
    }

    /// Appends launches that were prepared, as one submission: they run in order, and the report has the sums of their counts. The first
    /// one that faults or is cancelled ends the batch ([`Ticket::dispatches`] says how many were run).
    ///
    /// What dispatches name is copied, so they may be changed at once. Once a queue has run a batch of that size, nothing is allocated for
    /// a dispatch.
    ///
    /// # Errors
    /// If arguments or user data are beyond what was prepared, or a grid is beyond the chip's limits; then nothing is submitted.
    pub fn submit_batch(&self, dispatches: &[Dispatch<'_>]) -> Result<Ticket, Error> {
        let state = self.state();
        let mut slot = state.slot();
        if let Some(own) = Arc::get_mut(&mut slot) {
            let work = &mut own.inside_mut().work;
            for dispatch in dispatches {
                if let Err(error) = dispatch.record(work) {
                    slot.end(Err(error.clone()), None);
                    return Err(error);
                }
            }
        }
        let ticket = Ticket(slot.clone());
        state.push(slot);
        Ok(ticket)
    }

    /// Waits until all that has been submitted is done. Panics of callbacks stay with their tickets.
    ///
    /// In a callback it does not wait for other callbacks: two of one queue might wait for each other.
    pub fn finish(&self) {
        while let Some(slot) = self.state().unfinished() {
            Ticket(slot).settle_for_caller();
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if let Some(state) = self.state.get().get() {
            state.close(self.options.on_drop == OnDrop::Cancel);
        }
    }
}

/// What a submission runs.
enum What {
    Launch(Program, Memory, Box<Launch>),
    Prepared(Box<Record>, Vec<u8>, Vec<u32>),
    Stage(Box<StageJob>),
}

/// Something to run, and when ([`Queue::submit`]).
pub struct Submission {
    what: What,
    after: Vec<Ticket>,
    deadline: Option<Instant>,
    callbacks: Vec<Callback>,
}

impl fmt::Debug for Submission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submission")
            .field("after", &self.after.len())
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

impl Submission {
    fn new(what: What) -> Self {
        Submission { what, after: Vec::new(), deadline: None, callbacks: Vec::new() }
    }

    /// A launch that is run once. If it may be saved ([`Launch::save`]) or has last blocks of another size ([`Launch::last_block`]), its
    /// queue's thread stays with it to its end, as with a batch of a graphics stage.
    pub fn launch(program: &Program, memory: &Memory, launch: Launch) -> Self {
        Self::new(What::Launch(program.clone(), memory.clone(), Box::new(launch)))
    }

    /// A prepared launch with the arguments that it has now. [`Queue::submit_batch`] takes many, and other arguments for each.
    pub fn prepared(prepared: &Prepared) -> Self {
        let mut work = Work::default();
        Dispatch::of(prepared).whole(&mut work);
        let Work { mut records, bytes, words, .. } = work;
        // There is one.
        let record = records.remove(0);
        Self::new(What::Prepared(Box::new(record), bytes, words))
    }

    /// A batch of a graphics stage, which owns its arrays ([`Engine::run_stage`]). [`Ticket::take_batch`] gives them back.
    pub fn stage(program: &Program, memory: &Memory, launch: Launch, batch: OwnedBatch) -> Self {
        let job = StageJob { program: program.clone(), memory: memory.clone(), launch, batch };
        Self::new(What::Stage(Box::new(job)))
    }

    /// Begins only when all of these are done, which may be of other queues and engines. If one of them faults, is cancelled or fails, this
    /// one is not run ([`Error::Dependency`]).
    pub fn after(mut self, tickets: &[Ticket]) -> Self {
        self.after.extend_from_slice(tickets);
        self
    }

    /// Ends it at this time at the latest: before it begins with [`Error::Deadline`], else as if it were cancelled.
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// The same, counted from now.
    pub fn within(self, time: Duration) -> Self {
        match Instant::now().checked_add(time) {
            Some(deadline) => self.deadline(deadline),
            None => self,
        }
    }

    /// Calls a function when it is done ([`Ticket::on_complete`]).
    pub fn on_complete(mut self, callback: impl FnOnce(&Completion) + Send + 'static) -> Self {
        self.callbacks.push(Box::new(callback));
        self
    }
}

/// A prepared launch with other arguments, in a batch ([`Queue::submit_batch`]). What is not said is as in the prepared launch now.
#[derive(Debug, Clone, Copy)]
pub struct Dispatch<'a> {
    prepared: &'a Prepared,
    grid: Option<[u32; 3]>,
    args: Option<(usize, &'a [u8])>,
    user_data: Option<(usize, &'a [u32])>,
}

impl<'a> Dispatch<'a> {
    /// The launch as it was prepared.
    pub fn of(prepared: &'a Prepared) -> Self {
        Dispatch { prepared, grid: None, args: None, user_data: None }
    }

    /// In another grid, with all its blocks.
    pub fn grid(self, grid: [u32; 3]) -> Self {
        Dispatch { grid: Some(grid), ..self }
    }

    /// With these bytes of the arguments ([`Prepared::set_args`]).
    pub fn args(self, offset: usize, bytes: &'a [u8]) -> Self {
        Dispatch { args: Some((offset, bytes)), ..self }
    }

    /// With these words of user data ([`Prepared::set_user_data`]).
    pub fn user_data(self, first: usize, words: &'a [u32]) -> Self {
        Dispatch { user_data: Some((first, words)), ..self }
    }

    /// Checks it and appends it to the work of a submission.
    fn record(&self, work: &mut Work) -> Result<(), Error> {
        let working = self.prepared.working();
        if let Some((offset, bytes)) = self.args
            && offset.checked_add(bytes.len()).is_none_or(|end| end > working.args_bytes())
        {
            return Err(LaunchError::PreparedArguments {
                offset,
                bytes: bytes.len(),
                limit: working.args_bytes(),
            }
            .into());
        }
        if let Some((first, words)) = self.user_data
            && first.checked_add(words.len()).is_none_or(|end| end > working.most_user())
        {
            let end = first.saturating_add(words.len());
            return Err(LaunchError::PreparedUserData { end, limit: working.most_user() }.into());
        }
        if let Some(grid) = self.grid {
            working.check_grid(grid)?;
        }
        self.whole(work);
        Ok(())
    }

    /// Appends all its arguments, which have been checked.
    fn whole(&self, work: &mut Work) {
        let working = self.prepared.working();
        let (bytes, words) = (work.bytes.len(), work.words.len());
        working.read_args(&mut work.bytes);
        if let Some((offset, given)) = self.args {
            work.bytes[bytes + offset..][..given.len()].copy_from_slice(given);
        }
        // All of them, or the dispatch would get those of an earlier one.
        working.read_user_data(&mut work.words);
        if let Some((first, given)) = self.user_data {
            work.words[words + first..][..given.len()].copy_from_slice(given);
        }
        let (grid, blocks) = match self.grid {
            None => (working.grid(), working.blocks()),
            Some(grid) => (grid, 0..grid.iter().fold(1, |all, &axis| u64::from(axis).saturating_mul(all))),
        };
        work.records.push(Record {
            template: working.template().clone(),
            changes: Some(Changes {
                args: bytes..work.bytes.len(),
                user_data: words..work.words.len(),
                grid,
                blocks,
                consts: working.consts(),
            }),
        });
    }
}
