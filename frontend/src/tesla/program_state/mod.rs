//! What the 3D engine's registers say about programs: Tesla's programs have no header.
//!
//! [`VertexState`], [`GeometryState`] and [`FragmentState`] hold the registers of a stage at a draw, and give what a launch takes and gives
//! (`interface`). A [`ResultMap`] says which outputs go on to the next stage, and [`FragmentState::link`] where a fragment program finds
//! each of them.
//!
//! Facts: docs/hardware/graphics-nv.md sections 2.1 to 2.4 (spaces), section 2.6 (registers at exit); docs/hardware/drivers-nv.md (the
//! registers, under "State at a draw, nv50").

#[cfg(test)]
mod tests;

use crate::isa::Stage;
use crate::stage::{
    FragmentResult, InputPlace, Interpolation, OutputPlace, Per, StageInput, StageInterface, StageOutput,
};

/// Address in a[] of a geometry program of the primitive's number.
const GEOMETRY_PRIMITIVE_ID: u32 = 0x18;
/// Address in v[] of the facing: 0xffffffff at the front of a primitive, 0 at its back.
const FACING: u32 = 0x3fc;
/// Words of o[], and of the p[] of a vertex, at most.
const MOST_WORDS: u32 = 0x80;
/// Render targets.
const TARGETS: u32 = 8;

/// Byte `number` of a register.
fn byte(register: u32, number: u32) -> u32 {
    register >> (8 * number) & 0xff
}

/// Registers of a vertex program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VertexState {
    /// VP_ATTR_EN (0x1650, 0x1654): four bits an attribute, one a component.
    pub attribute_enable: [u32; 2],
    /// VP_GP_BUILTIN_ATTR_EN (0x164c): bit 0: vertex id, bit 4: instance id. Bit 8, the primitive id, is not for vertex programs.
    pub builtin_enable: u32,
    /// Words of o[] (0x16b8).
    pub result_words: u32,
}

/// A word of a vertex program's a[].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VertexInput {
    /// A component of an attribute.
    Attribute {
        /// Number of the attribute, 0 to 15.
        number: u32,
        /// 0 is x.
        component: u32,
    },
    /// Number of the vertex.
    VertexId,
    /// Number of the instance. It has a row for each vertex; [`Per::Launch`] does where all vertices of a batch are of one instance.
    InstanceId,
}

impl VertexState {
    /// The words of a[], in order: word n is at byte address 4 n. There are only those that are enabled.
    pub fn inputs(&self) -> Vec<VertexInput> {
        let mut inputs = Vec::new();
        for bit in 0..64 {
            if self.attribute_enable[bit / 32] >> (bit % 32) & 1 != 0 {
                let (number, component) = (bit as u32 / 4, bit as u32 % 4);
                inputs.push(VertexInput::Attribute { number, component });
            }
        }
        for (bit, input) in [(0, VertexInput::VertexId), (4, VertexInput::InstanceId)] {
            if self.builtin_enable >> bit & 1 != 0 {
                inputs.push(input);
            }
        }
        inputs
    }

    /// What a launch gives and takes: an input for each attribute and id, in the order of [`VertexState::inputs`]; one output, the words of
    /// o[] from 0 on.
    pub fn interface(&self) -> StageInterface {
        let mut inputs: Vec<StageInput> = Vec::new();
        let mut last = None;
        for (word, input) in (0..).zip(self.inputs()) {
            let attribute = match input {
                VertexInput::Attribute { number, .. } => Some(number),
                VertexInput::VertexId | VertexInput::InstanceId => None,
            };
            match inputs.last_mut() {
                Some(input) if attribute.is_some() && attribute == last => input.words += 1,
                _ => {
                    let place = InputPlace::Address(4 * word);
                    inputs.push(StageInput { place, words: 1, per: Per::Vertex });
                }
            }
            last = attribute;
        }
        StageInterface {
            stage: Stage::Vertex,
            invocations: 1,
            inputs,
            outputs: outputs(self.result_words),
            ..StageInterface::default()
        }
    }
}

