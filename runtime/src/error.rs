//! The runtime's errors: of settings, of guest memory, of loading a program and of starting a launch. What guest code does wrong
//! is a [`crate::Fault`] instead.

use std::fmt;
use warpjit_frontend::container::ContainerError;
use warpjit_ir::Stopped;

/// Why the runtime refuses or cannot do something.
///
/// The text names no file. The caller who read the file adds its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused memory or a signal handler.
    #[error("{what}: {reason}")]
    Os {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        reason: String,
        /// Its number (`errno`), where it gave one.
        code: Option<i32>,
    },
    /// A buffer cannot be mapped, unmapped, read or written.
    #[error("guest memory: {0}")]
    Memory(String),
    /// The container is unusable. The source says where and why.
    #[error(transparent)]
    Container(ContainerError),
    /// The program (code, kernel name, options) is unusable.
    #[error("{0}")]
    Program(String),
    /// The launch (grid, block, arguments, spaces) is unusable.
    #[error("launch: {0}")]
    Launch(String),
    /// The configuration asks for what this host or build cannot do.
    #[error("configuration: {0}")]
    Config(String),
    /// Compiling a region failed: a limit of the code generator.
    #[error("compile: {0}")]
    Compile(String),
    /// Loading a program, or making it ready for a launch, took more time or memory than [`crate::Config::budget`] allows; the text says
    /// which and where.
    #[error("{0}")]
    Budget(String),
    /// A saved launch cannot be read, or not be continued by this launch.
    #[error("saved launch: {0}")]
    State(String),
    /// A [`crate::CancelToken`] has ended the loading of a program, or a submission was cancelled before it began.
    #[error("cancelled")]
    Cancelled,
    /// The deadline of a submission passed before it began.
    #[error("the deadline has passed")]
    Deadline,
    /// A submission did not begin, because one that it waits for ([`crate::Submission::after`]) faulted, was cancelled or failed; the text
    /// says what.
    #[error("a submission that this one waits for: {0}")]
    Dependency(String),
    /// A function of the embedder has panicked while a submission ran. The panic itself came out where the submission was first waited
    /// for.
    #[error("a callback has panicked")]
    Panicked,
}

impl From<Stopped> for Error {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Cancelled => Error::Cancelled,
            Stopped::OverBudget(exceeded) => Error::Budget(exceeded.to_string()),
        }
    }
}

impl Error {
    /// Wraps what the operating system said.
    pub(crate) fn os(what: &'static str, reason: impl Reason) -> Self {
        Error::Os { what, reason: reason.to_string(), code: reason.code() }
    }
}

/// What the operating system, or what stands for it, can say.
pub(crate) trait Reason: fmt::Display {
    /// The number of the error.
    fn code(&self) -> Option<i32> {
        None
    }
}

impl Reason for std::io::Error {
    fn code(&self) -> Option<i32> {
        self.raw_os_error()
    }
}

impl Reason for rustix::io::Errno {
    fn code(&self) -> Option<i32> {
        Some(self.raw_os_error())
    }
}

impl Reason for String {}

impl Reason for &str {}
