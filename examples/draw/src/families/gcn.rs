//! GCN: programs find everything by descriptors in scalar registers. The vertex program fetches vertices itself; the pixel program gets
//! barycentric coordinates and interpolates.

use anyhow::{Context, Result};
use warpjit_runtime::stage::{
    Batch, ExportTarget, InputPlace, OutputPlace, Per, Rows, RowsMut, Stage, StageInput, StageInterface,
    StageOutput, Work,
};
use warpjit_runtime::{Access, Engine, Launch, Memory};

use super::{Family, Programs, ShadedPixels, check, load, upload};
use crate::rasteriser::{Fragments, Primitive, ShadedVertex, VARYINGS, at_pixel};
use crate::scene::{COORDINATE_OFFSET, Draw, Mesh, NORMAL_OFFSET, Vertex};
use crate::texture::Texture;

const CHIP: &str = "fiji";

/// Bytes of guest memory for the constants of a draw.
const CONSTANT_BYTES: u64 = 256;

/// Sampler: texture coordinates wrap; all filters are linear, also between levels; levels 0 to 15.
const SAMPLER: [u32; 4] = [0x8000_0000, 0x00f0_0000, 2 << 26 | 1 << 22 | 1 << 20, 0];

/// The parameters of a primitive, as interpolation reads them: for each varying P0, P1 - P0, P2 - P0.
type Parameters = [[f32; 3]; VARYINGS];

/// GCN.
pub struct Gcn {
    engine: Engine,
    memory: Memory,
    programs: Programs,
    /// Address and bytes of each mesh's vertex array.
    meshes: Vec<(u64, u32)>,
    /// Descriptors of textures.
    textures: Vec<[u32; 8]>,
    constants: u64,
    parameters: Vec<Parameters>,
    barycentric: Vec<[f32; 2]>,
}

impl Gcn {
    /// Loads the programs.
    pub fn new(engine: Engine) -> Result<Gcn> {
        let programs = Programs {
            vertex: load(CHIP, include_bytes!("../../programs/gcn/vertex.bin"), vertex_interface())?,
            pixel: load(CHIP, include_bytes!("../../programs/gcn/pixel.bin"), pixel_interface())?,
            cutout: load(CHIP, include_bytes!("../../programs/gcn/cutout.bin"), pixel_interface())?,
        };
        let memory = engine.memory()?;
        // The host writes read-write memory faster: it does not have to unprotect it.
        let constants = memory.map(None, CONSTANT_BYTES, Access::ReadWrite)?;
        Ok(Gcn {
            engine,
            memory,
            programs,
            meshes: Vec::new(),
            textures: Vec::new(),
            constants,
            parameters: Vec::new(),
            barycentric: Vec::new(),
        })
    }

    /// A launch whose scalar registers hold these words from s0 on.
    fn launch(&self, words: &[u32]) -> Launch {
        let register = |(n, word): (usize, &u32)| (format!("s{n}"), vec![u64::from(*word)]);
        Launch::default().registers(words.iter().enumerate().map(register).collect())
    }
}

fn vertex_interface() -> StageInterface {
    let output = |target, words| StageOutput { place: OutputPlace::Export(target, false), words };
    StageInterface {
        stage: Stage::Vertex,
        inputs: vec![StageInput { place: InputPlace::Register(0), words: 1, per: Per::Vertex }],
        outputs: vec![
            output(ExportTarget::Pos(0), 4),
            output(ExportTarget::Param(0), 3),
            output(ExportTarget::Param(1), 2),
        ],
        ..StageInterface::default()
    }
}

fn pixel_interface() -> StageInterface {
    let attribute =
        |number, words| StageInput { place: InputPlace::Attribute(number), words, per: Per::Primitive };
    StageInterface {
        stage: Stage::Fragment,
        inputs: vec![
            attribute(0, 3),
            attribute(1, 2),
            StageInput { place: InputPlace::Register(0), words: 2, per: Per::Pixel },
        ],
        outputs: vec![StageOutput { place: OutputPlace::Export(ExportTarget::Mrt(0), false), words: 4 }],
        ..StageInterface::default()
    }
}

/// The descriptor of a buffer: so many bytes; records of `stride` bytes; a data format whose components are floats.
fn buffer(address: u64, bytes: u32, stride: u32, data_format: u32) -> [u32; 4] {
    let identity = 4 | 5 << 3 | 6 << 6 | 7 << 9;
    let float = 7 << 12;
    [address as u32, (address >> 32) as u32 | stride << 16, bytes, identity | float | data_format << 15]
}

