//! The runtime's errors: of settings, of guest memory, of loading a program and of starting a launch. What guest code does wrong
//! is a [`crate::Fault`] instead.
//!
//! An error is data: a kind, and what was wanted and found. The kinds are made by one macro (`error_kinds` of warpjit-frontend), so that
//! bindings can ask for the name of a kind and for its numbers without a table of their own.

mod compile;
mod config;
mod container;
mod dependency;
mod image;
mod kinds;
mod launch;
mod memory;
mod program;
mod state;

pub use compile::{BudgetError, CompileError};
pub use config::ConfigError;
pub use dependency::DependencyError;
pub use image::ImageError;
pub use kinds::Axis;
pub use launch::{LaunchError, RowsError};
pub use memory::{Addresses, MemoryError};
pub use program::ProgramError;
pub use state::StateError;
pub use warpjit_frontend::CodeError;

use std::fmt;
use warpjit_frontend::container::ContainerError;
use warpjit_ir::Stopped;

/// Why the runtime refuses or cannot do something.
///
/// The text names no file. The caller who read the file adds its name.
///
/// ```
/// use warpjit_runtime::{Access, Error, Memory, MemoryError};
///
/// let memory = Memory::new()?;
/// memory.map(Some(0x10_0000), 0x3000, Access::ReadWrite)?;
/// let error = memory.map(Some(0x10_2000), 0x1000, Access::ReadWrite).unwrap_err();
/// let Error::Memory(MemoryError::Overlap { other, other_end, .. }) = &error else { panic!("{error}") };
/// assert_eq!((*other, *other_end), (0x10_0000, 0x10_3000));
/// // The same by name, as bindings ask for it.
/// assert_eq!((error.kind(), error.number("other")), ("Overlap", Some(0x10_0000)));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused memory or a signal handler.
    Os {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        reason: String,
        /// Its number (`errno`), where it gave one.
        code: Option<i32>,
    },
    /// A buffer cannot be mapped, unmapped, read or written.
    Memory(MemoryError),
    /// The container is unusable. It says where and why.
    Container(ContainerError),
    /// The program (code, kernel name, options) is unusable.
    Program(ProgramError),
    /// The launch (grid, block, arguments, spaces) is unusable.
    Launch(LaunchError),
    /// The configuration asks for what this host or build cannot do.
    Config(ConfigError),
    /// Compiling a region failed: a limit of the code generator.
    Compile(CompileError),
    /// Loading a program, or making it ready for a launch, took more time or memory than [`crate::Config::budget`] allows.
    Budget(BudgetError),
    /// A saved launch cannot be read, or not be continued by this launch.
    State(StateError),
    /// A [`crate::CancelToken`] has ended the loading of a program, or a submission was cancelled before it began.
    Cancelled,
    /// The deadline of a submission passed before it began.
    Deadline,
    /// A submission did not begin, because one that it waits for ([`crate::Submission::after`]) faulted, was cancelled or failed.
    Dependency(DependencyError),
    /// A function of the embedder has panicked while a submission ran. The panic itself came out where the submission was first waited
    /// for.
    Panicked,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Os { what, reason, .. } => write!(f, "{what}: {reason}"),
            Error::Memory(error) => write!(f, "guest memory: {error}"),
            Error::Container(error) => error.fmt(f),
            Error::Program(error) => error.fmt(f),
            Error::Launch(error) => write!(f, "launch: {error}"),
            Error::Config(error) => write!(f, "configuration: {error}"),
            Error::Compile(error) => write!(f, "compile: {error}"),
            Error::Budget(error) => error.fmt(f),
            Error::State(error) => write!(f, "saved launch: {error}"),
            Error::Cancelled => f.write_str("cancelled"),
            Error::Deadline => f.write_str("the deadline has passed"),
            Error::Dependency(error) => write!(f, "a submission that this one waits for: {error}"),
            Error::Panicked => f.write_str("a callback has panicked"),
        }
    }
}

