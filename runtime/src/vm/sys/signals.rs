//! Installs our signal handlers in front of existing ones, and passes signals that are not ours on to the embedder's handlers.
//!
//! Our handler is installed with the flags and the mask of the handler that was there. So that handler is called as the kernel
//! would have called it: on the stack it asked for, with the signals blocked that it wanted blocked. If a handler is installed
//! over ours later, the next launch notices ([`ensure`]) and installs ours in front of it; that handler is then the first one to
//! get signals which are not ours. It may pass a signal back to the handler that it has replaced, which is ours. Then the next
//! older handler gets it.

use super::unix::handle;
use crate::Error;
use crate::fork::Mutex;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The signals that faults of compiled code raise; the one for guest memory comes first.
pub(super) const SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];

/// The action that ours replaced, and the actions that it had replaced in turn.
pub(super) struct Earlier {
    action: libc::sigaction,
    /// Whether it must not be called any more: it was installed with `SA_RESETHAND` and has been called, or it has
    /// restored the default action.
    is_spent: AtomicBool,
    older: *const Earlier,
}

/// For each signal: the newest replaced action; null before ours is installed. Never freed, because a handler may be
/// reading the list.
static EARLIER: [AtomicPtr<Earlier>; SIGNALS.len()] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; SIGNALS.len()];

thread_local! {
    /// The signal that is being passed on. Has no destructor, so a handler may read it.
    static HANDED_ON: Cell<HandedOn> =
        const { Cell::new(HandedOn { context: std::ptr::null_mut(), depth: 0, older: std::ptr::null() }) };
}

/// A signal that an earlier handler has been called for.
#[derive(Clone, Copy)]
struct HandedOn {
    /// Of this very signal.
    context: *mut c_void,
    /// The stack pointer when it was called. If it passes the signal back, the stack pointer is lower.
    depth: usize,
    /// The next older action.
    older: *const Earlier,
}

/// The list of the replaced actions of a signal.
fn earlier(signal: c_int) -> Option<&'static AtomicPtr<Earlier>> {
    Some(&EARLIER[SIGNALS.iter().position(|&other| other == signal)?])
}

/// Whether an action is our handler.
fn is_ours(action: &libc::sigaction) -> bool {
    action.sa_sigaction == handle as *const () as usize
}

fn failed() -> Error {
    Error::os("install signal handler", std::io::Error::last_os_error())
}

/// What is installed for a signal.
fn installed(signal: c_int) -> Result<libc::sigaction, Error> {
    // SAFETY: zero is a valid sigaction; the pointer is to a local.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &mut now) == 0 { Ok(now) } else { Err(failed()) }
    }
}

/// Installs our handlers for those signals that do not have them.
pub fn install() -> Result<(), Error> {
    // Several threads may find at the same time that one is missing.
    static LOCK: Mutex<()> = Mutex::new(());
    let _lock = LOCK.lock();
    for (&signal, newest) in SIGNALS.iter().zip(&EARLIER) {
        let mut now = installed(signal)?;
        // Somebody else may install one between the look and ours.
        while !is_ours(&now) {
            // Before ours can be called.
            remember(newest, &now);
            let ours = in_front_of(&now);
            let mut replaced = now;
            // SAFETY: pointers are to locals; the handler reads what has been stored before.
            if unsafe { libc::sigaction(signal, &ours, &mut replaced) } != 0 {
                return Err(failed());
            }
            let same = replaced.sa_sigaction == now.sa_sigaction && replaced.sa_flags == now.sa_flags;
            now = if same { ours } else { replaced };
        }
    }
    Ok(())
}

/// Adds an action to the front of the list. An action that is in the list already is moved, so that it is not called
/// twice for a signal.
fn remember(newest: &AtomicPtr<Earlier>, now: &libc::sigaction) {
    let mut known = Vec::new();
    let mut at: *const Earlier = newest.load(Ordering::Acquire);
    // SAFETY: null or one of those that live for ever.
    while let Some(earlier) = unsafe { at.as_ref() } {
        known.push(earlier);
        at = earlier.older;
    }
    let is_same = |earlier: &&Earlier| {
        let (a, b) = (&earlier.action, now);
        (a.sa_sigaction, a.sa_flags) == (b.sa_sigaction, b.sa_flags)
    };
    let is_good = |first: &&&Earlier| {
        first.action.sa_flags & libc::SA_RESETHAND == 0 && !first.is_spent.load(Ordering::Relaxed)
    };
    if known.first().filter(is_good).is_some_and(is_same) {
        return;
    }
    let mut older: *const Earlier = std::ptr::null();
    let others = known.iter().rev().filter(|earlier| !is_same(earlier));
    for (action, is_spent) in others
        .map(|earlier| (earlier.action, earlier.is_spent.load(Ordering::Relaxed)))
        .chain([(*now, false)])
    {
        let is_spent = AtomicBool::new(is_spent);
        older = Box::into_raw(Box::new(Earlier { action, is_spent, older }));
    }
    newest.store(older.cast_mut(), Ordering::Release);
}

