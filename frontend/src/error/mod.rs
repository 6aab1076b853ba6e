//! The errors of the front ends: why a container, a program or assembly source is refused.

mod code;
mod kinds;

pub use code::CodeError;
#[doc(hidden)]
pub use kinds::Number;

use std::fmt;

use warpjit_ir::Stopped;

/// Why a file cannot be taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ContainerError {
    /// No bytes at all.
    #[error("the file is empty")]
    Empty,
    /// Raw code that no code space has room for.
    #[error("raw code of {len:#x} bytes is longer than {most:#x}")]
    TooLong {
        /// Length of the file.
        len: u64,
        /// Most bytes of code.
        most: u64,
    },
    /// Raw code that is not a whole number of words.
    #[error("offset {len:#x}: raw code ends within a 32-bit word")]
    RaggedWords {
        /// Length of the file.
        len: u64,
    },
    /// A text cubin is wrong.
    #[error("line {line}: {reason}")]
    Text {
        /// Line, from 1.
        line: u32,
        /// Why.
        reason: String,
    },
    /// An ELF file is wrong.
    #[error("offset {offset:#x}: {reason}")]
    Elf {
        /// Offset in the file.
        offset: u64,
        /// Why.
        reason: String,
    },
    /// The file is for another machine.
    #[error("offset {offset:#x}: {what} is not supported")]
    Unsupported {
        /// Offset in the file.
        offset: u64,
        /// What it is for.
        what: String,
    },
    /// The file holds something else than code of the chips here.
    #[error("this is {what}: {help}")]
    Foreign {
        /// What it is.
        what: String,
        /// What its owner can do.
        help: String,
    },
    /// The module has no kernel of that name, or several and no name was given.
    #[error("{reason}; kernels: {names}")]
    Kernel {
        /// Why.
        reason: String,
        /// The names of the kernels that the file has.
        names: String,
    },
    /// The budget is used up, or the work was cancelled.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Why a program cannot be taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// The container is bad.
    #[error(transparent)]
    Container(#[from] ContainerError),
    /// The front end says no.
    #[error(transparent)]
    Program(#[from] CodeError),
    /// The budget is used up, or the work was cancelled.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// What is wrong with a line of a source.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{line}:{column}: {reason}")]
pub struct SourceError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Why.
    pub reason: String,
}

/// Everything wrong with a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceErrors(pub Vec<SourceError>);

impl fmt::Display for SourceErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index != 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for SourceErrors {}
