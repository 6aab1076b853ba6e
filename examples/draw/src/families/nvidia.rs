//! What Tesla and Fermi have in common: the embedder fetches vertices, attributes are planes divided by w, textures have slots with
//! headers and samplers. Where things are differs ([`Layout`]).

use anyhow::{Context, Result};
use warpjit_runtime::stage::{
    Batch, InputPlace, OutputPlace, Per, Rows, RowsMut, Stage, StageInput, StageInterface, StageOutput, Work,
};
use warpjit_runtime::{Engine, Launch, Memory};

use super::{Family, Programs, ShadedPixels, check, load, upload};
use crate::rasteriser::{Fragments, ShadedVertex, VARYINGS};
use crate::scene::{COORDINATE_OFFSET, Draw, Mesh, NORMAL_OFFSET, Vertex};
use crate::texture::Texture;

/// Where a family has things. Addresses are bytes of the stage's input and output spaces.
pub struct Layout {
    /// The family.
    pub name: &'static str,
    /// The chip.
    pub chip: &'static str,
    /// Machine code of the vertex program.
    pub vertex: &'static [u8],
    /// Of the pixel program.
    pub pixel: &'static [u8],
    /// Of the pixel program of things with holes.
    pub cutout: &'static [u8],
    /// Inputs of the vertex program: position, normal, texture coordinate.
    pub attributes: [u32; 3],
    /// Outputs of the vertex program: clip position, normal, texture coordinate.
    pub results: [u32; 3],
    /// Inputs of pixel programs: 1/w, normal, texture coordinate.
    pub planes: [u32; 3],
    /// Rows of a gob of block-linear textures.
    pub gob_rows: u32,
    /// Whether word 7 of a texture header says which levels are seen.
    pub has_view_levels: bool,
}

/// Bytes of a plane: three floats.
const PLANE: usize = 12;

/// The planes of a primitive: 1/w, then each varying divided by w.
type Planes = [[f32; 3]; 1 + VARYINGS];

/// Binary logarithm of the gobs in a block.
const GOBS_LOG2: u32 = 2;

/// Sampler words: texture coordinates wrap; all filters are linear, also between levels; levels 0 to 15.
const SAMPLER: [u32; 8] = [0x0002_6000, 0x0000_00e2, 0x00f0_0000, 0, 0, 0, 0, 0];

/// Tesla or Fermi.
pub struct Nvidia {
    layout: &'static Layout,
    engine: Engine,
    memory: Memory,
    programs: Programs,
    /// Headers of textures.
    textures: Vec<[u32; 8]>,
    planes: Vec<Planes>,
}

impl Nvidia {
    /// Loads the programs.
    pub fn new(layout: &'static Layout, engine: Engine) -> Result<Nvidia> {
        let programs = Programs {
            vertex: load(layout.chip, layout.vertex, vertex_interface(layout))?,
            pixel: load(layout.chip, layout.pixel, pixel_interface(layout))?,
            cutout: load(layout.chip, layout.cutout, pixel_interface(layout))?,
        };
        let memory = engine.memory()?;
        Ok(Nvidia { layout, engine, memory, programs, textures: Vec::new(), planes: Vec::new() })
    }
}

fn vertex_interface(layout: &Layout) -> StageInterface {
    let [position, normal, coordinate] = layout.attributes;
    let input = |at, words| StageInput { place: InputPlace::Address(at), words, per: Per::Vertex };
    let [clip, turned, passed] = layout.results;
    let output = |at, words| StageOutput { place: OutputPlace::Address(at), words };
    StageInterface {
        stage: Stage::Vertex,
        inputs: vec![input(position, 3), input(normal, 3), input(coordinate, 2)],
        outputs: vec![output(clip, 4), output(turned, 3), output(passed, 2)],
        ..StageInterface::default()
    }
}

