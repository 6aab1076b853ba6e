//! Programs and launches of any size, in the shapes that cost a compiler the most: straight code; diamonds and loops, in sequence
//! and nested; computed branches, returns and calls; and large numbers of containers' entries, constants and buffers.
//!
//! `tests/sizes.rs` compares the work that the project does for a shape of `n` words with that for `2 n`. `cargo run --release -p
//! warpjit-benches --bin sizes` measures times.

mod buffers;
mod containers;
mod elf;
mod fermi;
mod gcn;
mod tesla;
mod vp1;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpjit::launch_file::{FilesInMemory, LaunchFile};

/// A launch file with the files that it names.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The launch file.
    pub toml: String,
    /// Files beside it: name and contents.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Sample {
    /// A launch of raw code.
    fn raw(isa: &str, chip: &str, code: Vec<u8>, rest: &str) -> Sample {
        Sample::of("p.bin", code, &format!("isa = \"{isa}\"\nchip = \"{chip}\"\nformat = \"raw\"\n{rest}"))
    }

    /// A launch of a file with code; `rest` follows the name of the file in `[program]`.
    fn of(name: &str, contents: Vec<u8>, rest: &str) -> Sample {
        Sample { toml: format!("[program]\nfile = \"{name}\"\n{rest}"), files: vec![(name.into(), contents)] }
    }

    /// The launch file, read.
    ///
    /// # Panics
    /// When the sample is not a launch file: a fault of its generator.
    pub fn launch_file(&self) -> LaunchFile {
        let files = self.files.iter().map(|(name, contents)| (PathBuf::from(name), contents.clone()));
        let files = FilesInMemory { files: Arc::new(files.collect()), folder: PathBuf::new() };
        let shown = Path::new("sample.toml");
        LaunchFile::parse(&self.toml, &files, shown).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Writes the launch file `launch.toml` and the files beside it into a folder.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_to(&self, folder: &Path) -> std::io::Result<()> {
        for (name, contents) in &self.files {
            std::fs::write(folder.join(name), contents)?;
        }
        std::fs::write(folder.join("launch.toml"), &self.toml)
    }
}

/// A family of samples, by size.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The instruction set, or what else the shape is of.
    pub of: &'static str,
    /// The shape's own name.
    pub name: &'static str,
    /// Makes the sample of about so many 32-bit words of code, entries of a container, or buffers.
    pub make: fn(usize) -> Sample,
    /// What a size counts.
    pub unit: Unit,
}

/// What the size of a [`Shape`] counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// 32-bit words of code.
    Words,
    /// Entries: kernels, constants, symbols, relocations.
    Entries,
    /// Buffers of guest memory.
    Buffers,
}

/// All shapes.
pub fn shapes() -> Vec<Shape> {
    let lists = [tesla::SHAPES, fermi::SHAPES, gcn::SHAPES, vp1::SHAPES, containers::SHAPES, buffers::SHAPES];
    lists.concat()
}

/// A source being written.
#[derive(Default)]
struct Text(String);

impl Text {
    /// Appends lines.
    fn add(&mut self, lines: impl AsRef<str>) {
        let _ = writeln!(self.0, "{}", lines.as_ref());
    }
}
