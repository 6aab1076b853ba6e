//! The guest instruction sets and the types of programs: their names and nothing else.

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

/// The type of a program; some encodings mean something else in another one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ProgramType {
    /// Vertex program.
    Vertex,
    /// Geometry program.
    Geometry,
    /// Fragment program.
    Fragment,
    /// Compute program.
    #[default]
    Compute,
}

impl ProgramType {
    /// All types.
    pub const ALL: [ProgramType; 4] =
        [ProgramType::Vertex, ProgramType::Geometry, ProgramType::Fragment, ProgramType::Compute];

    /// The name launch files use.
    pub fn name(self) -> &'static str {
        match self {
            ProgramType::Vertex => "vertex",
            ProgramType::Geometry => "geometry",
            ProgramType::Fragment => "fragment",
            ProgramType::Compute => "compute",
        }
    }

    /// The type of that name (also vp, gp, fp, cp).
    pub fn parse(name: &str) -> Option<ProgramType> {
        match name {
            "vertex" | "vp" => Some(ProgramType::Vertex),
            "geometry" | "gp" => Some(ProgramType::Geometry),
            "fragment" | "fp" => Some(ProgramType::Fragment),
            "compute" | "cp" => Some(ProgramType::Compute),
            _ => None,
        }
    }

    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}
