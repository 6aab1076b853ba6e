//! Modifiers that one operation has, or a few: the words of the listing that select among sub-operations of textures, surfaces,
//! graphics, cache and debug instructions.
//!
//! Each kind of modifier is a type, and [`Modifier`] is any of them. `Modifier::of` says which kinds an operation has. A word of the
//! table that none of them knows fails the decoder's test `every_word_means_something`.

use super::Op;

/// One kind of modifier.
pub trait Kind: Copy + PartialEq {
    /// The modifier, if it is of this kind.
    fn of(modifier: Modifier) -> Option<Self>;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
            pub enum $kind {
                $($(#[$variant_doc])* $variant,)*
            }

            impl $kind {
                fn parse(name: &str) -> Option<Modifier> {
                    match name {
                        $($name => Some(Modifier::$kind($kind::$variant)),)*
                        _ => None,
                    }
                }
            }

            impl Kind for $kind {
                fn of(modifier: Modifier) -> Option<$kind> {
                    match modifier {
                        Modifier::$kind(found) => Some(found),
                        _ => None,
                    }
                }
            }
        )*

        /// A modifier of any kind.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Modifier {
            $($(#[$doc])* $kind($kind),)*
        }

        impl Modifier {
            /// The word of the listing.
            pub fn name(self) -> &'static str {
                match self {
                    $($(Modifier::$kind($kind::$variant) => $name,)*)*
                }
            }
        }
    };
}

kinds! {
    /// `.T` and `.P` of a texture instruction. What they do is not documented; the lifter takes them for hints.
    TexPhase {
        /// `.T`
        T = "t",
        /// `.P`
        P = "p",
    }
    /// How a texture instruction chooses the level of detail.
    TexLevel {
        /// From the changes within the quad.
        Auto = "lauto",
        /// Level 0.
        Zero = "lzero",
        /// From the changes, and a bias is added.
        Bias = "lbias",
        /// A source has it.
        Given = "llod",
        /// As `lbias`, in another mode.
        BiasA = "lbiasa",
        /// As `llod`, in another mode.
        GivenA = "lloda",
    }
    /// What else a texture instruction does.
    TexFlag {
        /// Compares with a reference.
        Shadow = "shadow",
        /// Clamps coordinates.
        Clamp = "cl",
        /// Fetches one of several samples.
        Samples = "ms",
        /// A register has the texture's number or handle.
        Indirect = "ind",
    }
    /// Offsets of a texture instruction in texels.
    TexOffset {
        /// One for all texels.
        One = "off",
        /// One for each of four texels.
        Four = "off8",
    }
    /// The component that `texgather` gathers.
    TexComponent {
        /// Red.
        R = "r",
        /// Green.
        G = "g",
        /// Blue.
        B = "b",
        /// Alpha.
        A = "a",
    }
    /// Shape of a texture.
    TexShape {
        /// One axis.
        D1 = "t1d",
        /// Layers of one axis.
        Array1 = "a1d",
        /// Two axes.
        D2 = "t2d",
        /// Layers of two axes.
        Array2 = "a2d",
        /// Three axes.
        D3 = "t3d",
        /// A cube.
        Cube = "tcube",
        /// Layers of cubes.
        ArrayCube = "acube",
    }
    /// What `texquery` asks for.
    TexQuery {
        /// Size and number of levels.
        Size = "tdims",
        /// Type and number of samples.
        Type = "ttype",
        /// Position of a sample.
        SamplePosition = "tsamplepos",
        /// The sampler's filter.
        Filter = "sfilter",
        /// The sampler's levels of detail.
        Level = "slod",
        /// The sampler's addressing.
        Wrap = "swrap",
        /// The sampler's border colour.
        Border = "sbcolor",
    }
    /// Shape of a surface.
    SurfaceShape {
        /// One axis.
        D1 = "1d",
        /// Two axes.
        D2 = "2d",
        /// Three axes.
        D3 = "3d",
        /// Layers of two axes.
        Array2 = "e2d",
    }
    /// What `suclamp` makes of a coordinate.
    SurfaceLayout {
        /// As the surface says.
        Surface = "sd",
        /// Of pitch-linear memory.
        Linear = "pl",
        /// Of blocks.
        Block = "bl",
    }
    /// Size of an element for `suclamp`.
    SurfaceElement {
        /// 1
        R1 = "r1",
        /// 2
        R2 = "r2",
        /// 4
        R4 = "r4",
        /// 8
        R8 = "r8",
        /// 16
        R16 = "r16",
    }
    /// What a surface access outside of the surface does.
    SurfaceOutside {
        /// A load gives 0, a store does nothing.
        Zero = "zero",
        /// A store does nothing.
        Ignore = "ign",
        /// The coordinate is clamped.
        Clamp = "clamp",
        /// A trap.
        Trap = "trap",
        /// As the surface says.
        Surface = "sdcl",
    }
    /// What `suq` asks for.
    SurfaceQuery {
        /// Number of axes.
        Rank = "rank",
        /// Format.
        Format = "pixfmt",
        /// Bytes of an element.
        SampleSize = "smplsz",
        /// Size.
        Size = "dim",
        /// Components.
        Components = "rgba",
        /// Size of blocks.
        BlockSize = "blksz",
    }
    /// What `interp` gives.
    InterpMode {
        /// The interpolated plane.
        Pass = "pass",
        /// That times a register.
        Mul = "mul",
        /// The word's bits.
        Flat = "flat",
        /// The plane of a colour that the state may make flat, times a register.
        Colour = "sc",
    }
    /// Where `interp` evaluates the plane, if not at the centre of the pixel.
    InterpSample {
        /// Within what is covered.
        Centroid = "cent",
        /// At an offset from the centre.
        Offset = "off",
    }
    /// What `pixinfo` asks for.
    PixelInfo {
        /// Number of samples.
        SampleCount = "samplecnt",
        /// Mask of covered samples.
        CoverageMask = "covmask",
        /// Whether it is covered.
        Covered = "covered",
        /// Offset of a sample.
        Offset = "offset",
        /// Offset of the centroid.
        CentroidOffset = "cent_offset",
        /// Number of the sample.
        SampleId = "sampleid",
    }
    /// Space of an attribute.
    AttrSpace {
        /// Outputs, where loads else read inputs.
        Out = "out",
        /// Attributes of the patch.
        Patch = "patch",
        /// The address is a physical one.
        Physical = "unk39",
    }
    /// What `out` does.
    Emission {
        /// Emits a vertex.
        Emit = "emit",
        /// Ends the primitive.
        Restart = "restart",
    }
    /// How `ld c[]` takes its register.
    ConstMode {
        /// `.IL`
        Il = "il",
        /// `.IS`: the upper half counts banks.
        Is = "is",
        /// `.ISL`
        Isl = "isl",
    }
    /// Operation of `cctl`.
    CacheOp {
        /// Query.
        Query1 = "query1",
        /// Prefetch.
        Pf1 = "pf1",
        /// Prefetch.
        Pf15 = "pf15",
        /// Prefetch.
        Pf2 = "pf2",
        /// Write back.
        Wb = "wb",
        /// Invalidate.
        Iv = "iv",
        /// Invalidate everything.
        IvAll = "ivall",
        /// Reset.
        Rs = "rs",
    }
    /// The cache that `cctl` is for, if not the data cache.
    CacheKind {
        /// Uniform loads.
        Uniform = "u",
        /// Constants.
        Constant = "c",
        /// Instructions.
        Instruction = "i",
    }
    /// What a breakpoint does.
    Breakpoint {
        /// Waits.
        Drain = "drain",
        /// Calls.
        Cal = "cal",
        /// Pauses.
        Pause = "pause",
        /// Traps, debugger or not.
        Trap = "trap",
    }
}

