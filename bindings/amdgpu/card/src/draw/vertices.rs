//! The vertex program of a draw.

use super::launch::{Stage, run};
use super::state::State;
use super::stream::Streamed;
use super::{Around, Problem};
use warpjit_runtime::stage::{
    Batch, ExportTarget, InputPlace, OutputPlace, Per, Rows, RowsMut, StageInput, StageInterface,
    StageOutput, Work,
};

/// What a vertex program gets of a vertex: its number, its instance, and the number of its primitive. Of a point of a patch: u, v, the number
/// of the patch in its group, and that in the draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Vertex {
    pub instance: u32,
    pub primitive: u32,
    pub number: u32,
    /// The fourth register.
    pub fourth: u32,
}

/// What vertices have exported: four words of each export and vertex.
#[derive(Debug, Default)]
pub(super) struct Exports {
    positions: Vec<Vec<u32>>,
    parameters: Vec<Vec<u32>>,
}

impl Exports {
    /// A position export of a vertex.
    pub fn position(&self, export: u32, vertex: u32) -> [f32; 4] {
        words(&self.positions, export, vertex).map(f32::from_bits)
    }

    /// The same as bits.
    pub fn position_bits(&self, export: u32, vertex: u32) -> [u32; 4] {
        words(&self.positions, export, vertex)
    }

    /// A parameter of a vertex. Those that are not exported are 0.
    pub fn parameter(&self, export: u32, vertex: u32) -> [u32; 4] {
        words(&self.parameters, export, vertex)
    }
}

fn words(exports: &[Vec<u32>], export: u32, vertex: u32) -> [u32; 4] {
    let first = 4 * vertex as usize;
    let words = exports.get(export as usize).and_then(|words| words.get(first..first + 4));
    words.map_or([0; 4], |words| [words[0], words[1], words[2], words[3]])
}

impl Vertex {
    /// The registers that vertices start with.
    pub fn columns(vertices: &[Vertex]) -> [Vec<u32>; 4] {
        [
            vertices.iter().map(|vertex| vertex.number).collect(),
            vertices.iter().map(|vertex| vertex.instance).collect(),
            vertices.iter().map(|vertex| vertex.primitive).collect(),
            vertices.iter().map(|vertex| vertex.fourth).collect(),
        ]
    }
}

/// Runs the vertex program. `columns` has the registers of vertices. `streamed`: what of them is written to buffers.
///
/// # Errors
/// What keeps it from running, or its fault.
pub(super) fn shade(
    around: &Around<'_>,
    state: &State,
    columns: &[Vec<u32>],
    streamed: Option<Streamed>,
) -> Result<Exports, Problem> {
    // VGPR_COMP_CNT: how many registers there are behind the first. All launches have at least four.
    let registers = ((state.vertex.rsrc1 >> 24 & 3) as usize + 1).min(columns.len());
    let count = columns[0].len();
    let output = |target| StageOutput { place: OutputPlace::Export(target, false), words: 4 };
    let positions = (0..state.exports.positions).map(|n| output(ExportTarget::Pos(n)));
    let parameters = (0..state.exports.parameters).map(|n| output(ExportTarget::Param(n)));
    let interface = StageInterface {
        stage: warpjit_runtime::stage::Stage::Vertex,
        inputs: (0..registers as u32)
            .map(|n| StageInput { place: InputPlace::Register(n), words: 1, per: Per::Vertex })
            .collect(),
        outputs: positions.chain(parameters).collect(),
        ..StageInterface::default()
    };
    let make = |exports: u32| vec![vec![0; 4 * count]; exports as usize];
    let mut exports =
        Exports { positions: make(state.exports.positions), parameters: make(state.exports.parameters) };
    // Waves that write to buffers start with different registers.
    let each = if streamed.is_some() { 64 } else { count.max(1) };
    // OC_LDS_EN: patches are at the start of their ring.
    let evaluates = state.tessellation.is_some() && state.geometry.is_none();
    let offset = (evaluates && state.vertex.rsrc2 >> 7 & 1 != 0).then_some(0);
    for first in (0..count).step_by(each) {
        let end = count.min(first + each);
        let mut more = streamed.as_ref().map_or(Vec::new(), |streamed| streamed.registers(first as u32));
        more.extend(offset);
        let code = &state.vertex.with(around.card.chip(), &more)?;
        let mut batch = Batch::new(Work::Vertices((end - first) as u32));
        batch.inputs = columns[..registers].iter().map(|column| Rows::from(&column[first..end])).collect();
        let all = exports.positions.iter_mut().chain(&mut exports.parameters);
        batch.outputs = all.map(|rows| RowsMut::from(&mut rows[4 * first..4 * end])).collect();
        let stage = Stage {
            name: "vertex",
            code,
            shared: None,
            border_colors: state.border_colors,
            scratch: code.user_data.len() as u32,
            scratch_ring: state.scratch_ring,
        };
        run(around, &stage, interface.clone(), &mut batch)?;
    }
    Ok(exports)
}
