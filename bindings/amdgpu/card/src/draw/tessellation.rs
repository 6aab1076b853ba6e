//! Tessellation: turns a draw's patches into points and primitives, as the card does it.
//!
//! Three programs take part. The vertex program writes the vertices of patches to LDS. The control program reads them there, and writes the
//! finished patches to one ring in memory and the tessellation factors to another. This file divides patches by the factors. The
//! evaluation program then runs for each point of a patch, as the vertex program of a draw without tessellation would.

use super::domain::{Domain, Mesh, Spacing};
use super::launch::{Stage, run};
use super::registers::Registers;
use super::state::{Code, State};
use super::vertices::Vertex;
use super::{Around, Problem, Refused};
use crate::chip::Chip;
use std::rc::Rc;
use warpjit_runtime::stage::{Batch, InputPlace, Per, Rows, RowsMut, StageInput, StageInterface, Work};

/// Lanes of a wave.
const WAVE: usize = 64;
/// Scalar registers of gfx9's merged programs ahead of user data, and that with the offset of scratch memory.
const SYSTEM: usize = 8;
const MERGED_SCRATCH: u32 = 5;

/// What a draw does with tessellation programs.
#[derive(Debug, Clone)]
pub(super) struct Tessellation {
    /// The program of vertices; on gfx9 that of both, which has an address in its first registers.
    vertices: Code,
    address: [u32; 2],
    control: Option<Code>,
    /// Bytes of LDS.
    shared: u32,
    /// Most patches of a group, and vertices of a patch before and behind the control program.
    patches: usize,
    pub vertices_in: usize,
    vertices_out: usize,
    /// Where factors are.
    factors: u64,
    domain: Domain,
    spacing: Spacing,
    topology: u32,
    most: f32,
    least: f32,
}

/// Values of VGT_TF_PARAM's TOPOLOGY.
const POINTS: u32 = 0;
/// Of triangles that are clockwise with v downwards.
const CLOCKWISE: u32 = 2;

impl Tessellation {
    /// By the registers.
    ///
    /// # Errors
    /// What is asked for and not done.
    pub fn new(chip: &Chip, registers: Registers<'_>) -> Result<Tessellation, Refused> {
        let gfx9 = chip.generation >= 9;
        let granule = if chip.generation == 6 { 256 } else { 512 };
        let (vertices, control, shared) = match gfx9 {
            true => {
                let code = Code::merged(registers, 0xb410, 0xb428, 0xb430);
                let shared = (code.rsrc2 >> 16 & 0x1ff) * 512;
                (code, None, shared)
            }
            false => {
                let code = Code::new(registers, 0xb520, false);
                let shared = (code.rsrc2 >> 7 & 0x1ff) * granule;
                (code, Some(Code::new(registers, 0xb420, false)), shared)
            }
        };
        let config = registers.at(0x28b58);
        let [patches, vertices_in, vertices_out] =
            [config & 0xff, config >> 8 & 63, config >> 14 & 63].map(|count| (count as usize).max(1));
        let parameter = registers.at(0x28b6c);
        let factors = match gfx9 {
            _ if chip.generation == 6 => u64::from(registers.at(0x89b8)) << 8,
            false => u64::from(registers.at(0x3_0940)) << 8,
            true => u64::from(registers.at(0x3_0940)) << 8 | u64::from(registers.at(0x3_0944) & 0xff) << 40,
        };
        Ok(Tessellation {
            vertices,
            address: [registers.at(0xb408), registers.at(0xb40c)],
            control,
            shared,
            patches: patches.min(WAVE / vertices_in.max(vertices_out)).max(1),
            vertices_in,
            vertices_out,
            factors,
            domain: match parameter & 3 {
                0 => Domain::Lines,
                1 => Domain::Triangle,
                2 => Domain::Quad,
                _ => return Err(Refused("patches of an unknown kind")),
            },
            spacing: match parameter >> 2 & 7 {
                0 => Spacing::Integer,
                1 => Spacing::PowersOfTwo,
                2 => Spacing::Odd,
                3 => Spacing::Even,
                _ => return Err(Refused("sides of patches that are cut in an unknown way")),
            },
            topology: parameter >> 5 & 7,
            most: registers.float(0x28a18),
            least: registers.float(0x28a1c),
        })
    }

    /// Patches that are done at a time.
    pub fn patches(&self) -> usize {
        self.patches
    }

    /// The kind of primitives that come out, as VGT_PRIMITIVE_TYPE has them.
    pub fn kind(&self) -> u32 {
        match (self.topology, self.domain) {
            (POINTS, _) => 1,
            (_, Domain::Lines) => 2,
            _ => 4,
        }
    }

