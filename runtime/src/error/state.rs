//! Why a saved launch is refused.

use warpjit_frontend::error_kinds;

error_kinds! {
    /// Why a saved launch is refused.
    StateError {
        /// The bytes are something else.
        #[error("these bytes are no saved launch")]
        Foreign,
        /// The bytes end in the head.
        #[error("it is cut off")]
        Cut,
        /// The bytes are of another version of the format.
        #[error("its format has version {found}, known is {known}")]
        Version {
            /// Theirs.
            found: u32,
            /// The library's.
            known: u32,
        },
        /// The checksum is another.
        #[error("it is cut off or damaged")]
        Damaged,
        /// The checksum is right, and yet these are no bytes that the library writes.
        #[error("the bytes contradict themselves")]
        Contradiction,
        /// It is of another program.
        #[error("it is of another program")]
        OtherProgram,
        /// It is of another launch.
        #[error("it is of another launch of this program")]
        OtherLaunch,
        /// It has other blocks than the launch.
        #[error("its blocks are not those of the launch")]
        OtherBlocks,
        /// The launch's memory segments have another size.
        #[error("a memory segment has another size: {found} bytes are saved, the launch has {wanted}")]
        Segments {
            /// Bytes that were saved.
            found: u64,
            /// Bytes that the launch has.
            wanted: u64,
        },
        /// A block is in no state that it can be in.
        #[error("{reason}")]
        Block {
            /// Why.
            reason: &'static str,
        },
        /// Guest memory was not saved with it.
        #[error("it has no guest memory")]
        NoMemory,
    }
}
