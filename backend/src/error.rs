//! Why a region cannot be compiled.

use warpjit_ir::Opcode;

/// Why a region could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The region breaks a rule that the backend requires.
    #[error("malformed region: {0}")]
    Malformed(String),
    /// Something that only another generator knows.
    #[error("not with vectors of 256 bits: {0}")]
    Refused(String),
    /// An operation that regions must not contain.
    #[error("{} in a lane region", .0.name())]
    CrossLane(Opcode),
    /// This build has no code generator.
    #[error("this build has no code generator (cargo feature `jit`)")]
    LeftOut,
    /// The host is not supported.
    #[error("no code for this host: {0}")]
    Host(String),
    /// The chunk is no power of two of lanes, or does not divide the warp.
    #[error("chunks of {groups} groups of four lanes do not fit warps of {lanes} lanes")]
    Groups {
        /// Groups asked for.
        groups: u8,
        /// Lanes of the warp.
        lanes: u32,
    },
    /// Cranelift rejected the code.
    #[error("code generator: {0}")]
    Codegen(String),
}
