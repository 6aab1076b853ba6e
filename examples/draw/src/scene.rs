//! What is drawn: meshes, a camera that goes around them, and the draw calls of a frame.

use std::f32::consts::{PI, TAU};

use crate::matrix::{self, Mat4, Vec3, add, cross, mul, normalise, sub};
use crate::texture::Texture;

/// A vertex as it stands in a vertex array: position, normal, texture coordinate.
pub type Vertex = [f32; 8];

/// Where a normal begins in a [`Vertex`], in bytes.
pub const NORMAL_OFFSET: usize = 12;

/// Where a texture coordinate begins in a [`Vertex`], in bytes.
pub const COORDINATE_OFFSET: usize = 24;

/// A vertex array with indices: each three are a triangle, counterclockwise as seen from its front.
#[derive(Debug, Clone, Default)]
pub struct Mesh {
    /// Vertices.
    pub vertices: Vec<Vertex>,
    /// Indices of the vertices of triangles.
    pub indices: Vec<u32>,
}

impl Mesh {
    /// Adds a parallelogram: a corner, its two sides, and how often the texture repeats along each.
    fn parallelogram(&mut self, corner: Vec3, right: Vec3, up: Vec3, repeat: [f32; 2]) {
        let normal = normalise(cross(right, up));
        let first = self.vertices.len() as u32;
        for (u, v) in [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)] {
            let [x, y, z] = add(corner, add(right.map(|k| k * u), up.map(|k| k * v)));
            let [nx, ny, nz] = normal;
            self.vertices.push([x, y, z, nx, ny, nz, u * repeat[0], (1.0 - v) * repeat[1]]);
        }
        self.indices.extend([0, 1, 2, 0, 2, 3].map(|k| first + k));
    }

    /// A horizontal square that reaches `half` far from the origin.
    pub fn ground(half: f32, repeat: f32) -> Mesh {
        let mut mesh = Mesh::default();
        let side = 2.0 * half;
        mesh.parallelogram([-half, 0.0, half], [side, 0.0, 0.0], [0.0, 0.0, -side], [repeat, repeat]);
        mesh
    }

    /// An upright rectangle, `2 * half` wide.
    pub fn wall(half: f32, height: f32, repeat: [f32; 2]) -> Mesh {
        let mut mesh = Mesh::default();
        mesh.parallelogram([-half, 0.0, 0.0], [2.0 * half, 0.0, 0.0], [0.0, height, 0.0], repeat);
        mesh
    }

    /// A cube with sides of length 2.
    pub fn cube() -> Mesh {
        let mut mesh = Mesh::default();
        for axis in 0..3 {
            for sign in [1.0, -1.0] {
                let unit = |at: usize, length: f32| -> Vec3 {
                    std::array::from_fn(|k| if k == at % 3 { length } else { 0.0 })
                };
                // Bricks lie flat on the four walls: their right side is horizontal there.
                let (right, up) = match axis {
                    0 => (unit(2, -2.0 * sign), unit(1, 2.0)),
                    1 => (unit(0, 2.0), unit(2, -2.0 * sign)),
                    _ => (unit(0, 2.0 * sign), unit(1, 2.0)),
                };
                let centre = unit(axis, sign);
                let corner = sub(centre, add(right, up).map(|k| k / 2.0));
                mesh.parallelogram(corner, right, up, [1.0, 1.0]);
            }
        }
        mesh
    }

    /// A torus about the y axis.
    pub fn torus(radius: f32, thickness: f32, around: u32, across: u32) -> Mesh {
        let mut mesh = Mesh::default();
        for i in 0..=around {
            let u = i as f32 / around as f32;
            let (s, c) = (u * TAU).sin_cos();
            for j in 0..=across {
                let v = j as f32 / across as f32;
                let (y, out) = (v * TAU).sin_cos();
                let from_axis = radius + thickness * out;
                let normal = [out * c, y, -out * s];
                let position = [from_axis * c, thickness * y, -from_axis * s];
                let [x, y, z] = position;
                let [nx, ny, nz] = normal;
                mesh.vertices.push([x, y, z, nx, ny, nz, u * 6.0, v * 2.0]);
            }
        }
        let row = across + 1;
        for i in 0..around {
            for j in 0..across {
                let at = i * row + j;
                mesh.indices.extend([at, at + row, at + row + 1, at, at + row + 1, at + 1]);
            }
        }
        mesh
    }
}

