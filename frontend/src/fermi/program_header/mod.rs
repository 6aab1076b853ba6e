//! The shader program header: the 80 bytes ahead of the code of each program of a graphics stage.
//!
//! [`ProgramHeader::parse`] reads it. [`ProgramHeader::inputs`] and [`ProgramHeader::outputs`] say what the program takes and gives, and
//! [`ProgramHeader::interface`] says the same in the words of a launch: its inputs and outputs have the same order. Code is loaded without
//! its header ([`ProgramHeader::split`]).
//!
//! Facts: docs/hardware/graphics-nv.md section 3.8 (the fields), section 3.1 (addresses), section 3.7 (registers at exit);
//! docs/hardware/drivers-nv.md (where a driver puts headers).

mod map;
#[cfg(test)]
mod tests;

use super::{Chip, Family};
use crate::error::CodeError;
use crate::isa::Stage;
use crate::stage::{
    FragmentResult, InputPlace, Interpolation, OutputPlace, Per, StageInput, StageInterface, StageOutput,
};

pub use map::WordSet;
use map::pixel_inputs;

/// Byte addresses of the attribute space (docs/hardware/graphics-nv.md section 3.1).
mod address {
    pub(super) const PRIMITIVE_ID: u32 = 0x60;
    pub(super) const POINT_SIZE: u32 = 0x6c;
    pub(super) const POSITION: u32 = 0x70;
    pub(super) const GENERIC: u32 = 0x80;
    pub(super) const COLOUR: u32 = 0x280;
    pub(super) const CLIP_DISTANCE: u32 = 0x2c0;
    pub(super) const POINT_COORDINATE: u32 = 0x2e0;
    pub(super) const FOG: u32 = 0x2e8;
    pub(super) const TESS_COORDINATE: u32 = 0x2f0;
    pub(super) const INSTANCE_ID: u32 = 0x2f8;
    pub(super) const VERTEX_ID: u32 = 0x2fc;
    pub(super) const TEXTURE_COORDINATE: u32 = 0x300;
    pub(super) const FACING: u32 = 0x3fc;
}

/// Most vertices that a thread of a geometry program emits.
const MOST_VERTICES: u32 = 1024;

/// A shader program header (docs/hardware/graphics-nv.md section 3.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramHeader {
    /// The stage. "Vertex A" is a vertex program, too.
    pub stage: Stage,
    /// Version of the header's format; drivers write 3.
    pub version: u32,
    /// Version of the instruction set; drivers write 1.
    pub sass_version: u32,
    /// Pixel: each render target has its own colour. If not, the colour of target 0 goes to all targets.
    pub multiple_targets: bool,
    /// Pixel: the program discards. Without it `discard` does nothing.
    pub kills_pixels: bool,
    /// The program stores to global memory.
    pub global_store: bool,
    /// The program loads from or stores to global or local memory. Without it such instructions do nothing.
    pub load_or_store: bool,
    /// The program uses doubles. Without it such instructions do nothing.
    pub fp64: bool,
    /// Geometry: bit n: vertex stream n is written.
    pub stream_mask: u8,
    /// Bytes of local memory of a thread at addresses from 0 up.
    pub local_bytes_low: u32,
    /// Bytes of local memory of a thread at negative addresses.
    pub local_bytes_high: u32,
    /// Tessellation control: words of patch space that it gives, from patch address 0 on.
    pub patch_words: u32,
    /// Tessellation control: threads of a patch. Geometry: threads of a primitive. As the header has it: see
    /// [`ProgramHeader::invocations`].
    pub threads: u32,
    /// Bytes of a warp's call stack in memory; 0: it has 16 entries on the chip.
    pub stack_bytes: u32,
    /// Geometry: what vertices become.
    pub output_topology: Option<OutputTopology>,
    /// Geometry: most vertices that a thread emits; more are dropped.
    pub max_output_vertices: u32,
    /// Byte addresses of the first and last word of its outputs that a program reads back; `None`: it reads none.
    pub read_back: Option<(u32, u32)>,
    /// Which words the program takes and gives.
    pub maps: Maps,
}

/// What a geometry program's vertices become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputTopology {
    /// A point each.
    Points,
    /// Strips of lines.
    LineStrip,
    /// Strips of triangles.
    TriangleStrip,
    /// A number that no source names.
    Other(u8),
}