/// Barycentric coordinates I and J of a pixel: the weights of the second and the third vertex.
fn weights(primitive: &Primitive, x: u32, y: u32) -> [f32; 2] {
    let w = 1.0 / at_pixel(primitive.one_over_w(), x, y);
    [1, 2].map(|vertex| (at_pixel(primitive.weights[vertex], x, y) * w) as f32)
}

impl Family for Gcn {
    fn name(&self) -> &'static str {
        "gcn"
    }

    fn add_mesh(&mut self, mesh: &Mesh) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(&mesh.vertices);
        self.meshes.push((upload(&self.memory, bytes)?, bytes.len() as u32));
        Ok(())
    }

    fn add_texture(&mut self, texture: &Texture) -> Result<()> {
        let address = upload(&self.memory, &texture.tiled_1d())?;
        let (side, last) = (texture.size - 1, texture.last_level());
        let identity = 4 | 5 << 3 | 6 << 6 | 7 << 9;
        // Data format 10 is 8_8_8_8, number format 0 unorm; tile mode 13 is 1D thin, type 9 two-dimensional; the pitch is the width.
        self.textures.push([
            (address >> 8) as u32,
            (address >> 40) as u32 | 10 << 20,
            side | side << 14,
            identity | last << 16 | 13 << 20 | 9 << 28,
            side << 13,
            0,
            0,
            0,
        ]);
        Ok(())
    }

    fn run_vertices(&mut self, draw: &Draw, mesh: &Mesh, out: &mut [ShadedVertex]) -> Result<()> {
        self.memory.write(self.constants, bytemuck::cast_slice(&draw.vertex_constants))?;
        let (array, bytes) = self.meshes[draw.mesh];
        let attribute = |offset: usize, data_format| {
            buffer(array + offset as u64, bytes - offset as u32, size_of::<Vertex>() as u32, data_format)
        };
        // Data format 13 is 32_32_32, 11 is 32_32.
        let user_data = [
            attribute(0, 13),
            attribute(NORMAL_OFFSET, 13),
            attribute(COORDINATE_OFFSET, 11),
            buffer(self.constants, CONSTANT_BYTES as u32, 0, 4),
        ];
        let launch = self.launch(user_data.as_flattened());

        let numbers: Vec<u32> = (0..mesh.vertices.len() as u32).collect();
        let mut batch = Batch::new(Work::Vertices(mesh.vertices.len() as u32));
        batch.inputs = vec![Rows::from(numbers.as_slice())];
        let results = bytemuck::cast_slice_mut(out);
        batch.outputs = RowsMut::columns(results, size_of::<ShadedVertex>(), &[0, 16, 28])
            .context("offsets of outputs")?;
        let report = self.engine.run_stage(&self.programs.vertex, &self.memory, &launch, &mut batch)?;
        check(Stage::Vertex, &report)
    }

    fn run_pixels(&mut self, draw: &Draw, fragments: &Fragments, out: &mut ShadedPixels) -> Result<()> {
        self.memory.write(self.constants, bytemuck::cast_slice(&draw.pixel_constants))?;
        let mut words = self.textures[draw.texture].to_vec();
        words.extend(SAMPLER);
        words.extend(buffer(self.constants, CONSTANT_BYTES as u32, 0, 4));
        let launch = self.launch(&words);

        self.parameters.clear();
        self.parameters.extend(fragments.primitives.iter().map(|primitive| -> Parameters {
            let [p0, p1, p2] = primitive.varyings;
            std::array::from_fn(|n| [p0[n], p1[n] - p0[n], p2[n] - p0[n]])
        }));
        self.barycentric.clear();
        for quad in &fragments.quads {
            let primitive = &fragments.primitives[quad.primitive as usize];
            // Helper pixels have coordinates, too: sampling needs them.
            let pixels = [0, 1, 2, 3].map(|lane| weights(primitive, quad.x + lane % 2, quad.y + lane / 2));
            self.barycentric.extend(pixels);
        }
        let parameters: &[u8] = bytemuck::cast_slice(&self.parameters);
        let column = |varying: usize| Rows::new(&parameters[varying * 12..]).every(size_of::<Parameters>());
        let mut batch = Batch::new(Work::Quads(&fragments.quads));
        batch.inputs = vec![column(0), column(3), Rows::new(bytemuck::cast_slice(&self.barycentric))];
        batch.outputs = vec![RowsMut::new(bytemuck::cast_slice_mut(&mut out.colours))];
        batch.coverage = Some(&mut out.alive);
        let program = self.programs.pixel(draw);
        let report = self.engine.run_stage(program, &self.memory, &launch, &mut batch)?;
        check(Stage::Fragment, &report)
    }
}
