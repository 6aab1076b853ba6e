//! The error of a launch file: what is wrong, and where.

use std::fmt;
use std::path::PathBuf;

/// An error in a launch file: where it stands and what would be allowed.
///
/// It prints as `FILE:LINE: KEY: REASON`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct LaunchFileError {
    /// The launch file.
    pub file: PathBuf,
    /// The line in it, counted from one, where the parser knows one.
    pub line: Option<usize>,
    /// The key in question, as a path such as `buffer[1].address`; empty for the file as a whole.
    pub key: String,
    /// What is wrong, and what is allowed.
    pub reason: String,
}

impl fmt::Display for LaunchFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// Result of reading a part of a launch file.
pub type Result<T> = std::result::Result<T, LaunchFileError>;