/// The words of o[].
fn outputs(words: u32) -> Vec<StageOutput> {
    let output = StageOutput { place: OutputPlace::Address(0), words: words.min(MOST_WORDS) };
    if words == 0 { Vec::new() } else { vec![output] }
}

/// Where a word comes from that a stage gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// A word of o[] of the stage before, whose byte address is four times this.
    Output(u32),
    /// 0.0.
    Zero,
    /// 1.0.
    One,
    /// The pixel's x (0), y (1), depth (2) in the window, or its 1/w (3).
    Position(u32),
    /// Number of the primitive.
    PrimitiveId,
}

/// Which words of o[] go on to the next stage: VP_RESULT_MAP (0x16bc) or GP_RESULT_MAP (0x17fc).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultMap {
    is_geometry: bool,
    slots: Vec<u8>,
}

impl ResultMap {
    /// VP_RESULT_MAP. `size` is VP_RESULT_MAP_SIZE (0x16ac); each of the registers, from 0x16bc on, has four slots, the
    /// first one in its low byte.
    pub fn of_vertex(size: u32, registers: &[u32]) -> ResultMap {
        ResultMap::new(false, size, registers)
    }

    /// GP_RESULT_MAP: likewise, from 0x17fc on.
    pub fn of_geometry(size: u32, registers: &[u32]) -> ResultMap {
        ResultMap::new(true, size, registers)
    }

    fn new(is_geometry: bool, size: u32, registers: &[u32]) -> ResultMap {
        let slots = registers.iter().flat_map(|register| register.to_le_bytes());
        ResultMap { is_geometry, slots: slots.take(size as usize).collect() }
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// What a slot gets. 0x40 and 0x41 are the constants 0.0 and 1.0 behind a vertex program, 0x80 and 0x81 behind a geometry program
    /// (docs/hardware/graphics-nv.md section 2.1). Chosen: other numbers beyond o[], and slots that the map does not have, are 0.0.
    pub fn source(&self, slot: usize) -> Source {
        let words = if self.is_geometry { 0x80 } else { 0x40 };
        match self.slots.get(slot) {
            Some(&word) if word < words => Source::Output(word.into()),
            Some(&word) if word == words + 1 => Source::One,
            _ => Source::Zero,
        }
    }

    /// What each slot gets. In front of a geometry program, slot n is word n of the vertex in p[].
    pub fn sources(&self) -> Vec<Source> {
        (0..self.len()).map(|slot| self.source(slot)).collect()
    }
}

/// Registers of a geometry program, and what comes before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeometryState {
    /// Vertices of an input primitive: the draw says that.
    pub vertices: u32,
    /// Slots of the vertex program's map ([`ResultMap::len`]): words of a vertex in p[].
    pub vertex_words: u32,
    /// Words of o[] (0x17a8).
    pub result_words: u32,
    /// GP_VERTEX_OUTPUT_COUNT: most vertices that a thread emits.
    pub max_vertices: u32,
}

impl GeometryState {
    /// What a launch gives and takes: the words of vertices in p[], which [`ResultMap::sources`] of the vertex program's map describes; the
    /// primitive's number at `a[0x18]`; one output, the words of o[] from 0 on.
    pub fn interface(&self) -> StageInterface {
        let mut inputs = Vec::new();
        if self.vertex_words > 0 {
            let words = self.vertex_words.min(MOST_WORDS);
            inputs.push(StageInput { place: InputPlace::Address(0), words, per: Per::Vertex });
        }
        let place = InputPlace::Address(GEOMETRY_PRIMITIVE_ID);
        inputs.push(StageInput { place, words: 1, per: Per::Primitive });
        StageInterface {
            stage: Stage::Geometry,
            vertices: self.vertices,
            invocations: 1,
            max_vertices: self.max_vertices.clamp(1, 1024),
            inputs,
            outputs: outputs(self.result_words),
            ..StageInterface::default()
        }
    }
}

