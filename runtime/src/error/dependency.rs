//! Why a submission that waits for another one did not begin.

use super::Error;
use crate::Fault;
use warpjit_frontend::error_kinds;

error_kinds! {
    /// What became of a submission that another one waits for ([`crate::Submission::after`]).
    DependencyError {
        /// Its guest did something wrong.
        #[error("{source}")]
        Faulted {
            /// What.
            source: Box<Fault>,
        },
        /// It could not run, or waited for one that failed.
        #[error("{source}")]
        Failed {
            /// Why.
            source: Box<Error>,
        },
        /// It was cancelled while it ran.
        #[error("cancelled")]
        Stopped,
        /// It belongs to the process that this one was forked from.
        #[error("it belongs to another process")]
        OtherProcess,
    }
}
