//! Writes findings as launch files.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use warpjit_frontend::Isa;
use warpjit_runtime::GlobalMode;

use crate::Guest;
use crate::guest::{Faults, Left};

/// A launch file for a guest with its files. It expects what the interpreter has left, so compiled code fails it where the two differ.
pub fn files(guest: &Guest, left: Option<&Left>, why: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = vec![("code.bin".to_owned(), guest.code.clone())];
    let mut text = String::new();
    for line in why.lines().take(12) {
        let _ = writeln!(text, "# {line}");
    }
    if guest.rules.lockstep {
        text += "# run with --lockstep\n";
    }
    let isa = guest.chip.isa();
    let _ = writeln!(
        text,
        "[program]\nisa = \"{isa}\"\nchip = \"{}\"\nfile = \"code.bin\"\nformat = \"raw\"",
        guest.chip
    );
    let numbers = [
        ("registers", guest.registers),
        ("sgprs", guest.sgprs),
        ("shared", guest.shared),
        ("local", guest.local),
        ("rsrc1", guest.rsrc.map(|(rsrc1, _)| rsrc1)),
        ("rsrc2", guest.rsrc.map(|(_, rsrc2)| rsrc2)),
    ];
    for (key, value) in numbers {
        if let Some(value) = value {
            let _ = writeln!(text, "{key} = {value:#x}");
        }
    }
    text += "\n[launch]\n";
    if isa != Isa::Vp1 {
        let _ = writeln!(text, "grid = {:?}\nblock = {:?}", guest.grid, guest.block);
        if guest.dynamic_shared != 0 {
            let _ = writeln!(text, "dynamic_shared = {}", guest.dynamic_shared);
        }
    }
    let _ = writeln!(text, "max_steps = {}", guest.max_steps);
    if !guest.user_data.is_empty() {
        let _ = writeln!(text, "user_data = {}", list(guest.user_data.iter().map(|&word| word.into())));
    }
    if !guest.init.is_empty() {
        text += "\n[registers]\n";
        for (name, values) in &guest.init {
            let _ = match values.as_slice() {
                [one] => writeln!(text, "{name} = {}", number(*one)),
                _ => writeln!(text, "{name} = {}", list(values.iter().copied())),
            };
        }
    }
    let mut put = |name: String, data: &[u8]| {
        files.push((name.clone(), data.to_vec()));
        name
    };
    for buffer in &guest.buffers {
        let file = put(format!("{}.bin", buffer.name), &buffer.data);
        let access = if buffer.writable { "rw" } else { "r" };
        let _ = writeln!(text, "\n[[buffer]]\nname = \"{}\"", buffer.name);
        // VP1's data store has no address.
        if isa != Isa::Vp1 {
            let _ = writeln!(text, "address = {}\naccess = \"{access}\"", number(buffer.address));
        }
        let _ = writeln!(text, "data = \"{file}\"");
    }
    for arg in &guest.args {
        let hex: String = arg.iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(text, "\n[[arg]]\nhex = \"{hex}\"");
        if arg.len() > 4 && arg.len().is_power_of_two() {
            let _ = writeln!(text, "align = {}", arg.len());
        }
    }
    for (index, data) in &guest.consts {
        let file = put(format!("c{index}.bin"), data);
        let _ = writeln!(text, "\n[[const]]\nindex = {index}\ndata = \"{file}\"");
    }
    for window in &guest.globals {
        let buffer = guest.buffers.iter().find(|buffer| buffer.address == window.address);
        let Some(buffer) = buffer else { continue };
        let _ = writeln!(text, "\n[[global]]\nindex = {}\nbuffer = \"{}\"", window.index, buffer.name);
        if let GlobalMode::Tiled2d { pitch, width, height, tile_mode } = window.mode {
            let _ = writeln!(
                text,
                "mode = \"tiled2d\"\npitch = {pitch}\nwidth = {width}\nheight = {height}\ntile_mode = {tile_mode}"
            );
        }
    }
    if let Some(left) = left {
        expectations(guest, left, &mut text, &mut put);
    }
    files.push(("launch.toml".into(), text.into_bytes()));
    files
}

/// What the interpreter has left.
fn expectations(guest: &Guest, left: &Left, text: &mut String, put: &mut dyn FnMut(String, &[u8]) -> String) {
    if let Some(fault) = &left.report.fault {
        let _ = writeln!(text, "\n[[expect]]\nfault = \"{}\"", fault.kind.name());
        if guest.rules.faults == Faults::Exact {
            let _ = writeln!(text, "pc = {:#x}\nlane = {}", fault.pc, fault.lane);
        }
    }
    if left.report.cancelled || guest.rules.racy || left.report.fault.is_some() && !guest.rules.after_fault {
        return;
    }
    for (buffer, data) in guest.buffers.iter().zip(&left.buffers) {
        if buffer.writable {
            let file = put(format!("{}.expected.bin", buffer.name), data);
            let _ = writeln!(text, "\n[[expect]]\nbuffer = \"{}\"\ndata = \"{file}\"", buffer.name);
        }
    }
    if guest.rules.registers && left.report.fault.is_none() {
        for (name, values) in &left.report.registers {
            let known = guest.init.iter().any(|(of, _)| of == name);
            if known {
                let _ = writeln!(
                    text,
                    "\n[[expect]]\nregister = \"{name}\"\nvalues = {}",
                    list(values.iter().copied())
                );
            }
        }
    }
}

/// A number as launch files have it: TOML's integers end at 2^63.
fn number(value: u64) -> String {
    if value >> 63 == 0 { format!("{value:#x}") } else { format!("\"{value:#x}\"") }
}

fn list(values: impl Iterator<Item = u64>) -> String {
    format!("[{}]", values.map(number).collect::<Vec<_>>().join(", "))
}

/// Writes a finding's files and its text into a folder of their own below `folder`.
///
/// # Errors
///
/// Of the file system.
pub fn write(folder: &Path, name: &str, finding: &crate::Finding) -> std::io::Result<PathBuf> {
    let folder = folder.join(name);
    fs::create_dir_all(&folder)?;
    for (name, content) in &finding.files {
        fs::write(folder.join(name), content)?;
    }
    fs::write(folder.join("finding.txt"), format!("{}\n{}\n", finding.kind, finding.text))?;
    Ok(folder)
}
