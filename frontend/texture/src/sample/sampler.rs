//! [`Sampler`]: how an instruction samples.

/// What a texel number outside of a level stands for; docs/hardware/textures-nv.md section 7, docs/hardware/graphics-gcn.md section 5.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Wrap {
    /// The texture again and again.
    Wrap,
    /// Again and again, every other time mirrored.
    Mirror,
    /// The nearest texel of the level.
    ClampToEdge,
    /// The border's colour.
    Border,
    /// The coordinate is clamped to the level's edges: a linear filter mixes the outermost texel and the border in halves there. What
    /// OpenGL calls "clamp".
    ClampHalfBorder,
    /// Mirrored at 0, then as [`Wrap::ClampToEdge`].
    MirrorOnceEdge,
    /// Mirrored at 0, then as [`Wrap::Border`].
    MirrorOnceBorder,
    /// Mirrored at 0, then as [`Wrap::ClampHalfBorder`].
    MirrorOnceHalfBorder,
}

/// How texels of a level make a result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Filter {
    /// The texel that the coordinate is in.
    Nearest,
    /// The two nearest along an axis, weighted.
    Linear,
}

/// How levels make a result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mip {
    /// The view's first level.
    None,
    /// The nearest.
    Nearest,
    /// The two nearest, weighted.
    Linear,
}

/// What a level of detail in the middle between two levels means to [`Mip::Nearest`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ties {
    /// The more detailed one: `ceil(lod + 0.5) - 1` (NVIDIA).
    Down,
    /// The less detailed one: `floor(lod + 0.5)` (GCN).
    Up,
}

/// What [`Filter::Nearest`] does to a coordinate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rounding {
    /// `floor(u)`.
    Trunc,
    /// `u` becomes a multiple of 1/256, the nearest (of two the even one), then `floor`; GCN without trunc_coord.
    Rounded,
}

/// What is made of the texels of a filter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduction {
    /// The weighted sum.
    Blend,
    /// The smallest of those with a weight.
    Min,
    /// The largest of those with a weight.
    Max,
}

/// When a comparison *reference* with *texel* gives 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compare {
    /// Never.
    Never,
    /// Reference < texel.
    Less,
    /// Reference == texel.
    Equal,
    /// Reference <= texel.
    LessEqual,
    /// Reference > texel.
    Greater,
    /// Reference != texel.
    NotEqual,
    /// Reference >= texel.
    GreaterEqual,
    /// Always.
    Always,
}

impl Compare {
    /// By the three bits of a sampler, which mean the same for all families.
    pub fn of(code: u32) -> Compare {
        match code & 7 {
            0 => Compare::Never,
            1 => Compare::Less,
            2 => Compare::Equal,
            3 => Compare::LessEqual,
            4 => Compare::Greater,
            5 => Compare::NotEqual,
            6 => Compare::GreaterEqual,
            _ => Compare::Always,
        }
    }

    /// Whether the comparison holds. A NaN is not equal to anything.
    pub fn holds(self, reference: f32, texel: f32) -> bool {
        match self {
            Compare::Never => false,
            Compare::Less => reference < texel,
            Compare::Equal => reference == texel,
            Compare::LessEqual => reference <= texel,
            Compare::Greater => reference > texel,
            Compare::NotEqual => reference != texel,
            Compare::GreaterEqual => reference >= texel,
            Compare::Always => true,
        }
    }
}

/// How an instruction samples: a sampler's descriptor and what belongs to its family or to the instruction. Levels of detail are in
/// 1/256 of a level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sampler {
    /// Wrap modes along x, y, z.
    pub wrap: [Wrap; 3],
    /// Filter where texels are larger than pixels: the level of detail is 0 or less.
    pub mag: Filter,
    /// Filter where they are smaller.
    pub min: Filter,
    /// Filter along z of a three-dimensional texture; `None`: as along x and y.
    pub z: Option<Filter>,
    /// Filter between levels.
    pub mip: Mip,
    /// Lowest level of detail, relative to the view's first level.
    pub min_lod: i32,
    /// Highest level of detail; wins where it is below the lowest.
    pub max_lod: i32,
    /// Added to each level of detail.
    pub bias: i32,
    /// Texels are compared with the reference, and the results filtered, if there is a function.
    pub compare: Option<Compare>,
    /// The border's components: floats, or integers for integer formats. A comparison takes the first as the depth.
    pub border: [u32; 4],
    /// Whether the view's sources apply to the border; else its four components are the results (NVIDIA).
    pub border_sources: bool,
    /// Coordinates are texels, whatever the view says.
    pub unnormalized: bool,
    /// Filters of cubes cross the edges of faces; wrap modes have no meaning then.
    pub seamless: bool,
    /// The most probes along an axis of anisotropy, 1 to 16, where the level of detail follows from changes of the coordinates and
    /// results are no integers. How many hardware takes at which places is known of no family. Here the longer of the two changes is
    /// divided into as many parts as it is longer than the other one (or than a texel of the first level), rounded up; the level of
    /// detail is that of a part, the result is the mean of the samples in the middle of each part.
    pub max_anisotropy: u8,
    /// What a filter makes of its texels.
    pub reduction: Reduction,
    /// What nearest does to a coordinate.
    pub nearest: Rounding,
    /// What nearest does to a level of detail in the middle.
    pub mip_ties: Ties,
    /// Whether sRGB formats are converted; else their bits are ordinary unorms.
    pub srgb: bool,
    /// Gathers of integer formats begin at the nearest texel, half a texel beyond a linear filter's first (GCN 1.0 to 1.2).
    pub integer_gathers_nearest: bool,
}

impl Default for Sampler {
    /// The nearest texel of the first level, clamped to the edge.
    fn default() -> Self {
        Sampler {
            wrap: [Wrap::ClampToEdge; 3],
            mag: Filter::Nearest,
            min: Filter::Nearest,
            z: None,
            mip: Mip::None,
            min_lod: 0,
            max_lod: 0xfff,
            bias: 0,
            compare: None,
            border: [0; 4],
            border_sources: false,
            unnormalized: false,
            seamless: false,
            max_anisotropy: 1,
            reduction: Reduction::Blend,
            nearest: Rounding::Trunc,
            mip_ties: Ties::Down,
            srgb: true,
            integer_gathers_nearest: false,
        }
    }
}
