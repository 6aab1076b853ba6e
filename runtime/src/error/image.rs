//! How an image contradicts itself, or the interface of its graphics stage.

use crate::stage::Per;
use warpjit_frontend::error_kinds;

error_kinds! {
    /// How an image contradicts itself, or the interface of its graphics stage.
    ImageError {
        /// The function has been through if-conversion.
        #[error("not in SPMD form")]
        MaskForm,
        /// The function is for warps of another size.
        #[error("code for {found} lanes, warps of {warp}")]
        WarpLanes {
            /// Of the function.
            found: u32,
            /// Of the image.
            warp: u32,
        },
        /// A warp's registers take too much memory.
        #[error("too many registers")]
        FrameBytes {
            /// What they take.
            bytes: u64,
            /// The most.
            limit: u64,
        },
        /// More shared or local memory than there may be.
        #[error("shared or local memory of more than {limit:#x} bytes")]
        SpaceBytes {
            /// What the image asks for.
            bytes: u32,
            /// The most.
            limit: u32,
        },
        /// A segment that does not begin at a page.
        #[error("the {segment} does not begin at a page")]
        SegmentStart {
            /// The segment.
            segment: &'static str,
            /// Where it begins.
            address: u64,
        },
        /// A register with an offset in a segment that has none for each warp.
        #[error("register {register} names segment {segment}")]
        WarpSegment {
            /// The register.
            register: String,
            /// The segment's number.
            segment: u8,
        },
        /// Another name of registers, of which some are not of the kind that it needs.
        #[error("register {register} is not made of slots of its kind")]
        Alias {
            /// The name.
            register: String,
        },
        /// A function or table with the name of a front end's, or one that only a front end may have.
        #[error("{function} is none of a front end's")]
        Foreign {
            /// Its name.
            function: &'static str,
        },
        /// The image has no layout for a stage.
        #[error("{stage} programs of this kind are not supported")]
        NoStage {
            /// The stage.
            stage: &'static str,
        },
        /// Too many vertices or threads.
        #[error("more than {limit} vertices or threads of a primitive")]
        Vertices {
            /// The most.
            limit: u32,
        },
        /// A stage of primitives that have nothing.
        #[error("a {stage} program has at least one vertex and one thread")]
        EmptyPrimitive {
            /// The stage.
            stage: &'static str,
        },
        /// A geometry stage that emits nothing.
        #[error("a geometry program emits at least one vertex")]
        NoVertices,
        /// Too many vertex streams.
        #[error("there are {limit} vertex streams at most")]
        Streams {
            /// How many.
            streams: u32,
            /// The most.
            limit: u32,
        },
        /// The patches of a warp do not fit into it.
        #[error("{lanes} lanes of patches in a warp of {warp}")]
        PatchLanes {
            /// Lanes that they take.
            lanes: u64,
            /// Lanes that there are.
            warp: usize,
        },
        /// The layout has other inputs or outputs than the interface.
        #[error("its layout is not of this interface")]
        OtherLayout,
        /// An input of what the stage does not have.
        #[error("{stage} programs have no inputs per {per:?}")]
        InputPer {
            /// The stage.
            stage: &'static str,
            /// What has a row.
            per: Per,
        },
        /// An input or output of a size that is not possible.
        #[error("an input or output of {words} words")]
        Words {
            /// Its size.
            words: u32,
            /// The most.
            limit: u32,
        },
        /// An input or output where a lane has no memory.
        #[error("an input or output at {address:#x}, beyond the memory of the lanes")]
        Beyond {
            /// Where it is.
            address: u64,
        },
        /// Two inputs in one place.
        #[error("two inputs at {address:#x}")]
        TwoInputs {
            /// The place.
            address: u64,
        },
        /// An output that is not at a multiple of four.
        #[error("an output that does not stand at whole words")]
        RaggedOutput {
            /// Where it begins.
            address: u32,
        },
    }
}
