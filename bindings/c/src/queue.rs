//! Queues: launches that are submitted without blocking, and tickets that say when they are done.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use warpjit_runtime::{
    Dispatch, Engine, Launch, OnDrop, Priority, Queue, QueueOptions, Report, Submission, Ticket,
};

use crate::batch::{Arrays, Target, warpjit_batch};
use crate::callback::{User, warpjit_drop};
use crate::engine::warpjit_engine;
use crate::handle::Draft;
use crate::launch::{Description, warpjit_launch};
use crate::memory::{Space, warpjit_memory};
use crate::pointers::{array, put, put_handle};
use crate::prepared::{Ready, warpjit_prepared};
use crate::program::{Loaded, warpjit_program};
use crate::report::{Outcome, warpjit_report};
use crate::status::{Failure, WARPJIT_ERROR_NOT_DONE, WARPJIT_ERROR_NOT_FOUND, WARPJIT_OK, warpjit_status};
use crate::{entry, handle, object};

/// A queue of launches of one engine. Submissions run one after another, in order, on the engine's threads. Several queues run side by
/// side: those of equal priority get equal time, higher ones go first, and none starves. A submission that faults does not keep later ones
/// of its queue from running, unless they were told to wait for it.
pub struct warpjit_queue {
    _private: [u8; 0],
}

object!(Queue, 19, "warpjit_queue", warpjit_queue);

/// How urgent the work of a queue is: WARPJIT_PRIORITY_... .
pub type warpjit_priority = u32;
/// The usual one.
pub const WARPJIT_PRIORITY_NORMAL: warpjit_priority = 0;
/// When nothing else is to do; also a little of the time while there is.
pub const WARPJIT_PRIORITY_LOW: warpjit_priority = 1;
/// Before all others.
pub const WARPJIT_PRIORITY_HIGH: warpjit_priority = 2;

/// Makes a queue. `cancel_at_end`: when it is freed, what runs is cancelled, and what has not begun is done at once
/// (WARPJIT_ERROR_CANCELLED); else work goes on to its end. To free a queue never waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_queue_new(
    engine: *const warpjit_engine,
    priority: warpjit_priority,
    cancel_at_end: bool,
    queue: *mut *mut warpjit_queue,
) -> warpjit_status {
    entry!({
        put(queue, std::ptr::null_mut())?;
        let engine = handle::get::<Engine>(engine)?;
        let priority = match priority {
            WARPJIT_PRIORITY_NORMAL => Priority::Normal,
            WARPJIT_PRIORITY_LOW => Priority::Low,
            WARPJIT_PRIORITY_HIGH => Priority::High,
            other => return Err(Failure::argument(format!("{other} is no priority"))),
        };
        let on_drop = if cancel_at_end { OnDrop::Cancel } else { OnDrop::Finish };
        put_handle(queue, engine.queue(QueueOptions::new().priority(priority).on_drop(on_drop)))?
    })
}

/// Waits until all that has been submitted is done.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_queue_finish(queue: *const warpjit_queue) -> warpjit_status {
    entry!({ handle::get::<Queue>(queue)?.finish() })
}

/// Something to run, and when. It can be submitted once.
pub struct warpjit_submission {
    _private: [u8; 0],
}

struct Waiting(Mutex<Option<(Submission, Option<Batch>)>>);

object!(Waiting, 20, "warpjit_submission", warpjit_submission);

/// Where the results of a batch go.
type Batch = (Arc<Arrays>, Vec<Target>);

impl Waiting {
    fn new(submission: Submission, batch: Option<Batch>) -> Self {
        Waiting(Mutex::new(Some((submission, batch))))
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Submission, Option<Batch>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Result<(Submission, Option<Batch>), Failure> {
        self.lock().take().ok_or_else(|| Failure::argument("it has been submitted"))
    }

    fn edit(&self, work: impl FnOnce(Submission) -> Submission) -> Result<(), Failure> {
        let mut inside = self.lock();
        let Some((submission, batch)) = inside.take() else {
            return Err(Failure::argument("it has been submitted"));
        };
        *inside = Some((work(submission), batch));
        Ok(())
    }
}

/// Makes a submission of a launch that is run once. Later changes of `launch` do not concern it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_submission_of_launch(
    program: *const warpjit_program,
    memory: *const warpjit_memory,
    launch: *const warpjit_launch,
    submission: *mut *mut warpjit_submission,
) -> warpjit_status {
    entry!({
        put(submission, std::ptr::null_mut())?;
        let program = handle::get::<Loaded>(program)?;
        let memory = handle::get::<Space>(memory)?;
        let launch = Launch::clone(&*handle::get::<Description>(launch)?.now());
        put_handle(submission, Waiting::new(Submission::launch(&program.0, &memory.0, launch), None))?
    })
}

/// Makes a submission of a prepared launch with the arguments that it has now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_submission_of_prepared(
    prepared: *const warpjit_prepared,
    submission: *mut *mut warpjit_submission,
) -> warpjit_status {
    entry!({
        put(submission, std::ptr::null_mut())?;
        let made = Submission::prepared(&*handle::get::<Ready>(prepared)?.lock()?);
        put_handle(submission, Waiting::new(made, None))?
    })
}

