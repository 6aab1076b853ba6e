//! Takes draw calls from vertex arrays to pixels.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::families::{Family, ShadedPixels};
use crate::picture::Picture;
use crate::rasteriser::{self, DepthBuffer, Fragments, ShadedVertex};
use crate::scene::{Draw, Scene};

/// Where the time of a frame went, and what was in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    /// Vertex programs.
    pub vertices: Duration,
    /// The rasteriser.
    pub rasteriser: Duration,
    /// Pixel programs.
    pub pixels: Duration,
    /// Writing pixels.
    pub output: Duration,
    /// Quads that pixel programs ran over.
    pub quads: usize,
}

impl Times {
    /// All of it.
    pub fn total(&self) -> Duration {
        self.vertices + self.rasteriser + self.pixels + self.output
    }
}

/// Draws a scene with one family of GPUs.
pub struct Renderer {
    family: Box<dyn Family>,
    // Kept from draw to draw so that memory is not asked for again.
    vertices: Vec<ShadedVertex>,
    fragments: Fragments,
    shaded: ShadedPixels,
}

impl Renderer {
    /// Copies the scene's vertex arrays and textures to the family's memory.
    pub fn new(mut family: Box<dyn Family>, scene: &Scene) -> Result<Renderer> {
        for mesh in &scene.meshes {
            family.add_mesh(mesh)?;
        }
        for texture in &scene.textures {
            family.add_texture(texture)?;
        }
        let (vertices, fragments, shaded) = Default::default();
        Ok(Renderer { family, vertices, fragments, shaded })
    }

    /// The family's name.
    pub fn name(&self) -> &'static str {
        self.family.name()
    }

    /// Draws a frame.
    pub fn frame(
        &mut self,
        scene: &Scene,
        number: u32,
        [width, height]: [u32; 2],
    ) -> Result<(Picture, Times)> {
        let mut picture = Picture::new(width, height, scene.background);
        let mut depth = DepthBuffer::new(width, height);
        let mut times = Times::default();
        for draw in scene.frame(number, width as f32 / height as f32) {
            self.draw(scene, &draw, &mut picture, &mut depth, &mut times)?;
        }
        Ok((picture, times))
    }

    fn draw(
        &mut self,
        scene: &Scene,
        draw: &Draw,
        picture: &mut Picture,
        depth: &mut DepthBuffer,
        times: &mut Times,
    ) -> Result<()> {
        let mesh = &scene.meshes[draw.mesh];
        let start = Instant::now();
        self.vertices.resize(mesh.vertices.len(), [0.0; 9]);
        self.family.run_vertices(draw, mesh, &mut self.vertices)?;

        let vertices_done = Instant::now();
        self.fragments.clear();
        let early = (&mut *depth, !draw.has_holes);
        rasteriser::draw(mesh, &self.vertices, draw.culls, early, &mut self.fragments);

        let rasteriser_done = Instant::now();
        if !self.fragments.quads.is_empty() {
            self.shaded.reset(self.fragments.quads.len());
            self.family.run_pixels(draw, &self.fragments, &mut self.shaded)?;
        }

        let pixels_done = Instant::now();
        self.output(draw, picture, depth);
        times.vertices += vertices_done - start;
        times.rasteriser += rasteriser_done - vertices_done;
        times.pixels += pixels_done - rasteriser_done;
        times.output += pixels_done.elapsed();
        times.quads += self.fragments.quads.len();
        Ok(())
    }

    /// Writes what the pixel program left. Quads are in the order of their triangles, so the last one that wrote a pixel is the nearest.
    fn output(&self, draw: &Draw, picture: &mut Picture, depth: &mut DepthBuffer) {
        for (number, quad) in self.fragments.quads.iter().enumerate() {
            for lane in 0..4 {
                let row = number * 4 + lane;
                if quad.mask & 1 << lane == 0 || self.shaded.alive[row] == 0 {
                    continue;
                }
                let (x, y) = (quad.x + lane as u32 % 2, quad.y + lane as u32 / 2);
                // The program has decided that the pixel is drawn: now its depth may be written.
                if draw.has_holes && !depth.test(x, y, self.fragments.depths[number][lane], true) {
                    continue;
                }
                picture.set(x, y, self.shaded.colours[row]);
            }
        }
    }
}
