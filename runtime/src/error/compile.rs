//! Why code cannot be compiled, or takes too much.

use std::time::Duration;
use warpjit_frontend::error_kinds;
use warpjit_ir::meter::{Exceeded, Limit, Task};

error_kinds! {
    /// Why a region of a program cannot be compiled. The interpreter runs it then.
    CompileError {
        /// A region that the code generator does not take, which is a defect of this library.
        #[error("malformed region: {reason}")]
        Malformed {
            /// Which rule it breaks.
            reason: String,
        },
        /// Something that only another code generator knows.
        #[error("not with vectors of 256 bits: {reason}")]
        Vectors {
            /// What it is.
            reason: String,
        },
        /// An operation that looks at other lanes.
        #[error("{operation} in a lane region")]
        CrossLane {
            /// The operation's name in the IR.
            operation: &'static str,
        },
        /// This build has no code generator.
        #[error("this build has no code generator (cargo feature `jit`)")]
        LeftOut,
        /// The host is not supported.
        #[error("no code for this host: {reason}")]
        NoHost {
            /// Why.
            reason: String,
        },
        /// The number of groups is no power of two, or does not divide the warp.
        #[error("chunks of {groups} groups of four lanes do not fit warps of {lanes} lanes")]
        Groups {
            /// Groups of four lanes.
            groups: u8,
            /// Lanes of the warp.
            lanes: u32,
        },
        /// The code generator gives up.
        #[error("code generator: {reason}")]
        Generator {
            /// Why.
            reason: String,
        },
    }
}

impl From<warpjit_backend::Error> for CompileError {
    fn from(error: warpjit_backend::Error) -> Self {
        use warpjit_backend::Error;
        match error {
            Error::Malformed(reason) => CompileError::Malformed { reason },
            Error::Refused(reason) => CompileError::Vectors { reason },
            Error::CrossLane(op) => CompileError::CrossLane { operation: op.name() },
            Error::LeftOut => CompileError::LeftOut,
            Error::Host(reason) => CompileError::NoHost { reason },
            Error::Groups { groups, lanes } => CompileError::Groups { groups, lanes },
            Error::Codegen(reason) => CompileError::Generator { reason },
        }
    }
}

error_kinds! {
    /// What of a [`crate::Budget`] is used up. As numbers, times are nanoseconds.
    BudgetError {
        /// The time.
        #[error("{}", over(*.task, Limit::Time(*.limit), *.region, .stage))]
        BudgetTime {
            /// What was being done.
            task: Task,
            /// How long it may take.
            limit: Duration,
            /// If a region was being compiled: the address of its first instruction, as in [`crate::Fault::pc`].
            region: Option<u32>,
            /// The part of the work.
            stage: &'static str,
        },
        /// The memory.
        #[error("{}", over(*.task, Limit::Bytes(*.limit), *.region, .stage))]
        BudgetBytes {
            /// What was being done.
            task: Task,
            /// How many bytes it may take.
            limit: u64,
            /// If a region was being compiled: the address of its first instruction, as in [`crate::Fault::pc`].
            region: Option<u32>,
            /// The part of the work.
            stage: &'static str,
        },
    }
}

fn over(task: Task, limit: Limit, region: Option<u32>, stage: &'static str) -> Exceeded {
    Exceeded { task, limit, region, stage }
}

impl From<Exceeded> for BudgetError {
    fn from(Exceeded { task, limit, region, stage }: Exceeded) -> Self {
        match limit {
            Limit::Time(limit) => BudgetError::BudgetTime { task, limit, region, stage },
            Limit::Bytes(limit) => BudgetError::BudgetBytes { task, limit, region, stage },
        }
    }
}
