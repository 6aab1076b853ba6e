//! Calls of compiled code that can be suspended: each runs on a stack of its own.
//!
//! A function that such code calls may suspend the call ([`Suspender::suspend`]). Then [`Fiber::resume`] returns. The next
//! [`Fiber::resume`] continues the call, on the same thread or another one. A suspended call can be dropped: its stack holds only
//! frames of compiled code and of the functions named here, which own nothing.

use super::stacks::Stack;
use super::unix::{self, Entry, RawFault, current, ensure_signal_stack, exchange_current};
use super::{FloatMode, arch};
use crate::vm::registry;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// State shared by the call and its resumer. Its address does not change while the call lasts.
struct Shared {
    entry: Entry,
    /// The activation that encloses the call's, on the thread that resumed it last.
    outer: *mut Entry,
    code: *const u8,
    context: *mut u8,
    frame: *mut u8,
    result: u64,
    /// On the call's stack.
    yielder: *const Yielder<(), ()>,
}

/// A stack for a call of compiled code, and the call that runs on it, if any.
pub struct Fiber {
    shared: *mut Shared,
    call: Option<Coroutine<(), (), (), Stack>>,
    stack: Option<Stack>,
}

// SAFETY: a call that is suspended is memory only: its stack, and what `Shared` names. It depends on no thread: what it reads of a thread's
// variables it reads in functions that are not inlined (`exchange_current`), after it has gone on.
unsafe impl Send for Fiber {}

impl std::fmt::Debug for Fiber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fiber").field("runs", &self.call.is_some()).finish_non_exhaustive()
    }
}

/// A handle to the running call, for functions that it calls.
#[derive(Debug, Clone, Copy)]
pub struct Suspender(*mut Shared);

impl Suspender {
    /// Suspends the call.
    ///
    /// # Safety
    ///
    /// The call's own code has called the function that calls this, on the call's stack, and frames of Rust functions between them and this
    /// own nothing: the call may never go on.
    pub unsafe fn suspend(self) {
        let control = arch::control();
        // SAFETY: the call runs, so all of it lives, and the resumer waits for it.
        let (outer, yielder) = unsafe { ((*self.0).outer, (*self.0).yielder) };
        let entry = exchange_current(outer);
        // SAFETY: the yielder is that of the stack that this runs on.
        unsafe { (*yielder).suspend(()) };
        exchange_current(entry);
        // SAFETY: what compiled code had.
        unsafe { arch::set_control(control) };
    }
}

impl Fiber {
    /// Makes a fiber without a call. `None` if no stack is left.
    pub fn new() -> Option<Fiber> {
        let stack = Stack::take()?;
        let shared = Box::new(Shared {
            entry: Entry::new(std::ptr::null(), FloatMode::Ieee, 0),
            outer: std::ptr::null_mut(),
            code: std::ptr::null(),
            context: std::ptr::null_mut(),
            frame: std::ptr::null_mut(),
            result: 0,
            yielder: std::ptr::null(),
        });
        Some(Fiber { shared: Box::into_raw(shared), call: None, stack: Some(stack) })
    }

    /// The handle to the call, for functions that it calls.
    pub fn suspender(&self) -> Suspender {
        Suspender(self.shared)
    }

    /// Prepares a call, which [`Fiber::resume`] then runs. Drops a suspended call.
    ///
    /// # Safety
    ///
    /// As for [`super::unix::enter`], for as long as the call is resumed; what `code` calls does not unwind, and holds
    /// nothing to drop where it suspends.
    pub unsafe fn start(&mut self, code: *const u8, context: *mut u8, frame: *mut u8, mode: FloatMode) {
        debug_assert!(registry::lookup(code as usize).is_some(), "code of CodeMemory");
        self.forget();
        let shared = self.shared;
        // SAFETY: no call runs, so this value alone uses it.
        let mine = unsafe { &mut *shared };
        mine.entry = Entry::new(code, mode, 0);
        (mine.code, mine.context, mine.frame) = (code, context, frame);
        let Some(stack) = self.stack.take() else { return };
        self.call = Some(Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: `Fiber` keeps it alive; the resumer waits.
            let entry = unsafe {
                (*shared).yielder = yielder;
                &raw mut (*shared).entry
            };
            // SAFETY: as above.
            let (code, context, frame) = unsafe { ((*shared).code, (*shared).context, (*shared).frame) };
            exchange_current(entry);
            // SAFETY: as the caller of `start` promises; the entry outlives the call.
            let result = unsafe { unix::warpjit_runtime_enter(entry, code, context, frame) };
            // SAFETY: as above. The thread may be another one now.
            unsafe {
                (*shared).result = result;
                exchange_current((*shared).outer);
            }
        }));
    }

    /// Runs the call until it ends or is suspended. Returns its result, or the exception that ended it; `None` if it
    /// was suspended.
    pub fn resume(&mut self) -> Option<Result<u64, Box<RawFault>>> {
        ensure_signal_stack();
        let call = self.call.as_mut()?;
        let control = arch::control();
        // SAFETY: the call does not run.
        unsafe { (*self.shared).outer = current() };
        let result = call.resume(());
        // SAFETY: what this thread had.
        unsafe { arch::set_control(control) };
        match result {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(()) => {
                self.stack = self.call.take().map(Coroutine::into_stack);
                // SAFETY: the call has ended.
                let (fault, result) =
                    unsafe { (Entry::fault(&raw mut (*self.shared).entry), (*self.shared).result) };
                Some(fault.map_or(Ok(result), Err))
            }
        }
    }

    /// Drops a suspended call.
    fn forget(&mut self) {
        if let Some(mut call) = self.call.take() {
            // SAFETY: no frame on its stack owns anything: those of compiled code, of `Suspender::suspend` and its
            // callers (its promise), and of the function in `start`.
            unsafe { call.force_reset() };
            self.stack = Some(call.into_stack());
        }
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        self.forget();
        // SAFETY: made of a box by `new`; no call is left that names it.
        drop(unsafe { Box::from_raw(self.shared) });
    }
}
