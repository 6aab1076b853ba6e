//! Graphics stages: what a launch gives to a program and takes from it ([`StageInterface`]), and where the lifted program has it
//! ([`StageLayout`]).
//!
//! A stage runs as a compute launch whose blocks are single warps. Inputs and outputs of a lane are words of its local
//! memory, behind the guest's own: the runtime writes the inputs before a warp starts and reads the outputs when it has
//! ended. The lifter turns every access to the guest's attribute spaces, and every register that starts or ends with
//! something, into loads and stores there.
//!
//! The interface is known when the program is loaded, as a pipeline's state is known when a driver compiles. What is not asked for is not
//! computed.

use std::ops::Range;

use crate::isa::Stage;

/// Inputs and outputs of a program of a graphics stage.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct StageInterface {
    /// The stage.
    pub stage: Stage,
    /// Geometry, tessellation: input vertices of a primitive or patch.
    pub vertices: u32,
    /// Tessellation control: threads (output vertices) of a patch. Geometry: threads of a primitive. 1 elsewhere.
    pub invocations: u32,
    /// Geometry: most vertices that a thread emits.
    pub max_vertices: u32,
    /// Geometry: vertex streams. With 0 or 1, only the first stream's vertices count; with more, vertices of all streams have rows, in the
    /// order in which they are emitted, and each row's flags say its stream.
    pub streams: u32,
    /// Inputs.
    pub inputs: Vec<StageInput>,
    /// Outputs.
    pub outputs: Vec<StageOutput>,
    /// GCN: the scalar register that starts with the offset of the wave's scratch memory, if RSRC2 asks for it. The launch says how the ring
    /// of scratch memory is shared out.
    pub scratch: Option<u8>,
}

/// Where a program finds an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InputPlace {
    /// Byte address in the stage's input space (Tesla, Fermi).
    Address(u32),
    /// Number of a vector register (GCN).
    Register(u32),
    /// Number of a parameter that interpolation reads (GCN).
    Attribute(u32),
}

/// What has a row of an input for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Per {
    /// Each vertex; of geometry and tessellation, each input vertex of each primitive or patch.
    Vertex,
    /// Each primitive or patch; of a fragment, the primitive of its quad.
    Primitive,
    /// All have one row.
    Launch,
    /// Tessellation evaluation: each point.
    Point,
    /// Tessellation evaluation: each patch, in patch space.
    Patch,
    /// Each pixel.
    Pixel,
    /// The primitive of a fragment's quad, as a plane: three floats a word (value at x = y = 0, change by x, change by y).
    Plane,
}

/// An input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StageInput {
    /// Where the program finds it.
    pub place: InputPlace,
    /// Consecutive words or registers.
    pub words: u32,
    /// What has a row for itself.
    pub per: Per,
}

/// How an input of a fragment program on Tesla and Fermi comes from the vertices of its primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// Not at all: the provoking vertex's word as bits ([`Per::Primitive`]).
    Constant,
    /// A plane of the attribute multiplied by 1/w: the program divides by the interpolated 1/w.
    Perspective,
    /// A plane of the attribute itself.
    Linear,
}

impl Interpolation {
    /// What has a row of such an input for itself.
    pub fn per(self) -> Per {
        match self {
            Interpolation::Constant => Per::Primitive,
            Interpolation::Perspective | Interpolation::Linear => Per::Plane,
        }
    }
}

/// What registers of a fragment program on Tesla and Fermi mean when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FragmentResult {
    /// Components of a colour, one register each.
    Colour {
        /// Number of the render target.
        target: u32,
        /// Bit c: component c (red is 0) has a register; the registers stand in the order of components.
        components: u8,
    },
    /// Which samples of the pixel are written, a bit each.
    SampleMask,
    /// Depth in window space, a float.
    Depth,
}

/// A target of GCN's exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExportTarget {
    /// Colour, 0 to 7.
    Mrt(u32),
    /// Depth, stencil, sample mask.
    Mrtz,
    /// Position, 0 to 3.
    Pos(u32),
    /// Parameter, 0 to 31.
    Param(u32),
}