/// The first of these kinds that has a word.
macro_rules! any {
    ($name:expr, $first:ident $(, $kind:ident)*) => {
        $first::parse($name)$(.or_else(|| $kind::parse($name)))*
    };
}

impl Modifier {
    /// The modifier that a word is after the mnemonic of an operation.
    pub(super) fn of(op: Op, name: &str) -> Option<Modifier> {
        match op {
            Op::TexGather => any!(name, TexPhase, TexFlag, TexOffset, TexShape, TexComponent),
            Op::Tex | Op::TexFetch | Op::TexQueryLod | Op::TexQuery | Op::TexCsaa | Op::TexGrad => {
                any!(name, TexPhase, TexLevel, TexFlag, TexOffset, TexShape, TexQuery)
            }
            Op::SuClamp | Op::SuBfm => any!(name, SurfaceShape, SurfaceLayout, SurfaceElement),
            Op::SuLdGB
            | Op::SuLdB
            | Op::SuRedP
            | Op::SuStGB
            | Op::SuStGP
            | Op::SuStB
            | Op::SuStP
            | Op::SuLea => {
                any!(name, SurfaceOutside, SurfaceShape)
            }
            Op::SuQ => SurfaceQuery::parse(name),
            Op::Interp => any!(name, InterpMode, InterpSample),
            Op::PixInfo => PixelInfo::parse(name),
            Op::LdAttr | Op::StAttr | Op::Al2p => AttrSpace::parse(name),
            Op::Out => Emission::parse(name),
            Op::LdConst => ConstMode::parse(name),
            Op::Cctl => any!(name, CacheOp, CacheKind),
            Op::Bpt => Breakpoint::parse(name),
            _ => None,
        }
    }
}