    /// Runs the programs ahead of evaluation over the vertices of patches, as many as are done at a time, or fewer; `first` is the number
    /// of the first patch in the draw. Gives vertices of primitives, which follow each other.
    ///
    /// # Errors
    /// What keeps them from running, or a fault.
    pub fn run(
        &self,
        around: &Around<'_>,
        state: &State,
        list: &[Vertex],
        first: u32,
    ) -> Result<Vec<Vertex>, Problem> {
        let patches = list.len() / self.vertices_in;
        let chip = around.card.chip();
        // The number of the patch in the draw; that in the group with the number of the vertex in the patch.
        let threads: Vec<[u32; 2]> = (0..patches as u32)
            .flat_map(|patch| (0..self.vertices_out as u32).map(move |n| [first + patch, patch | n << 8]))
            .collect();
        let own = |n: usize| -> Vec<u32> { threads.iter().map(|thread| thread[n]).collect() };
        let vertices = [
            list.iter().map(|vertex| vertex.number).collect(),
            (0..list.len() as u32).collect(),
            list.iter().map(|vertex| vertex.instance).collect(),
            vec![0; list.len()],
        ];
        // Both rings are used from their start on: what a group leaves there is read before the next one runs.
        match &self.control {
            Some(control) => {
                let mut shared = vec![0; self.shared as usize / 4];
                let count = (self.vertices.rsrc1 >> 24 & 3) as usize + 1;
                let scratch = self.vertices.user_data.len() as u32;
                let stage = self.stage(state, "vertex", &self.vertices, scratch);
                wave(around, &stage, &vertices[..count], &mut shared)?;
                let code = control.with(chip, &[0, 0])?;
                let stage = self.stage(state, "control", &code, code.user_data.len() as u32);
                wave(around, &stage, &[own(0), own(1)], &mut shared)?;
            }
            None => {
                let info = list.len() as u32 | (threads.len() as u32) << 8 | 1 << 28;
                let mut system = [0; SYSTEM];
                system[..4].copy_from_slice(&[self.address[0], self.address[1], 0, info]);
                let code = self.vertices.behind(chip, &system)?;
                let mut columns = vec![own(0), own(1)];
                columns.extend(vertices);
                columns.iter_mut().for_each(|column| column.resize(WAVE, 0));
                // All launches have four registers; a program need not have all others.
                columns.truncate(((code.rsrc1 & 63) + 1) as usize * 4);
                let stage = self.stage(state, "control", &code, MERGED_SCRATCH);
                wave(around, &stage, &columns, &mut [])?;
            }
        }
        let mut out = Vec::new();
        let meshes = self.meshes(around, patches)?;
        for (mesh, patch) in meshes.iter().zip(0..) {
            let vertex = |point: &u32| {
                let [u, v] = mesh.points[*point as usize].map(f32::to_bits);
                Vertex { number: u, instance: v, primitive: patch, fourth: first + patch }
            };
            if self.topology == POINTS {
                out.extend((0..mesh.points.len() as u32).map(|point| vertex(&point)));
                continue;
            }
            for corners in &mesh.primitives {
                match (self.topology, &corners[..]) {
                    // The register's directions are those with v downwards.
                    (CLOCKWISE, _) | (_, [_, _]) => out.extend(corners.iter().map(vertex)),
                    _ => out.extend(corners.iter().rev().map(vertex)),
                }
            }
        }
        Ok(out)
    }

    fn stage<'a>(&self, state: &State, name: &'static str, code: &'a Code, scratch: u32) -> Stage<'a> {
        Stage {
            name,
            code,
            shared: Some(self.shared),
            border_colors: state.border_colors,
            scratch,
            scratch_ring: state.scratch_ring,
        }
    }

    /// Points and primitives of patches, by the factors that the control program has written.
    fn meshes(&self, around: &Around<'_>, patches: usize) -> Result<Vec<Rc<Mesh>>, Problem> {
        // Before gfx9 a word stands ahead of them.
        let start = self.factors + if self.control.is_some() { 4 } else { 0 };
        let each = self.domain.factors();
        let memory = around.space.memory();
        let mut factors: Vec<f32> = Vec::with_capacity(each * patches);
        for number in 0..(each * patches) as u64 {
            let factor = f32::from_bits(memory.load(start + 4 * number, 4)? as u32);
            // Factors that are no number or not positive remove the patch.
            factors.push(if factor > 0.0 { factor.max(self.least).min(self.most) } else { factor });
        }
        let mut meshes: Vec<Rc<Mesh>> = Vec::with_capacity(patches);
        let mut before: &[f32] = &[];
        for factors in factors.chunks(each) {
            // Patches side by side are often cut alike.
            let alike = meshes.last().filter(|_| before == factors).cloned();
            meshes.push(alike.unwrap_or_else(|| Rc::new(self.domain.mesh(self.spacing, factors))));
            before = factors;
        }
        Ok(meshes)
    }
}

/// Runs one wave. Its LDS starts with what is given, and leaves there what has become of it.
fn wave(
    around: &Around<'_>,
    stage: &Stage<'_>,
    columns: &[Vec<u32>],
    shared: &mut [u32],
) -> Result<(), Problem> {
    let interface = StageInterface {
        stage: warpjit_runtime::stage::Stage::Vertex,
        inputs: (0..columns.len() as u32)
            .map(|n| StageInput { place: InputPlace::Register(n), words: 1, per: Per::Vertex })
            .collect(),
        ..StageInterface::default()
    };
    let mut batch = Batch::new(Work::Vertices(columns.first().map_or(0, Vec::len) as u32));
    batch.inputs = columns.iter().map(|column| Rows::from(&column[..])).collect();
    if !shared.is_empty() {
        batch.shared = Some(RowsMut::from(shared));
    }
    run(around, stage, interface, &mut batch)
}