/// A draw call: what to draw, and the state it is drawn with.
#[derive(Debug, Clone)]
pub struct Draw {
    /// Index of the mesh.
    pub mesh: usize,
    /// Index of the texture.
    pub texture: usize,
    /// Whether the pixel program discards pixels.
    pub has_holes: bool,
    /// Whether triangles are dropped that are seen from behind.
    pub culls: bool,
    /// Constants of the vertex program: model to clip space, four rows; model to world space, three rows.
    pub vertex_constants: [f32; 28],
    /// Constants of the pixel program: direction to the light and ambient light; half vector and shininess; tint and
    /// strength of the highlight.
    pub pixel_constants: [f32; 12],
}

/// The scene.
#[derive(Debug)]
pub struct Scene {
    /// Meshes.
    pub meshes: Vec<Mesh>,
    /// Textures.
    pub textures: Vec<Texture>,
    /// What the picture is cleared with.
    pub background: [u8; 4],
}

impl Scene {
    /// A ground, a cube of bricks, a torus, and a fence with holes.
    pub fn new() -> Scene {
        Scene {
            meshes: vec![
                Mesh::ground(30.0, 20.0),
                Mesh::cube(),
                Mesh::torus(1.0, 0.45, 48, 24),
                Mesh::wall(2.4, 1.0, [10.0, 2.0]),
            ],
            textures: vec![
                Texture::tiles(256),
                Texture::bricks(256),
                Texture::stripes(64),
                Texture::fence(64),
            ],
            background: [150, 185, 220, 255],
        }
    }

    /// The draw calls of a frame of the animation.
    pub fn frame(&self, number: u32, aspect: f32) -> Vec<Draw> {
        let turn = number as f32 * TAU / 180.0;
        let eye = [6.2 * (0.75 + turn).sin(), 2.7, 6.2 * (0.75 + turn).cos()];
        let view = matrix::look_at(eye, [0.0, 0.8, 0.0]);
        let camera = mul(&matrix::perspective(PI / 4.0, aspect, 0.2, 80.0), &view);
        let light = normalise([0.45, 0.8, 0.55]);
        let half = normalise(add(light, normalise(eye)));
        let draw = |mesh: usize, model: Mat4, tint: Vec3, [shininess, strength]: [f32; 2]| {
            let to_clip = mul(&camera, &model);
            let mut vertex_constants = [0.0; 28];
            vertex_constants[..16].copy_from_slice(to_clip.as_flattened());
            vertex_constants[16..].copy_from_slice(model[..3].as_flattened());
            Draw {
                mesh,
                // Each mesh has a texture of its own, at the same place of their lists.
                texture: mesh,
                has_holes: mesh == 3,
                culls: mesh != 3,
                vertex_constants,
                pixel_constants: [
                    light[0], light[1], light[2], 0.25, //
                    half[0], half[1], half[2], shininess, //
                    tint[0], tint[1], tint[2], strength,
                ],
            }
        };
        let cube = mul(&matrix::translation([-1.3, 1.0, -0.6]), &matrix::rotation_y(0.5 + turn));
        let spin = mul(&matrix::rotation_x(1.1), &matrix::rotation_y(2.0 * turn));
        let torus = mul(&matrix::translation([1.4, 1.3, -0.2]), &spin);
        let fence = mul(&matrix::translation([-0.3, 0.0, 1.9]), &matrix::rotation_y(0.2));
        vec![
            draw(1, cube, [1.0, 0.95, 0.9], [16.0, 0.1]),
            draw(2, torus, [1.0, 0.8, 0.45], [40.0, 0.6]),
            draw(3, fence, [0.9, 0.9, 0.85], [24.0, 0.2]),
            draw(0, matrix::IDENTITY, [0.9, 1.0, 0.9], [60.0, 0.15]),
        ]
    }
}

impl Default for Scene {
    fn default() -> Self {
        Scene::new()
    }
}