/// Makes a submission of a batch of a graphics stage. All arrays of the batch are copied now; warpjit_ticket_take_batch copies results to
/// the arrays that the batch names now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_submission_of_stage(
    program: *const warpjit_program,
    memory: *const warpjit_memory,
    launch: *const warpjit_launch,
    batch: *const warpjit_batch,
    submission: *mut *mut warpjit_submission,
) -> warpjit_status {
    entry!({
        put(submission, std::ptr::null_mut())?;
        let program = handle::get::<Loaded>(program)?;
        let memory = handle::get::<Space>(memory)?;
        let launch = Launch::clone(&*handle::get::<Description>(launch)?.now());
        let arrays = handle::get::<Draft<Arrays>>(batch)?.now();
        let interface = program.0.interface();
        let interface = interface.ok_or_else(|| Failure::argument("a compute program runs over a grid"))?;
        let (owned, targets) = arrays.owned(interface)?;
        let made = Submission::stage(&program.0, &memory.0, launch, owned);
        put_handle(submission, Waiting::new(made, Some((arrays, targets))))?
    })
}

/// Begins only when another submission is done, which may be of any queue. If that one faults, is cancelled or fails, this one is not run
/// (WARPJIT_ERROR_DEPENDENCY).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_submission_add_dependency(
    submission: *const warpjit_submission,
    ticket: *const warpjit_ticket,
) -> warpjit_status {
    entry!({
        let ticket = handle::get::<Submitted>(ticket)?.ticket.clone();
        handle::get::<Waiting>(submission)?.edit(|submission| submission.after(&[ticket]))?
    })
}

/// Ends it so many nanoseconds from now at the latest: before it begins with WARPJIT_ERROR_DEADLINE, else as if it were cancelled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_submission_set_deadline(
    submission: *const warpjit_submission,
    nanoseconds: u64,
) -> warpjit_status {
    entry!({
        let time = Duration::from_nanos(nanoseconds);
        handle::get::<Waiting>(submission)?.edit(|submission| submission.within(time))?
    })
}

/// Hears that a submission is done. `status`: what warpjit_ticket_wait returns. `has_fault`: whether the guest has faulted.
pub type warpjit_completion =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, status: warpjit_status, has_fault: bool)>;

/// Calls a function when the submission is done, on the thread that has ended it. `drop` is called after that, or when the submission is
/// freed without being submitted, also if this call fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_submission_on_complete(
    submission: *const warpjit_submission,
    completion: warpjit_completion,
    user: *mut c_void,
    drop: warpjit_drop,
) -> warpjit_status {
    entry!({
        let user = User::new(user, drop);
        let function = completion.ok_or_else(|| Failure::argument("the function is NULL"))?;
        handle::get::<Waiting>(submission)?.edit(|submission| {
            submission.on_complete(move |completion| {
                let (status, has_fault) = match completion {
                    Ok(report) => (WARPJIT_OK, report.fault.is_some()),
                    Err(error) => (Failure::from(error.clone()).status, false),
                };
                // SAFETY: a callback with its user pointer.
                user.call("a completion callback", |user| unsafe { function(user, status, has_fault) });
            })
        })?
    })
}

/// A submission that was made. It may be freed before it is done; the submission goes on.
pub struct warpjit_ticket {
    _private: [u8; 0],
}

struct Submitted {
    ticket: Ticket,
    batch: Mutex<Option<Batch>>,
}

object!(Submitted, 21, "warpjit_ticket", warpjit_ticket);

/// Appends a submission to a queue, without waiting. What is wrong with it comes out of the ticket. `ticket` may be NULL. The submission is
/// used up, and is still to be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_queue_submit(
    queue: *const warpjit_queue,
    submission: *const warpjit_submission,
    ticket: *mut *mut warpjit_ticket,
) -> warpjit_status {
    entry!({
        if !ticket.is_null() {
            put(ticket, std::ptr::null_mut())?;
        }
        let queue = handle::get::<Queue>(queue)?;
        let (submission, batch) = handle::get::<Waiting>(submission)?.take()?;
        let made = Submitted { ticket: queue.submit(submission), batch: Mutex::new(batch) };
        if !ticket.is_null() {
            put_handle(ticket, made)?;
        }
    })
}

/// A prepared launch in a batch, with other arguments.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct warpjit_dispatch {
    /// What is run.
    pub prepared: *const warpjit_prepared,
    /// The grid; 0, 0, 0: as it was prepared.
    pub grid: [u32; 3],
    /// Number of the first word of user data that `user_data` replaces.
    pub user_data_first: u32,
    /// Where in the arguments `args` goes.
    pub args_offset: usize,
    /// Bytes of the arguments; may be NULL if there are none.
    pub args: *const c_void,
    /// How many bytes.
    pub args_bytes: usize,
    /// Words of user data; may be NULL if there are none.
    pub user_data: *const u32,
    /// How many words.
    pub user_data_words: usize,
}