/// The words that a program takes and gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Maps {
    /// Every stage but pixels.
    Vertices {
        /// Words that the program reads.
        inputs: WordSet,
        /// Words that it writes; of tessellation evaluation, also the coordinates, which it reads from there.
        outputs: WordSet,
    },
    /// Pixel programs.
    Pixels(PixelMaps),
}

/// What a pixel program takes and gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PixelMaps {
    /// Byte addresses of the words that it reads, ascending, but for the facing, which the header does not mention.
    pub inputs: Vec<(u32, Interpolation)>,
    /// Components (red is bit 0) of the colour of each render target that it writes.
    pub targets: [u8; 8],
    /// It writes the sample mask.
    pub sample_mask: bool,
    /// It writes the depth.
    pub depth: bool,
}

/// What decides about inputs and outputs and is not in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Surroundings {
    /// Geometry, tessellation: input vertices of a primitive or patch. The draw says that.
    pub vertices: u32,
    /// Tessellation evaluation: words of patch space, which are [`ProgramHeader::patch_words`] of the control program.
    /// Without one, there are the 6 words of the levels.
    pub patch_words: u32,
}

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InputKind {
    /// Words of a vertex: its attributes, or what the stage before gave it.
    Vertex,
    /// Number of the vertex.
    VertexId,
    /// Number of the instance. It has a row for each vertex; [`Per::Launch`] does where all vertices of a batch are of one instance.
    InstanceId,
    /// Number of the primitive or patch.
    PrimitiveId,
    /// u and v of a point of a patch.
    TessCoordinates,
    /// Patch space: outer levels (4 words), inner levels (2), patch attributes from 0x20 on.
    Patch,
    /// Words of a pixel: what the stage before gave the vertices.
    Pixel(Interpolation),
    /// x, y, depth of the pixel in the window, 1/w: planes without further factor.
    Position,
    /// 0xffffffff at the front of a primitive, 0 at its back.
    Facing,
}

impl InputKind {
    /// What has a row of it for itself.
    pub fn per(self) -> Per {
        match self {
            InputKind::Vertex | InputKind::VertexId | InputKind::InstanceId => Per::Vertex,
            InputKind::PrimitiveId | InputKind::Facing => Per::Primitive,
            InputKind::TessCoordinates => Per::Point,
            InputKind::Patch => Per::Patch,
            InputKind::Pixel(interpolation) => interpolation.per(),
            InputKind::Position => Per::Plane,
        }
    }
}

/// Consecutive words that a program takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HeaderInput {
    /// Byte address of the first word in the attribute space; of [`InputKind::Patch`], in patch space.
    pub address: u32,
    /// Number of words.
    pub words: u32,
    /// What they are.
    pub kind: InputKind,
}

/// What an output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputKind {
    /// Words of a vertex, for the next stage.
    Vertex,
    /// Words of patch space.
    Patch,
    /// What is written to render targets.
    Result(FragmentResult),
}

/// Consecutive words, or registers, that a program gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HeaderOutput {
    /// What they are.
    pub what: OutputKind,
    /// Where the program leaves them.
    pub place: OutputPlace,
    /// Number of words.
    pub words: u32,
}

/// Bits `low` to `high` of a word.
fn bits(word: u32, low: u32, high: u32) -> u32 {
    (word >> low) & (u32::MAX >> (31 - (high - low)))
}

impl ProgramHeader {
    /// Bytes of a header. The code begins behind it.
    pub const BYTES: usize = 80;

    /// Reads the header that the bytes begin with.
    ///
    /// # Errors
    /// When there are less than [`ProgramHeader::BYTES`], and as [`ProgramHeader::from_words`] says.
    pub fn parse(bytes: &[u8]) -> Result<ProgramHeader, CodeError> {
        let Some(bytes) = bytes.first_chunk::<{ ProgramHeader::BYTES }>() else {
            let required = ProgramHeader::BYTES;
            return Err(CodeError::HeaderBytes { required, found: bytes.len() });
        };
        let mut words = [0; 20];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        ProgramHeader::from_words(&words)
    }

    /// The header, and the code behind it.
    ///
    /// # Errors
    /// As [`ProgramHeader::parse`].
    pub fn split(bytes: &[u8]) -> Result<(ProgramHeader, &[u8]), CodeError> {
        Ok((ProgramHeader::parse(bytes)?, &bytes[ProgramHeader::BYTES..]))
    }

