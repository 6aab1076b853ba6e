//! Graphics stages: where a program's inputs and outputs are.
//!
//! Inputs and outputs of a lane are words of its local memory ([`StageLayout`]), which GCN programs do not have otherwise. In comes the
//! interface of a launch, out goes the address of each input register, attribute and export.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::Graph;
use crate::error::CodeError;
use crate::isa::Stage;
use crate::stage::{
    ExportTarget, InputArea, InputPlace, LaneWord, MOST_STREAMS, OutputArea, OutputPlace, Per,
    StageInterface, StageLayout,
};

/// Bytes of a word.
pub(in crate::gcn::lift) const WORD: u32 = 4;
/// Words of an attribute's component: its value at the first vertex, and what the two others add.
pub(in crate::gcn::lift) const PLANE_WORDS: u32 = 3;
/// Most vertices that a geometry program may say it emits.
const MOST_VERTICES: u32 = 1 << 16;
/// Target of exports: depth, and what follows it.
const MRTZ: u8 = 8;
const POS: u8 = 12;
const PARAM: u8 = 32;

/// Part of an output that a target of exports is written to.
#[derive(Clone, Copy, Debug)]
pub(in crate::gcn::lift) struct ExportWords {
    /// Local address of the first word, and of the first of those that say what was written.
    pub(in crate::gcn::lift) start: u32,
    pub(in crate::gcn::lift) written: u32,
    pub(in crate::gcn::lift) words: u32,
    /// Compressed exports become four floats.
    pub(in crate::gcn::lift) half: bool,
}

/// A vector register that a launch fills.
#[derive(Clone, Copy, Debug)]
pub(in crate::gcn::lift) struct Loaded {
    pub(in crate::gcn::lift) register: u8,
    pub(in crate::gcn::lift) start: u32,
    /// Tessellation control: the lane has the vertex of its number of so many, each so many bytes.
    pub(in crate::gcn::lift) by_invocation: Option<(u32, u32)>,
}

/// Where a program of a stage has its inputs and outputs in local memory.
#[derive(Clone, Debug, Default)]
pub struct StageMemory {
    pub(in crate::gcn::lift) stage: Stage,
    /// Address of the lane word that says whether the lane takes part.
    pub(in crate::gcn::lift) live: u32,
    pub(in crate::gcn::lift) invocation: Option<u32>,
    pub(in crate::gcn::lift) loaded: Vec<Loaded>,
    /// Components of attributes.
    pub(in crate::gcn::lift) attributes: BTreeMap<(u8, u8), u32>,
    pub(in crate::gcn::lift) exports: BTreeMap<u8, Vec<ExportWords>>,
    pub(in crate::gcn::lift) alive: Option<u32>,
    pub(in crate::gcn::lift) geometry: Option<Counters>,
    /// What the runtime is told.
    pub(in crate::gcn::lift) layout: StageLayout,
    /// Where local memory ends.
    pub(in crate::gcn::lift) end: u32,
}

/// Where a geometry program counts.
#[derive(Clone, Copy, Debug)]
pub(in crate::gcn::lift) struct Counters {
    pub(in crate::gcn::lift) emitted: u32,
    pub(in crate::gcn::lift) cuts: u32,
    pub(in crate::gcn::lift) most: u32,
    /// With several streams, how many there are, and a word for each: the number of its vertex emitted last, from 1 on.
    pub(in crate::gcn::lift) streams: Option<(u32, u32)>,
}

/// Refuses an interface that a GCN program cannot have.
///
/// # Errors
///
/// What is wrong with it.
pub fn check(interface: &StageInterface, vgprs: u32) -> Result<(), CodeError> {
    if interface.stage == Stage::Compute {
        return Err(CodeError::ComputeInterface);
    }
    if interface.streams > MOST_STREAMS {
        return Err(CodeError::VertexStreams { streams: interface.streams, limit: MOST_STREAMS });
    }
    if interface.max_vertices > MOST_VERTICES {
        return Err(CodeError::EmittedVertices { vertices: interface.max_vertices, limit: MOST_VERTICES });
    }
    for input in &interface.inputs {
        match input.place {
            InputPlace::Register(first) => {
                let count = registers_of(interface, input.per, input.words);
                if u64::from(first) + u64::from(count) > vgprs.into() {
                    return Err(CodeError::InputRegisters { first, count, vgprs });
                }
            }
            InputPlace::Attribute(number) if number < 32 => {}
            InputPlace::Attribute(attribute) => {
                return Err(CodeError::Attribute { attribute });
            }
            InputPlace::Address(_) => {
                return Err(CodeError::InputPlace { places: "registers or attributes" });
            }
        }
    }
    for output in &interface.outputs {
        let OutputPlace::Export(target, _) = output.place else {
            return Err(CodeError::OutputPlace { places: "exports" });
        };
        if code_of(target).is_none() || !(1..=4).contains(&output.words) {
            return Err(CodeError::Export { target: format!("{target:?}"), words: output.words });
        }
    }
    Ok(())
}

/// Registers of an input. A geometry program has those of all vertices one after the other.
fn registers_of(interface: &StageInterface, per: Per, words: u32) -> u32 {
    let several = per == Per::Vertex && interface.stage == Stage::Geometry;
    if several { words.saturating_mul(interface.vertices.max(1)) } else { words }
}

