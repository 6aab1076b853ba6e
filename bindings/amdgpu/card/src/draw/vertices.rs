//! The vertex program of a draw.

use super::launch::{Stage, run};
use super::state::State;
use super::{Around, Problem};
use warpjit_runtime::stage::{
    Batch, ExportTarget, InputPlace, OutputPlace, Per, Rows, RowsMut, StageInput, StageInterface,
    StageOutput, Work,
};

/// What a vertex program gets of a vertex: its number, its instance, and the number of its primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Vertex {
    pub instance: u32,
    pub primitive: u32,
    pub number: u32,
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

/// Runs the vertex program.
///
/// # Errors
/// What keeps it from running, or its fault.
pub(super) fn shade(around: &Around<'_>, state: &State, vertices: &[Vertex]) -> Result<Exports, Problem> {
    // VGPR_COMP_CNT: how many registers there are behind the first. All launches have at least four.
    let registers = (state.vertex.rsrc1 >> 24 & 3) + 1;
    let columns: [Vec<u32>; 4] = [
        vertices.iter().map(|vertex| vertex.number).collect(),
        vertices.iter().map(|vertex| vertex.instance).collect(),
        vertices.iter().map(|vertex| vertex.primitive).collect(),
        vertices.iter().map(|vertex| vertex.instance).collect(),
    ];
    let output = |target| StageOutput { place: OutputPlace::Export(target, false), words: 4 };
    let positions = (0..state.exports.positions).map(|n| output(ExportTarget::Pos(n)));
    let parameters = (0..state.exports.parameters).map(|n| output(ExportTarget::Param(n)));
    let interface = StageInterface {
        stage: warpjit_runtime::stage::Stage::Vertex,
        inputs: (0..registers)
            .map(|n| StageInput { place: InputPlace::Register(n), words: 1, per: Per::Vertex })
            .collect(),
        outputs: positions.chain(parameters).collect(),
        ..StageInterface::default()
    };
    let make = |count: u32| vec![vec![0; 4 * vertices.len()]; count as usize];
    let mut exports =
        Exports { positions: make(state.exports.positions), parameters: make(state.exports.parameters) };
    let mut batch = Batch::new(Work::Vertices(vertices.len() as u32));
    batch.inputs = columns[..registers as usize].iter().map(|column| Rows::from(&column[..])).collect();
    let all = exports.positions.iter_mut().chain(&mut exports.parameters);
    batch.outputs = all.map(|rows| RowsMut::from(&mut rows[..])).collect();
    let stage = Stage { name: "vertex", code: &state.vertex, border_colors: state.border_colors };
    run(around, &stage, interface, &mut batch)?;
    Ok(exports)
}