/// Registers that give slots of the last map a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Semantics {
    /// SEMANTIC_COLOR (0x1904): bits 0-7: first slot of front colours, 8-15: of back colours, 16-23: their number of words.
    pub colour: u32,
    /// SEMANTIC_CLIP (0x1908): bits 0-7: first slot of clip distances, 8-15: how many.
    pub clip: u32,
    /// SEMANTIC_LAYER (0x190c): slot of the layer; 0: there is none.
    pub layer: u32,
    /// SEMANTIC_PTSZ (0x1910): bit 0: there is a point size, bits 4-11: its slot.
    pub point_size: u32,
    /// SEMANTIC_PRIM_ID (0x1914): slot that is the primitive's number; 0: none is.
    pub primitive_id: u32,
}

/// What rasterising takes of a vertex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedFunction {
    /// Clip coordinates: the first four slots.
    pub position: [Source; 4],
    /// Clip distances.
    pub clip_distances: Vec<Source>,
    /// Layer of the render target.
    pub layer: Option<Source>,
    /// Size of a point.
    pub point_size: Option<Source>,
}

impl Semantics {
    /// What rasterising takes of a vertex, by the map of the last stage before it.
    pub fn fixed_function(&self, map: &ResultMap) -> FixedFunction {
        let slot = |slot: u32| map.source(slot as usize);
        FixedFunction {
            position: [0, 1, 2, 3].map(slot),
            clip_distances: (0..byte(self.clip, 1)).map(|n| slot(byte(self.clip, 0) + n)).collect(),
            layer: (byte(self.layer, 0) != 0).then(|| slot(byte(self.layer, 0))),
            point_size: (self.point_size & 1 != 0).then(|| slot(self.point_size >> 4 & 0xff)),
        }
    }

    /// The slot of the back colour that belongs to a slot of a front colour, where both sides have their own.
    fn back_of(&self, slot: u32) -> Option<u32> {
        let [front, back, words] = [0, 1, 2].map(|number| byte(self.colour, number));
        (front != back && (front..front + words).contains(&slot)).then(|| slot - front + back)
    }
}

/// Registers of a fragment program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FragmentState {
    /// FP_INTERPOLANT_CTRL (0x1988): bits 0-7: words behind the position, 8-15: slot of the first of them, 16-23: how many of them are not
    /// flat, 24-27: which of x, y, z, w are there.
    pub interpolant_control: u32,
    /// NOPERSPECTIVE_BITMAP (0x1540 on): bit n: slot n is linear.
    pub noperspective: [u32; 4],
    /// FP_CONTROL (0x19a8): bit 0: each target has its own colour, bit 8: there is a depth, bit 20: the program discards.
    pub control: u32,
    /// FP_RESULT_COUNT (0x1298): registers of all results.
    pub result_count: u32,
    /// Whether the program gives a sample mask (GT215 on: EXPORT_SAMPLE_MASK of FP_MULTISAMPLE).
    pub sample_mask: bool,
    /// What slots of the map mean.
    pub semantics: Semantics,
}

/// A word of v[].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link {
    /// Where it comes from.
    pub from: Source,
    /// Where it comes from at the back of a primitive, if colours have two sides.
    pub back: Option<Source>,
    /// Byte address in v[].
    pub to: u32,
    /// How it comes from the vertices. Words of the position are planes of what they are.
    pub interpolation: Interpolation,
}

/// A result of a fragment program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FragmentOutput {
    /// What it is.
    pub what: FragmentResult,
    /// First register.
    pub register: u32,
    /// Number of registers.
    pub words: u32,
}

impl FragmentState {
    /// Whether each render target has its own colour. If not, the first colour goes to all targets.
    pub fn multiple_results(&self) -> bool {
        self.control & 1 != 0
    }

    /// Whether the program gives a depth.
    pub fn gives_depth(&self) -> bool {
        self.control >> 8 & 1 != 0
    }

    /// Whether the program discards.
    pub fn discards(&self) -> bool {
        self.control >> 20 & 1 != 0
    }