/// The number of a target in instructions.
fn code_of(target: ExportTarget) -> Option<u8> {
    match target {
        ExportTarget::Mrt(n) if n < 8 => Some(n as u8),
        ExportTarget::Mrtz => Some(MRTZ),
        ExportTarget::Pos(n) if n < 4 => Some(POS + n as u8),
        ExportTarget::Param(n) if n < 32 => Some(PARAM + n as u8),
        _ => None,
    }
}

impl StageMemory {
    /// Lays out local memory from an address on.
    pub(in crate::gcn::lift) fn new(interface: &StageInterface, graph: &Graph, from: u32) -> StageMemory {
        let mut memory = StageMemory { stage: interface.stage, end: from, ..StageMemory::default() };
        let fragment = interface.stage == Stage::Fragment;
        memory.live = memory.lane_word(if fragment { LaneWord::Covered } else { LaneWord::Present });
        if interface.stage == Stage::TessControl {
            memory.invocation = Some(memory.lane_word(LaneWord::Invocation));
            memory.layout.patches_per_warp = 64 / interface.invocations.clamp(1, 64);
        }
        let read = attributes_of(graph);
        for input in &interface.inputs {
            let area = match input.place {
                InputPlace::Attribute(number) => memory.attribute(&read, number, input.words),
                InputPlace::Register(number) => Some(memory.register(interface, input, number)),
                InputPlace::Address(_) => None,
            };
            memory.layout.inputs.push(area);
        }
        let missing = read.iter().filter(|attribute| !memory.attributes.contains_key(attribute));
        memory.layout.missing =
            missing.map(|&(number, chan)| 16 * u32::from(number) + 4 * u32::from(chan)).collect();
        for output in &interface.outputs {
            let (start, written) = (memory.take(output.words), memory.take(output.words));
            let area =
                OutputArea { shared: false, start, word_stride: WORD, row_stride: 0, written: Some(written) };
            memory.layout.outputs.push(area);
            // Read where it is known to be written.
            memory.layout.scratch.push(start..start + 4 * output.words);
            if let OutputPlace::Export(target, half) = output.place
                && let Some(code) = code_of(target)
            {
                let words = ExportWords { start, written, words: output.words, half };
                memory.exports.entry(code).or_default().push(words);
            }
        }
        if fragment {
            memory.alive = Some(memory.take(1));
        }
        if interface.stage == Stage::Geometry {
            let most = interface.max_vertices;
            let (emitted, cuts) = (memory.take(1), memory.take(most));
            let count = interface.streams;
            let streams = (count > 1).then(|| (count, memory.take(count)));
            memory.geometry = Some(Counters { emitted, cuts, most, streams });
        }
        memory.layout.alive = memory.alive;
        memory.layout.emitted = memory.geometry.map(|counters| counters.emitted);
        memory.layout.cuts = memory.geometry.map(|counters| counters.cuts);
        memory
    }

    fn take(&mut self, words: u32) -> u32 {
        let start = self.end;
        self.end = start.saturating_add(words.saturating_mul(WORD));
        start
    }

    fn lane_word(&mut self, word: LaneWord) -> u32 {
        let address = self.take(1);
        self.layout.lane_words.push((word, address));
        address
    }

    /// The area of an attribute, if the program reads any of it. Words behind the fourth are those of the next attribute.
    fn attribute(&mut self, read: &BTreeSet<(u8, u8)>, number: u32, words: u32) -> Option<InputArea> {
        let of = |word: u32| ((number + word / 4) as u8, (word % 4) as u8);
        if !(0..words).any(|word| read.contains(&of(word))) {
            return None;
        }
        let start = self.take(words.saturating_mul(PLANE_WORDS));
        let stride = PLANE_WORDS * WORD;
        (0..words).for_each(|word| _ = self.attributes.insert(of(word), start + word * stride));
        Some(InputArea { start, word_stride: stride, vertex_stride: 0 })
    }

    fn register(
        &mut self,
        interface: &StageInterface,
        input: &crate::stage::StageInput,
        number: u32,
    ) -> InputArea {
        let vertices = match (input.per, interface.stage) {
            (Per::Vertex, Stage::Geometry | Stage::TessControl) => interface.vertices.max(1),
            _ => 1,
        };
        let start = self.take(input.words.saturating_mul(vertices));
        let vertex_stride = input.words * WORD;
        let by_invocation =
            (vertices > 1 && interface.stage == Stage::TessControl).then_some((vertices, vertex_stride));
        for word in 0..registers_of(interface, input.per, input.words) {
            let register = (number + word) as u8;
            self.loaded.push(Loaded { register, start: start + word * WORD, by_invocation });
        }
        InputArea { start, word_stride: WORD, vertex_stride }
    }
}

/// The components of attributes that a program reads.
fn attributes_of(graph: &Graph) -> BTreeSet<(u8, u8)> {
    let insts = graph.nodes().flat_map(|(_, node)| &node.insts);
    insts.filter_map(|inst| inst.interp).map(|interp| (interp.attr, interp.chan)).collect()
}