/// Where a program leaves an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputPlace {
    /// Byte address in o[] (Tesla, Fermi).
    Address(u32),
    /// Byte address in patch space (tessellation control).
    Patch(u32),
    /// First general register at the end (fragment programs of Tesla and Fermi).
    Register(u32),
    /// An export; the flag says that compressed exports are written as the four floats of their halves.
    Export(ExportTarget, bool),
}

/// An output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StageOutput {
    /// Where the program leaves it.
    pub place: OutputPlace,
    /// Consecutive words.
    pub words: u32,
}

/// Vertex streams that geometry programs have, at most.
pub const MOST_STREAMS: u32 = 4;

/// Bit of a row's flags ([`StageLayout::cuts`]) from which on they have the number of the vertex's stream.
pub const STREAM_SHIFT: u32 = 8;

/// What the runtime tells a lane about its place, one word each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LaneWord {
    /// -1 if the lane has a vertex, patch vertex, point, primitive, or a pixel of a quad (helpers included), else 0. Of
    /// the last warp, lanes may have none.
    Present,
    /// -1 if the lane is present and, of a fragment, covered.
    Covered,
    /// x of the pixel's centre, a float.
    PixelX,
    /// y of the pixel's centre, a float.
    PixelY,
    /// Number of the thread in its patch or primitive.
    Invocation,
    /// Number of the patch in the warp.
    PatchInWarp,
}

/// The words of an input, or of one of its vertices, in the local memory of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputArea {
    /// Byte address of the first word (of the first vertex).
    pub start: u32,
    /// Bytes from word to word. The three floats of a plane, or of a GCN attribute, stand side by side at each word.
    pub word_stride: u32,
    /// Bytes from vertex to vertex, where a lane has several.
    pub vertex_stride: u32,
}

/// The words of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputArea {
    /// Whether it is in the shared memory of the warp's block, not in local memory.
    pub shared: bool,
    /// Byte address of the first word: of the lane's local memory; or in shared memory, where the lane's (patch outputs: the patch's) words
    /// begin `lane_stride` bytes later for each lane (patch in the warp).
    pub start: u32,
    /// Bytes from word to word.
    pub word_stride: u32,
    /// Geometry: bytes from one emitted vertex to the next. Shared: bytes from lane to lane, or patch to patch.
    pub row_stride: u32,
    /// Byte address (local) of a word for each word of the output, side by side, which is not 0 where the program has written it; if there
    /// is none, all are written. The runtime leaves rows alone where it is 0.
    pub written: Option<u32>,
}

/// Where a lifted program has its inputs and outputs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StageLayout {
    /// Lane words that the program reads, with their byte addresses in local memory.
    pub lane_words: Vec<(LaneWord, u32)>,
    /// Each input of [`StageInterface::inputs`]; `None`: the program reads none of it.
    pub inputs: Vec<Option<InputArea>>,
    /// Each output of [`StageInterface::outputs`].
    pub outputs: Vec<OutputArea>,
    /// Fragment: byte address (local) of a word that is not 0 at the end if the lane is covered and has not been discarded.
    pub alive: Option<u32>,
    /// Geometry: byte address (local) of the number of emitted vertices.
    pub emitted: Option<u32>,
    /// Geometry: byte address (local) of a word of flags for each emitted vertex: bit 0 is set if the strip was cut behind it, and with
    /// several streams the number of the vertex's stream is in the bits from [`STREAM_SHIFT`] on.
    pub cuts: Option<u32>,
    /// Inputs that the program reads and the interface does not have, as byte addresses, for messages.
    pub missing: Vec<u32>,
    /// Tessellation control: patches of a warp.
    pub patches_per_warp: u32,
    /// Byte ranges of local memory whose words each lane writes before it or the runtime reads them. They need not begin as zeros.
    pub scratch: Vec<Range<u32>>,
    /// How many of the chip's warps may run as one; 0 and 1 mean the same.
    pub joined: u32,
}
