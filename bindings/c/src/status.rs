//! The result of calls: a status, and a text that says more.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use warpjit_frontend::{CodeError, SourceErrors};
use warpjit_runtime::{Denied, Error, MemoryError};

use crate::pointers::{put, text};

/// The result of a call: WARPJIT_OK or one of WARPJIT_ERROR_... . Values that a program does not know are errors.
pub type warpjit_status = i32;

/// All went well.
pub const WARPJIT_OK: warpjit_status = 0;
/// An argument is not allowed: a null pointer, a number out of range, a text that is not UTF-8.
pub const WARPJIT_ERROR_ARGUMENT: warpjit_status = 1;
/// A handle was freed, is of another kind, or is none.
pub const WARPJIT_ERROR_HANDLE: warpjit_status = 2;
/// The operating system refused memory or a signal handler.
pub const WARPJIT_ERROR_OS: warpjit_status = 3;
/// Guest memory cannot be mapped, unmapped, read or written.
pub const WARPJIT_ERROR_MEMORY: warpjit_status = 4;
/// The program (container, code, kernel name, chip) is unusable, or a source cannot be assembled.
pub const WARPJIT_ERROR_PROGRAM: warpjit_status = 5;
/// The launch or batch is unusable.
pub const WARPJIT_ERROR_LAUNCH: warpjit_status = 6;
/// The configuration asks for what this host or build cannot do.
pub const WARPJIT_ERROR_CONFIG: warpjit_status = 7;
/// Compiling failed: a limit of the code generator.
pub const WARPJIT_ERROR_COMPILE: warpjit_status = 8;
/// Loading or preparing a program took more time or memory than the budget allows.
pub const WARPJIT_ERROR_BUDGET: warpjit_status = 9;
/// A cancel token has ended the loading of a program, or a submission was cancelled before it began.
pub const WARPJIT_ERROR_CANCELLED: warpjit_status = 10;
/// A callback has reported a failure or panicked, and so ended the call.
pub const WARPJIT_ERROR_CALLBACK: warpjit_status = 11;
/// A defect of the library: it panicked. Other objects can still be used.
pub const WARPJIT_ERROR_INTERNAL: warpjit_status = 12;
/// What was asked for does not exist: a profile that was not recorded, a register without that name.
pub const WARPJIT_ERROR_NOT_FOUND: warpjit_status = 13;
/// A saved launch cannot be read, or not be continued by this launch.
pub const WARPJIT_ERROR_STATE: warpjit_status = 14;
/// The deadline of a submission passed before it began.
pub const WARPJIT_ERROR_DEADLINE: warpjit_status = 15;
/// A submission did not begin, because one that it waits for faulted, was cancelled or failed.
pub const WARPJIT_ERROR_DEPENDENCY: warpjit_status = 16;
/// What was waited for is not done yet.
pub const WARPJIT_ERROR_NOT_DONE: warpjit_status = 17;

/// An empty text.
const EMPTY: &[u8] = b"\0";

/// The names of statuses.
const NAMES: [&[u8]; 18] = [
    b"ok\0",
    b"bad argument\0",
    b"bad handle\0",
    b"operating system\0",
    b"guest memory\0",
    b"program\0",
    b"launch\0",
    b"configuration\0",
    b"compiler\0",
    b"over budget\0",
    b"cancelled\0",
    b"callback failed\0",
    b"internal error\0",
    b"not found\0",
    b"saved launch\0",
    b"deadline\0",
    b"dependency\0",
    b"not done\0",
];

/// Why a call fails.
#[derive(Debug)]
pub(crate) struct Failure {
    pub status: warpjit_status,
    pub text: String,
    /// What the library said, where it is the reason.
    pub error: Option<Box<Error>>,
}

impl Failure {
    pub fn new(status: warpjit_status, text: impl Into<String>) -> Self {
        Failure { status, text: text.into(), error: None }
    }

    /// Of an argument.
    pub fn argument(text: impl Into<String>) -> Self {
        Failure::new(WARPJIT_ERROR_ARGUMENT, text)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match error {
            Error::Os { .. } => WARPJIT_ERROR_OS,
            Error::Memory(_) => WARPJIT_ERROR_MEMORY,
            Error::Container(_) | Error::Program(_) => WARPJIT_ERROR_PROGRAM,
            Error::Launch(_) => WARPJIT_ERROR_LAUNCH,
            Error::Config(_) => WARPJIT_ERROR_CONFIG,
            Error::Compile(_) => WARPJIT_ERROR_COMPILE,
            Error::Budget(_) => WARPJIT_ERROR_BUDGET,
            Error::State(_) => WARPJIT_ERROR_STATE,
            Error::Deadline => WARPJIT_ERROR_DEADLINE,
            Error::Dependency(_) => WARPJIT_ERROR_DEPENDENCY,
            Error::Panicked => WARPJIT_ERROR_CALLBACK,
            Error::Cancelled => WARPJIT_ERROR_CANCELLED,
            // A kind of error that this crate does not know yet.
            _ => WARPJIT_ERROR_INTERNAL,
        };
        Failure { status, text: error.to_string(), error: Some(Box::new(error)) }
    }
}