/// Reinstalls our handlers where they have been replaced. Costs four system calls if they have not.
pub fn ensure() -> Result<(), Error> {
    for signal in SIGNALS {
        if !is_ours(&installed(signal)?) {
            return install();
        }
    }
    Ok(())
}

/// The action for our handler in front of another one. It takes that handler's flags and mask, so that ours can call it
/// as the kernel would.
fn in_front_of(other: &libc::sigaction) -> libc::sigaction {
    let is_function = !matches!(other.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN);
    let kept = libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART;
    let flags = if is_function { other.sa_flags & kept } else { libc::SA_ONSTACK | libc::SA_RESTART };
    // SAFETY: zero is a valid sigaction.
    let mut ours: libc::sigaction = unsafe { std::mem::zeroed() };
    ours.sa_sigaction = handle as *const () as usize;
    ours.sa_flags = flags | libc::SA_SIGINFO;
    if is_function {
        ours.sa_mask = other.sa_mask;
    }
    // Block the sampling signal: a sample of the handler is useless, and its frame would need room on the same stack.
    // SAFETY: a set that has been initialised: zeros are the empty one.
    unsafe { libc::sigaddset(&mut ours.sa_mask, libc::SIGPROF) };
    ours
}

/// Handles a signal that is not ours as if we did not exist. Async-signal-safe.
///
/// # Safety
///
/// The arguments are those of a handler that runs.
pub(super) unsafe fn hand_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let here = 0u8;
    let depth = (&raw const here) as usize;
    let before = HANDED_ON.get();
    // The one that it was handed to hands it back: the same signal, and below on the stack. (One that left by a jump
    // leaves this behind; the next signal may have its context at the same place, but comes from above.)
    let is_back = before.context == context && depth < before.depth;
    let next = match is_back {
        true => before.older,
        false => {
            earlier(signal).map_or(std::ptr::null(), |newest| newest.load(Ordering::Acquire).cast_const())
        }
    };
    // SAFETY: null or one of those that live for ever.
    let next = unsafe { next.as_ref() };
    let older = next.map_or(std::ptr::null(), |next| next.older);
    HANDED_ON.set(HandedOn { context, depth, older });
    let default = (libc::SIG_DFL, 0);
    let (handler, flags) = match next {
        Some(next) if next.action.sa_flags & libc::SA_RESETHAND != 0 => {
            if next.is_spent.swap(true, Ordering::Relaxed) {
                default
            } else {
                (next.action.sa_sigaction, next.action.sa_flags)
            }
        }
        Some(next) if next.is_spent.load(Ordering::Relaxed) => default,
        Some(next) => (next.action.sa_sigaction, next.action.sa_flags),
        None => default,
    };
    // SAFETY: as the caller promises; the handler is one that was installed with these flags.
    unsafe { call(handler, flags, signal, info, context) };
    if let Some(next) = next.filter(|_| !matches!(handler, libc::SIG_DFL | libc::SIG_IGN)) {
        come_back(signal, next);
    }
    HANDED_ON.set(before);
}

/// Installs ours again where a handler has put the default action in place of itself, as that of Rust's standard
/// library does: the next fault of a guest would end the process. The next signal that is none of ours takes the
/// default action. Async-signal-safe.
fn come_back(signal: c_int, handler: &Earlier) {
    let Ok(now) = installed(signal) else { return };
    if now.sa_sigaction == libc::SIG_DFL {
        handler.is_spent.store(true, Ordering::Relaxed);
        // SAFETY: the pointer is to a local.
        unsafe { libc::sigaction(signal, &in_front_of(&now), std::ptr::null_mut()) };
    }
}

/// Handles a signal as the given action would have.
///
/// # Safety
///
/// The last three are the arguments of a handler that runs; the first two have been installed for a signal.
pub(super) unsafe fn call(
    handler: libc::sighandler_t,
    flags: c_int,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: `info` is valid.
    let is_sent = unsafe { (*info).si_code } <= 0;
    match handler {
        // Somebody sent it, and it does nothing.
        libc::SIG_IGN if is_sent => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // The instruction runs again and takes the default action, a core dump with the true pc: a fault cannot be ignored.
            // A signal that somebody sent does not come again by itself.
            // SAFETY: plain system calls with valid arguments.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &action, std::ptr::null_mut());
                if is_sent {
                    libc::raise(signal);
                }
            }
        }
        handler if flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the flag says that the address is of a function of this type.
            let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(handler) };
            // SAFETY: called as the kernel would.
            unsafe { handler(signal, info, context) }
        }
        handler => {
            // SAFETY: without the flag it is a function of the number alone.
            let handler: unsafe extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            // SAFETY: called as the kernel would.
            unsafe { handler(signal) }
        }
    }
}