    /// The words of v[], but for the facing, each with its address, how it is interpolated, and its slot, or the component of the
    /// position that it is.
    fn words(&self) -> impl Iterator<Item = (u32, Interpolation, Result<u32, u32>)> + '_ {
        let [count, first, nonflat] = [0, 1, 2].map(|number| byte(self.interpolant_control, number));
        let position = (0..4).filter(|component| self.interpolant_control >> (24 + component) & 1 != 0);
        let position = position.map(|component| (Interpolation::Linear, Err(component)));
        let slots = (0..count).map(move |number| {
            let slot = first + number;
            let linear =
                self.noperspective.get((slot / 32) as usize).is_some_and(|bits| bits >> (slot % 32) & 1 != 0);
            let interpolation = match linear {
                _ if number >= nonflat => Interpolation::Constant,
                true => Interpolation::Linear,
                false => Interpolation::Perspective,
            };
            (interpolation, Ok(slot))
        });
        let addresses = (0..FACING).step_by(4);
        addresses
            .zip(position.chain(slots))
            .map(|(address, (interpolation, slot))| (address, interpolation, slot))
    }

    /// Where each word of v[] comes from, by address. `map` is that of the last stage before rasterising.
    ///
    /// Behind a geometry program no slot is the primitive's number: it is an output of that program like others, and drivers leave
    /// [`Semantics::primitive_id`] as it was. Points whose coordinate replaces words are the embedder's business, as is the facing.
    pub fn link(&self, map: &ResultMap) -> Vec<Link> {
        let id = byte(self.semantics.primitive_id, 0);
        let source = |slot: u32| match slot {
            _ if slot == id && id != 0 && !map.is_geometry => Source::PrimitiveId,
            _ => map.source(slot as usize),
        };
        let link = |(to, interpolation, slot)| match slot {
            Ok(slot) => {
                let back = self.semantics.back_of(slot).map(source);
                Link { from: source(slot), back, to, interpolation }
            }
            Err(component) => Link { from: Source::Position(component), back: None, to, interpolation },
        };
        self.words().map(link).collect()
    }

    /// The registers of results when the program ends (docs/hardware/graphics-nv.md section 2.6): four for each colour,
    /// the sample mask, the depth. Targets that the program leaves out have registers, too, and no register says which
    /// these are.
    pub fn outputs(&self) -> Vec<FragmentOutput> {
        let others = u32::from(self.sample_mask) + u32::from(self.gives_depth());
        let colours = self.result_count.saturating_sub(others).min(4 * TARGETS);
        let mut outputs = Vec::new();
        for (target, register) in (0..).zip((0..colours).step_by(4)) {
            let words = (colours - register).min(4);
            let what = FragmentResult::Colour { target, components: (1 << words) - 1 };
            outputs.push(FragmentOutput { what, register, words });
        }
        let rest =
            [(self.sample_mask, FragmentResult::SampleMask), (self.gives_depth(), FragmentResult::Depth)];
        for (register, (_, what)) in (colours..).zip(rest.into_iter().filter(|(is_there, _)| *is_there)) {
            outputs.push(FragmentOutput { what, register, words: 1 });
        }
        outputs
    }

    /// What a launch gives and takes: an input for each run of planes and of flat words of v[] ([`FragmentState::link`] says what each word
    /// is), then the facing at `v[0x3fc]`, which costs nothing if the program does not read it; [`FragmentState::outputs`] in their order.
    pub fn interface(&self) -> StageInterface {
        let mut inputs: Vec<StageInput> = Vec::new();
        for (address, interpolation, _) in self.words() {
            let per = interpolation.per();
            match inputs.last_mut() {
                Some(input) if input.per == per => input.words += 1,
                _ => inputs.push(StageInput { place: InputPlace::Address(address), words: 1, per }),
            }
        }
        inputs.push(StageInput { place: InputPlace::Address(FACING), words: 1, per: Per::Primitive });
        let outputs = self.outputs().into_iter();
        let outputs = outputs
            .map(|output| StageOutput { place: OutputPlace::Register(output.register), words: output.words });
        StageInterface {
            stage: Stage::Fragment,
            invocations: 1,
            inputs,
            outputs: outputs.collect(),
            ..StageInterface::default()
        }
    }
}
