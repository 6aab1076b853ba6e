//! What an instruction asks a texture for: docs/hardware/textures-nv.md sections 5 and 6, docs/hardware/graphics-gcn.md section 6.

use super::Detail;

/// What the coordinates of a cube are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CubeCoordinates {
    /// A direction of any length; the layer is the number of a cube (NVIDIA).
    #[default]
    Direction,
    /// A place on a face, 0 to 1; the layer is `6 * cube + face` (GCN, whose coordinates are those plus 1).
    Face,
}

/// Where one lane samples.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Coordinates {
    /// Coordinates along x, y, z. What is no finite number counts as 0.
    pub at: [f32; 3],
    /// Layer of an array, clamped to those of the view. Other shapes but cubes by face have none.
    pub layer: u32,
    /// Texels of the level to add. Cubes have no offsets.
    pub offset: [i32; 3],
    /// What texels are compared with, if the sampler compares.
    pub reference: f32,
    /// What `at` is if the texture is a cube.
    pub cube: CubeCoordinates,
}

/// What a gather takes. It takes no probes, whatever the sampler says of anisotropy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gather {
    /// Which of the four results of a sample, 0 to 3.
    pub component: u8,
    /// Offsets in x and y of each result, in texels. With them every result is the upper left texel of its own footprint.
    pub offsets: Option<[[i32; 2]; 4]>,
    /// Level of detail: [`Lod::Lowest`](super::Lod::Lowest) unless the instruction has one. The nearest level counts, if the sampler has
    /// more than the first.
    pub detail: Detail,
}