    /// Reads a header.
    ///
    /// # Errors
    /// When it is of no stage, or its kind (vertices or pixels) is not its stage's.
    pub fn from_words(words: &[u32; 20]) -> Result<ProgramHeader, CodeError> {
        let bit = |word: usize, bit: u32| words[word] >> bit & 1 != 0;
        let (kind, number) = (bits(words[0], 0, 4), bits(words[0], 10, 13));
        let stage = match (kind, number) {
            (1, 0 | 1) => Stage::Vertex,
            (1, 2) => Stage::TessControl,
            (1, 3) => Stage::TessEval,
            (1, 4) => Stage::Geometry,
            (2, 5) => Stage::Fragment,
            _ => return Err(CodeError::HeaderStage { kind, stage: number }),
        };
        let maps = if stage == Stage::Fragment {
            Maps::Pixels(PixelMaps {
                inputs: pixel_inputs(words),
                targets: std::array::from_fn(|target| (words[18] >> (4 * target) & 0xf) as u8),
                sample_mask: bit(19, 0),
                depth: bit(19, 1),
            })
        } else {
            let (inputs, outputs) = WordSet::of_header(words);
            Maps::Vertices { inputs, outputs }
        };
        let (first, last) = (bits(words[4], 12, 19), bits(words[4], 24, 31));
        Ok(ProgramHeader {
            stage,
            version: bits(words[0], 5, 9),
            sass_version: bits(words[0], 17, 20),
            multiple_targets: bit(0, 14),
            kills_pixels: bit(0, 15),
            global_store: bit(0, 16),
            load_or_store: bit(0, 26),
            fp64: bit(0, 27),
            stream_mask: bits(words[0], 28, 31) as u8,
            local_bytes_low: bits(words[1], 0, 23),
            local_bytes_high: bits(words[2], 0, 23),
            patch_words: bits(words[1], 24, 31),
            threads: bits(words[2], 24, 31),
            stack_bytes: bits(words[3], 0, 23),
            output_topology: match bits(words[3], 24, 27) {
                _ if stage != Stage::Geometry => None,
                1 => Some(OutputTopology::Points),
                6 => Some(OutputTopology::LineStrip),
                7 => Some(OutputTopology::TriangleStrip),
                other => Some(OutputTopology::Other(other as u8)),
            },
            max_output_vertices: bits(words[4], 0, 11),
            read_back: (first <= last).then_some((4 * first, 4 * last)),
            maps,
        })
    }

    /// The stage.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Bytes of local memory of a thread. What programs have at negative addresses is counted, but there is no memory at such addresses.
    pub fn local_bytes(&self) -> u32 {
        self.local_bytes_low + self.local_bytes_high
    }

    /// Threads of a patch (tessellation control) or primitive (geometry); 1 elsewhere.
    pub fn invocations(&self) -> u32 {
        match self.stage {
            Stage::TessControl | Stage::Geometry => self.threads.max(1),
            _ => 1,
        }
    }

    /// What the program takes, one entry for each run of consecutive words of one kind.
    ///
    /// The facing of pixels is always there: the header does not say whether a program reads it. What a program does
    /// not read costs nothing.
    pub fn inputs(&self, surroundings: &Surroundings) -> Vec<HeaderInput> {
        let mut inputs = Vec::new();
        match &self.maps {
            Maps::Pixels(pixels) => {
                for &(address, interpolation) in &pixels.inputs {
                    let kind = match address {
                        address::PRIMITIVE_ID => InputKind::PrimitiveId,
                        address::POSITION..address::GENERIC => InputKind::Position,
                        _ => InputKind::Pixel(interpolation),
                    };
                    add(&mut inputs, address, kind);
                }
                add(&mut inputs, address::FACING, InputKind::Facing);
            }
            Maps::Vertices { inputs: words, outputs } => {
                let mut words = *words;
                if self.stage == Stage::TessEval {
                    for address in outputs.iter().filter(|&address| is_tess_coordinate(address)) {
                        words.insert(address);
                    }
                }
                for address in words.iter() {
                    add(&mut inputs, address, self.kind_of_word(address));
                }
                if self.stage == Stage::TessEval && surroundings.patch_words > 0 {
                    let words = surroundings.patch_words.min(0x100);
                    inputs.push(HeaderInput { address: 0, words, kind: InputKind::Patch });
                }
            }
        }
        inputs
    }

