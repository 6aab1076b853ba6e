//! Generates the files of `benches/kernels/` that are not written by hand: unrolled sources, assembled code, constant tables,
//! inputs, and the results that the models expect. With `--check` it compares instead of writing.
#![warn(missing_docs)]

use std::path::Path;

use anyhow::{Context, bail};
use warpjit_benches::suite::{self, INPUT_BYTES};

fn main() -> anyhow::Result<()> {
    let check = std::env::args().any(|argument| argument == "--check");
    for entry in suite::entries()? {
        let Some(bench) = &entry.bench else { continue };
        let folder = entry.path.parent().context("no folder")?;
        let source = folder.join("source.txt");
        if let Some(text) = bench.source() {
            put(&source, text.as_bytes(), check)?;
        }
        let text = std::fs::read_to_string(&source).with_context(|| source.display().to_string())?;
        let code = suite::assemble(&text, bench.guest());
        put(&folder.join("code.bin"), &code.with_context(|| source.display().to_string())?, check)?;
        for (name, bytes) in bench.const_files() {
            put(&folder.join(name), &bytes, check)?;
        }
        let inputs = suite::file_inputs(&bench.inputs());
        for (name, bytes) in &inputs {
            put(&folder.join(format!("{name}.in.bin")), &bytes[..INPUT_BYTES.min(bytes.len())], check)?;
        }
        let (offset, length) = bench.slice();
        for (name, bytes) in bench.model(&inputs) {
            let end = bytes.len().min(offset + length);
            put(&folder.join(format!("{name}.out.bin")), &bytes[offset..end], check)?;
        }
    }
    Ok(())
}

fn put(path: &Path, bytes: &[u8], check: bool) -> anyhow::Result<()> {
    let old = std::fs::read(path).ok();
    if old.as_deref() == Some(bytes) {
        return Ok(());
    }
    if check {
        bail!("{} is out of date: run `cargo run -p warpjit-benches --bin generate`", path.display());
    }
    println!("{}", path.display());
    std::fs::write(path, bytes).with_context(|| path.display().to_string())
}