/// Appends prepared launches as one submission: they run in order, and the report has the sums of their counts. The first one that faults or
/// is cancelled ends the batch (warpjit_ticket_dispatches). What dispatches name is copied. If one of them is unusable, nothing is
/// submitted. `ticket` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_queue_submit_batch(
    queue: *const warpjit_queue,
    dispatches: *const warpjit_dispatch,
    count: usize,
    ticket: *mut *mut warpjit_ticket,
) -> warpjit_status {
    entry!({
        if !ticket.is_null() {
            put(ticket, std::ptr::null_mut())?;
        }
        let queue = handle::get::<Queue>(queue)?;
        let dispatches = array(dispatches, count, "the array of dispatches")?;
        // Many dispatches are mostly of few prepared launches, each of which is locked once.
        let mut handles: Vec<_> = dispatches.iter().map(|dispatch| dispatch.prepared).collect();
        handles.sort_unstable();
        handles.dedup();
        let objects = handles.iter().map(|&prepared| handle::get::<Ready>(prepared));
        let objects = objects.collect::<Result<Vec<_>, _>>()?;
        let locked = objects.iter().map(|object| object.lock()).collect::<Result<Vec<_>, _>>()?;
        let mut batch = Vec::with_capacity(count);
        for dispatch in dispatches {
            let Ok(at) = handles.binary_search(&dispatch.prepared) else { continue };
            let mut one = Dispatch::of(&locked[at]);
            if dispatch.grid != [0; 3] {
                one = one.grid(dispatch.grid);
            }
            let args = array(dispatch.args.cast::<u8>(), dispatch.args_bytes, "the arguments")?;
            if !args.is_empty() {
                one = one.args(dispatch.args_offset, args);
            }
            let words = array(dispatch.user_data, dispatch.user_data_words, "the user data")?;
            if !words.is_empty() {
                one = one.user_data(dispatch.user_data_first as usize, words);
            }
            batch.push(one);
        }
        let made = Submitted { ticket: queue.submit_batch(&batch)?, batch: Mutex::new(None) };
        if !ticket.is_null() {
            put_handle(ticket, made)?;
        }
    })
}

/// Whether the submission is done, its callbacks included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_ticket_poll(
    ticket: *const warpjit_ticket,
    is_done: *mut bool,
) -> warpjit_status {
    entry!({ put(is_done, handle::get::<Submitted>(ticket)?.ticket.poll())? })
}

/// Waits until the submission is done, for at most so many nanoseconds (WARPJIT_ERROR_NOT_DONE); UINT64_MAX: any time. `report` gets its
/// report; it may be NULL. Errors are those of warpjit_engine_run, and WARPJIT_ERROR_CANCELLED, _DEADLINE and _DEPENDENCY if it has not
/// begun for that reason. It may be called again, also in callbacks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_ticket_wait(
    ticket: *const warpjit_ticket,
    nanoseconds: u64,
    report: *mut *mut warpjit_report,
) -> warpjit_status {
    entry!({
        if !report.is_null() {
            put(report, std::ptr::null_mut())?;
        }
        let ticket = &handle::get::<Submitted>(ticket)?.ticket;
        let completion = match nanoseconds {
            u64::MAX => Some(ticket.wait()),
            _ => ticket.wait_timeout(Duration::from_nanos(nanoseconds)),
        };
        let Some(completion) = completion else {
            return Err(Failure::new(WARPJIT_ERROR_NOT_DONE, "the submission is not done"));
        };
        let outcome = completion?;
        if !report.is_null() {
            put_handle(report, Outcome(Report::clone(&outcome)))?;
        }
    })
}

/// Ends it soon if it runs; if it has not begun, it is done at once (WARPJIT_ERROR_CANCELLED).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_ticket_cancel(ticket: *const warpjit_ticket) -> warpjit_status {
    entry!({ handle::get::<Submitted>(ticket)?.ticket.cancel() })
}

/// How many of its dispatches have ended: of a batch any number, else 1 at the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_ticket_dispatches(
    ticket: *const warpjit_ticket,
    count: *mut usize,
) -> warpjit_status {
    entry!({ put(count, handle::get::<Submitted>(ticket)?.ticket.dispatches())? })
}

/// Copies the results of a batch of a graphics stage to the arrays that the batch named when its submission was made. It is done, or
/// WARPJIT_ERROR_NOT_DONE. This works once. WARPJIT_ERROR_NOT_FOUND: it has failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_ticket_take_batch(ticket: *const warpjit_ticket) -> warpjit_status {
    entry!({
        let submitted = handle::get::<Submitted>(ticket)?;
        let mut batch = submitted.batch.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((arrays, targets)) = batch.as_ref() else {
            return Err(Failure::argument("it has no batch, or it was taken"));
        };
        let is_done = submitted.ticket.poll();
        let Some(owned) = submitted.ticket.take_batch() else {
            return Err(match is_done {
                true => {
                    Failure::new(WARPJIT_ERROR_NOT_FOUND, "the submission has failed, and has no results")
                }
                false => Failure::new(WARPJIT_ERROR_NOT_DONE, "the submission is not done"),
            });
        };
        arrays.take(&owned, targets);
        *batch = None
    })
}
