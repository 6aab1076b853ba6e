//! Why a configuration is refused.

use warpjit_frontend::error_kinds;

error_kinds! {
    /// Why a configuration is refused.
    ConfigError {
        /// No such chunk.
        #[error("chunk of {groups} groups, possible are 0, 1, 2, 4, 8 and 16")]
        Chunk {
            /// Groups of four lanes that were asked for.
            groups: u8,
        },
        /// Too many threads.
        #[error("{threads} threads, possible are up to {limit}")]
        Threads {
            /// How many were asked for.
            threads: usize,
            /// The most.
            limit: usize,
        },
        /// This host cannot run generated code of that kind.
        #[error("{reason}")]
        Host {
            /// What it lacks.
            reason: String,
        },
    }
}
