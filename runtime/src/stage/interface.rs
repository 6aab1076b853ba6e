//! What a program of a stage gives and takes: checked once, when the program is made.

use std::collections::HashSet;
use std::ops::Range;

use super::{InputPlace, MOST_STREAMS, OutputPlace, Per, Stage, StageInput, StageInterface, StageLayout};
use crate::{Error, ImageError, ProgramError};
use warpjit_frontend::image::KernelImage;
use warpjit_ir::function::Imm;
use warpjit_ir::{Function, Opcode, Space, Value};

/// Most vertices, threads and emitted vertices. No chip has more.
const MOST: u32 = 1 << 16;
/// Most words of an input or output.
const MOST_WORDS: u32 = 1 << 14;

/// The interface of a program with what all its batches have in common.
#[derive(Debug)]
pub(crate) struct StageProgram {
    pub interface: StageInterface,
    pub layout: StageLayout,
    /// Lanes of a warp of the chip.
    pub lanes: usize,
    /// Bytes of shared memory that a warp has.
    pub shared_bytes: usize,
    /// Words of a lane's local memory that begin as zeros: all but inputs and [`StageProgram::scratch`].
    pub cleared: Vec<Range<usize>>,
    /// Words that begin as anything: the program writes them first.
    pub scratch: Vec<Range<usize>>,
    /// No store of the program reaches an input.
    pub keeps_inputs: bool,
}

/// What may have a row in a stage.
fn allowed(stage: Stage) -> &'static [Per] {
    match stage {
        Stage::Vertex => &[Per::Vertex, Per::Launch],
        Stage::TessControl | Stage::Geometry => &[Per::Vertex, Per::Primitive, Per::Launch],
        Stage::TessEval => &[Per::Vertex, Per::Primitive, Per::Launch, Per::Point, Per::Patch],
        Stage::Fragment => &[Per::Pixel, Per::Plane, Per::Primitive, Per::Launch],
        Stage::Compute => &[],
    }
}

/// Words of local memory for each word of an input: a plane has three.
pub(super) fn parts(input: &StageInput) -> usize {
    let is_attribute = matches!(input.place, InputPlace::Attribute(_)) && input.per == Per::Primitive;
    if input.per == Per::Plane || is_attribute { 3 } else { 1 }
}

/// The bits of a value that is a constant in all lanes.
fn constant(function: &Function, value: Value) -> Option<u64> {
    let value = match function.def_inst(value) {
        Some(inst) if inst.op == Opcode::Splat => *inst.args.first()?,
        _ => value,
    };
    function.as_const(value)
}

/// Whether stores of a program leave some words of the lanes' local memory alone: the addresses of all that it stores there are constants.
fn keeps(function: &Function, words: &[usize]) -> bool {
    let words: HashSet<u64> = words.iter().map(|&word| word as u64).collect();
    let mut insts = function.blocks.iter().flat_map(|block| &block.insts).map(|&inst| function.inst(inst));
    insts.all(|inst| {
        let (Imm::Mem(mem) | Imm::Atomic(mem, _)) = inst.imm else { return true };
        if mem.space != Space::Local || inst.op == Opcode::Load {
            return true;
        }
        let start = inst.args.first().and_then(|&address| constant(function, address));
        start.is_some_and(|start| {
            let first = u64::from((start as u32).wrapping_add_signed(mem.offset));
            // Where the guest's addresses have 16 bits they wrap.
            let first = if mem.far { first } else { first & 0xffff };
            (first / 4..=(first + u64::from(mem.bytes) - 1) / 4).all(|word| !words.contains(&word))
        })
    })
}

/// Whether a program loads from its lanes' local memory at constant addresses only.
fn loads_known_words(function: &Function) -> bool {
    let mut insts = function.blocks.iter().flat_map(|block| &block.insts).map(|&inst| function.inst(inst));
    insts.all(|inst| {
        let (Imm::Mem(mem) | Imm::Atomic(mem, _)) = inst.imm else { return true };
        let address = inst.args.first().and_then(|&address| constant(function, address));
        mem.space != Space::Local || inst.op == Opcode::Store || address.is_some()
    })
}

