//! Why a program is refused.

use super::ImageError;
use crate::{Chip, Isa};
use warpjit_frontend::{CodeError, error_kinds};
use warpjit_ir::interp::InvalidCode;
use warpjit_ir::verify::VerifyError;

error_kinds! {
    /// Why a program is refused.
    ProgramError {
        /// A front end refuses the code, or what is said of it.
        #[error("{source}")]
        Code {
            /// Why.
            source: CodeError,
        },
        /// The function of an image is not valid.
        #[error("{source}")]
        Invalid {
            /// Every broken rule.
            source: VerifyError,
        },
        /// The interpreter cannot run a function.
        #[error("{source}")]
        NotRunnable {
            /// Why.
            source: InvalidCode,
        },
        /// An image contradicts itself, or the interface of its graphics stage.
        #[error("{name}: {source}")]
        Image {
            /// The program's name.
            name: String,
            /// How.
            source: ImageError,
        },
        /// No bundle of VP1 begins there.
        #[error("no bundle at word {word:#x}")]
        NoBundle {
            /// The word's number.
            word: u32,
        },
        /// The options name an entry or a base of code in guest memory.
        #[error("entry and base are of code in a file, not in guest memory")]
        EntryOfFile,
        /// The instruction set has no code segments.
        #[error("{isa} has no code segments")]
        NoCodeSegments {
            /// The instruction set.
            isa: Isa,
        },
        /// Raw code without a chip.
        #[error("raw code needs a chip")]
        NoChip,
        /// `rsrc1` or `rsrc2` for something else than raw code of GCN.
        #[error("rsrc1 and rsrc2 are for raw code of gcn only")]
        Rsrc,
        /// The container has code of another instruction set.
        #[error("code is for {found}, not {wanted}")]
        OtherIsa {
            /// Of the container.
            found: Isa,
            /// Of the options.
            wanted: Isa,
        },
        /// The chip is of another instruction set.
        #[error("code is for {isa}, {chip} is a chip of {}", .chip.isa())]
        OtherChip {
            /// Of the code.
            isa: Isa,
            /// The chip.
            chip: Chip,
        },
        /// A graphics stage of a kernel in a container.
        #[error("{stage} programs are raw code, not kernels of a container")]
        StageOfContainer {
            /// The stage's name.
            stage: &'static str,
        },
    }
}
