//! Finds the kernels in `benches/kernels/` and runs them as guest code.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use warpjit::launch_file::LaunchFile;
use warpjit::outcome::Status;
use warpjit::session::Session;
use warpjit_frontend::{Chip, fermi, tesla};
use warpjit_runtime::Engine;

use crate::kernels::{self, Bench, Buffers, Guest, Tolerance};
use crate::numeric::{floats_of, words_of};

/// Bytes of input that a launch file brings along; the rest of a buffer is zeros.
pub const INPUT_BYTES: usize = 1024;

/// A folder of `benches/kernels/`.
pub struct Entry {
    /// Name of the folder; Fermi's begin with `fermi/`.
    pub name: String,
    /// Its launch file.
    pub path: PathBuf,
    /// What is known of it here.
    pub bench: Option<Box<dyn Bench>>,
}

/// The folder of kernels.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels")
}

/// All kernels: those known here first, then what was dropped in.
pub fn entries() -> anyhow::Result<Vec<Entry>> {
    let folder = folder();
    let mut entries = Vec::new();
    for bench in kernels::all() {
        let name = match bench.guest() {
            Guest::Tesla => bench.name().to_owned(),
            Guest::Fermi => format!("fermi/{}", bench.name()),
        };
        entries.push(Entry { path: folder.join(&name).join("launch.toml"), name, bench: Some(bench) });
    }
    let mut others = Vec::new();
    for found in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let name = found?.file_name().to_string_lossy().into_owned();
        let path = folder.join(&name).join("launch.toml");
        if path.exists() && entries.iter().all(|entry| entry.name != name) {
            others.push(Entry { name, path, bench: None });
        }
    }
    others.sort_by(|a, b| a.name.cmp(&b.name));
    entries.extend(others);
    Ok(entries)
}

/// The inputs as the launch file of a known kernel gives them.
pub fn file_inputs(inputs: &Buffers) -> Buffers {
    let cut = |bytes: &Vec<u8>| {
        let mut cut = bytes[..bytes.len().min(INPUT_BYTES)].to_vec();
        cut.resize(bytes.len(), 0);
        cut
    };
    inputs.iter().map(|(name, bytes)| (*name, cut(bytes))).collect()
}

impl Entry {
    /// Name of the kernel, whosever code it is.
    pub fn kernel(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    /// The launch file as it stands.
    pub fn launch_file(&self) -> anyhow::Result<LaunchFile> {
        Ok(LaunchFile::load(&self.path)?)
    }

    /// The launch file with these inputs in place of its own, and nothing expected.
    pub fn with_inputs(&self, inputs: &Buffers) -> anyhow::Result<LaunchFile> {
        let mut file = self.launch_file()?;
        for (name, bytes) in inputs {
            let buffer = file.buffers.iter_mut().find(|buffer| buffer.name == *name);
            let buffer = buffer.with_context(|| format!("{}: no buffer {name}", self.path.display()))?;
            if buffer.bytes != bytes.len() as u64 {
                bail!("{}: buffer {name} has not {} bytes", self.path.display(), bytes.len());
            }
            buffer.data.clone_from(bytes);
        }
        file.expects.clear();
        Ok(file)
    }

    /// Runs the launch file as it stands and holds the result against its expectations.
    pub fn check_file(&self, engine: &Engine) -> anyhow::Result<()> {
        let file = self.launch_file()?;
        let mut session = Session::new(&file, engine)?;
        let report = session.run()?;
        if let Some(fault) = &report.fault
            && !file.expects.iter().any(|e| matches!(e, warpjit::launch_file::Expect::Fault(_)))
        {
            bail!("{}: {fault}", self.name);
        }
        let outcome = session.check(report)?;
        if outcome.status != Status::Ok {
            bail!("{}: the launch file's expectations do not hold", self.name);
        }
        Ok(())
    }
}

/// The code of a source text.
///
/// # Errors
///
/// What is wrong with the text.
pub fn assemble(text: &str, guest: Guest) -> anyhow::Result<Vec<u8>> {
    Ok(match guest {
        Guest::Tesla => tesla::assemble(text, tesla::Target::compute(tesla::Chip::G84))?.code,
        Guest::Fermi => fermi::assemble(&all_long(text), fermi::Chip::Gf100)?.code,
    })
}

/// The text with every instruction `long`: nvcc emits no others for sm_20.
fn all_long(text: &str) -> String {
    let is_inst = |line: &str| !(line.is_empty() || line.starts_with("//") || line.ends_with(':'));
    text.lines().flat_map(|line| [if is_inst(line) { "long " } else { "" }, line, "\n"]).collect()
}

/// Instructions of raw code.
pub fn instruction_count(file: &LaunchFile) -> usize {
    let code = &file.program.code;
    let bytes_at = |at: usize| -> Option<u8> {
        match file.program.chip? {
            Chip::Fermi(chip) => Some(fermi::decode(code, at as u32, chip).ok()?.len),
            Chip::Tesla(chip) => Some(tesla::decode(code, at as u32, tesla::Target::compute(chip)).ok()?.len),
            _ => None,
        }
    };
    let (mut at, mut count) = (0, 0);
    while at < code.len() {
        let Some(bytes) = bytes_at(at) else { break };
        at += usize::from(bytes);
        count += 1;
    }
    count
}

/// Holds a session's memory against a model's result.
pub fn check_model(session: &Session<'_>, file: &LaunchFile, wanted: &Buffers) -> anyhow::Result<()> {
    for (name, wanted) in wanted {
        let index = file.buffers.iter().position(|buffer| buffer.name == *name);
        let index = index.with_context(|| format!("no buffer {name}"))?;
        let got = session.read(index, 0, wanted.len())?;
        if let Some(difference) = difference(&got, wanted, Tolerance::Exact) {
            bail!("buffer {name}: {difference}");
        }
    }
    Ok(())
}

/// The first difference, for people.
pub fn difference(got: &[u8], wanted: &[u8], tolerance: Tolerance) -> Option<String> {
    let (a, b) = (words_of(got), words_of(wanted));
    if let Tolerance::Sum(share) = tolerance {
        let [got, wanted] = [&a, &b].map(|words| words.iter().map(|&word| f64::from(word)).sum::<f64>());
        let near = (got - wanted).abs() <= wanted * share;
        return (!near).then(|| format!("words add up to {got}, not {wanted}"));
    }
    let (floats_a, floats_b) = (floats_of(got), floats_of(wanted));
    for at in 0..b.len() {
        let near = match tolerance {
            Tolerance::Relative(share) => {
                let (x, y) = (floats_a[at], floats_b[at]);
                (x - y).abs() <= share * x.abs().max(y.abs()).max(1.0)
            }
            _ => a.get(at) == b.get(at),
        };
        if !near {
            return Some(format!(
                "word {at} is {:#010x} ({}), not {:#010x} ({})",
                a[at], floats_a[at], b[at], floats_b[at]
            ));
        }
    }
    (a.len() != b.len()).then(|| format!("{} words, not {}", a.len(), b.len()))
}