impl From<Denied> for Failure {
    fn from(source: Denied) -> Self {
        let text = source.to_string();
        let error = Some(Box::new(MemoryError::Gone { source }.into()));
        Failure { status: WARPJIT_ERROR_MEMORY, text, error }
    }
}

impl From<SourceErrors> for Failure {
    fn from(errors: SourceErrors) -> Self {
        Failure::new(WARPJIT_ERROR_PROGRAM, errors.to_string())
    }
}

impl From<CodeError> for Failure {
    fn from(source: CodeError) -> Self {
        Error::from(source).into()
    }
}

/// What unwinds from a callback that failed or panicked to the call that waits for it.
pub(crate) struct CallbackFailed(pub String);

thread_local! {
    /// This thread's last failure.
    static LAST: RefCell<Last> = RefCell::default();
}

/// A failure as it is kept.
#[derive(Default)]
struct Last {
    text: CString,
    kind: CString,
    error: Option<Box<Error>>,
}

/// A C string of a text. Zero bytes are left out.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

fn remember(failure: Failure) -> warpjit_status {
    let Failure { status, text, error } = failure;
    let kind = c_string(error.as_deref().map_or("", Error::kind));
    let last = Last { text: c_string(&text), kind, error };
    // A thread that is ending has no text any more.
    let _ = LAST.try_with(|place| *place.borrow_mut() = last);
    status
}

/// Runs the work of an entry point. Panics end here.
pub(crate) fn guard(work: impl FnOnce() -> Result<(), Failure>) -> warpjit_status {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return WARPJIT_OK,
        Ok(Err(failure)) => failure,
        Err(payload) => failure_of(payload),
    };
    remember(failure)
}

/// What a panic was about.
pub(crate) fn failure_of(payload: Box<dyn Any + Send>) -> Failure {
    let failure = match payload.downcast_ref::<CallbackFailed>() {
        Some(CallbackFailed(text)) => Failure::new(WARPJIT_ERROR_CALLBACK, text.clone()),
        None => Failure::new(WARPJIT_ERROR_INTERNAL, text_of(&*payload)),
    };
    // It may be of any type, and panic once more.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
    failure
}

/// The message of a panic.
pub(crate) fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".into())
}

/// The body of an exported function: its statements may use `?` and raw pointers. The result is a status.
#[macro_export]
#[doc(hidden)]
macro_rules! entry {
    ({ $($body:tt)* }) => {
        $crate::status::guard(|| {
            // SAFETY: the caller keeps the rules for pointers and callbacks (crate documentation).
            #[allow(unused_unsafe)]
            unsafe {
                $($body)*
            }
            Ok(())
        })
    };
}

/// What went wrong in the last call of this thread that returned an error; empty if there was none. The text is valid until the next call
/// on this thread that fails. It is never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn warpjit_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().text.as_ptr()).unwrap_or(EMPTY.as_ptr().cast())
}

/// Which kind of error the last call of this thread that failed has returned: the name that the Rust library has for it ("Overlap" of
/// `MemoryError::Overlap`), which stays when the text changes. Empty if the error is of this interface alone (a null pointer, a handle) or
/// of the assembler.
/// The text is valid until the next call on this thread that fails. It is never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn warpjit_last_error_kind() -> *const c_char {
    LAST.try_with(|last| last.borrow().kind.as_ptr()).unwrap_or(EMPTY.as_ptr().cast())
}

/// A number of the last error of this thread: of the field with that name ("address", "limit", "found", ..: those of the kind in the Rust
/// documentation). WARPJIT_ERROR_NOT_FOUND if it has none, which leaves the last error as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpjit_last_error_number(name: *const c_char, out: *mut u64) -> warpjit_status {
    let mut found = None;
    let status = entry!({
        let name = text(name, "name")?;
        let number = LAST.try_with(|last| last.borrow().error.as_ref().and_then(|error| error.number(name)));
        found = number.ok().flatten();
        if let Some(number) = found {
            put(out, number)?;
        }
    });
    if status == WARPJIT_OK && found.is_none() { WARPJIT_ERROR_NOT_FOUND } else { status }
}

/// A short name of a status. It is never NULL and valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn warpjit_status_name(status: warpjit_status) -> *const c_char {
    let name = usize::try_from(status).ok().and_then(|status| NAMES.get(status));
    name.copied().unwrap_or(b"unknown status\0").as_ptr().cast()
}