impl std::error::Error for Error {
    /// What is beneath: of the parts of this error it is their source, since its own text says what they say.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Memory(error) => error.source(),
            Error::Container(error) => error.source(),
            Error::Program(error) => error.source(),
            // Who looks for its type finds it without the box.
            Error::Launch(LaunchError::Segment { source, .. }) => Some(&**source),
            Error::Dependency(DependencyError::Faulted { source }) => Some(&**source),
            Error::Dependency(DependencyError::Failed { source }) => Some(&**source),
            Error::Launch(error) => error.source(),
            Error::Config(error) => error.source(),
            Error::Compile(error) => error.source(),
            Error::Budget(error) => error.source(),
            Error::State(error) => error.source(),
            Error::Dependency(error) => error.source(),
            _ => None,
        }
    }
}

macro_rules! from {
    ($($kind:ident($error:ty);)*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Error::$kind(error)
            }
        })*
    };
}

from! {
    Memory(MemoryError);
    Program(ProgramError);
    Launch(LaunchError);
    Config(ConfigError);
    Compile(CompileError);
    Budget(BudgetError);
    Dependency(DependencyError);
    State(StateError);
}

impl From<Stopped> for Error {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Cancelled => Error::Cancelled,
            Stopped::OverBudget(exceeded) => BudgetError::from(*exceeded).into(),
        }
    }
}

impl Error {
    /// The name of the kind: of the error's part where it has one (`Overlap` of [`MemoryError::Overlap`]), else of itself. Names stay
    /// when texts change.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Os { .. } => "Os",
            Error::Memory(error) => error.kind(),
            Error::Container(error) => container::kind(error),
            Error::Program(ProgramError::Image { source, .. }) => source.kind(),
            Error::Program(ProgramError::Code { source }) => source.kind(),
            Error::Program(error) => error.kind(),
            Error::Launch(LaunchError::Rows { source, .. }) => source.kind(),
            Error::Launch(error) => error.kind(),
            Error::Config(error) => error.kind(),
            Error::Compile(error) => error.kind(),
            Error::Budget(error) => error.kind(),
            Error::State(error) => error.kind(),
            Error::Cancelled => "Cancelled",
            Error::Deadline => "Deadline",
            Error::Dependency(error) => error.kind(),
            Error::Panicked => "Panicked",
        }
    }

    /// The number in the field with a name, of an error of any kind; `None` if the kind has no such field, or it holds no number. A truth
    /// value is 0 or 1, what [`crate::Denied`] says is the address.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self {
            Error::Os { code, .. } if name == "code" => u64::try_from((*code)?).ok(),
            Error::Memory(error) => error.number(name),
            Error::Container(error) => container::number(error, name),
            Error::Program(ProgramError::Image { source, .. }) => source.number(name),
            Error::Program(ProgramError::Code { source }) => source.number(name),
            Error::Program(error) => error.number(name),
            Error::Launch(LaunchError::Rows { source, .. }) => source.number(name),
            Error::Launch(LaunchError::Segment { source, .. }) => source.number(name),
            Error::Launch(error) => error.number(name),
            Error::Config(error) => error.number(name),
            Error::Compile(error) => error.number(name),
            Error::Budget(error) => error.number(name),
            // What is wrong with the other one.
            Error::Dependency(DependencyError::Failed { source }) => source.number(name),
            Error::Dependency(error) => error.number(name),
            Error::State(error) => error.number(name),
            _ => None,
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Bindings tell errors by their group and kind.
    #[test]
    fn a_name_stands_for_one_kind_of_program_errors() {
        let kinds = || [ProgramError::KINDS, ImageError::KINDS, CodeError::KINDS].into_iter().flatten();
        let names: BTreeSet<_> = kinds().collect();
        assert!(names.len() > 60);
        assert_eq!(names.len(), kinds().count());
    }
}