impl StageProgram {
    /// Checks an interface against the image that was lifted for it.
    pub fn new(image: &KernelImage, interface: StageInterface) -> Result<Self, Error> {
        let bad = |source: ImageError| Error::from(ProgramError::Image { name: image.name.clone(), source });
        let stage = interface.stage.name();
        let Some(layout) = image.stage.clone() else {
            return Err(bad(ImageError::NoStage { stage }));
        };
        let lanes = image.abi.warp_lanes as usize;
        let StageInterface { vertices, invocations, max_vertices, .. } = interface;
        if [vertices, invocations, max_vertices].iter().any(|&n| n > MOST) {
            return Err(bad(ImageError::Vertices { limit: MOST }));
        }
        let has_primitives =
            matches!(interface.stage, Stage::TessControl | Stage::TessEval | Stage::Geometry);
        if has_primitives && (vertices == 0 || invocations == 0) {
            return Err(bad(ImageError::EmptyPrimitive { stage }));
        }
        if interface.stage == Stage::Geometry && max_vertices == 0 {
            return Err(bad(ImageError::NoVertices));
        }
        if interface.streams > MOST_STREAMS {
            return Err(bad(ImageError::Streams { streams: interface.streams, limit: MOST_STREAMS }));
        }
        if interface.stage == Stage::TessControl {
            let most = u64::from(layout.patches_per_warp) * u64::from(invocations);
            if most == 0 || most > lanes as u64 {
                return Err(bad(ImageError::PatchLanes { lanes: most, warp: lanes }));
            }
        }
        let (has, wants) = (layout.inputs.len(), interface.inputs.len());
        if has != wants || layout.outputs.len() != interface.outputs.len() {
            return Err(bad(ImageError::OtherLayout));
        }
        for input in &interface.inputs {
            if !allowed(interface.stage).contains(&input.per) {
                return Err(bad(ImageError::InputPer { stage, per: input.per }));
            }
        }
        let words = interface.inputs.iter().map(|i| i.words).chain(interface.outputs.iter().map(|o| o.words));
        if let Some(words) = words.into_iter().find(|words| !(1..=MOST_WORDS).contains(words)) {
            return Err(bad(ImageError::Words { words, limit: MOST_WORDS }));
        }
        let shared_bytes = image.shared_bytes as usize;
        let mut program = StageProgram {
            interface,
            layout,
            lanes,
            shared_bytes,
            cleared: Vec::new(),
            scratch: Vec::new(),
            keeps_inputs: false,
        };
        program.check_areas(image).map_err(bad)?;
        Ok(program)
    }

    /// Vertices that a lane has of an input.
    pub fn vertices_of(&self, input: &StageInput) -> usize {
        match (input.per, self.interface.stage) {
            (Per::Vertex, Stage::TessControl | Stage::TessEval | Stage::Geometry) => {
                self.interface.vertices as usize
            }
            _ => 1,
        }
    }

    /// Checks that all areas are inside, and notes what is to be cleared.
    fn check_areas(&mut self, image: &KernelImage) -> Result<(), ImageError> {
        let local = image.local_bytes / 4;
        let mut filled = vec![false; local as usize];
        let mut inputs = Vec::new();
        let word = |address: u64, words: u32| match address.is_multiple_of(4) && address / 4 < words.into() {
            true => Ok((address / 4) as usize),
            false => Err(ImageError::Beyond { address }),
        };
        for &(_, address) in &self.layout.lane_words {
            inputs.push(word(address.into(), local)?);
        }
        for (input, area) in self.interface.inputs.iter().zip(&self.layout.inputs) {
            let Some(area) = area else { continue };
            for vertex in 0..self.vertices_of(input) as u64 {
                for number in 0..u64::from(input.words) {
                    let start = u64::from(area.start)
                        + vertex * u64::from(area.vertex_stride)
                        + number * u64::from(area.word_stride);
                    for part in 0..parts(input) as u64 {
                        inputs.push(word(start + 4 * part, local)?);
                    }
                }
            }
        }
        self.keeps_inputs = keeps(&image.function, &inputs);
        for place in inputs {
            if std::mem::replace(&mut filled[place], true) {
                return Err(ImageError::TwoInputs { address: place as u64 * 4 });
            }
        }
        let is_geometry = self.interface.stage == Stage::Geometry;
        for (output, area) in self.interface.outputs.iter().zip(&self.layout.outputs) {
            let rows = match (area.shared, output.place) {
                (true, OutputPlace::Patch(_)) => self.layout.patches_per_warp.max(1),
                (true, _) => self.lanes as u32,
                (false, _) if is_geometry => self.interface.max_vertices,
                (false, _) => 1,
            };
            let words = if area.shared { image.shared_bytes / 4 } else { local };
            for (row, number) in [(0, 0), (rows - 1, output.words - 1)] {
                let row = u64::from(row) * u64::from(area.row_stride);
                let number = u64::from(number) * u64::from(area.word_stride);
                word(u64::from(area.start) + row + number, words)?;
            }
            let strides = [area.start, area.word_stride, if rows > 1 { area.row_stride } else { 0 }];
            if strides.iter().any(|stride| !stride.is_multiple_of(4)) {
                return Err(ImageError::RaggedOutput { address: area.start });
            }
            if let Some(written) = area.written {
                word(u64::from(written) + 4 * u64::from(output.words - 1), local)?;
                word(written.into(), local)?;
            }
        }
        let layout = &self.layout;
        for address in [layout.alive, layout.emitted, layout.cuts].into_iter().flatten() {
            word(address.into(), local)?;
        }
        if let Some(cuts) = layout.cuts.filter(|_| is_geometry) {
            word(u64::from(cuts) + 4 * u64::from(self.interface.max_vertices - 1), local)?;
        }
        // A load of the guest's own memory at an address that it computes may reach what is behind it.
        if loads_known_words(&image.function) {
            for range in &layout.scratch {
                let words = range.start.div_ceil(4) as usize..(range.end / 4).min(local) as usize;
                filled.get_mut(words.clone()).unwrap_or_default().fill(true);
                self.scratch.push(words);
            }
        }
        let mut start = 0;
        for end in (0..=filled.len()).filter(|&end| filled.get(end).is_none_or(|&filled| filled)) {
            if start < end {
                self.cleared.push(start..end);
            }
            start = end + 1;
        }
        Ok(())
    }
}