fn pixel_interface(layout: &Layout) -> StageInterface {
    let [one_over_w, normal, coordinate] = layout.planes;
    let input = |at, words| StageInput { place: InputPlace::Address(at), words, per: Per::Plane };
    StageInterface {
        stage: Stage::Fragment,
        inputs: vec![input(one_over_w, 1), input(normal, 3), input(coordinate, 2)],
        outputs: vec![StageOutput { place: OutputPlace::Register(0), words: 4 }],
        ..StageInterface::default()
    }
}

impl Family for Nvidia {
    fn name(&self) -> &'static str {
        self.layout.name
    }

    fn add_mesh(&mut self, _: &Mesh) -> Result<()> {
        // Fixed hardware fetches vertices, here the embedder: nothing has to be in guest memory.
        Ok(())
    }

    fn add_texture(&mut self, texture: &Texture) -> Result<()> {
        let address = upload(&self.memory, &texture.block_linear(self.layout.gob_rows, GOBS_LOG2))?;
        let last = texture.last_level();
        self.textures.push([
            // RGBA8, unorm, each result from the component of its name.
            0x2c69_2488,
            address as u32,
            // Normalised coordinates, the sampler's border, block-linear, two-dimensional.
            0xc000_5000 | GOBS_LOG2 << 22 | (address >> 32) as u32,
            0x0030_0000,
            0x8000_0000 | texture.size,
            last << 28 | 1 << 16 | texture.size,
            0x0300_0000,
            if self.layout.has_view_levels { last << 4 } else { 0 },
        ]);
        Ok(())
    }

    fn run_vertices(&mut self, draw: &Draw, mesh: &Mesh, out: &mut [ShadedVertex]) -> Result<()> {
        let constants = bytemuck::cast_slice(&draw.vertex_constants).to_vec();
        let launch = Launch::default().consts(vec![(0, constants)]);

        // One array of structures has all attributes, another one all results.
        let array: &[u8] = bytemuck::cast_slice(&mesh.vertices);
        let column = |offset: usize| Rows::new(&array[offset..]).every(size_of::<Vertex>());
        let results = bytemuck::cast_slice_mut(out);
        let mut batch = Batch::new(Work::Vertices(mesh.vertices.len() as u32));
        batch.inputs = vec![column(0), column(NORMAL_OFFSET), column(COORDINATE_OFFSET)];
        batch.outputs = RowsMut::columns(results, size_of::<ShadedVertex>(), &[0, 16, 28])
            .context("offsets of outputs")?;
        let report = self.engine.run_stage(&self.programs.vertex, &self.memory, &launch, &mut batch)?;
        check(Stage::Vertex, &report)
    }

    fn run_pixels(&mut self, draw: &Draw, fragments: &Fragments, out: &mut ShadedPixels) -> Result<()> {
        let constants = bytemuck::cast_slice(&draw.pixel_constants).to_vec();
        let mut launch = Launch::default().consts(vec![(0, constants)]);
        launch.textures.textures = vec![(0, self.textures[draw.texture])];
        launch.textures.samplers = vec![(0, SAMPLER)];

        self.planes.clear();
        self.planes.extend(fragments.primitives.iter().map(|primitive| -> Planes {
            std::array::from_fn(|n| match n {
                0 => primitive.one_over_w().map(|k| k as f32),
                _ => primitive.over_w(n - 1).map(|k| k as f32),
            })
        }));
        let planes: &[u8] = bytemuck::cast_slice(&self.planes);
        let column = |plane: usize| Rows::new(&planes[plane * PLANE..]).every(size_of::<Planes>());
        let mut batch = Batch::new(Work::Quads(&fragments.quads));
        batch.inputs = vec![column(0), column(1), column(4)];
        batch.outputs = vec![RowsMut::new(bytemuck::cast_slice_mut(&mut out.colours))];
        batch.coverage = Some(&mut out.alive);
        let program = self.programs.pixel(draw);
        let report = self.engine.run_stage(program, &self.memory, &launch, &mut batch)?;
        check(Stage::Fragment, &report)
    }
}
