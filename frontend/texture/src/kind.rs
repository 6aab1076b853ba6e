//! [`Kind`]: the shape of a texture.

/// Shape of a texture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// One-dimensional.
    D1,
    /// Two-dimensional.
    D2,
    /// Three-dimensional.
    D3,
    /// Six faces; layers are faces, `6 * cube + face` of an array of cubes.
    Cube,
    /// Layers of one-dimensional textures.
    D1Array,
    /// Layers of two-dimensional textures.
    D2Array,
    /// Layers of cubes.
    CubeArray,
    /// A row of elements without levels; coordinates are element numbers.
    Buffer,
}

impl Kind {
    /// Coordinates along which texels lie: 1, 2 or 3 (a cube: 2).
    pub fn axes(self) -> usize {
        match self {
            Kind::D1 | Kind::D1Array | Kind::Buffer => 1,
            Kind::D2 | Kind::D2Array | Kind::Cube | Kind::CubeArray => 2,
            Kind::D3 => 3,
        }
    }

    /// Whether it has layers that a coordinate names.
    pub fn has_layers(self) -> bool {
        matches!(self, Kind::D1Array | Kind::D2Array | Kind::CubeArray)
    }

    /// Whether it is made of cube faces.
    pub fn is_cube(self) -> bool {
        matches!(self, Kind::Cube | Kind::CubeArray)
    }
}
