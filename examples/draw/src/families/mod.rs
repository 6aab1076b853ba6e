//! The families of GPUs. Each module sets up what its hardware would get: programs, constants, textures, inputs.

mod fermi;
mod gcn;
mod nvidia;
mod tesla;

use anyhow::{Context, Result, bail};
use warpjit_runtime::stage::{Stage, StageInterface};
use warpjit_runtime::{Access, Engine, Memory, Program, ProgramOptions, Report};

use crate::rasteriser::{Fragments, ShadedVertex};
use crate::scene::{Draw, Mesh};
use crate::texture::Texture;

/// The names of all families.
pub const NAMES: [&str; 3] = ["tesla", "fermi", "gcn"];

/// Sets up a family by its name.
pub fn new(name: &str, engine: &Engine) -> Result<Box<dyn Family>> {
    Ok(match name {
        "tesla" => Box::new(nvidia::Nvidia::new(&tesla::TESLA, engine.clone())?),
        "fermi" => Box::new(nvidia::Nvidia::new(&fermi::FERMI, engine.clone())?),
        "gcn" => Box::new(gcn::Gcn::new(engine.clone())?),
        _ => bail!("there is no family {name}; there are {}", NAMES.join(", ")),
    })
}

/// What the renderer asks of a family.
pub trait Family {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Takes a mesh; draw calls name meshes in the order in which they were added.
    fn add_mesh(&mut self, mesh: &Mesh) -> Result<()>;

    /// Takes a texture, likewise.
    fn add_texture(&mut self, texture: &Texture) -> Result<()>;

    /// Runs the vertex program over all vertices of a draw's mesh.
    fn run_vertices(&mut self, draw: &Draw, mesh: &Mesh, out: &mut [ShadedVertex]) -> Result<()>;

    /// Runs the pixel program over the quads of a draw.
    fn run_pixels(&mut self, draw: &Draw, fragments: &Fragments, out: &mut ShadedPixels) -> Result<()>;
}

/// What pixel programs leave: a row for each pixel of each quad.
#[derive(Debug, Default)]
pub struct ShadedPixels {
    /// Colours.
    pub colours: Vec<[f32; 4]>,
    /// 1 if the pixel is covered and was not discarded.
    pub alive: Vec<u8>,
}

impl ShadedPixels {
    /// Makes room for so many quads.
    pub fn reset(&mut self, quads: usize) {
        self.colours.resize(quads * 4, [0.0; 4]);
        self.alive.clear();
        self.alive.resize(quads * 4, 0);
    }
}

/// The three programs of a family.
struct Programs {
    vertex: Program,
    pixel: Program,
    /// The pixel program of things with holes: it discards.
    cutout: Program,
}

impl Programs {
    fn pixel(&self, draw: &Draw) -> &Program {
        if draw.has_holes { &self.cutout } else { &self.pixel }
    }
}

/// Loads machine code of a graphics stage.
fn load(chip: &str, code: &[u8], interface: StageInterface) -> Result<Program> {
    let chip: warpjit_runtime::Chip = chip.parse()?;
    let stage = interface.stage.name();
    let options = ProgramOptions::new(chip.isa()).raw(true).chip(Some(chip)).stage(Some(interface));
    Program::load(code, &options).with_context(|| format!("the {stage} program of {chip:?}"))
}

/// What the guest does wrong comes back as a value: an emulator would log it and leave out the draw.
fn check(stage: Stage, report: &Report) -> Result<()> {
    match &report.fault {
        None => Ok(()),
        Some(fault) => bail!("the {} program faults: {fault:?}", stage.name()),
    }
}

/// Puts bytes into guest memory and says where.
fn upload(memory: &Memory, bytes: &[u8]) -> Result<u64> {
    let address = memory.map(None, bytes.len() as u64, Access::ReadOnly)?;
    memory.write(address, bytes)?;
    Ok(address)
}