    /// What an input word of a stage other than pixels is.
    fn kind_of_word(&self, address: u32) -> InputKind {
        match (self.stage, address) {
            (Stage::Vertex, address::VERTEX_ID) => InputKind::VertexId,
            (Stage::Vertex, address::INSTANCE_ID) => InputKind::InstanceId,
            (Stage::TessControl | Stage::TessEval | Stage::Geometry, address::PRIMITIVE_ID) => {
                InputKind::PrimitiveId
            }
            (Stage::TessEval, _) if is_tess_coordinate(address) => InputKind::TessCoordinates,
            _ => InputKind::Vertex,
        }
    }

    /// What the program gives: runs of consecutive words of a vertex; the words of its patch; of pixel programs, registers when it ends.
    ///
    /// Colours have registers from `$r0` on, without gaps. The sample mask's follows. The depth's is the next one on GF100 to GF119; on
    /// GK104 the mask's register is left free where there is no mask (docs/hardware/graphics-nv.md section 3.7).
    pub fn outputs(&self, chip: Chip) -> Vec<HeaderOutput> {
        let mut outputs = Vec::new();
        match &self.maps {
            Maps::Pixels(pixels) => {
                let mut register = 0;
                let mut result = |register, words, result| {
                    let (what, place) = (OutputKind::Result(result), OutputPlace::Register(register));
                    outputs.push(HeaderOutput { what, place, words });
                };
                for (target, &components) in (0..).zip(&pixels.targets) {
                    let words = components.count_ones();
                    if words > 0 {
                        result(register, words, FragmentResult::Colour { target, components });
                    }
                    register += words;
                }
                if pixels.sample_mask {
                    result(register, 1, FragmentResult::SampleMask);
                }
                if pixels.sample_mask || chip.family() == Family::Gk104 {
                    register += 1;
                }
                if pixels.depth {
                    result(register, 1, FragmentResult::Depth);
                }
            }
            Maps::Vertices { outputs: words, .. } => {
                let is_input = |address| self.stage == Stage::TessEval && is_tess_coordinate(address);
                for address in words.iter().filter(|&address| !is_input(address)) {
                    match outputs.last_mut() {
                        Some(HeaderOutput { place: OutputPlace::Address(first), words, .. })
                            if *first + 4 * *words == address =>
                        {
                            *words += 1;
                        }
                        _ => {
                            let place = OutputPlace::Address(address);
                            outputs.push(HeaderOutput { what: OutputKind::Vertex, place, words: 1 });
                        }
                    }
                }
                if self.stage == Stage::TessControl && self.patch_words > 0 {
                    let (place, words) = (OutputPlace::Patch(0), self.patch_words);
                    outputs.push(HeaderOutput { what: OutputKind::Patch, place, words });
                }
            }
        }
        outputs
    }

    /// What a launch of the program gives and takes: [`ProgramHeader::inputs`] and [`ProgramHeader::outputs`], in their order.
    pub fn interface(&self, chip: Chip, surroundings: &Surroundings) -> StageInterface {
        let inputs = self.inputs(surroundings).into_iter().map(|input| StageInput {
            place: InputPlace::Address(input.address),
            words: input.words,
            per: input.kind.per(),
        });
        let outputs = self.outputs(chip).into_iter();
        let outputs = outputs.map(|output| StageOutput { place: output.place, words: output.words });
        StageInterface {
            stage: self.stage,
            vertices: match self.stage {
                Stage::TessControl | Stage::TessEval | Stage::Geometry => surroundings.vertices,
                _ => 0,
            },
            invocations: self.invocations(),
            max_vertices: match self.stage {
                Stage::Geometry => self.max_output_vertices.clamp(1, MOST_VERTICES),
                _ => 0,
            },
            streams: match self.stage {
                Stage::Geometry => u8::BITS - self.stream_mask.leading_zeros(),
                _ => 0,
            },
            inputs: inputs.collect(),
            outputs: outputs.collect(),
            ..StageInterface::default()
        }
    }
}

fn is_tess_coordinate(address: u32) -> bool {
    (address::TESS_COORDINATE..address::INSTANCE_ID).contains(&address)
}

/// Adds a word to the inputs: to the last one if it continues that.
fn add(inputs: &mut Vec<HeaderInput>, address: u32, kind: InputKind) {
    match inputs.last_mut() {
        Some(last) if last.kind == kind && last.address + 4 * last.words == address => last.words += 1,
        _ => inputs.push(HeaderInput { address, words: 1, kind }),
    }
}
