//! The names of the guest instruction sets and of the program types (stages).

use std::fmt;

/// A guest instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Isa {
    /// NVIDIA Tesla: G80 to GT218.
    Tesla,
    /// NVIDIA Fermi: GF100 to GK107.
    Fermi,
    /// AMD GCN 1.0 to 1.4.
    Gcn,
    /// NVIDIA video processor 1.
    Vp1,
}

impl Isa {
    /// All that there are.
    pub const ALL: &'static [Isa] = &[Isa::Tesla, Isa::Fermi, Isa::Gcn, Isa::Vp1];

    /// The name launch files and the command line use.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Tesla => "tesla",
            Isa::Fermi => "fermi",
            Isa::Gcn => "gcn",
            Isa::Vp1 => "vp1",
        }
    }

    /// The instruction set of that name.
    pub fn parse(name: &str) -> Option<Isa> {
        Isa::ALL.iter().copied().find(|isa| isa.name() == name)
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The stage of the pipeline that a program is for. Some encodings mean something else in another one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Stage {
    /// One thread a vertex. GCN's LS and ES, which write to rings, are this stage, too.
    Vertex,
    /// One thread an output vertex of a patch (GCN: HS).
    TessControl,
    /// One thread a point of a patch (GCN: DS).
    TessEval,
    /// One thread a primitive, or an invocation of one.
    Geometry,
    /// One thread a pixel, quads side by side (GCN: PS).
    Fragment,
    /// Blocks of threads in a grid.
    #[default]
    Compute,
}

impl Stage {
    /// All stages, in the order of the pipeline.
    pub const ALL: [Stage; 6] = [
        Stage::Vertex,
        Stage::TessControl,
        Stage::TessEval,
        Stage::Geometry,
        Stage::Fragment,
        Stage::Compute,
    ];

    /// The name that launch files and the command line use.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Vertex => "vertex",
            Stage::TessControl => "tess_control",
            Stage::TessEval => "tess_eval",
            Stage::Geometry => "geometry",
            Stage::Fragment => "fragment",
            Stage::Compute => "compute",
        }
    }

    /// The stage of that name (also vp, tcp, tep, gp, fp, cp).
    pub fn parse(name: &str) -> Option<Stage> {
        const SHORT: [&str; 6] = ["vp", "tcp", "tep", "gp", "fp", "cp"];
        let found =
            Stage::ALL.into_iter().zip(SHORT).find(|(stage, short)| name == stage.name() || name == *short);
        found.map(|(stage, _)| stage)
    }

    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}
